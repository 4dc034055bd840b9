/*
 * runtime/service/issue.c - requests on their way to the network; the progress task's.
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

enum { PIECES = 2 }; /* copies from the device that a turn begins, at most */

/* ---- from the device to the host ----------------------------------------------------------- */

static void fetch_failed(struct weft_job *job, const struct weft_part *part)
{
    weft_job_cannot(job, WEFT_ERR_DEVICE, "fetch %llu bytes from its device",
                    (unsigned long long)part->rows * part->width);
}

/* Cuts off how much of the rectangle comes next: some whole rows, or some of one. */
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
    struct weft_part part = {.request = request, .unsent = 1, .undelivered = 1};

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
    struct weft_part *kept = weft_pool_take(job, &job->proxy.parts, sizeof(*kept));

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
        weft_request_source_done(job, request);
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

/* Begins copies for the next requests, in their order. True: some were begun. */
static bool fetch(struct weft_job *job, const struct weft_rank_proxy *proxy)
{
    struct weft_part *parts[PIECES];
    int begun = 0;

    for (struct weft_request *r = proxy->first; r != NULL && begun < PIECES; r = r->next) {
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
                                   uint64_t *unsent, uint64_t *undelivered)
{
    const size_t bytes = put->bytes * (put->rows > 1 ? put->rows : 1);

    ++*unsent; /* before: the network may report it from within put */
    ++*undelivered;
    const weft_status status = weft_net_put(job->proxy.net, put);
    if (status != WEFT_OK) {
        --*unsent;
        --*undelivered;
    }
    if (status != WEFT_OK && status != WEFT_NET_FULL && status != WEFT_NET_STAGE)
        weft_job_cannot(job, status, "put %zu bytes to process %d", bytes, put->process);
    if (status == WEFT_OK && job->trace != NULL)
        weft_trace_net(job, WEFT_NET_SEND, put->process, put->notice, bytes);
    return status;
}

/* Gives a put as many of these rows as the network takes at once. */
static void take_rows(const struct weft_job *job, struct weft_net_put *put, uint64_t rows,
                      size_t source_pitch)
{
    const uint64_t most = put->bytes != 0 ? job->proxy.caps.rows_bytes / put->bytes : 0;

    put->rows = put->device || most < 1 ? 1 : (uint32_t)(rows < most ? rows : most);
    put->source_pitch = source_pitch;
}

/* Issues the rows of a part that is there, or of a put that the network reads itself. OK: all are
 * accepted; else as weft_request_hand_over. */
static weft_status issue_part(struct weft_job *job, struct weft_part *part)
{
    struct weft_request *request = part->request;
    const bool whole = part->memory == NULL;
    const uint64_t pitch = whole ? request->source_pitch : part->width;
    const unsigned char *const source = whole ? request->source : part->memory;

    while (part->issued < part->rows) {
        const uint64_t row = part->row + part->issued;
        struct weft_net_put put = request->put;
        put.cookie = part;
        put.offset += row * request->pitch + part->from;
        put.source = source + part->issued * pitch;
        put.bytes = part->width;
        put.pitch = request->pitch;
        take_rows(job, &put, part->rows - part->issued, pitch);
        if (row + put.rows != request->rows || part->from + part->width != request->width)
            put.notice = 0;
        WEFT_TRY(weft_request_hand_over(job, &put, whole ? &request->unsent : &part->unsent,
                                        whole ? &request->undelivered : &part->undelivered));
        part->issued += put.rows;
    }
    return WEFT_OK;
}

/* Issues a staged put. True: all of it is accepted. */
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
            weft_request_source_done(job, request);
        if (issue_part(job, part) != WEFT_OK)
            return false;
        request->first = part->next;
        if (request->first == NULL)
            request->last = NULL;
        request->undelivered++; /* the part; it ends here if the network has reported all already */
        weft_request_sent(job, part);
        weft_request_delivered(job, part);
    }
    return request->row == request->rows;
}

/* Issues a put that the network reads itself, or a notice. True: all of it is accepted. */
static bool issue_whole(struct weft_job *job, struct weft_request *request)
{
    request->whole.rows = request->rows;
    request->whole.width = request->width;
    const weft_status status = issue_part(job, &request->whole);
    request->row = request->whole.issued;
    if (status == WEFT_NET_STAGE) { /* the rest of the rows, too */
        request->put.device = false;
        request->staged = true;
    }
    if (status == WEFT_OK)
        weft_request_source_done(job, request);
    return status == WEFT_OK;
}

/* Hands on what is there, in order. True: anything was finished. */
static bool issue(struct weft_job *job, struct weft_rank_proxy *proxy)
{
    struct weft_request *request;
    bool did = false;

    if (weft_job_is_failing(job))
        return false; /* what could not be fetched must not be sent */
    while ((request = proxy->first) != NULL &&
           (request->asking != NULL ? weft_ask_issue(job, request)
            : request->staged       ? issue_staged(job, request)
                                    : issue_whole(job, request))) {
        proxy->first = request->next;
        if (proxy->first == NULL)
            proxy->last = NULL;
        proxy->waiting--;
        weft_request_target_done(job, request);
        did = true;
    }
    return did;
}

bool weft_requests_proceed(struct weft_job *job, struct weft_rank_proxy *proxy)
{
    if (proxy->waiting == 0)
        return false;
    const bool fetched = fetch(job, proxy);
    return issue(job, proxy) || fetched || (proxy->first != NULL && proxy->first->staged);
}
