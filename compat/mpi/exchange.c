/*
 * compat/mpi/exchange.c - collectives whose pieces differ, between all members or neighbours: each
 * piece is a send and a receive.
 */
#include "collective.h"

#include <stdlib.h>

/*
 * members NULL: all of the communicator. Pieces of MPI_PROC_NULL are left out. turned: those of
 * each pair in turn, for on a grid what is sent down arrives from above, also where both are one
 * process.
 */
static int lists(struct weftmpi_request *request, const struct weftmpi_side *side, int n,
                 const int *members, bool turned, enum weftmpi_row how, weft_piece *pieces,
                 size_t *used)
{
    for (int k = 0; k < n; k++) {
        const int i = turned ? k ^ 1 : k, member = members == NULL ? i : members[i];
        struct weftmpi_elements elements;
        TRY(weftmpi_piece(request, side, i, &elements));
        if (member == MPI_PROC_NULL)
            continue;
        weft_piece *piece = &pieces[(*used)++];
        piece->member = member;
        piece->bytes = elements.bytes;
        TRY(weftmpi_row(request, &elements, how, &piece->data));
    }
    return MPI_SUCCESS;
}

static int exchange(struct weftmpi_request *request, const char *call, MPI_Comm comm, bool near,
                    struct weftmpi_side send, struct weftmpi_side receive)
{
    TRY(weftmpi_open(request, call, comm));
    const struct weftmpi_topology *topology = near ? request->comm->topology : NULL;
    if (near && topology == NULL)
        return weftmpi_fail(request->comm, call, MPI_ERR_TOPOLOGY, "%s has no topology",
                            request->comm->name);
    const int in = near ? topology->indegree : request->comm->size;
    const int out = near ? topology->outdegree : request->comm->size;
    const bool in_place = send.base == MPI_IN_PLACE;
    size_t sends = 0, receives = 0;
    weft_piece *pieces =
        weftmpi_request_memory(request, ((size_t)out + (size_t)in) * sizeof(*pieces));
    if (pieces == NULL)
        return weftmpi_no_memory(request->comm, call);
    TRY(lists(request, in_place ? &receive : &send, out, near ? topology->targets : NULL, false,
              in_place ? WEFTMPI_COPY : WEFTMPI_TAKE, pieces, &sends));
    TRY(lists(request, &receive, in, near ? topology->sources : NULL,
              near && topology->kind == MPI_CART, WEFTMPI_FILL, pieces + sends, &receives));
    const weft_piece *own = pieces + request->comm->rank; /* of what is sent; where it arrives: */
    if (!near)
        TRY(weftmpi_check_apart(request, own->data, own[sends].data, own->bytes));
    return TEAM(exchange, near ? WEFT_TEAM_EXCHANGE : WEFT_TEAM_ALLTOALL_SIZES, pieces, sends,
                pieces + sends, receives);
}

#define SENDS_W(place)                                                                             \
    const void *send, const int send_counts[], const place send_offsets[],                         \
        const MPI_Datatype send_types[]
#define RECEIVES_W(place)                                                                          \
    void *receive, const int receive_counts[], const place receive_offsets[],                      \
        const MPI_Datatype receive_types[]
#define UNLIKE_W(side, place)                                                                      \
    ((struct weftmpi_side){.base = (void *)side,                                                   \
                           .counts = side##_counts,                                                \
                           .place = side##_offsets,                                                \
                           .handles = side##_types})
/* The same piece for all. */
#define FIRST(side)                                                                                \
    ((struct weftmpi_side){                                                                        \
        .base = (void *)side, .count = side##_count, .handle = side##_type, .same = true})

BOTH(Alltoallv, Ialltoallv, exchange(&begun, __func__, comm, false, UNLIKE(send), UNLIKE(receive)),
     SENDS, RECEIVES, MPI_Comm comm)
BOTH(Alltoallw, Ialltoallw,
     exchange(&begun, __func__, comm, false, UNLIKE_W(send, bytes), UNLIKE_W(receive, bytes)),
     SENDS_W(int), RECEIVES_W(int), MPI_Comm comm)
BOTH(Neighbor_allgather, Ineighbor_allgather,
     exchange(&begun, __func__, comm, true, FIRST(send), LIKE(receive)), SEND, RECEIVE,
     MPI_Comm comm)
BOTH(Neighbor_allgatherv, Ineighbor_allgatherv,
     exchange(&begun, __func__, comm, true, FIRST(send), UNLIKE(receive)), SEND, RECEIVES,
     MPI_Comm comm)
BOTH(Neighbor_alltoall, Ineighbor_alltoall,
     exchange(&begun, __func__, comm, true, LIKE(send), LIKE(receive)), SEND, RECEIVE,
     MPI_Comm comm)
BOTH(Neighbor_alltoallv, Ineighbor_alltoallv,
     exchange(&begun, __func__, comm, true, UNLIKE(send), UNLIKE(receive)), SENDS, RECEIVES,
     MPI_Comm comm)
BOTH(Neighbor_alltoallw, Ineighbor_alltoallw,
     exchange(&begun, __func__, comm, true, UNLIKE_W(send, addresses),
              UNLIKE_W(receive, addresses)),
     SENDS_W(MPI_Aint), RECEIVES_W(MPI_Aint), MPI_Comm comm)
