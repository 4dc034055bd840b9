/* fake/event.c - how often an event was recorded, and was done. Lock held. */
#include "fake/inside.h"

#include <stdlib.h>

static struct fake_event *event_of(CUevent handle)
{
    for (struct fake_event *e = fake.events; e != NULL; e = e->next)
        if ((CUevent)e == handle && !e->destroyed)
            return e;
    return NULL;
}

static CUresult create(CUevent *handle, unsigned flags)
{
    struct fake_event *event = calloc(1, sizeof(*event));

    if (flags > 7 || event == NULL) {
        free(event);
        return flags > 7 ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_OUT_OF_MEMORY;
    }
    *event = (struct fake_event){.next = fake.events, .flags = flags};
    fake.events = event;
    *handle = (CUevent)event;
    return CUDA_SUCCESS;
}

CUresult fake_event_destroy(CUevent handle)
{
    struct fake_device *device;
    const CUresult result = fake_enter(&device);
    struct fake_event *event = event_of(handle);

    if (event != NULL) { /* whatever its device is */
        event->destroyed = true;
        fake_drop_event(event);
    }
    return fake_end(result == CUDA_SUCCESS && event == NULL ? CUDA_ERROR_INVALID_HANDLE : result);
}

static CUresult push(struct fake_stream *stream, struct fake_event *event, enum fake_kind kind)
{
    if (event == NULL)
        return CUDA_ERROR_INVALID_HANDLE;
    event->recorded += kind == FAKE_RECORD;
    return fake_push(stream, &(struct fake_op){.kind = kind, .event = {event, event->recorded}});
}

static CUresult query(const struct fake_event *event)
{
    if (event == NULL)
        return CUDA_ERROR_INVALID_HANDLE;
    return event->completed < event->recorded ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
}

static CUresult synchronize(const struct fake_device *device, struct fake_event *event)
{
    uint32_t pauses = 0;

    if (event == NULL)
        return CUDA_ERROR_INVALID_HANDLE;
    const uint64_t serial = event->recorded;
    event->users++;
    while (event->completed < serial && device->error == CUDA_SUCCESS)
        fake_step_or_yield(&pauses);
    event->users--;
    fake_drop_event(event);
    fake_print();
    return device->error;
}

static CUresult elapsed(float *milliseconds, const struct fake_event *from,
                        const struct fake_event *to)
{
    if (from == NULL || to == NULL || ((from->flags | to->flags) & CU_EVENT_DISABLE_TIMING) != 0 ||
        from->recorded == 0 || to->recorded == 0)
        return CUDA_ERROR_INVALID_HANDLE;
    if (from->completed < from->recorded || to->completed < to->recorded)
        return CUDA_ERROR_NOT_READY;
    *milliseconds = (float)((double)(int64_t)(to->time - from->time) * 1e-6);
    return CUDA_SUCCESS;
}

FAKE_CALL(event_create, (CUevent * event, unsigned flags), create(event, flags))
FAKE_STREAM_CALL(event_record, (CUevent event, CUstream handle),
                 push(stream, event_of(event), FAKE_RECORD))
FAKE_STREAM_CALL(stream_wait_event, (CUstream handle, CUevent event, unsigned flags),
                 flags == 0 ? push(stream, event_of(event), FAKE_WAIT_EVENT)
                            : CUDA_ERROR_INVALID_VALUE)
FAKE_CALL(event_query, (CUevent event), query(event_of(event)))
FAKE_CALL(event_synchronize, (CUevent event), synchronize(device, event_of(event)))
FAKE_CALL(event_elapsed, (float *milliseconds, CUevent from, CUevent to),
          elapsed(milliseconds, event_of(from), event_of(to)))
