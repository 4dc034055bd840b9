/*
 * net/verbs/put.c - the send side: puts become requests.
 *
 * Order. A reliable connection executes requests in the order in which they were posted, and the
 * completion of a receive comes after the data of all requests before it. So: data before its
 * notice (it is the same request), before later notices, and later data over earlier, for writes.
 * A put that travels as a message lands when the receiver's thread has copied it: after all writes
 * posted before it, but a write posted behind it could overtake the copy. So a write waits until
 * the messages before it are acknowledged; a notice without data need not, for notices and messages
 * are served in one order by one thread.
 *
 * Undivided words. Hardware writes an aligned word of up to 8 bytes in one transaction of the bus;
 * no specification says so, but every program that polls memory written by RDMA rests on it. A
 * device that is software copies with the processor, in whatever pieces its kernel likes, byte by
 * byte where that copies with `rep movsb`: to such a device words travel as messages, and
 * order/atomic.h stores them. WEFT_VERBS_WORDS=message asks for it of any device.
 */
#include "base/say.h"
#include "net/verbs/dc/dc.h"

#include <stdlib.h>
#include <string.h>

enum { PROMPT = 4 /* puts under way up to which each rings at once; above, they gather */ };

/* ---- a sender ------------------------------------------------------------------------------- */

static weft_status sender_open(struct weft_net *net, int process)
{
    struct weft_verbs_peer *peer = &net->peers[process];
    struct weft_verbs_sender *sender =
        calloc(1, sizeof(*sender) + net->pieces_most * sizeof(sender->pieces[0]));

    if (sender == NULL)
        return weft_err(WEFT_ERR_MEMORY, "verbs: no memory for puts to process %d", process);
    weft_status status =
        net->dc == NULL ? weft_verbs_queue_open(net, (uint32_t)process, peer->qp, &sender->queue)
                        : weft_verbs_way(net, process, &sender->ah);
    if (status != WEFT_OK) {
        free(sender);
        return status;
    }
    if (net->dc == NULL) {
        net->queues[process] = sender->queue;
        peer->qp = NULL; /* the queue's */
    }
    sender->told = sender->acked = sender->message = peer->address.sequence;
    peer->sender = sender;
    return WEFT_OK;
}

void weft_verbs_sender_close(struct weft_net *net, struct weft_verbs_sender *sender)
{
    if (sender == NULL)
        return;
    for (uint32_t i = sender->released; i != sender->made; i++) {
        struct weft_verbs_piece *piece = &sender->pieces[i % net->pieces_most];
        WEFT_VERBS_CLOSE(ibv_dereg_mr, piece->mr);
    }
    if (sender->active && sender->mr != NULL)
        ibv_dereg_mr(sender->mr);
    WEFT_VERBS_CLOSE(ibv_destroy_ah, sender->ah);
    free(sender);
}

/* OK: the process can be put to. FULL: not yet; the receive side has been asked to connect. */
static weft_status reach(struct weft_net *net, int process)
{
    struct weft_verbs_peer *peer = &net->peers[process];

    switch (weft_verbs_state_of(peer)) {
    case WEFT_VERBS_READY:
        return peer->sender != NULL ? WEFT_OK : sender_open(net, process);
    case WEFT_VERBS_IDLE:
        weft_verbs_set_state(peer, WEFT_VERBS_WANTED);
        __atomic_add_fetch(&net->wanted, 1, __ATOMIC_RELEASE);
        return WEFT_NET_FULL;
    case WEFT_VERBS_FAILED:
        return weft_err(WEFT_ERR_PEER_LOST, "verbs: process %d cannot be reached", process);
    default:
        return WEFT_NET_FULL;
    }
}

/* ---- from puts to requests ------------------------------------------------------------------- */

/* How a piece of a put travels. */
struct plan {
    size_t bytes;
    bool message, last;
    enum { COPY_INLINE, COPY_SLOT, COPY_NONE } copy;
};

/* Whether the whole put is one that must arrive undivided, at a device that may divide it. */
static bool is_word(const struct weft_net *net, const struct weft_net_put *put)
{
    const uint64_t at = weft_verbs_key_base(put->key) + put->offset;

    return (put->bytes == 2 || put->bytes == 4 || put->bytes == 8) &&
           (at & (put->bytes - 1)) == 0 && net->peers[put->process].address.words_atomically == 0;
}

static struct plan make_plan(const struct weft_net *net, const struct weft_verbs_sender *sender)
{
    const struct weft_net_put *put = &sender->put;
    const struct weft_verbs_address *to = &net->peers[put->process].address;
    struct plan plan = {.bytes = put->bytes - sender->done};
    size_t most = net->device.port_attr.max_msg_sz, head = 0;

    plan.message =
        put->bytes != 0 && ((put->key & WEFT_VERBS_BY_MESSAGE) != 0 || is_word(net, put));
    if (plan.message) {
        head = sizeof(struct weft_verbs_message);
        most = (to->buffer < net->slots.bytes ? to->buffer : net->slots.bytes) - head;
    }
    if (head + plan.bytes <= net->inline_most && !put->device) {
        plan.copy = COPY_INLINE;
    } else if (plan.message || !sender->registered) {
        plan.copy = COPY_SLOT;
        if (most > net->slots.bytes - head)
            most = net->slots.bytes - head;
    } else {
        plan.copy = COPY_NONE;
    }
    if (plan.bytes > most)
        plan.bytes = most;
    plan.last = sender->done + plan.bytes == put->bytes;
    return plan;
}

/* Whether the piece has to wait: for the target's receives, for messages before it, for a slot. */
static bool must_wait(const struct weft_net *net, const struct weft_verbs_sender *sender,
                      const struct plan *plan)
{
    const bool receives = plan->message || (plan->last && sender->put.notice != 0);

    return sender->made - sender->landed == net->pieces_most ||
           (receives && sender->told - sender->acked >= net->credit) ||
           (!plan->message && plan->bytes != 0 &&
            !weft_verbs_reached(sender->acked, sender->message)) ||
           (plan->copy == COPY_SLOT && net->slots.left == 0);
}

/* What the piece's request says; a message has a head before its data. */
static void fill(struct weft_net *net, struct weft_verbs_sender *sender, const struct plan *plan,
                 struct weft_verbs_request *r, const struct weft_verbs_piece *piece)
{
    const struct weft_net_put *put = &sender->put;
    const unsigned char *source = (const unsigned char *)put->source + sender->done;
    const uint64_t remote = weft_verbs_key_base(put->key) + put->offset + sender->done;
    const uint32_t bytes = (uint32_t)plan->bytes, notice = plan->last ? put->notice : 0;
    const struct weft_verbs_message head = {.kind = WEFT_VERBS_PUT,
                                            .process = (uint32_t)net->open.process,
                                            .bytes = bytes,
                                            .notice = notice,
                                            .key = put->key,
                                            .offset = put->offset + sender->done};
    const uint32_t head_bytes = plan->message ? sizeof(head) : 0;

    if (plan->message)
        weft_verbs_request_begin(r, IBV_WR_SEND);
    else
        weft_verbs_request_write(r, bytes != 0 ? remote : 0,
                                 bytes != 0 ? weft_verbs_key_rkey(put->key) : 0, notice);
    if (plan->copy == COPY_INLINE) {
        weft_verbs_request_inline(r, &head, head_bytes, source, bytes);
    } else if (plan->copy == COPY_SLOT) {
        unsigned char *copy = weft_verbs_slot(&net->slots, piece->slot);
        memcpy(copy, &head, head_bytes);
        memcpy(copy + head_bytes, source, bytes);
        weft_verbs_request_gather(r, (uint64_t)(uintptr_t)copy, head_bytes + bytes,
                                  net->slots.mr->lkey);
    } else {
        weft_verbs_request_gather(r, sender->address + sender->done, bytes, sender->lkey);
    }
}

/* The piece's own record; what its request, the batch and the target are to do about it. */
static struct weft_verbs_piece *add_piece(struct weft_net *net, struct weft_verbs_sender *sender,
                                          const struct plan *plan)
{
    struct weft_verbs_piece *piece = &sender->pieces[sender->made++ % net->pieces_most];
    const bool notice = plan->last && sender->put.notice != 0;

    *piece = (struct weft_verbs_piece){
        .cookie = sender->put.cookie,
        .slot = plan->copy == COPY_SLOT ? net->slots.free[--net->slots.left] : -1,
        .mr = plan->last ? sender->mr : NULL,
        .last = plan->last,
        .waits = plan->copy != COPY_INLINE,
        .notified = plan->message || notice,
        .empty = plan->bytes == 0 && !notice,
        .key = sender->put.key,
        .offset = sender->put.offset + sender->done,
        .bytes = plan->bytes};
    sender->told += piece->notified;
    piece->told = sender->told;
    if (plan->message)
        sender->message = sender->told;
    return piece;
}

/* The next piece becomes a request of the batch. False: it has to wait. */
static bool issue(struct weft_net *net, struct weft_verbs_sender *sender)
{
    const struct plan plan = make_plan(net, sender);
    struct weft_verbs_queue *queue = sender->queue;
    struct weft_verbs_request *r = NULL;

    if (must_wait(net, sender, &plan) || !weft_verbs_queue_turn(net, queue, sender->put.process))
        return false;
    if (plan.bytes != 0 || sender->put.notice != 0) {
        r = weft_verbs_queue_next(net, queue);
        if (r == NULL)
            return false;
        net->counts.requests++;
    }
    struct weft_verbs_piece *piece = add_piece(net, sender, &plan);
    piece->sequence = queue->made;
    if (r != NULL) {
        fill(net, sender, &plan, r, piece);
        queue->want_completion |= piece->waits;
        queue->want_fence = !piece->notified;
        queue->want_marker |= net->dc != NULL && piece->notified;
        sender->last = queue->made;
    }
    sender->done += plan.bytes;
    sender->active = !plan.last;
    if (plan.last && !sender->registered) { /* all of it was copied */
        piece->sent = true;
        net->open.events.sent(net->open.events.context, piece->cookie);
    }
    return true;
}

/* Issues what it can of the put that was accepted last. */
static weft_status pump(struct weft_net *net, struct weft_verbs_sender *sender, bool *did)
{
    weft_status status = WEFT_OK;

    while (sender->active && status == WEFT_OK) {
        if (issue(net, sender)) {
            *did = true;
            continue;
        }
        if (sender->queue->batched < WEFT_VERBS_BATCH)
            break;
        const uint32_t posted = sender->queue->posted;
        status = weft_verbs_queue_ring(net, sender->queue);
        if (sender->queue->posted == posted)
            break;
    }
    return status;
}

/* Where the device reads the source, if it is not copied. */
static void find_source(struct weft_net *net, struct weft_verbs_sender *sender)
{
    const struct weft_net_put *put = &sender->put;

    sender->mr = NULL;
    sender->registered = false;
    if (put->bytes <= net->inline_most || (put->key & WEFT_VERBS_BY_MESSAGE) != 0)
        return;
    sender->registered = weft_verbs_memory_find(&net->memory, put->source, put->bytes,
                                                &sender->address, &sender->lkey);
    if (sender->registered || put->bytes <= (uint64_t)net->open.config->verbs_copy)
        return;
    sender->mr = ibv_reg_mr(net->pd, (void *)(uintptr_t)put->source, put->bytes, 0);
    sender->registered = sender->mr != NULL; /* if not, it is copied piece by piece */
    if (sender->registered) {
        sender->address = (uint64_t)(uintptr_t)put->source;
        sender->lkey = sender->mr->lkey;
    }
}

/* What the processor would have to copy, or the device cannot read, must come from host memory. */
static bool must_stage(struct weft_net *net, const struct weft_net_put *put)
{
    uint64_t address;
    uint32_t lkey;

    return put->device &&
           (put->bytes <= net->inline_most || (put->key & WEFT_VERBS_BY_MESSAGE) != 0 ||
            is_word(net, put) ||
            !weft_verbs_memory_find(&net->memory, put->source, put->bytes, &address, &lkey));
}

/* What a put or a round comes to; also a doorbell in it, rung for another's requests, may have
 * broken the network (weft_verbs_queue_turn). */
static weft_status broken(struct weft_net *net, weft_status status)
{
    if (net->broken == WEFT_OK)
        net->broken = status;
    return net->broken;
}

weft_status weft_verbs_put(struct weft_net *net, const struct weft_net_put *put)
{
    bool did = false;

    if (net->broken != WEFT_OK)
        return net->broken;
    if (must_stage(net, put))
        return WEFT_NET_STAGE;
    weft_status status = reach(net, put->process);
    if (status != WEFT_OK)
        return status;
    struct weft_verbs_sender *sender = net->peers[put->process].sender;
    if (sender->active || sender->made - sender->landed == net->pieces_most)
        return WEFT_NET_FULL;
    if (net->dc != NULL)
        net->dc_ops->choose(net, put->process);
    sender->put = *put;
    sender->done = 0;
    sender->active = true;
    find_source(net, sender);
    net->counts.puts++;
    net->counts.notified += put->notice != 0;
    if (!sender->listed) {
        sender->listed = true;
        net->busy[net->busy_count++] = put->process;
    }
    status = pump(net, sender, &did);
    if (status == WEFT_OK && sender->made - sender->landed <= PROMPT)
        status = weft_verbs_queue_ring(net, sender->queue);
    return broken(net, status);
}

/* ---- progress -------------------------------------------------------------------------------- */

static weft_status serve(struct weft_net *net, int process, bool *did)
{
    struct weft_verbs_sender *sender = net->peers[process].sender;
    weft_status status = weft_verbs_read_ack(net, process, sender);

    if (status != WEFT_OK)
        return status;
    weft_verbs_report(net, sender, did);
    status = pump(net, sender, did);
    return status == WEFT_OK ? weft_verbs_queue_ring(net, sender->queue) : status;
}

weft_status weft_verbs_progress_send(struct weft_net *net, bool *did)
{
    if (net->busy_count == 0)
        return net->broken;
    weft_status status = net->broken;
    if (status == WEFT_OK)
        status = weft_verbs_poll_completions(net, did);
    for (uint32_t i = 0; i < net->busy_count && status == WEFT_OK;) {
        const int process = net->busy[i];
        struct weft_verbs_sender *sender = net->peers[process].sender;
        status = serve(net, process, did);
        if (status == WEFT_OK && !sender->active && sender->landed == sender->made) {
            sender->listed = false;
            net->busy[i] = net->busy[--net->busy_count];
        } else {
            i++;
        }
    }
    return broken(net, status);
}
