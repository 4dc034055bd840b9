/*
 * net/verbs/send.c - packets and writes become requests, and completions events. Who has the send
 * lock.
 *
 * A packet is built in a slot of registered memory. A short one travels in its request, and its
 * slot is free at once. A queue's places are free again when a later completion is polled. One
 * request in EVERY asks for one, each write does, and all do while slots are scarce: fewer than
 * caps.depth packets are ever without.
 *
 * A request that fails breaks its connection for good. The first failure says why; those of the
 * requests behind it say nothing new.
 */
#include "base/say.h"
#include "net/verbs/dc/dc.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    EVERY = 4,
    EVENTS = 3 /* of a completion, at most: SENT, READ, LOST */
};

weft_status weft_verbs_queue_open(const struct weft_transport *t, uint32_t index, struct ibv_qp *qp,
                                  struct weft_verbs_queue **queue)
{
    uint32_t items = 1;

    while (items < t->sends)
        items *= 2;
    struct weft_verbs_queue *q = calloc(1, sizeof(*q) + items * sizeof(q->items[0]));
    if (q == NULL)
        return weft_err(WEFT_ERR_MEMORY, "verbs: no memory for a queue of %u requests", t->sends);
    q->qp = qp;
    q->index = index;
    q->depth = t->sends;
    q->mask = items - 1;
    q->made = q->done = t->start;
    *queue = q;
    return WEFT_OK;
}

void weft_verbs_queue_close(struct weft_verbs_queue *queue)
{
    if (queue == NULL)
        return;
    ibv_destroy_qp(queue->qp);
    free(queue);
}

/* ---- requests -------------------------------------------------------------------------------- */

/* The queue for a process, with `places` free on it; NULL: not now. */
static struct weft_verbs_queue *find_queue(struct weft_transport *t, int process, uint32_t places)
{
    struct weft_verbs_peer *peer = &t->peers[process];

    if (weft_verbs_look(&peer->ready) == 0) {
        if (peer->wanted == 0) {
            weft_verbs_tell(&peer->wanted, 1);
            weft_verbs_tell(&t->wanted, t->wanted + 1);
        }
        return NULL;
    }
    if (t->dc != NULL)
        t->dc_ops->choose(t, process);
    struct weft_verbs_queue *queue = peer->queue;
    /* Of the completion queue, room is left for one queue that breaks. */
    const bool room = queue->made - queue->done + queue->reserved + places <= queue->depth &&
                      t->under_way + places + queue->depth <= t->send_cq_most;
    return room && !queue->broken ? queue : NULL;
}

static weft_status post(struct weft_transport *t, struct weft_verbs_queue *queue,
                        const struct weft_verbs_item *item, struct ibv_send_wr *wr)
{
    struct weft_verbs_peer *peer = &t->peers[item->process];
    struct ibv_send_wr *bad;

    queue->unsignalled += item->kind != WEFT_VERBS_PART;
    if (item->kind == WEFT_VERBS_WRITTEN || t->dc != NULL || queue->unsignalled >= EVERY ||
        (item->slot != NULL && t->slots.left < WEFT_VERBS_SLOTS / 2)) {
        wr->send_flags |= IBV_SEND_SIGNALED;
        queue->unsignalled = 0;
        t->under_way++;
    }
    wr->wr_id = (uint64_t)queue->index << 32 | queue->made;
    queue->items[queue->made++ & queue->mask] = *item;
    peer->last = queue->made;
    t->counts.requests++;
    t->counts.inlined += (wr->send_flags & IBV_SEND_INLINE) != 0;
    const int error = t->dc != NULL ? t->dc_ops->post(t, queue, item->process, wr)
                                    : ibv_post_send(queue->qp, wr, &bad);
    return error == 0 ? WEFT_OK
                      : weft_err(WEFT_ERR_NETWORK, "verbs: %s takes no requests to process %d: %s",
                                 t->device.name, item->process, strerror(error));
}

/* ---- packets --------------------------------------------------------------------------------- */

unsigned char *weft_verbs_begin(struct weft_transport *t, int process, size_t *room)
{
    struct weft_verbs_peer *peer = &t->peers[process];

    *room = WEFT_VERBS_LONGEST;
    if (peer->open != NULL || t->slots.left == 0)
        return peer->open;
    struct weft_verbs_queue *queue = find_queue(t, process, 1);
    if (queue == NULL)
        return NULL;
    queue->reserved++;
    t->under_way++;
    peer->open = t->slots.free[--t->slots.left];
    return peer->open;
}

weft_status weft_verbs_commit(struct weft_transport *t, int process, size_t bytes)
{
    struct weft_verbs_peer *peer = &t->peers[process];
    const bool inlined = bytes <= t->inline_most;
    struct ibv_sge sge = {
        .addr = (uintptr_t)peer->open, .length = (uint32_t)bytes, .lkey = t->slots.mr->lkey};
    struct ibv_send_wr wr = {.sg_list = &sge,
                             .num_sge = 1,
                             .opcode = IBV_WR_SEND,
                             .send_flags = inlined ? IBV_SEND_INLINE : 0};
    const struct weft_verbs_item item = {.kind = WEFT_VERBS_PACKET,
                                         .process = process,
                                         .slot = inlined ? NULL : peer->open,
                                         .bytes = bytes};
    const bool broken = peer->queue->broken;
    weft_status status = WEFT_OK;

    peer->queue->reserved--;
    t->under_way--;
    if (!broken)
        status = post(t, peer->queue, &item, &wr);
    if (inlined || broken)
        t->slots.free[t->slots.left++] = peer->open;
    peer->open = NULL;
    return status;
}

/* ---- writes ---------------------------------------------------------------------------------- */

/* DC: a target cannot tell who wrote; so a message says it, and brings the immediate. */
static weft_status post_word(struct weft_transport *t, struct weft_verbs_queue *queue,
                             const struct weft_transport_write *write)
{
    const struct weft_verbs_written said = {.token = t->peers[write->process].address.token,
                                            .process = (uint32_t)t->open.process,
                                            .immediate = (uint32_t)write->immediate};
    struct ibv_sge sge = {.addr = (uintptr_t)&said, .length = sizeof(said)};
    struct ibv_send_wr wr = {
        .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_INLINE};
    const struct weft_verbs_item item = {
        .kind = WEFT_VERBS_WRITTEN, .process = write->process, .cookie = write->cookie};

    return post(t, queue, &item, &wr);
}

weft_status weft_verbs_write(struct weft_transport *t, const struct weft_transport_write *write)
{
    const struct weft_verbs_region *region = write->mr;
    const bool notifies = t->dc == NULL;
    struct weft_verbs_queue *queue = find_queue(t, write->process, notifies ? 1 : 2);

    if (queue == NULL)
        return WEFT_NET_FULL;
    if (region == NULL)
        return WEFT_NET_STAGE;
    struct ibv_sge sge = {.addr = region->address + ((uintptr_t)write->source - region->base),
                          .length = (uint32_t)write->bytes,
                          .lkey = region->mr->lkey};
    struct ibv_send_wr wr = {
        .sg_list = &sge,
        .num_sge = 1,
        .opcode = notifies ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE,
        .imm_data = htonl((uint32_t)write->immediate),
        .wr.rdma = {.remote_addr = weft_verbs_place_base(write->place[0]) + write->offset,
                    .rkey = weft_verbs_place_rkey(write->place[0])}};
    const struct weft_verbs_item item = {.kind = notifies ? WEFT_VERBS_WRITTEN : WEFT_VERBS_PART,
                                         .process = write->process,
                                         .cookie = write->cookie,
                                         .place = write->place[0],
                                         .offset = write->offset,
                                         .bytes = write->bytes};
    const weft_status status = post(t, queue, &item, &wr);

    return status == WEFT_OK && !notifies ? post_word(t, queue, write) : status;
}

/* ---- completions ----------------------------------------------------------------------------- */

/* The requests of a queue before this one are complete. They become events: of RC's, packets to one
 * process, and at most one write behind them; of DC's, one of either. */
static void tell(struct weft_transport *t, struct weft_verbs_queue *queue, uint32_t number,
                 struct weft_transport_event *events, int *told)
{
    int count = *told;

    for (; queue->done != number; queue->done++) {
        const struct weft_verbs_item *item = &queue->items[queue->done & queue->mask];
        const bool packet = item->kind == WEFT_VERBS_PACKET;
        const bool more = packet && count > 0 && events[count - 1].kind == WEFT_EVENT_SENT &&
                          events[count - 1].process == item->process;
        if (item->kind != WEFT_VERBS_PART && !more)
            events[count++] =
                (struct weft_transport_event){.kind = packet ? WEFT_EVENT_SENT : WEFT_EVENT_READ,
                                              .process = item->process,
                                              .value = item->cookie};
        if (packet)
            events[count - 1].count++;
        if (item->slot != NULL)
            t->slots.free[t->slots.left++] = item->slot;
    }
    *told = count;
}

/* The first request of a connection that failed: the event LOST, or an error of the job. */
static weft_status failed(struct weft_transport *t, const struct weft_verbs_item *item,
                          const struct ibv_wc *wc, struct weft_transport_event *event)
{
    const char *why = ibv_wc_status_str(wc->status);
    const bool refused =
        wc->status == IBV_WC_REM_ACCESS_ERR || wc->status == IBV_WC_REM_INV_REQ_ERR;

    if (refused && item->kind != WEFT_VERBS_PACKET)
        return weft_err(WEFT_ERR_PROTOCOL,
                        "verbs: the device of process %d refused %llu bytes at offset %llu of key "
                        "0x%llx, which is no region of that process",
                        item->process, (unsigned long long)item->bytes,
                        (unsigned long long)item->offset, (unsigned long long)item->place);
    snprintf(t->send_text, sizeof(t->send_text), "a %s of %llu bytes on %s: %s (0x%x)",
             item->kind == WEFT_VERBS_PACKET ? "packet" : "write", (unsigned long long)item->bytes,
             t->device.name, why, wc->vendor_err);
    if (t->dc != NULL) /* it serves other processes, too */
        return weft_err(WEFT_ERR_PEER_LOST, "verbs: the initiator of process %d broke: %s",
                        item->process, t->send_text);
    *event = (struct weft_transport_event){
        .kind = WEFT_EVENT_LOST, .process = item->process, .text = t->send_text};
    return WEFT_OK;
}

/* All requests up to its own are complete. *lost: the last event has a text. */
static weft_status complete(struct weft_transport *t, const struct ibv_wc *wc,
                            struct weft_transport_event *events, int *count, bool *lost)
{
    const uint32_t index = (uint32_t)(wc->wr_id >> 32), number = (uint32_t)wc->wr_id;
    struct weft_verbs_queue *queue = index < t->queues_count ? t->queues[index] : NULL;

    t->counts.completions++;
    if (queue == NULL || number - queue->done >= queue->made - queue->done)
        return weft_err(WEFT_ERR_NETWORK,
                        "verbs: %s completed request %u of queue %u, which is not under way",
                        t->device.name, number, index);
    t->under_way -= t->under_way > 0;
    tell(t, queue, number + 1, events, count);
    if (wc->status == IBV_WC_SUCCESS || queue->broken)
        return WEFT_OK;
    queue->broken = *lost = true;
    return failed(t, &queue->items[number & queue->mask], wc, &events[(*count)++]);
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
