/*
 * rank/trace/trace.h - recording what a rank does, where its job has WEFT_TRACE.
 *
 * Without it, next to no instruction is added to what decides latency. The usual put and
 * notification of a GPU find their route by its name. In a traced job routes have another name
 * (self->tracer.alias), so every put goes the way of those that are not usual, and is recorded
 * there. (That is hardly longer, but for what goes through a channel; to go the usual way from
 * there would cost every kernel registers.) So is a notification, by code that is as short as the
 * usual (weft_notify_recorded): what a leader does is on the way of its rank. A barrier finds its
 * communicator in the same manner, and a wait asks by whom it is done (weft_waits), as without a
 * trace: that costs one branch, not taken, where the leader waits alone. What is slow anyway asks
 * whether there is a trace.
 *
 * The leader records, by its multiprocessor's counter, which is read at once. Where that is by the
 * GPU's clock a rank notes when its kernel begins and ends, and once in some hundred events
 * (WEFT_TRACE_CLOCK); the host finds the rest (runtime/trace/ticks.h). The log lies in device
 * memory: a store to pinned host memory would have to come back over the bus before the next
 * release does.
 */
#ifndef WEFT_RANK_TRACE_TRACE_H
#define WEFT_RANK_TRACE_TRACE_H

#include "rank/state.h"

#ifdef __CUDACC__

WEFT_INLINE uint64_t weft_trace_now(const weft_self *self)
{
    (void)self;
    return weft_port_ticks();
}

/* Reads the rank's clock and the device's at the same moment. */
WEFT_INLINE void weft_trace_clocks(const weft_self *self, uint64_t *now, uint64_t *device)
{
    (void)self;
    weft_port_clocks(now, device);
}

#else

static inline uint64_t weft_trace_now(const weft_self *self)
{
    (void)self;
    return weft_port_clock();
}

static inline void weft_trace_clocks(const weft_self *self, uint64_t *now, uint64_t *device)
{
    *now = *device = weft_trace_now(self);
}

#endif

WEFT_INLINE bool weft_traced(const weft_self *self)
{
    return WEFT_UNLIKELY(self->tracer.alias != 0);
}

/* Whether the calling thread writes the log: the leader, in a traced job. Only it does: another
 * thread that waits for room, to say why it fails, is not recorded. */
WEFT_INLINE bool weft_records(const weft_self *self)
{
    return weft_traced(self) && (weft_alone(self) || weft_thread(self) == 0);
}

/*
 * Records a moment by both clocks: a kernel begins or ends, or goes on. Its first rank tells the
 * host what time it is (runtime/trace/trace.c). The leader; for others it does nothing.
 */
WEFT_COLD void weft_trace_moment(weft_self *self, enum weft_trace_kind kind)
{
    WEFT_IN_SHARED(self);
    struct weft_tracer *const tracer = &self->tracer;
    struct weft_trace_event event;

    if (weft_thread(self) != 0 && !weft_alone(self))
        return;
    event.process = WEFT_TRACE_NOBODY;
    event.slot = WEFT_TRACE_ANYRANK;
    event.amount = 0;
    event.what = weft_trace_what(kind, -1, 0);
    weft_trace_clocks(self, &event.begin, &event.end);
    weft_trace_add(tracer, &event);
    if (kind == WEFT_TRACE_RUN_BEGIN && self->slot == 1)
        weft_tell_u64(&self->state->signals->clock, event.end);
    if (kind == WEFT_TRACE_RUN_END)
        weft_trace_publish(tracer);
}

/*
 * Numbers from `before` up to `count` have been taken: one of `every` is a look at both clocks. The
 * leader.
 */
WEFT_INLINE void weft_trace_counted(weft_self *self, uint32_t every, uint64_t before,
                                    uint64_t count)
{
#ifdef __CUDACC__
    if (WEFT_UNLIKELY((((uint32_t)before ^ (uint32_t)count) & (0u - every)) != 0))
        weft_trace_moment(self, WEFT_TRACE_CLOCK);
#else
    (void)self, (void)every, (void)before, (void)count;
#endif
}

/* Records that a region begins or ends now; all but its times is set. The leader, if traced. */
WEFT_COLD void weft_trace_mark(weft_self *self, struct weft_trace_event *event)
{
    WEFT_IN_SHARED(self);
    struct weft_tracer *const tracer = &self->tracer;
    const uint64_t number = tracer->count;

    event->begin = event->end = weft_trace_now(self);
    weft_trace_add(tracer, event);
    weft_trace_counted(self, tracer->every, number, number + 1);
}

/* One of the program's. The leader, in a traced job. */
WEFT_COLD void weft_trace_region(weft_self *self, enum weft_trace_kind kind, const char *name)
{
    struct weft_trace_event event;

    weft_trace_set_region(&event, kind, name);
    weft_trace_mark(self, &event);
}

/* Opens an event that begins. The leader, in a traced job. */
WEFT_INLINE void weft_trace_open_event(weft_self *self, enum weft_trace_kind kind, int depth,
                                       int tag, int32_t process, uint32_t slot, uint64_t amount)
{
    struct weft_tracer *const tracer = &self->tracer;
    struct weft_trace_event *const open = &tracer->open[depth];

    open->begin = weft_trace_now(self);
    if (depth == WEFT_TRACE_INNER && tracer->open[WEFT_TRACE_CALL].kind != 0)
        weft_trace_number(tracer, &tracer->open[WEFT_TRACE_CALL]);
    open->end = WEFT_TRACE_UNNUMBERED;
    open->process = process;
    open->slot = slot;
    open->amount = (uint32_t)amount;
    open->what = weft_trace_what(kind, tag, amount);
}

/* Closes the open event. All looks at shared memory come before the stores, to wait together. */
WEFT_INLINE void weft_trace_close_event(weft_self *self, int depth)
{
    struct weft_tracer *const tracer = &self->tracer;
    struct weft_trace_event *const open = &tracer->open[depth];
    struct weft_trace_log *const log = tracer->log;
    const uint32_t most = tracer->most, every = tracer->every;
    const uint64_t next = tracer->count;
    struct weft_trace_event event = *open;
    const bool numbered = event.end != WEFT_TRACE_UNNUMBERED;
    const uint64_t number = numbered ? event.end : next, count = numbered ? next : next + 1;

    event.end = weft_trace_now(self);
    tracer->count = count;
    open->kind = 0;
    weft_trace_store(log, most, number, count, &event);
    weft_trace_counted(self, every, number, number + 1);
}

/* Adds a call in which no other began; its end is set here. */
WEFT_INLINE void weft_trace_single(weft_self *self, struct weft_trace_event *event)
{
    struct weft_tracer *const tracer = &self->tracer;
    struct weft_trace_log *const log = tracer->log;
    const uint32_t most = tracer->most, every = tracer->every;
    const uint64_t number = tracer->count;

    event->end = weft_trace_now(self);
    tracer->count = number + 1;
    weft_trace_put(log, most, number, event);
    weft_trace_counted(self, every, number, number + 1);
}

/* Closes a call in which no other began, and which was opened as it began. */
WEFT_INLINE void weft_trace_close_single(weft_self *self)
{
    struct weft_trace_event *const open = &self->tracer.open[WEFT_TRACE_CALL];
    struct weft_trace_event event = *open;

    open->kind = 0;
    weft_trace_single(self, &event);
}

/* Opens an event, in a function of its own; weft_trace_end closes it. */
WEFT_COLD void weft_trace_begin(weft_self *self, enum weft_trace_kind kind, int depth, int tag,
                                int32_t process, uint64_t amount)
{
    WEFT_IN_SHARED(self);
    weft_trace_open_event(self, kind, depth, tag, process, WEFT_TRACE_ANYRANK, amount);
}

WEFT_COLD void weft_trace_end(weft_self *self, int depth)
{
    WEFT_IN_SHARED(self);
    weft_trace_close_event(self, depth);
}

/*
 * Around a call that all threads make: the leader records it. What is between the two is not kept
 * in registers: they would be taken from every kernel.
 */
WEFT_INLINE void weft_trace_enter(weft_self *self, enum weft_trace_kind kind, int tag,
                                  uint64_t amount)
{
    if (weft_records(self))
        weft_trace_begin(self, kind, WEFT_TRACE_CALL, tag, WEFT_TRACE_NOBODY, amount);
}

WEFT_INLINE void weft_trace_leave(weft_self *self)
{
    if (weft_records(self))
        weft_trace_end(self, WEFT_TRACE_CALL);
}

/* Around a wait inside of a call. */
WEFT_INLINE void weft_trace_wait(weft_self *self, enum weft_trace_kind kind, int32_t process,
                                 uint64_t amount)
{
    if (weft_records(self))
        weft_trace_begin(self, kind, WEFT_TRACE_INNER, -1, process, amount);
}

WEFT_INLINE void weft_trace_waited(weft_self *self)
{
    if (weft_records(self))
        weft_trace_end(self, WEFT_TRACE_INNER);
}

#endif
