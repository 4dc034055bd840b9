/*
 * coll/host/pairwise.c - n - 1 rounds, in each of which a member sends to one and receives from
 * one: large pieces, none of which moves twice.
 *
 * Thakur, Rabenseifner, Gropp (2005), sections 4.4 and 5.1.
 */
#include "coll/host/ways.h"

void weft_pairwise_alltoall(weft_team_op *op, const void *source, void *target, size_t bytes,
                            bool at_once)
{
    const int n = op->team->members, me = op->team->me;

    weft_plan_copy(op, weft_at(target, bytes * (size_t)me), weft_at(source, bytes * (size_t)me),
                   bytes);
    for (int i = 1; i < n; i++) {
        const int to = (me + i) % n, from = (me - i + n) % n;
        weft_plan_receive(op, from, weft_at(target, bytes * (size_t)from), bytes);
        weft_plan_send(op, to, weft_at(source, bytes * (size_t)to), bytes);
        if (!at_once)
            weft_plan_next(op);
    }
}

/* For operations that commute. */
void weft_pairwise_reduce_scatter(weft_team_op *op, const void *source, void *target,
                                  const size_t counts[])
{
    const int n = op->team->members, me = op->team->me;
    const size_t each = op->combine.bytes, bytes = counts[me] * each;
    void *sum = weft_plan_scratch(op, bytes), *came = weft_plan_scratch(op, bytes);

    size_t before = 0; /* elements of members before this one */
    for (int i = 0; i < me; i++)
        before += counts[i];
    weft_plan_copy(op, sum, weft_at(source, before * each), bytes);
    weft_plan_next(op);
    size_t at = before; /* where those for `to` begin */
    for (int i = 1; i < n; i++) {
        const int to = (me + i) % n, from = (me - i + n) % n;
        at = to == 0 ? 0 : at + counts[to - 1];
        weft_plan_receive(op, from, came, bytes);
        weft_plan_send(op, to, weft_at(source, at * each), counts[to] * each);
        weft_plan_combine(op, came, sum, counts[me]);
        weft_plan_next(op);
    }
    weft_plan_copy(op, target, sum, bytes);
}
