/*
 * runtime/service/net_events.c - what a network asks of the job: to take a notice that has arrived,
 * and what it needs of the device.
 */
#include "runtime/job/job.h"

#include "base/say.h"
#include "rank/counter.h"
#include "runtime/service/landing.h"
#include "runtime/trace/timeline.h"

bool weft_pin_for_device(void *context, void *memory, size_t bytes)
{
    struct weft_job *job = context;
    const char *reason = job->device_ops->pin(job->device, memory, bytes);

    if (reason != NULL)
        weft_say(WEFT_SAY_WARN,
                 "process %d: %zu bytes of the network's buffers stay unpinned (%s): what goes "
                 "between them and device memory takes longer",
                 job->numbers.process, bytes, reason);
    return reason == NULL;
}

void weft_unpin_for_device(void *context, void *memory)
{
    struct weft_job *job = context;
    job->device_ops->unpin(job->device, memory);
}

bool weft_has_dmabuf(const struct weft_job *job)
{
    return job->ranks.image != NULL && job->device_ops->dmabuf != NULL &&
           job->config.verbs_dmabuf != 0;
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

static void landing_failed(struct weft_job *job)
{
    weft_job_fail(job, WEFT_ERR_DEVICE, "process %d cannot land what arrived: %s",
                  job->numbers.process, weft_err_last());
}

/* Of the host program, which looks at once: in the host's memory. */
static void count_for_host(struct weft_job *job, uint32_t index)
{
    if (job->proxy.landings != NULL && !weft_landing_settle(job))
        landing_failed(job);
    weft_count_add_host(job->space.state.exposed, index);
}

/* A rank's tag. */
static void count_for_rank(struct weft_job *job, uint32_t slot, uint32_t tag)
{
    if (job->proxy.landings == NULL)
        weft_count_add_host(job->space.state.exposed, weft_count_index(slot, tag));
    else if (!weft_landing_notify(job, slot, tag))
        landing_failed(job);
}

static void count_barrier(struct weft_job *job, uint32_t word)
{
    if (word / WEFT_BARRIER_WORDS == WEFT_COMM_HOST)
        count_for_host(job, WEFT_BARRIER_AT + word);
    else if (job->proxy.landings == NULL)
        weft_count_add_host(job->space.state.exposed, WEFT_BARRIER_AT + word);
    else if (!weft_landing_count(job, WEFT_BARRIER_AT + word))
        landing_failed(job);
}

bool weft_notice_arrived(void *context, int process, uint32_t notice)
{
    struct weft_job *job = context;
    const uint32_t slot = weft_notice_slot(notice);

    weft_trace_net(job, WEFT_NET_RECEIVE, process, notice, 0);
    switch (weft_notice_kind_of(notice)) {
    case WEFT_NOTICE_COUNT:
        if (slot >= weft_job_slots(job))
            return false;
        if (slot == WEFT_HOST_SLOT)
            count_for_host(job, weft_count_index(slot, weft_notice_tag(notice)));
        else
            count_for_rank(job, slot, weft_notice_tag(notice));
        return true;
    case WEFT_NOTICE_BARRIER:
        if (slot >= job->space.state.comms_count * WEFT_BARRIER_WORDS)
            return false;
        count_barrier(job, slot);
        return true;
    default:
        return false;
    }
}
