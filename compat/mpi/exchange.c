/*
 * compat/mpi/exchange.c - collectives whose pieces differ, between all members or neighbours: each
 * piece is a send and a receive.
 */
#include "collective.h"

static int pieces_of(struct weftmpi_request *request, const struct weftmpi_side *side,
                     struct weftmpi_peers peers, enum weftmpi_row how, weft_piece *pieces,
                     size_t *used)
{
    *used = 0;
    for (int k = 0; k < peers.count; k++) {
        const int i = peers.turned ? k ^ 1 : k;
        const int member = peers.members == NULL ? peers.first + i : peers.members[i];
        struct weftmpi_elements elements;
        TRY(weftmpi_piece(side, i, &elements));
        if (member == MPI_PROC_NULL)
            continue;
        weft_piece *piece = &pieces[(*used)++];
        piece->member = member;
        piece->bytes = elements.bytes;
        TRY(weftmpi_row(request, &elements, how, &piece->data));
    }
    return MPI_SUCCESS;
}

int weftmpi_exchange(struct weftmpi_request *request, enum weft_team_kind kind,
                     const struct weftmpi_side *send, struct weftmpi_peers to,
                     const struct weftmpi_side *receive, struct weftmpi_peers from)
{
    const bool among = request->comm->remote == NULL && to.members == NULL;
    const bool in_place = among && send->base == MPI_IN_PLACE;
    size_t sends, receives;
    weft_piece *pieces =
        weftmpi_request_memory(request, ((size_t)to.count + (size_t)from.count) * sizeof(*pieces));

    TRY(pieces_of(request, in_place ? receive : send, to, in_place ? WEFTMPI_COPY : WEFTMPI_TAKE,
                  pieces, &sends));
    TRY(pieces_of(request, receive, from, WEFTMPI_FILL, pieces + sends, &receives));
    const weft_piece *own = pieces + request->comm->rank; /* sent to itself; own[sends]: received */
    if (among)
        TRY(weftmpi_check_own(own->data, own->bytes, own[sends].data, own[sends].bytes));
    return TEAM(exchange, kind, pieces, sends, pieces + sends, receives);
}

static int among_all(struct weftmpi_request *request, const struct weftmpi_given *given)
{
    const struct weftmpi_peers all = {.count = request->comm->size};

    return weftmpi_exchange(request, given->kind, &given->send, all, &given->receive, all);
}

/* Exchanges among neighbours. On a grid what is sent down arrives from above, also where both are
 * one process. */
static int among_neighbours(struct weftmpi_request *request, const struct weftmpi_given *given)
{
    const struct weftmpi_topology *topology = request->comm->topology;

    TRY(HOLDS(topology != NULL, MPI_ERR_TOPOLOGY, "%s has no topology", request->comm->name));
    const struct weftmpi_peers to = {.count = topology->outdegree, .members = topology->targets};
    const struct weftmpi_peers from = {.count = topology->indegree,
                                       .members = topology->sources,
                                       .turned = topology->kind == MPI_CART};
    return weftmpi_exchange(request, given->kind, &given->send, to, &given->receive, from);
}

/* Parameters of Alltoallw: each piece has a datatype of its own, and lies at an offset in bytes. */
#define SENDS_W(N, A)                                                                              \
    const void *send, const N send_counts[], const A send_offsets[], const MPI_Datatype send_types[]
#define RECEIVES_W(N, A)                                                                           \
    void *receive, const N receive_counts[], const A receive_offsets[],                            \
        const MPI_Datatype receive_types[]
#define UNLIKE_W(side) ((struct weftmpi_side){ARRAYS(side), .handles = side##_types})
#define ALL_W(N, A)    SENDS_W(N, A), RECEIVES_W(N, A), MPI_Comm comm
#define NEAR_W(N, A)   SENDS_W(N, MPI_Aint), RECEIVES_W(N, MPI_Aint), MPI_Comm comm
/* FIRST: a side that has the same piece for all. */
#define FIRST(side)                                                                                \
    ((struct weftmpi_side){                                                                        \
        .base = (void *)side, .count = side##_count, .handle = side##_type, .same = true})

#define ALL(send_side, receive_side)                                                               \
    (.kind = WEFT_TEAM_ALLTOALL_SIZES, .send = send_side, .receive = receive_side)
#define NEAR(send_side, receive_side)                                                              \
    (.kind = WEFT_TEAM_EXCHANGE, .near = true, .send = send_side, .receive = receive_side)

COLLECTIVES(Alltoallv, Ialltoallv, among_all, ALL(UNLIKE(send), UNLIKE(receive)), UNLIKE_ALL)
COLLECTIVES(Alltoallw, Ialltoallw, among_all, ALL(UNLIKE_W(send), UNLIKE_W(receive)), ALL_W)
COLLECTIVES(Neighbor_allgather, Ineighbor_allgather, among_neighbours,
            NEAR(FIRST(send), LIKE(receive)), ALIKE)
COLLECTIVES(Neighbor_allgatherv, Ineighbor_allgatherv, among_neighbours,
            NEAR(FIRST(send), UNLIKE(receive)), GATHERED)
COLLECTIVES(Neighbor_alltoall, Ineighbor_alltoall, among_neighbours,
            NEAR(LIKE(send), LIKE(receive)), ALIKE)
COLLECTIVES(Neighbor_alltoallv, Ineighbor_alltoallv, among_neighbours,
            NEAR(UNLIKE(send), UNLIKE(receive)), UNLIKE_ALL)
COLLECTIVES(Neighbor_alltoallw, Ineighbor_alltoallw, among_neighbours,
            NEAR(UNLIKE_W(send), UNLIKE_W(receive)), NEAR_W)
