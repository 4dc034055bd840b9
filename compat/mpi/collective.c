/*
 * compat/mpi/collective.c - collectives whose pieces are alike: the team's, between buffers that
 * are a row of bytes, or are packed and unpacked.
 */
#include "collective.h"

#include <stdlib.h>
#include <string.h>

int weftmpi_no_memory(const struct weftmpi_request *request)
{
    return weftmpi_fail(request->comm, request->call, MPI_ERR_NO_MEM, "no memory");
}

int weftmpi_row_in(struct weftmpi_request *request, const void *user, size_t count,
                   const struct weftmpi_type *type, const void **row)
{
    if (type->dense) {
        *row = (const char *)user + type->true_lower;
        return MPI_SUCCESS;
    }
    void *packed = weftmpi_request_memory(request, count * type->size);
    if (packed == NULL)
        return weftmpi_no_memory(request);
    weftmpi_pack(type, count, user, packed);
    *row = packed;
    return MPI_SUCCESS;
}

int weftmpi_row_out(struct weftmpi_request *request, void *user, size_t count,
                    struct weftmpi_type *type, void **row)
{
    const size_t bytes = count * type->size;

    if (type->dense) {
        *row = (char *)user + type->true_lower;
        return MPI_SUCCESS;
    }
    *row = weftmpi_request_memory(request, bytes);
    return *row != NULL && weftmpi_request_unpack(request, *row, user, type, bytes)
               ? MPI_SUCCESS
               : weftmpi_no_memory(request);
}

static int check_root(const struct weftmpi_request *request, int root)
{
    if (root < 0 || root >= request->comm->size)
        return weftmpi_fail(request->comm, request->call, MPI_ERR_ROOT, "root %d of %d in %s", root,
                            request->comm->size, request->comm->name);
    return MPI_SUCCESS;
}

static int begun_with(struct weftmpi_request *request, weft_status status)
{
    return weftmpi_failed(request->comm, request->call, status);
}

/* ---- barrier, broadcast -----------------------------------------------------------------------
 */

static int begin_Barrier(struct weftmpi_request *request, const char *call, MPI_Comm comm)
{
    TRY(weftmpi_open(request, call, comm));
    return begun_with(request, weft_team_barrier(request->comm->team, &request->collective));
}

static int begin_Bcast(struct weftmpi_request *request, const char *call, void *buffer, int count,
                       MPI_Datatype handle, int root, MPI_Comm comm)
{
    struct weftmpi_type *type;
    const void *from;
    void *row;

    TRY(weftmpi_open(request, call, comm));
    TRY(weftmpi_type_in(request->comm, call, handle, count, &type));
    TRY(check_root(request, root));
    if (request->comm->rank == root) {
        TRY(weftmpi_row_in(request, buffer, (size_t)count, type, &from));
        row = (void *)from;
    } else {
        TRY(weftmpi_row_out(request, buffer, (size_t)count, type, &row));
    }
    return begun_with(request,
                      weft_team_broadcast(request->comm->team, root, row,
                                          type->size * (size_t)count, &request->collective));
}

BOTH(Barrier, Ibarrier, (&begun, __func__, comm), MPI_Comm comm)
BOTH(Bcast, Ibcast, (&begun, __func__, buffer, count, type, root, comm), void *buffer, int count,
     MPI_Datatype type, int root, MPI_Comm comm)

/* ---- gather and scatter -----------------------------------------------------------------------
 */

/* The pieces of a v-form, in bytes; freed with the request. */
struct pieces {
    size_t *sizes, *offsets;
    size_t all;
};

/* From a row (dense types), or one after the other. */
static int lay_out(struct weftmpi_request *request, const struct weftmpi_type *type,
                   const int counts[], const int displs[], struct pieces *pieces)
{
    const int n = request->comm->size;

    pieces->sizes = weftmpi_request_memory(request, 2 * (size_t)n * sizeof(size_t));
    if (pieces->sizes == NULL)
        return weftmpi_no_memory(request);
    pieces->offsets = pieces->sizes + n;
    pieces->all = 0;
    for (int i = 0; i < n; i++) {
        if (counts[i] < 0)
            return weftmpi_fail(request->comm, request->call, MPI_ERR_COUNT, "count %d for rank %d",
                                counts[i], i);
        pieces->sizes[i] = (size_t)counts[i] * type->size;
        pieces->offsets[i] = type->dense ? (size_t)(displs[i] * weftmpi_extent(type)) : pieces->all;
        pieces->all += pieces->sizes[i];
    }
    return MPI_SUCCESS;
}

/* Where the pieces arrive: in the program's buffer, or in a row of their own. */
static int pieces_out(struct weftmpi_request *request, void *user, struct weftmpi_type *type,
                      const int displs[], const struct pieces *pieces, void **row)
{
    if (type->dense) {
        *row = (char *)user + type->true_lower;
        return MPI_SUCCESS;
    }
    *row = weftmpi_request_memory(request, pieces->all);
    for (int i = 0; *row != NULL && i < request->comm->size; i++)
        if (!weftmpi_request_unpack(request, (char *)*row + pieces->offsets[i],
                                    weftmpi_element(user, type, displs[i]), type, pieces->sizes[i]))
            return weftmpi_no_memory(request);
    return *row != NULL ? MPI_SUCCESS : weftmpi_no_memory(request);
}

static int begin_Gather(struct weftmpi_request *request, const char *call, const void *send,
                        int send_count, MPI_Datatype send_type, void *receive, int receive_count,
                        MPI_Datatype receive_type, int root, MPI_Comm comm)
{
    struct weftmpi_type *type;
    const void *from = NULL;
    void *row = NULL;
    size_t bytes = 0;

    TRY(weftmpi_open(request, call, comm));
    TRY(check_root(request, root));
    const struct weftmpi_comm *on = request->comm;
    if (on->rank == root) {
        TRY(weftmpi_type_in(request->comm, call, receive_type, receive_count, &type));
        bytes = type->size * (size_t)receive_count;
        TRY(weftmpi_row_out(request, receive, (size_t)receive_count * (size_t)on->size, type,
                            &row));
        if (send == MPI_IN_PLACE) {
            TRY(weftmpi_row_in(request,
                               weftmpi_element(receive, type, (MPI_Aint)root * receive_count),
                               (size_t)receive_count, type, &from));
            send_type = MPI_DATATYPE_NULL;
        }
    }
    if (send_type != MPI_DATATYPE_NULL || on->rank != root) {
        TRY(weftmpi_type_in(request->comm, call, send_type, send_count, &type));
        bytes = type->size * (size_t)send_count;
        TRY(weftmpi_row_in(request, send, (size_t)send_count, type, &from));
    }
    return begun_with(request,
                      weft_team_gather(on->team, root, from, bytes, row, &request->collective));
}

static int begin_Gatherv(struct weftmpi_request *request, const char *call, const void *send,
                         int send_count, MPI_Datatype send_type, void *receive, const int counts[],
                         const int displs[], MPI_Datatype receive_type, int root, MPI_Comm comm)
{
    struct weftmpi_type *type;
    struct pieces pieces = {NULL, NULL, 0};
    const void *from = NULL;
    void *row = NULL;
    size_t bytes = 0;

    TRY(weftmpi_open(request, call, comm));
    TRY(check_root(request, root));
    const struct weftmpi_comm *on = request->comm;
    const bool in_place = on->rank == root && send == MPI_IN_PLACE;
    if (on->rank == root) {
        TRY(weftmpi_type_in(request->comm, call, receive_type, 0, &type));
        TRY(lay_out(request, type, counts, displs, &pieces));
        TRY(pieces_out(request, receive, type, displs, &pieces, &row));
        if (in_place)
            TRY(weftmpi_row_in(request, weftmpi_element(receive, type, displs[root]),
                               (size_t)counts[root], type, &from));
        bytes = pieces.sizes[root];
    }
    if (!in_place) {
        TRY(weftmpi_type_in(request->comm, call, send_type, send_count, &type));
        bytes = type->size * (size_t)send_count;
        TRY(weftmpi_row_in(request, send, (size_t)send_count, type, &from));
    }
    return begun_with(request,
                      weft_team_gather_sizes(on->team, root, from, bytes, row, pieces.sizes,
                                             pieces.offsets, &request->collective));
}

static int begin_Scatter(struct weftmpi_request *request, const char *call, const void *send,
                         int send_count, MPI_Datatype send_type, void *receive, int receive_count,
                         MPI_Datatype receive_type, int root, MPI_Comm comm)
{
    struct weftmpi_type *type;
    const void *from = NULL;
    void *row = NULL;
    size_t bytes = 0;

    TRY(weftmpi_open(request, call, comm));
    TRY(check_root(request, root));
    const struct weftmpi_comm *on = request->comm;
    if (on->rank == root) {
        TRY(weftmpi_type_in(request->comm, call, send_type, send_count, &type));
        bytes = type->size * (size_t)send_count;
        TRY(weftmpi_row_in(request, send, (size_t)send_count * (size_t)on->size, type, &from));
    }
    if (on->rank != root || receive != MPI_IN_PLACE) {
        TRY(weftmpi_type_in(request->comm, call, receive_type, receive_count, &type));
        bytes = type->size * (size_t)receive_count;
        TRY(weftmpi_row_out(request, receive, (size_t)receive_count, type, &row));
    }
    return begun_with(request,
                      weft_team_scatter(on->team, root, from, row, bytes, &request->collective));
}

/* All pieces of a v-form in a row. */
static int pieces_in(struct weftmpi_request *request, const void *user,
                     const struct weftmpi_type *type, const int counts[], const int displs[],
                     const struct pieces *pieces, const void **row)
{
    if (type->dense) {
        *row = (const char *)user + type->true_lower;
        return MPI_SUCCESS;
    }
    void *packed = weftmpi_request_memory(request, pieces->all);
    if (packed == NULL)
        return weftmpi_no_memory(request);
    for (int i = 0; i < request->comm->size; i++)
        weftmpi_pack(type, (size_t)counts[i], weftmpi_element(user, type, displs[i]),
                     (char *)packed + pieces->offsets[i]);
    *row = packed;
    return MPI_SUCCESS;
}

static int begin_Scatterv(struct weftmpi_request *request, const char *call, const void *send,
                          const int counts[], const int displs[], MPI_Datatype send_type,
                          void *receive, int receive_count, MPI_Datatype receive_type, int root,
                          MPI_Comm comm)
{
    struct weftmpi_type *type;
    struct pieces pieces = {NULL, NULL, 0};
    const void *from = NULL;
    void *row = NULL;
    size_t bytes = 0;

    TRY(weftmpi_open(request, call, comm));
    TRY(check_root(request, root));
    const struct weftmpi_comm *on = request->comm;
    if (on->rank == root) {
        TRY(weftmpi_type_in(request->comm, call, send_type, 0, &type));
        TRY(lay_out(request, type, counts, displs, &pieces));
        TRY(pieces_in(request, send, type, counts, displs, &pieces, &from));
        bytes = pieces.sizes[root];
    }
    if (on->rank != root || receive != MPI_IN_PLACE) {
        TRY(weftmpi_type_in(request->comm, call, receive_type, receive_count, &type));
        bytes = type->size * (size_t)receive_count;
        TRY(weftmpi_row_out(request, receive, (size_t)receive_count, type, &row));
    }
    return begun_with(request,
                      weft_team_scatter_sizes(on->team, root, from, pieces.sizes, pieces.offsets,
                                              row, bytes, &request->collective));
}

static int begin_Allgather(struct weftmpi_request *request, const char *call, const void *send,
                           int send_count, MPI_Datatype send_type, void *receive, int receive_count,
                           MPI_Datatype receive_type, MPI_Comm comm)
{
    struct weftmpi_type *type, *sent;
    const void *from;
    void *row;

    TRY(weftmpi_open(request, call, comm));
    const struct weftmpi_comm *on = request->comm;
    TRY(weftmpi_type_in(request->comm, call, receive_type, receive_count, &type));
    TRY(weftmpi_row_out(request, receive, (size_t)receive_count * (size_t)on->size, type, &row));
    if (send == MPI_IN_PLACE) {
        sent = type;
        send = weftmpi_element(receive, type, (MPI_Aint)on->rank * receive_count);
        send_count = receive_count;
    } else {
        TRY(weftmpi_type_in(request->comm, call, send_type, send_count, &sent));
    }
    TRY(weftmpi_row_in(request, send, (size_t)send_count, sent, &from));
    return begun_with(request,
                      weft_team_allgather(on->team, from, type->size * (size_t)receive_count, row,
                                          &request->collective));
}

static int begin_Allgatherv(struct weftmpi_request *request, const char *call, const void *send,
                            int send_count, MPI_Datatype send_type, void *receive,
                            const int counts[], const int displs[], MPI_Datatype receive_type,
                            MPI_Comm comm)
{
    struct weftmpi_type *type, *sent;
    struct pieces pieces;
    const void *from;
    void *row;

    TRY(weftmpi_open(request, call, comm));
    const struct weftmpi_comm *on = request->comm;
    TRY(weftmpi_type_in(request->comm, call, receive_type, 0, &type));
    TRY(lay_out(request, type, counts, displs, &pieces));
    TRY(pieces_out(request, receive, type, displs, &pieces, &row));
    if (send == MPI_IN_PLACE) {
        sent = type;
        send = weftmpi_element(receive, type, displs[on->rank]);
        send_count = counts[on->rank];
    } else {
        TRY(weftmpi_type_in(request->comm, call, send_type, send_count, &sent));
    }
    TRY(weftmpi_row_in(request, send, (size_t)send_count, sent, &from));
    return begun_with(request, weft_team_allgather_sizes(on->team, from, row, pieces.sizes,
                                                         pieces.offsets, &request->collective));
}

static int begin_Alltoall(struct weftmpi_request *request, const char *call, const void *send,
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
            return weftmpi_no_memory(request);
        weftmpi_pack(type, n * (size_t)receive_count, receive, copy);
        from = copy;
    } else {
        TRY(weftmpi_type_in(request->comm, call, send_type, send_count, &sent));
        TRY(weftmpi_row_in(request, send, n * (size_t)send_count, sent, &from));
    }
    TRY(weftmpi_row_out(request, receive, n * (size_t)receive_count, type, &row));
    return begun_with(
        request, weft_team_alltoall(request->comm->team, from, row, bytes, &request->collective));
}

#define SEND    const void *send, int send_count, MPI_Datatype send_type
#define RECEIVE void *receive, int receive_count, MPI_Datatype receive_type
#define RECEIVES                                                                                   \
    void *receive, const int receive_counts[], const int receive_offsets[],                        \
        MPI_Datatype receive_type
#define SENDS                                                                                      \
    const void *send, const int send_counts[], const int send_offsets[], MPI_Datatype send_type

BOTH(Gather, Igather,
     (&begun, __func__, send, send_count, send_type, receive, receive_count, receive_type, root,
      comm),
     SEND, RECEIVE, int root, MPI_Comm comm)
BOTH(Gatherv, Igatherv,
     (&begun, __func__, send, send_count, send_type, receive, receive_counts, receive_offsets,
      receive_type, root, comm),
     SEND, RECEIVES, int root, MPI_Comm comm)
BOTH(Scatter, Iscatter,
     (&begun, __func__, send, send_count, send_type, receive, receive_count, receive_type, root,
      comm),
     SEND, RECEIVE, int root, MPI_Comm comm)
BOTH(Scatterv, Iscatterv,
     (&begun, __func__, send, send_counts, send_offsets, send_type, receive, receive_count,
      receive_type, root, comm),
     SENDS, RECEIVE, int root, MPI_Comm comm)
BOTH(Allgather, Iallgather,
     (&begun, __func__, send, send_count, send_type, receive, receive_count, receive_type, comm),
     SEND, RECEIVE, MPI_Comm comm)
BOTH(Allgatherv, Iallgatherv,
     (&begun, __func__, send, send_count, send_type, receive, receive_counts, receive_offsets,
      receive_type, comm),
     SEND, RECEIVES, MPI_Comm comm)
BOTH(Alltoall, Ialltoall,
     (&begun, __func__, send, send_count, send_type, receive, receive_count, receive_type, comm),
     SEND, RECEIVE, MPI_Comm comm)
