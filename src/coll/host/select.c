/*
 * coll/host/select.c - which algorithm for what. The limits are those that Thakur, Rabenseifner,
 * Gropp (2005) and the implementations after them found for hosts and networks; the number of
 * rounds decides below them, the bytes that move above.
 */
#include "ccl/ccl.h"
#include "coll/host/shared.h"
#include "coll/host/ways.h"

enum {
    BROADCAST_WHOLE = 12 << 10, /* bytes, up to which the tree carries all of it */
    ALLREDUCE_WHOLE = 8 << 10,
    TREE_PIECE = 2 << 10,      /* bytes of a piece, up to which gather and scatter use trees */
    ALLGATHER_BRUCK = 1 << 10, /* bytes of a piece */
    ALLTOALL_BRUCK = 256,
    ALLTOALL_AT_ONCE = 32 << 10,
    REDUCE_SCATTER_WHOLE = 2 << 10 /* bytes of all elements */
};

/* The words of WEFT_COLL_<operation>, of which 0 is auto. */
enum { TREE = 1, SCATTER_RING };
enum { DOUBLING = 1, HALVING };
enum { PAIRWISE_REDUCE = 2 };
enum { LINEAR = 2 };
enum { BRUCK = 1, RING };
enum { ALL_AT_ONCE = 2, PAIRWISE };

/* What the setting says, or else the size. */
#define WAY(setting, by_size)                                                                      \
    (team->job->config.setting != 0 ? team->job->config.setting : (by_size))

/* A call that waits goes by parts if its setting is auto and it can, and returns. */
#define SHARE(setting, of_kind, ...)                                                               \
    if (op == NULL && team != NULL && (setting) == 0) {                                            \
        weft_status done;                                                                          \
        if (weft_shared_call(                                                                      \
                team, &(struct weft_shared){.kind = WEFT_TEAM_##of_kind, __VA_ARGS__}, &done))     \
            return done;                                                                           \
    }
/* The settings of a team's job; and those whose parts it takes. */
#define SET(name) team->job->config.coll_##name
#define FROM_ALL  .end = team->members
#define FROM_ROOT .first = root, .end = team->me == root ? root : root + 1

/* Opens the next op of a team, or returns. */
#define OPEN(op, team, kind, root)                                                                 \
    weft_status status;                                                                            \
    weft_team_op *const op = weft_plan_open(team, kind, (uint32_t)(root), &status);                \
    if (op == NULL)                                                                                \
    return status

/* Of a collective that has a root: what is none returns. */
#define ROOTED(team, kind, root)                                                                   \
    if (weft_plan_root(team, kind, root) != WEFT_OK)                                               \
    return WEFT_ERR_RANK

weft_status weft_team_barrier(weft_team *team, weft_team_op **op)
{
    SHARE(0, BARRIER, FROM_ALL)
    OPEN(plan, team, WEFT_TEAM_BARRIER, 0);
    weft_doubling_barrier(plan);
    return weft_plan_begin(plan, op);
}

weft_status weft_team_broadcast(weft_team *team, int root, void *data, size_t bytes,
                                weft_team_op **op)
{
    ROOTED(team, WEFT_TEAM_BROADCAST, root);
    SHARE(SET(broadcast), BROADCAST, .root = (uint32_t)root, .source = data,
          .out = team->me == root ? bytes : 0, FROM_ROOT, .each = bytes, .in = bytes,
          .target = data)
    OPEN(plan, team, WEFT_TEAM_BROADCAST, root);
    if (WAY(coll_broadcast, bytes <= BROADCAST_WHOLE || team->members < 4 ? TREE : SCATTER_RING) ==
        TREE)
        weft_tree_broadcast(plan, root, data, bytes);
    else
        weft_tree_scatter_broadcast(plan, root, data, bytes);
    return weft_plan_begin(plan, op);
}

/* Gives a reduction to the stream, and returns. */
#define LAUNCH(name, ...)                                                                          \
    return plan->failed = weft_ccl_##name(                                                         \
               team->of->ccl, __VA_ARGS__, combine->element, combine->function,                    \
               team->job->device_ops->stream(team->job->device, WEFT_STREAM_TEAMS)),               \
           weft_plan_begin(plan, op)

weft_status weft_team_reduce(weft_team *team, int root, const void *source, void *target,
                             size_t count, const weft_combine *combine, weft_team_op **op)
{
    ROOTED(team, WEFT_TEAM_REDUCE, root);
    const size_t bytes = count * combine->bytes;
    SHARE(0, REDUCE, .root = (uint32_t)root, .source = source, .out = bytes,
          .end = team->me == root ? team->members : 0, .each = bytes, .in = bytes, .target = target,
          .combine = combine)
    OPEN(plan, team, WEFT_TEAM_REDUCE, root);
    const size_t own = team->me == root ? bytes : 0;
    plan->combine = *combine;
    if (weft_plan_launches(plan, source, bytes, target, own))
        LAUNCH(reduce, root, source, target, count);
    weft_plan_near(plan, &source, bytes, &target, own);
    weft_tree_reduce(plan, root, source, target, count);
    return weft_plan_begin(plan, op);
}

weft_status weft_team_allreduce(weft_team *team, const void *source, void *target, size_t count,
                                const weft_combine *combine, weft_team_op **op)
{
    const size_t bytes = count * combine->bytes;
    SHARE(SET(allreduce), ALLREDUCE, .root = combine->check, .source = source, .out = bytes,
          FROM_ALL, .each = bytes, .in = bytes, .target = target, .combine = combine)
    OPEN(plan, team, WEFT_TEAM_ALLREDUCE, combine->check);
    plan->combine = *combine;
    if (weft_plan_launches(plan, source, bytes, target, bytes))
        LAUNCH(allreduce, source, target, count);
    weft_plan_near(plan, &source, bytes, &target, bytes);
    if (combine->commutes && count >= (size_t)team->members &&
        WAY(coll_allreduce, bytes > ALLREDUCE_WHOLE ? HALVING : DOUBLING) == HALVING)
        weft_halving_allreduce(plan, source, target, count);
    else
        weft_doubling_allreduce(plan, source, target, count);
    return weft_plan_begin(plan, op);
}

/* To member 0, which sends everybody its own. */
static void reduce_and_scatter(weft_team_op *plan, const void *source, void *target,
                               const size_t counts[])
{
    const int n = plan->team->members, me = plan->team->me;
    const size_t each = plan->combine.bytes;
    size_t count = 0, at = 0;

    for (int i = 0; i < n; i++)
        count += counts[i];
    void *sum = me == 0 ? weft_plan_scratch(plan, count * each) : NULL;
    weft_tree_reduce(plan, 0, source, sum, count);
    weft_plan_next(plan);
    if (me != 0) {
        weft_plan_receive(plan, 0, target, counts[me] * each);
        return;
    }
    for (int i = 0; i < n; at += counts[i] * each, i++)
        if (i != 0)
            weft_plan_send(plan, i, weft_at(sum, at), counts[i] * each);
    weft_plan_copy(plan, target, sum, counts[0] * each);
}

weft_status weft_team_reduce_scatter(weft_team *team, const void *source, void *target,
                                     const size_t counts[], const weft_combine *combine,
                                     weft_team_op **op)
{
    size_t count = 0;
    bool even = true;

    OPEN(plan, team, WEFT_TEAM_REDUCE_SCATTER, combine->check);
    plan->combine = *combine;
    for (int i = 0; i < team->members; i++) {
        count += counts[i];
        even = even && counts[i] == counts[0];
    }
    const size_t own = counts[team->me] * combine->bytes;
    if (even && weft_plan_launches(plan, source, count * combine->bytes, target, own))
        LAUNCH(reduce_scatter, source, target, counts[0]);
    weft_plan_near(plan, &source, count * combine->bytes, &target, own);
    if (combine->commutes && WAY(coll_reduce_scatter, count * combine->bytes > REDUCE_SCATTER_WHOLE
                                                          ? PAIRWISE_REDUCE
                                                          : TREE) == PAIRWISE_REDUCE)
        weft_pairwise_reduce_scatter(plan, source, target, counts);
    else
        reduce_and_scatter(plan, source, target, counts);
    return weft_plan_begin(plan, op);
}

weft_status weft_team_scan(weft_team *team, int before, const void *source, void *target,
                           size_t count, const weft_combine *combine, weft_team_op **op)
{
    const size_t bytes = count * combine->bytes;
    OPEN(plan, team, before ? WEFT_TEAM_SCAN_BEFORE : WEFT_TEAM_SCAN, combine->check);
    plan->combine = *combine;
    weft_plan_near(plan, &source, bytes, &target, before && team->me == 0 ? 0 : bytes);
    weft_doubling_scan(plan, before, source, target, count);
    return weft_plan_begin(plan, op);
}

weft_status weft_team_gather(weft_team *team, int root, const void *source, size_t bytes,
                             void *target, weft_team_op **op)
{
    ROOTED(team, WEFT_TEAM_GATHER, root);
    SHARE(SET(gather), GATHER, .root = (uint32_t)root,
          .source = source != NULL ? source : weft_at(target, bytes * (size_t)root), .out = bytes,
          .end = team->me == root ? team->members : 0, .each = bytes, .in = bytes, .target = target)
    OPEN(plan, team, WEFT_TEAM_GATHER, root);
    if (WAY(coll_gather, bytes <= TREE_PIECE ? TREE : LINEAR) == TREE)
        weft_tree_gather(plan, root, source, bytes, target);
    else
        weft_linear_gather(plan, root, source, bytes, target, NULL, NULL);
    return weft_plan_begin(plan, op);
}

weft_status weft_team_gather_sizes(weft_team *team, int root, const void *source, size_t bytes,
                                   void *target, const size_t sizes[], const size_t offsets[],
                                   weft_team_op **op)
{
    ROOTED(team, WEFT_TEAM_GATHER_SIZES, root);
    OPEN(plan, team, WEFT_TEAM_GATHER_SIZES, root);
    weft_linear_gather(plan, root, source, bytes, target, sizes, offsets);
    return weft_plan_begin(plan, op);
}

weft_status weft_team_scatter(weft_team *team, int root, const void *source, void *target,
                              size_t bytes, weft_team_op **op)
{
    ROOTED(team, WEFT_TEAM_SCATTER, root);
    OPEN(plan, team, WEFT_TEAM_SCATTER, root);
    if (WAY(coll_gather, bytes <= TREE_PIECE ? TREE : LINEAR) == TREE)
        weft_tree_scatter(plan, root, source, target, bytes);
    else
        weft_linear_scatter(plan, root, source, NULL, NULL, target, bytes);
    return weft_plan_begin(plan, op);
}

weft_status weft_team_scatter_sizes(weft_team *team, int root, const void *source,
                                    const size_t sizes[], const size_t offsets[], void *target,
                                    size_t bytes, weft_team_op **op)
{
    ROOTED(team, WEFT_TEAM_SCATTER_SIZES, root);
    OPEN(plan, team, WEFT_TEAM_SCATTER_SIZES, root);
    weft_linear_scatter(plan, root, source, sizes, offsets, target, bytes);
    return weft_plan_begin(plan, op);
}

weft_status weft_team_allgather(weft_team *team, const void *source, size_t bytes, void *target,
                                weft_team_op **op)
{
    SHARE(SET(allgather), ALLGATHER,
          .source = source != NULL ? source : weft_at(target, bytes * (size_t)team->me),
          .out = bytes, FROM_ALL, .each = bytes, .in = bytes, .target = target)
    OPEN(plan, team, WEFT_TEAM_ALLGATHER, 0);
    void *const own = weft_at(target, bytes * (size_t)team->me);
    if (source == NULL)
        source = own;
    if (WAY(coll_allgather, bytes <= ALLGATHER_BRUCK ? BRUCK : RING) == BRUCK) {
        weft_plan_near(plan, &source, bytes, &target, bytes * (size_t)team->members);
        weft_bruck_allgather(plan, source, bytes, target);
    } else {
        weft_plan_copy(plan, own, source, bytes);
        weft_plan_next(plan);
        weft_ring_allgather(
            plan, target, (struct weft_ring){.piece = bytes, .all = bytes * (size_t)team->members});
    }
    return weft_plan_begin(plan, op);
}

weft_status weft_team_allgather_sizes(weft_team *team, const void *source, void *target,
                                      const size_t sizes[], const size_t offsets[],
                                      weft_team_op **op)
{
    OPEN(plan, team, WEFT_TEAM_ALLGATHER_SIZES, 0);
    if (source != NULL)
        weft_plan_copy(plan, weft_at(target, offsets[team->me]), source, sizes[team->me]);
    weft_plan_next(plan);
    weft_ring_allgather(plan, target, (struct weft_ring){.sizes = sizes, .offsets = offsets});
    return weft_plan_begin(plan, op);
}

weft_status weft_team_alltoall(weft_team *team, const void *source, void *target, size_t bytes,
                               weft_team_op **op)
{
    SHARE(SET(alltoall), ALLTOALL, .source = source, .out = bytes * (size_t)team->members, FROM_ALL,
          .each = bytes * (size_t)team->members, .at = bytes * (size_t)team->me, .in = bytes,
          .target = target)
    OPEN(plan, team, WEFT_TEAM_ALLTOALL, 0);
    const int way = WAY(coll_alltoall, bytes <= ALLTOALL_BRUCK && team->members > 2 ? BRUCK
                                       : bytes <= ALLTOALL_AT_ONCE                  ? ALL_AT_ONCE
                                                                                    : PAIRWISE);
    const size_t staged = way == BRUCK ? bytes * (size_t)team->members : 0;
    weft_plan_near(plan, &source, staged, &target, staged);
    if (way == BRUCK)
        weft_bruck_alltoall(plan, source, target, bytes);
    else
        weft_pairwise_alltoall(plan, source, target, bytes, way == ALL_AT_ONCE);
    return weft_plan_begin(plan, op);
}

weft_status weft_team_exchange(weft_team *team, enum weft_team_kind kind, const weft_piece *sends,
                               size_t sends_count, const weft_piece *receives,
                               size_t receives_count, weft_team_op **op)
{
    OPEN(plan, team, kind, 0);
    weft_linear_exchange(plan, sends, sends_count, receives, receives_count);
    return weft_plan_begin(plan, op);
}
