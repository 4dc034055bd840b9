/*
 * net/verbs/queue.c - a send queue: one doorbell rings for a batch of requests. Progress thread
 * only.
 *
 * Most requests ask for no completion. One at the end of a batch does, if the batch holds something
 * that only a completion tells: a source that was not copied, or the read that fences puts without
 * a notice. And one in a quarter of the queue always does, since a queue's places are free again
 * only when a later completion has been polled. (What a notified put of inline data needs to know
 * comes with the target's acknowledgement.)
 */
#include "base/say.h"
#include "net/verbs/dc/dc.h"

#include <stdlib.h>
#include <string.h>

enum {
    BEHIND = 2,             /* requests that ringing may add: a fence, a marker */
    FENCED_BEHIND = 1 << 30 /* the last fence never seems to be ahead, however long ago it was */
};

weft_status weft_verbs_queue_open(struct weft_net *net, uint32_t index, struct ibv_qp *qp,
                                  struct weft_verbs_queue **queue)
{
    const size_t batch = (size_t)(WEFT_VERBS_BATCH + BEHIND) * net->request_bytes;
    struct weft_verbs_queue *c = aligned_alloc(64, sizeof(*c) + batch);

    if (c == NULL)
        return weft_err(WEFT_ERR_MEMORY, "verbs: no memory for a batch of requests");
    *c = (struct weft_verbs_queue){
        .qp = qp, .index = index, .process = (int)index, .depth = net->sends};
    c->made = c->posted = c->done = c->fenced = net->start;
    *queue = c;
    return WEFT_OK;
}

void weft_verbs_queue_close(struct weft_verbs_queue *queue)
{
    if (queue == NULL)
        return;
    ibv_destroy_qp(queue->qp);
    free(queue);
}

static struct weft_verbs_request *take_request(struct weft_net *net, struct weft_verbs_queue *queue)
{
    queue->made++;
    return weft_verbs_batch_at(net, queue, queue->batched++);
}

bool weft_verbs_queue_turn(struct weft_net *net, struct weft_verbs_queue *queue, int process)
{
    if (queue->process != process && queue->batched > 0 && net->broken == WEFT_OK)
        net->broken = weft_verbs_queue_ring(net, queue);
    if (queue->process != process && queue->batched > 0)
        return false;
    queue->process = process;
    return true;
}

struct weft_verbs_request *weft_verbs_queue_next(struct weft_net *net,
                                                 struct weft_verbs_queue *queue)
{
    if (queue->batched >= WEFT_VERBS_BATCH || queue->made - queue->done + BEHIND >= queue->depth)
        return NULL;
    return take_request(net, queue);
}

/*
 * That a write is complete says that the target's device has it, and will not lose it; not that a
 * processor there would read it: it may be on its way through the target's bus. A read on the same
 * connection is executed after the writes before it, and its own read of memory does not pass them
 * on the bus; so once it is complete, they are visible to everybody. One read for a whole batch.
 */
static void add_fence(struct weft_net *net, struct weft_verbs_queue *queue)
{
    const struct weft_verbs_address *to = &net->peers[queue->process].address;
    struct weft_verbs_request *r = take_request(net, queue);

    weft_verbs_request_read(r, to->words + (uint64_t)net->open.processes * sizeof(uint64_t),
                            to->words_key);
    weft_verbs_request_gather(r, (uint64_t)(uintptr_t)net->scratch, sizeof(uint64_t),
                              net->scratch_mr->lkey);
    net->counts.fences++;
}

/* DC: a target cannot tell who its receives are from, so their sender says how many there were. */
static void add_marker(struct weft_net *net, struct weft_verbs_queue *queue)
{
    struct weft_verbs_sender *sender = net->peers[queue->process].sender;
    const struct weft_verbs_message marker = {.kind = WEFT_VERBS_MARKER,
                                              .process = (uint32_t)net->open.process,
                                              .sequence = sender->told};
    struct weft_verbs_request *r = take_request(net, queue);

    weft_verbs_request_begin(r, IBV_WR_SEND);
    weft_verbs_request_inline(r, &marker, sizeof(marker), NULL, 0);
    net->counts.markers++;
}

static void link_batch(struct weft_net *net, struct weft_verbs_queue *queue, bool fenced)
{
    const uint32_t first = queue->made - queue->batched + 1;

    for (uint32_t i = 0; i < queue->batched; i++) {
        struct weft_verbs_request *r = weft_verbs_batch_at(net, queue, i);
        const bool last = i + 1 == queue->batched;
        r->wr.next = last ? NULL : &weft_verbs_batch_at(net, queue, i + 1)->wr;
        r->wr.wr_id = weft_verbs_request_id(queue->index, fenced && last, first + i);
    }
}

weft_status weft_verbs_queue_ring(struct weft_net *net, struct weft_verbs_queue *queue)
{
    struct ibv_send_wr *bad;
    int error;

    if (queue->batched == 0 || net->under_way + queue->depth >= net->send_cq_most)
        return WEFT_OK; /* of the completion queue, room is left for one queue that breaks */
    if (queue->want_marker)
        add_marker(net, queue);
    if (queue->want_fence)
        add_fence(net, queue);
    link_batch(net, queue, queue->want_fence);
    queue->unsignalled += queue->batched;
    if (queue->want_completion || queue->want_fence || queue->want_marker ||
        queue->unsignalled >= queue->depth / 4) {
        weft_verbs_batch_at(net, queue, queue->batched - 1)->wr.send_flags |= IBV_SEND_SIGNALED;
        queue->unsignalled = 0;
        net->under_way++;
    }
    if (net->dc != NULL)
        error = net->dc_ops->post(net, queue);
    else
        error = ibv_post_send(queue->qp, &weft_verbs_batch_at(net, queue, 0)->wr, &bad);
    net->counts.doorbells++;
    queue->posted = net->peers[queue->process].sender->last = queue->made;
    queue->batched = 0;
    queue->want_completion = queue->want_fence = queue->want_marker = false;
    if (error != 0)
        return weft_err(WEFT_ERR_NETWORK, "verbs: %s takes no requests to process %d: %s",
                        net->device.name, queue->process, strerror(error));
    return WEFT_OK;
}

weft_status weft_verbs_queue_complete(struct weft_net *net, uint64_t id)
{
    const uint32_t index = weft_verbs_id_queue(id), sequence = weft_verbs_id_sequence(id);
    struct weft_verbs_queue *queue = index < net->queues_count ? net->queues[index] : NULL;

    if (queue == NULL || sequence - queue->done > queue->posted - queue->done)
        return weft_err(WEFT_ERR_NETWORK,
                        "verbs: %s completed request %u of queue %u, which is not under way",
                        net->device.name, sequence, index);
    net->under_way -= net->under_way > 0;
    queue->done = sequence;
    if (weft_verbs_id_fence(id))
        queue->fenced = sequence;
    else if (sequence - queue->fenced > FENCED_BEHIND)
        queue->fenced = sequence - FENCED_BEHIND;
    return WEFT_OK;
}
