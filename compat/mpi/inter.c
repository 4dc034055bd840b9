/*
 * compat/mpi/inter.c - intercommunicators: two groups whose messages have one communicator of all
 * members. Their collectives are exchanges of pieces among these: what a member of one group gives
 * goes to those of the other, and a reduction is made where it arrives.
 */
#include "collective.h"

#include <stdlib.h>
#include <string.h>

/* ---- made ------------------------------------------------------------------------------------ */

/* What leaders tell each other, and then their groups. */
struct side {
    int number, size; /* number: of the communicator */
    int processes[];
};

/* This leader's side to the other leader, and the reverse. */
static int exchange_sides(const char *call, struct weftmpi_comm *comm, MPI_Comm peers_handle,
                          int leader, int tag, const struct side *mine, struct side *theirs,
                          size_t bytes)
{
    struct weftmpi_request request = {0};
    COMM_OF(peers, call, peers_handle);

    TRY(weftmpi_check_peer(peers, call, leader, tag, false));
    const int peer = peers->base + leader;
    weftmpi_request_open(&request, WEFTMPI_SEND, call, comm);
    const weft_status status =
        weft_host_send_begin(weftmpi.job, peers->messages, peer, tag, mine, bytes, &request.op);
    TRY(weftmpi_request_failed(&request, status));
    const int error = weftmpi_message(call, comm, peers->messages, peer, tag, true, theirs, bytes);
    return weftmpi_request_wait(&request, error, MPI_STATUS_IGNORE);
}

/* The leader learns of the other group, and tells its own. */
static int learn(const char *call, struct weftmpi_comm *comm, int leader, MPI_Comm peers,
                 int remote_leader, int tag, int *number, struct weftmpi_group **group)
{
    const size_t most = (size_t)weft_numbers_of(weftmpi.job)->processes;
    const size_t bytes = sizeof(struct side) + most * sizeof(int);
    struct side *mine = calloc(2, bytes), *theirs = (struct side *)((char *)mine + bytes);
    int error = weftmpi_memory_in(comm, call, mine);

    if (error == MPI_SUCCESS && comm->rank == leader) {
        mine->number = comm->number;
        mine->size = comm->size;
        memcpy(mine->processes, comm->group->processes, (size_t)comm->size * sizeof(int));
        error = exchange_sides(call, comm, peers, remote_leader, tag, mine, theirs, bytes);
    }
    if (error == MPI_SUCCESS)
        error = weftmpi_failed(comm, call,
                               weft_team_broadcast(comm->team, leader, theirs, bytes, NULL));
    if (error == MPI_SUCCESS && (*group = weftmpi_group_make(theirs->size)) == NULL)
        error = weftmpi_no_memory(comm, call);
    for (int i = 0; error == MPI_SUCCESS && i < theirs->size; i++) {
        (*group)->processes[i] = theirs->processes[i];
        if (weftmpi_group_rank(comm->group, theirs->processes[i]) >= 0)
            error = weftmpi_fail(comm, call, MPI_ERR_COMM, "process %d is in both groups",
                                 theirs->processes[i]);
    }
    if (error == MPI_SUCCESS)
        *number = theirs->number;
    free(mine);
    return error;
}

API(Intercomm_create,
    (MPI_Comm handle, int leader, MPI_Comm peers, int remote_leader, int tag, MPI_Comm *made))
{
    struct weftmpi_group *group = NULL;
    int number = -1;
    OUT(made);
    COMM_IN(comm, handle);
    TRY(weftmpi_check_inter(__func__, comm, false));
    if (leader < 0 || leader >= comm->size)
        return weftmpi_fail(comm, __func__, MPI_ERR_RANK, "leader %d of %d", leader, comm->size);
    const int error = learn(__func__, comm, leader, peers, remote_leader, tag, &number, &group);
    if (error != MPI_SUCCESS) {
        weftmpi_leave(group);
        return error;
    }
    const bool first = comm->group->processes[0] < group->processes[0];
    return weftmpi_agree_apart(
        __func__, comm,
        (struct weftmpi_making){.group = weftmpi_hold(comm->group), .remote = group},
        first ? comm->number : number, tag, made);
}

ASK(Comm_remote_size, INTER_IN, MPI_Comm, int, of->peers)

/* The group that says "high" comes behind; of two that say the same the one that comes first. */
API(Intercomm_merge, (MPI_Comm handle, int high, MPI_Comm *merged))
{
    OUT(merged);
    INTER_IN(comm, handle);
    const int n = comm->all->size, mine = high != 0;
    int *all = malloc((size_t)n * sizeof(*all));
    struct weftmpi_group *group = weftmpi_group_make(n);
    int error = all == NULL || group == NULL
                    ? weftmpi_no_memory(comm, __func__)
                    : weftmpi_allgather(__func__, comm, &mine, sizeof(mine), all);
    if (error == MPI_SUCCESS) {
        const int theirs = all[comm->base];
        const bool ahead = mine != theirs ? theirs != 0 : comm->base != 0;
        const struct weftmpi_group *a = ahead ? comm->group : comm->remote;
        const struct weftmpi_group *b = ahead ? comm->remote : comm->group;
        memcpy(group->processes, a->processes, (size_t)a->size * sizeof(int));
        memcpy(group->processes + a->size, b->processes, (size_t)b->size * sizeof(int));
        for (int i = 0; i < n && error == MPI_SUCCESS; i++)
            if (all[i] != (weftmpi_is_remote(comm, i) ? theirs : mine))
                error = weftmpi_fail(comm, __func__, MPI_ERR_ARG, "a group says high %d and %d",
                                     all[i], 1 - all[i]);
    }
    free(all);
    if (error == MPI_SUCCESS)
        return weftmpi_agree_now(__func__, comm, (struct weftmpi_making){.group = group}, merged);
    weftmpi_leave(group);
    return error;
}

/* ---- reductions of what has arrived ---------------------------------------------------------- */

struct fold {
    const struct weftmpi_op *op;
    struct weftmpi_type *type;
    size_t n, count, skip, take; /* n contributions of `count` elements, of which some are taken */
    char *packed;                /* one after the other */
    char *elements;              /* room for two of them as the operation wants them */
    void *into;
};

static void fold(struct weftmpi_request *request)
{
    const struct fold *f = request->state;
    const struct weftmpi_type *type = f->type;
    const size_t extent = (size_t)weftmpi_extent(type), bytes = f->take * type->size;
    char *const sum = f->elements - type->true_lower, *const one = sum + f->take * extent;

    for (size_t i = f->n; i-- > 0;) {
        const char *from = f->packed + (i * f->count + f->skip) * type->size;
        weftmpi_unpack(type, bytes, from, i == f->n - 1 ? sum : one);
        if (i != f->n - 1)
            weftmpi_operate(f->op, type, one, sum, f->take);
    }
    weftmpi_pack(type, f->take, sum, f->packed);
    weftmpi_unpack(type, bytes, f->packed, f->into);
}

/* Room for the contributions, which are put together when the request is complete. */
static int open_fold(struct weftmpi_request *request, const struct weftmpi_given *given,
                     struct weftmpi_elements *elements, size_t skip, size_t take, char **packed)
{
    const struct weftmpi_op *op = weftmpi_find(WEFTMPI_OP, given->op);
    struct weftmpi_type *type = elements->type;
    const size_t n = (size_t)request->comm->peers;

    if (op == NULL || !weftmpi_can_operate(op, type))
        return FAIL(request, MPI_ERR_OP, "no operation, or not for %s", type->name);
    struct fold *f = weftmpi_request_memory(request, sizeof(*f));
    *packed = weftmpi_request_memory(request, n * elements->bytes);
    char *room = weftmpi_request_memory(request, 2 * take * (size_t)weftmpi_extent(type));
    if (f == NULL || *packed == NULL || room == NULL)
        return weftmpi_no_memory(request->comm, request->call);
    request->elements = *elements;
    request->operation = (struct weftmpi_op *)op;
    *f = (struct fold){.op = op,
                       .type = type,
                       .n = n,
                       .count = elements->count,
                       .skip = skip,
                       .take = take,
                       .packed = *packed,
                       .elements = room,
                       .into = given->receive.base};
    request->state = f;
    request->finish = fold;
    return MPI_SUCCESS;
}

/* ---- collectives ----------------------------------------------------------------------------- */

/* Which of the other group a member sends to, or receives from. */
static int who_of(const struct weftmpi_request *request, int root, bool root_sends,
                  struct weftmpi_peers *to, struct weftmpi_peers *from)
{
    const struct weftmpi_comm *comm = request->comm;
    const struct weftmpi_peers nobody = {.count = 0}, all = *to;
    const struct weftmpi_peers one = {.first = comm->base + root, .count = 1};

    *to = *from = nobody;
    if (root == MPI_PROC_NULL)
        return MPI_SUCCESS;
    if (root != MPI_ROOT && (root < 0 || root >= comm->peers))
        return FAIL(request, MPI_ERR_ROOT, "root %d of %d in %s", root, comm->peers, comm->name);
    if (root == MPI_ROOT)
        *(root_sends ? to : from) = all;
    else
        *(root_sends ? from : to) = one;
    return MPI_SUCCESS;
}

/* The whole vector of a reduction, its counts added up; and where this member's part of it is. */
static int vector_of(struct weftmpi_request *request, const struct weftmpi_given *given,
                     struct weftmpi_elements *elements, size_t *skip, size_t *take)
{
    const struct weftmpi_side *side = &given->receive;
    const struct weftmpi_comm *comm = request->comm;
    size_t all = 0;

    TRY(weftmpi_elements_in(request->comm, request->call, given->send.base, side->count,
                            side->handle, elements));
    *skip = 0;
    *take = elements->count;
    if (given->kind != WEFT_TEAM_REDUCE_SCATTER)
        return MPI_SUCCESS;
    for (int i = 0; i < comm->size; i++) {
        const MPI_Count count = weftmpi_count_of(side, i);
        if (count < 0)
            return FAIL(request, MPI_ERR_COUNT, "count %lld for rank %d", (long long)count, i);
        if (i == comm->rank) {
            *skip = all;
            *take = (size_t)count;
        }
        all += (size_t)count;
    }
    elements->count = all;
    elements->bytes = all * elements->type->size;
    return MPI_SUCCESS;
}

static int begin_reduction(struct weftmpi_request *request, const struct weftmpi_given *given,
                           struct weftmpi_peers to, struct weftmpi_peers from)
{
    struct weftmpi_elements elements;
    size_t skip, take;
    char *packed = NULL;
    void *row = NULL;

    weft_piece *pieces =
        weftmpi_request_memory(request, ((size_t)to.count + (size_t)from.count) * sizeof(*pieces));
    TRY(weftmpi_memory_in(request->comm, request->call, pieces));
    TRY(vector_of(request, given, &elements, &skip, &take));
    if (to.count != 0)
        TRY(weftmpi_row(request, &elements, WEFTMPI_TAKE, &row));
    for (int i = 0; i < to.count; i++)
        pieces[i] = (weft_piece){row, elements.bytes, to.first + i};
    if (from.count != 0)
        TRY(open_fold(request, given, &elements, skip, take, &packed));
    for (int i = 0; i < from.count; i++)
        pieces[to.count + i] =
            (weft_piece){packed + (size_t)i * elements.bytes, elements.bytes, from.first + i};
    return TEAM(exchange, given->kind, pieces, (size_t)to.count, pieces + to.count,
                (size_t)from.count);
}

int weftmpi_inter(struct weftmpi_request *request, const struct weftmpi_given *given)
{
    const enum weft_team_kind kind = given->kind;
    struct weftmpi_peers to = {.first = request->comm->base, .count = request->comm->peers};
    struct weftmpi_peers from = to;
    struct weftmpi_side send = given->send, receive = given->receive;

    request->finish = NULL;
    switch (kind) {
    case WEFT_TEAM_BARRIER:
        return given->begin(request, given);
    case WEFT_TEAM_REDUCE:
        TRY(who_of(request, given->root, false, &to, &from));
        return begin_reduction(request, given, to, from);
    case WEFT_TEAM_ALLREDUCE:
    case WEFT_TEAM_REDUCE_SCATTER:
        return begin_reduction(request, given, to, from);
    case WEFT_TEAM_BROADCAST:
    case WEFT_TEAM_SCATTER:
    case WEFT_TEAM_SCATTER_SIZES:
        TRY(who_of(request, given->root, true, &to, &from));
        if (kind == WEFT_TEAM_BROADCAST)
            send = receive;
        send.same = kind == WEFT_TEAM_BROADCAST;
        receive.same = true;
        break;
    case WEFT_TEAM_GATHER:
    case WEFT_TEAM_GATHER_SIZES:
        TRY(who_of(request, given->root, false, &to, &from));
        send.same = true;
        break;
    case WEFT_TEAM_ALLGATHER:
    case WEFT_TEAM_ALLGATHER_SIZES:
        send.same = true;
        break;
    case WEFT_TEAM_ALLTOALL:
    case WEFT_TEAM_ALLTOALL_SIZES:
        break;
    default:
        return weftmpi_check_inter(request->call, request->comm, false);
    }
    return weftmpi_exchange(request, kind, &send, to, &receive, from);
}
