/*
 * common/matrix_market.h - reads matrices in the Matrix Market exchange format:
 * coordinate; pattern, real or integer; general or symmetric.
 */
#ifndef COMMON_MATRIX_MARKET_H
#define COMMON_MATRIX_MARKET_H

#include "sparse.h"

#include <stdbool.h>
#include <stdio.h>

/* What is wrong with a file, and in which line (from 1; 0: the file as a whole). */
struct market_error {
    uint64_t line;
    char text[160];
};

/*
 * Reads the whole stream, which may hold anything; memory grows with what was read, not with what
 * the header claims, but for the row starts. Pattern entries are 1; entries at the same place are
 * summed; of a symmetric matrix each entry off the diagonal, in either triangle, stands for itself
 * and its mirror image. Returns false, with *error filled and *matrix untouched, if the file is
 * malformed, is of another kind, has an index out of range, a value that is not finite, or fewer
 * or more entries than it announces. On success free *matrix with sparse_free.
 */
bool market_read(FILE *file, struct sparse *matrix, struct market_error *error);

#endif
