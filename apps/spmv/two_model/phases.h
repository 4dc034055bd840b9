/*
 * spmv/two_model/phases.h - the two-model form of the product: a kernel that multiplies, one that
 * adds what came from another process, and one that changes the sign of b; the host passes whole
 * blocks of b and of x on along the trees, and makes a barrier between the products.
 */
#ifndef SPMV_PHASES_H
#define SPMV_PHASES_H

#include "machine.h"
#include "spmv.h"

struct spmv_step {
    struct spmv_block block;
    double *b, *x;
    const double *partial; /* what came in this round of the tree */
};

#ifdef __cplusplus
extern "C" {
#endif
/* Block: as many rows as it has groups of lanes; after those, one for each long row. */
PHASE_DECLARE(spmv_multiply, struct spmv_step);
/* Block: as many elements as it has threads. */
PHASE_DECLARE(spmv_add, struct spmv_step);
PHASE_DECLARE(spmv_negate, struct spmv_step);
#ifdef __cplusplus
}
#endif

#endif
