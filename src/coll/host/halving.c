/*
 * coll/host/halving.c - Rabenseifner's allreduce: a reduce-scatter by recursive halving, an
 * allgather by recursive doubling. Each element is put together by one member, and moves twice.
 * For operations that commute.
 *
 * Rabenseifner: Optimization of Collective Reduction Operations (2004).
 */
#include "coll/host/ways.h"

/* The elements are cut into `pieces`; where the i-th begins. */
static size_t start(size_t count, int pieces, int i)
{
    const size_t each = count / (size_t)pieces, rest = count % (size_t)pieces;

    return each * (size_t)i + ((size_t)i < rest ? (size_t)i : rest);
}

struct halving {
    int number, power, more;
    size_t count, bytes; /* of an element */
    void *sum, *came;
};

static int member(const struct halving *h, int number)
{
    return number < h->more ? 2 * number + 1 : number + h->more;
}

static void *piece(const struct halving *h, void *base, int i)
{
    return weft_at(base, start(h->count, h->power, i) * h->bytes);
}

static size_t elements(const struct halving *h, int from, int to)
{
    return start(h->count, h->power, to) - start(h->count, h->power, from);
}

/* Of pieces from..to, which this member and its partners hold, each keeps one half. */
static void halve(weft_team_op *op, const struct halving *h)
{
    for (int mask = h->power >> 1; mask > 0; mask >>= 1) {
        const int keep = h->number & ~(mask - 1), give = keep ^ mask;
        const int partner = member(h, h->number ^ mask);
        const size_t count = elements(h, keep, keep + mask);
        weft_plan_receive(op, partner, h->came, count * h->bytes);
        weft_plan_send(op, partner, piece(h, h->sum, give),
                       elements(h, give, give + mask) * h->bytes);
        weft_plan_combine(op, h->came, piece(h, h->sum, keep), count);
        weft_plan_next(op);
    }
}

static void double_up(weft_team_op *op, const struct halving *h)
{
    for (int mask = 1; mask < h->power; mask <<= 1) {
        const int have = h->number & ~(mask - 1), get = have ^ mask;
        const int partner = member(h, h->number ^ mask);
        weft_plan_receive(op, partner, piece(h, h->sum, get),
                          elements(h, get, get + mask) * h->bytes);
        weft_plan_send(op, partner, piece(h, h->sum, have),
                       elements(h, have, have + mask) * h->bytes);
        weft_plan_next(op);
    }
}

void weft_halving_allreduce(weft_team_op *op, const void *source, void *target, size_t count)
{
    const int n = op->team->members, me = op->team->me;
    struct halving h = {
        .power = weft_team_power(n), .count = count, .bytes = op->combine.bytes, .sum = target};
    const size_t bytes = count * h.bytes;

    h.more = n - h.power;
    h.number = me < 2 * h.more ? me / 2 : me - h.more;
    weft_plan_copy(op, target, source, bytes);
    weft_plan_next(op);
    if (me < 2 * h.more && me % 2 == 0) { /* as in doubling.c */
        weft_plan_send(op, me + 1, target, bytes);
        weft_plan_next(op);
        weft_plan_receive(op, me + 1, target, bytes);
        return;
    }
    h.came = weft_plan_scratch(op, me < 2 * h.more ? bytes : (bytes + h.bytes) / 2 + h.bytes);
    if (me < 2 * h.more) {
        weft_plan_receive(op, me - 1, h.came, bytes);
        weft_plan_combine(op, h.came, target, count);
        weft_plan_next(op);
    }
    halve(op, &h);
    double_up(op, &h);
    if (me < 2 * h.more)
        weft_plan_send(op, me - 1, target, bytes);
}
