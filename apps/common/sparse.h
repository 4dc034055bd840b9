/*
 * common/sparse.h - sparse matrices on the host: entries in any order become compressed
 * rows (CSR), and what the modes need is done to them.
 */
#ifndef COMMON_SPARSE_H
#define COMMON_SPARSE_H

#include <stdint.h>

/* One entry; indices from 0. */
struct entry {
    uint32_t row, column;
    double value;
};

/* Row i has the entries row_start[i] .. row_start[i + 1] - 1, by rising column, each column once.
 */
struct sparse {
    uint64_t rows, columns;
    uint64_t *row_start; /* rows + 1 */
    uint32_t *column_of;
    double *value;
};

static inline uint64_t sparse_entries(const struct sparse *matrix)
{
    return matrix->row_start[matrix->rows];
}

/*
 * Builds a matrix; entries at the same place are summed in the order given. Reorders `entries`.
 * Returns NULL, or why it failed (memory, or a sum that is not finite); then *matrix is untouched.
 */
const char *sparse_build(struct sparse *matrix, uint64_t rows, uint64_t columns,
                         struct entry *entries, uint64_t count);

/*
 * Replaces a square A by A + A^T. Errors as sparse_build, A is then as it was.
 */
const char *sparse_symmetrize(struct sparse *matrix);

/*
 * Scales every column to the sum `total`; columns without a positive sum (dangling) become zero.
 * Fails, with A as it was, if an entry is negative or a column's sum is not finite.
 */
const char *sparse_normalise_columns(struct sparse *matrix, double total);

/*
 * Divides A by a power of two, which is exact, so that its largest entry is about 1: sums of
 * squares then neither overflow nor vanish. Returns that power, 1 for a matrix of zeros.
 */
double sparse_scale(struct sparse *matrix);

void sparse_free(struct sparse *matrix);

#endif
