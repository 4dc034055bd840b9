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

/* Begins a collective of the request's communicator: its error. */
#define TEAM(name, ...)                                                                            \
    weftmpi_request_failed(                                                                        \
        request, weft_team_##name(request->comm->team, __VA_ARGS__, &request->collective))

static inline void *weftmpi_begin_of(const struct weftmpi_elements *elements)
{
    return (char *)elements->user + elements->type->true_lower;
}
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
