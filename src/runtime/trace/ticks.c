/* runtime/trace/ticks.c - see the header. */
#include "runtime/trace/ticks.h"

/* A multiprocessor that is slower or faster than this is none: 10 MHz, 20 GHz. */
#define LONGEST_TICK_NS  100.0
#define SHORTEST_TICK_NS 0.05

static const struct weft_trace_event *event_at(const struct weft_trace_ticks *t, uint64_t number)
{
    return &t->log->event[number & (t->most - 1)];
}

static void find_next(struct weft_trace_ticks *t, uint64_t from)
{
    for (t->next = from; t->next < t->count; t->next++) {
        const struct weft_trace_event *event = event_at(t, t->next);
        if (weft_trace_is_look(event)) {
            t->after = (struct weft_trace_pair){event->begin, event->end};
            return;
        }
    }
}

/* Whether the look after is of the same run as the one before: of the same counter. */
static bool same_run(const struct weft_trace_ticks *t)
{
    return t->next < t->count && event_at(t, t->next)->kind != WEFT_TRACE_RUN_BEGIN;
}

/* Nanoseconds of a tick between two looks; 0: they cannot be of one counter and one clock. */
static double rate_of(struct weft_trace_pair a, struct weft_trace_pair b)
{
    const int64_t ticks = (int64_t)(b.ticks - a.ticks), ns = (int64_t)(b.ns - a.ns);
    const double rate = ticks > 0 && ns > 0 ? (double)ns / (double)ticks : 0;

    return rate >= SHORTEST_TICK_NS && rate <= LONGEST_TICK_NS ? rate : 0;
}

/*
 * The look after becomes the one before, unless the device's clock would go back. (A counter that
 * jumped is another multiprocessor's: the rank was moved, with others that share the GPU.)
 */
static void pass(struct weft_trace_ticks *t)
{
    const double rate = t->has_before && same_run(t) ? rate_of(t->before, t->after) : 0;

    if (rate != 0)
        t->rate = rate;
    if (!t->has_before || (int64_t)(t->after.ns - t->before.ns) >= 0)
        t->before = t->after;
    t->has_before = true;
    find_next(t, t->next + 1);
}

/* Far from overflow, for numbers that are no times. */
static uint64_t add_ticks(uint64_t ns, double difference)
{
    const double most = 1e18;
    const double bounded = difference > most ? most : difference < -most ? -most : difference;
    const uint64_t size = (uint64_t)(bounded < 0 ? -bounded : bounded);

    if (bounded < 0)
        return ns > size ? ns - size : 0;
    return ns < UINT64_MAX - size ? ns + size : UINT64_MAX;
}

static uint64_t from_look(struct weft_trace_pair look, uint64_t ticks, double rate)
{
    return add_ticks(look.ns, (double)(int64_t)(ticks - look.ticks) * rate);
}

bool weft_trace_ticks_begin(struct weft_trace_ticks *t, const struct weft_trace_log *log,
                            uint64_t first, uint64_t count, uint64_t most, double rate)
{
    *t = (struct weft_trace_ticks){.log = log, .most = most, .count = count, .rate = rate};
    /* The first rate that the log gives serves what comes before it. */
    for (find_next(t, first); t->next < count; pass(t)) {
        const double own = t->has_before && same_run(t) ? rate_of(t->before, t->after) : 0;
        if (own != 0) {
            rate = own;
            break;
        }
    }
    const bool some = t->has_before || t->next < count;
    *t = (struct weft_trace_ticks){.log = log, .most = most, .count = count, .rate = rate};
    find_next(t, first);
    return some;
}

uint64_t weft_trace_ticks_at(struct weft_trace_ticks *t, uint64_t number, uint64_t ticks)
{
    while (t->next < t->count && t->next <= number)
        pass(t);
    if (!t->has_before)
        return from_look(t->after, ticks, t->rate);
    if (!same_run(t) || (int64_t)(t->after.ns - t->before.ns) < 0)
        return from_look(t->before, ticks, t->rate);
    const double rate = rate_of(t->before, t->after);
    if (rate != 0)
        return from_look(t->before, ticks, rate);
    /* The counter jumped: as far as this one goes, and no further than the look at the next. */
    const uint64_t ns = from_look(t->before, ticks, t->rate);
    return ns < t->after.ns ? ns : t->after.ns;
}
