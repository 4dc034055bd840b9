/*
 * power_iteration/check.h - the serial reference: the same iteration in its plainest form, and how
 * far the distributed result is from it. Shares no code with the kernel.
 */
#ifndef POWER_CHECK_H
#define POWER_CHECK_H

#include "sparse.h"

#include <stdbool.h>

/* What an iteration came to; vector has an element a row. */
struct power_result {
    uint64_t iterations;
    double eigenvalue; /* of the matrix as given; for PageRank 0 */
    double *vector;
};

/*
 * Element i of the vector to start with, not normalised. PageRank: 1/n. Otherwise positive and
 * without symmetry, so that it is orthogonal to no eigenvector that a real problem has.
 */
double power_start(bool pagerank, uint64_t n, uint64_t i);

/* The Euclidean norm of that vector. */
double power_start_norm(uint64_t n);

/* As far as two results may be apart. */
#define CHECK_TOLERANCE 1e-10

/*
 * Repeats result->iterations iterations one element after the other and sets *error to the largest
 * difference: of the eigenvalue, relative to it, and of the vector, relative to its largest
 * element. matrix: for PageRank column-normalised, times the damping. Returns false when there is
 * no memory.
 */
bool check_against_serial(const struct sparse *matrix, bool pagerank,
                          const struct power_result *result, double *error);

/* |A v - lambda v| / |lambda|, the vector's length being 1: how good an eigenvector it is. */
double check_residual(const struct sparse *matrix, const struct power_result *result);

#endif
