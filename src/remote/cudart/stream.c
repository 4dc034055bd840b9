/* remote/cudart/stream.c - streams, events and what the host does in a stream's turn. */
#include "remote/cudart/inside.h"

#include <stdlib.h>

/* ---- streams --------------------------------------------------------------------------------- */

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags, int priority)
{
    if (stream == NULL)
        return cudart_done(cudaErrorInvalidValue);
    ENTER(driver);
    return cudart_driver_done(driver->stream_create(stream, flags, priority));
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
    return cudaStreamCreateWithPriority(stream, flags, 0);
}

cudaError_t cudaStreamCreate(cudaStream_t *stream)
{
    return cudaStreamCreateWithPriority(stream, cudaStreamDefault, 0);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    ENTER(driver);
    return cudart_driver_done(driver->stream_destroy(stream));
}

cudaError_t cudaStreamQuery(cudaStream_t stream)
{
    ENTER(driver);
    return cudart_driver_done(driver->stream_query(stream));
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    ENTER(driver);
    return cudart_driver_done(driver->stream_synchronize(stream));
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags)
{
    ENTER(driver);
    return cudart_driver_done(driver->stream_wait_event(stream, event, flags));
}

cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned *flags)
{
    if (flags == NULL)
        return cudart_done(cudaErrorInvalidValue);
    ENTER(driver);
    return cudart_driver_done(driver->stream_flags(stream, flags));
}

cudaError_t cudaStreamGetPriority(cudaStream_t stream, int *priority)
{
    if (priority == NULL)
        return cudart_done(cudaErrorInvalidValue);
    ENTER(driver);
    return cudart_driver_done(driver->stream_priority(stream, priority));
}

cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long *id)
{
    if (id == NULL)
        return cudart_done(cudaErrorInvalidValue);
    ENTER(driver);
    return cudart_driver_done(driver->stream_id(stream, id));
}

/* No stream ever captures: graphs are refused. */
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *status)
{
    unsigned flags;

    if (status == NULL)
        return cudart_done(cudaErrorInvalidValue);
    *status = cudaStreamCaptureStatusNone;
    return cudaStreamGetFlags(stream, &flags);
}

cudaError_t cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *mode)
{
    static _Thread_local enum cudaStreamCaptureMode now = cudaStreamCaptureModeGlobal;

    if (mode == NULL)
        return cudart_done(cudaErrorInvalidValue);
    const enum cudaStreamCaptureMode before = now;
    now = *mode;
    *mode = before;
    return cudaSuccess;
}

/* ---- the host's turn ------------------------------------------------------------------------- */

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t run, void *argument)
{
    if (run == NULL)
        return cudart_done(cudaErrorInvalidValue);
    ENTER(driver);
    return cudart_driver_done(driver->launch_host(stream, run, argument));
}

struct callback {
    cudaStreamCallback_t run;
    cudaStream_t stream;
    void *argument;
};

static void run_callback(void *pointer)
{
    const struct callback callback = *(struct callback *)pointer;

    free(pointer);
    callback.run(callback.stream, cudaSuccess, callback.argument);
}

cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t run, void *argument,
                                  unsigned flags)
{
    if (run == NULL || flags != 0)
        return cudart_done(cudaErrorInvalidValue);
    ENTER(driver);
    struct callback *callback = malloc(sizeof(*callback));
    if (callback == NULL)
        return cudart_done(cudaErrorMemoryAllocation);
    *callback = (struct callback){run, stream, argument};
    const CUresult result = driver->launch_host(stream, run_callback, callback);
    if (result != CUDA_SUCCESS)
        free(callback);
    return cudart_driver_done(result);
}

/* ---- events ---------------------------------------------------------------------------------- */

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags)
{
    if (event == NULL)
        return cudart_done(cudaErrorInvalidValue);
    ENTER(driver);
    return cudart_driver_done(driver->event_create(event, flags));
}

cudaError_t cudaEventCreate(cudaEvent_t *event)
{
    return cudaEventCreateWithFlags(event, cudaEventDefault);
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    ENTER(driver);
    return cudart_driver_done(driver->event_destroy(event));
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    ENTER(driver);
    return cudart_driver_done(driver->event_record(event, stream));
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags)
{
    return flags == cudaEventRecordDefault ? cudaEventRecord(event, stream)
                                           : cudart_done(cudaErrorNotSupported);
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
    ENTER(driver);
    return cudart_driver_done(driver->event_query(event));
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    ENTER(driver);
    return cudart_driver_done(driver->event_synchronize(event));
}

cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t from, cudaEvent_t to)
{
    if (milliseconds == NULL)
        return cudart_done(cudaErrorInvalidValue);
    ENTER(driver);
    return cudart_driver_done(driver->event_elapsed(milliseconds, from, to));
}
