/*
 * power_iteration/balance.c - weights, cuts and split rows.
 */
#include "balance.h"

#include <stdlib.h>

/* A row costs as much as so many entries, besides those it has. */
enum { ROW_COST = 4 };

/* Adds what the rows of one block cost. A split one costs its rank a pair of sums from each rank.
 */
static void add_weights(const uint64_t *row_start, uint64_t rows, uint64_t ranks, uint64_t *weight)
{
    uint64_t most = power_most_whole(row_start[rows], ranks);
    for (uint64_t row = 0; row < rows; row++) {
        uint64_t entries = row_start[row + 1] - row_start[row];
        weight[row] += ROW_COST + (entries > most ? ranks : entries);
    }
}

/* Slice r begins at the first row before which r shares of the block's weight lie, rounded. */
static void cut_vector(const struct power_shape *shape, uint64_t blocks, const uint64_t *weight,
                       uint64_t *cut)
{
    uint64_t ranks = shape->ranks;
    for (uint64_t block = 0; block < blocks; block++) {
        struct power_range range = power_part(shape->n, blocks, block);
        uint64_t total = 0;
        for (uint64_t i = range.begin; i < range.end; i++)
            total += weight[i];
        uint64_t before = 0;
        uint64_t i = range.begin;
        for (uint64_t rank = 0; rank < ranks; rank++) {
            uint64_t share = power_part(total, ranks, rank).begin;
            while (i < range.end && before + weight[i] / 2 < share)
                before += weight[i++];
            *cut++ = i;
        }
    }
    *cut = shape->n;
}

bool balance_slices(const struct power_shape *shape, const struct blocks *blocks, uint64_t *x_cut,
                    uint64_t *b_cut)
{
    uint64_t *weight = calloc(shape->n + 1, sizeof(*weight));
    if (!weight)
        return false;
    const uint64_t *row_start = blocks->row_start;
    for (uint64_t row = 0; row < shape->rows; row++) {
        struct power_range range = power_part(shape->n, shape->rows, row);
        uint64_t rows = range.end - range.begin;
        for (uint64_t column = 0; column < shape->columns; column++) {
            add_weights(row_start, rows, shape->ranks, weight + range.begin);
            row_start += rows + 1;
        }
    }
    cut_vector(shape, shape->rows, weight, x_cut);
    cut_vector(shape, shape->columns, weight, b_cut);
    free(weight);
    return true;
}

uint64_t balance_splits(const uint64_t *row_start, uint64_t rows, uint64_t ranks, uint64_t *list)
{
    uint64_t most = power_most_whole(row_start[rows], ranks);
    uint64_t found = 0;
    for (uint64_t row = 0; row < rows; row++) {
        if (row_start[row + 1] - row_start[row] <= most)
            continue;
        if (list)
            list[found] = row;
        found++;
    }
    return found;
}
