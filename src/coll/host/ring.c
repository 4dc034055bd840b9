/*
 * coll/host/ring.c - allgather around a ring: in each round a member passes on what came last.
 *
 * Thakur, Rabenseifner, Gropp (2005), section 4.1.
 */
#include "coll/host/ways.h"

/* Bytes and place of a piece: they are numbered from member `first` on. */
static size_t bytes_of(const struct weft_ring *ring, int number, size_t *at)
{
    const size_t begin = ring->piece * (size_t)number;

    if (ring->sizes != NULL) {
        *at = ring->offsets[number];
        return ring->sizes[number];
    }
    *at = begin < ring->all ? begin : ring->all;
    return ring->all - *at < ring->piece ? ring->all - *at : ring->piece;
}

void weft_ring_allgather(weft_team_op *op, void *target, struct weft_ring ring)
{
    const int n = op->team->members, me = op->team->me;

    for (int round = 0; round + 1 < n; round++) {
        const int pass = (me - ring.first - round + 2 * n) % n, get = (pass - 1 + n) % n;
        size_t from, into;
        const size_t out = bytes_of(&ring, pass, &from), in = bytes_of(&ring, get, &into);
        weft_plan_receive(op, (me - 1 + n) % n, weft_at(target, into), in);
        weft_plan_send(op, (me + 1) % n, weft_at(target, from), out);
        weft_plan_next(op);
    }
}
