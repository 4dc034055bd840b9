/* compat/mpi/collective.h - buffers of collectives: collective.c, reduction.c, exchange.c. */
#ifndef WEFTMPI_COLLECTIVE_H
#define WEFTMPI_COLLECTIVE_H

#include "request.h"

/* Parameters that calls have in common; S: of each member. */
#define SEND    const void *send, int send_count, MPI_Datatype send_type
#define RECEIVE void *receive, int receive_count, MPI_Datatype receive_type
#define RECEIVES                                                                                   \
    void *receive, const int receive_counts[], const int receive_offsets[],                        \
        MPI_Datatype receive_type
#define SENDS                                                                                      \
    const void *send, const int send_counts[], const int send_offsets[], MPI_Datatype send_type

/* The pieces of one side of a call, as its forms give them. */
struct weftmpi_side {
    void *base;
    int count;         /* of each piece, */
    const int *counts; /* or by piece */
    const int *displs; /* in extents; NULL and the next too: one after the other */
    const int *bytes;  /* in bytes */
    const MPI_Aint *addresses;
    MPI_Datatype handle;         /* of each piece, */
    const MPI_Datatype *handles; /* or by piece */
    bool unlike;                 /* by piece, also where the call ignores the arrays */
    bool same;                   /* all pieces are the first */
};

/* Those of the parameters above: `side` is send or receive. */
#define LIKE(side)                                                                                 \
    ((struct weftmpi_side){.base = (void *)side, .count = side##_count, .handle = side##_type})
#define UNLIKE(side)                                                                               \
    ((struct weftmpi_side){.base = (void *)side,                                                   \
                           .counts = side##_counts,                                                \
                           .displs = side##_offsets,                                               \
                           .handle = side##_type,                                                  \
                           .unlike = true})

/* The arguments of a collective. */
struct weftmpi_given {
    int (*begin)(struct weftmpi_request *request, const struct weftmpi_given *given);
    const char *call;
    MPI_Comm comm;
    struct weftmpi_comm *parent; /* of a persistent one: the program's, whose errors they are */
    enum weft_team_kind kind;
    struct weftmpi_side send, receive; /* of a broadcast and a reduction: receive has the type */
    int root;
    MPI_Op op;
    bool near;       /* between neighbours */
    void *arrays[2]; /* of a persistent one: the sides' arrays, which the program may free */
};
/* Begins it, by its function or, on an intercommunicator, by inter.c's. */
int weftmpi_begin(struct weftmpi_request *request, const struct weftmpi_given *given);
int weftmpi_inter(struct weftmpi_request *request, const struct weftmpi_given *given);
/* The persistent form; and what it holds is let go. */
int weftmpi_prepare(const struct weftmpi_given *given, MPI_Request *handle);
void weftmpi_given_end(struct weftmpi_given *given);
/* Errors from now on are raised as the program's communicator says now. */
void weftmpi_given_handler(const struct weftmpi_given *given);

/*
 * Defines the three forms of a collective that `function` begins: blocking, non-blocking and
 * persistent. fields: of struct weftmpi_given, in parentheses.
 */
#define GIVEN_FIELDS(...) __VA_ARGS__
#define GIVEN_OF(function, fields)                                                                 \
    (&(struct weftmpi_given){                                                                      \
        .begin = (function), .call = __func__, .comm = comm, GIVEN_FIELDS fields})
#define COLLECTIVE(name, iname, function, fields, ...)                                             \
    BOTH(name, iname, weftmpi_begin(begun, GIVEN_OF(function, fields)), __VA_ARGS__)               \
    API(name##_init, (__VA_ARGS__, MPI_Info info, MPI_Request * request))                          \
    {                                                                                              \
        (void)info;                                                                                \
        return weftmpi_prepare(GIVEN_OF(function, fields), request);                               \
    }

/* Checks and finds piece i of a side. */
int weftmpi_piece(struct weftmpi_request *request, const struct weftmpi_side *side, int i,
                  struct weftmpi_elements *piece);

/* The request of a call on a communicator. */
static inline int weftmpi_open(struct weftmpi_request *request, const char *call, MPI_Comm handle)
{
    struct weftmpi_comm *comm;

    TRY(weftmpi_comm_in(call, handle, &comm));
    weftmpi_request_open(request, WEFTMPI_COLLECTIVE, call, comm);
    return MPI_SUCCESS;
}

/* Begins a collective of the request's communicator, and waits for one of a blocking call. */
#define COLLECTIVE_OF(request) ((request)->waits ? NULL : &(request)->collective)
#define TEAM(name, ...)                                                                            \
    weftmpi_request_failed(                                                                        \
        request, weft_team_##name(request->comm->team, __VA_ARGS__, COLLECTIVE_OF(request)))

/* What a member gives and what it gets are not one place. */
static inline int weftmpi_check_apart(const struct weftmpi_request *request, const void *from,
                                      const void *into, size_t bytes)
{
    return from != into || bytes == 0
               ? MPI_SUCCESS
               : weftmpi_fail(request->comm, request->call, MPI_ERR_BUFFER,
                              "one buffer to send and to receive: MPI_IN_PLACE says that");
}

int weftmpi_check_root(const struct weftmpi_request *request, int root);

#endif
