/*
 * compat/mpi/exchange.c - collectives whose pieces differ, between all members or neighbours: each
 * piece is a send and a receive.
 */
#include "collective.h"

#include <stdlib.h>

/* The pieces of one side, as the forms of the calls give them. */
struct side {
    void *base;
    int count;         /* of each piece, */
    const int *counts; /* or by piece */
    const int *displs; /* in extents; NULL and the next too: one after the other */
    const int *bytes;  /* in bytes */
    const MPI_Aint *addresses;
    MPI_Datatype handle;         /* of each piece, */
    const MPI_Datatype *handles; /* or by piece */
    bool same;                   /* all pieces are the first */
};

/* Elements of a piece, and where they are. */
static int piece_of(struct weftmpi_request *request, const struct side *side, int i, void **user,
                    int *count, struct weftmpi_type **type)
{
    *count = side->counts != NULL ? side->counts[i] : side->count;
    TRY(weftmpi_type_in(request->comm, request->call,
                        side->handles != NULL ? side->handles[i] : side->handle, *count, type));
    if (side->bytes != NULL)
        *user = (char *)side->base + side->bytes[i];
    else if (side->addresses != NULL)
        *user = (char *)side->base + side->addresses[i];
    else if (side->displs != NULL)
        *user = weftmpi_element(side->base, *type, side->displs[i]);
    else
        *user = weftmpi_element(side->base, *type, side->same ? 0 : (MPI_Aint)i * *count);
    return MPI_SUCCESS;
}

/* members NULL: all of the communicator. Pieces of MPI_PROC_NULL are left out. */
static int lists(struct weftmpi_request *request, const struct side *side, int n,
                 const int *members, bool receives, weft_piece *pieces, size_t *used)
{
    for (int i = 0; i < n; i++) {
        struct weftmpi_type *type;
        const void *row;
        void *user;
        int count;
        const int member = members == NULL ? i : members[i];
        TRY(piece_of(request, side, i, &user, &count, &type));
        if (member == MPI_PROC_NULL)
            continue;
        weft_piece *piece = &pieces[(*used)++];
        piece->member = member;
        piece->bytes = type->size * (size_t)count;
        if (receives) {
            TRY(weftmpi_row_out(request, user, (size_t)count, type, &piece->data));
        } else {
            TRY(weftmpi_row_in(request, user, (size_t)count, type, &row));
            piece->data = (void *)row;
        }
    }
    return MPI_SUCCESS;
}

/* What would be overwritten before it is sent. */
static int copy_pieces(struct weftmpi_request *request, weft_piece *pieces, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        void *copy = weftmpi_request_memory(request, pieces[i].bytes);
        if (copy == NULL)
            return weftmpi_no_memory(request->comm, request->call);
        weftmpi_pack(WEFTMPI_BYTES, pieces[i].bytes, pieces[i].data, copy);
        pieces[i].data = copy;
    }
    return MPI_SUCCESS;
}

/* On a grid what is sent down arrives from above, also where both are one process. */
static void swap_pairs(weft_piece *pieces, const int *members, int n)
{
    size_t at = 0;

    for (int i = 0; i + 1 < n; i += 2) {
        const bool both = members[i] != MPI_PROC_NULL && members[i + 1] != MPI_PROC_NULL;
        if (both) {
            const weft_piece first = pieces[at];
            pieces[at] = pieces[at + 1];
            pieces[at + 1] = first;
        }
        at += (members[i] != MPI_PROC_NULL) + (members[i + 1] != MPI_PROC_NULL);
    }
}

static int exchange(struct weftmpi_request *request, enum weft_team_kind kind, struct side *send,
                    struct side *receive, int out, const int *out_members, int in,
                    const int *in_members)
{
    size_t sends = 0, receives = 0;
    const bool in_place = send->base == MPI_IN_PLACE;
    weft_piece *pieces =
        weftmpi_request_memory(request, ((size_t)out + (size_t)in) * sizeof(*pieces));

    if (pieces == NULL)
        return weftmpi_no_memory(request->comm, request->call);
    if (in_place)
        *send = *receive;
    TRY(lists(request, send, out, out_members, false, pieces, &sends));
    if (in_place)
        TRY(copy_pieces(request, pieces, sends));
    TRY(lists(request, receive, in, in_members, true, pieces + sends, &receives));
    const struct weftmpi_topology *topology = request->comm->topology;
    if (in_members != NULL && topology->kind == MPI_CART && !send->same)
        swap_pairs(pieces + sends, in_members, in);
    return weftmpi_request_failed(request, weft_team_exchange(request->comm->team, kind, pieces,
                                                              sends, pieces + sends, receives,
                                                              &request->collective));
}

static int all(struct weftmpi_request *request, const char *call, MPI_Comm comm, struct side send,
               struct side receive)
{
    TRY(weftmpi_open(request, call, comm));
    const int n = request->comm->size;
    return exchange(request, WEFT_TEAM_ALLTOALL_SIZES, &send, &receive, n, NULL, n, NULL);
}

static int near(struct weftmpi_request *request, const char *call, MPI_Comm comm, struct side send,
                struct side receive)
{
    int in, out, *ranks;

    TRY(weftmpi_open(request, call, comm));
    TRY(weftmpi_neighbours(request->comm, call, &in, &out, &ranks));
    const int error =
        exchange(request, WEFT_TEAM_EXCHANGE, &send, &receive, out, ranks + in, in, ranks);
    free(ranks);
    return error;
}

#define SENDS_W(place)                                                                             \
    const void *send, const int send_counts[], const place send_offsets[],                         \
        const MPI_Datatype send_types[]
#define RECEIVES_W(place)                                                                          \
    void *receive, const int receive_counts[], const place receive_offsets[],                      \
        const MPI_Datatype receive_types[]

#define LIKE(buffer, n, type) ((struct side){.base = (void *)buffer, .count = n, .handle = type})
#define LIKE_FIRST(buffer, n, type)                                                                \
    ((struct side){.base = (void *)buffer, .count = n, .handle = type, .same = true})
#define UNLIKE(buffer, n, at, type)                                                                \
    ((struct side){.base = (void *)buffer, .counts = n, .displs = at, .handle = type})
#define UNLIKE_W(buffer, n, place, at, types)                                                      \
    ((struct side){.base = (void *)buffer, .counts = n, .place = at, .handles = types})

BOTH(Alltoallv, Ialltoallv,
     all(&begun, __func__, comm, UNLIKE(send, send_counts, send_offsets, send_type),
         UNLIKE(receive, receive_counts, receive_offsets, receive_type)),
     SENDS, RECEIVES, MPI_Comm comm)
BOTH(Alltoallw, Ialltoallw,
     all(&begun, __func__, comm, UNLIKE_W(send, send_counts, bytes, send_offsets, send_types),
         UNLIKE_W(receive, receive_counts, bytes, receive_offsets, receive_types)),
     SENDS_W(int), RECEIVES_W(int), MPI_Comm comm)
BOTH(Neighbor_allgather, Ineighbor_allgather,
     near(&begun, __func__, comm, LIKE_FIRST(send, send_count, send_type),
          LIKE(receive, receive_count, receive_type)),
     SEND, RECEIVE, MPI_Comm comm)
BOTH(Neighbor_allgatherv, Ineighbor_allgatherv,
     near(&begun, __func__, comm, LIKE_FIRST(send, send_count, send_type),
          UNLIKE(receive, receive_counts, receive_offsets, receive_type)),
     SEND, RECEIVES, MPI_Comm comm)
BOTH(Neighbor_alltoall, Ineighbor_alltoall,
     near(&begun, __func__, comm, LIKE(send, send_count, send_type),
          LIKE(receive, receive_count, receive_type)),
     SEND, RECEIVE, MPI_Comm comm)
BOTH(Neighbor_alltoallv, Ineighbor_alltoallv,
     near(&begun, __func__, comm, UNLIKE(send, send_counts, send_offsets, send_type),
          UNLIKE(receive, receive_counts, receive_offsets, receive_type)),
     SENDS, RECEIVES, MPI_Comm comm)
BOTH(Neighbor_alltoallw, Ineighbor_alltoallw,
     near(&begun, __func__, comm, UNLIKE_W(send, send_counts, addresses, send_offsets, send_types),
          UNLIKE_W(receive, receive_counts, addresses, receive_offsets, receive_types)),
     SENDS_W(MPI_Aint), RECEIVES_W(MPI_Aint), MPI_Comm comm)
