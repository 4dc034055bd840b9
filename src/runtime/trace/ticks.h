/*
 * runtime/trace/ticks.h - a rank's ticks as nanoseconds of its device. A rank of a GPU times its
 * events by its multiprocessor's counter, which is read at once, but begins anywhere and goes as
 * fast as the clock of the moment. As its kernel begins and ends, and now and then between, it
 * looks at both clocks (WEFT_TRACE_CLOCK and the like, of abi/trace.h). What lies between two
 * looks is found on the line between them; what lies before the first that is left, or after the
 * last, on the nearest such line.
 *
 * A log is device memory that a program may have written into. So nothing of it is believed:
 * whatever is there, times come out, and the looks that they were made from go forward.
 */
#ifndef WEFT_RUNTIME_TRACE_TICKS_H
#define WEFT_RUNTIME_TRACE_TICKS_H

#include "abi/trace.h"

/* One look at both clocks. */
struct weft_trace_pair {
    uint64_t ticks, ns;
};

/* Whether an event is such a look. */
static inline bool weft_trace_is_look(const struct weft_trace_event *event)
{
    return event->kind == WEFT_TRACE_RUN_BEGIN || event->kind == WEFT_TRACE_RUN_END ||
           event->kind == WEFT_TRACE_CLOCK;
}

/* A reader's place in a log, with the looks before and after it. */
struct weft_trace_ticks {
    const struct weft_trace_log *log;
    uint64_t most, count;
    uint64_t next; /* number of the look after; count: there is none */
    struct weft_trace_pair before, after;
    bool has_before;
    double rate; /* ns of a tick, where two looks do not say it */
};

/*
 * Begins with event `first` of `count`, of which `most` have room. rate: for a log whose own looks
 * give none. Whoever has done this may ask weft_trace_ticks_at, if it returns true; false: there is
 * no look at all.
 */
bool weft_trace_ticks_begin(struct weft_trace_ticks *t, const struct weft_trace_log *log,
                            uint64_t first, uint64_t count, uint64_t most, double rate);

/* Converts a time of event `number`, which is no less than that of the call before. */
uint64_t weft_trace_ticks_at(struct weft_trace_ticks *t, uint64_t number, uint64_t ticks);

#endif
