/*
 * coll/host/ring.c - allgather around a ring: in each round a member passes on what came last.
 *
 * Thakur, Rabenseifner, Gropp (2005), section 4.1.
 */
#include "coll/host/ways.h"

void weft_ring_allgather(weft_team_op *op, void *target, const size_t sizes[],
                         const size_t offsets[])
{
    const int n = op->team->members, me = op->team->me;

    for (int round = 0; round + 1 < n; round++) {
        const int pass = (me - round + n) % n, get = (pass - 1 + n) % n;
        weft_plan_receive(op, (me - 1 + n) % n, weft_at(target, offsets[get]), sizes[get]);
        weft_plan_send(op, (me + 1) % n, weft_at(target, offsets[pass]), sizes[pass]);
        weft_plan_next(op);
    }
}

/* Bytes and place of a piece: they are numbered from member `first` on. */
static size_t bytes_of(size_t piece, size_t all, int number, size_t *at)
{
    *at = piece * (size_t)number < all ? piece * (size_t)number : all;
    return all - *at < piece ? all - *at : piece;
}

void weft_ring_allgather_equal(weft_team_op *op, int first, void *target, size_t piece, size_t all)
{
    const int n = op->team->members, me = op->team->me;

    for (int round = 0; round + 1 < n; round++) {
        const int pass = (me - first - round + 2 * n) % n, get = (pass - 1 + n) % n;
        size_t from, into;
        const size_t out = bytes_of(piece, all, pass, &from), in = bytes_of(piece, all, get, &into);
        weft_plan_receive(op, (me - 1 + n) % n, weft_at(target, into), in);
        weft_plan_send(op, (me + 1) % n, weft_at(target, from), out);
        weft_plan_next(op);
    }
}
