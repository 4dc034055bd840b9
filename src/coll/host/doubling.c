/*
 * coll/host/doubling.c - recursive doubling: in round k a member exchanges with the one whose
 * number differs in bit k. Both hold what a block of 2^k neighbours gave, so that the order of
 * members is kept, and all compute the same.
 *
 * Barrier: dissemination, Hensgen, Finkel, Manber: Two Algorithms for Barrier Synchronization
 * (1988). The others: Thakur, Rabenseifner, Gropp (2005), section 5.
 */
#include "coll/host/ways.h"

void weft_doubling_barrier(weft_team_op *op)
{
    const int n = op->team->members, me = op->team->me;

    for (int step = 1; step < n; step <<= 1) {
        weft_plan_receive(op, (me - step % n + n) % n, NULL, 0);
        weft_plan_send(op, (me + step) % n, NULL, 0);
        weft_plan_next(op);
    }
}

/* The elements of neighbours put together: sum, and memory for what comes. */
struct pair {
    void *sum, *other;
    size_t count, bytes;
};

/* Plans one exchange with a partner: afterwards pair->sum is of both members' blocks. */
static void exchange(weft_team_op *op, struct pair *pair, int partner)
{
    weft_plan_receive(op, partner, pair->other, pair->bytes);
    weft_plan_send(op, partner, pair->sum, pair->bytes);
    if (partner < op->team->me) {
        weft_plan_combine(op, pair->other, pair->sum, pair->count);
    } else {
        void *sum = pair->other;
        weft_plan_combine(op, pair->sum, sum, pair->count);
        pair->other = pair->sum;
        pair->sum = sum;
    }
    weft_plan_next(op);
}

void weft_doubling_allreduce(weft_team_op *op, const void *source, void *target, size_t count)
{
    struct pair pair = {.sum = target, .count = count, .bytes = count * op->combine.bytes};

    pair.other = weft_plan_scratch(op, pair.bytes);
    weft_plan_copy(op, target, source, pair.bytes);
    weft_plan_next(op);
    for (int mask = 1; mask < op->team->members; mask <<= 1)
        exchange(op, &pair, op->team->me ^ mask);
    weft_plan_copy(op, target, pair.sum, pair.bytes);
}

void weft_doubling_scan(weft_team_op *op, bool before, const void *source, void *target,
                        size_t count)
{
    const int n = op->team->members, me = op->team->me;
    const size_t bytes = count * op->combine.bytes;
    struct pair pair = {.sum = weft_plan_scratch(op, bytes),
                        .other = weft_plan_scratch(op, bytes),
                        .count = count,
                        .bytes = bytes};
    bool empty = before; /* target holds nothing yet */

    weft_plan_copy(op, pair.sum, source, bytes);
    if (!before)
        weft_plan_copy(op, target, source, bytes);
    weft_plan_next(op);
    for (int mask = 1; mask < n; mask <<= 1) {
        const int partner = me ^ mask;
        if (partner >= n)
            continue;
        const void *came = pair.other;
        exchange(op, &pair, partner);
        if (partner > me)
            continue;
        if (empty)
            weft_plan_copy(op, target, came, bytes);
        else
            weft_plan_combine(op, came, target, count);
        weft_plan_next(op);
        empty = false;
    }
}
