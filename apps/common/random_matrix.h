/*
 * common/random_matrix.h - sparse matrices out of a seed: every entry is there with the same
 * chance, and has a value in -1 .. 1. What a row holds depends on the seed, its number and the
 * number of columns alone, so that processes can make their own rows.
 */
#ifndef COMMON_RANDOM_MATRIX_H
#define COMMON_RANDOM_MATRIX_H

#include "sparse.h"

#include <stdbool.h>

/*
 * Rows first .. end - 1 of a matrix with so many columns, with about `nonzeros` of a million
 * entries. Returns false without memory; *rows is then untouched. Free it with sparse_free.
 */
bool random_rows(struct sparse *rows, uint64_t seed, uint64_t nonzeros, uint64_t first,
                 uint64_t end, uint64_t columns);

#endif
