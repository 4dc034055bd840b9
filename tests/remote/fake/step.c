/* fake/step.c - runs the next operation of some stream. Lock held, but for it. */
#include "fake/inside.h"

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
        if (s != stream && s->device == device && blocks(s) && s->first != NULL &&
            s->first->order < order)
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
    return op->kind != FAKE_HANG;
}

uint32_t fake_draw(uint32_t below)
{
    fake.seed = fake.seed * 6364136223846793005u + 1;
    return (uint32_t)(fake.seed >> 33) % below;
}

static struct fake_stream *choose(void)
{
    struct fake_stream *chosen = NULL;
    uint32_t count = 0;

    for (struct fake_stream *s = fake.streams; s != NULL; s = s->next)
        if (ready(s) && fake_draw(++count) == 0)
            chosen = s;
    return chosen;
}

/* ---- running one ----------------------------------------------------------------------------- */

void fake_drop_event(struct fake_event *event)
{
    struct fake_event **at = &fake.events;

    if (!event->destroyed || event->users != 0)
        return;
    while (*at != event)
        at = &(*at)->next;
    *at = event->next;
    free(event);
}

void fake_drop_stream(struct fake_stream *stream)
{
    struct fake_stream **at = &fake.streams;

    if (stream == &stream->device->legacy || !stream->destroyed || stream->first != NULL ||
        stream->busy)
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
        fake_drop_event(op->event.event);
    }
    free(op->own);
    free(op);
}

static void run_locked(const struct fake_op *op)
{
    struct fake_event *event = op->event.event;

    switch (op->kind) {
    case FAKE_COPY:
        for (size_t r = 0; r < op->copy.rows; r++)
            memmove((void *)(op->copy.to + r * op->copy.to_pitch),
                    (const void *)(op->copy.from + r * op->copy.from_pitch), op->copy.width);
        break;
    case FAKE_FILL:
        for (size_t r = 0; r < op->fill.rows; r++)
            memset((char *)op->fill.to + r * op->fill.pitch, op->fill.value, op->fill.width);
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
    fake_drop_stream(stream);
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
    return true;
}

void fake_step_or_yield(uint32_t *pauses)
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
        fake_step_or_yield(&pauses);
    fake_print();
    return device->error;
}

CUresult fake_drain_device(struct fake_device *device)
{
    uint32_t pauses = 0;

    while (device->error == CUDA_SUCCESS && !device_idle(device))
        fake_step_or_yield(&pauses);
    fake_print();
    return device->error;
}

/* ---- the end of a device --------------------------------------------------------------------- */

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
        s->destroyed = s != &device->legacy;
        fake_drop_stream(s);
    }
}
