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
                                  weft_team_barrier(request->comm->team, &request->collective));
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

BOTH(Barrier, Ibarrier, barrier(&begun, __func__, comm), MPI_Comm comm)
BOTH(Bcast, Ibcast, broadcast(&begun, __func__, buffer, count, type, root, comm), void *buffer,
     int count, MPI_Datatype type, int root, MPI_Comm comm)

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

BOTH(Gather, Igather, gather(&begun, __func__, LIKE(send), LIKE(receive), root, comm), SEND,
     RECEIVE, int root, MPI_Comm comm)
BOTH(Gatherv, Igatherv, gather(&begun, __func__, LIKE(send), UNLIKE(receive), root, comm), SEND,
     RECEIVES, int root, MPI_Comm comm)
BOTH(Scatter, Iscatter, scatter(&begun, __func__, LIKE(send), LIKE(receive), root, comm), SEND,
     RECEIVE, int root, MPI_Comm comm)
BOTH(Scatterv, Iscatterv, scatter(&begun, __func__, UNLIKE(send), LIKE(receive), root, comm), SENDS,
     RECEIVE, int root, MPI_Comm comm)
BOTH(Allgather, Iallgather, allgather(&begun, __func__, LIKE(send), LIKE(receive), comm), SEND,
     RECEIVE, MPI_Comm comm)
BOTH(Allgatherv, Iallgatherv, allgather(&begun, __func__, LIKE(send), UNLIKE(receive), comm), SEND,
     RECEIVES, MPI_Comm comm)
BOTH(Alltoall, Ialltoall, alltoall(&begun, __func__, LIKE(send), LIKE(receive), comm), SEND,
     RECEIVE, MPI_Comm comm)
