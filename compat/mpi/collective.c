/*
 * compat/mpi/collective.c - collectives whose pieces are alike: the team's, between buffers that
 * are a row of bytes, or are packed and unpacked.
 */
#include "collective.h"

#include <stdlib.h>
#include <string.h>

int weftmpi_check_root(const struct weftmpi_request *request, int root)
{
    if (root < 0 || root >= request->comm->size)
        return weftmpi_fail(request->comm, request->call, MPI_ERR_ROOT, "root %d of %d in %s", root,
                            request->comm->size, request->comm->name);
    return MPI_SUCCESS;
}

/* ---- barrier, broadcast ---------------------------------------------------------------------- */

static int barrier(struct weftmpi_request *request, const char *call, MPI_Comm comm)
{
    TRY(weftmpi_open(request, call, comm));
    return weftmpi_request_failed(request,
                                  weft_team_barrier(request->comm->team, COLLECTIVE_OF(request)));
}

static int broadcast(struct weftmpi_request *request, const char *call, void *buffer, int count,
                     MPI_Datatype handle, int root, MPI_Comm comm)
{
    struct weftmpi_elements elements;
    void *row;

    TRY(weftmpi_open(request, call, comm));
    TRY(weftmpi_elements_in(request->comm, call, buffer, count, handle, &elements));
    TRY(weftmpi_check_root(request, root));
    TRY(weftmpi_row(request, &elements, request->comm->rank == root ? WEFTMPI_TAKE : WEFTMPI_FILL,
                    &row));
    return TEAM(broadcast, root, row, elements.bytes);
}

/* ---- pieces ---------------------------------------------------------------------------------- */

int weftmpi_piece(struct weftmpi_request *request, const struct weftmpi_side *side, int i,
                  struct weftmpi_elements *piece)
{
    const int count = side->counts != NULL ? side->counts[i] : side->count;
    MPI_Aint at = side->same ? 0 : (MPI_Aint)i * count;

    if (count < 0)
        return weftmpi_fail(request->comm, request->call, MPI_ERR_COUNT, "count %d of piece %d",
                            count, i);
    TRY(weftmpi_elements_in(request->comm, request->call, side->base, count,
                            side->handles != NULL ? side->handles[i] : side->handle, piece));
    if (side->displs != NULL)
        at = side->displs[i];
    at *= weftmpi_extent(piece->type);
    if (side->bytes != NULL)
        at = side->bytes[i];
    else if (side->addresses != NULL)
        at = side->addresses[i];
    piece->user = (char *)side->base + at;
    return MPI_SUCCESS;
}

/*
 * What the root (or, of an allgather, everybody) has of all members, as a row of bytes: the buffer
 * itself, or one piece after the other.
 */
struct row {
    char *at;
    size_t *sizes, *offsets; /* of unlike pieces */
};

/* The row where they arrive, or from where they are sent. */
static int row_of(struct weftmpi_request *request, const struct weftmpi_side *side, bool arrive,
                  struct row *row)
{
    const int n = request->comm->size;
    struct weftmpi_elements piece;
    size_t all = 0;

    TRY(weftmpi_elements_in(request->comm, request->call, side->base, side->count, side->handle,
                            &piece));
    const struct weftmpi_type *type = piece.type;
    *row = (struct row){.at = (char *)side->base + type->true_lower};
    if (type->dense && !side->unlike)
        return MPI_SUCCESS;
    row->sizes = weftmpi_request_memory(request, 2 * (size_t)n * sizeof(size_t));
    if (row->sizes == NULL)
        return weftmpi_no_memory(request->comm, request->call);
    row->offsets = row->sizes + n;
    for (int i = 0; i < n; i++) {
        TRY(weftmpi_piece(request, side, i, &piece));
        row->sizes[i] = piece.bytes;
        row->offsets[i] = type->dense ? (size_t)((char *)piece.user - (char *)side->base) : all;
        all += piece.bytes;
    }
    if (type->dense)
        return MPI_SUCCESS;
    row->at = weftmpi_request_memory(request, all);
    for (int i = 0; row->at != NULL && i < n; i++) {
        TRY(weftmpi_piece(request, side, i, &piece));
        if (!arrive)
            weftmpi_pack(type, piece.count, piece.user, row->at + row->offsets[i]);
        else if (weftmpi_request_unpack(request, row->at + row->offsets[i], &piece) == NULL)
            row->at = NULL;
    }
    return row->at != NULL ? MPI_SUCCESS : weftmpi_no_memory(request->comm, request->call);
}

/* This member's own piece: from its buffer, or in place among all, which are here. Its bytes. */
static int own_in(struct weftmpi_request *request, const struct weftmpi_side *send,
                  const struct weftmpi_side *all, bool here, void **row, size_t *bytes)
{
    struct weftmpi_elements piece, place;

    if (here)
        TRY(weftmpi_piece(request, all, request->comm->rank, &place));
    if (send->base != MPI_IN_PLACE) {
        TRY(weftmpi_piece(request, send, 0, &piece));
        if (here)
            TRY(weftmpi_check_apart(request, weftmpi_begin_of(&piece), weftmpi_begin_of(&place),
                                    piece.bytes));
    } else if (here) {
        piece = place;
    } else {
        return weftmpi_fail(request->comm, request->call, MPI_ERR_BUFFER,
                            "MPI_IN_PLACE is for the root");
    }
    *bytes = piece.bytes;
    return weftmpi_row(request, &piece, WEFTMPI_TAKE, row);
}

/* ---- gather and scatter ---------------------------------------------------------------------- */

static int gather(struct weftmpi_request *request, const char *call, struct weftmpi_side send,
                  struct weftmpi_side receive, int root, MPI_Comm comm)
{
    struct row row = {.at = NULL};
    void *from;
    size_t bytes;

    TRY(weftmpi_open(request, call, comm));
    TRY(weftmpi_check_root(request, root));
    const bool here = request->comm->rank == root;
    if (here)
        TRY(row_of(request, &receive, true, &row));
    TRY(own_in(request, &send, &receive, here, &from, &bytes));
    return receive.unlike ? TEAM(gather_sizes, root, from, bytes, row.at, row.sizes, row.offsets)
                          : TEAM(gather, root, from, bytes, row.at);
}

static int scatter(struct weftmpi_request *request, const char *call, struct weftmpi_side send,
                   struct weftmpi_side receive, int root, MPI_Comm comm)
{
    struct weftmpi_elements piece, own;
    struct row row = {.at = NULL};
    void *into = NULL;

    TRY(weftmpi_open(request, call, comm));
    TRY(weftmpi_check_root(request, root));
    const bool here = request->comm->rank == root;
    if (here) {
        TRY(row_of(request, &send, false, &row));
        TRY(weftmpi_piece(request, &send, root, &own));
        piece = own;
    }
    if (!here || receive.base != MPI_IN_PLACE) {
        TRY(weftmpi_piece(request, &receive, 0, &piece));
        if (here)
            TRY(weftmpi_check_apart(request, weftmpi_begin_of(&own), weftmpi_begin_of(&piece),
                                    piece.bytes));
        TRY(weftmpi_row(request, &piece, WEFTMPI_FILL, &into));
    }
    return send.unlike
               ? TEAM(scatter_sizes, root, row.at, row.sizes, row.offsets, into, piece.bytes)
               : TEAM(scatter, root, row.at, into, piece.bytes);
}

static int allgather(struct weftmpi_request *request, const char *call, struct weftmpi_side send,
                     struct weftmpi_side receive, MPI_Comm comm)
{
    struct row row;
    void *from;
    size_t bytes;

    TRY(weftmpi_open(request, call, comm));
    TRY(row_of(request, &receive, true, &row));
    TRY(own_in(request, &send, &receive, true, &from, &bytes));
    return receive.unlike ? TEAM(allgather_sizes, from, row.at, row.sizes, row.offsets)
                          : TEAM(allgather, from, bytes, row.at);
}

static int alltoall(struct weftmpi_request *request, const char *call, struct weftmpi_side send,
                    struct weftmpi_side receive, MPI_Comm comm)
{
    const bool in_place = send.base == MPI_IN_PLACE;
    struct weftmpi_elements out, in;
    void *from, *row;

    TRY(weftmpi_open(request, call, comm));
    const size_t n = (size_t)request->comm->size;
    TRY(weftmpi_piece(request, &receive, 0, &in));
    TRY(weftmpi_piece(request, in_place ? &receive : &send, 0, &out));
    TRY(weftmpi_check_apart(request, weftmpi_begin_of(&out), weftmpi_begin_of(&in),
                            in_place ? 0 : in.bytes));
    const size_t bytes = in.bytes;
    in.count *= n;
    in.bytes *= n;
    out.count *= n;
    out.bytes *= n;
    TRY(weftmpi_row(request, &out, in_place ? WEFTMPI_COPY : WEFTMPI_TAKE, &from));
    TRY(weftmpi_row(request, &in, WEFTMPI_FILL, &row));
    return TEAM(alltoall, from, row, bytes);
}

/* ---- what programs call ---------------------------------------------------------------------- */

int weftmpi_begin(struct weftmpi_request *request, const struct weftmpi_given *given)
{
    struct weftmpi_comm *comm;

    TRY(weftmpi_comm_in(given->call, given->comm, &comm));
    return comm->remote != NULL ? weftmpi_inter(request, given) : given->begin(request, given);
}

/* How many pieces a side has whose arrays are significant here. */
static size_t pieces_of(const struct weftmpi_given *given, const struct weftmpi_comm *comm,
                        bool sends)
{
    const bool root = given->root == (comm->remote != NULL ? MPI_ROOT : comm->rank);

    if ((given->kind == WEFT_TEAM_GATHER_SIZES || given->kind == WEFT_TEAM_SCATTER_SIZES) && !root)
        return 0;
    if (given->near && comm->topology != NULL)
        return (size_t)(sends ? comm->topology->outdegree : comm->topology->indegree);
    return (size_t)(given->kind == WEFT_TEAM_REDUCE_SCATTER ? comm->size : comm->peers);
}

/* Copies an array of a side behind others. */
static void *keep(char **at, const void *array, size_t bytes)
{
    void *const copy = *at;

    if (array == NULL || bytes == 0)
        return NULL;
    *at += bytes;
    return memcpy(copy, array, bytes);
}

/* A side's arrays are in memory of its own from now on: that memory; NULL: there is none. */
static void *keep_arrays(struct weftmpi_side *side, size_t n)
{
    const size_t each = 3 * sizeof(int) + sizeof(MPI_Aint) + sizeof(MPI_Datatype);
    char *const memory = malloc(n * each + 1), *at = memory;

    if (memory == NULL)
        return NULL;
    side->handles = keep(&at, side->handles, n * sizeof(*side->handles));
    side->addresses = keep(&at, side->addresses, n * sizeof(*side->addresses));
    side->counts = keep(&at, side->counts, n * sizeof(int));
    side->displs = keep(&at, side->displs, n * sizeof(int));
    side->bytes = keep(&at, side->bytes, n * sizeof(int));
    return memory;
}

/* On a communicator of its own, since members may start several in any order. */
int weftmpi_prepare(const struct weftmpi_given *given, MPI_Request *handle)
{
    struct weftmpi_comm *comm;
    MPI_Comm own;

    TRY(weftmpi_place_in(given->call, handle));
    TRY(weftmpi_comm_in(given->call, given->comm, &comm));
    TRY(weftmpi_agree_now(given->call, comm,
                          (struct weftmpi_making){.group = weftmpi_hold(comm->group),
                                                  .remote = weftmpi_hold(comm->remote),
                                                  .topology = weftmpi_hold(comm->topology)},
                          &own));
    struct weftmpi_request *request = weftmpi_make(WEFTMPI_REQUEST, sizeof(*request));
    if (request == NULL || (request->given = malloc(sizeof(*given))) == NULL)
        return weftmpi_no_memory(comm, given->call);
    request->persistent = true;
    TRY(weftmpi_open(request, given->call, own));
    *request->given = *given;
    request->given->comm = own;
    request->given->parent = weftmpi_hold(comm);
    request->given->arrays[0] = keep_arrays(&request->given->send, pieces_of(given, comm, true));
    request->given->arrays[1] =
        keep_arrays(&request->given->receive, pieces_of(given, comm, false));
    if (request->given->arrays[0] == NULL || request->given->arrays[1] == NULL)
        return weftmpi_no_memory(comm, given->call);
    weftmpi_hold(weftmpi_find(WEFTMPI_TYPE, given->send.handle));
    weftmpi_hold(weftmpi_find(WEFTMPI_TYPE, given->receive.handle));
    weftmpi_hold(weftmpi_find(WEFTMPI_OP, given->op));
    return weftmpi_request_keep(request, MPI_SUCCESS, handle);
}

void weftmpi_given_handler(const struct weftmpi_given *given)
{
    struct weftmpi_comm *own = weftmpi_find(WEFTMPI_COMM, given->comm);

    LOCKED;
    weftmpi_leave(own->object.errhandler);
    own->object.errhandler = weftmpi_errhandler_of(&given->parent->object);
}

void weftmpi_given_end(struct weftmpi_given *given)
{
    weftmpi_leave(weftmpi_find(WEFTMPI_COMM, given->comm));
    weftmpi_leave(given->parent);
    free(given->arrays[0]);
    free(given->arrays[1]);
    weftmpi_leave(weftmpi_find(WEFTMPI_TYPE, given->send.handle));
    weftmpi_leave(weftmpi_find(WEFTMPI_TYPE, given->receive.handle));
    weftmpi_leave(weftmpi_find(WEFTMPI_OP, given->op));
    free(given);
}

static int begin_barrier(struct weftmpi_request *request, const struct weftmpi_given *g)
{
    return barrier(request, g->call, g->comm);
}

static int begin_broadcast(struct weftmpi_request *request, const struct weftmpi_given *g)
{
    return broadcast(request, g->call, g->receive.base, g->receive.count, g->receive.handle,
                     g->root, g->comm);
}

static int begin_gather(struct weftmpi_request *request, const struct weftmpi_given *g)
{
    return gather(request, g->call, g->send, g->receive, g->root, g->comm);
}

static int begin_scatter(struct weftmpi_request *request, const struct weftmpi_given *g)
{
    return scatter(request, g->call, g->send, g->receive, g->root, g->comm);
}

static int begin_allgather(struct weftmpi_request *request, const struct weftmpi_given *g)
{
    return allgather(request, g->call, g->send, g->receive, g->comm);
}

static int begin_alltoall(struct weftmpi_request *request, const struct weftmpi_given *g)
{
    return alltoall(request, g->call, g->send, g->receive, g->comm);
}

COLLECTIVE(Barrier, Ibarrier, begin_barrier, (.kind = WEFT_TEAM_BARRIER), MPI_Comm comm)
COLLECTIVE(Bcast, Ibcast, begin_broadcast,
           (.kind = WEFT_TEAM_BROADCAST,
            .receive = {.base = buffer, .count = count, .handle = type}, .root = root),
           void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm)
COLLECTIVE(Gather, Igather, begin_gather,
           (.kind = WEFT_TEAM_GATHER, .send = LIKE(send), .receive = LIKE(receive), .root = root),
           SEND, RECEIVE, int root, MPI_Comm comm)
COLLECTIVE(Gatherv, Igatherv, begin_gather,
           (.kind = WEFT_TEAM_GATHER_SIZES, .send = LIKE(send), .receive = UNLIKE(receive),
            .root = root),
           SEND, RECEIVES, int root, MPI_Comm comm)
COLLECTIVE(Scatter, Iscatter, begin_scatter,
           (.kind = WEFT_TEAM_SCATTER, .send = LIKE(send), .receive = LIKE(receive), .root = root),
           SEND, RECEIVE, int root, MPI_Comm comm)
COLLECTIVE(Scatterv, Iscatterv, begin_scatter,
           (.kind = WEFT_TEAM_SCATTER_SIZES, .send = UNLIKE(send), .receive = LIKE(receive),
            .root = root),
           SENDS, RECEIVE, int root, MPI_Comm comm)
COLLECTIVE(Allgather, Iallgather, begin_allgather,
           (.kind = WEFT_TEAM_ALLGATHER, .send = LIKE(send), .receive = LIKE(receive)), SEND,
           RECEIVE, MPI_Comm comm)
COLLECTIVE(Allgatherv, Iallgatherv, begin_allgather,
           (.kind = WEFT_TEAM_ALLGATHER_SIZES, .send = LIKE(send), .receive = UNLIKE(receive)),
           SEND, RECEIVES, MPI_Comm comm)
COLLECTIVE(Alltoall, Ialltoall, begin_alltoall,
           (.kind = WEFT_TEAM_ALLTOALL, .send = LIKE(send), .receive = LIKE(receive)), SEND,
           RECEIVE, MPI_Comm comm)
