/* compat/mpi/collective.h - buffers of collectives: collective.c, exchange.c. */
#ifndef WEFTMPI_COLLECTIVE_H
#define WEFTMPI_COLLECTIVE_H

#include "internal.h"

/* Parameters that calls have in common; S: of each member. */
#define SEND    const void *send, int send_count, MPI_Datatype send_type
#define RECEIVE void *receive, int receive_count, MPI_Datatype receive_type
#define RECEIVES                                                                                   \
    void *receive, const int receive_counts[], const int receive_offsets[],                        \
        MPI_Datatype receive_type
#define SENDS                                                                                      \
    const void *send, const int send_counts[], const int send_offsets[], MPI_Datatype send_type

/* The request of a call on a communicator. */
static inline int weftmpi_open(struct weftmpi_request *request, const char *call, MPI_Comm handle)
{
    struct weftmpi_comm *comm;

    TRY(weftmpi_comm_in(call, handle, &comm));
    weftmpi_request_open(request, WEFTMPI_COLLECTIVE, call, comm);
    return MPI_SUCCESS;
}

int weftmpi_check_root(const struct weftmpi_request *request, int root);
/* An element's place in a buffer. */
static inline void *weftmpi_element(const void *user, const struct weftmpi_type *type, MPI_Aint i)
{
    return (char *)user + i * weftmpi_extent(type);
}

#endif
