/*
 * net/verbs/send.c - packets and writes become requests, and completions events. Who has the send
 * lock.
 *
 * What is under way are operations, each with a slot of registered memory in which a packet is
 * built. They are in the list of their queue, oldest first, and idle again when their own or a
 * later completion is polled. One request in EVERY asks for one, each write does, and all do while
 * operations are scarce: fewer than caps.depth packets are ever without.
 *
 * A request that fails breaks its connection for good. The first failure says why; those of the
 * requests behind it say nothing new.
 */
#include "base/say.h"
#include "net/verbs/dc/dc.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum {
    EVERY = 4,
    EVENTS = 3 /* of a completion, at most: SENT, READ, LOST */
};

/* ---- requests -------------------------------------------------------------------------------- */

/* Whether a process can be sent to; if not, it is to be connected. */
static bool is_ready(struct weft_transport *t, int process)
{
    struct weft_verbs_peer *peer = &t->peers[process];

    if (weft_verbs_look(&peer->ready) != 0)
        return true;
    if (peer->wanted == 0) {
        weft_verbs_tell(&peer->wanted, 1);
        weft_verbs_tell(&t->wanted, t->wanted + 1);
    }
    return false;
}

/* The queue for a process; NULL: it has no room now. */
static struct weft_verbs_queue *find_queue(struct weft_transport *t, int process)
{
    struct weft_verbs_queue *queue =
        t->dc != NULL ? t->dc_ops->choose(t, process) : &t->peers[process].own;

    return queue->under_way < t->sends ? queue : NULL;
}

/* An idle operation; NULL: there is none. */
static struct weft_verbs_op *take_op(struct weft_transport *t, int process,
                                     const struct weft_verbs_op *as)
{
    struct weft_verbs_op *op = t->idle;

    if (op == NULL)
        return NULL;
    t->idle = op->next;
    t->idle_count--;
    unsigned char *slot = op->slot;
    *op = *as;
    op->slot = slot;
    op->process = process;
    return op;
}

static weft_status post(struct weft_transport *t, struct weft_verbs_queue *queue,
                        struct weft_verbs_op *op, struct ibv_send_wr *wr)
{
    struct ibv_send_wr *bad;

    if (op->kind == WEFT_VERBS_WRITTEN || t->dc != NULL || ++queue->unsignalled >= EVERY ||
        t->idle_count < WEFT_VERBS_OPS / 2) {
        wr->send_flags |= IBV_SEND_SIGNALED;
        queue->unsignalled = 0;
    }
    wr->wr_id = (uint64_t)(op - t->ops);
    op->queue = queue;
    op->next = NULL;
    *(queue->first != NULL ? &queue->last->next : &queue->first) = op;
    queue->last = op;
    queue->under_way++;
    t->peers[op->process].under_way++;
    t->counts.requests++;
    const int error = t->dc != NULL ? t->dc_ops->post(queue->qp, &t->peers[op->process], wr)
                                    : ibv_post_send(queue->qp, wr, &bad);
    return error == 0 ? WEFT_OK
                      : weft_err(WEFT_ERR_NETWORK, "verbs: %s takes no requests to process %d: %s",
                                 t->device.name, op->process, strerror(error));
}

/* ---- packets --------------------------------------------------------------------------------- */

unsigned char *weft_verbs_begin(struct weft_transport *t, int process, size_t *room)
{
    struct weft_verbs_peer *peer = &t->peers[process];

    *room = WEFT_VERBS_LONGEST;
    if (peer->open == NULL && is_ready(t, process))
        peer->open = take_op(t, process, &(struct weft_verbs_op){.kind = WEFT_VERBS_PACKET});
    return peer->open != NULL ? peer->open->slot : NULL;
}

weft_status weft_verbs_commit(struct weft_transport *t, int process, size_t bytes)
{
    struct weft_verbs_op *op = t->peers[process].open;
    struct weft_verbs_queue *queue = find_queue(t, process);
    struct ibv_sge sge = {
        .addr = (uintptr_t)op->slot, .length = (uint32_t)bytes, .lkey = t->mr->lkey};
    struct ibv_send_wr wr = {.sg_list = &sge,
                             .num_sge = 1,
                             .opcode = IBV_WR_SEND,
                             .send_flags = bytes <= t->inline_most ? IBV_SEND_INLINE : 0};

    if (queue == NULL)
        return WEFT_NET_FULL;
    t->peers[process].open = NULL;
    op->bytes = bytes;
    return post(t, queue, op, &wr);
}

/* ---- writes ---------------------------------------------------------------------------------- */

weft_status weft_verbs_write(struct weft_transport *t, const struct weft_transport_write *write)
{
    const struct weft_verbs_region *region = write->mr;

    if (region == NULL)
        return WEFT_NET_STAGE;
    if (!is_ready(t, write->process) || t->idle == NULL)
        return WEFT_NET_FULL;
    struct weft_verbs_queue *queue = find_queue(t, write->process);
    if (queue == NULL)
        return WEFT_NET_FULL;
    struct ibv_sge sge = {.addr = region->address + ((uintptr_t)write->source - region->base),
                          .length = (uint32_t)write->bytes,
                          .lkey = region->mr->lkey};
    struct ibv_send_wr wr = {
        .sg_list = &sge,
        .num_sge = 1,
        .opcode = t->dc != NULL ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_WRITE_WITH_IMM,
        .imm_data = htonl((uint32_t)write->immediate),
        .wr.rdma = {.remote_addr = weft_verbs_place_base(write->place[0]) + write->offset,
                    .rkey = weft_verbs_place_rkey(write->place[0])}};
    const struct weft_verbs_op op = {.kind = WEFT_VERBS_WRITTEN,
                                     .cookie = write->cookie,
                                     .place = write->place[0],
                                     .offset = write->offset,
                                     .bytes = write->bytes};

    return post(t, queue, take_op(t, write->process, &op), &wr);
}

/* ---- completions ----------------------------------------------------------------------------- */

/* An operation and all before it are complete. They become events: of RC's, packets to one process,
 * and at most one write behind them; of DC's, one of either. */
static void tell(struct weft_transport *t, const struct weft_verbs_op *last,
                 struct weft_transport_event *events, int *told)
{
    struct weft_verbs_queue *queue = last->queue;
    struct weft_verbs_op *op;
    int count = *told;

    do {
        op = queue->first;
        queue->first = op->next;
        queue->under_way--;
        t->peers[op->process].under_way--;
        const bool packet = op->kind == WEFT_VERBS_PACKET;
        const bool more = packet && count > 0 && events[count - 1].kind == WEFT_EVENT_SENT &&
                          events[count - 1].process == op->process;
        if (!more)
            events[count++] =
                (struct weft_transport_event){.kind = packet ? WEFT_EVENT_SENT : WEFT_EVENT_READ,
                                              .process = op->process,
                                              .value = op->cookie};
        if (packet)
            events[count - 1].count++;
        op->queue = NULL;
        weft_verbs_idle(t, op);
    } while (op != last);
    *told = count;
}

/* The first request of a connection that failed: the event LOST, or an error of the job. */
static weft_status failed(struct weft_transport *t, const struct weft_verbs_op *op,
                          const struct ibv_wc *wc, struct weft_transport_event *event)
{
    const char *why = ibv_wc_status_str(wc->status);
    const bool refused =
        wc->status == IBV_WC_REM_ACCESS_ERR || wc->status == IBV_WC_REM_INV_REQ_ERR;

    if (refused && op->kind != WEFT_VERBS_PACKET)
        return weft_err(WEFT_ERR_PROTOCOL,
                        "verbs: the device of process %d refused %llu bytes at offset %llu of key "
                        "0x%llx, which is no region of that process",
                        op->process, (unsigned long long)op->bytes, (unsigned long long)op->offset,
                        (unsigned long long)op->place);
    snprintf(t->send_text, sizeof(t->send_text), "a %s of %llu bytes on %s: %s (0x%x)",
             op->kind == WEFT_VERBS_PACKET ? "packet" : "write", (unsigned long long)op->bytes,
             t->device.name, why, wc->vendor_err);
    if (t->dc != NULL) /* it serves other processes, too */
        return weft_err(WEFT_ERR_PEER_LOST, "verbs: the initiator of process %d broke: %s",
                        op->process, t->send_text);
    *event = (struct weft_transport_event){
        .kind = WEFT_EVENT_LOST, .process = op->process, .text = t->send_text};
    return WEFT_OK;
}

/* *lost: the last event has a text. */
static weft_status complete(struct weft_transport *t, const struct ibv_wc *wc,
                            struct weft_transport_event *events, int *count, bool *lost)
{
    const struct weft_verbs_op *op = wc->wr_id < WEFT_VERBS_OPS ? &t->ops[wc->wr_id] : NULL;

    t->counts.completions++;
    if (op == NULL || op->queue == NULL)
        return weft_err(WEFT_ERR_NETWORK,
                        "verbs: %s completed request %llu, which is not under way", t->device.name,
                        (unsigned long long)wc->wr_id);
    tell(t, op, events, count);
    *lost = wc->status != IBV_WC_SUCCESS;
    return *lost ? failed(t, op, wc, &events[(*count)++]) : WEFT_OK;
}

int weft_verbs_poll_send(struct weft_transport *t, struct weft_transport_event *events, int most)
{
    weft_status status = WEFT_OK;
    bool lost = false;
    int count = 0, taken = 1;

    while (most - count >= EVENTS && taken > 0 && status == WEFT_OK && !lost) {
        struct ibv_wc wc;
        taken = ibv_poll_cq(t->send_cq, 1, &wc);
        if (taken > 0)
            status = complete(t, &wc, events, &count, &lost);
    }
    if (taken < 0)
        status =
            weft_err(WEFT_ERR_NETWORK, "verbs: completions of %s cannot be had", t->device.name);
    return status == WEFT_OK ? count : -(int)status;
}
