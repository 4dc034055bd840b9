/*
 * coll/host/tree.c - binomial trees. Members are numbered from the root on; number r has the
 * children r + mask for all powers of two below its lowest bit.
 *
 * Thakur, Rabenseifner, Gropp: Optimization of Collective Communication Operations in MPICH (2005),
 * sections 4 and 5.
 */
#include "coll/host/ways.h"

/* Return the member of a number in the tree, and this member's number. */
static int member_of(const weft_team_op *op, int number, int root)
{
    return (number + root) % op->team->members;
}

static int number_of(const weft_team_op *op, int root)
{
    return (op->team->me - root + op->team->members) % op->team->members;
}

/* Returns the lowest bit of a number; of 0 the first power of two that is not below n. */
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

/* Plans a reduction: elements go up the tree; lower members' are the left operands. Where the order
 * matters the tree's root is member 0, which sends the result to the root. */
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
