/*
 * runtime/progress.c - the two tasks that move data for ranks that cannot do it themselves.
 *
 * Each loops while it finds something to do, and sleeps on its bell when it does not. The labels
 * DRAIN_* let the mutation check switch one of the duties off.
 */
#include "runtime/job.h"

#include "base/say.h"
#include "runtime/image.h"
#include "window/counter.h"

enum { SLEEP_NS = 20000000, POLL_NS = 50000 };

static bool stopping(const struct weft_job *job)
{
    return __atomic_load_n(&job->stop_services, __ATOMIC_ACQUIRE) != 0;
}

/*
 * One round of the progress task. An error that it meets is not gone after it: until the job has
 * failed there are no more rounds.
 */
static bool progress_round(struct weft_job *job)
{
    bool did = false;

    if (weft_job_is_failing(job))
        return false;
    if (weft_mutation != DRAIN_commands)
        for (uint32_t slot = 0; slot < weft_job_slots(job); slot++)
            did |= weft_manager_serve(job, slot);
    if (weft_mutation != DRAIN_progress) {
        weft_status status = job->net_ops->progress(job->net, WEFT_NET_SEND, &did);
        if (status != WEFT_OK)
            weft_job_fail(job, status, "process %d cannot send: %s", job->numbers.process,
                          weft_err_last());
    }
    return did;
}

static bool receive_round(struct weft_job *job)
{
    bool did = false;

    if (weft_mutation == DRAIN_receive || weft_job_is_failing(job))
        return false;
    weft_status status = job->net_ops->progress(job->net, WEFT_NET_RECEIVE, &did);
    if (status != WEFT_OK)
        weft_job_fail(job, status, "process %d cannot receive: %s", job->numbers.process,
                      weft_err_last());
    return did;
}

/* Whether a service with nothing to do should look again before it sleeps. */
static bool spinning(const struct weft_job *job, uint64_t *idle_since)
{
    const uint64_t now = weft_now_ns();

    if (weft_load_relaxed_u32(&job->state.signals->proxied) == 0)
        return false;
    if (job->image != NULL && __atomic_load_n(&job->running, __ATOMIC_RELAXED))
        return true; /* the ranks of such a device cannot ring */
    if (*idle_since == 0)
        *idle_since = now;
    return now - *idle_since < job->spin_ns;
}

/*
 * Rounds until the services stop; sleeps on the bell, or polls slowly where none rings. Once the
 * job has failed it does nothing more, and the second service to see so lets the ranks end.
 */
static void serve(struct weft_job *job, struct weft_bell *bell, bool (*round)(struct weft_job *),
                  bool rung)
{
    uint64_t idle_since = 0;

    while (!stopping(job) && weft_job_status(job) == WEFT_OK) {
        if (round(job)) {
            idle_since = 0;
            continue;
        }
        if (spinning(job, &idle_since)) {
            if (job->image == NULL) /* else ranks need none of the host's processors */
                weft_task_yield(true);
            continue;
        }
        const uint32_t ticket = weft_bell_prepare(bell);
        if (round(job) || stopping(job) || weft_job_status(job) != WEFT_OK)
            weft_bell_cancel(bell);
        else
            weft_bell_sleep(bell, ticket, rung ? SLEEP_NS : POLL_NS);
    }
    if (weft_job_status(job) != WEFT_OK &&
        __atomic_add_fetch(&job->services_quiet, 1, __ATOMIC_ACQ_REL) == 2)
        weft_services_are_quiet(job);
}

static void progress_main(void *argument)
{
    struct weft_job *job = argument;
    weft_say_process(job->numbers.process);
    serve(job, job->command_bell, progress_round,
          job->image == NULL && job->net_ops->bell(job->net, WEFT_NET_SEND) != NULL);
}

static void receive_main(void *argument)
{
    struct weft_job *job = argument;
    weft_say_process(job->numbers.process);
    serve(job, job->receive_bell, receive_round,
          job->net_ops->bell(job->net, WEFT_NET_RECEIVE) != NULL);
}

bool weft_land_in_device(void *context, void *target, const void *source, size_t bytes)
{
    struct weft_job *job = context;
    return job->device_ops->copy(job->device, WEFT_LANE_RECEIVE, target, source, bytes) == WEFT_OK;
}

bool weft_settle_in_device(void *context)
{
    struct weft_job *job = context;
    return job->device_ops->wait(job->device, WEFT_LANE_RECEIVE) == WEFT_OK;
}

bool weft_has_dmabuf(const struct weft_job *job)
{
    return job->image != NULL && job->device_ops->dmabuf != NULL && job->config.verbs_dmabuf != 0;
}

int weft_dmabuf_of_device(void *context, void *base, size_t bytes, uint64_t *offset)
{
    struct weft_job *job = context;
    return job->device_ops->dmabuf(job->device, base, bytes, offset);
}

bool weft_reached_device(void *context)
{
    struct weft_job *job = context;
    return job->device_ops->reached(job->device) == WEFT_OK;
}

/* Counts for the host program, or for ranks: where they share no memory, through the image. */
static void count(struct weft_job *job, uint32_t index, bool host)
{
    if (job->image != NULL && !host) {
        weft_image_count(job, index);
        return;
    }
    if (job->image != NULL)
        weft_settle_in_device(job); /* the host program looks at once */
    weft_count_add_host(job->state.exposed, index);
}

bool weft_notice_arrived(void *context, int process, uint32_t notice)
{
    struct weft_job *job = context;
    const uint32_t slot = weft_notice_slot(notice);

    (void)process;
    switch (weft_notice_kind_of(notice)) {
    case WEFT_NOTICE_COUNT:
        if (slot >= weft_job_slots(job))
            return false;
        count(job, weft_count_index(slot, weft_notice_tag(notice)), slot == WEFT_HOST_SLOT);
        return true;
    case WEFT_NOTICE_BARRIER:
        if (slot >= job->state.comms_count * WEFT_BARRIER_WORDS)
            return false;
        count(job, WEFT_BARRIER_AT + slot, slot / WEFT_BARRIER_WORDS == WEFT_COMM_HOST);
        return true;
    default:
        return false;
    }
}

weft_status weft_services_start(struct weft_job *job)
{
    __atomic_store_n(&job->stop_services, 0, __ATOMIC_RELEASE);
    weft_status status = weft_task_start(&job->progress, "weft progress", progress_main, job);
    if (status != WEFT_OK)
        return status;
    status = weft_task_start(&job->receive, "weft receive", receive_main, job);
    if (status != WEFT_OK) {
        __atomic_store_n(&job->stop_services, 1, __ATOMIC_RELEASE);
        weft_bell_ring(job->command_bell);
        weft_task_join(&job->progress);
        return status;
    }
    job->services_run = true;
    return WEFT_OK;
}

void weft_services_stop(struct weft_job *job)
{
    if (!job->services_run)
        return;
    __atomic_store_n(&job->stop_services, 1, __ATOMIC_RELEASE);
    weft_bell_ring(job->command_bell);
    weft_bell_ring(job->receive_bell);
    weft_task_join(&job->progress);
    weft_task_join(&job->receive);
    job->services_run = false;
}
