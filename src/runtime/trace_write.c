/*
 * runtime/trace_write.c - what was recorded, as lines of the trace-event format: complete events
 * ("X") for what takes time, instants ("i") for moments, metadata ("M") for the names of tracks.
 *
 * A process of the job is a process there, each rank and service a thread. What a rank did between
 * two calls of weft is "compute". A log holds events in the order of their beginnings, so an event
 * that begins before the end of another lies inside of it.
 */
#include "runtime/trace.h"

#include "wire/command.h"
#include "wire/notice.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { TID_HOST = 1000000, TID_PROGRESS, TID_RECEIVE, TID_NETWORK, DEEPEST = 4 };

/* ---- one event
 * ----------------------------------------------------------------------------------- */

/* Where lines of a track go, and what has been written of it. */
struct track {
    struct weft_job *job;
    struct weft_trace_file *file;
    int pid, tid;
};

static struct track track_of(struct weft_job *job, int tid)
{
    return (struct track){job, job->trace->file, job->numbers.process + 1, tid};
}

static void name_track(const struct track *track, const char *name)
{
    weft_trace_line(track->file,
                    "{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":%d,\"tid\":%d,"
                    "\"args\":{\"name\":\"%s\"}}",
                    track->pid, track->tid, name);
    weft_trace_line(track->file,
                    "{\"name\":\"thread_sort_index\",\"ph\":\"M\",\"pid\":%d,\"tid\":%d,"
                    "\"args\":{\"sort_index\":%d}}",
                    track->pid, track->tid, track->tid);
}

/* Something that took time; ns on the job's axis. args: the inside of an object, or "". */
static void write_span(const struct track *track, const char *name, const char *category,
                       uint64_t begin, uint64_t end, const char *args)
{
    const uint64_t lasted = end > begin ? end - begin : 0;

    weft_trace_line(track->file,
                    "{\"name\":\"%s\",\"cat\":\"%s\",\"ph\":\"X\",\"ts\":%" PRIu64 ".%03u,"
                    "\"dur\":%" PRIu64 ".%03u,\"pid\":%d,\"tid\":%d,\"args\":{%s}}",
                    name, category, begin / 1000, (unsigned)(begin % 1000), lasted / 1000,
                    (unsigned)(lasted % 1000), track->pid, track->tid, args);
}

static void write_moment(const struct track *track, const char *name, const char *category,
                         uint64_t at, const char *args)
{
    weft_trace_line(track->file,
                    "{\"name\":\"%s\",\"cat\":\"%s\",\"ph\":\"i\",\"s\":\"t\",\"ts\":%" PRIu64
                    ".%03u,\"pid\":%d,\"tid\":%d,\"args\":{%s}}",
                    name, category, at / 1000, (unsigned)(at % 1000), track->pid, track->tid, args);
}

/* How an event is shown: its amount's name, or NULL; whether its process is where it goes to. */
static const struct shown {
    const char *name, *category, *amount, *who;
} shown[] = {
    [WEFT_TRACE_PUT] = {"put", "put", "bytes", "to"},
    [WEFT_TRACE_NOTIFY] = {"notify", "put", NULL, "to"},
    [WEFT_TRACE_WAIT] = {"wait", "wait", "count", NULL},
    [WEFT_TRACE_WAIT_UNTIL] = {"wait_until", "wait", "value", NULL},
    [WEFT_TRACE_BARRIER] = {"barrier", "barrier", "comm", NULL},
    [WEFT_TRACE_COLLECTIVE] = {"collective", "collective", NULL, NULL},
    [WEFT_TRACE_ROOM] = {"no room in the ring", "stuck", "lines", NULL},
    [WEFT_TRACE_LEFT] = {"not sent yet", "stuck", NULL, NULL},
    [WEFT_TRACE_LANDED] = {"not landed yet", "stuck", NULL, "process"},
    [WEFT_TRACE_TAKEN] = {"not taken yet", "stuck", NULL, "process"},
    [WEFT_TRACE_PROGRESS] = {"busy", "service", NULL, NULL},
    [WEFT_TRACE_RECEIVE] = {"busy", "service", NULL, NULL},
    [WEFT_TRACE_NET_SENT] = {"sent", "network", "bytes", "to"},
    [WEFT_TRACE_NET_ARRIVED] = {"arrived", "network", NULL, "from_process"},
};
enum { SHOWN = sizeof(shown) / sizeof(shown[0]) };

static const struct shown *how(const struct weft_trace_event *event)
{
    static const struct shown unknown = {"?", "?", NULL, NULL};
    return event->kind < SHOWN && shown[event->kind].name != NULL ? &shown[event->kind] : &unknown;
}

static void name_event(const struct weft_trace_event *event, char *name, size_t bytes)
{
    static const char *const collectives[] = {
        [WEFT_COLLECTIVE_WIN_CREATE] = "win_create",
        [WEFT_COLLECTIVE_WIN_FREE] = "win_free",
        [WEFT_COLLECTIVE_COMM_SPLIT] = "comm_split",
        [WEFT_COLLECTIVE_COMM_FREE] = "comm_free",
    };

    if (event->kind == WEFT_TRACE_WAIT)
        snprintf(name, bytes, "wait tag %u", event->tag);
    else if (event->kind == WEFT_TRACE_COLLECTIVE && event->amount >= WEFT_COLLECTIVE_WIN_CREATE &&
             event->amount <= WEFT_COLLECTIVE_COMM_FREE)
        snprintf(name, bytes, "%s", collectives[event->amount]);
    else
        snprintf(name, bytes, "%s", how(event)->name);
}

struct args {
    char text[200];
    size_t used;
};

__attribute__((format(printf, 2, 3))) static void arg(struct args *args, const char *format, ...)
{
    va_list list;

    if (args->used != 0 && args->used + 1 < sizeof(args->text))
        args->text[args->used++] = ',';
    va_start(list, format);
    const int n = vsnprintf(args->text + args->used, sizeof(args->text) - args->used, format, list);
    va_end(list);
    if (n > 0)
        args->used += (size_t)n;
}

/* "to": a rank of the world; "to_host": the host program of a process; "process": all of it. */
static void arg_who(const struct weft_job *job, const struct weft_trace_event *event,
                    const char *who, struct args *args)
{
    const int p = event->process;

    if (p < 0 || p >= job->numbers.processes)
        return;
    const struct weft_process_entry *there = &job->state.process_table[p];
    if (strcmp(who, "to") != 0 || event->slot > (uint32_t)there->ranks)
        arg(args, "\"%s\":%d", strcmp(who, "to") == 0 ? "to_process" : who, p);
    else if (event->slot == WEFT_HOST_SLOT)
        arg(args, "\"%s_host\":%d", who, p);
    else
        arg(args, "\"%s\":%d", who, there->first_rank + (int)event->slot - 1);
}

static void fill_args(const struct weft_job *job, const struct weft_trace_event *event,
                      struct args *args)
{
    const struct shown *as = how(event);
    const uint64_t amount = (uint64_t)event->amount_high << 32 | event->amount;

    if (event->tag != WEFT_TRACE_NO_TAG)
        arg(args, "\"tag\":%u", event->tag);
    if (as->amount != NULL)
        arg(args, "\"%s\":%" PRIu64, as->amount, amount);
    if (as->who != NULL)
        arg_who(job, event, as->who, args);
    if (event->kind == WEFT_TRACE_NET_ARRIVED && event->slot != WEFT_TRACE_ANYRANK &&
        event->slot != WEFT_HOST_SLOT)
        arg(args, "\"for\":%d", job->numbers.first_rank + (int)event->slot - 1);
    if (event->end == 0)
        arg(args, "\"unfinished\":true");
}

/* ---- a rank's track
 * ------------------------------------------------------------------------------- */

struct walk {
    struct track track;
    const struct weft_trace *trace;
    const struct weft_trace_log *log;
    uint64_t first, count; /* events that are kept */
    bool device;
    bool in_run;
    uint64_t run_end;       /* on the axis, as all below */
    uint64_t busy_until;    /* compute begins there */
    uint64_t ends[DEEPEST]; /* of the events that enclose the next one */
    int deep;
    uint64_t at; /* the last beginning: later ones are no earlier */
};

static const struct weft_trace_event *event_at(const struct walk *w, uint64_t i)
{
    return &w->log->event[i & (w->trace->most - 1)];
}

static uint64_t axis(const struct walk *w, uint64_t time)
{
    return weft_trace_axis(w->trace, time, w->device);
}

/* The end of what never ended: that of the run, or now. */
static uint64_t end_of(const struct walk *w, const struct weft_trace_event *event)
{
    if (event->end != 0)
        return axis(w, event->end);
    return w->in_run ? w->run_end : weft_trace_axis(w->trace, w->trace->now.host, false);
}

/* Where the run ends that event i belongs to. */
static uint64_t find_run_end(const struct walk *w, uint64_t i)
{
    for (; i < w->count; i++) {
        const struct weft_trace_event *event = event_at(w, i);
        if (event->kind == WEFT_TRACE_RUN_END)
            return axis(w, event->begin);
        if (event->kind == WEFT_TRACE_RUN_BEGIN)
            return w->at; /* the run before failed, or its end is lost: as far as is known */
    }
    return weft_trace_axis(w->trace, w->trace->ended, false);
}

static void compute_until(struct walk *w, uint64_t end)
{
    if (w->in_run && end > w->busy_until)
        write_span(&w->track, "compute", "compute", w->busy_until, end, "");
}

static void begin_run(struct walk *w, uint64_t i, uint64_t begin)
{
    const weft_kernel *kernel = w->track.job->kernel;
    char name[80] = "kernel";

    if (kernel != NULL)
        weft_trace_quote(name, sizeof(name), kernel->name);
    w->at = begin;
    w->run_end = find_run_end(w, i);
    if (w->run_end < begin)
        w->run_end = begin;
    w->in_run = true;
    w->busy_until = begin;
    w->deep = 0;
    write_span(&w->track, name, "run", begin, w->run_end, "");
}

static void end_run(struct walk *w)
{
    compute_until(w, w->run_end);
    w->in_run = false;
    w->deep = 0;
}

static void write_event(struct walk *w, const struct weft_trace_event *event)
{
    uint64_t begin = axis(w, event->begin), end = end_of(w, event);
    struct args args = {.used = 0};
    char name[40];

    if (begin < w->at)
        begin = w->at;
    if (w->in_run && begin > w->run_end)
        begin = w->run_end;
    w->at = begin;
    while (w->deep > 0 && w->ends[w->deep - 1] <= begin)
        w->deep--;
    const uint64_t limit = w->deep > 0 ? w->ends[w->deep - 1] : w->in_run ? w->run_end : UINT64_MAX;
    end = end < begin ? begin : end > limit ? limit : end;
    if (w->deep == 0) {
        compute_until(w, begin);
        w->busy_until = end;
    }
    if (w->deep < DEEPEST)
        w->ends[w->deep++] = end;
    name_event(event, name, sizeof(name));
    fill_args(w->track.job, event, &args);
    write_span(&w->track, name, how(event)->category, begin, end, args.text);
}

/* Says how many events are no longer there; where the first one is that still is. */
static void write_lost(struct weft_job *job, const struct track *track, uint64_t lost, uint64_t at)
{
    char args[60];

    if (lost == 0)
        return;
    snprintf(args, sizeof(args), "\"events\":%" PRIu64, lost);
    write_moment(track, "lost", "lost", at, args);
    job->trace->lost += lost;
    job->trace->lost_by++;
}

void weft_trace_slot(struct weft_job *job, uint32_t slot, const struct weft_trace_log *log)
{
    const struct weft_trace *trace = job->trace;
    const bool host = slot == WEFT_HOST_SLOT;
    const int rank = job->numbers.first_rank + (int)slot - 1;
    struct walk w = {.track = track_of(job, host ? TID_HOST : 1 + rank),
                     .trace = trace,
                     .log = log,
                     .count = log->count,
                     .device = !host || trace->ticks};
    char name[40];

    if (log->count == 0)
        return;
    w.first = log->count > trace->most ? log->count - trace->most : 0;
    if (host)
        snprintf(name, sizeof(name), "host program");
    else
        snprintf(name, sizeof(name), "rank %d", rank);
    name_track(&w.track, name);
    write_lost(job, &w.track, w.first, axis(&w, event_at(&w, w.first)->begin));
    for (uint64_t i = w.first; i < w.count; i++) {
        const struct weft_trace_event *event = event_at(&w, i);
        const bool begins = event->kind == WEFT_TRACE_RUN_BEGIN;
        if (begins && w.in_run)
            end_run(&w);
        if (begins)
            begin_run(&w, i + 1, axis(&w, event->begin));
        else if (i == w.first && !host) /* the beginning of its run is lost */
            begin_run(&w, i, axis(&w, event->begin));
        if (event->kind == WEFT_TRACE_RUN_END)
            end_run(&w);
        else if (!begins)
            write_event(&w, event);
    }
    if (w.in_run)
        end_run(&w);
}

/* ---- services, the network, names
 * ----------------------------------------------------------------- */

void weft_trace_service(struct weft_job *job, enum weft_net_side side)
{
    const struct weft_trace *trace = job->trace;
    const struct weft_tracer *tracer = &trace->services[side];
    const bool sends = side == WEFT_NET_SEND;
    const struct track busy = track_of(job, sends ? TID_PROGRESS : TID_RECEIVE);
    const struct track network = track_of(job, TID_NETWORK);
    const uint64_t first = tracer->count > trace->most ? tracer->count - trace->most : 0;

    if (tracer->count == 0)
        return;
    name_track(&busy, sends ? "host: progress" : "host: receive");
    name_track(&network, "network");
    for (uint64_t i = first; i < tracer->count; i++) {
        const struct weft_trace_event *event = &tracer->log->event[i & (trace->most - 1)];
        const uint64_t begin = weft_trace_axis(trace, event->begin, false);
        struct args args = {.used = 0};
        if (i == first)
            write_lost(job, &busy, first, begin);
        fill_args(job, event, &args);
        if (event->kind == WEFT_TRACE_PROGRESS || event->kind == WEFT_TRACE_RECEIVE)
            write_span(&busy, how(event)->name, how(event)->category, begin,
                       weft_trace_axis(trace, event->end, false), args.text);
        else
            write_moment(&network, how(event)->name, how(event)->category, begin, args.text);
    }
}

void weft_trace_names(struct weft_job *job)
{
    const struct weft_trace *trace = job->trace;
    const struct track track = track_of(job, TID_HOST);
    char name[2 * WEFT_NAME_BYTES], clocks[120] = "one clock";

    weft_trace_quote(name, sizeof(name), job->processes[job->numbers.process].name);
    weft_trace_line(track.file,
                    "{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":%d,\"tid\":0,"
                    "\"args\":{\"name\":\"%s\"}}",
                    track.pid, name);
    if (job->numbers.nodes > 1)
        snprintf(clocks, sizeof(clocks), "clocks of hosts aligned, to about %" PRIu64 ".%03u us",
                 trace->apart_ns / 1000, (unsigned)(trace->apart_ns % 1000));
    weft_trace_line(track.file,
                    "{\"name\":\"process_labels\",\"ph\":\"M\",\"pid\":%d,\"tid\":0,"
                    "\"args\":{\"labels\":\"%s%s\"}}",
                    track.pid, clocks, trace->owns_clock ? "; GPU's placed to about 1 us" : "");
}
