/*
 * dcuda.h - dCUDA's names (Gysi, Baer, Hoefler: dCUDA: Hardware Supported Overlap of Computation
 * and Communication, SC16) over weft's public API, for programs in CUDA C++. nvcc compiles a
 * program's kernels for GPUs, the C++ compiler kernels and host program for the CPU device and the
 * host. docs/dcuda.md says what differs.
 *
 * Sizes and offsets count elements, as in the paper's listings: of the type that a window was
 * created with, or that a source points to; of void they are bytes. All calls in kernels are made
 * by all threads of the rank with the same arguments; what blocks, and what is visible when, stands
 * at the calls of weft/device.h that they name.
 */
#ifndef DCUDA_H
#define DCUDA_H

#ifndef __cplusplus
#error "dcuda.h is for CUDA C++ and C++"
#endif

#include <weft/device.h>

typedef weft_comm dcuda_comm;
#define DCUDA_COMM_WORLD  WEFT_COMM_WORLD
#define DCUDA_COMM_DEVICE WEFT_COMM_DEVICE

/* A wait asks for no other source, and no other window: notifications are counted by tag. */
#define DCUDA_ANY_SOURCE (-1)

/* What a kernel is given, and what its calls are given. */
struct dcuda_param {
    weft_self *self;
    void *data; /* the device's copy of what dcuda_host_run was given */
};
struct dcuda_context {
    weft_self *self;
    void *data;
};

struct dcuda_win {
    weft_win window;
    dcuda_comm comm;
    size_t element; /* bytes */
};

/*
 * DCUDA_KERNEL(name, type) { ... } instead of __global__ void name(...) { ... }: `param` is there,
 * for dcuda_gpu_init, and `self`, for weft_for and what else weft/device.h has. type: of the data.
 */
#define DCUDA_KERNEL(name, type)                                                                   \
    WEFT_DEVICE_FN void name##_dcuda(weft_self *self, dcuda_param param);                          \
    WEFT_KERNEL(name, type, data)                                                                  \
    {                                                                                              \
        const dcuda_param param = {self, data};                                                    \
        name##_dcuda(self, param);                                                                 \
    }                                                                                              \
    WEFT_DEVICE_FN void name##_dcuda(weft_self *self __attribute__((unused)), dcuda_param param)

#ifdef __CUDACC__
#define DCUDA_FN static __device__ inline __attribute__((unused))
#else
#define DCUDA_FN static inline __attribute__((unused))
#endif

template <class T> struct dcuda_element {
    static const size_t bytes = sizeof(T);
};
template <> struct dcuda_element<void> {
    static const size_t bytes = 1;
};
template <> struct dcuda_element<const void> {
    static const size_t bytes = 1;
};

/* ---- in kernels ------------------------------------------------------------------------------ */

/* Begins with weft_enter. ctx: each thread's own, or one for all, which all store alike. */
DCUDA_FN void dcuda_gpu_init(const dcuda_param &param, dcuda_context &ctx)
{
    ctx.self = param.self;
    ctx.data = param.data;
    weft_enter(param.self);
}

/* Ends with weft_leave. */
DCUDA_FN void dcuda_gpu_finish(const dcuda_context &ctx)
{
    weft_leave(ctx.self);
}

DCUDA_FN void *dcuda_get_data(const dcuda_context &ctx)
{
    return ctx.data;
}

DCUDA_FN void dcuda_comm_size(const dcuda_context &ctx, dcuda_comm comm, int *size)
{
    *size = weft_size(ctx.self, comm);
}

DCUDA_FN void dcuda_comm_rank(const dcuda_context &ctx, dcuda_comm comm, int *rank)
{
    *rank = weft_rank(ctx.self, comm);
}

/* Calls weft_barrier. */
DCUDA_FN void dcuda_comm_barrier(const dcuda_context &ctx, dcuda_comm comm)
{
    weft_barrier(ctx.self, comm);
}

/* Calls weft_win_create: collective over comm. The type is the same for every member. */
template <class T>
DCUDA_FN void dcuda_win_create(const dcuda_context &ctx, dcuda_comm comm, T *base, size_t count,
                               dcuda_win *win)
{
    win->window = weft_win_create(ctx.self, comm, (void *)base, count * dcuda_element<T>::bytes);
    win->comm = comm;
    win->element = dcuda_element<T>::bytes;
}

/* Calls weft_win_free: collective over the window's communicator. */
DCUDA_FN void dcuda_win_free(const dcuda_context &ctx, const dcuda_win &win)
{
    weft_win window = win.window;
    weft_win_free(ctx.self, &window);
}

/* Calls weft_flush: all earlier puts on the window are visible at their targets. */
DCUDA_FN void dcuda_win_flush(const dcuda_context &ctx, const dcuda_win &win)
{
    weft_flush(ctx.self, win.window);
}

/* Calls weft_put. rank: the target, in the window's communicator. */
template <class T>
DCUDA_FN void dcuda_put(const dcuda_context &ctx, const dcuda_win &win, int rank, size_t offset,
                        size_t count, const T *source)
{
    weft_put(ctx.self, win.window, rank, offset * win.element, source,
             count * dcuda_element<T>::bytes);
}

/* Calls weft_put_notify. rank: the target, in the window's communicator. */
template <class T>
DCUDA_FN void dcuda_put_notify(const dcuda_context &ctx, const dcuda_win &win, int rank,
                               size_t offset, size_t count, const T *source, int tag)
{
    weft_put_notify(ctx.self, win.window, rank, offset * win.element, source,
                    count * dcuda_element<T>::bytes, tag);
}

/* Calls weft_notify. rank: the target, in the window's communicator. */
DCUDA_FN void dcuda_notify(const dcuda_context &ctx, const dcuda_win &win, int rank, int tag)
{
    weft_notify(ctx.self, win.comm, rank, tag);
}

/* Calls weft_test. Any window, any source: docs/dcuda.md. */
DCUDA_FN int dcuda_test_notifications(const dcuda_context &ctx, const dcuda_win &win, int source,
                                      int tag, int count)
{
    (void)win, (void)source;
    return weft_test(ctx.self, tag, (uint32_t)count);
}

/* Calls weft_wait. Any window, any source: docs/dcuda.md. */
DCUDA_FN void dcuda_wait_notifications(const dcuda_context &ctx, const dcuda_win &win, int source,
                                       int tag, int count)
{
    (void)win, (void)source;
    weft_wait(ctx.self, tag, (uint32_t)count);
}

/* Call weft_timer_start, weft_timer_stop: collective over the device. */
DCUDA_FN void dcuda_start_cpu_timer(const dcuda_context &ctx)
{
    weft_timer_start(ctx.self);
}
DCUDA_FN void dcuda_stop_cpu_timer(const dcuda_context &ctx)
{
    weft_timer_stop(ctx.self);
}

/* Calls weft_log: dcuda_log(ctx, format, ...). */
#define dcuda_log(ctx, ...) weft_log((ctx).self, __VA_ARGS__)

/* ---- on the host: by one thread; each returns a weft_status, whose error has been printed ---- */
#ifndef __CUDACC__

struct dcuda_rank_info {
    int ranks;              /* of the whole job */
    int ranks_here;         /* of this process's device */
    int first_rank;         /* number of the first of this device's ranks */
    int processes, process; /* how many, and which one this is */
    int rank_responsible;   /* the thesis's name of ranks_here */
};

/* Returns the program's one job, for weft's own calls (weft_malloc, ...); NULL: there is none. */
inline weft_job *&dcuda_host_job()
{
    static weft_job *job = NULL;
    return job;
}

/* Calls weft_open and weft_prepare. most_ranks: of a device (0: as many as it holds).
 * Collective. */
inline weft_status dcuda_host_init(int *argc, char **argv, const weft_kernel *kernel, int threads,
                                   int most_ranks)
{
    const weft_status status = weft_open(&dcuda_host_job(), argc, argv);
    return status == WEFT_OK ? weft_prepare(dcuda_host_job(), kernel, threads, most_ranks) : status;
}

inline void dcuda_host_get_rank_info(dcuda_rank_info *info)
{
    const weft_numbers *n = weft_numbers_of(dcuda_host_job());
    *info = {n->ranks, n->ranks_here, n->first_rank, n->processes, n->process, n->ranks_here};
}

/* Calls weft_run: the data goes to the device and comes back. Collective, blocking. */
template <class T> weft_status dcuda_host_run(T *data)
{
    return weft_run(dcuda_host_job(), data, sizeof(*data), NULL);
}

/* Gives weft_intervals, in milliseconds. */
inline weft_status dcuda_host_get_timings(const double **list, size_t *count)
{
    return weft_intervals(dcuda_host_job(), list, count);
}

/* Calls weft_close, and returns the job's first error. Collective. */
inline weft_status dcuda_host_finish()
{
    const weft_status status = weft_close(dcuda_host_job());
    dcuda_host_job() = NULL;
    return status;
}

#endif

#include "dcuda_thesis.h"
#endif
