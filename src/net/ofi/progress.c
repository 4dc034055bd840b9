/*
 * net/ofi/progress.c - what becomes of puts and gets: sent, landed, lost.
 */
#include "net/ofi/inside.h"

#include "base/say.h"
#include "net/receipt.h"

#include <rdma/fi_errno.h>

bool weft_ofi_received(struct weft_net *net, int process, uint32_t receipt)
{
    struct weft_ofi_peer *peer = &net->peers[process];

    const enum weft_receipt news = weft_receipt_check(peer->received, peer->events, receipt);

    if (news == WEFT_RECEIPT_NEW) {
        peer->received = receipt;
        weft_bell_ring(&net->bells[WEFT_NET_SEND]);
    }
    return news != WEFT_RECEIPT_FALSE;
}

static void piece_done(struct weft_net *net, struct weft_ofi_op *whole)
{
    if (--whole->unsent > 0 || !whole->issued)
        return;
    whole->sent = true;
    net->open.events.sent(net->open.events.context, whole->cookie);
}

static void op_done(struct weft_net *net, struct weft_ofi_op *op)
{
    op->sent = true;
    if (op->whole != NULL) {
        piece_done(net, op->whole);
        return;
    }
    net->open.events.sent(net->open.events.context, op->cookie);
}

static void send_done(struct weft_net *net, void *context, int err)
{
    struct weft_ofi_context *c = context;

    net->outstanding--;
    if (c->what == WEFT_OFI_SEND_BUFFER) {
        struct weft_ofi_buffer *buffer = context;
        if (err != 0)
            weft_ofi_lost(net, buffer->process, err);
        buffer->next = net->free_sends;
        net->free_sends = buffer;
    } else if (err != 0) {
        weft_ofi_lost(net, ((struct weft_ofi_op *)context)->process, err); /* it never lands */
    } else {
        op_done(net, context);
    }
}

/* Reads the send side's completions. False: an error that belongs to nobody. */
static bool take_completions(struct weft_net *net, bool *did)
{
    struct fi_cq_data_entry entries[WEFT_OFI_BATCH];
    ssize_t count;

    while ((count = fi_cq_read(net->cq[WEFT_NET_SEND], entries, WEFT_OFI_BATCH)) > 0) {
        *did = true;
        for (ssize_t i = 0; i < count; i++)
            send_done(net, entries[i].op_context, 0);
        if (count < WEFT_OFI_BATCH)
            return true;
    }
    if (count == -FI_EAVAIL) {
        struct fi_cq_err_entry error = {0};
        if (fi_cq_readerr(net->cq[WEFT_NET_SEND], &error, 0) != 1)
            return true; /* taken meanwhile */
        *did = true;
        if (error.op_context == NULL)
            return false;
        send_done(net, error.op_context, error.err != 0 ? error.err : FI_EIO);
        return true;
    }
    return count == -FI_EAGAIN;
}

static void land(struct weft_net *net, struct weft_ofi_peer *peer, bool *did)
{
    while (peer->first != NULL && peer->first->issued && peer->first->sent &&
           (int32_t)(peer->received - peer->first->event) > 0) {
        struct weft_ofi_op *op = peer->first;
        peer->first = op->next;
        if (peer->first == NULL)
            peer->last = &peer->first;
        peer->messages -= op->message;
        peer->loose -= weft_ofi_is_loose(net, op);
        net->flying--;
        *did = true;
        net->open.events.landed(net->open.events.context, op->cookie);
        weft_ofi_free_op(net, op);
    }
}

static weft_status serve_peer(struct weft_net *net, int process, bool *did)
{
    struct weft_ofi_peer *peer = &net->peers[process];
    struct weft_ofi_header header = {.kind = WEFT_OFI_RECEIPT};

    weft_ofi_berths_free(net, peer);
    weft_status status = weft_ofi_pump(net, process, did);
    land(net, peer, did);
    if (peer->ask_receipt && peer->first != NULL)
        weft_ofi_send(net, process, &header, NULL, 0);
    return status;
}

weft_status weft_ofi_progress_send(struct weft_net *net, bool *did)
{
    weft_status status = WEFT_OK;

    weft_lock(&net->lock);
    if (net->outstanding > 0 || net->stuck) {
        net->stuck = false;
        if (!take_completions(net, did))
            status = weft_err(WEFT_ERR_NETWORK, "ofi: %s lost completions of the send side",
                              net->info->fabric_attr->prov_name);
    }
    /* Also those to which nothing flies: somebody there may wait for what this process owes. */
    const bool any = net->flying > 0 || net->lost > 0;
    for (int p = 0; any && p < net->open.processes && status == WEFT_OK; p++)
        if (net->peers[p].first != NULL || net->peers[p].lost_at != 0)
            status = serve_peer(net, p, did);
    if (!*did)
        weft_ofi_tell_sent(net);
    weft_unlock(&net->lock);
    if (status == WEFT_OK && !*did)
        weft_ofi_watch(net, WEFT_NET_SEND);
    return status;
}
