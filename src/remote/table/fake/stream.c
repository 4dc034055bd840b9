/* remote/table/fake/stream.c - streams as lists of operations, and the step that runs one. */
#include "base/task.h"
#include "remote/table/fake/inside.h"

#include <stdlib.h>
#include <string.h>

enum { YIELD_AFTER = 64 };

/* ---- what may run ---------------------------------------------------------------------------- */

static bool blocks(const struct fake_stream *stream)
{
    return (stream->flags & CU_STREAM_NON_BLOCKING) == 0;
}

/* The default stream and blocking ones wait for what the other kind was given before. */
static bool comes_later(const struct fake_stream *stream)
{
    const struct fake_device *device = stream->device;
    const uint64_t order = stream->first->order;

    if (stream != &device->legacy)
        return blocks(stream) && device->legacy.first != NULL &&
               device->legacy.first->order < order;
    for (const struct fake_stream *s = fake.streams; s != NULL; s = s->next)
        if (s->device == device && blocks(s) && s->first != NULL && s->first->order < order)
            return true;
    return false;
}

static bool ready(const struct fake_stream *stream)
{
    const struct fake_op *op = stream->first;

    if (op == NULL || stream->busy || stream->device->error != CUDA_SUCCESS || comes_later(stream))
        return false;
    if (op->kind == FAKE_WAIT_EVENT)
        return op->event.event->completed >= op->event.serial;
    if (op->kind == FAKE_WAIT_VALUE)
        return (int32_t)(__atomic_load_n(op->word.word, __ATOMIC_ACQUIRE) - op->word.value) >= 0;
    return op->kind != FAKE_HANG;
}

static struct fake_stream *choose(void)
{
    struct fake_stream *chosen = NULL;
    uint32_t count = 0;

    for (int i = 0; i < fake.devices; i++)
        if (ready(&fake.device[i].legacy) &&
            (fake.seed = fake.seed * 6364136223846793005u + 1, (fake.seed >> 33) % ++count == 0))
            chosen = &fake.device[i].legacy;
    for (struct fake_stream *s = fake.streams; s != NULL; s = s->next)
        if (ready(s) &&
            (fake.seed = fake.seed * 6364136223846793005u + 1, (fake.seed >> 33) % ++count == 0))
            chosen = s;
    return chosen;
}

/* ---- running one ----------------------------------------------------------------------------- */

static void drop_event(struct fake_event *event)
{
    struct fake_event **at = &fake.events;

    if (!event->destroyed || event->users != 0)
        return;
    while (*at != event)
        at = &(*at)->next;
    *at = event->next;
    free(event);
}

static void drop_stream(struct fake_stream *stream)
{
    struct fake_stream **at = &fake.streams;

    if (!stream->destroyed || stream->first != NULL || stream->busy)
        return;
    while (*at != stream)
        at = &(*at)->next;
    *at = stream->next;
    free(stream);
}

static void drop_op(struct fake_op *op)
{
    if (op->kind == FAKE_RECORD || op->kind == FAKE_WAIT_EVENT) {
        op->event.event->users--;
        drop_event(op->event.event);
    }
    free(op->own);
    free(op);
}

static void fill(const struct fake_op *op)
{
    for (size_t row = 0; row < op->fill.rows; row++) {
        unsigned char *at = (unsigned char *)op->fill.to + row * op->fill.pitch;
        for (size_t i = 0; i < op->fill.width; i += op->fill.unit)
            memcpy(at + i, &op->fill.value, op->fill.unit);
    }
}

static void run_locked(const struct fake_op *op)
{
    struct fake_event *event = op->event.event;

    switch (op->kind) {
    case FAKE_COPY:
        memmove(op->copy.to, op->copy.from, op->copy.bytes);
        break;
    case FAKE_ROWS:
        for (size_t r = 0; r < op->copy.rows; r++)
            memmove((char *)op->copy.to + r * op->copy.to_pitch,
                    (const char *)op->copy.from + r * op->copy.from_pitch, op->copy.bytes);
        break;
    case FAKE_FILL:
        fill(op);
        break;
    case FAKE_RECORD:
        if (op->event.serial > event->completed) {
            event->completed = op->event.serial;
            event->time = weft_now_ns();
        }
        break;
    case FAKE_FREE:
        fake_release(op->memory);
        break;
    default:
        break;
    }
}

static void run(struct fake_stream *stream)
{
    struct fake_op *op = stream->first;
    const bool long_one = op->kind == FAKE_KERNEL || op->kind == FAKE_HOST;

    if (long_one) { /* it may take long, or call the driver */
        stream->busy = true;
        weft_unlock(&fake.lock);
        if (op->kind == FAKE_HOST)
            op->host.run(op->host.argument);
        else
            op->kernel.run(&op->kernel.launch);
        weft_lock(&fake.lock);
        stream->busy = false;
    } else {
        run_locked(op);
    }
    stream->first = op->next;
    if (stream->first == NULL)
        stream->last = &stream->first;
    drop_op(op);
    if (stream != &stream->device->legacy)
        drop_stream(stream);
}

bool fake_step(void)
{
    struct fake_stream *stream = choose();

    if (stream == NULL)
        return false;
    run(stream);
    return true;
}

CUresult fake_push(struct fake_stream *stream, const struct fake_op *op)
{
    struct fake_op *copy = malloc(sizeof(*copy));

    if (copy == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *copy = *op;
    copy->next = NULL;
    copy->order = ++fake.orders;
    if (copy->kind == FAKE_KERNEL)
        copy->kernel.launch.parameters = copy->kernel.parameters;
    if (copy->kind == FAKE_RECORD || copy->kind == FAKE_WAIT_EVENT)
        copy->event.event->users++;
    *stream->last = copy;
    stream->last = &copy->next;
    return CUDA_SUCCESS;
}

/* ---- waiting --------------------------------------------------------------------------------- */

bool fake_idle(const struct fake_stream *stream)
{
    return stream->first == NULL && !stream->busy;
}

static bool device_idle(const struct fake_device *device)
{
    for (const struct fake_stream *s = fake.streams; s != NULL; s = s->next)
        if (s->device == device && !fake_idle(s))
            return false;
    return fake_idle(&device->legacy);
}

/* A step, or a pause in which others may open what all wait for. */
static void step_or_yield(uint32_t *pauses)
{
    if (fake_step())
        return;
    weft_unlock(&fake.lock);
    weft_task_yield((*pauses)++ > YIELD_AFTER);
    weft_lock(&fake.lock);
}

CUresult fake_drain(struct fake_stream *stream)
{
    const struct fake_device *device = stream->device;
    uint32_t pauses = 0;

    while (device->error == CUDA_SUCCESS && !fake_idle(stream))
        step_or_yield(&pauses);
    return device->error;
}

CUresult fake_drain_device(struct fake_device *device)
{
    uint32_t pauses = 0;

    while (device->error == CUDA_SUCCESS && !device_idle(device))
        step_or_yield(&pauses);
    return device->error;
}

/* ---- streams --------------------------------------------------------------------------------- */

struct fake_stream *fake_stream_of(struct fake_device *device, CUstream handle)
{
    if (handle == NULL || handle == CU_STREAM_LEGACY)
        return &device->legacy;
    for (struct fake_stream *s = fake.streams; s != NULL; s = s->next)
        if ((CUstream)s == handle && !s->destroyed)
            return s;
    return NULL;
}

/* Enters, and finds the stream. The lock is held after it, whatever it returns. */
static CUresult enter_stream(struct fake_stream **stream, CUstream handle)
{
    struct fake_device *device;
    const CUresult result = fake_enter(&device);

    if (result != CUDA_SUCCESS)
        return result;
    *stream = fake_stream_of(device, handle);
    return *stream != NULL ? (*stream)->device->error : CUDA_ERROR_INVALID_HANDLE;
}

CUresult fake_stream_create(CUstream *stream, unsigned flags, int priority)
{
    struct fake_device *device;
    CUresult result = fake_enter(&device);
    struct fake_stream *s = NULL;

    if (result == CUDA_SUCCESS && (flags & ~(unsigned)CU_STREAM_NON_BLOCKING) != 0)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS && (s = calloc(1, sizeof(*s))) == NULL)
        result = CUDA_ERROR_OUT_OF_MEMORY;
    if (result == CUDA_SUCCESS) {
        *s = (struct fake_stream){.next = fake.streams,
                                  .device = device,
                                  .id = ++fake.ids,
                                  .flags = flags,
                                  .priority = priority > 0    ? 0
                                              : priority < -5 ? -5
                                                              : priority};
        s->last = &s->first;
        fake.streams = s;
        *stream = (CUstream)s;
    }
    return fake_end(result);
}

CUresult fake_stream_destroy(CUstream handle)
{
    struct fake_stream *stream = NULL;
    CUresult result = enter_stream(&stream, handle);

    if (result == CUDA_SUCCESS && stream == &stream->device->legacy)
        result = CUDA_ERROR_INVALID_HANDLE;
    if (result == CUDA_SUCCESS) {
        stream->destroyed = true;
        drop_stream(stream);
    }
    return fake_end(result);
}

CUresult fake_stream_query(CUstream handle)
{
    struct fake_stream *stream = NULL;
    CUresult result = enter_stream(&stream, handle);

    if (result == CUDA_SUCCESS && !fake_idle(stream))
        result = CUDA_ERROR_NOT_READY;
    return fake_end(result);
}

CUresult fake_stream_synchronize(CUstream handle)
{
    struct fake_stream *stream = NULL;
    CUresult result = enter_stream(&stream, handle);

    if (result == CUDA_SUCCESS)
        result = fake_drain(stream);
    return fake_end(result);
}

CUresult fake_stream_flags(CUstream handle, unsigned *flags)
{
    struct fake_stream *stream = NULL;
    const CUresult result = enter_stream(&stream, handle);

    if (result == CUDA_SUCCESS)
        *flags = stream->flags;
    return fake_end(result);
}

CUresult fake_stream_priority(CUstream handle, int *priority)
{
    struct fake_stream *stream = NULL;
    const CUresult result = enter_stream(&stream, handle);

    if (result == CUDA_SUCCESS)
        *priority = stream->priority;
    return fake_end(result);
}

CUresult fake_stream_id(CUstream handle, unsigned long long *id)
{
    struct fake_stream *stream = NULL;
    const CUresult result = enter_stream(&stream, handle);

    if (result == CUDA_SUCCESS)
        *id = stream->id;
    return fake_end(result);
}

CUresult fake_stream_wait_value(CUstream handle, CUdeviceptr address, cuuint32_t value,
                                unsigned flags)
{
    struct fake_stream *stream = NULL;
    CUresult result = enter_stream(&stream, handle);
    const struct fake_op op = {.kind = FAKE_WAIT_VALUE, .word = {(uint32_t *)address, value}};

    if (result == CUDA_SUCCESS && flags != CU_STREAM_WAIT_VALUE_GEQ)
        result = CUDA_ERROR_NOT_SUPPORTED;
    if (result == CUDA_SUCCESS && fake_find((void *)address, 4, NULL) == FAKE_NOWHERE)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        result = fake_push(stream, &op);
    return fake_end(result);
}

CUresult fake_launch_host(CUstream handle, CUhostFn run_it, void *argument)
{
    struct fake_stream *stream = NULL;
    CUresult result = enter_stream(&stream, handle);
    const struct fake_op op = {.kind = FAKE_HOST, .host = {run_it, argument}};

    if (result == CUDA_SUCCESS && run_it == NULL)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        result = fake_push(stream, &op);
    return fake_end(result);
}

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
        drop_event(event);
    }
    return fake_end(result);
}

static CUresult push_event(CUstream handle, CUevent event_handle, enum fake_kind kind)
{
    struct fake_stream *stream = NULL;
    CUresult result = enter_stream(&stream, handle);
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
            step_or_yield(&pauses);
        event->users--;
        drop_event(event);
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

/* Everything of the device ends, also what never would. */
void fake_reset_streams(struct fake_device *device)
{
    for (struct fake_stream *s = fake.streams, *next; s != NULL; s = next) {
        next = s->next;
        if (s->device != device)
            continue;
        while (s->first != NULL) {
            struct fake_op *op = s->first;
            s->first = op->next;
            drop_op(op);
        }
        s->last = &s->first;
        s->destroyed = true;
        drop_stream(s);
    }
    while (device->legacy.first != NULL) {
        struct fake_op *op = device->legacy.first;
        device->legacy.first = op->next;
        drop_op(op);
    }
    device->legacy.last = &device->legacy.first;
}
