/*
 * runtime/service/request.c - commands that became puts, on their way to the network; the progress
 * task's.
 *
 * A put whose source the network cannot read where it lies goes through pinned host memory
 * (staging.h) in pieces: copies from the device are begun, of several pieces and of the next
 * commands, too; each piece is handed on when its copy is done, in the order of the commands; its
 * memory is free again when the network has read it. So the copy engine, the network, and the
 * device at the other end work at the same time. Nothing here waits, and each turn of a rank begins
 * few pieces, so that many ranks share the engine.
 */
#include "runtime/job/job.h"

#include "base/say.h"
#include "net/staging.h"
#include "runtime/service/ask.h"
#include "runtime/trace/timeline.h"

#include <stdlib.h>

enum { PIECES = 2 }; /* copies from the device that a turn begins */

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
    job->proxy.stage_memory = job->proxy.net_stage != NULL
                                  ? job->proxy.net_stage
                                  : job->device_ops->host_alloc(job->device, bytes);
    job->proxy.stage =
        weft_stage_make(&job->config, job->proxy.stage_memory, job->numbers.processes);
    if (job->proxy.stage_memory == NULL || job->proxy.stage == NULL)
        return weft_err(WEFT_ERR_MEMORY, "no %zu bytes of pinned memory (WEFT_STAGE_MEMORY)",
                        bytes);
    return WEFT_OK;
}

/* Of that pool's size; NULL: no memory. */
static void *take(struct weft_pool *pool, size_t bytes)
{
    struct weft_pooled *record = pool->idle;

    if (record != NULL) {
        pool->idle = record->next_free;
        return record + 1;
    }
    record = malloc(sizeof(*record) + bytes);
    if (record == NULL)
        return NULL;
    record->next_made = pool->made;
    pool->made = record;
    return record + 1;
}

static void give(struct weft_pool *pool, void *taken)
{
    struct weft_pooled *record = (struct weft_pooled *)taken - 1;

    record->next_free = pool->idle;
    pool->idle = record;
}

/* Those not given back, too. */
static void empty(struct weft_pool *pool)
{
    while (pool->made != NULL) {
        struct weft_pooled *record = pool->made;
        pool->made = record->next_made;
        free(record);
    }
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
    struct weft_request *request = take(&job->proxy.requests[with_payload], bytes);

    if (request == NULL) {
        weft_job_fail(job, WEFT_ERR_MEMORY, "no memory for a request of %zu bytes", bytes);
        return NULL;
    }
    *request =
        (struct weft_request){.payload = with_payload ? (unsigned char *)(request + 1) : NULL,
                              .slot = slot,
                              .holders = 1,
                              .unsent = 1,
                              .unlanded = 1};
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

/* Whether the rank counts it: neither an ask nor an answer. */
static bool is_counted(const struct weft_request *request)
{
    return request->slot != WEFT_NO_SLOT && request->asking == NULL;
}

static void let_go(struct weft_job *job, struct weft_request *request)
{
    if (--request->holders == 0)
        weft_request_free(job, request);
}

/* The source may be reused; the rank counts it when all before it may. */
static void source_done(struct weft_job *job, struct weft_request *request)
{
    if (--request->unsent != 0 || !is_counted(request))
        return;
    struct weft_manager *manager = &job->proxy.managers[request->slot];
    struct weft_request *first;
    while ((first = manager->first_counted) != NULL && first->unsent == 0) {
        manager->first_counted = first->next_counted;
        count(job, &job->ranks.selves[first->slot]->link->done_local, ORDER_done_local);
        let_go(job, first);
    }
}

/* The request may be gone after this. */
static void target_done(struct weft_job *job, struct weft_request *request)
{
    if (--request->unlanded > 0)
        return;
    if (!is_counted(request)) {
        let_go(job, request);
        return;
    }
    struct weft_link *link = job->ranks.selves[request->slot]->link;
    weft_store_release_u32(&link->landed, weft_load_relaxed_u32(&link->landed) + 1,
                           ORDER_done_remote);
    count(job, &link->done_remote[request->put.process], ORDER_done_remote);
    let_go(job, request);
}

void weft_request_from_memory(struct weft_job *job, struct weft_request *request)
{
    const uint64_t bytes = request->rows * request->width;

    if (job->proxy.stage == NULL || bytes == 0)
        return;
    request->put.device = job->proxy.net_reads_device && bytes < job->config.stage_from;
    request->staged = !request->put.device;
    request->piece = weft_stage_piece(&job->config, bytes);
    request->depth = weft_stage_depth(&job->config);
}

void weft_requests_add(struct weft_job *job, struct weft_manager *manager,
                       struct weft_request *request)
{
    if (is_counted(request)) {
        *(manager->first_counted != NULL ? &manager->last_counted->next_counted
                                         : &manager->first_counted) = request;
        manager->last_counted = request;
        request->holders++;
    }
    *(manager->last != NULL ? &manager->last->next : &manager->first) = request;
    manager->last = request;
    manager->waiting++;
    weft_requests_fetch(job, manager);
    weft_requests_issue(job, manager);
}

void weft_request_sent(void *context, void *cookie)
{
    struct weft_job *job = context;
    struct weft_part *part = cookie;

    if (part->memory == NULL) {
        source_done(job, part->request);
    } else if (--part->unsent == 0) {
        weft_stage_give(job->proxy.stage, part->request->put.process, part->memory, part->room);
        part->request->parts--;
    }
}

void weft_request_landed(void *context, void *cookie)
{
    struct weft_job *job = context;
    struct weft_part *part = cookie;
    struct weft_request *request = part->request;

    if (part->memory != NULL) {
        if (--part->unlanded > 0)
            return;
        give(&job->proxy.parts, part);
    }
    target_done(job, request);
}

/* Those still under way go too: the network, which would report them, stands still. */
void weft_requests_close(struct weft_job *job)
{
    empty(&job->proxy.requests[false]);
    empty(&job->proxy.requests[true]);
    empty(&job->proxy.parts);
    weft_stage_free(job->proxy.stage);
    if (job->proxy.stage_memory != job->proxy.net_stage)
        weft_job_host_free(job, job->proxy.stage_memory);
}

/* ---- from the device to the host ----------------------------------------------------------- */

static void fetch_failed(struct weft_job *job, const struct weft_part *part)
{
    weft_job_fail(job, WEFT_ERR_DEVICE, "process %d cannot fetch %llu bytes from its device: %s",
                  job->numbers.process, (unsigned long long)part->rows * part->width,
                  weft_err_last());
}

/* How much of the rectangle comes next: some whole rows, or some of one. */
static void cut(const struct weft_request *request, uint64_t most, struct weft_part *part)
{
    const uint64_t rows = request->rows - request->row, width = request->width - request->done;

    part->row = request->row;
    part->from = request->done;
    part->rows = 1;
    part->width = width < most ? width : most;
    if (request->done == 0 && request->width <= most)
        part->rows = most / request->width < rows ? most / request->width : rows;
}

/*
 * Begins to copy the next part; its mark is the caller's to set. NULL: there is no room now, all is
 * begun, or the job has failed.
 */
static struct weft_part *fetch_part(struct weft_job *job, struct weft_request *request)
{
    const struct weft_device_ops *ops = job->device_ops;
    struct weft_part part = {.request = request, .unsent = 1, .unlanded = 1};

    if (request->row == request->rows || request->parts == request->depth)
        return NULL;
    cut(request, request->piece, &part);
    part.memory = weft_stage_take(job->proxy.stage, request->slot, request->put.process,
                                  part.rows * part.width, &part.room);
    if (part.memory == NULL)
        return NULL;
    cut(request, part.room, &part);
    const unsigned char *source = request->source + part.row * request->source_pitch + part.from;
    const weft_status status =
        part.rows == 1 ? ops->copy(job->device, WEFT_STREAM_SEND, part.memory, source, part.width)
                       : ops->gather(job->device, WEFT_STREAM_SEND, part.memory, source,
                                     request->source_pitch, part.width, part.rows);
    struct weft_part *kept = take(&job->proxy.parts, sizeof(*kept));

    if (status != WEFT_OK) {
        fetch_failed(job, &part);
        return NULL;
    }
    if (kept == NULL) {
        weft_job_fail(job, WEFT_ERR_MEMORY, "no memory for a part of %llu bytes",
                      (unsigned long long)part.rows * part.width);
        return NULL;
    }
    *kept = part;
    *(request->last != NULL ? &request->last->next : &request->first) = kept;
    request->last = kept;
    request->parts++;
    request->unsent++;
    request->done = part.from + part.width;
    if (request->done == request->width) {
        request->done = 0;
        request->row += part.rows;
    }
    if (request->row == request->rows)
        source_done(job, request);
    return kept;
}

/* One mark for all: looking whether it was passed takes longer than setting it. */
static void mark_parts(struct weft_job *job, struct weft_part *const *parts, int count)
{
    uint64_t mark = 0;

    if (count > 0 && job->device_ops->mark(job->device, WEFT_STREAM_SEND, &mark) != WEFT_OK)
        fetch_failed(job, parts[0]);
    for (int i = 0; i < count; i++)
        parts[i]->mark = mark;
}

bool weft_requests_fetch(struct weft_job *job, struct weft_manager *manager)
{
    struct weft_part *parts[PIECES];
    int begun = 0;

    for (struct weft_request *r = manager->first; r != NULL && begun < PIECES; r = r->next) {
        while (r->staged && begun < PIECES && (parts[begun] = fetch_part(job, r)) != NULL)
            begun++;
        if ((r->staged || r->put.device) && r->row != r->rows)
            break; /* the network may want it staged yet: those behind it must leave it room */
    }
    mark_parts(job, parts, begun);
    return begun != 0;
}

/* ---- to the network ------------------------------------------------------------------------ */

weft_status weft_request_hand_over(struct weft_job *job, const struct weft_net_put *put,
                                   uint64_t *unsent, uint64_t *unlanded)
{
    ++*unsent; /* before: the network may report it from within put */
    ++*unlanded;
    const weft_status status = job->proxy.net_ops->put(job->proxy.net, put);
    if (status != WEFT_OK) {
        --*unsent;
        --*unlanded;
    }
    if (status != WEFT_OK && status != WEFT_NET_FULL && status != WEFT_NET_STAGE)
        weft_job_fail(job, status, "process %d cannot put %zu bytes to process %d: %s",
                      job->numbers.process, put->bytes, put->process, weft_err_last());
    if (status == WEFT_OK && job->trace != NULL)
        weft_trace_net(job, WEFT_NET_SEND, put->process, put->notice, put->bytes);
    return status;
}

/* The rows of a part that is there. True: all are accepted. */
static bool issue_part(struct weft_job *job, struct weft_part *part)
{
    struct weft_request *request = part->request;

    while (part->issued < part->rows) {
        const uint64_t row = part->row + part->issued;
        struct weft_net_put put = request->put;
        put.cookie = part;
        put.offset += row * request->pitch + part->from;
        put.source = part->memory + part->issued * part->width;
        put.bytes = part->width;
        if (row + 1 != request->rows || part->from + part->width != request->width)
            put.notice = 0;
        if (weft_request_hand_over(job, &put, &part->unsent, &part->unlanded) != WEFT_OK)
            return false;
        part->issued++;
    }
    return true;
}

/* A staged put. True: all of it is accepted. */
static bool issue_staged(struct weft_job *job, struct weft_request *request)
{
    struct weft_part *part;

    while ((part = request->first) != NULL) {
        bool was_there = part->there;
        if (!was_there && job->device_ops->passed(job->device, WEFT_STREAM_SEND, part->mark,
                                                  &part->there) != WEFT_OK) {
            fetch_failed(job, part);
            return false;
        }
        if (!part->there)
            return false;
        if (!was_there)
            source_done(job, request);
        if (!issue_part(job, part))
            return false;
        request->first = part->next;
        if (request->first == NULL)
            request->last = NULL;
        request->unlanded++; /* the part; it ends here if the network has reported all already */
        weft_request_sent(job, part);
        weft_request_landed(job, part);
    }
    return request->row == request->rows;
}

/* A put that the network reads itself, or a notice. True: all of it is accepted. */
static bool issue_rows(struct weft_job *job, struct weft_request *request)
{
    while (request->row < request->rows) {
        struct weft_net_put put = request->put;
        put.cookie = &request->whole;
        put.offset += request->row * request->pitch;
        put.source = request->source + request->row * request->source_pitch;
        put.bytes = request->width;
        if (request->row + 1 != request->rows)
            put.notice = 0;
        const weft_status status =
            weft_request_hand_over(job, &put, &request->unsent, &request->unlanded);
        if (status == WEFT_NET_STAGE) { /* the rest of the rows, too */
            request->put.device = false;
            request->staged = true;
        }
        if (status != WEFT_OK)
            return false;
        request->row++;
    }
    source_done(job, request);
    return true;
}

bool weft_requests_issue(struct weft_job *job, struct weft_manager *manager)
{
    struct weft_request *request;
    bool did = false;

    if (weft_job_is_failing(job))
        return false; /* what could not be fetched must not be sent */
    while ((request = manager->first) != NULL &&
           (request->asking != NULL ? weft_ask_issue(job, request)
            : request->staged       ? issue_staged(job, request)
                                    : issue_rows(job, request))) {
        manager->first = request->next;
        if (manager->first == NULL)
            manager->last = NULL;
        manager->waiting--;
        target_done(job, request);
        did = true;
    }
    return did;
}
