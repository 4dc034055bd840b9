/*
 * weft/kernel.h - a part of weft/device.h: what defines a kernel, and the threads of a rank, their
 * shared memory, barrier, reductions and atomics.
 */
#ifndef WEFT_KERNEL_H
#define WEFT_KERNEL_H

#include <weft/types.h>
#include <weft/weft.h>

#include <assert.h>

#ifdef __CUDACC__
#define WEFT_DEVICE_FN static __device__
#define WEFT_FN        static __device__ inline /* compiled into every kernel */
#else
#define WEFT_DEVICE_FN static
#define WEFT_FN        extern WEFT_API
#endif

/*
 * WEFT_KERNEL(name, type, user) { ... } defines a kernel. Inside, `self` is the calling rank, and
 * `user` points to the device's copy of the user data, shared by all its ranks. Functions that a
 * kernel calls are declared WEFT_DEVICE_FN.
 *
 * WEFT_SHARED(type, name, count); makes `name` point to an array of `count` elements, which the
 * threads of the rank share. It is not initialised. It stands inside a kernel, or a function with a
 * `self`.
 *
 * WEFT_MOST_THREADS, defined before this header is included, promises that no rank of the file's
 * kernels has more threads. nvcc then gives each thread no more registers than that many threads
 * can have. WEFT_LEAST_RANKS, defined beside it, asks for room for so many ranks on each
 * multiprocessor (default 1).
 *
 * WEFT_SHARED_BYTES, defined before this header is included, gives each rank of the file's kernels
 * so many more bytes that its threads share (weft_shared). On a GPU they are fast on-chip memory,
 * on the CPU device they are on the stack. WEFT_SHARED takes at most 48 KB of on-chip memory.
 * WEFT_SHARED_BYTES takes up to what a multiprocessor has for all its ranks, 227 KB on H100 and
 * H200. If a rank cannot have all, it gets what there is, but at least WEFT_SHARED_LEAST (default:
 * all); otherwise weft_prepare fails. weft_shared_bytes says how many it got. The host program can
 * choose fewer (weft_limit_shared).
 */
#ifndef WEFT_SHARED_BYTES
#define WEFT_SHARED_BYTES 0
#endif
#ifndef WEFT_SHARED_LEAST
#define WEFT_SHARED_LEAST WEFT_SHARED_BYTES
#endif
#define WEFT_COLLECTIVES 0 /* weft/coll.h makes it 1 */
#ifndef WEFT_QUEUES
#define WEFT_QUEUES 0 /* weft/queue.h makes it 1 */
#endif
#ifndef WEFT_WARPS
#define WEFT_WARPS 0 /* weft/warp.h makes it 1 */
#endif
#ifdef __CUDACC__
extern "C" {
extern const int weft_program_has_cuda; /* the library looks whether any object defines it */
__attribute__((weak)) const int weft_program_has_cuda = 1;
}
#define WEFT_SHARED(type, name, count)                                                             \
    __shared__ type name##_of_rank[count];                                                         \
    type *const name = name##_of_rank
#ifndef WEFT_LEAST_RANKS
#define WEFT_LEAST_RANKS 1 /* nvcc has to be told: else it may spill to make room for more */
#endif
#ifdef WEFT_MOST_THREADS
#define WEFT_BOUNDS __launch_bounds__(WEFT_MOST_THREADS, WEFT_LEAST_RANKS)
#else
#define WEFT_BOUNDS
#endif
#define WEFT_KERNEL(name, type, user)                                                              \
    static_assert((WEFT_SHARED_LEAST) <= (WEFT_SHARED_BYTES), "least is not most");                \
    static __device__ void name##_body(weft_self *self, type *user);                               \
    static __global__ void WEFT_BOUNDS name##_global(weft_self *selves, void *data)                \
    {                                                                                              \
        if (selves == NULL) /* weft_prepare: so that no launch is the first */                     \
            return;                                                                                \
        weft_self *const self = weft_cuda_begin(selves);                                           \
        weft_begin(self, NULL);                                                                    \
        name##_body(self, (type *)data);                                                           \
        weft_end(self);                                                                            \
        weft_cuda_end(self, selves);                                                               \
    }                                                                                              \
    static int name##_function(void **function)                                                    \
    {                                                                                              \
        return (int)cudaGetFuncBySymbol((cudaFunction_t *)function, (const void *)name##_global);  \
    }                                                                                              \
    extern "C" {                                                                                   \
    extern const weft_cuda_kernel name##_cuda;                                                     \
    const weft_cuda_kernel name##_cuda = {name##_function, WEFT_SELF_LAYOUT, WEFT_QUEUES};         \
    }                                                                                              \
    static __device__ void name##_body(weft_self *self, type *user)
#else
#define WEFT_SHARED(type, name, count)                                                             \
    static const char name##_key = 0;                                                              \
    type name##_of_thread[count];                                                                  \
    type *const name = (type *)(weft_threads(self) == 1                                            \
                                    ? name##_of_thread                                             \
                                    : weft_share(self, &name##_key, sizeof(name##_of_thread)))
#define WEFT_KERNEL(name, type, user)                                                              \
    static_assert((WEFT_SHARED_LEAST) <= (WEFT_SHARED_BYTES), "least is not most");                \
    static void name##_body(weft_self *self, type *user);                                          \
    static void name##_cpu(weft_self *self, void *data)                                            \
    {                                                                                              \
        unsigned char shared[(WEFT_SHARED_BYTES) + 1] __attribute__((aligned(64)));                \
        weft_begin(self, shared);                                                                  \
        name##_body(self, (type *)data);                                                           \
        weft_end(self);                                                                            \
    }                                                                                              \
    extern const weft_cuda_kernel name##_cuda __attribute__((weak));                               \
    extern const weft_kernel name;                                                                 \
    const weft_kernel name = {#name,           name##_cpu,        &name##_cuda,                    \
                              sizeof(type),    WEFT_SHARED_BYTES, WEFT_SHARED_LEAST,               \
                              WEFT_COLLECTIVES};                                                   \
    static void name##_body(weft_self *self, type *user)
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* WEFT_KERNEL alone calls them, before and after the body. */
WEFT_FN void weft_begin(weft_self *self, void *shared);
WEFT_FN void weft_end(weft_self *self);

/*
 * On the CPU device a rank has one thread, or WEFT_CPU_THREADS, of which one runs at a time. The
 * job ends if threads do not make together a call that a GPU's threads must make together
 * (README.md).
 */
#ifndef __CUDACC__
struct weft_strand {
    int thread, threads; /* number of the thread that runs; threads of its rank */
    int rank;            /* world rank; -1: no rank runs, but the host program or the library */
};
/* The functions below alone use it. */
extern WEFT_API __thread struct weft_strand weft_strand __attribute__((tls_model("initial-exec")));

/* Returns the same memory to all threads that give the key, for WEFT_SHARED. Any thread. */
WEFT_FN void *weft_share(weft_self *self, const void *key, size_t bytes);
#endif

/* ---- work inside a rank (any thread) -------------------------------------------------------- */

/*
 * weft_for (i, n) runs its body for i (a size_t) = 0 .. n-1, distributed over the rank's threads.
 * It has no barrier at its end: call weft_sync where threads need each other's results.
 */
#ifdef __CUDACC__
#define weft_for(i, n) for (size_t i = threadIdx.x; i < (size_t)(n); i += blockDim.x)
static __device__ inline int weft_thread(const weft_self *self)
{
    (void)self;
    return (int)threadIdx.x;
}
static __device__ inline int weft_threads(const weft_self *self)
{
    (void)self;
    return (int)blockDim.x;
}
static __device__ inline void weft_sync(const weft_self *self)
{
    (void)self;
    __syncthreads();
}
#else
static inline int weft_thread(const weft_self *self) /* 0 .. weft_threads - 1 */
{
    (void)self;
    return __atomic_load_n(&weft_strand.thread, __ATOMIC_RELAXED);
}
static inline int weft_threads(const weft_self *self)
{
    (void)self;
    return __atomic_load_n(&weft_strand.threads, __ATOMIC_RELAXED);
}
/*
 * Threads take indexes by strides. A single thread takes all in one stretch, so that the inner loop
 * is a plain one. A `break` in the inner loop ends the outer one, too.
 */
#define weft_for(i, n)                                                                             \
    for (struct weft_stretch i##_in = weft_stretch_first((size_t)(n)); i##_in.begin < i##_in.all;  \
         weft_stretch_next(&i##_in))                                                               \
        for (size_t i = i##_in.begin; i < i##_in.end || weft_stretch_done(&i##_in); i++)
struct weft_stretch {
    size_t begin, end, all;
    int done;
};
static inline struct weft_stretch weft_stretch_first(size_t all)
{
    struct weft_stretch in = {0, all, all, 0};
    if (weft_threads(NULL) != 1) {
        in.begin = (size_t)weft_thread(NULL);
        in.end = in.begin + 1;
    }
    return in;
}
static inline int weft_stretch_done(struct weft_stretch *in) /* the inner loop's end: 0 */
{
    in->done = 1;
    return 0;
}
static inline void weft_stretch_next(struct weft_stretch *in)
{
    in->begin =
        in->done && weft_threads(NULL) != 1 ? in->begin + (size_t)weft_threads(NULL) : in->all;
    in->end = in->begin + 1;
    in->done = 0;
}
WEFT_FN void weft_sync_threads(const weft_self *self);
static inline void weft_sync(const weft_self *self) /* a barrier of the rank's threads */
{
    if (weft_threads(self) != 1)
        weft_sync_threads(self);
}
#endif

/*
 * The rank's own memory while the kernel runs, weft_shared_bytes bytes, aligned to 16 and not
 * initialised. These are WEFT_SHARED_BYTES if the device has so many and the host program set no
 * limit. The memory can be in no window and be no put's source: the kernel copies what it sends to
 * device memory first. The CPU device refuses such a put (ARGUMENT).
 */
#ifdef __CUDACC__
static __device__ inline void *weft_shared(const weft_self *self)
{
    extern __shared__ double2 weft_shared_memory[];
    (void)self;
    return weft_shared_memory;
}
static __device__ inline size_t weft_shared_bytes(const weft_self *self)
{
    unsigned bytes;
    (void)self;
    asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(bytes));
    return bytes;
}
#else
WEFT_FN void *weft_shared(const weft_self *self);
WEFT_FN size_t weft_shared_bytes(const weft_self *self);
#endif

/* Returns the sum of `value` over the rank's threads, the same to all of them. All threads. */
WEFT_FN double weft_block_sum(weft_self *self, double value);

/*
 * Returns the sum over each group of `lanes` consecutive threads, the same to all of the group.
 * lanes: 1, 2, 4, 8, 16 or 32, and a divisor of the rank's threads. All threads.
 */
WEFT_FN double weft_lane_sum(weft_self *self, double value, int lanes);

/*
 * Combines a value of each of the rank's threads; *value becomes the result, the same for all.
 * value: any memory of the calling thread's, of the type, which weft/coll.h must take. All threads,
 * with the same type and operation; nothing else is ordered than by weft_sync. The order of
 * combination depends on the number of threads alone. Errors, which end the job: ARGUMENT (type,
 * operation).
 *
 * index: with MIN and MAX, a number that the thread brings with its value, such as where it found
 * that; it becomes the number of the thread whose value is the result. Of equal values the smallest
 * number counts. Otherwise NULL. All threads give one or none.
 */
WEFT_FN void weft_block_reduce(weft_self *self, void *value, weft_type type,
                               weft_operation operation, uint64_t *index);
/*
 * Combines as weft_block_reduce, for each thread its value and those of all lower threads. all: if
 * not NULL, it gets the result over all threads.
 */
WEFT_FN void weft_block_scan(weft_self *self, void *value, weft_type type, weft_operation operation,
                             void *all);

/*
 * Change one aligned word of device memory, or of what the rank's threads share. Any thread, alone;
 * non-blocking. Atomic with all such calls by ranks of this device, and on device memory with their
 * updates of windows. They order nothing. *old gets the old value; it may be NULL. value and old:
 * any memory of the calling thread's, of the type.
 *
 * A loop that waits for another thread by these calls may not end on the CPU device, where threads
 * take turns. The sum of reals on a GPU may take subnormal numbers for 0. Errors, which end the
 * job: ARGUMENT (NULL, not aligned, type, operation).
 */
WEFT_FN void weft_atomic(weft_self *self, void *word, const void *value, weft_type type,
                         weft_operation operation, void *old);
/* Sets the word. */
WEFT_FN void weft_atomic_swap(weft_self *self, void *word, const void *value, weft_type type,
                              void *old);
/* Sets the word if its bits are those of `expected`. */
WEFT_FN void weft_atomic_compare_swap(weft_self *self, void *word, const void *expected,
                                      const void *desired, weft_type type, void *old);

#ifdef __cplusplus
}
#endif

#endif
