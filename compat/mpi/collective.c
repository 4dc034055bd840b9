/*
 * compat/mpi/collective.c - collectives whose pieces are alike: the team's, between buffers that
 * are a row of bytes, or are packed and unpacked.
 */
#include "collective.h"

int weftmpi_check_root(const struct weftmpi_request *request, int root)
{
    return HOLDS(root >= 0 && root < request->comm->size, MPI_ERR_ROOT, "root %d of %d in %s", root,
                 request->comm->size, request->comm->name);
}

/* ---- barrier, broadcast ---------------------------------------------------------------------- */

static int barrier(struct weftmpi_request *request, const struct weftmpi_given *given)
{
    (void)given;
    return weftmpi_failed(weft_team_barrier(request->comm->team, COLLECTIVE_OF(request)));
}

static int broadcast(struct weftmpi_request *request, const struct weftmpi_given *given)
{
    const struct weftmpi_side *side = &given->receive;
    struct weftmpi_elements elements;
    void *row;

    TRY(weftmpi_elements_in(side->base, side->count, side->handle, &elements));
    TRY(weftmpi_check_root(request, given->root));
    TRY(weftmpi_row(request, &elements,
                    request->comm->rank == given->root ? WEFTMPI_TAKE : WEFTMPI_FILL, &row));
    return TEAM(broadcast, given->root, row, elements.bytes);
}

/* ---- pieces ---------------------------------------------------------------------------------- */

int weftmpi_count_of(const struct weftmpi_side *side, int i, MPI_Count *count)
{
    TRY(HOLDS(side->counts.at != NULL || !side->unlike, MPI_ERR_ARG, "counts at NULL"));
    *count = side->unlike ? weftmpi_number(side->counts, i) : side->count;
    return HOLDS(*count >= 0, MPI_ERR_COUNT, "count %lld of piece %d", (long long)*count, i);
}

int weftmpi_piece(const struct weftmpi_side *side, int i, struct weftmpi_elements *piece)
{
    MPI_Count count;

    TRY(weftmpi_count_of(side, i, &count));
    TRY(HOLDS(side->displs.at != NULL || !side->unlike || count == 0, MPI_ERR_ARG,
              "displacements at NULL"));
    MPI_Aint at = side->same ? 0 : (MPI_Aint)i * count;
    TRY(weftmpi_elements_in(side->base, count,
                            side->handles != NULL ? side->handles[i] : side->handle, piece));
    if (side->displs.at != NULL)
        at = weftmpi_number(side->displs, i);
    if (side->handles == NULL)
        at *= weftmpi_extent(piece->type);
    piece->user = (char *)side->base + at;
    return HOLDS((uintptr_t)piece->user >= 4096 /* places may be addresses */ ||
                     side->handles != NULL || piece->bytes == 0 || piece->type->true_lower != 0,
                 MPI_ERR_BUFFER, "%zu bytes at NULL", piece->bytes);
}

/*
 * What the root (or, of an allgather, everybody) has of all members, as a row of bytes: the buffer
 * itself, or one piece after the other.
 */
struct row {
    char *at;
    size_t *sizes, *offsets;     /* of each piece, where they differ */
    struct weftmpi_elements own; /* this member's piece, in the buffer */
};

/* Makes the row in which pieces arrive (FILL), or from which they are sent. */
static int row_of(struct weftmpi_request *request, const struct weftmpi_side *side,
                  enum weftmpi_row how, struct row *row)
{
    const size_t n = (size_t)request->comm->size;
    struct weftmpi_elements piece;
    void *at;
    size_t all = 0;

    TRY(weftmpi_elements_in(side->base, side->count, side->handle, &piece));
    const struct weftmpi_type *type = piece.type;
    if (!side->unlike) {
        row->own = piece;
        row->own.user =
            (char *)side->base + request->comm->rank * side->count * weftmpi_extent(type);
        piece.count *= n;
        piece.bytes *= n;
        TRY(weftmpi_row(request, &piece, how, &at));
        row->at = at;
        return MPI_SUCCESS;
    }
    const bool as_it_is = type->dense && side->base != NULL; /* else displacements are addresses */
    row->at = (char *)side->base + type->true_lower;
    row->sizes = weftmpi_request_memory(request, 2 * n * sizeof(size_t));
    row->offsets = row->sizes + n;
    for (size_t i = 0; i < n; i++) {
        TRY(weftmpi_piece(side, (int)i, &piece));
        if ((int)i == request->comm->rank)
            row->own = piece;
        row->sizes[i] = piece.bytes;
        row->offsets[i] = as_it_is ? (size_t)((char *)piece.user - (char *)side->base) : all;
        all += piece.bytes;
    }
    if (as_it_is)
        return MPI_SUCCESS;
    row->at = weftmpi_request_memory(request, all);
    for (size_t i = 0; i < n; i++) {
        TRY(weftmpi_piece(side, (int)i, &piece));
        if (how != WEFTMPI_FILL)
            weftmpi_pack(type, piece.count, piece.user, row->at + row->offsets[i]);
        else
            weftmpi_request_unpack(request, row->at + row->offsets[i], &piece);
    }
    return MPI_SUCCESS;
}

/* Gives this member's own piece of the row, and its bytes: in its buffer, or in its place, NULL if
 * that is not here. FILL: it arrives; in its place it is there already (NULL). */
static int own_in(struct weftmpi_request *request, const struct weftmpi_side *side,
                  const struct weftmpi_elements *place, enum weftmpi_row how, void **row,
                  size_t *bytes)
{
    struct weftmpi_elements piece;

    *row = NULL;
    if (side->base != MPI_IN_PLACE) {
        TRY(weftmpi_elements_in(side->base, side->count, side->handle, &piece));
        if (place != NULL)
            TRY(weftmpi_check_own(weftmpi_begin_of(&piece), piece.bytes, weftmpi_begin_of(place),
                                  place->bytes));
    } else if (place != NULL) {
        piece = *place;
    } else {
        return weftmpi_fail(MPI_ERR_BUFFER, "MPI_IN_PLACE is for the root");
    }
    *bytes = piece.bytes;
    return side->base == MPI_IN_PLACE && how == WEFTMPI_FILL
               ? MPI_SUCCESS
               : weftmpi_row(request, &piece, how, row);
}

/* ---- gather and scatter ---------------------------------------------------------------------- */

static int gather(struct weftmpi_request *request, const struct weftmpi_given *given)
{
    const bool here = request->comm->rank == given->root;
    struct row row = {.at = NULL};
    void *from;
    size_t bytes;

    TRY(weftmpi_check_root(request, given->root));
    if (here)
        TRY(row_of(request, &given->receive, WEFTMPI_FILL, &row));
    TRY(own_in(request, &given->send, here ? &row.own : NULL, WEFTMPI_TAKE, &from, &bytes));
    return given->receive.unlike
               ? TEAM(gather_sizes, given->root, from, bytes, row.at, row.sizes, row.offsets)
               : TEAM(gather, given->root, from, bytes, row.at);
}

static int scatter(struct weftmpi_request *request, const struct weftmpi_given *given)
{
    const int root = given->root;
    const bool here = request->comm->rank == root;
    struct row row = {.at = NULL};
    void *into;
    size_t bytes;

    TRY(weftmpi_check_root(request, root));
    if (here)
        TRY(row_of(request, &given->send, WEFTMPI_TAKE, &row));
    TRY(own_in(request, &given->receive, here ? &row.own : NULL, WEFTMPI_FILL, &into, &bytes));
    return given->send.unlike
               ? TEAM(scatter_sizes, root, row.at, row.sizes, row.offsets, into, bytes)
               : TEAM(scatter, root, row.at, into, bytes);
}

static int allgather(struct weftmpi_request *request, const struct weftmpi_given *given)
{
    struct row row;
    void *from;
    size_t bytes;

    TRY(row_of(request, &given->receive, WEFTMPI_FILL, &row));
    TRY(own_in(request, &given->send, &row.own, WEFTMPI_TAKE, &from, &bytes));
    return given->receive.unlike ? TEAM(allgather_sizes, from, row.at, row.sizes, row.offsets)
                                 : TEAM(allgather, from, bytes, row.at);
}

static int alltoall(struct weftmpi_request *request, const struct weftmpi_given *given)
{
    const bool in_place = given->send.base == MPI_IN_PLACE;
    struct row from, into;

    TRY(row_of(request, in_place ? &given->receive : &given->send,
               in_place ? WEFTMPI_COPY : WEFTMPI_TAKE, &from));
    TRY(row_of(request, &given->receive, WEFTMPI_FILL, &into));
    TRY(weftmpi_check_own(given->send.base, from.own.bytes, given->receive.base, into.own.bytes));
    return TEAM(alltoall, from.at, into.at, into.own.bytes);
}

/* ---- what programs call ---------------------------------------------------------------------- */

int weftmpi_begin(struct weftmpi_request *request, const struct weftmpi_given *given)
{
    COMM_OF(comm, given->comm);

    weftmpi_request_open(request, WEFTMPI_COLLECTIVE, comm);
    if (given->parent != NULL)
        weftmpi_call.on = request->call.on = given->parent;
    return comm->remote != NULL ? weftmpi_inter(request, given) : given->begin(request, given);
}

/* Returns how many pieces a side has whose arrays are significant here. */
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

/* Keeps a copy of a side's array, of n elements of 8 bytes at most, at *at. Returns where it is. */
static const void *keep(MPI_Count **at, const void *array, size_t n, size_t bytes)
{
    void *const copy = *at;

    *at += n;
    return array != NULL && n != 0 ? memcpy(copy, array, n * bytes) : NULL;
}

static void keep_arrays(struct weftmpi_side *side, size_t n, MPI_Count **at)
{
    side->kept = n;
    side->handles = keep(at, side->handles, n, sizeof(*side->handles));
    side->displs.at = keep(at, side->displs.at, n, weftmpi_width(side->displs));
    side->counts.at = keep(at, side->counts.at, n, weftmpi_width(side->counts));
}

static void name_one(enum weftmpi_kind kind, const void *handle, bool holds)
{
    void *const object = weftmpi_find(kind, handle);

    if (holds)
        weftmpi_hold(object);
    else
        weftmpi_leave(object);
}

/* Holds all that the arguments name by its handle, or lets it go. */
static void name_all(const struct weftmpi_given *given, bool holds)
{
    const struct weftmpi_side *const sides[] = {&given->send, &given->receive};

    name_one(WEFTMPI_OP, given->op, holds);
    for (int s = 0; s < 2; s++) {
        name_one(WEFTMPI_TYPE, sides[s]->handle, holds);
        for (size_t i = 0; sides[s]->handles != NULL && i < sides[s]->kept; i++)
            name_one(WEFTMPI_TYPE, sides[s]->handles[i], holds);
    }
}

/* Makes a persistent request on a communicator of its own, since members may start several in any
 * order. */
int weftmpi_prepare(const struct weftmpi_given *given, MPI_Request *handle)
{
    MPI_Comm own;

    TRY(PLACES(handle));
    COMM_OF(comm, given->comm);
    TRY(weftmpi_comm_new(comm, weftmpi_comm_make(comm, comm->group, comm->remote, comm->topology),
                         &own));
    struct weftmpi_request *request = weftmpi_make(WEFTMPI_REQUEST, sizeof(*request));
    request->persistent = true;
    weftmpi_request_open(request, WEFTMPI_COLLECTIVE, weftmpi_find(WEFTMPI_COMM, own));
    const size_t sends = pieces_of(given, comm, true), receives = pieces_of(given, comm, false);
    struct weftmpi_given *kept =
        weftmpi_room(NULL, sizeof(*kept) + (sends + receives) * 3 * sizeof(MPI_Count)); /* arrays */
    MPI_Count *at = (MPI_Count *)(kept + 1);
    *kept = *given;
    kept->comm = own;
    kept->parent = weftmpi_hold(comm);
    keep_arrays(&kept->send, sends, &at);
    keep_arrays(&kept->receive, receives, &at);
    request->given = kept;
    name_all(kept, true);
    return weftmpi_request_keep(request, MPI_SUCCESS, handle);
}

void weftmpi_given_end(struct weftmpi_given *given)
{
    weftmpi_leave(weftmpi_find(WEFTMPI_COMM, given->comm));
    weftmpi_leave(given->parent);
    name_all(given, false);
    free(given);
}

COLLECTIVE(Barrier, Ibarrier, Barrier_init, barrier, (.kind = WEFT_TEAM_BARRIER), MPI_Comm comm)

#define BUFFER(N, A)   void *buffer, N count, MPI_Datatype type, int root, MPI_Comm comm
#define GATHER(N, A)   SEND(N), RECEIVE(N), int root, MPI_Comm comm
#define GATHERV(N, A)  SEND(N), RECEIVES(N, A), int root, MPI_Comm comm
#define SCATTERV(N, A) SENDS(N, A), RECEIVE(N), int root, MPI_Comm comm
#define ROOTED(team_kind, send_side, receive_side)                                                 \
    (.kind = WEFT_TEAM_##team_kind, .send = send_side, .receive = receive_side, .root = root)
#define EVERYWHERE(team_kind, receive_side)                                                        \
    (.kind = WEFT_TEAM_##team_kind, .send = LIKE(send), .receive = receive_side)

COLLECTIVES(Bcast, Ibcast, broadcast,
            (.kind = WEFT_TEAM_BROADCAST,
             .receive = {.base = buffer, .count = count, .handle = type}, .root = root),
            BUFFER)
COLLECTIVES(Gather, Igather, gather, ROOTED(GATHER, LIKE(send), LIKE(receive)), GATHER)
COLLECTIVES(Gatherv, Igatherv, gather, ROOTED(GATHER_SIZES, LIKE(send), UNLIKE(receive)), GATHERV)
COLLECTIVES(Scatter, Iscatter, scatter, ROOTED(SCATTER, LIKE(send), LIKE(receive)), GATHER)
COLLECTIVES(Scatterv, Iscatterv, scatter, ROOTED(SCATTER_SIZES, UNLIKE(send), LIKE(receive)),
            SCATTERV)
COLLECTIVES(Allgather, Iallgather, allgather, EVERYWHERE(ALLGATHER, LIKE(receive)), ALIKE)
COLLECTIVES(Allgatherv, Iallgatherv, allgather, EVERYWHERE(ALLGATHER_SIZES, UNLIKE(receive)),
            GATHERED)
COLLECTIVES(Alltoall, Ialltoall, alltoall, EVERYWHERE(ALLTOALL, LIKE(receive)), ALIKE)
