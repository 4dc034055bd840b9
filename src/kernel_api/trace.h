/*
 * kernel_api/trace.h - recording what a rank does, where its job has WEFT_TRACE.
 *
 * Without it, next to no instruction is added to what decides latency. The usual put and
 * notification of a GPU find their route by its name; in a traced job routes have another name
 * (self->tracer.alias), so every put goes the way of those that are not usual, and is recorded
 * there. (Through a channel it is somewhat slower then; to go the usual way from there would cost
 * every kernel registers.) A barrier finds its communicator in the same manner, and a wait asks, as
 * ever, by whom it is done (weft_waits): that costs one branch, not taken, where the leader waits
 * alone. What is slow anyway asks whether there is a trace.
 *
 * The leader records. The log lies in device memory: a store to pinned host memory would have to
 * come back over the bus before the next release does.
 */
#ifndef WEFT_KERNEL_API_TRACE_H
#define WEFT_KERNEL_API_TRACE_H

#include "window/state.h"

#ifdef __CUDACC__
WEFT_INLINE uint64_t weft_trace_now(const weft_self *self)
{
    (void)self;
    return weft_port_clock();
}
#else
#include "base/ticks.h"

static inline uint64_t weft_trace_now(const weft_self *self)
{
    return self->tracer.ticks ? weft_ticks() : weft_port_clock();
}
#endif

WEFT_INLINE bool weft_traced(const weft_self *self)
{
    return WEFT_UNLIKELY(self->tracer.alias != 0);
}

/* who: whom it is about, if that is known. */
WEFT_COLD void weft_trace_begin(weft_self *self, enum weft_trace_kind kind, int depth, int tag,
                                struct weft_member who, uint64_t amount)
{
    struct weft_trace_event event;

    event.begin = weft_trace_now(self);
    event.end = 0;
    event.process = who.process;
    event.slot = who.slot;
    event.amount = (uint32_t)amount;
    event.amount_high = (uint8_t)(amount >> 32);
    event.tag = tag < 0 ? WEFT_TRACE_NO_TAG : (uint16_t)tag;
    event.kind = (uint8_t)kind;
    self->tracer.open[depth] = weft_trace_add(&self->tracer, &event);
}

WEFT_COLD void weft_trace_end(weft_self *self, int depth)
{
    struct weft_trace_event *event = weft_trace_at(&self->tracer, self->tracer.open[depth]);
    if (event != NULL)
        event->end = weft_trace_now(self);
}

WEFT_INLINE struct weft_member weft_trace_process(int32_t process)
{
    struct weft_member who;
    who.process = process;
    who.slot = WEFT_TRACE_ANYRANK;
    return who;
}

/*
 * Around a call that all threads make: the leader records it. What is between the two is not kept
 * in registers: they would be taken from every kernel.
 */
WEFT_INLINE void weft_trace_enter(weft_self *self, enum weft_trace_kind kind, int tag,
                                  uint64_t amount)
{
    if (weft_traced(self) && weft_thread(self) == 0)
        weft_trace_begin(self, kind, WEFT_TRACE_CALL, tag, weft_trace_process(WEFT_TRACE_NOBODY),
                         amount);
}

WEFT_INLINE void weft_trace_leave(weft_self *self)
{
    if (weft_traced(self) && weft_thread(self) == 0)
        weft_trace_end(self, WEFT_TRACE_CALL);
}

/*
 * Around a wait inside of a call. Only the leader writes the log: another thread that waits for
 * room, to say why it fails, is not recorded.
 */
WEFT_INLINE void weft_trace_wait(weft_self *self, enum weft_trace_kind kind, int32_t process,
                                 uint64_t amount)
{
    if (weft_traced(self) && weft_thread(self) == 0)
        weft_trace_begin(self, kind, WEFT_TRACE_INNER, -1, weft_trace_process(process), amount);
}

WEFT_INLINE void weft_trace_waited(weft_self *self)
{
    if (weft_traced(self) && weft_thread(self) == 0)
        weft_trace_end(self, WEFT_TRACE_INNER);
}

/* A kernel begins or ends. Its first rank tells the host what time it is (runtime/trace.c). */
WEFT_COLD void weft_trace_run(weft_self *self, enum weft_trace_kind kind)
{
    if (weft_thread(self) != 0)
        return;
    weft_trace_begin(self, kind, WEFT_TRACE_CALL, -1, weft_trace_process(WEFT_TRACE_NOBODY), 0);
    struct weft_trace_event *event = weft_trace_last(&self->tracer);
    event->end = event->begin;
    if (kind == WEFT_TRACE_RUN_BEGIN && self->slot == 1)
        weft_tell_u64(&self->state->signals->clock, event->begin);
}

#endif
