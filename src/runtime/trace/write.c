/*
 * runtime/trace/write.c - what was recorded, as lines of the trace-event format: complete events
 * ("X") for what takes time, instants ("i") for moments, metadata ("M") for the names of tracks.
 *
 * A process of the job is a process there, each rank and service a thread.
 */
#include "runtime/trace/trace.h"

#include "abi/notice.h"
#include "base/say.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { ARGS_BYTES = 200 };

/* ---- one event ----------------------------------------------------------------------------- */

struct weft_trace_track weft_trace_track_of(struct weft_job *job, int tid)
{
    return (struct weft_trace_track){
        .job = job, .file = job->trace->file, .pid = job->numbers.process + 1, .tid = tid};
}

void weft_trace_name_track(const struct weft_trace_track *track, const char *name)
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

void weft_trace_span(const struct weft_trace_track *track, const char *name, const char *category,
                     uint64_t begin, uint64_t end, const char *args)
{
    const uint64_t lasted = end > begin ? end - begin : 0;

    weft_trace_line(track->file,
                    "{\"name\":\"%s\",\"cat\":\"%s\",\"ph\":\"X\",\"ts\":%" PRIu64 ".%03u,"
                    "\"dur\":%" PRIu64 ".%03u,\"pid\":%d,\"tid\":%d,\"args\":{%s}}",
                    name, category, begin / 1000, (unsigned)(begin % 1000), lasted / 1000,
                    (unsigned)(lasted % 1000), track->pid, track->tid, args);
}

static void write_moment(const struct weft_trace_track *track, const char *name,
                         const char *category, uint64_t at, const char *args)
{
    weft_trace_line(track->file,
                    "{\"name\":\"%s\",\"cat\":\"%s\",\"ph\":\"i\",\"s\":\"t\",\"ts\":%" PRIu64
                    ".%03u,\"pid\":%d,\"tid\":%d,\"args\":{%s}}",
                    name, category, at / 1000, (unsigned)(at % 1000), track->pid, track->tid, args);
}

/* How an event is shown. amount: its name, or NULL; who: its process is where it goes to. */
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
    [WEFT_TRACE_DELIVERED] = {"not delivered yet", "stuck", NULL, "process"},
    [WEFT_TRACE_TAKEN] = {"not taken yet", "stuck", NULL, "process"},
    [WEFT_TRACE_PROGRESS] = {"busy", "service", NULL, NULL},
    [WEFT_TRACE_RECEIVE] = {"busy", "service", NULL, NULL},
    [WEFT_TRACE_NET_SENT] = {"sent", "network", "bytes", "to"},
    [WEFT_TRACE_NET_ARRIVED] = {"arrived", "network", NULL, "from_process"},
};
enum { SHOWN = sizeof(shown) / sizeof(shown[0]) };

static const struct shown *how(const struct weft_trace_event *event)
{
    static const struct shown unknown = {.name = "?", .category = "?"};
    return event->kind < SHOWN && shown[event->kind].name != NULL ? &shown[event->kind] : &unknown;
}

static void name_event(const struct weft_trace_event *event, char *name, size_t bytes)
{
    if (event->kind == WEFT_TRACE_WAIT)
        snprintf(name, bytes, "wait tag %u", event->tag);
    else if (event->kind == WEFT_TRACE_COLLECTIVE)
        snprintf(name, bytes, "%s", weft_collective_name(event->amount, false) + strlen("weft_"));
    else
        snprintf(name, bytes, "%s", how(event)->name);
}

/* "to": a rank of the world; "to_host": the host program of a process; "process": all of it. */
static void arg_who(const struct weft_job *job, const struct weft_trace_event *event,
                    const char *who, struct weft_text *args)
{
    const int p = event->process;

    if (p < 0 || p >= job->numbers.processes)
        return;
    const struct weft_process_entry *there = &job->space.state.process_table[p];
    if (strcmp(who, "to") != 0 || event->slot > (uint32_t)there->ranks)
        weft_text_add(args, ",\"%s\":%d", strcmp(who, "to") == 0 ? "to_process" : who, p);
    else if (event->slot == WEFT_HOST_SLOT)
        weft_text_add(args, ",\"%s_host\":%d", who, p);
    else
        weft_text_add(args, ",\"%s\":%d", who, there->first_rank + (int)event->slot - 1);
}

/* Returns them: the inside of an object. */
static const char *fill_args(const struct weft_job *job, const struct weft_trace_event *event,
                             char text[ARGS_BYTES])
{
    struct weft_text all = {text, ARGS_BYTES, 0}, *const args = &all;
    const struct shown *as = how(event);
    const uint64_t amount = (uint64_t)event->amount_high << 32 | event->amount;

    text[0] = 0;
    if (event->tag != WEFT_TRACE_NO_TAG)
        weft_text_add(args, ",\"tag\":%u", event->tag);
    if (as->amount != NULL)
        weft_text_add(args, ",\"%s\":%" PRIu64, as->amount, amount);
    if (as->who != NULL)
        arg_who(job, event, as->who, args);
    if (event->kind == WEFT_TRACE_NET_ARRIVED && event->slot != WEFT_TRACE_ANYRANK &&
        event->slot != WEFT_HOST_SLOT)
        weft_text_add(args, ",\"for\":%d", job->numbers.first_rank + (int)event->slot - 1);
    if (event->end == 0)
        weft_text_add(args, ",\"unfinished\":true");
    return text + (all.used != 0); /* without the first comma */
}

void weft_trace_event_line(const struct weft_trace_track *track,
                           const struct weft_trace_event *event, uint64_t begin, uint64_t end)
{
    char name[40], args[ARGS_BYTES];

    name_event(event, name, sizeof(name));
    weft_trace_span(track, name, how(event)->category, begin, end,
                    fill_args(track->job, event, args));
}

void weft_trace_lost(const struct weft_trace_track *track, uint64_t lost, uint64_t at)
{
    char args[60];

    if (lost == 0)
        return;
    snprintf(args, sizeof(args), "\"events\":%" PRIu64, lost);
    write_moment(track, "lost", "lost", at, args);
    track->job->trace->lost += lost;
    track->job->trace->lost_by++;
}

/* ---- services, the network, names ---------------------------------------------------------- */

void weft_trace_service(struct weft_job *job, enum weft_net_side side)
{
    const struct weft_trace *trace = job->trace;
    const struct weft_tracer *tracer = &trace->services[side];
    const bool sends = side == WEFT_NET_SEND;
    const struct weft_trace_track busy =
        weft_trace_track_of(job, sends ? WEFT_TRACE_TID_PROGRESS : WEFT_TRACE_TID_RECEIVE);
    const struct weft_trace_track network = weft_trace_track_of(job, WEFT_TRACE_TID_NETWORK);
    const uint64_t first = tracer->count > trace->most ? tracer->count - trace->most : 0;

    if (tracer->count == 0)
        return;
    weft_trace_name_track(&busy, sends ? "host: progress" : "host: receive");
    weft_trace_name_track(&network, "network");
    for (uint64_t i = first; i < tracer->count; i++) {
        const struct weft_trace_event *event = &tracer->log->event[i & (trace->most - 1)];
        const uint64_t begin = weft_trace_axis(trace, event->begin, false);
        char text[ARGS_BYTES];
        const char *const args = fill_args(job, event, text);
        if (i == first)
            weft_trace_lost(&busy, first, begin);
        if (event->kind == WEFT_TRACE_PROGRESS || event->kind == WEFT_TRACE_RECEIVE)
            weft_trace_span(&busy, how(event)->name, how(event)->category, begin,
                            weft_trace_axis(trace, event->end, false), args);
        else
            write_moment(&network, how(event)->name, how(event)->category, begin, args);
    }
}

void weft_trace_names(struct weft_job *job)
{
    const struct weft_trace *trace = job->trace;
    const struct weft_trace_track track = weft_trace_track_of(job, WEFT_TRACE_TID_HOST);
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
