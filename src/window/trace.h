/*
 * window/trace.h - what a timeline is recorded as: events of 32 bytes in a ring, each with its
 * begin, its end and what it was about.
 *
 * A ring has one writer: a rank's leader, or who holds the duty of a service (runtime/job.h). An
 * event is written when it begins, with no end, and its end is filled in later: so an event that
 * never ended, in a job that failed, is there too. The last events are kept; `count` says how many
 * there ever were. Nobody reads while anybody writes: the host looks when the kernel has ended, and
 * the launch's end orders all that its ranks stored before it. So these are plain stores.
 */
#ifndef WEFT_WINDOW_TRACE_H
#define WEFT_WINDOW_TRACE_H

#include "base/inline.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum weft_trace_kind {
    WEFT_TRACE_RUN_BEGIN = 1, /* a kernel; and its end: moments */
    WEFT_TRACE_RUN_END,
    WEFT_TRACE_PUT,        /* amount: bytes */
    WEFT_TRACE_NOTIFY,     /* a tag */
    WEFT_TRACE_WAIT,       /* a tag, amount: notifications */
    WEFT_TRACE_WAIT_UNTIL, /* amount: the value */
    WEFT_TRACE_BARRIER,    /* amount: communicator */
    WEFT_TRACE_COLLECTIVE, /* amount: weft_collective_op */
    /* Inside of these, or in a flush or fence: */
    WEFT_TRACE_ROOM,   /* waits for room in the command ring, amount: lines */
    WEFT_TRACE_LEFT,   /* until the host has read the sources of puts, */
    WEFT_TRACE_LANDED, /* waits until what went through the host has landed at a process, */
    WEFT_TRACE_TAKEN,  /* or until the other end of a channel has taken it */
    /* Of the host's services: */
    WEFT_TRACE_PROGRESS,
    WEFT_TRACE_RECEIVE,
    WEFT_TRACE_NET_SENT,   /* a moment: the network has accepted it; amount: bytes */
    WEFT_TRACE_NET_ARRIVED /* a moment: a notification for a rank here, and what came before it */
};

#define WEFT_TRACE_NO_TAG  UINT16_MAX
#define WEFT_TRACE_NOBODY  INT32_MIN /* no process that it is about */
#define WEFT_TRACE_ANYRANK UINT32_MAX

/* What it was about: a process and its slot (wire/notice.h), a tag, an amount below 2^40. */
struct weft_trace_event {
    uint64_t begin, end; /* by the writer's clock; end 0: it has not ended */
    int32_t process;
    uint32_t slot;
    uint32_t amount;
    uint16_t tag;
    uint8_t amount_high;
    uint8_t kind;
} __attribute__((aligned(16)));

static_assert(sizeof(struct weft_trace_event) == 32, "an event is two stores of a GPU");

struct weft_trace_log {
    uint64_t count, unused; /* of all events, also of those that are overwritten */
    struct weft_trace_event event[];
};

/* A call; a wait inside of it. */
enum { WEFT_TRACE_CALL, WEFT_TRACE_INNER, WEFT_TRACE_DEPTHS };

/* The writer's end of a log. */
struct weft_tracer {
    uint32_t alias; /* 0: no trace; else what names of routes differ by (kernel_api/route.h) */
    uint32_t most;  /* events in the log: a power of two */
    bool ticks;     /* on the CPU device: its clock is base/ticks.h's, else the monotonic one */
    uint64_t count;
    uint64_t open[WEFT_TRACE_DEPTHS]; /* events that a rank is in the middle of */
    struct weft_trace_log *log;
};

#define WEFT_TRACE_ALIAS (1u << 31)

WEFT_INLINE size_t weft_trace_bytes(uint64_t most)
{
    return sizeof(struct weft_trace_log) + (size_t)most * sizeof(struct weft_trace_event);
}

/* The event's number. */
WEFT_INLINE uint64_t weft_trace_add(struct weft_tracer *tracer, const struct weft_trace_event *e)
{
    const uint64_t number = tracer->count;

    tracer->log->event[number & (tracer->most - 1)] = *e;
    tracer->count = tracer->log->count = number + 1;
    return number;
}

/* The last event; there is one. */
WEFT_INLINE struct weft_trace_event *weft_trace_last(const struct weft_tracer *tracer)
{
    return &tracer->log->event[(tracer->count - 1) & (tracer->most - 1)];
}

/* The event of that number; NULL: it has been overwritten. */
WEFT_INLINE struct weft_trace_event *weft_trace_at(const struct weft_tracer *tracer,
                                                   uint64_t number)
{
    return tracer->count - number <= tracer->most ? &tracer->log->event[number & (tracer->most - 1)]
                                                  : (struct weft_trace_event *)0;
}

#endif
