/* weft-info/stream.c - see the header. */
#include "stream.h"

#include "base/say.h"
#include "base/task.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#ifdef WEFT_INFO_BRIEF
enum { REPEAT_NS = 1, REPEAT_LEAST = 1 };
#else
enum { REPEAT_NS = 100000000, REPEAT_LEAST = 3 };
#endif

/* ---- what the network asks of its ends ----------------------------------------------------- */

static void sent(void *context, void *cookie)
{
    (void)cookie;
    ((struct stream *)context)->sent++;
}

static void delivered(void *context, void *cookie)
{
    (void)cookie;
    ((struct stream *)context)->delivered++;
}

static bool deliver(void *context, void *target, const void *source, size_t bytes)
{
    const struct stream *s = context;
    return s->ops->copy(s->device, WEFT_STREAM_RECEIVE, target, source, bytes) == WEFT_OK;
}

static bool settle(void *context)
{
    const struct stream *s = context;
    return s->ops->wait(s->device, WEFT_STREAM_RECEIVE) == WEFT_OK;
}

static bool mark(void *context, uint64_t *value)
{
    const struct stream *s = context;
    return s->ops->mark(s->device, WEFT_STREAM_RECEIVE, value) == WEFT_OK;
}

static bool settled(void *context, uint64_t value, bool *there)
{
    const struct stream *s = context;
    return s->ops->passed(s->device, WEFT_STREAM_RECEIVE, value, there) == WEFT_OK;
}

static void *receive(void *argument)
{
    struct stream *s = argument;

    while (__atomic_load_n(&s->stop, __ATOMIC_ACQUIRE) == 0) {
        bool did = false;
        if (weft_net_progress(s->net[1], WEFT_NET_RECEIVE, &did) != WEFT_OK) {
            __atomic_store_n(&s->failed, 1, __ATOMIC_RELEASE);
            break;
        }
        if (!did)
            sched_yield();
    }
    return NULL;
}

/* ---- opening and closing ------------------------------------------------------------------- */

static bool open_ends(struct stream *s)
{
    const bool far = s->ops != NULL, own_stage = far && !s->through_rings;
    static const struct weft_notice_kinds none;
    unsigned char address[2][WEFT_NET_ADDRESS_MAX];

    s->end = (struct weft_net_device){.context = s,
                                      .deliver = deliver,
                                      .settle = settle,
                                      .mark = mark,
                                      .settled = settled,
                                      .ops = s->ops,
                                      .device = s->device};
    for (int i = 0; i < 2; i++) {
        const struct weft_net_open open = {
            .config = &s->config,
            .process = i,
            .processes = 2,
            .one_address_space = true,
            .one_host = true,
            .polls = true,
            .stage_bytes = own_stage && i == 0 ? STREAM_HOST : 0,
            .events = {.context = s, .sent = sent, .delivered = delivered},
            .kinds = &none,
            .device = far ? &s->end : NULL};
        if (weft_net_open(&s->net[i], &weft_transport_shm, &open) != WEFT_OK) {
            s->net[i] = NULL;
            return false;
        }
        weft_net_address(s->net[i], address[i]);
    }
    for (int i = 0; i < 2; i++)
        for (int to = 0; to < 2; to++)
            if (weft_net_connect(s->net[i], to, address[to]) != WEFT_OK)
                return false;
    return weft_net_reg(s->net[1], s->window, STREAM_MOST, false, &s->key) == WEFT_OK;
}

static bool open_memory(struct stream *s)
{
    if (s->ops == NULL) {
        s->source = calloc(1, STREAM_MOST);
        s->window = calloc(1, STREAM_MOST);
    } else {
        s->source = s->ops->alloc(s->device, STREAM_MOST, &s->source_share);
        s->window = s->ops->alloc(s->device, STREAM_MOST, &s->window_share);
    }
    if (s->source != NULL && s->window != NULL)
        return true;
    weft_err(WEFT_ERR_MEMORY, "no memory to measure with: two times %d bytes", STREAM_MOST);
    return false;
}

/* What pieces go through: the network's own memory, as in a job, if it has some. */
static bool open_host(struct stream *s)
{
    struct weft_net_caps caps;

    if (s->ops == NULL)
        return true;
    weft_net_caps(s->net[0], &caps);
    s->host_allocated = caps.stage == NULL;
    s->host = s->host_allocated ? s->ops->host_alloc(s->device, STREAM_HOST) : caps.stage;
    if (s->host == NULL)
        weft_err(WEFT_ERR_MEMORY, "no %d bytes of pinned memory to measure with", STREAM_HOST);
    return s->host != NULL;
}

bool stream_open(struct stream *s, const struct weft_config *config,
                 const struct weft_device_ops *ops, struct weft_device *device, bool through_rings)
{
    *s = (struct stream){
        .config = *config, .ops = ops, .device = device, .through_rings = through_rings};
    if (!open_memory(s) || !open_ends(s) || !open_host(s)) {
        stream_close(s);
        return false;
    }
    s->receives = pthread_create(&s->receiver, NULL, receive, s) == 0;
    if (s->receives)
        return true;
    weft_err(WEFT_ERR_SYSTEM, "no thread to receive with");
    stream_close(s);
    return false;
}

void stream_close(struct stream *s)
{
    __atomic_store_n(&s->stop, 1, __ATOMIC_RELEASE);
    if (s->receives)
        pthread_join(s->receiver, NULL);
    if (s->ops != NULL) { /* what a failed stream has begun ends before its memory goes */
        s->ops->wait(s->device, WEFT_STREAM_SEND);
        s->ops->wait(s->device, WEFT_STREAM_RECEIVE);
    }
    for (int i = 0; i < 2; i++)
        if (s->net[i] != NULL)
            weft_net_close(s->net[i]);
    if (s->ops == NULL) {
        free(s->source);
        free(s->window);
        return;
    }
    if (s->source != NULL)
        s->ops->free(s->device, s->source, &s->source_share);
    if (s->window != NULL)
        s->ops->free(s->device, s->window, &s->window_share);
    if (s->host != NULL && s->host_allocated)
        s->ops->host_free(s->device, s->host);
}

/* ---- moving -------------------------------------------------------------------------------- */

/* What of a stream is under way: pieces that were begun, and given to the network. */
struct run {
    size_t bytes, piece, pieces;
    uint64_t begun, given;
    uint64_t marks[STREAM_DEPTH];
};

static size_t length(const struct run *run, uint64_t i)
{
    const size_t left = run->bytes - i * run->piece;
    return left < run->piece ? left : run->piece;
}

/* From the device to host memory, if there is a device. */
static weft_status begin(struct stream *s, struct run *run, uint32_t depth)
{
    unsigned char *to = s->host + run->begun % depth * run->piece;
    weft_status status = WEFT_OK;

    if (s->ops != NULL)
        status = s->ops->copy(s->device, WEFT_STREAM_SEND, to, s->source + run->begun * run->piece,
                              length(run, run->begun));
    if (s->ops != NULL && status == WEFT_OK)
        status = s->ops->mark(s->device, WEFT_STREAM_SEND, &run->marks[run->begun % depth]);
    run->begun++;
    return status;
}

static weft_status give(struct stream *s, struct run *run, uint32_t depth)
{
    const size_t at = run->given * run->piece;
    const struct weft_net_put put = {
        .process = 1,
        .key = s->key,
        .offset = at,
        .source = s->ops == NULL ? s->source + at : s->host + run->given % depth * run->piece,
        .bytes = length(run, run->given)};
    bool there = true;
    weft_status status = WEFT_OK;

    if (s->ops != NULL)
        status =
            s->ops->passed(s->device, WEFT_STREAM_SEND, run->marks[run->given % depth], &there);
    if (status != WEFT_OK || !there)
        return status;
    status = weft_net_put(s->net[0], &put);
    run->given += status == WEFT_OK;
    return status == WEFT_NET_FULL ? WEFT_OK : status;
}

/* shm sends pieces of one size in order: so many have left as it has said. */
static bool move(struct stream *s, size_t bytes, size_t piece, uint32_t depth)
{
    struct run run = {.bytes = bytes, .piece = piece, .pieces = (bytes + piece - 1) / piece};
    weft_status status = WEFT_OK;

    s->sent = s->delivered = 0;
    while (s->delivered < run.pieces && status == WEFT_OK) {
        bool did = false;
        while (run.begun < run.pieces && run.begun - s->sent < depth && status == WEFT_OK)
            status = begin(s, &run, depth);
        if (run.given < run.begun && status == WEFT_OK)
            status = give(s, &run, depth);
        if (status == WEFT_OK)
            status = weft_net_progress(s->net[0], WEFT_NET_SEND, &did);
        if (__atomic_load_n(&s->failed, __ATOMIC_ACQUIRE) != 0)
            return false;
        if (!did)
            sched_yield();
    }
    return status == WEFT_OK;
}

double stream_rate(struct stream *s, size_t bytes, size_t piece, uint32_t depth)
{
    const uint64_t start = weft_now_ns();
    uint64_t best = UINT64_MAX;

    for (int i = 0; i < REPEAT_LEAST || weft_now_ns() - start < REPEAT_NS; i++) {
        const uint64_t before = weft_now_ns();
        if (!move(s, bytes, piece, depth))
            return 0;
        const uint64_t took = weft_now_ns() - before;
        if (took < best)
            best = took;
    }
    return (double)bytes / (double)(best > 0 ? best : 1);
}
