/* runtime/service/delivery.c - how what arrives gets to ranks: see proxy.h. */
#include "runtime/job/job.h"

#include "rank/counter.h"
#include "runtime/service/ask.h"
#include "runtime/space/image.h"
#include "runtime/trace/timeline.h"

/* ---- the stream ----------------------------------------------------------------------------- */

static bool deliver(void *context, void *target, const void *source, size_t bytes)
{
    struct weft_job *job = context;

    job->proxy.deliveries.unmarked = true;
    return job->device_ops->copy(job->device, WEFT_STREAM_RECEIVE, target, source, bytes) ==
           WEFT_OK;
}

bool weft_delivery_settle(void *context)
{
    struct weft_job *job = context;

    if (job->ranks.image == NULL)
        return true;
    if (job->device_ops->wait(job->device, WEFT_STREAM_RECEIVE) != WEFT_OK)
        return false;
    job->proxy.deliveries.unmarked = job->proxy.deliveries.busy = false;
    return true;
}

bool weft_delivery_mark(void *context, uint64_t *mark)
{
    struct weft_job *job = context;
    struct weft_deliveries *deliveries = &job->proxy.deliveries;

    if (deliveries->unmarked) {
        if (job->device_ops->mark(job->device, WEFT_STREAM_RECEIVE, &deliveries->mark) != WEFT_OK)
            return false;
        deliveries->unmarked = false;
        deliveries->busy = true;
    }
    *mark = deliveries->mark;
    return true;
}

bool weft_delivery_reached(void *context, uint64_t mark, bool *there)
{
    struct weft_job *job = context;
    struct weft_deliveries *deliveries = &job->proxy.deliveries;

    *there = !deliveries->busy;
    if (*there)
        return true;
    if (job->device_ops->passed(job->device, WEFT_STREAM_RECEIVE, mark, there) != WEFT_OK)
        return false;
    if (*there && mark == deliveries->mark)
        deliveries->busy = false;
    return true;
}

/* ---- notices ------------------------------------------------------------------------------- */

/*
 * Adds one to a counter, behind its data: of the host program, which looks at once, in the host's
 * memory; of a rank by the stream. False: the device failed.
 */
static bool count(struct weft_job *job, uint32_t index, bool host)
{
    if (job->ranks.image != NULL && !host) {
        job->proxy.deliveries.unmarked = true;
        weft_image_count(job, index);
        return true;
    }
    if (!weft_delivery_settle(job))
        return false;
    weft_count_add_host(job->space.state.exposed, index);
    job->proxy.deliveries.counted = true;
    return true;
}

void weft_delivery_arrived(void *context)
{
    struct weft_job *job = context;

    if (!job->proxy.deliveries.counted)
        return;
    job->proxy.deliveries.counted = false;
    weft_bell_ring(&job->space.state.exposed->bell);
}

/* COUNT: of a slot's tag. BARRIER: of a word; its tag says whether it is the host programs'. */
static weft_status apply(void *context, const struct weft_net_delivery *delivery)
{
    struct weft_job *job = context;
    const bool barrier = weft_notice_kind_of(delivery->notice) == WEFT_NOTICE_BARRIER;
    const uint32_t what = weft_notice_slot(delivery->notice),
                   tag = weft_notice_tag(delivery->notice);
    const uint32_t most =
        barrier ? job->space.state.comms_count * WEFT_BARRIER_WORDS : weft_job_slots(job);

    if (job->trace != NULL)
        weft_trace_net(job, WEFT_NET_RECEIVE, delivery->process, delivery->notice, 0);
    if (what >= most)
        return WEFT_ERR_PROTOCOL;
    if (barrier ? count(job, WEFT_BARRIER_AT + what, tag != 0)
                : count(job, weft_count_index(what, tag), what == WEFT_HOST_SLOT))
        return WEFT_OK;
    weft_job_cannot(job, WEFT_ERR_DEVICE, "deliver what arrived");
    return WEFT_ERR_DEVICE;
}

void weft_delivery_open(struct weft_job *job)
{
    weft_notice_add(&job->proxy.kinds, WEFT_NOTICE_COUNT, apply, job);
    weft_notice_add(&job->proxy.kinds, WEFT_NOTICE_BARRIER, apply, job);
    job->proxy.deliveries.device = (struct weft_net_device){.context = job,
                                                            .deliver = deliver,
                                                            .settle = weft_delivery_settle,
                                                            .mark = weft_delivery_mark,
                                                            .settled = weft_delivery_reached,
                                                            .ops = job->device_ops,
                                                            .device = job->device};
}

/* ---- what answers ask of the device ---------------------------------------------------------- */

bool weft_delivery_copy(struct weft_job *job, uint32_t slot, void *target, const void *source,
                        size_t bytes)
{
    if (job->ranks.image == NULL ||
        (slot == WEFT_HOST_SLOT &&
         job->device_ops->no_access(job->device, target, bytes) != NULL)) {
        weft_deliver(target, source, bytes);
        return true;
    }
    return deliver(job, target, source, bytes);
}

bool weft_delivery_store(struct weft_job *job, uint32_t *word, uint32_t value)
{
    if (job->ranks.image == NULL) {
        weft_store_release_u32(word, value, ORDER_answer_post);
        return true;
    }
    job->proxy.deliveries.unmarked = true;
    return job->device_ops->store(job->device, WEFT_STREAM_RECEIVE, word, value, 0) == WEFT_OK;
}

bool weft_delivery_count(struct weft_job *job, uint32_t slot, uint32_t tag)
{
    return count(job, weft_count_index(slot, tag), slot == WEFT_HOST_SLOT);
}
