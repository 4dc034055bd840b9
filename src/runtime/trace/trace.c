/*
 * runtime/trace/trace.c - a job's timeline: the logs of ranks and services, opened to written.
 *
 * Ranks of a GPU write their logs in device memory; the host copies them when no kernel runs. Their
 * times are ticks, which they compare with the GPU's clock (trace_ticks.h). When a traced kernel
 * begins, its first rank stores the time in pinned memory, where the host, which has just launched
 * it, polls: so the two clocks are known at one moment, but for the time that a store takes to
 * arrive, about a microsecond.
 */
#include "runtime/trace/trace.h"

#include "abi/notice.h"
#include "base/say.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    ARRIVAL_NS = 600, /* ns for a store to pinned memory to arrive; half a round trip */
    APART_NS = 1500,  /* ns: rounds of a service that are no further apart are one event */
    LOOK_EVERY = 512  /* events of a GPU's rank between two looks at both clocks */
};

/* ---- opening ------------------------------------------------------------------------------- */

static weft_status open_logs(struct weft_job *job)
{
    struct weft_trace *trace = job->trace;

    trace->host_log = weft_job_keep(job, 1, weft_trace_bytes(trace->most));
    for (int side = 0; side < 2; side++)
        trace->services[side] = (struct weft_tracer){
            .alias = WEFT_TRACE_ALIAS,
            .most = (uint32_t)trace->most,
            .log = weft_job_keep(job, 1, weft_trace_bytes(trace->most)),
        };
    if (trace->host_log == NULL || trace->services[0].log == NULL || trace->services[1].log == NULL)
        return WEFT_ERR_MEMORY;
    weft_trace_place(job, job->ranks.selves[WEFT_HOST_SLOT]);
    return WEFT_OK;
}

weft_status weft_trace_open(struct weft_job *job)
{
    uint64_t id = weft_now_ns() * 0x9e3779b97f4a7c15u ^ (uint64_t)getpid();
    const bool first = job->numbers.process == 0;
    struct weft_trace *trace;

    if (job->config.trace[0] == 0)
        return WEFT_OK;
    trace = weft_job_keep(job, 1, sizeof(*trace));
    if (trace == NULL)
        return WEFT_ERR_MEMORY;
    trace->most = (uint64_t)job->config.trace_events;
    trace->owns_clock = !job->device_ops->host_access;
    trace->tick_ns = 1;
    snprintf(trace->path, sizeof(trace->path), "%s", job->config.trace);
    job->trace = trace;
    if (first) /* before anybody can have something to add */
        WEFT_TRY(weft_trace_file_open(&trace->file, trace->path, id, true));
    WEFT_TRY(weft_trace_align(job, &id));
    if (!first)
        WEFT_TRY(weft_trace_file_open(&trace->file, trace->path, id, false));
    return open_logs(job);
}

void weft_trace_free_ranks(struct weft_job *job)
{
    struct weft_trace *trace = job->trace;

    if (trace == NULL)
        return;
    if (trace->memory != NULL)
        job->device_ops->free(job->device, trace->memory, &trace->share);
    trace->memory = NULL;
    trace->ranks = 0;
}

void weft_trace_close(struct weft_job *job)
{
    struct weft_trace *trace = job->trace;

    if (trace == NULL)
        return;
    weft_trace_free_ranks(job);
    weft_trace_file_close(trace->file);
}

weft_status weft_trace_prepare(struct weft_job *job)
{
    struct weft_trace *trace = job->trace;
    const size_t ranks = (size_t)job->numbers.ranks_here;

    if (trace == NULL)
        return WEFT_OK;
    trace->each_bytes = (weft_trace_bytes(trace->most) + 127) / 128 * 128;
    trace->memory = job->device_ops->alloc(job->device, ranks * trace->each_bytes, &trace->share);
    if (trace->memory == NULL)
        return weft_err(WEFT_ERR_MEMORY,
                        "no memory for a trace of %llu events of %zu ranks (WEFT_TRACE_EVENTS)",
                        (unsigned long long)trace->most, ranks);
    trace->ranks = (uint32_t)ranks;
    return WEFT_OK;
}

/* Finds a rank's log, in device memory. */
static struct weft_trace_log *log_of(const struct weft_trace *trace, uint32_t slot)
{
    return (struct weft_trace_log *)(void *)(trace->memory + (slot - 1) * trace->each_bytes);
}

void weft_trace_place(struct weft_job *job, weft_self *self)
{
    struct weft_trace *trace = job->trace;

    if (trace == NULL || (self->slot == WEFT_HOST_SLOT && job->threads))
        return; /* calls of several threads begin and end in each other */
    self->tracer = (struct weft_tracer){
        .alias = WEFT_TRACE_ALIAS,
        .most = (uint32_t)trace->most,
        .every = trace->most / 4 < LOOK_EVERY ? (uint32_t)trace->most / 4 : LOOK_EVERY,
        .log = self->slot == WEFT_HOST_SLOT ? trace->host_log : log_of(trace, self->slot)};
}

/* ---- recording ----------------------------------------------------------------------------- */

void weft_trace_launch(struct weft_job *job, struct weft_launch *launch)
{
    struct weft_trace *trace = job->trace;

    if (trace == NULL)
        return;
    trace->launched = weft_now_ns();
    trace->seen = 0;
    if (!trace->owns_clock)
        return;
    __atomic_store_n(&job->space.state.signals->clock, 0, __ATOMIC_RELAXED);
    launch->clock = &job->space.state.signals->clock;
    launch->seen = &trace->seen;
}

void weft_trace_ran(struct weft_job *job)
{
    struct weft_trace *trace = job->trace;
    struct weft_trace_clock clock;

    if (trace == NULL)
        return;
    trace->ended = weft_now_ns();
    clock.device = __atomic_load_n(&job->space.state.signals->clock, __ATOMIC_RELAXED);
    if (!trace->owns_clock || clock.device == 0)
        return;
    clock.host = trace->seen - ARRIVAL_NS;
    if (trace->seen == 0) {
        clock.host = trace->launched;
        weft_say(WEFT_SAY_WARN, "trace: the kernel did not begin within a second; its times are "
                                "those of a kernel that began when it was launched");
    }
    trace->runs[trace->runs_count++ % WEFT_TRACE_RUNS] = clock;
}

static void add_event(struct weft_tracer *tracer, enum weft_trace_kind kind, uint64_t begin,
                      int process, uint32_t slot, uint32_t tag, uint64_t amount)
{
    const struct weft_trace_event event = {.begin = begin,
                                           .end = weft_now_ns(),
                                           .process = process,
                                           .slot = slot,
                                           .tag = (uint16_t)tag,
                                           .amount = (uint32_t)amount,
                                           .amount_high = (uint8_t)(amount >> 32),
                                           .kind = (uint8_t)kind};
    weft_trace_add(tracer, &event);
}

void weft_trace_round(struct weft_job *job, enum weft_net_side side, uint64_t begin)
{
    const enum weft_trace_kind kind =
        side == WEFT_NET_SEND ? WEFT_TRACE_PROGRESS : WEFT_TRACE_RECEIVE;

    if (job->trace == NULL)
        return;
    struct weft_tracer *tracer = &job->trace->services[side];
    struct weft_trace_event *last = weft_trace_last(tracer);
    if (tracer->count != 0 && last->kind == kind && begin - last->end <= APART_NS)
        last->end = weft_now_ns();
    else
        add_event(tracer, kind, begin, WEFT_TRACE_NOBODY, WEFT_TRACE_ANYRANK, WEFT_TRACE_NO_TAG, 0);
}

void weft_trace_net(struct weft_job *job, enum weft_net_side side, int process, uint32_t notice,
                    uint64_t bytes)
{
    const bool counts = weft_notice_kind_of(notice) == WEFT_NOTICE_COUNT;

    add_event(&job->trace->services[side],
              side == WEFT_NET_SEND ? WEFT_TRACE_NET_SENT : WEFT_TRACE_NET_ARRIVED, weft_now_ns(),
              process, counts ? weft_notice_slot(notice) : WEFT_TRACE_ANYRANK,
              counts ? weft_notice_tag(notice) : WEFT_TRACE_NO_TAG, bytes);
}

/* ---- writing ------------------------------------------------------------------------------- */

/* Writes a rank's log, fetched where the host cannot look at it. */
static weft_status write_rank(struct weft_job *job, uint32_t slot, struct weft_trace_log *copy)
{
    struct weft_trace *trace = job->trace;
    const struct weft_trace_log *log = log_of(trace, slot);

    if (trace->owns_clock) {
        WEFT_TRY(weft_job_copy(job, copy, log, trace->each_bytes));
        log = copy;
    } else {
        /* what it is in the middle of, if it failed */
        weft_trace_abandon(&job->ranks.selves[slot]->tracer);
    }
    weft_trace_slot(job, slot, log);
    return WEFT_OK;
}

/* Forgets a rank's events: its next one is its first. */
static weft_status forget_rank(struct weft_job *job, uint32_t slot)
{
    struct weft_trace *trace = job->trace;
    struct weft_trace_log *log = log_of(trace, slot);

    job->ranks.selves[slot]->tracer.count = 0;
    if (!trace->owns_clock) {
        log->count = 0;
        return WEFT_OK;
    }
    WEFT_TRY(job->device_ops->fill(job->device, WEFT_STREAM_CALLER, (uint32_t *)(void *)&log->count,
                                   0, 2));
    return job->device_ops->wait(job->device, WEFT_STREAM_CALLER);
}

static weft_status write_ranks(struct weft_job *job)
{
    struct weft_trace *trace = job->trace;
    WEFT_FREED struct weft_trace_log *copy = trace->owns_clock ? malloc(trace->each_bytes) : NULL;
    weft_status status = WEFT_OK;

    if (trace->owns_clock && copy == NULL)
        return weft_err(WEFT_ERR_MEMORY, "no memory for a trace of %zu bytes", trace->each_bytes);
    for (uint32_t slot = 1; slot <= trace->ranks && status == WEFT_OK; slot++) {
        status = write_rank(job, slot, copy);
        if (status == WEFT_OK)
            status = forget_rank(job, slot);
    }
    if (status != WEFT_OK)
        weft_say(WEFT_SAY_ERROR, "trace: the ranks' events are lost with their device's memory");
    return status;
}

/* Writes the services' events, under their progress locks, while the services go on. */
static void write_services(struct weft_job *job)
{
    for (int side = 0; side < 2; side++) {
        if (weft_model == NULL)
            weft_lock(&job->proxy.progress_lock[side]);
        weft_trace_service(job, (enum weft_net_side)side);
        if (weft_model == NULL)
            weft_unlock(&job->proxy.progress_lock[side]);
    }
}

weft_status weft_trace_write(struct weft_job *job, bool last)
{
    struct weft_trace *trace = job->trace;

    if (trace == NULL || (!last && trace->ranks == 0) || trace->status != WEFT_OK)
        return trace != NULL && last ? trace->status : WEFT_OK;
    trace->now = weft_now_ns(); /* not later: nobody is let run between begin and end */
    trace->status = weft_trace_file_begin(trace->file);
    if (trace->status != WEFT_OK)
        return trace->status;
    if (trace->wrote++ == 0)
        weft_trace_names(job);
    weft_status status = trace->ranks != 0 ? write_ranks(job) : WEFT_OK;
    if (last) {
        weft_trace_abandon(&job->ranks.selves[WEFT_HOST_SLOT]->tracer);
        weft_trace_slot(job, WEFT_HOST_SLOT, trace->host_log);
        write_services(job);
    }
    trace->status = weft_trace_file_end(trace->file);
    if (trace->status == WEFT_OK)
        trace->status = status;
    if (last && trace->lost != 0)
        weft_say(WEFT_SAY_WARN,
                 "trace: %llu events of %u ranks and services are lost, the earliest ones: "
                 "WEFT_TRACE_EVENTS=%llu are kept of each",
                 (unsigned long long)trace->lost, trace->lost_by, (unsigned long long)trace->most);
    return trace->status;
}
