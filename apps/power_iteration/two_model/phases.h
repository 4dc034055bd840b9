/*
 * power_iteration/two_model/phases.h - the two-model form of the power iteration, for the dominant
 * eigenvalue: the product is that of spmv (spmv/two_model), and between two products x becomes b.
 * The processes of grid column 0 sum up over their x and send the sums and the pieces of x to all,
 * who normalise what is theirs.
 */
#ifndef POWER_PHASES_H
#define POWER_PHASES_H

#include "machine.h"

#include <stddef.h>
#include <stdint.h>

enum { POWER_SUM_BLOCKS = 64, POWER_SUM_THREADS = 256 };

/* Over x: of its squares, and of x times the x before it. */
struct power_step_sums {
    double squares, product;
};

struct power_step {
    const double *x, *before; /* of this process's rows, now and in the step before */
    double *b, *raw;          /* of its columns; raw: not yet normalised */
    uint32_t rows, columns;
    struct power_step_sums *parts;  /* one for each block that sums */
    struct power_step_sums *totals; /* those of all processes of grid column 0, by grid row */
    uint32_t grid_row, grid_rows;
    double *eigenvalue;
    /* x that is wanted on this very process: elements from x to raw. */
    uint32_t local, local_from, local_to;
};

#ifdef __cplusplus
extern "C" {
#endif
PHASE_DECLARE(power_sum_parts, struct power_step); /* POWER_SUM_BLOCKS blocks */
PHASE_DECLARE(power_sum_up, struct power_step);    /* one block; copies the local piece of x */
PHASE_DECLARE(power_normalise, struct power_step); /* block: as many elements as it has threads */
#ifdef __cplusplus
}
#endif

#endif
