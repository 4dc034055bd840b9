/*
 * plain.cu - CUDA without weft: a compiler's time for a kernel is told in that for this one.
 */
#include <cstdint>

template <int STEPS> static __device__ uint64_t mix(const uint64_t *from, uint64_t x)
{
    uint64_t word[8];
    for (int step = 0; step < STEPS; step++) {
#pragma unroll
        for (int k = 0; k < 8; k++)
            word[k] = from[(x + step) * 8 + k];
#pragma unroll
        for (int k = 0; k < 8; k++)
            x = (x ^ word[k] >> k) * 0x9e3779b97f4a7c15u;
        if (x % 7 == 0)
            x += mix<STEPS / 2>(from, x >> 3);
    }
    return x;
}
template <> __device__ uint64_t mix<0>(const uint64_t *, uint64_t x)
{
    return x;
}

__global__ void plain(uint64_t *to, const uint64_t *from)
{
    to[threadIdx.x] = mix<64>(from, threadIdx.x) + mix<32>(from, to[threadIdx.x]);
}
