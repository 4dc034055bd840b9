/* remote/table/fake/event.c - events: how often one was recorded, and how often that was done. */
#include "remote/table/fake/inside.h"

#include <stdlib.h>

/* ---- events ---------------------------------------------------------------------------------- */

static struct fake_event *event_of(CUevent handle)
{
    for (struct fake_event *e = fake.events; e != NULL; e = e->next)
        if ((CUevent)e == handle && !e->destroyed)
            return e;
    return NULL;
}

static CUresult enter_event(struct fake_event **event, CUevent handle)
{
    struct fake_device *device;
    const CUresult result = fake_enter(&device);

    *event = event_of(handle);
    if (result != CUDA_SUCCESS)
        return result;
    return *event != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult fake_event_create(CUevent *event, unsigned flags)
{
    struct fake_device *device;
    CUresult result = fake_enter(&device);
    struct fake_event *e = NULL;

    if (result == CUDA_SUCCESS && flags > 7)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS && (e = calloc(1, sizeof(*e))) == NULL)
        result = CUDA_ERROR_OUT_OF_MEMORY;
    if (result == CUDA_SUCCESS) {
        e->flags = flags;
        e->next = fake.events;
        fake.events = e;
        *event = (CUevent)e;
    }
    return fake_end(result);
}

CUresult fake_event_destroy(CUevent handle)
{
    struct fake_event *event;
    const CUresult result = enter_event(&event, handle);

    if (event != NULL) {
        event->destroyed = true;
        fake_drop_event(event);
    }
    return fake_end(result);
}

static CUresult push_event(CUstream handle, CUevent event_handle, enum fake_kind kind)
{
    struct fake_stream *stream = NULL;
    CUresult result = fake_enter_stream(&stream, handle);
    struct fake_op op = {.kind = kind, .event = {.event = event_of(event_handle)}};

    if (result == CUDA_SUCCESS && op.event.event == NULL)
        result = CUDA_ERROR_INVALID_HANDLE;
    if (result == CUDA_SUCCESS) {
        op.event.serial =
            kind == FAKE_RECORD ? ++op.event.event->recorded : op.event.event->recorded;
        result = fake_push(stream, &op);
    }
    return fake_end(result);
}

CUresult fake_event_record(CUevent event, CUstream stream)
{
    return push_event(stream, event, FAKE_RECORD);
}

CUresult fake_stream_wait_event(CUstream stream, CUevent event, unsigned flags)
{
    return flags == 0 ? push_event(stream, event, FAKE_WAIT_EVENT) : CUDA_ERROR_INVALID_VALUE;
}

CUresult fake_event_query(CUevent handle)
{
    struct fake_event *event;
    CUresult result = enter_event(&event, handle);

    if (result == CUDA_SUCCESS && event->completed < event->recorded)
        result = CUDA_ERROR_NOT_READY;
    return fake_end(result);
}

CUresult fake_event_synchronize(CUevent handle)
{
    struct fake_event *event;
    CUresult result = enter_event(&event, handle);
    uint32_t pauses = 0;

    if (result == CUDA_SUCCESS) {
        const uint64_t serial = event->recorded;
        const struct fake_device *device = fake_current();
        event->users++;
        while (event->completed < serial && device->error == CUDA_SUCCESS)
            fake_step_or_yield(&pauses);
        event->users--;
        fake_drop_event(event);
        result = device->error;
    }
    return fake_end(result);
}

CUresult fake_event_elapsed(float *milliseconds, CUevent from, CUevent to)
{
    struct fake_event *first, *second;
    CUresult result = enter_event(&first, from);

    second = event_of(to);
    if (result == CUDA_SUCCESS &&
        (second == NULL || ((first->flags | second->flags) & CU_EVENT_DISABLE_TIMING) != 0 ||
         first->recorded == 0 || second->recorded == 0))
        result = CUDA_ERROR_INVALID_HANDLE;
    else if (result == CUDA_SUCCESS &&
             (first->completed < first->recorded || second->completed < second->recorded))
        result = CUDA_ERROR_NOT_READY;
    if (result == CUDA_SUCCESS)
        *milliseconds = (float)((double)(int64_t)(second->time - first->time) * 1e-6);
    return fake_end(result);
}
