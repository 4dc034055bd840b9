/*
 * runtime/trace/clock.c - one axis for the clocks of a timeline. Processes of a host have one
 * clock; hosts compare theirs when the job opens. Ranks of a GPU have the GPU's, known at one
 * moment of each run (trace.c).
 */
#include "runtime/trace/trace.h"

#include "base/say.h"
#include "runtime/job/exchange.h"

#include <stdlib.h>

enum { MEETINGS = 9 }; /* exchanges at which hosts compare their clocks */

/* ---- hosts ---- */

struct moment {
    uint64_t id, now[MEETINGS];
};

static int compare(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

static int first_of_node(const struct weft_job *job, int node)
{
    int p = 0;
    while (job->processes[p].node != node)
        p++;
    return p;
}

/*
 * Finds hosts' offsets. An exchange ends for all at nearly the same moment: when the last process's
 * frame has come. What clocks show then differs by what they are apart, and by how long the frame
 * took to each. The offset is the median of a few; the widest spread says how far off it may be.
 */
static void offsets(struct weft_job *job, const struct moment *all)
{
    struct weft_trace *trace = job->trace;

    for (int node = 1; node < job->numbers.nodes; node++) {
        const int p = first_of_node(job, node);
        int64_t apart[MEETINGS - 1];
        for (int i = 1; i < MEETINGS; i++) /* the first one waited for whoever was late */
            apart[i - 1] = (int64_t)(all[0].now[i] - all[p].now[i]);
        qsort(apart, MEETINGS - 1, sizeof(apart[0]), compare);
        const uint64_t spread = (uint64_t)(apart[MEETINGS - 2] - apart[0]);
        if (spread > trace->apart_ns)
            trace->apart_ns = spread;
        if (node == job->numbers.node)
            trace->offset = apart[(MEETINGS - 1) / 2];
    }
    trace->offset -= (int64_t)all[0].now[0];
}

weft_status weft_trace_align(struct weft_job *job, uint64_t *id)
{
    const int meetings = job->numbers.nodes > 1 ? MEETINGS : 1;
    struct moment mine = {.id = *id};
    WEFT_FREED struct moment *all = NULL;
    weft_status status = WEFT_OK;

    for (int i = 0; i <= meetings && status == WEFT_OK; i++) {
        free(all);
        all = weft_exchange_all(job, WEFT_EXCHANGE_TRACE, &mine, sizeof(mine), &status);
        if (i < meetings)
            mine.now[i] = weft_now_ns();
    }
    WEFT_TRY(status);
    *id = all[0].id;
    offsets(job, all);
    return WEFT_OK;
}

/* ---- ranks ---- */

static const struct weft_trace_clock *clock_at(const struct weft_trace *trace, uint32_t run)
{
    return &trace->runs[run % WEFT_TRACE_RUNS];
}

/* Finds the run during which the device's clock showed this time; else the oldest that is known. */
static const struct weft_trace_clock *clock_of(const struct weft_trace *trace, uint64_t time)
{
    const uint32_t kept = trace->runs_count < WEFT_TRACE_RUNS ? trace->runs_count : WEFT_TRACE_RUNS;
    uint32_t low = trace->runs_count - kept, high = trace->runs_count;

    while (high - low > 1) {
        const uint32_t middle = low + (high - low) / 2;
        if (clock_at(trace, middle)->device <= time)
            low = middle;
        else
            high = middle;
    }
    return clock_at(trace, low);
}

uint64_t weft_trace_axis(const struct weft_trace *trace, uint64_t time, bool device)
{
    if (device && trace->owns_clock && trace->runs_count != 0) {
        const struct weft_trace_clock *clock = clock_of(trace, time);
        time = clock->host + (time - clock->device);
    }
    if (device && (int64_t)(time - trace->now) > 0)
        time = trace->now;
    const int64_t at = (int64_t)(time + (uint64_t)trace->offset);
    return at > 0 ? (uint64_t)at : 0;
}
