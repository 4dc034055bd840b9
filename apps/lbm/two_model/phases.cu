/*
 * lbm/two_model/phases.cu - two kernels a step, a block for a row of points and a plane.
 */
#include "lbm.h"

PHASE(lbm_densities, struct lbm_step, step)
{
    for (uint32_t x = phase_thread(); x < step->nx; x += phase_threads())
        lbm_density(step, plane, (size_t)block * step->nx + x);
}

PHASE(lbm_collisions, struct lbm_step, step)
{
    for (uint32_t x = phase_thread(); x < step->nx; x += phase_threads())
        lbm_collide(step, x, block, plane);
}
