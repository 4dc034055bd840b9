/*
 * coll/host/linear.c - everybody's messages at once, without a tree: pieces of unlike sizes, and
 * large ones, for which the root's receives are there before they come (Shi et al., HiPC 2014).
 */
#include "coll/host/ways.h"

static size_t size_of(const size_t sizes[], size_t bytes, int i)
{
    return sizes == NULL ? bytes : sizes[i];
}

static void *place_of(const void *base, const size_t offsets[], size_t bytes, int i)
{
    return weft_at(base, offsets == NULL ? bytes * (size_t)i : offsets[i]);
}

void weft_linear_gather(weft_team_op *op, int root, const void *source, size_t bytes, void *target,
                        const size_t sizes[], const size_t offsets[])
{
    const int n = op->team->members, me = op->team->me;

    if (me != root) {
        weft_plan_send(op, root, source, bytes);
        return;
    }
    for (int i = 1; i < n; i++) {
        const int from = (root + i) % n;
        weft_plan_receive(op, from, place_of(target, offsets, bytes, from),
                          size_of(sizes, bytes, from));
    }
    if (source != NULL)
        weft_plan_copy(op, place_of(target, offsets, bytes, root), source, bytes);
}

void weft_linear_scatter(weft_team_op *op, int root, const void *source, const size_t sizes[],
                         const size_t offsets[], void *target, size_t bytes)
{
    const int n = op->team->members, me = op->team->me;

    if (me != root) {
        weft_plan_receive(op, root, target, bytes);
        return;
    }
    for (int i = 1; i < n; i++) {
        const int to = (root + i) % n;
        weft_plan_send(op, to, place_of(source, offsets, bytes, to), size_of(sizes, bytes, to));
    }
    if (target != NULL)
        weft_plan_copy(op, target, place_of(source, offsets, bytes, root),
                       size_of(sizes, bytes, root));
}

void weft_linear_exchange(weft_team_op *op, const weft_piece *sends, size_t sends_count,
                          const weft_piece *receives, size_t receives_count)
{
    const int me = op->team->me;
    size_t own = 0; /* of the sends, the next to this member itself */

    for (size_t i = 0; i < receives_count; i++)
        if (receives[i].member != me)
            weft_plan_receive(op, receives[i].member, receives[i].data, receives[i].bytes);
    for (size_t i = 0; i < sends_count; i++)
        if (sends[i].member != me)
            weft_plan_send(op, sends[i].member, sends[i].data, sends[i].bytes);
    for (size_t i = 0; i < receives_count; i++) {
        if (receives[i].member != me)
            continue;
        while (own < sends_count && sends[own].member != me)
            own++;
        if (own == sends_count || sends[own].bytes != receives[i].bytes) {
            weft_plan_fail(op, WEFT_ERR_MISMATCH, "what this process sends itself differs in size");
            return;
        }
        weft_plan_copy(op, receives[i].data, sends[own++].data, receives[i].bytes);
    }
}
