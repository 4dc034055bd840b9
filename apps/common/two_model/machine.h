/*
 * two_model/machine.h - where the kernels of the two-model programs run: a GPU, or the processor.
 * A kernel file (phases.cu) is written once, in the common subset of C17 and CUDA C, as a loop body
 * over blocks, and compiled for one of them.
 */
#ifndef TWO_MODEL_MACHINE_H
#define TWO_MODEL_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

extern const char machine_name[]; /* "cpu" or "cuda" */

/* The device of this process of its host. False: it has said why. */
bool machine_open(int process);
void machine_close(void);

/* Host and device memory, any direction; after all that was launched. */
bool machine_copy(void *to, const void *from, size_t bytes);
/* All that was launched is done. False: a kernel failed; it has said so. */
bool machine_wait(void);

/* The stream of all launches: a cudaStream_t; NULL on the processor. */
void *machine_stream(void);

/* How many threads a block has that is to have so many: 1 on the processor. */
uint32_t machine_threads(uint32_t wanted);

/* One step of a program, for k = 0, 1, ...; what it launches depends only on whether k is even. */
typedef bool (*machine_step)(void *problem, uint64_t k);

/*
 * Steps 0 .. count - 1. If the step only enqueues, a GPU runs them as a graph of two, launched
 * again and again, which machine_capture has made of the same step and problem. False: it has said
 * why.
 */
bool machine_capture(bool enqueues, machine_step step, void *problem);
bool machine_repeat(machine_step step, void *problem, uint64_t count);

#ifdef __cplusplus
}
#endif

/*
 * PHASE(name, type, data) { ... } defines launch_name(const type *data, blocks, planes, threads):
 * on a GPU a kernel of a grid of blocks x planes, on the processor a loop over both. Inside,
 * `block` and `plane` say which, phase_thread and phase_threads who works on it, phase_sync waits
 * for them.
 */
#ifdef __CUDACC__
#define PHASE_FN static __device__ inline
#define PHASE(name, type, data)                                                                    \
    static __device__ void name##_body(const type *data, uint32_t block, uint32_t plane);          \
    static __global__ void name##_global(const __grid_constant__ type data)                        \
    {                                                                                              \
        name##_body(&data, blockIdx.x, blockIdx.y);                                                \
    }                                                                                              \
    extern "C" void launch_##name(const type *data, uint32_t blocks, uint32_t planes,              \
                                  uint32_t threads);                                               \
    void launch_##name(const type *data, uint32_t blocks, uint32_t planes, uint32_t threads)       \
    {                                                                                              \
        if (blocks > 0 && planes > 0)                                                              \
            name##_global<<<dim3(blocks, planes), threads, 0, (cudaStream_t)machine_stream()>>>(   \
                *data);                                                                            \
    }                                                                                              \
    static __device__ void name##_body(const type *data, uint32_t block, uint32_t plane)
#define PHASE_SHARED __shared__
static __device__ inline uint32_t phase_thread(void)
{
    return threadIdx.x;
}
static __device__ inline uint32_t phase_threads(void)
{
    return blockDim.x;
}
static __device__ inline void phase_sync(void)
{
    __syncthreads();
}
#else
#define PHASE_FN static inline
#define PHASE(name, type, data)                                                                    \
    static void name##_body(const type *data, uint32_t block, uint32_t plane);                     \
    void launch_##name(const type *data, uint32_t blocks, uint32_t planes, uint32_t threads);      \
    void launch_##name(const type *data, uint32_t blocks, uint32_t planes, uint32_t threads)       \
    {                                                                                              \
        (void)threads;                                                                             \
        for (uint32_t block = 0; block < blocks; block++)                                          \
            for (uint32_t plane = 0; plane < planes; plane++)                                      \
                name##_body(data, block, plane);                                                   \
    }                                                                                              \
    static void name##_body(const type *data, uint32_t block, uint32_t plane)
#define PHASE_SHARED
static inline uint32_t phase_thread(void)
{
    return 0;
}
static inline uint32_t phase_threads(void)
{
    return 1;
}
static inline void phase_sync(void)
{
}
#endif

/* Announces a phase to the host program; planes that one thread block covers there: all, or some.
 */
#define PHASE_DECLARE(name, type)                                                                  \
    void launch_##name(const type *data, uint32_t blocks, uint32_t planes, uint32_t threads)

#endif
