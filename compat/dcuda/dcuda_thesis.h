/*
 * dcuda_thesis.h - the names that dCUDA had in the thesis it began with, for dcuda.h, whose part it
 * is: a state instead of a context, sizes and offsets in bytes, a log that is a stream, and host
 * calls with a handle. Kernels may be __global__ functions there, which run on the CPU device
 * alone.
 */
#ifndef DCUDA_THESIS_H
#define DCUDA_THESIS_H

typedef dcuda_param dcuda_context_handle;
struct dcuda_state : dcuda_context {
};

/* ---- in kernels; what is not here, dcuda.h has ----------------------------------------------- */
DCUDA_FN void dcuda_get_data(const dcuda_state &state, void **data)
{
    *data = state.data;
}

template <class T>
DCUDA_FN void dcuda_win_create(const dcuda_state &state, dcuda_comm comm, T *base, size_t bytes,
                               dcuda_win *win)
{
    const dcuda_context &context = state;
    dcuda_win_create(context, comm, (void *)base, bytes, win);
}

template <class T>
DCUDA_FN void dcuda_put(const dcuda_state &state, const dcuda_win &win, int rank, size_t offset,
                        size_t bytes, const T *source)
{
    weft_put(state.self, win.window, rank, offset, source, bytes);
}

template <class T>
DCUDA_FN void dcuda_put_notify(const dcuda_state &state, const dcuda_win &win, int rank,
                               size_t offset, size_t bytes, const T *source, int tag)
{
    weft_put_notify(state.self, win.window, rank, offset, source, bytes, tag);
}

DCUDA_FN void dcuda_notify(const dcuda_state &state, int rank, dcuda_comm comm, int tag)
{
    weft_notify(state.self, comm, rank, tag);
}

DCUDA_FN int dcuda_test_notifications(const dcuda_state &state, int tag, int count)
{
    return weft_test(state.self, tag, (uint32_t)count);
}

DCUDA_FN void dcuda_wait_notifications(const dcuda_state &state, int tag, int count)
{
    weft_wait(state.self, tag, (uint32_t)count);
}

/* A line of up to 8 values, which `flush` ends. */
struct dcuda_log {
    weft_self *self;
    int count;
    weft_log_arg value[WEFT_LOG_ARGS];
    struct end {
    } flush;
};

DCUDA_FN struct dcuda_log dcuda_log_get(const dcuda_state &state)
{
    struct dcuda_log log = {};
    log.self = state.self;
    return log;
}

template <class T> DCUDA_FN struct dcuda_log &operator<<(struct dcuda_log &log, T value)
{
    if (log.count < WEFT_LOG_ARGS)
        log.value[log.count++] = weft_log_value(value);
    return log;
}

DCUDA_FN void operator<<(struct dcuda_log &log, struct dcuda_log::end)
{
    char format[2 * WEFT_LOG_ARGS + 1] = {};
    for (int i = 0; i < log.count; i++) {
        const uint32_t kind = (uint32_t)log.value[i].kind;
        format[2 * i] = '%';
        format[2 * i + 1] = kind == WEFT_LOG_STRING ? 's'
                            : kind == WEFT_LOG_REAL ? 'g'
                            : kind == WEFT_LOG_PTR  ? 'p'
                            : kind == WEFT_LOG_INT  ? 'd'
                                                    : 'u';
    }
    weft_log_values(log.self, format, log.count, log.value);
    log.count = 0;
}

/* ---- on the host ----------------------------------------------------------------------------- */
#ifndef __CUDACC__

#ifndef __CUDA_RUNTIME_API_H__ /* include CUDA's headers before dcuda.h */
#define __global__ static
#define __device__
#define __shared__ /* each thread of a rank has its own state */
template <class T> int cudaMalloc(T **memory, size_t bytes)
{
    *memory = static_cast<T *>(weft_malloc(dcuda_host_job(), bytes));
    return *memory == NULL;
}
#endif

typedef weft_job *dcuda_host_context_handle;
typedef void dcuda_kernel(dcuda_context_handle dcuda);

/* The program's one __global__ function, and what it is given. */
struct dcuda_host_function {
    dcuda_kernel *kernel;
    alignas(16) unsigned char data[4096];
};

inline dcuda_host_function &dcuda_host_global()
{
    static dcuda_host_function function;
    return function;
}

inline void dcuda_host_entry(weft_self *self, void *data)
{
    const dcuda_context_handle dcuda = {self, data};
    weft_begin(self, NULL);
    dcuda_host_global().kernel(dcuda);
    weft_end(self);
}

/* Opens a job for a kernel of DCUDA_KERNEL, for GPUs, too. */
inline weft_status dcuda_host_init(int argc, char **argv, dcuda_host_context_handle *context,
                                   const weft_kernel &kernel, int threads)
{
    const weft_status status = dcuda_host_init(&argc, argv, &kernel, threads, 0);
    *context = dcuda_host_job();
    return status;
}

/* Opens a job for a kernel that is a __global__ function, on the CPU device. */
inline weft_status dcuda_host_init(int argc, char **argv, dcuda_host_context_handle *context,
                                   dcuda_kernel *kernel, int threads)
{
    static const weft_kernel entry = {
        "dcuda", dcuda_host_entry, NULL, sizeof(dcuda_host_global().data), 0, 0, 0};
    dcuda_host_global().kernel = kernel;
    return dcuda_host_init(argc, argv, context, entry, threads);
}

inline void dcuda_host_get_rank_info(dcuda_host_context_handle, dcuda_rank_info *info)
{
    dcuda_host_get_rank_info(info);
}

inline weft_status dcuda_host_run(dcuda_host_context_handle job, void *data, size_t bytes)
{
    dcuda_host_function &global = dcuda_host_global();
    if (global.kernel == NULL)
        return weft_run(job, data, bytes, NULL);
    if (bytes > sizeof(global.data))
        return WEFT_ERR_ARGUMENT;
    memcpy(global.data, data, bytes);
    const weft_status status = weft_run(job, global.data, sizeof(global.data), NULL);
    memcpy(data, global.data, bytes);
    return status;
}

inline weft_status dcuda_host_finish(dcuda_host_context_handle)
{
    return dcuda_host_finish();
}

#endif
#endif
