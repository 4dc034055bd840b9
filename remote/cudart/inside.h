/*
 * remote/cudart/inside.h - a CUDA runtime over a table of driver functions (remote/table): what its
 * parts share.
 *
 * A thread has a current device and a last error. Each call enters: it finds the driver, which the
 * first call opens, and makes the device's primary context current. Any thread may call anything.
 */
#ifndef WEFT_REMOTE_CUDART_INSIDE_H
#define WEFT_REMOTE_CUDART_INSIDE_H

#include "remote/table/table.h"

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stddef.h>

enum { CUDART_DEVICES = 256, CUDART_CONFIGURATIONS = 8 };

struct cudart_thread {
    int device;
    int bound; /* device + 1 whose context the driver has as current; 0: none */
    cudaError_t last;
    void **callback; /* weft_task_local() of who runs one, and may call nothing of CUDA; or NULL */
    bool own_stream; /* the default stream is the thread's own: in a twin's call */
    int configured;
    struct cudart_configuration {
        dim3 grid, block;
        size_t shared;
        cudaStream_t stream;
    } configurations[CUDART_CONFIGURATIONS]; /* pushed by <<<>>>, popped by the launch */
};

struct cudart_thread *cudart_thread(void);

/* Finds the driver, for calls that need no context. Errors: its, or that it could not be opened. */
cudaError_t cudart_find(const struct weft_cuda_table **driver);
/* Finds the driver, and makes the context of the thread's device current. Errors: the driver's. */
cudaError_t cudart_enter(const struct weft_cuda_table **driver);
/* Gives the device's primary context, which stays until it is reset. */
cudaError_t cudart_context(int device, CUcontext *context);
/* Returns how often the device was reset, with `more`: what was made there before is gone. */
unsigned cudart_age(int device, unsigned more);
int cudart_devices(void);
static inline bool cudart_is_device(int device)
{
    return device >= 0 && device < cudart_devices();
}

/* twins.c: returns the driver's stream that is meant, of the thread's device, which is current. */
CUstream cudart_stream(const struct weft_cuda_table *driver, cudaStream_t stream);
#define ON(stream) cudart_stream(driver, stream)

/* Remembers an error as the thread's last, and returns it. */
cudaError_t cudart_done(cudaError_t error);
static inline cudaError_t cudart_driver_done(CUresult result)
{
    return cudart_done((cudaError_t)result); /* numbered alike */
}

/* A field of a struct of CUDA's, a size_t or ints, that attributes of the driver's tell: of several
 * ints each the next one. */
struct cudart_field {
    size_t at;
    int attribute, count;
    bool wide;
};
#define CUDART_FIELD(type, field, attribute)                                                       \
    {                                                                                              \
        offsetof(type, field), attribute,                                                          \
            _Generic(((type *)0)->field, size_t : 1, default                                       \
                     : sizeof(((type *)0)->field) / 4),                                            \
            _Generic(((type *)0)->field, size_t                                                    \
                     : true, default                                                               \
                     : false)                                                                      \
    }
/* Sets a field; one that an older driver does not know (INVALID_VALUE) to 0. Errors: others. */
static inline CUresult cudart_set(void *result, const struct cudart_field *field, int i, int value,
                                  CUresult told)
{
    void *at = (char *)result + field->at;

    if (told != CUDA_SUCCESS)
        value = 0;
    if (field->wide)
        *(size_t *)at = (size_t)value;
    else
        ((int *)at)[i] = value;
    return told == CUDA_ERROR_INVALID_VALUE ? CUDA_SUCCESS : told;
}

/* FIND, ENTER(driver): declare it, or return the error from the calling function. NEED: finds
 * it. */
#define CUDART_BEGIN(driver, how)                                                                  \
    const struct weft_cuda_table *driver;                                                          \
    do {                                                                                           \
        const cudaError_t begun = how(&(driver));                                                  \
        if (begun != cudaSuccess)                                                                  \
            return cudart_done(begun);                                                             \
    } while (0)
#define FIND(driver)  CUDART_BEGIN(driver, cudart_find)
#define ENTER(driver) CUDART_BEGIN(driver, cudart_enter)
#define NEED(how)                                                                                  \
    do {                                                                                           \
        CUDART_BEGIN(needed, how);                                                                 \
        (void)needed;                                                                              \
    } while (0)

/* Defines a function that is another one with arguments of its own. */
#define ALIAS(name, parameters, call)                                                              \
    cudaError_t name parameters                                                                    \
    {                                                                                              \
        return call;                                                                               \
    }

/*
 * Define functions that are the driver's under another name: FORWARD(name, (parameters), call).
 * RESULT: one whose `out` must not be NULL; KNOW: one that needs no context either. FOUND: one that
 * needs something first, which `find`, an error, puts into what `declare` declares.
 */
#define CUDART_CALL(name, parameters, wrong, how, declare, find, call)                             \
    cudaError_t name parameters                                                                    \
    {                                                                                              \
        declare;                                                                                   \
        if (wrong)                                                                                 \
            return cudart_done(cudaErrorInvalidValue);                                             \
        how(driver);                                                                               \
        const cudaError_t error = find;                                                            \
        return cudart_done(error == cudaSuccess ? (cudaError_t)(call) : error);                    \
    }
#define FOUND(name, parameters, wrong, declare, find, call)                                        \
    CUDART_CALL(name, parameters, wrong, ENTER, declare, find, call)
#define CUDART_PLAIN(name, parameters, wrong, how, call)                                           \
    CUDART_CALL(name, parameters, wrong, how, (void)0, cudaSuccess, driver->call)
#define FORWARD(name, parameters, call) CUDART_PLAIN(name, parameters, false, ENTER, call)
#define RESULT(name, parameters, out, call)                                                        \
    CUDART_PLAIN(name, parameters, (out) == NULL, ENTER, call)
#define KNOW(name, parameters, out, call) CUDART_PLAIN(name, parameters, (out) == NULL, FIND, call)

/* Checks that what a copy of that kind calls a device's is memory that the driver knows. NULL: an
 * array's side. Errors: INVALID_MEMCPY_DIRECTION; INVALID_VALUE: of nobody. */
cudaError_t cudart_check_copy(const struct weft_cuda_table *driver, const void *to,
                              const void *from, size_t bytes, enum cudaMemcpyKind kind);
/* Ends a copy in the default stream: waits for that, unless there is an error. */
cudaError_t cudart_waited(cudaError_t error);

/* What the program takes for an array (array.c). */
struct cudaArray {
    CUarray handle;
    size_t bytes; /* of an element */
    struct cudaChannelFormatDesc desc;
    struct cudaExtent extent;
    unsigned flags;
};

/* ---- register.c: kernels and variables of the program */
struct cudart_symbol;
/* Finds a kernel by its host address, or what __cudaGetKernel gave; NULL: it is neither. */
struct cudart_symbol *cudart_kernel(const void *function);
/* Gives the kernel for the thread's device. After cudart_enter. Errors: INVALID_DEVICE_FUNCTION,
 * also of NULL; the driver's. */
cudaError_t cudart_function(const struct weft_cuda_table *driver, struct cudart_symbol *kernel,
                            CUfunction *function);
/* launch.c: launches by a handle. crt/host_runtime.h declares it for C++ alone. */
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **parameters,
                               size_t shared, cudaStream_t stream);
/* Forgets what a device's context knew of kernels, since the device was reset. */
void cudart_forget_kernels(int device);
cudaError_t cudart_symbol(const struct weft_cuda_table *driver, const void *symbol,
                          CUdeviceptr *address, size_t *bytes);

#endif
