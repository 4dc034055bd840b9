/*
 * coll/host/bruck.c - few rounds for small pieces: log2 n of them, each piece moves several times.
 *
 * Bruck, Ho, Kipnis, Upfal, Weathersby: Efficient Algorithms for All-to-All Communications in
 * Multiport Message-Passing Systems (1997).
 */
#include "coll/host/ways.h"

void weft_bruck_allgather(weft_team_op *op, const void *source, size_t bytes, void *target)
{
    const int n = op->team->members, me = op->team->me;
    const size_t before = bytes * (size_t)(n - me); /* of members from this one on */
    void *row = weft_plan_scratch(op, bytes * (size_t)n);

    weft_plan_copy(op, row, source, bytes);
    weft_plan_next(op);
    for (int have = 1; have < n; have <<= 1) {
        const size_t more = bytes * (size_t)(have < n - have ? have : n - have);
        weft_plan_receive(op, (me + have) % n, weft_at(row, bytes * (size_t)have), more);
        weft_plan_send(op, (me - have + n) % n, row, more);
        weft_plan_next(op);
    }
    weft_plan_copy(op, weft_at(target, bytes * (size_t)me), row, before);
    weft_plan_copy(op, target, weft_at(row, before), bytes * (size_t)me);
}

void weft_bruck_alltoall(weft_team_op *op, const void *source, void *target, size_t bytes)
{
    const int n = op->team->members, me = op->team->me;
    const size_t half = bytes * (size_t)((n + 1) / 2);
    void *row = weft_plan_scratch(op, bytes * (size_t)n); /* i: for the i-th member after this */
    void *out = weft_plan_scratch(op, half), *in = weft_plan_scratch(op, half);

    for (int i = 0; i < n; i++)
        weft_plan_copy(op, weft_at(row, bytes * (size_t)i),
                       weft_at(source, bytes * (size_t)((me + i) % n)), bytes);
    weft_plan_next(op);
    for (int step = 1; step < n; step <<= 1) {
        size_t used = 0;
        for (int i = step; i < n; i++) {
            if ((i & step) == 0)
                continue;
            weft_plan_copy(op, weft_at(out, used), weft_at(row, bytes * (size_t)i), bytes);
            used += bytes;
        }
        weft_plan_next(op);
        weft_plan_receive(op, (me - step + n) % n, in, used);
        weft_plan_send(op, (me + step) % n, out, used);
        used = 0;
        for (int i = step; i < n; i++) {
            if ((i & step) == 0)
                continue;
            weft_plan_copy(op, weft_at(row, bytes * (size_t)i), weft_at(in, used), bytes);
            used += bytes;
        }
        weft_plan_next(op);
    }
    for (int i = 0; i < n; i++)
        weft_plan_copy(op, weft_at(target, bytes * (size_t)((me - i + n) % n)),
                       weft_at(row, bytes * (size_t)i), bytes);
}
