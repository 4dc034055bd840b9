/*
 * coll/host/tree.c - binomial trees. Members are numbered from the root on; number r has the
 * children r + mask for all powers of two below its lowest bit, and what is below them is in a row.
 *
 * Thakur, Rabenseifner, Gropp: Optimization of Collective Communication Operations in MPICH (2005),
 * sections 4 and 5.
 */
#include "coll/host/ways.h"

/* Member of a number, and this member's number. */
static int member_of(const weft_team_op *op, int number, int root)
{
    return (number + root) % op->team->members;
}

static int number_of(const weft_team_op *op, int root)
{
    return (op->team->me - root + op->team->members) % op->team->members;
}

/* The lowest bit of a number; of 0 the first power of two that is not below n. */
static int lowest_bit(int number, int n)
{
    int mask = 1;

    while (mask < n && (number & mask) == 0)
        mask <<= 1;
    return mask;
}

void weft_tree_broadcast(weft_team_op *op, int root, void *data, size_t bytes)
{
    const int n = op->team->members, me = number_of(op, root), bit = lowest_bit(me, n);

    if (me != 0) {
        weft_plan_receive(op, member_of(op, me - bit, root), data, bytes);
        weft_plan_next(op);
    }
    for (int mask = bit >> 1; mask > 0; mask >>= 1)
        if (me + mask < n)
            weft_plan_send(op, member_of(op, me + mask, root), data, bytes);
}

/* Pieces of a long broadcast: number i has the i-th. */
static size_t bound(size_t piece, int number, size_t bytes)
{
    const size_t at = piece * (size_t)number;

    return at < bytes ? at : bytes;
}

/* Scatter, then a ring in which everybody gets the others' pieces (van de Geijn). */
void weft_tree_scatter_broadcast(weft_team_op *op, int root, void *data, size_t bytes)
{
    const int n = op->team->members, me = number_of(op, root), bit = lowest_bit(me, n);
    const size_t piece = (bytes + (size_t)n - 1) / (size_t)n;

    if (me != 0) {
        const int end = me + bit < n ? me + bit : n;
        const size_t from = bound(piece, me, bytes);
        weft_plan_receive(op, member_of(op, me - bit, root), weft_at(data, from),
                          bound(piece, end, bytes) - from);
        weft_plan_next(op);
    }
    for (int mask = bit >> 1; mask > 0; mask >>= 1) {
        if (me + mask >= n)
            continue;
        const int end = me + 2 * mask < n ? me + 2 * mask : n;
        const size_t from = bound(piece, me + mask, bytes);
        weft_plan_send(op, member_of(op, me + mask, root), weft_at(data, from),
                       bound(piece, end, bytes) - from);
    }
    weft_plan_next(op);
    weft_ring_allgather(op, data, (struct weft_ring){.first = root, .piece = piece, .all = bytes});
}

/*
 * Elements go up the tree; lower members' are the left operands. Where the order matters the tree's
 * root is member 0, which sends the result to the root.
 */
void weft_tree_reduce(weft_team_op *op, int root, const void *source, void *target, size_t count)
{
    const int n = op->team->members, top = op->combine.commutes ? root : 0;
    const int me = number_of(op, top);
    const size_t bytes = count * op->combine.bytes;
    const int bit = lowest_bit(me, n);
    const void *sum = source; /* of this member and those below it, so far */
    void *free_memory[2] = {NULL, NULL};

    for (int mask = 1, i = 0; mask < bit && mask < n; mask <<= 1) {
        if (me + mask >= n)
            continue;
        if (free_memory[i] == NULL)
            free_memory[i] = weft_plan_scratch(op, bytes);
        weft_plan_receive(op, member_of(op, me + mask, top), free_memory[i], bytes);
        weft_plan_combine(op, sum, free_memory[i], count);
        weft_plan_next(op);
        sum = free_memory[i];
        i = 1 - i;
    }
    if (me != 0)
        weft_plan_send(op, member_of(op, me - bit, top), sum, bytes);
    else if (top == root)
        weft_plan_copy(op, target, sum, bytes);
    else
        weft_plan_send(op, root, sum, bytes);
    if (top != root && op->team->me == root) {
        weft_plan_next(op);
        weft_plan_receive(op, top, target, bytes);
    }
}

/* How many numbers are below this one, itself included. */
static int below(int me, int bit, int n)
{
    return me + bit < n ? bit : n - me;
}

void weft_tree_gather(weft_team_op *op, int root, const void *source, size_t bytes, void *target)
{
    const int n = op->team->members, me = number_of(op, root), bit = lowest_bit(me, n);
    const int mine = below(me, bit, n);
    const void *all = source; /* the pieces of this number and those below */

    if (me == 0 && source == NULL)
        source = weft_at(target, bytes * (size_t)root);
    if (mine > 1) {
        void *row = me == 0 && root == 0 ? target : weft_plan_scratch(op, bytes * (size_t)mine);
        for (int mask = 1; mask < bit && me + mask < n; mask <<= 1)
            weft_plan_receive(op, member_of(op, me + mask, root),
                              weft_at(row, bytes * (size_t)mask),
                              bytes * (size_t)below(me + mask, mask, n));
        weft_plan_copy(op, row, source, bytes);
        weft_plan_next(op);
        all = row;
    }
    if (me != 0) {
        weft_plan_send(op, member_of(op, me - bit, root), all, bytes * (size_t)mine);
    } else if (mine == 1) {
        weft_plan_copy(op, target, source, bytes);
    } else if (root != 0) { /* from the root's order to the members' */
        const size_t before = bytes * (size_t)(n - root);
        weft_plan_copy(op, weft_at(target, bytes * (size_t)root), all, before);
        weft_plan_copy(op, target, weft_at(all, before), bytes * (size_t)root);
    }
}

void weft_tree_scatter(weft_team_op *op, int root, const void *source, void *target, size_t bytes)
{
    const int n = op->team->members, me = number_of(op, root), bit = lowest_bit(me, n);
    const int mine = below(me, bit, n);
    const void *all = source;

    if (me != 0) {
        void *row = mine == 1 ? target : weft_plan_scratch(op, bytes * (size_t)mine);
        weft_plan_receive(op, member_of(op, me - bit, root), row, bytes * (size_t)mine);
        weft_plan_next(op);
        all = row;
    } else if (root != 0) { /* in the root's order */
        const size_t before = bytes * (size_t)(n - root);
        void *row = weft_plan_scratch(op, bytes * (size_t)n);
        weft_plan_copy(op, row, weft_at(source, bytes * (size_t)root), before);
        weft_plan_copy(op, weft_at(row, before), source, bytes * (size_t)root);
        weft_plan_next(op);
        all = row;
    }
    for (int mask = bit >> 1; mask > 0; mask >>= 1)
        if (me + mask < n)
            weft_plan_send(op, member_of(op, me + mask, root), weft_at(all, bytes * (size_t)mask),
                           bytes * (size_t)below(me + mask, mask, n));
    if (target != NULL)
        weft_plan_copy(op, target, all, bytes);
}
