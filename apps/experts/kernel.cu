/*
 * experts/kernel.cu - what experts do with the rows that dispatch brought: for GPUs a kernel
 * between dispatch and combine on the same stream, which reads on the device how many rows there
 * are.
 */
#include "experts.h"

#ifdef __CUDACC__

/* Blocks take rows of their expert in turn. */
static __global__ void compute(struct experts_work work)
{
    const int expert = (int)blockIdx.y;
    const float factor = experts_factor(work.first + expert);

    for (int row = (int)blockIdx.x; row < work.counts[expert]; row += (int)gridDim.x) {
        float *const at =
            work.rows + ((size_t)expert * (size_t)work.places + (size_t)row) * (size_t)work.hidden;
        for (int i = (int)threadIdx.x; i < work.hidden; i += (int)blockDim.x)
            at[i] *= factor;
    }
}

extern "C" int experts_on_gpu(const struct experts_work *work)
{
    compute<<<dim3(8, (unsigned)work->experts), 256>>>(*work);
    return (int)cudaGetLastError();
}

extern "C" int experts_wait_gpu(void)
{
    return (int)cudaDeviceSynchronize();
}

#else

void experts_on_cpu(const struct experts_work *work)
{
    for (int e = 0; e < work->experts; e++)
        for (int row = 0; row < work->counts[e]; row++) {
            float *const at = work->rows + ((size_t)e * (size_t)work->places + (size_t)row) *
                                               (size_t)work->hidden;
            for (int i = 0; i < work->hidden; i++)
                at[i] *= experts_factor(work->first + e);
        }
}

#endif
