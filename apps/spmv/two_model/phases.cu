/*
 * spmv/two_model/phases.cu - see phases.h. A row is multiplied as in weft's kernel (spmv_share).
 */
#include "phases.h"

#ifdef __CUDACC__
/* Over each `lanes` threads that follow one another: a power of two, at most 32. */
PHASE_FN double lane_sum(double sum, uint32_t lanes)
{
    for (uint32_t reach = lanes / 2; reach > 0; reach /= 2)
        sum += __shfl_xor_sync(0xffffffffu, sum, (int)reach);
    return sum;
}

PHASE_FN double block_sum(double sum)
{
    __shared__ double warps[32];
    sum = lane_sum(sum, 32);
    if (threadIdx.x % 32 == 0)
        warps[threadIdx.x / 32] = sum;
    __syncthreads();
    sum = threadIdx.x < blockDim.x / 32 ? warps[threadIdx.x] : 0;
    return lane_sum(sum, 32); /* of the first warp: the block's */
}
#else
PHASE_FN double lane_sum(double sum, uint32_t lanes)
{
    (void)lanes;
    return sum;
}

PHASE_FN double block_sum(double sum)
{
    return sum;
}
#endif

PHASE_FN void multiply_long(const struct spmv_step *step, uint32_t row)
{
    const struct spmv_block *matrix = &step->block;
    const double sum =
        block_sum(spmv_share(matrix, step->b, matrix->row_start[row] + phase_thread(),
                             matrix->row_start[row + 1], phase_threads()));
    if (phase_thread() == 0)
        step->x[row] = sum;
}

PHASE(spmv_multiply, struct spmv_step, step)
{
    const struct spmv_block *matrix = &step->block;
    const uint32_t groups = phase_threads() / matrix->lanes;
    const uint32_t blocks = (matrix->rows + groups - 1) / groups;
    const uint32_t row = block * groups + phase_thread() / matrix->lanes;
    const uint32_t lane = phase_thread() % matrix->lanes;
    (void)plane;
    if (block >= blocks) {
        multiply_long(step, matrix->long_row[block - blocks]);
        return;
    }
    const bool mine = row < matrix->rows && spmv_row_length(matrix, row) <= matrix->most_short;
    double sum = 0;
    if (mine)
        sum = spmv_share(matrix, step->b, matrix->row_start[row] + lane, matrix->row_start[row + 1],
                         matrix->lanes);
    sum = lane_sum(sum, matrix->lanes);
    if (mine && lane == 0)
        step->x[row] = sum;
}

PHASE(spmv_add, struct spmv_step, step)
{
    const uint32_t i = block * phase_threads() + phase_thread();
    (void)plane;
    if (i < step->block.rows)
        step->x[i] += step->partial[i];
}

PHASE(spmv_negate, struct spmv_step, step)
{
    const uint32_t i = block * phase_threads() + phase_thread();
    (void)plane;
    if (i < step->block.columns)
        step->b[i] = -step->b[i];
}
