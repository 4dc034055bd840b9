/* runtime/service/landing.c - see the header. */
#include "runtime/service/landing.h"

#include "rank/counter.h"
#include "runtime/service/ask.h"
#include "runtime/service/stream.h"
#include "runtime/trace/timeline.h"

#include <stdlib.h>

struct weft_landing {
    struct weft_receive_stream stream;
    struct weft_arrive_device device;
};

void weft_landing_close(struct weft_job *job)
{
    free(job->proxy.landings);
    job->proxy.landings = NULL;
}

static bool settle(void *context)
{
    struct weft_job *job = context;

    return weft_stream_settle(job, &job->proxy.landings->stream);
}

/* ---- notices ------------------------------------------------------------------------------- */

/*
 * One more of a counter, behind its data: of the host program, which looks at once, in the host's
 * memory; of a rank by the stream. False: the device failed.
 */
static bool count(struct weft_job *job, uint32_t index, bool host,
                  const struct weft_arrival *arrival)
{
    struct weft_landing *landing = job->proxy.landings;

    if (landing == NULL) {
        weft_count_add_host(job->space.state.exposed, index);
        return true;
    }
    if (arrival->bytes != 0 &&
        !weft_stream_copy(job, &landing->stream, arrival->target, arrival->source, arrival->bytes))
        return false;
    if (host && !settle(job))
        return false;
    if (host)
        weft_count_add_host(job->space.state.exposed, index);
    else
        weft_stream_count(job, &landing->stream, index);
    return true;
}

/* COUNT: of a slot's tag. BARRIER: of a word; its tag says whether it is the host programs'. */
static weft_status apply(void *context, const struct weft_arrival *arrival)
{
    struct weft_job *job = context;
    const bool barrier = weft_notice_kind_of(arrival->notice) == WEFT_NOTICE_BARRIER;
    const uint32_t what = weft_notice_slot(arrival->notice), tag = weft_notice_tag(arrival->notice);
    const uint32_t most =
        barrier ? job->space.state.comms_count * WEFT_BARRIER_WORDS : weft_job_slots(job);

    if (job->trace != NULL)
        weft_trace_net(job, WEFT_NET_RECEIVE, arrival->process, arrival->notice, 0);
    if (what >= most)
        return WEFT_ERR_PROTOCOL;
    if (barrier ? count(job, WEFT_BARRIER_AT + what, tag != 0, arrival)
                : count(job, weft_count_index(what, tag), what == WEFT_HOST_SLOT, arrival))
        return WEFT_OK;
    weft_job_cannot(job, WEFT_ERR_DEVICE, "land what arrived");
    return WEFT_ERR_DEVICE;
}

weft_status weft_landing_open(struct weft_job *job)
{
    weft_notice_add(&job->proxy.kinds, WEFT_NOTICE_COUNT, apply, job);
    weft_notice_add(&job->proxy.kinds, WEFT_NOTICE_BARRIER, apply, job);
    if (job->ranks.image == NULL)
        return WEFT_OK;
    job->proxy.landings = calloc(1, sizeof(*job->proxy.landings));
    if (job->proxy.landings == NULL)
        return weft_err(WEFT_ERR_MEMORY, "no memory for what arrives");
    return WEFT_OK;
}

/* ---- what net/arrive.h asks of the device --------------------------------------------------- */

static bool land(void *context, void *target, const void *source, size_t bytes)
{
    struct weft_job *job = context;
    return weft_stream_copy(job, &job->proxy.landings->stream, target, source, bytes);
}

static bool mark(void *context, uint64_t *mark)
{
    struct weft_job *job = context;
    struct weft_receive_stream *stream = &job->proxy.landings->stream;

    if (!weft_stream_mark(job, stream))
        return false;
    *mark = stream->mark;
    return true;
}

static bool settled(void *context, uint64_t mark, bool *there)
{
    struct weft_job *job = context;

    return weft_stream_passed(job, &job->proxy.landings->stream, mark, there);
}

const struct weft_arrive_device *weft_landing_device(struct weft_job *job)
{
    struct weft_landing *landing = job->proxy.landings;

    if (landing == NULL)
        return NULL;
    landing->device = (struct weft_arrive_device){.context = job,
                                                  .land = land,
                                                  .settle = settle,
                                                  .mark = mark,
                                                  .settled = settled,
                                                  .ops = job->device_ops,
                                                  .device = job->device};
    return &landing->device;
}

/* ---- what answers ask of the device ---------------------------------------------------------- */

bool weft_landing_copy(struct weft_job *job, uint32_t slot, void *target, const void *source,
                       size_t bytes)
{
    if (job->ranks.image == NULL ||
        (slot == WEFT_HOST_SLOT &&
         job->device_ops->no_access(job->device, target, bytes) != NULL)) {
        weft_land(target, source, bytes);
        return true;
    }
    return land(job, target, source, bytes);
}

bool weft_landing_store(struct weft_job *job, uint32_t *word, uint32_t value)
{
    if (job->ranks.image != NULL)
        return weft_stream_store(job, &job->proxy.landings->stream, word, value);
    weft_store_release_u32(word, value, ORDER_answer_post);
    return true;
}

bool weft_landing_count(struct weft_job *job, uint32_t slot, uint32_t tag)
{
    const struct weft_arrival nothing = {.notice = weft_notice(WEFT_NOTICE_COUNT, tag, slot)};
    return count(job, weft_count_index(slot, tag), slot == WEFT_HOST_SLOT, &nothing);
}

bool weft_landing_settle(struct weft_job *job)
{
    return job->proxy.landings == NULL || settle(job);
}

bool weft_landing_mark(struct weft_job *job, uint64_t *at)
{
    return job->proxy.landings == NULL || mark(job, at);
}

bool weft_landing_reached(struct weft_job *job, uint64_t at, bool *there)
{
    *there = true;
    return job->proxy.landings == NULL || settled(job, at, there);
}
