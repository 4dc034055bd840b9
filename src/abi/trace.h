/*
 * abi/trace.h - what a timeline is recorded as: events of 32 bytes in a ring, each with its
 * begin, its end and what it was about.
 *
 * A ring has one writer: a rank's leader, or who holds the progress lock of a service
 * (runtime/job/job.h). A rank notes an event beside its state when it begins, and stores it in the
 * log when it ends. On a GPU the former is shared memory, and the latter two stores that nobody
 * waits for. (Stored when it begins, it would be one more thing that the release of a notification
 * waits for.) Events are numbered in the order of their beginnings. What never ended, in a job that
 * failed, is stored without an end (weft_trace_abandon). The last events are kept; `count` says how
 * many there ever were. Nobody reads while anybody writes: the host looks when the kernel has
 * ended, and the launch's end orders all that its ranks stored before it. So these are plain
 * stores.
 */
#ifndef WEFT_ABI_TRACE_H
#define WEFT_ABI_TRACE_H

#include "order/inline.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum weft_trace_kind {
    /* Moments; `begin` is the time by the rank's clock, and `end` that by the device's: */
    WEFT_TRACE_RUN_BEGIN = 1, /* a kernel begins */
    WEFT_TRACE_RUN_END,       /* a kernel ends */
    WEFT_TRACE_CLOCK,         /* a moment of a run, by both clocks; in logs of ranks alone */
    WEFT_TRACE_REGION,        /* a region of the program's begins: a moment, with its name */
    WEFT_TRACE_WORK,          /* a piece of work begins: a moment; its layer names it */
    WEFT_TRACE_REGION_END,    /* the region or piece of work that has begun last ends */
    WEFT_TRACE_PUT,           /* amount: bytes */
    WEFT_TRACE_NOTIFY,        /* tag: the notification's */
    WEFT_TRACE_WAIT,          /* tag: the notifications'; amount: how many */
    WEFT_TRACE_WAIT_UNTIL,    /* amount: the value */
    WEFT_TRACE_BARRIER,       /* amount: communicator */
    WEFT_TRACE_COLLECTIVE,    /* amount: weft_collective_op */
    /* Inside of these, or in a flush or fence: */
    WEFT_TRACE_ROOM,      /* waits for room in the command ring, amount: lines */
    WEFT_TRACE_LEFT,      /* waits until the host has read the sources of puts */
    WEFT_TRACE_DELIVERED, /* waits until what went through the host is delivered at a process */
    WEFT_TRACE_TAKEN,     /* waits until the other end of a channel has taken it */
    /* Of the host's services: */
    WEFT_TRACE_PROGRESS,
    WEFT_TRACE_RECEIVE,
    WEFT_TRACE_NET_SENT,   /* a moment: the network has accepted it; amount: bytes */
    WEFT_TRACE_NET_ARRIVED /* a moment: a notification for a rank here, and what came before it */
};

#define WEFT_TRACE_NO_TAG  UINT16_MAX
#define WEFT_TRACE_NOBODY  INT32_MIN /* process of an event that is about none */
#define WEFT_TRACE_ANYRANK UINT32_MAX

/* What it was about: a process and its slot (abi/notice.h), a tag, an amount below 2^40. */
struct weft_trace_event {
    uint64_t begin, end; /* times by the writer's clock; end 0: it has not ended */
    int32_t process;
    uint32_t slot;
    uint32_t amount;
    union {
        struct {
            uint16_t tag;
            uint8_t amount_high;
            uint8_t kind; /* enum weft_trace_kind; 0: an event with a number alone */
        };
        uint32_t what;
    };
} __attribute__((aligned(16)));

static_assert(sizeof(struct weft_trace_event) == 32, "an event is two stores of a GPU");

/* A region's name takes all that another event says of its subject, but the kind. */
enum { WEFT_TRACE_REGION_NAME = 15 };

/* Sets all but the times. */
WEFT_INLINE void weft_trace_set_region(struct weft_trace_event *event, enum weft_trace_kind kind,
                                       const char *name)
{
    uint32_t words[4] = {0, 0, 0, (uint32_t)kind << 24};

    for (int i = 0; i < WEFT_TRACE_REGION_NAME && name != NULL && name[i] != 0; i++)
        words[i / 4] |= (uint32_t)(unsigned char)name[i] << (8 * (i % 4));
    event->process = (int32_t)words[0];
    event->slot = words[1];
    event->amount = words[2];
    event->what = words[3];
}

/* Gives a region's name, in at least WEFT_TRACE_REGION_NAME + 1 bytes. */
WEFT_INLINE void weft_trace_region_name(const struct weft_trace_event *event, char *name)
{
    const uint32_t words[4] = {(uint32_t)event->process, event->slot, event->amount,
                               event->what & 0xffffff};

    for (int i = 0; i <= WEFT_TRACE_REGION_NAME; i++)
        name[i] = (char)(words[i / 4] >> (8 * (i % 4)));
}

struct weft_trace_log {
    uint64_t count, unused; /* events so far, with those that are overwritten; of a rank: known when
                               its kernel has ended */
    struct weft_trace_event event[];
};

/* A call; a wait inside of it. */
enum { WEFT_TRACE_CALL, WEFT_TRACE_INNER, WEFT_TRACE_DEPTHS };

/* The writer's end of a log. */
struct weft_tracer {
    uint32_t most;  /* events in the log: a power of two */
    uint32_t every; /* GPU: one event of so many is a WEFT_TRACE_CLOCK; a power of two */
    uint32_t alias; /* 0: no trace; else the bit by which names of routes differ (rank/route.h) */
    struct weft_trace_log *log __attribute__((aligned(16)));
    uint64_t count;                                  /* events so far */
    struct weft_trace_event open[WEFT_TRACE_DEPTHS]; /* events that a rank is in the middle of: kind
                                                        is not 0, and `end` is the number */
};

#define WEFT_TRACE_ALIAS      (1u << 31)
#define WEFT_TRACE_UNNUMBERED UINT64_MAX /* it gets one when it ends, or another begins in it */

WEFT_INLINE size_t weft_trace_bytes(uint64_t most)
{
    return sizeof(struct weft_trace_log) + (size_t)most * sizeof(struct weft_trace_event);
}

WEFT_INLINE uint32_t weft_trace_what(enum weft_trace_kind kind, int tag, uint64_t amount)
{
    const uint32_t which = tag < 0 ? WEFT_TRACE_NO_TAG : (uint32_t)tag & UINT16_MAX;
    return which | (uint32_t)(amount >> 32 & 0xff) << 16 | (uint32_t)kind << 24;
}

/* Stores the event of a number. */
WEFT_INLINE void weft_trace_put(struct weft_trace_log *log, uint32_t most, uint64_t number,
                                const struct weft_trace_event *e)
{
    struct weft_trace_event *to = &log->event[(uint32_t)number & (most - 1)];

#ifdef __CUDACC__
    __stcs((ulonglong2 *)to, make_ulonglong2(e->begin, e->end));
    __stcs((uint4 *)to + 1, make_uint4((uint32_t)e->process, e->slot, e->amount, e->what));
#else
    *to = *e;
#endif
}

/* Stores an event as weft_trace_put, unless a later one of the count has its place. */
WEFT_INLINE void weft_trace_store(struct weft_trace_log *log, uint32_t most, uint64_t number,
                                  uint64_t count, const struct weft_trace_event *e)
{
    if (count - number <= most)
        weft_trace_put(log, most, number, e);
}

/* Stores an event that is over. */
WEFT_INLINE void weft_trace_add(struct weft_tracer *tracer, const struct weft_trace_event *e)
{
    weft_trace_put(tracer->log, tracer->most, tracer->count++, e);
}

/* Returns the last event; there is one. */
WEFT_INLINE struct weft_trace_event *weft_trace_last(const struct weft_tracer *tracer)
{
    return &tracer->log->event[(tracer->count - 1) & (tracer->most - 1)];
}

/* Returns the number of an event that has begun. */
WEFT_INLINE uint64_t weft_trace_number(struct weft_tracer *tracer, struct weft_trace_event *open)
{
    const uint64_t next = tracer->count, has = open->end;

    if (has != WEFT_TRACE_UNNUMBERED)
        return has;
    tracer->count = next + 1;
    open->end = next;
    return next;
}

/* Stores the count, for whoever reads the log: the kernel has ended, or the rank is about to. */
WEFT_INLINE void weft_trace_publish(struct weft_tracer *tracer)
{
    tracer->log->count = tracer->count;
}

/* Stores what a rank that does not go on is in the middle of, without an end. */
WEFT_INLINE void weft_trace_abandon(struct weft_tracer *tracer)
{
    for (int depth = 0; depth < WEFT_TRACE_DEPTHS; depth++) {
        struct weft_trace_event *open = &tracer->open[depth];
        if (open->kind == 0)
            continue;
        const uint64_t number = weft_trace_number(tracer, open);
        open->end = 0;
        weft_trace_store(tracer->log, tracer->most, number, tracer->count, open);
        open->kind = 0;
    }
    weft_trace_publish(tracer);
}

#endif
