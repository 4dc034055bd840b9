/*
 * power_iteration/two_model/phases.cu - see phases.h. All sums run in a fixed order.
 */
#include "phases.h"

#include <math.h>

#ifdef __CUDACC__
/* The sums over the threads of a block, on its thread 0. */
PHASE_FN struct power_step_sums block_sum(struct power_step_sums mine)
{
    __shared__ struct power_step_sums all[POWER_SUM_THREADS];
    all[threadIdx.x] = mine;
    for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) {
            all[threadIdx.x].squares += all[threadIdx.x + half].squares;
            all[threadIdx.x].product += all[threadIdx.x + half].product;
        }
    }
    return all[0];
}
#else
PHASE_FN struct power_step_sums block_sum(struct power_step_sums mine)
{
    return mine;
}
#endif

PHASE(power_sum_parts, struct power_step, step)
{
    struct power_step_sums sums = {0, 0};
    (void)plane;
    for (uint32_t i = block * phase_threads() + phase_thread(); i < step->rows;
         i += POWER_SUM_BLOCKS * phase_threads()) {
        sums.squares += step->x[i] * step->x[i];
        sums.product += step->x[i] * step->before[i];
    }
    sums = block_sum(sums);
    if (phase_thread() == 0)
        step->parts[block] = sums;
}

/* Block 0 adds the parts; those after it copy. */
PHASE(power_sum_up, struct power_step, step)
{
    (void)plane;
    if (block == 0) {
        struct power_step_sums sums = {0, 0};
        for (uint32_t i = phase_thread(); i < POWER_SUM_BLOCKS; i += phase_threads()) {
            sums.squares += step->parts[i].squares;
            sums.product += step->parts[i].product;
        }
        sums = block_sum(sums);
        if (phase_thread() == 0)
            step->totals[step->grid_row] = sums;
        return;
    }
    const uint32_t i = (block - 1) * phase_threads() + phase_thread();
    if (i < step->local)
        step->raw[step->local_to + i] = step->x[step->local_from + i];
}

PHASE(power_normalise, struct power_step, step)
{
    const uint32_t i = block * phase_threads() + phase_thread();
    struct power_step_sums sums = {0, 0};
    (void)plane;
    for (uint32_t row = 0; row < step->grid_rows; row++) {
        sums.squares += step->totals[row].squares;
        sums.product += step->totals[row].product;
    }
    const double norm = sqrt(sums.squares);
    if (i < step->columns)
        step->b[i] = norm > 0 ? step->raw[i] / norm : 0;
    if (i == 0)
        *step->eigenvalue = sums.product < 0 ? -norm : norm;
}
