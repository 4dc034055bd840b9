/*
 * coll/host/select.c - chooses the algorithm for each call. The limits are those that Thakur,
 * Rabenseifner, Gropp (2005) and the implementations after them found for hosts and networks; the
 * number of rounds decides below them, the bytes that move above.
 */
#include "ccl/ccl.h"
#include "coll/host/shared.h"
#include "coll/host/ways.h"

enum {
    BROADCAST_WHOLE = 12 << 10, /* bytes up to which the tree carries all of a broadcast */
    ALLREDUCE_WHOLE = 8 << 10,  /* bytes up to which all of a vector is exchanged in each round */
    PIECE_NEAR = 1 << 10 /* bytes of a piece up to which device data goes through host memory */
};

enum { WHOLE = 1, PIECES }; /* the words of WEFT_COLL_<operation>, of which 0 is auto */

/* Chooses a way: what the setting says, or else what suits the size. */
#define WAY(setting, by_size)                                                                      \
    (team->job->config.setting != 0 ? team->job->config.setting : (by_size))

/* Has a call that waits go by parts and return, if nothing is against it and it can. */
#define SHARE(against, of_kind, ...)                                                               \
    if (op == NULL && team != NULL && !(against)) {                                                \
        weft_status done;                                                                          \
        if (weft_shared_call(                                                                      \
                team, &(struct weft_shared){.kind = WEFT_TEAM_##of_kind, __VA_ARGS__}, &done))     \
            return done;                                                                           \
    }
/* SET: a setting of a team's job. FROM_: the members whose parts a call takes. */
#define SET(name) team->job->config.coll_##name
#define FROM_ALL  .end = team->members
#define FROM_ROOT .first = root, .end = team->me == root ? root : root + 1

/* Opens the next op of a team, or returns. */
#define OPEN(op, team, kind, root)                                                                 \
    weft_status status;                                                                            \
    weft_team_op *const op = weft_plan_open(team, kind, (uint32_t)(root), &status);                \
    if (op == NULL)                                                                                \
    return status

/* Returns from a collective that has a root, if `root` is no member. */
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
          .gives = team->me == root, FROM_ROOT, .each = bytes, .in = bytes, .target = data)
    OPEN(plan, team, WEFT_TEAM_BROADCAST, root);
    if (WAY(coll_broadcast, bytes <= BROADCAST_WHOLE || team->members < 4 ? WHOLE : PIECES) ==
        WHOLE)
        weft_tree_broadcast(plan, root, data, bytes);
    else
        weft_pieces_broadcast(plan, root, data, bytes);
    return weft_plan_begin(plan, op);
}

/* Gives a reduction to the stream, and returns from the call. */
#define LAUNCH(name, ...)                                                                          \
    return plan->failed = weft_ccl_##name(                                                         \
               team->of->ccl, __VA_ARGS__, combine->element, combine->function,                    \
               team->job->device_ops->stream(team->job->device, WEFT_STREAM_TEAMS)),               \
           weft_plan_begin(plan, op)

weft_status weft_team_reduce(weft_team *team, int root, const void *source, void *target,
                             size_t count, const weft_combine *combine, weft_team_op **op)
{
    ROOTED(team, WEFT_TEAM_REDUCE, root);
    const uint32_t said = weft_team_root(root, combine->check);
    const size_t bytes = count * combine->bytes;
    SHARE(0, REDUCE, .root = said, .source = source, .gives = true,
          .end = team->me == root ? team->members : 0, .each = bytes, .in = bytes, .target = target,
          .combine = combine)
    OPEN(plan, team, WEFT_TEAM_REDUCE, said);
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
    SHARE(SET(allreduce), ALLREDUCE, .root = combine->check, .source = source, .gives = true,
          FROM_ALL, .each = bytes, .in = bytes, .target = target, .combine = combine)
    OPEN(plan, team, WEFT_TEAM_ALLREDUCE, combine->check);
    plan->combine = *combine;
    if (weft_plan_launches(plan, source, bytes, target, bytes))
        LAUNCH(allreduce, source, target, count);
    weft_plan_near(plan, &source, bytes, &target, bytes);
    if ((team->members & (team->members - 1)) == 0 &&
        WAY(coll_allreduce, bytes <= ALLREDUCE_WHOLE ? WHOLE : PIECES) == WHOLE)
        weft_doubling_allreduce(plan, source, target, count);
    else
        weft_pieces_allreduce(plan, source, target, count);
    return weft_plan_begin(plan, op);
}

weft_status weft_team_reduce_scatter(weft_team *team, const void *source, void *target,
                                     const size_t counts[], const weft_combine *combine,
                                     weft_team_op **op)
{
    size_t bytes = 0;
    bool even = true;

    OPEN(plan, team, WEFT_TEAM_REDUCE_SCATTER, combine->check);
    const size_t n = (size_t)team->members, own = counts[team->me] * combine->bytes;
    size_t *const sizes = weft_plan_scratch(plan, 2 * n * sizeof(*sizes)), *offsets = sizes + n;
    plan->combine = *combine;
    for (size_t i = 0; i < n && plan->failed == WEFT_OK; i++) {
        offsets[i] = bytes;
        sizes[i] = counts[i] * combine->bytes;
        bytes += sizes[i];
        even = even && counts[i] == counts[0];
    }
    if (even && weft_plan_launches(plan, source, bytes, target, own))
        LAUNCH(reduce_scatter, source, target, counts[0]);
    weft_plan_near(plan, &source, bytes, &target, own);
    const struct weft_pieces parts = {.base = (void *)source, .sizes = sizes, .offsets = offsets};
    if (plan->failed == WEFT_OK)
        weft_pieces_reduce_scatter(plan, &parts, target);
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

/* Moves pieces between the root, which has all, and the others. sizes NULL: `bytes` each. */
static weft_status go_by_root(weft_team *team, enum weft_team_kind kind, int root, const void *own,
                              size_t bytes, const void *base, const size_t sizes[],
                              const size_t offsets[], weft_team_op **op)
{
    const bool gathers = kind == WEFT_TEAM_GATHER || kind == WEFT_TEAM_GATHER_SIZES;

    ROOTED(team, kind, root);
    OPEN(plan, team, kind, root);
    struct weft_pieces all = weft_pieces_even(base, bytes, team->members);
    all.sizes = sizes;
    all.offsets = offsets;
    weft_pieces_root(plan, root, gathers, (void *)own, bytes, &all);
    return weft_plan_begin(plan, op);
}

weft_status weft_team_gather(weft_team *team, int root, const void *source, size_t bytes,
                             void *target, weft_team_op **op)
{
    ROOTED(team, WEFT_TEAM_GATHER, root);
    SHARE(SET(exchange), GATHER, .root = (uint32_t)root,
          .source =
              source != NULL || team->me != root ? source : weft_at(target, bytes * (size_t)root),
          .gives = true, .end = team->me == root ? team->members : 0, .each = bytes, .in = bytes,
          .target = target)
    return go_by_root(team, WEFT_TEAM_GATHER, root, source, bytes, target, NULL, NULL, op);
}

weft_status weft_team_gather_sizes(weft_team *team, int root, const void *source, size_t bytes,
                                   void *target, const size_t sizes[], const size_t offsets[],
                                   weft_team_op **op)
{
    return go_by_root(team, WEFT_TEAM_GATHER_SIZES, root, source, bytes, target, sizes, offsets,
                      op);
}

weft_status weft_team_scatter(weft_team *team, int root, const void *source, void *target,
                              size_t bytes, weft_team_op **op)
{
    return go_by_root(team, WEFT_TEAM_SCATTER, root, target, bytes, source, NULL, NULL, op);
}

weft_status weft_team_scatter_sizes(weft_team *team, int root, const void *source,
                                    const size_t sizes[], const size_t offsets[], void *target,
                                    size_t bytes, weft_team_op **op)
{
    return go_by_root(team, WEFT_TEAM_SCATTER_SIZES, root, target, bytes, source, sizes, offsets,
                      op);
}

weft_status weft_team_allgather(weft_team *team, const void *source, size_t bytes, void *target,
                                weft_team_op **op)
{
    SHARE(SET(exchange), ALLGATHER,
          .source = source != NULL ? source : weft_at(target, bytes * (size_t)team->me),
          .gives = true, FROM_ALL, .each = bytes, .in = bytes, .target = target)
    OPEN(plan, team, WEFT_TEAM_ALLGATHER, 0);
    if (source == NULL)
        source = weft_at(target, bytes * (size_t)team->me);
    if (bytes <= PIECE_NEAR)
        weft_plan_near(plan, &source, bytes, &target, bytes * (size_t)team->members);
    const struct weft_pieces in = weft_pieces_even(target, bytes, team->members);
    weft_pieces_allgather(plan, source, &in);
    return weft_plan_begin(plan, op);
}

weft_status weft_team_allgather_sizes(weft_team *team, const void *source, void *target,
                                      const size_t sizes[], const size_t offsets[],
                                      weft_team_op **op)
{
    const struct weft_pieces in = {.base = target, .sizes = sizes, .offsets = offsets};

    OPEN(plan, team, WEFT_TEAM_ALLGATHER_SIZES, 0);
    weft_pieces_allgather(plan, source, &in);
    return weft_plan_begin(plan, op);
}

weft_status weft_team_alltoall(weft_team *team, const void *source, void *target, size_t bytes,
                               weft_team_op **op)
{
    SHARE(SET(exchange), ALLTOALL, .source = source, .gives = true, FROM_ALL,
          .each = bytes * (size_t)team->members, .at = bytes * (size_t)team->me, .in = bytes,
          .target = target)
    OPEN(plan, team, WEFT_TEAM_ALLTOALL, 0);
    const size_t near = bytes <= PIECE_NEAR ? bytes * (size_t)team->members : 0;
    weft_plan_near(plan, &source, near, &target, near);
    const struct weft_pieces out = weft_pieces_even(source, bytes, team->members);
    const struct weft_pieces in = weft_pieces_even(target, bytes, team->members);
    weft_pieces_alltoall(plan, &out, &in);
    return weft_plan_begin(plan, op);
}

weft_status weft_team_exchange(weft_team *team, enum weft_team_kind kind, const weft_piece *sends,
                               size_t sends_count, const weft_piece *receives,
                               size_t receives_count, weft_team_op **op)
{
    OPEN(plan, team, kind, 0);
    weft_pieces_exchange(plan, sends, sends_count, receives, receives_count);
    return weft_plan_begin(plan, op);
}
