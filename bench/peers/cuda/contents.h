/*
 * peers/cuda/contents.h - what copies by the driver carry: filled and compared by kernels; and the
 * host's clock, which times them.
 */
#ifndef BENCH_PEERS_CUDA_CONTENTS_H
#define BENCH_PEERS_CUDA_CONTENTS_H

#include "gpu/measure.h"

#include <chrono>

enum { FILL_BLOCKS = 64, FILL_THREADS = 256 };

static __global__ void fill(uint32_t *words, size_t bytes, uint64_t number)
{
    measure_fill(words, bytes, number, blockIdx.x * blockDim.x + threadIdx.x,
                 gridDim.x * blockDim.x);
}

/* Adds up how many words are wrong; other devices may do so at the same place. */
static __global__ void compare(const uint32_t *words, size_t bytes, uint64_t number,
                               unsigned long long *wrong)
{
    atomicAdd_system(wrong, (unsigned long long)measure_wrong(words, bytes, number,
                                                              blockIdx.x * blockDim.x + threadIdx.x,
                                                              gridDim.x * blockDim.x));
}

/* Seconds. */
static inline double now()
{
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

#endif
