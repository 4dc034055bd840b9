/*
 * remote/cudart/twins.c - the per-thread default stream: a blocking stream of the thread's own on
 * each device, made at its first use. It goes with its thread.
 */
#include "remote/cudart/inside.h"

#include <pthread.h>
#include <stdlib.h>

static pthread_key_t key; /* the thread's streams, by device */
static pthread_once_t once = PTHREAD_ONCE_INIT;

struct own {
    CUstream stream;
    unsigned age; /* of the device's context, when it was made */
};

static void end_all(void *pointer)
{
    struct own *streams = pointer;
    const struct weft_cuda_table *driver;
    CUcontext context;

    for (int d = 0; d < CUDART_DEVICES; d++)
        if (streams[d].stream != NULL && cudart_find(&driver) == cudaSuccess &&
            streams[d].age == cudart_age(d, 0) && cudart_context(d, &context) == cudaSuccess &&
            driver->context_use(context) == CUDA_SUCCESS)
            driver->stream_destroy(streams[d].stream);
    free(streams);
}

static void make_key(void)
{
    (void)pthread_key_create(&key, end_all);
}

CUstream cudart_stream(const struct weft_cuda_table *driver, cudaStream_t stream)
{
    const struct cudart_thread *thread = cudart_thread();

    if (stream != cudaStreamPerThread && (stream != NULL || !thread->own_stream))
        return stream;
    pthread_once(&once, make_key);
    struct own *streams = pthread_getspecific(key);
    if (streams == NULL && (streams = calloc(CUDART_DEVICES, sizeof(*streams))) != NULL &&
        pthread_setspecific(key, streams) != 0) {
        free(streams);
        streams = NULL;
    }
    if (streams == NULL)
        return cudaStreamPerThread; /* no driver's stream: an invalid handle */
    struct own *mine = &streams[thread->device];
    if (mine->stream == NULL || mine->age != cudart_age(thread->device, 0)) {
        mine->age = cudart_age(thread->device, 0);
        if (driver->stream_create(&mine->stream, CU_STREAM_DEFAULT, 0) != CUDA_SUCCESS)
            mine->stream = NULL;
    }
    return mine->stream != NULL ? mine->stream : cudaStreamPerThread;
}

#pragma GCC diagnostic ignored "-Wdeprecated-declarations" /* programs call them all the same */

/* Defines functions that programs of --default-stream per-thread call: CMake lists them, as the
 * vendor's header names those of each function that is served. */
#define TWIN(name, suffix, parameters, arguments)                                                  \
    cudaError_t name##_##suffix parameters;                                                        \
    cudaError_t name##_##suffix parameters                                                         \
    {                                                                                              \
        struct cudart_thread *thread = cudart_thread();                                            \
        thread->own_stream = true;                                                                 \
        const cudaError_t error = name arguments;                                                  \
        thread->own_stream = false;                                                                \
        return error;                                                                              \
    }
TWIN(__cudaLaunchKernel, ptsz,
     (cudaKernel_t kernel, dim3 grid, dim3 block, void **parameters, size_t shared,
      cudaStream_t stream),
     (kernel, grid, block, parameters, shared, stream))
#include "lists/twins.def"
