/* remote/cudart/stream.c - streams, events, host functions in a stream. Any thread. */
#include "base/task.h"
#include "remote/cudart/inside.h"

#include <stdlib.h>

/* ---- streams --------------------------------------------------------------------------------- */

RESULT(cudaStreamCreateWithPriority, (cudaStream_t * stream, unsigned flags, int priority), stream,
       stream_create(stream, flags, priority))

ALIAS(cudaStreamCreateWithFlags, (cudaStream_t * stream, unsigned flags),
      cudaStreamCreateWithPriority(stream, flags, 0))

ALIAS(cudaStreamCreate, (cudaStream_t * stream),
      cudaStreamCreateWithPriority(stream, cudaStreamDefault, 0))

FORWARD(cudaStreamDestroy, (cudaStream_t stream), stream_destroy(stream))
FORWARD(cudaStreamQuery, (cudaStream_t stream), stream_query(ON(stream)))
FORWARD(cudaStreamSynchronize, (cudaStream_t stream), stream_synchronize(ON(stream)))
FORWARD(cudaStreamWaitEvent, (cudaStream_t stream, cudaEvent_t event, unsigned flags),
        stream_wait_event(ON(stream), event, flags))
RESULT(cudaStreamGetFlags, (cudaStream_t stream, unsigned *flags), flags,
       stream_flags(ON(stream), flags))
RESULT(cudaStreamGetPriority, (cudaStream_t stream, int *priority), priority,
       stream_priority(ON(stream), priority))
RESULT(cudaStreamGetId, (cudaStream_t stream, unsigned long long *id), id,
       stream_id(ON(stream), id))

RESULT(cudaStreamGetAttribute,
       (cudaStream_t stream, cudaStreamAttrID attribute, cudaStreamAttrValue *value), value,
       stream_attribute(ON(stream), (CUstreamAttrID)attribute, (CUstreamAttrValue *)value))
RESULT(cudaStreamSetAttribute,
       (cudaStream_t stream, cudaStreamAttrID attribute, const cudaStreamAttrValue *value), value,
       stream_set_attribute(ON(stream), (CUstreamAttrID)attribute,
                            (const CUstreamAttrValue *)value))
FORWARD(cudaStreamCopyAttributes, (cudaStream_t to, cudaStream_t from),
        stream_copy_attributes(ON(to), ON(from)))

/* Tells that no stream captures: graphs are refused. */
FOUND(cudaStreamIsCapturing, (cudaStream_t stream, enum cudaStreamCaptureStatus *status),
      status == NULL, unsigned flags, cudaStreamGetFlags(stream, &flags),
      (*status = cudaStreamCaptureStatusNone, cudaSuccess))

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

struct callback {
    cudaHostFn_t run;
    cudaStreamCallback_t tell; /* instead of run */
    cudaStream_t stream;
    void *argument;
};

/* Runs a callback. Its stream waits for it: what it called of CUDA's might wait for the stream. */
static void run_callback(void *pointer)
{
    const struct callback c = *(struct callback *)pointer;

    free(pointer);
    cudart_thread()->callback = weft_task_local();
    if (c.run != NULL)
        c.run(c.argument);
    else
        c.tell(c.stream, cudaSuccess, c.argument);
    cudart_thread()->callback = NULL;
}

static cudaError_t call_back(struct callback wanted)
{
    if (wanted.run == NULL && wanted.tell == NULL)
        return cudart_done(cudaErrorInvalidValue);
    ENTER(driver);
    struct callback *callback = malloc(sizeof(*callback));
    if (callback == NULL)
        return cudart_done(cudaErrorMemoryAllocation);
    *callback = wanted;
    const CUresult result = driver->launch_host(ON(wanted.stream), run_callback, callback);
    if (result != CUDA_SUCCESS)
        free(callback);
    return cudart_driver_done(result);
}

ALIAS(cudaLaunchHostFunc, (cudaStream_t stream, cudaHostFn_t run, void *argument),
      call_back((struct callback){.run = run, .stream = stream, .argument = argument}))
ALIAS(cudaStreamAddCallback,
      (cudaStream_t stream, cudaStreamCallback_t tell, void *argument, unsigned flags),
      flags != 0
          ? cudart_done(cudaErrorInvalidValue)
          : call_back((struct callback){.tell = tell, .stream = stream, .argument = argument}))

/* ---- events ---------------------------------------------------------------------------------- */

RESULT(cudaEventCreateWithFlags, (cudaEvent_t * event, unsigned flags), event,
       event_create(event, flags))

ALIAS(cudaEventCreate, (cudaEvent_t * event), cudaEventCreateWithFlags(event, cudaEventDefault))

FORWARD(cudaEventDestroy, (cudaEvent_t event), event_destroy(event))
FORWARD(cudaEventRecord, (cudaEvent_t event, cudaStream_t stream), event_record(event, ON(stream)))

ALIAS(cudaEventRecordWithFlags, (cudaEvent_t event, cudaStream_t stream, unsigned flags),
      flags == cudaEventRecordDefault
          ? cudaEventRecord(event, stream)
          : cudart_driver_done(WEFT_CUDA_REFUSE("an event of a graph's", "graphs")))

FORWARD(cudaEventQuery, (cudaEvent_t event), event_query(event))
FORWARD(cudaEventSynchronize, (cudaEvent_t event), event_synchronize(event))
RESULT(cudaEventElapsedTime, (float *milliseconds, cudaEvent_t from, cudaEvent_t to), milliseconds,
       event_elapsed(milliseconds, from, to))
