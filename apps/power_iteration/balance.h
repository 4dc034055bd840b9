/*
 * power_iteration/balance.h - which rank does what: on the host, before the kernel starts.
 *
 * All ranks of the job wait for the slowest one in every iteration, so what counts is the largest
 * share. Slices are ranges of rows of about equal work; a row that would be too much for that is
 * not one rank's at all, but split among the ranks of its device (kernel.h: power_most_whole).
 */
#ifndef POWER_BALANCE_H
#define POWER_BALANCE_H

#include "distribution.h"

/* What the cuts take: `blocks` blocks of `ranks` slices. */
static inline uint64_t balance_cuts(const struct power_shape *shape, uint64_t blocks)
{
    return blocks * shape->ranks + 1;
}

/*
 * Process 0: where the slices of x (cut into shape->rows blocks) and of b (shape->columns) begin.
 * Both by the same weights, so that on a square grid both are cut at the same places and process 0
 * need not move x to make it b. Returns false without memory.
 */
bool balance_slices(const struct power_shape *shape, const struct blocks *blocks, uint64_t *x_cut,
                    uint64_t *b_cut);

/* Lists the split rows of one block into `list` unless that is NULL. Returns how many there are. */
uint64_t balance_splits(const uint64_t *row_start, uint64_t rows, uint64_t ranks, uint64_t *list);

#endif
