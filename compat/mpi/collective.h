/* compat/mpi/collective.h - buffers of collectives: collective.c, reduction.c, exchange.c. */
#ifndef WEFTMPI_COLLECTIVE_H
#define WEFTMPI_COLLECTIVE_H

#include "request.h"

/* Parameters that calls have in common; N: the type of counts, A: of displacements. */
#define SEND(N)    const void *send, N send_count, MPI_Datatype send_type
#define RECEIVE(N) void *receive, N receive_count, MPI_Datatype receive_type
#define SENDS(N, A)                                                                                \
    const void *send, const N send_counts[], const A send_offsets[], MPI_Datatype send_type
#define RECEIVES(N, A)                                                                             \
    void *receive, const N receive_counts[], const A receive_offsets[], MPI_Datatype receive_type

/* The pieces of one side of a collective, as its forms give them. */
struct weftmpi_side {
    void *base;
    MPI_Count count;               /* elements of each piece */
    struct weftmpi_numbers counts; /* by piece; none: all have `count` */
    struct weftmpi_numbers displs; /* in extents, or bytes (handles); none: one after the other */
    MPI_Datatype handle;           /* of each piece */
    const MPI_Datatype *handles;   /* by piece; NULL: all have `handle` */
    bool unlike; /* pieces have counts of their own, even where the call ignores the arrays */
    bool same;   /* all pieces lie at `base` */
    size_t kept; /* of a persistent collective: elements of each array, which is a copy */
};

/* LIKE: the side of the parameters above, which is `send` or `receive`. */
#define LIKE(side)                                                                                 \
    ((struct weftmpi_side){.base = (void *)side, .count = side##_count, .handle = side##_type})
#define ARRAYS(side)                                                                               \
    .base = (void *)side, .unlike = true, .counts = NUMBERS(side##_counts),                        \
    .displs = NUMBERS(side##_offsets)
#define UNLIKE(side) ((struct weftmpi_side){ARRAYS(side), .handle = side##_type})

/* The arguments of a collective. */
struct weftmpi_given {
    int (*begin)(struct weftmpi_request *request, const struct weftmpi_given *given);
    MPI_Comm comm;
    struct weftmpi_comm *parent; /* of a persistent one: the program's, which has the errors */
    enum weft_team_kind kind;
    struct weftmpi_side send, receive; /* of a broadcast and a reduction: receive has the type */
    int root;
    MPI_Op op;
    bool near; /* between neighbours */
};
/* Opens the request and begins it, by its function or, on an intercommunicator, by
 * weftmpi_inter. */
int weftmpi_begin(struct weftmpi_request *request, const struct weftmpi_given *given);
int weftmpi_inter(struct weftmpi_request *request, const struct weftmpi_given *given);
/* weftmpi_prepare makes a collective's persistent request; weftmpi_given_end lets go what it
 * holds. */
int weftmpi_prepare(const struct weftmpi_given *given, MPI_Request *handle);
void weftmpi_given_end(struct weftmpi_given *given);

/*
 * Defines the three forms of a collective that `function` begins: blocking, non-blocking and
 * persistent. fields: of struct weftmpi_given, in parentheses.
 */
#define GIVEN_FIELDS(...) __VA_ARGS__
#define GIVEN_OF(function, fields)                                                                 \
    (&(struct weftmpi_given){.begin = (function), .comm = comm, GIVEN_FIELDS fields})
#define COLLECTIVE(name, iname, init, function, fields, ...)                                       \
    BOTH(name, iname, weftmpi_begin(begun, GIVEN_OF(function, fields)), __VA_ARGS__)               \
    CALL(init, (__VA_ARGS__, MPI_Info info, MPI_Request * request),                                \
         ((void)info, weftmpi_prepare(GIVEN_OF(function, fields), request)))
/* Defines a collective's forms, and those with large counts; parameters: a macro of types N and
 * A. */
#define COLLECTIVES(name, iname, function, fields, parameters)                                     \
    COLLECTIVE(name, iname, name##_init, function, fields, parameters(int, int))                   \
    COLLECTIVE(name##_c, iname##_c, name##_init_c, function, fields,                               \
               parameters(MPI_Count, MPI_Aint))
#define ALIKE(N, A)      SEND(N), RECEIVE(N), MPI_Comm comm
#define GATHERED(N, A)   SEND(N), RECEIVES(N, A), MPI_Comm comm
#define UNLIKE_ALL(N, A) SENDS(N, A), RECEIVES(N, A), MPI_Comm comm

/* weftmpi_piece checks and finds piece i of a side; weftmpi_count_of tells how many elements it
 * has. */
int weftmpi_count_of(const struct weftmpi_side *side, int i, MPI_Count *count);
int weftmpi_piece(const struct weftmpi_side *side, int i, struct weftmpi_elements *piece);

/* Members that pieces are for: so many from the first on, or those of a list. */
struct weftmpi_peers {
    int first, count;
    const int *members; /* NULL: no list. MPI_PROC_NULL: the piece is left out */
    bool turned;        /* the two pieces of each pair change places */
};
/* Begins an exchange of pieces; the request's memory lives until it is over. */
int weftmpi_exchange(struct weftmpi_request *request, enum weft_team_kind kind,
                     const struct weftmpi_side *send, struct weftmpi_peers to,
                     const struct weftmpi_side *receive, struct weftmpi_peers from);

/* Begins a reduction of what the other group gives. */
int weftmpi_reduce_between(struct weftmpi_request *request, const struct weftmpi_given *given,
                           struct weftmpi_peers to, struct weftmpi_peers from);

/* Begins a collective of the request's communicator, and waits for one of a blocking call. */
#define COLLECTIVE_OF(request) ((request)->waits ? NULL : &(request)->collective)
#define TEAM(name, ...)                                                                            \
    weftmpi_failed(weft_team_##name(request->comm->team, __VA_ARGS__, COLLECTIVE_OF(request)))

/* Checks what a member sends itself, in both buffers: as many bytes, and not one place. */
static inline int weftmpi_check_own(const void *sent, size_t bytes, const void *got, size_t other)
{
    TRY(HOLDS(bytes == other, MPI_ERR_COUNT,
              "a process sends itself a piece of %zu bytes in one buffer, %zu in the other", bytes,
              other));
    return HOLDS(sent != got || bytes == 0, MPI_ERR_BUFFER,
                 "one buffer to send and to receive: MPI_IN_PLACE says that");
}

int weftmpi_check_root(const struct weftmpi_request *request, int root);

#endif
