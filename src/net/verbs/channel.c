/*
 * net/verbs/channel.c - see the header.
 *
 * Most requests ask for no completion. One at the end of a batch does, if the batch holds something
 * that only a completion tells: a source that was not copied, or the read that fences puts without
 * a notice. And one in a quarter of the queue always does, since a queue's places are free again
 * only when a later completion has been polled. (What a notified put of inline data needs to know
 * comes with the target's acknowledgement.)
 */
#include "net/verbs/channel.h"

#include "base/say.h"
#include "net/verbs/dc/dc.h"

#include <stdlib.h>
#include <string.h>

enum {
    BEHIND = 2,             /* requests that ringing may add: a fence, a marker */
    FENCED_BEHIND = 1 << 30 /* the last fence never seems to be ahead, however long ago it was */
};

weft_status weft_verbs_channel_open(struct weft_net *net, uint32_t index, struct ibv_qp *qp,
                                    struct weft_verbs_channel **channel)
{
    struct weft_verbs_channel *c = calloc(1, sizeof(*c));
    unsigned char *batch =
        aligned_alloc(64, (size_t)(WEFT_VERBS_BATCH + BEHIND) * net->request_bytes);

    if (c == NULL || batch == NULL) {
        free(c);
        free(batch);
        return weft_err(WEFT_ERR_MEMORY, "verbs: no memory for a batch of requests");
    }
    c->qp = qp;
    c->index = index;
    c->process = (int)index;
    c->depth = net->sends;
    c->made = c->posted = c->done = c->fenced = net->start;
    c->batch = batch;
    *channel = c;
    return WEFT_OK;
}

void weft_verbs_channel_close(struct weft_verbs_channel *channel)
{
    if (channel == NULL)
        return;
    ibv_destroy_qp(channel->qp);
    free(channel->batch);
    free(channel);
}

static struct weft_verbs_request *take(struct weft_net *net, struct weft_verbs_channel *channel)
{
    channel->made++;
    return weft_verbs_batch_at(net, channel, channel->batched++);
}

bool weft_verbs_channel_turn(struct weft_net *net, struct weft_verbs_channel *channel, int process)
{
    if (channel->process != process && channel->batched > 0 && net->broken == WEFT_OK)
        net->broken = weft_verbs_channel_ring(net, channel);
    if (channel->process != process && channel->batched > 0)
        return false;
    channel->process = process;
    return true;
}

struct weft_verbs_request *weft_verbs_channel_next(struct weft_net *net,
                                                   struct weft_verbs_channel *channel)
{
    if (channel->batched >= WEFT_VERBS_BATCH ||
        channel->made - channel->done + BEHIND >= channel->depth)
        return NULL;
    return take(net, channel);
}

/*
 * That a write is complete says that the target's device has it, and will not lose it; not that a
 * processor there would read it: it may be on its way through the target's bus. A read on the same
 * connection is executed after the writes before it, and its own read of memory does not pass them
 * on the bus; so once it is complete, they are visible to everybody. One read for a whole batch.
 */
static void add_fence(struct weft_net *net, struct weft_verbs_channel *channel)
{
    const struct weft_verbs_address *to = &net->peers[channel->process].address;
    struct weft_verbs_request *r = take(net, channel);

    weft_verbs_request_read(r, to->words + (uint64_t)net->open.processes * sizeof(uint64_t),
                            to->words_key);
    weft_verbs_request_gather(r, (uint64_t)(uintptr_t)net->scratch, sizeof(uint64_t),
                              net->scratch_mr->lkey);
    net->counts.fences++;
}

/* DC: a target cannot tell who its receives are from, so their sender says how many there were. */
static void add_marker(struct weft_net *net, struct weft_verbs_channel *channel)
{
    struct weft_verbs_sender *sender = net->peers[channel->process].sender;
    const struct weft_verbs_message marker = {.kind = WEFT_VERBS_MARKER,
                                              .process = (uint32_t)net->open.process,
                                              .sequence = sender->told};
    struct weft_verbs_request *r = take(net, channel);

    weft_verbs_request_begin(r, IBV_WR_SEND);
    weft_verbs_request_inline(r, &marker, sizeof(marker), NULL, 0);
    net->counts.markers++;
}

static void link_batch(struct weft_net *net, struct weft_verbs_channel *channel, bool fenced)
{
    const uint32_t first = channel->made - channel->batched + 1;

    for (uint32_t i = 0; i < channel->batched; i++) {
        struct weft_verbs_request *r = weft_verbs_batch_at(net, channel, i);
        const bool last = i + 1 == channel->batched;
        r->wr.next = last ? NULL : &weft_verbs_batch_at(net, channel, i + 1)->wr;
        r->wr.wr_id = weft_verbs_request_id(channel->index, fenced && last, first + i);
    }
}

weft_status weft_verbs_channel_ring(struct weft_net *net, struct weft_verbs_channel *channel)
{
    struct ibv_send_wr *bad;
    int error;

    if (channel->batched == 0 || net->under_way + channel->depth >= net->send_cq_most)
        return WEFT_OK; /* of the completion queue, room is left for one queue that breaks */
    if (channel->want_marker)
        add_marker(net, channel);
    if (channel->want_fence)
        add_fence(net, channel);
    link_batch(net, channel, channel->want_fence);
    channel->unsignalled += channel->batched;
    if (channel->want_completion || channel->want_fence || channel->want_marker ||
        channel->unsignalled >= channel->depth / 4) {
        weft_verbs_batch_at(net, channel, channel->batched - 1)->wr.send_flags |= IBV_SEND_SIGNALED;
        channel->unsignalled = 0;
        net->under_way++;
    }
    if (net->dc != NULL)
        error = weft_verbs_dc_post(net, channel);
    else
        error = ibv_post_send(channel->qp, &weft_verbs_batch_at(net, channel, 0)->wr, &bad);
    net->counts.doorbells++;
    channel->posted = net->peers[channel->process].sender->last = channel->made;
    channel->batched = 0;
    channel->want_completion = channel->want_fence = channel->want_marker = false;
    if (error != 0)
        return weft_err(WEFT_ERR_NETWORK, "verbs: %s takes no requests to process %d: %s",
                        net->device.name, channel->process, strerror(error));
    return WEFT_OK;
}

weft_status weft_verbs_channel_complete(struct weft_net *net, uint64_t id)
{
    const uint32_t index = weft_verbs_id_channel(id), sequence = weft_verbs_id_sequence(id);
    struct weft_verbs_channel *channel = index < net->channels_count ? net->channels[index] : NULL;

    if (channel == NULL || sequence - channel->done > channel->posted - channel->done)
        return weft_err(WEFT_ERR_NETWORK,
                        "verbs: %s completed request %u of channel %u, which is not under way",
                        net->device.name, sequence, index);
    net->under_way -= net->under_way > 0;
    channel->done = sequence;
    if (weft_verbs_id_fence(id))
        channel->fenced = sequence;
    else if (sequence - channel->fenced > FENCED_BEHIND)
        channel->fenced = sequence - FENCED_BEHIND;
    return WEFT_OK;
}
