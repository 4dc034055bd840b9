/*
 * runtime/trace/rank.c - a rank's track: its kernels, its calls in them, and between two calls of
 * weft "compute". A log holds events in the order of their beginnings, so an event that begins
 * before the end of another lies inside of it. Whatever a log says, nothing ends before it begins,
 * or lies outside of its kernel. Runs while no kernel does, and keeps nothing.
 */
#include "runtime/trace/trace.h"

#include "abi/notice.h"
#include "runtime/trace/ticks.h"

#include <stdio.h>

enum { REGIONS = 16, NAME = 32 };

struct walk {
    struct weft_trace_track track;
    const struct weft_trace *trace;
    const struct weft_trace_log *log;
    uint64_t first, count; /* first event that is kept; end of the events */
    bool device;
    bool counts; /* the log's times are ticks, which `ticks` converts */
    struct weft_trace_ticks ticks;
    bool in_run;
    uint64_t run_end;    /* end of the run; like all times below, in ns on the job's axis */
    uint64_t busy_until; /* end of what was done last, where "compute" begins */
    uint64_t ends[2]; /* ends of the events that may enclose the next one: a call, a wait in it */
    int deep;
    struct region {
        char name[2 * NAME], args[100]; /* name and arguments, as in JSON */
        uint64_t begin;
    } regions[REGIONS]; /* regions that have begun; names of the first ones */
    int regions_count;
    uint64_t at; /* last beginning: later ones are no earlier */
};

static const struct weft_trace_event *event_at(const struct walk *w, uint64_t i)
{
    return &w->log->event[i & (w->trace->most - 1)];
}

/* Gives the time of a look, which is known by the device's clock, too. */
static uint64_t axis_of_look(const struct walk *w, const struct weft_trace_event *look)
{
    return weft_trace_axis(w->trace, look->end, w->device);
}

/* Gives a time of event i on the axis. */
static uint64_t axis(struct walk *w, uint64_t i, uint64_t time)
{
    if (w->counts)
        time = weft_trace_ticks_at(&w->ticks, i, time);
    return weft_trace_axis(w->trace, time, w->device);
}

static uint64_t begin_of(struct walk *w, uint64_t i)
{
    const struct weft_trace_event *event = event_at(w, i);
    return weft_trace_is_look(event) ? axis_of_look(w, event) : axis(w, i, event->begin);
}

/* Gives the end of what never ended: that of the run, or now. */
static uint64_t end_of(struct walk *w, uint64_t i)
{
    const struct weft_trace_event *event = event_at(w, i);
    if (event->end != 0)
        return axis(w, i, event->end);
    return w->in_run ? w->run_end : weft_trace_axis(w->trace, w->trace->now, false);
}

/* Finds where the run of event i ends. */
static uint64_t find_run_end(const struct walk *w, uint64_t i)
{
    for (; i < w->count; i++) {
        const struct weft_trace_event *event = event_at(w, i);
        if (event->kind == WEFT_TRACE_RUN_END)
            return axis_of_look(w, event);
        if (event->kind == WEFT_TRACE_RUN_BEGIN)
            return w->at; /* the run before failed, or its end is lost: as far as is known */
    }
    return weft_trace_axis(w->trace, w->trace->ended, false);
}

static void compute_until(struct walk *w, uint64_t end)
{
    if (w->in_run && end > w->busy_until)
        weft_trace_span(&w->track, "compute", "compute", w->busy_until, end, "");
}

/* Ends computing at a border of a region: what a rank does is inside of its regions, or outside. */
static void cut(struct walk *w, uint64_t at)
{
    if (w->deep > 0 && at < w->ends[0])
        at = w->ends[0];
    w->deep = 0;
    w->at = at < w->at ? w->at : at;
    if (w->in_run && w->at > w->run_end)
        w->at = w->run_end;
    compute_until(w, w->at);
    if (w->busy_until < w->at)
        w->busy_until = w->at;
}

/* The name is the program's, or that of the module whose work it is. */
static void name_region(const struct weft_job *job, const struct weft_trace_event *event,
                        struct region *region)
{
    char name[NAME] = "?";

    region->args[0] = 0;
    if (event->kind == WEFT_TRACE_REGION)
        weft_trace_region_name(event, name);
    for (int i = 0; event->kind == WEFT_TRACE_WORK && weft_services[i] != NULL; i++)
        if (weft_services[i]->work_done != NULL)
            weft_services[i]->work_done(job, event, name, sizeof(name), region->args,
                                        sizeof(region->args));
    weft_trace_quote(region->name, sizeof(region->name), name);
}

static void begin_region(struct walk *w, uint64_t i)
{
    const int n = w->regions_count++;

    cut(w, begin_of(w, i));
    if (n >= REGIONS)
        return;
    name_region(w->track.job, event_at(w, i), &w->regions[n]);
    w->regions[n].begin = w->at;
}

static void end_region(struct walk *w, uint64_t at)
{
    if (w->regions_count == 0)
        return; /* its beginning is lost, or there was none */
    cut(w, at);
    if (--w->regions_count >= REGIONS)
        return;
    const struct region *region = &w->regions[w->regions_count];
    weft_trace_span(&w->track, region->name, "region", region->begin, w->at, region->args);
}

static void begin_run(struct walk *w, uint64_t i, uint64_t begin)
{
    const weft_kernel *kernel = w->track.job->ranks.kernel;
    char name[80] = "kernel";

    if (kernel != NULL)
        weft_trace_quote(name, sizeof(name), kernel->name);
    if (begin < w->run_end) /* of the one before */
        begin = w->run_end;
    w->at = begin;
    w->run_end = find_run_end(w, i);
    if (w->run_end < begin)
        w->run_end = begin;
    w->in_run = true;
    w->busy_until = begin;
    w->deep = 0;
    weft_trace_span(&w->track, name, "run", begin, w->run_end, "");
}

static void end_run(struct walk *w)
{
    while (w->regions_count > 0)
        end_region(w, w->run_end);
    compute_until(w, w->run_end);
    w->in_run = false;
    w->deep = 0;
}

static void write_event(struct walk *w, uint64_t i)
{
    const struct weft_trace_event *event = event_at(w, i);
    uint64_t begin = begin_of(w, i), end = end_of(w, i);

    if (begin < w->at)
        begin = w->at;
    if (w->in_run && begin > w->run_end)
        begin = w->run_end;
    /* A call is inside of none, and a wait of one call. */
    const int inside = event->kind >= WEFT_TRACE_ROOM;
    while (w->deep > inside || (w->deep > 0 && w->ends[w->deep - 1] <= begin)) {
        w->deep--;
        if (begin < w->ends[w->deep])
            begin = w->ends[w->deep];
    }
    w->at = begin;
    const uint64_t limit = w->deep > 0 ? w->ends[w->deep - 1] : w->in_run ? w->run_end : UINT64_MAX;
    end = end < begin ? begin : end > limit ? limit : end;
    if (w->deep == 0) {
        compute_until(w, begin);
        w->busy_until = end;
    }
    w->ends[w->deep++] = end;
    weft_trace_event_line(&w->track, event, begin, end);
}

static void walk(struct walk *w, bool host)
{
    for (uint64_t i = w->first; i < w->count; i++) {
        const struct weft_trace_event *event = event_at(w, i);
        const bool begins = event->kind == WEFT_TRACE_RUN_BEGIN;
        if (begins && w->in_run)
            end_run(w);
        if (begins)
            begin_run(w, i + 1, begin_of(w, i));
        else if (i == w->first && !host) /* the beginning of its run is lost */
            begin_run(w, i, begin_of(w, i));
        if (event->kind == WEFT_TRACE_RUN_END)
            end_run(w);
        else if ((event->kind == WEFT_TRACE_REGION || event->kind == WEFT_TRACE_WORK) &&
                 (host || w->in_run))
            begin_region(w, i);
        else if (event->kind == WEFT_TRACE_REGION_END)
            end_region(w, begin_of(w, i));
        else if (event->kind >= WEFT_TRACE_PUT && event->kind <= WEFT_TRACE_TAKEN &&
                 (host || w->in_run)) /* else a program has written over it */
            write_event(w, i);
    }
    if (w->in_run)
        end_run(w);
    while (w->regions_count > 0) /* of the host program */
        end_region(w, weft_trace_axis(w->trace, w->trace->now, false));
}

void weft_trace_slot(struct weft_job *job, uint32_t slot, const struct weft_trace_log *log)
{
    struct weft_trace *trace = job->trace;
    const bool host = slot == WEFT_HOST_SLOT;
    const int rank = job->numbers.first_rank + (int)slot - 1;
    struct walk w = {.track = weft_trace_track_of(job, host ? WEFT_TRACE_TID_HOST : 1 + rank),
                     .trace = trace,
                     .log = log,
                     .count = log->count,
                     .device = !host,
                     .counts = !host && trace->owns_clock};
    char name[40];

    if (log->count == 0)
        return;
    w.first = log->count > trace->most ? log->count - trace->most : 0;
    if (host)
        snprintf(name, sizeof(name), "host program");
    else
        snprintf(name, sizeof(name), "rank %d", rank);
    weft_trace_name_track(&w.track, name);
    if (w.counts &&
        !weft_trace_ticks_begin(&w.ticks, log, w.first, w.count, trace->most, trace->tick_ns)) {
        /* Nothing says when it was: a program has written over it. */
        weft_trace_lost(&w.track, w.count, weft_trace_axis(trace, trace->launched, false));
        return;
    }
    weft_trace_lost(&w.track, w.first, begin_of(&w, w.first));
    walk(&w, host);
    if (w.counts)
        trace->tick_ns = w.ticks.rate;
}
