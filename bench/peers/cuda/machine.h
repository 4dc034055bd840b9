/*
 * peers/cuda/machine.h - what plain kernels are made of: flags, copies, and memory of two GPUs.
 */
#ifndef BENCH_PEERS_CUDA_MACHINE_H
#define BENCH_PEERS_CUDA_MACHINE_H

#include <cstdint>
#include <cstdio>
#include <cstdlib>

/* Polls before a wait is given up, which takes seconds: nothing here runs for ever. */
enum { POLLS = 1 << 24 };

static inline void check(cudaError_t error, const char *what)
{
    if (error == cudaSuccess)
        return;
    fprintf(stderr, "cuda: %s: %s\n", what, cudaGetErrorString(error));
    exit(EXIT_FAILURE);
}

static __device__ inline unsigned long long clock_ns()
{
    unsigned long long ns;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns)::"memory");
    return ns;
}

template <bool PEER> __device__ void add_release(uint32_t *word)
{
    if (PEER)
        asm volatile("red.release.sys.global.add.u32 [%0], 1;" ::"l"(__cvta_generic_to_global(word))
                     : "memory");
    else
        asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(__cvta_generic_to_global(word))
                     : "memory");
}

template <bool PEER> __device__ void add_relaxed(uint32_t *word)
{
    if (PEER)
        asm volatile("red.relaxed.sys.global.add.u32 [%0], 1;" ::"l"(__cvta_generic_to_global(word))
                     : "memory");
    else
        asm volatile("red.relaxed.gpu.global.add.u32 [%0], 1;" ::"l"(__cvta_generic_to_global(word))
                     : "memory");
}

template <bool PEER> __device__ uint32_t load_acquire(const uint32_t *word)
{
    uint32_t value;
    if (PEER)
        asm volatile("ld.acquire.sys.global.u32 %0, [%1];"
                     : "=r"(value)
                     : "l"(__cvta_generic_to_global(word))
                     : "memory");
    else
        asm volatile("ld.acquire.gpu.global.u32 %0, [%1];"
                     : "=r"(value)
                     : "l"(__cvta_generic_to_global(word))
                     : "memory");
    return value;
}

/* By one thread: waits until the word is at least `count`. False: given up. */
template <bool PEER> __device__ bool wait_for(const uint32_t *word, uint32_t count)
{
    for (int polls = 0; polls < POLLS; polls++)
        if (load_acquire<PEER>(word) >= count)
            return true;
    return false;
}

/*
 * By all threads of the block. 8 items of 16 bytes are under way at once in each; in the last round
 * the last one again where there are fewer, since loads behind a branch wait for each other. Less
 * than 64 GiB.
 */
static __device__ inline void copy(uint32_t *target, const uint32_t *source, size_t bytes)
{
    enum { DEEP = 8 };
    uint4 *to = (uint4 *)target;
    const uint4 *from = (const uint4 *)source;
    const uint32_t items = (uint32_t)(bytes / 16);
    for (uint32_t i = threadIdx.x; i < items; i += DEEP * blockDim.x) {
        uint4 item[DEEP];
#pragma unroll
        for (uint32_t k = 0; k < DEEP; k++)
            item[k] = from[min(i + k * blockDim.x, items - 1)];
#pragma unroll
        for (uint32_t k = 0; k < DEEP; k++)
            if (i + k * blockDim.x < items)
                to[i + k * blockDim.x] = item[k];
    }
    for (size_t word = (size_t)items * 4 + threadIdx.x; word < bytes / 4; word += blockDim.x)
        target[word] = source[word];
}

/* Zeroed memory of the device; it is there for other devices, too, when the call returns. */
static inline void *new_memory(int device, size_t bytes)
{
    void *made;
    check(cudaSetDevice(device), "cudaSetDevice");
    check(cudaMalloc(&made, bytes), "cudaMalloc");
    check(cudaMemset(made, 0, bytes), "cudaMemset");
    check(cudaDeviceSynchronize(), "cudaMemset");
    return made;
}

/* Lets GPUs 0 and 1 map each other. False, said in a line: they cannot. */
static inline bool join_peers()
{
    int devices = 0, there = 0, back = 0;
    check(cudaGetDeviceCount(&devices), "cudaGetDeviceCount");
    if (devices > 1) {
        check(cudaDeviceCanAccessPeer(&there, 0, 1), "cudaDeviceCanAccessPeer");
        check(cudaDeviceCanAccessPeer(&back, 1, 0), "cudaDeviceCanAccessPeer");
    }
    if (!there || !back) {
        fprintf(stderr, "cuda: no two GPUs that map each other among %d\n", devices);
        return false;
    }
    for (int device = 0; device < 2; device++) {
        check(cudaSetDevice(device), "cudaSetDevice");
        check(cudaDeviceEnablePeerAccess(1 - device, 0), "cudaDeviceEnablePeerAccess");
    }
    return true;
}

#endif
