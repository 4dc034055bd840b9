/*
 * runtime/service/request.c - commands that became puts: made, counted when their sources may be
 * reused and when they are delivered, freed; the progress task's. issue.c takes them to the
 * network.
 */
#include "runtime/job/job.h"

#include "base/say.h"
#include "gda/softnic/engine.h"
#include "net/staging.h"
#include "runtime/service/ask.h"

#include <stdlib.h>

size_t weft_requests_stage_bytes(const struct weft_job *job)
{
    /* Else nothing goes through a network, or all that does is host memory. */
    const bool needed = !job->device_ops->host_access && job->numbers.processes > 1;

    return needed ? job->config.stage_memory : 0;
}

weft_status weft_requests_open(struct weft_job *job)
{
    const size_t bytes = weft_requests_stage_bytes(job);

    if (bytes == 0)
        return WEFT_OK;
    job->proxy.stage_memory = job->proxy.caps.stage != NULL
                                  ? job->proxy.caps.stage
                                  : job->device_ops->host_alloc(job->device, bytes);
    job->proxy.stage =
        weft_stage_make(&job->config, job->proxy.stage_memory, job->numbers.processes);
    if (job->proxy.stage_memory == NULL || job->proxy.stage == NULL)
        return weft_err(WEFT_ERR_MEMORY, "no %zu bytes of pinned memory (WEFT_STAGE_MEMORY)",
                        bytes);
    return WEFT_OK;
}

void *weft_pool_take(struct weft_job *job, struct weft_pooled **pool, size_t bytes)
{
    struct weft_pooled *record = *pool;

    if (record != NULL)
        *pool = record->next;
    else
        record = weft_job_keep(job, 1, sizeof(*record) + bytes);
    return record != NULL ? record + 1 : NULL;
}

static void give(struct weft_pooled **pool, void *taken)
{
    struct weft_pooled *record = (struct weft_pooled *)taken - 1;

    record->next = *pool;
    *pool = record;
}

void weft_request_free(struct weft_job *job, struct weft_request *request)
{
    give(&job->proxy.requests[request->payload != NULL], request);
}

size_t weft_request_room(const struct weft_job *job)
{
    const size_t most = job->space.state.inline_bytes;
    return (most > WEFT_WITHIN_MOST ? most + 7 : WEFT_WITHIN_MOST) / 8 * 8;
}

/* Most requests are notices and large puts, which have no payload of their own. */
struct weft_request *weft_request_make(struct weft_job *job, uint32_t slot, bool with_payload)
{
    const size_t payload = weft_request_room(job);
    const size_t bytes =
        sizeof(struct weft_request) + (with_payload ? payload + sizeof(struct weft_asking) : 0);
    struct weft_request *request = weft_pool_take(job, &job->proxy.requests[with_payload], bytes);

    if (request == NULL) {
        weft_job_fail(job, WEFT_ERR_MEMORY, "no memory for a request of %zu bytes", bytes);
        return NULL;
    }
    *request =
        (struct weft_request){.payload = with_payload ? (unsigned char *)(request + 1) : NULL,
                              .slot = slot,
                              .holders = 1,
                              .unsent = 1,
                              .undelivered = 1};
    request->whole.request = request;
    return request;
}

/* ---- what is done -------------------------------------------------------------------------- */

/* The link's words have one writer, the progress task: a load and a release store are an add. */
static void count(struct weft_job *job, uint32_t *word, enum weft_order label)
{
    weft_store_release_u32(word, weft_load_relaxed_u32(word) + 1, label);
    weft_bell_ring(&job->space.state.exposed->bell);
}

/* Whether the rank counts it: neither an ask, nor an answer, nor of its queue. */
static bool is_counted(const struct weft_request *request)
{
    return request->slot != WEFT_NO_SLOT && request->asking == NULL && request->queued == NULL;
}

static void let_go(struct weft_job *job, struct weft_request *request)
{
    if (--request->holders == 0)
        weft_request_free(job, request);
}

void weft_request_source_done(struct weft_job *job, struct weft_request *request)
{
    if (--request->unsent != 0)
        return;
    if (!is_counted(request))
        return;
    struct weft_rank_proxy *proxy = &job->proxy.of_ranks[request->slot];
    struct weft_request *first;
    while ((first = proxy->first_counted) != NULL && first->unsent == 0) {
        proxy->first_counted = first->next_counted;
        count(job, &job->ranks.selves[first->slot]->link->done_local, ORDER_done_local);
        let_go(job, first);
    }
}

void weft_request_target_done(struct weft_job *job, struct weft_request *request)
{
    if (--request->undelivered > 0)
        return;
    if (!is_counted(request)) {
        if (request->queued != NULL && request->asking == NULL)
            weft_softnic_finish(request->queued, 0);
        let_go(job, request);
        return;
    }
    struct weft_link *link = job->ranks.selves[request->slot]->link;
    weft_store_release_u32(&link->delivered, weft_load_relaxed_u32(&link->delivered) + 1,
                           ORDER_done_remote);
    count(job, &link->done_remote[request->put.process], ORDER_done_remote);
    let_go(job, request);
}

void weft_request_from_memory(struct weft_job *job, struct weft_request *request)
{
    const uint64_t bytes = request->rows * request->width;

    if (job->proxy.stage == NULL || bytes == 0)
        return;
    request->put.device = job->proxy.caps.reads_device && bytes < job->config.stage_from;
    request->staged = !request->put.device;
    request->piece = weft_stage_piece(&job->config, bytes);
    request->depth = weft_stage_depth(&job->config);
}

void weft_requests_add(struct weft_job *job, struct weft_rank_proxy *proxy,
                       struct weft_request *request)
{
    if (is_counted(request)) {
        *(proxy->first_counted != NULL ? &proxy->last_counted->next_counted
                                       : &proxy->first_counted) = request;
        proxy->last_counted = request;
        request->holders++;
    }
    *(proxy->last != NULL ? &proxy->last->next : &proxy->first) = request;
    proxy->last = request;
    proxy->waiting++;
    weft_requests_proceed(job, proxy);
}

void weft_request_sent(void *context, void *cookie)
{
    struct weft_job *job = context;
    struct weft_part *part = cookie;

    if (part->memory == NULL) {
        weft_request_source_done(job, part->request);
    } else if (--part->unsent == 0) {
        weft_stage_give(job->proxy.stage, part->request->put.process, part->memory, part->room);
        part->request->parts--;
    }
}

void weft_request_delivered(void *context, void *cookie)
{
    struct weft_job *job = context;
    struct weft_part *part = cookie;
    struct weft_request *request = part->request;

    if (part->memory != NULL) {
        if (--part->undelivered > 0)
            return;
        give(&job->proxy.parts, part);
    }
    weft_request_target_done(job, request);
}

void weft_requests_close(struct weft_job *job)
{
    weft_stage_free(job->proxy.stage);
    if (job->proxy.stage_memory != job->proxy.caps.stage)
        weft_job_host_free(job, job->proxy.stage_memory);
}
