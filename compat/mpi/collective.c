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
    struct weftmpi_type *type;
    const void *from;
    void *row;

    TRY(weftmpi_open(request, call, comm));
    TRY(weftmpi_type_in(request->comm, call, handle, count, &type));
    TRY(weftmpi_check_root(request, root));
    if (request->comm->rank == root) {
        TRY(weftmpi_row_in(request, buffer, (size_t)count, type, &from));
        row = (void *)from;
    } else {
        TRY(weftmpi_row_out(request, buffer, (size_t)count, type, &row));
    }
    return weftmpi_request_failed(request, weft_team_broadcast(request->comm->team, root, row,
                                                               type->size * (size_t)count,
                                                               &request->collective));
}

BOTH(Barrier, Ibarrier, barrier(&begun, __func__, comm), MPI_Comm comm)
BOTH(Bcast, Ibcast, broadcast(&begun, __func__, buffer, count, type, root, comm), void *buffer,
     int count, MPI_Datatype type, int root, MPI_Comm comm)

/* ---- gather and scatter ---------------------------------------------------------------------- */

/*
 * What the root (or, of an allgather, everybody) has of all members: pieces of `count` elements, or
 * (unlike) of counts[i] elements, displs[i] extents from the buffer's begin.
 */
struct pieces {
    void *user;
    bool unlike;
    int count;
    const int *counts, *displs;
    struct weftmpi_type *type;
    size_t *sizes, *offsets; /* of the unlike, in bytes, in the row */
    size_t all;
};

#define ALIKE(buffer, n) ((struct pieces){.user = (void *)buffer, .count = n})
#define UNLIKE(buffer, n, positions)                                                               \
    ((struct pieces){.user = (void *)buffer, .unlike = true, .counts = n, .displs = positions})

/* The elements of member i. */
static void *piece_of(const struct pieces *pieces, int i, size_t *count)
{
    *count = (size_t)(pieces->unlike ? pieces->counts[i] : pieces->count);
    return weftmpi_element(pieces->user, pieces->type,
                           pieces->unlike ? pieces->displs[i] : (MPI_Aint)i * pieces->count);
}

/* Checks them, and computes the row: the buffer itself, or one piece after the other. */
static int lay_out(struct weftmpi_request *request, MPI_Datatype handle, struct pieces *pieces)
{
    const int n = request->comm->size;

    TRY(weftmpi_type_in(request->comm, request->call, handle, pieces->count, &pieces->type));
    pieces->all = pieces->type->size * (size_t)pieces->count * (size_t)n;
    if (!pieces->unlike)
        return MPI_SUCCESS;
    pieces->sizes = weftmpi_request_memory(request, 2 * (size_t)n * sizeof(size_t));
    if (pieces->sizes == NULL)
        return weftmpi_no_memory(request->comm, request->call);
    pieces->offsets = pieces->sizes + n;
    for (int i = 0; i < n; i++) {
        if (pieces->counts[i] < 0)
            return weftmpi_fail(request->comm, request->call, MPI_ERR_COUNT, "count %d for rank %d",
                                pieces->counts[i], i);
        pieces->sizes[i] = (size_t)pieces->counts[i] * pieces->type->size;
        pieces->offsets[i] = pieces->type->dense
                                 ? (size_t)(pieces->displs[i] * weftmpi_extent(pieces->type))
                                 : pieces->all;
        pieces->all += pieces->sizes[i];
    }
    return MPI_SUCCESS;
}

/* The row where they arrive, or (`out` NULL) from where they are sent. */
static int row_of(struct weftmpi_request *request, const struct pieces *pieces, void **out,
                  const void **in)
{
    struct weftmpi_type *type = pieces->type;
    char *row = (char *)pieces->user + type->true_lower;

    if (!type->dense && (row = weftmpi_request_memory(request, pieces->all)) == NULL)
        return weftmpi_no_memory(request->comm, request->call);
    for (int i = 0; !type->dense && i < request->comm->size; i++) {
        size_t count;
        void *user = piece_of(pieces, i, &count);
        char *at = row + (pieces->unlike ? pieces->offsets[i] : (size_t)i * count * type->size);
        if (out == NULL)
            weftmpi_pack(type, count, user, at);
        else if (!weftmpi_request_unpack(request, at, user, type, count * type->size))
            return weftmpi_no_memory(request->comm, request->call);
    }
    if (out == NULL)
        *in = row;
    else
        *out = row;
    return MPI_SUCCESS;
}

/* This member's own piece: from its buffer, or in place among all. Its bytes. */
static int own_in(struct weftmpi_request *request, const struct pieces *pieces, const void *send,
                  int send_count, MPI_Datatype send_type, const void **row, size_t *bytes)
{
    struct weftmpi_type *type = pieces->type;
    size_t count = (size_t)send_count;

    if (send == MPI_IN_PLACE && type == NULL)
        return weftmpi_fail(request->comm, request->call, MPI_ERR_BUFFER,
                            "MPI_IN_PLACE is for the root");
    if (send == MPI_IN_PLACE) {
        send = piece_of(pieces, request->comm->rank, &count);
    } else {
        TRY(weftmpi_type_in(request->comm, request->call, send_type, send_count, &type));
    }
    *bytes = type->size * count;
    return weftmpi_row_in(request, send, count, type, row);
}

static int gather(struct weftmpi_request *request, const char *call, const void *send,
                  int send_count, MPI_Datatype send_type, struct pieces pieces,
                  MPI_Datatype receive_type, int root, MPI_Comm comm)
{
    const void *from;
    void *row = NULL;
    size_t bytes;

    TRY(weftmpi_open(request, call, comm));
    TRY(weftmpi_check_root(request, root));
    if (request->comm->rank == root) {
        TRY(lay_out(request, receive_type, &pieces));
        TRY(row_of(request, &pieces, &row, NULL));
    }
    TRY(own_in(request, &pieces, send, send_count, send_type, &from, &bytes));
    weft_team *team = request->comm->team;
    return weftmpi_request_failed(
        request, pieces.unlike
                     ? weft_team_gather_sizes(team, root, from, bytes, row, pieces.sizes,
                                              pieces.offsets, &request->collective)
                     : weft_team_gather(team, root, from, bytes, row, &request->collective));
}

static int scatter(struct weftmpi_request *request, const char *call, struct pieces pieces,
                   MPI_Datatype send_type, void *receive, int receive_count,
                   MPI_Datatype receive_type, int root, MPI_Comm comm)
{
    struct weftmpi_type *type;
    const void *from = NULL;
    void *row = NULL;
    size_t bytes = 0;

    TRY(weftmpi_open(request, call, comm));
    TRY(weftmpi_check_root(request, root));
    const bool here = request->comm->rank == root;
    if (here) {
        TRY(lay_out(request, send_type, &pieces));
        TRY(row_of(request, &pieces, NULL, &from));
        piece_of(&pieces, root, &bytes);
        bytes *= pieces.type->size;
    }
    if (!here || receive != MPI_IN_PLACE) {
        TRY(weftmpi_type_in(request->comm, call, receive_type, receive_count, &type));
        bytes = type->size * (size_t)receive_count;
        TRY(weftmpi_row_out(request, receive, (size_t)receive_count, type, &row));
    }
    weft_team *team = request->comm->team;
    return weftmpi_request_failed(
        request, pieces.unlike
                     ? weft_team_scatter_sizes(team, root, from, pieces.sizes, pieces.offsets, row,
                                               bytes, &request->collective)
                     : weft_team_scatter(team, root, from, row, bytes, &request->collective));
}

static int allgather(struct weftmpi_request *request, const char *call, const void *send,
                     int send_count, MPI_Datatype send_type, struct pieces pieces,
                     MPI_Datatype receive_type, MPI_Comm comm)
{
    const void *from;
    void *row;
    size_t bytes;

    TRY(weftmpi_open(request, call, comm));
    TRY(lay_out(request, receive_type, &pieces));
    TRY(row_of(request, &pieces, &row, NULL));
    TRY(own_in(request, &pieces, send, send_count, send_type, &from, &bytes));
    weft_team *team = request->comm->team;
    return weftmpi_request_failed(
        request, pieces.unlike ? weft_team_allgather_sizes(team, from, row, pieces.sizes,
                                                           pieces.offsets, &request->collective)
                               : weft_team_allgather(team, from, bytes, row, &request->collective));
}

static int alltoall(struct weftmpi_request *request, const char *call, const void *send,
                    int send_count, MPI_Datatype send_type, void *receive, int receive_count,
                    MPI_Datatype receive_type, MPI_Comm comm)
{
    struct weftmpi_type *type, *sent;
    const void *from;
    void *row;

    TRY(weftmpi_open(request, call, comm));
    const size_t n = (size_t)request->comm->size;
    TRY(weftmpi_type_in(request->comm, call, receive_type, receive_count, &type));
    const size_t bytes = type->size * (size_t)receive_count;
    if (send == MPI_IN_PLACE) {
        void *copy = weftmpi_request_memory(request, n * bytes);
        if (copy == NULL)
            return weftmpi_no_memory(request->comm, request->call);
        weftmpi_pack(type, n * (size_t)receive_count, receive, copy);
        from = copy;
    } else {
        TRY(weftmpi_type_in(request->comm, call, send_type, send_count, &sent));
        TRY(weftmpi_row_in(request, send, n * (size_t)send_count, sent, &from));
    }
    TRY(weftmpi_row_out(request, receive, n * (size_t)receive_count, type, &row));
    return weftmpi_request_failed(
        request, weft_team_alltoall(request->comm->team, from, row, bytes, &request->collective));
}

BOTH(Gather, Igather,
     gather(&begun, __func__, send, send_count, send_type, ALIKE(receive, receive_count),
            receive_type, root, comm),
     SEND, RECEIVE, int root, MPI_Comm comm)
BOTH(Gatherv, Igatherv,
     gather(&begun, __func__, send, send_count, send_type,
            UNLIKE(receive, receive_counts, receive_offsets), receive_type, root, comm),
     SEND, RECEIVES, int root, MPI_Comm comm)
BOTH(Scatter, Iscatter,
     scatter(&begun, __func__, ALIKE(send, send_count), send_type, receive, receive_count,
             receive_type, root, comm),
     SEND, RECEIVE, int root, MPI_Comm comm)
BOTH(Scatterv, Iscatterv,
     scatter(&begun, __func__, UNLIKE(send, send_counts, send_offsets), send_type, receive,
             receive_count, receive_type, root, comm),
     SENDS, RECEIVE, int root, MPI_Comm comm)
BOTH(Allgather, Iallgather,
     allgather(&begun, __func__, send, send_count, send_type, ALIKE(receive, receive_count),
               receive_type, comm),
     SEND, RECEIVE, MPI_Comm comm)
BOTH(Allgatherv, Iallgatherv,
     allgather(&begun, __func__, send, send_count, send_type,
               UNLIKE(receive, receive_counts, receive_offsets), receive_type, comm),
     SEND, RECEIVES, MPI_Comm comm)
BOTH(Alltoall, Ialltoall,
     alltoall(&begun, __func__, send, send_count, send_type, receive, receive_count, receive_type,
              comm),
     SEND, RECEIVE, MPI_Comm comm)
