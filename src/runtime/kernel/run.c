/*
 * runtime/kernel/run.c - running the prepared kernel, in the caller or in a task beside it.
 */
#include "runtime/job/job.h"

#include "base/say.h"
#include "runtime/gda/queues.h"
#include "runtime/job/exchange.h"
#include "runtime/space/image.h"
#include "runtime/space/tables.h"
#include "runtime/trace/timeline.h"

#include <stdio.h>
#include <string.h>

/* No rank has a channel any more. */
static void clear_channels(struct weft_job *job)
{
    struct weft_state *state = &job->space.state;
    unsigned char *area = weft_channel_area(state, state->exposed);
    const uint32_t n = state->channels;
    uint32_t *taken = &state->exposed->channels_taken;

    if (job->ranks.image != NULL || *taken == 0)
        return; /* weft_image_reset does it; or nobody had any */
    const uint32_t used = *taken < n ? *taken : n;
    memset(weft_channels_box(area, 0), 0, WEFT_SLOTS * sizeof(struct weft_box));
    memset(weft_channels_control(area, WEFT_SLOTS, 0), 0, used * sizeof(struct weft_channel));
    memset(weft_channels_ring(area, WEFT_SLOTS, n, 0), 0,
           used * WEFT_RING_LINES * sizeof(struct weft_ring_line));
    *taken = 0;
}

/* What a run starts from. Before the others can know that this process is ready. */
static weft_status reset(struct weft_job *job)
{
    weft_lock(&job->space.tables);
    for (uint32_t slot = 1; slot < job->ranks.slots; slot++)
        weft_rank_reset(job, slot);
    clear_channels(job);
    weft_comm_clear(&job->space.state, WEFT_COMM_WORLD);
    weft_comm_clear(&job->space.state, WEFT_COMM_DEVICE);
    weft_unlock(&job->space.tables);
    WEFT_TRY(weft_queues_reset(job));
    return weft_image_reset(job);
}

void weft_settle_ranks(struct weft_job *job)
{
    struct weft_port *port = &job->ranks.selves[WEFT_HOST_SLOT]->port;
    struct weft_port_call call = {0};

    __atomic_store_n(&job->proxy.flush_all, 1,
                     __ATOMIC_RELAXED); /* soon is enough: it orders nothing */
    weft_bell_ring(job->proxy.command_bell);
    weft_port_enter(port, &call);
    for (uint32_t slot = WEFT_HOST_SLOT; slot < job->ranks.slots; slot++)
        while (!weft_rank_quiet(job, slot) && weft_job_status(job) == WEFT_OK)
            weft_port_wait(port);
    while (!weft_queues_quiet(job) && weft_job_status(job) == WEFT_OK)
        weft_port_wait(port);
    weft_port_waited(port);
    weft_port_leave(port);
}

static weft_status check_launch(weft_job *job, const char *call, const void *user, size_t bytes)
{
    WEFT_TRY(weft_job_idle(job, call));
    if (job->ranks.kernel == NULL)
        return weft_refused(job, WEFT_ERR_STATE, "%s: no kernel was prepared", call);
    if (bytes != 0 && user == NULL)
        return weft_refused(job, WEFT_ERR_ARGUMENT, "%s: %zu bytes of user data at NULL", call,
                            bytes);
    if (bytes != 0 && bytes != job->ranks.kernel->user_bytes)
        return weft_refused(job, WEFT_ERR_ARGUMENT,
                            "%s: %zu bytes of user data; kernel %s expects %zu", call, bytes,
                            job->ranks.kernel->name, job->ranks.kernel->user_bytes);
    return WEFT_OK;
}

static void fill_launch(struct weft_job *job)
{
    job->ranks.launch = (struct weft_launch){
        .kernel = job->ranks.kernel,
        .user = job->ranks.user_bytes != 0 ? job->ranks.user : NULL,
        .first_rank = job->numbers.first_rank,
        .ranks = job->numbers.ranks_here,
        .threads = job->numbers.threads,
        .shared = job->ranks.shared_bytes,
        .serves = job->ranks.serves,
        .beside = job->queues != NULL ? job->queues->beside : (struct weft_beside){0},
        .selves = (unsigned char *)job->ranks.states,
        .self_bytes = sizeof(weft_self),
        .bell = &job->space.state.exposed->bell,
        .proxied = &job->space.state.signals->proxied,
        .posted = weft_services_posted,
        .help = weft_services_help,
        .leave = weft_services_leave,
        .host = job,
    };
}

/* Returns where user data stops on its way between the program's memory and the device's: in pinned
 * memory behind the states, or nowhere. */
static void *staged(const struct weft_job *job)
{
    return job->ranks.image != NULL ? job->ranks.states + job->numbers.ranks_here
                                    : job->ranks.user_from;
}

/* Everything before the kernel, when nothing speaks against it. */
static weft_status launch(weft_job *job, void *user, size_t bytes)
{
    weft_status status = WEFT_OK;

    job->ranks.user_from = user;
    job->ranks.user_bytes = bytes;
    job->ranks.ms = 0;
    if (bytes != 0) /* reset waits for it */
        status = job->device_ops->copy(job->device, WEFT_STREAM_CALLER, job->ranks.user,
                                       memmove(staged(job), user, bytes), bytes);
    if (status == WEFT_OK)
        status = reset(job);
    for (int i = 0; weft_services[i] != NULL && status == WEFT_OK; i++)
        if (weft_services[i]->launch != NULL)
            status = weft_services[i]->launch(job);
    if (status != WEFT_OK) { /* the others are about to run */
        weft_job_fail(job, status, "process %d could not begin to run kernel %s",
                      job->numbers.process, job->ranks.kernel->name);
        return status;
    }
    WEFT_TRY(weft_exchange(job, WEFT_EXCHANGE_RUN, NULL, 0, NULL));
    fill_launch(job);
    weft_trace_launch(job, &job->ranks.launch);
    fflush(stdout); /* what the program printed comes before what its ranks log */
    __atomic_store_n(&job->ranks.running, true, __ATOMIC_RELAXED);
    __atomic_store_n(&job->ranks.started, true, __ATOMIC_RELEASE);
    return WEFT_OK;
}

/* Collective: on return all processes are ready. Of two threads at once one is refused. */
static weft_status begin_run(weft_job *job, const char *call, void *user, size_t bytes)
{
    WEFT_TRY(check_launch(job, call, user, bytes));
    if (__atomic_exchange_n(&job->ranks.launching, true, __ATOMIC_ACQUIRE))
        return weft_refused(job, WEFT_ERR_STATE, "%s: another thread begins to run a kernel", call);
    weft_status status = weft_job_idle(job, call); /* another may have begun since the first look */
    if (status == WEFT_OK)
        status = launch(job, user, bytes);
    __atomic_store_n(&job->ranks.launching, false, __ATOMIC_RELEASE);
    return status;
}

/* The kernel, on all ranks of this device: by the caller's thread, or by a task of its own. */
static void run_kernel(void *argument)
{
    struct weft_job *job = argument;
    const weft_status status =
        job->device_ops->run(job->device, &job->ranks.launch, &job->ranks.ms);

    __atomic_store_n(&job->ranks.running, false, __ATOMIC_RELEASE);
    if (status != WEFT_OK)
        weft_job_fail(job, status, "process %d could not run kernel %s", job->numbers.process,
                      job->ranks.kernel->name);
}

/* Everything after it, also of a job that has failed. Collective. */
static weft_status end_run(weft_job *job, double *milliseconds)
{
    weft_trace_ran(job);
    weft_settle_ranks(job); /* the host program's notices to ranks, too: no later run has them */
    weft_printer_drain(job, UINT64_MAX);
    weft_status status = weft_exchange(job, WEFT_EXCHANGE_RAN, NULL, 0, NULL);
    /* All ranks of the job have ended: it is no news any more that those of this process have. */
    for (uint32_t slot = 1; slot < job->ranks.slots; slot++)
        __atomic_store_n(&job->ranks.selves[slot]->waiting->kind, WEFT_WAIT_NONE, __ATOMIC_RELAXED);
    if (status == WEFT_OK) /* a failure before the last one ended is seen by all */
        status = weft_job_status(job);
    const size_t bytes = job->ranks.user_bytes;
    /* Also after a failure: it may tell the program why. */
    bool copied = bytes != 0 && job->device_ops->copy(job->device, WEFT_STREAM_CALLER, staged(job),
                                                      job->ranks.user, bytes) == WEFT_OK;
    if (status == WEFT_OK)
        weft_ranks_left(job); /* it waits for the copy, too */
    copied = copied && job->device_ops->wait(job->device, WEFT_STREAM_CALLER) == WEFT_OK;
    if (copied)
        memmove(job->ranks.user_from, staged(job), bytes);
    __atomic_store_n(&job->ranks.started, false, __ATOMIC_RELEASE);
    if (status == WEFT_OK && milliseconds != NULL)
        *milliseconds = job->ranks.ms;
    return status;
}

weft_status weft_run(weft_job *job, void *user, size_t user_bytes, double *milliseconds)
{
    WEFT_TRY(begin_run(job, "weft_run", user, user_bytes));
    run_kernel(job);
    return end_run(job, milliseconds);
}

weft_status weft_start(weft_job *job, void *user, size_t user_bytes)
{
    WEFT_TRY(begin_run(job, "weft_start", user, user_bytes));
    job->ranks.in_task = true;
    /* Where ranks cannot ring for the services, those look all the time (progress.c). */
    if (job->space.state.hosts_apart)
        weft_store_relaxed_u32(&job->space.state.signals->proxied, 1);
    weft_status status = weft_task_start(&job->ranks.task, "weft kernel", run_kernel, job);
    if (status == WEFT_OK)
        return WEFT_OK;
    weft_job_fail(job, status, "process %d could not start kernel %s", job->numbers.process,
                  job->ranks.kernel->name);
    job->ranks.in_task = false;
    __atomic_store_n(&job->ranks.running, false, __ATOMIC_RELEASE);
    __atomic_store_n(&job->ranks.started, false, __ATOMIC_RELEASE);
    return status;
}

weft_status weft_finish(weft_job *job, double *milliseconds)
{
    WEFT_TRY(weft_job_owned(job, "weft_finish"));
    if (!job->ranks.in_task && weft_job_status(job) != WEFT_OK)
        return weft_job_status(job);
    if (!job->ranks.in_task)
        return weft_refused(job, WEFT_ERR_STATE, "weft_finish: weft_start has started no kernel");
    weft_bell_ring(job->proxy.command_bell); /* a batch of the host program may hold it back */
    weft_task_join(&job->ranks.task);
    job->ranks.in_task = false;
    return end_run(job, milliseconds);
}

int weft_running(const weft_job *job)
{
    return job != NULL && __atomic_load_n(&job->ranks.running, __ATOMIC_ACQUIRE);
}

weft_status weft_intervals(const weft_job *job, const double **list, size_t *count)
{
    WEFT_TRY(weft_job_owned(job, "weft_intervals"));
    if (list == NULL || count == NULL)
        return weft_err(WEFT_ERR_ARGUMENT, "weft_intervals: %s is NULL",
                        list == NULL ? "list" : "count");
    if (weft_job_started(job))
        return weft_err(WEFT_ERR_STATE, "weft_intervals: a kernel runs");
    *list = job->space.state.intervals;
    *count = job->ranks.slots > 1 ? job->ranks.selves[1]->intervals_count
                                  : 0; /* the device's first rank */
    return WEFT_OK;
}
