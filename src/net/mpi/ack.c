/*
 * net/mpi/ack.c - what has taken effect is acknowledged: by what goes back anyway, or, when nothing
 * does for a moment or much has come together, by a message of its own. And what the other end says
 * of the puts to it.
 */
#include "net/mpi/end.h"

#include "base/say.h"
#include "net/receipt.h"
#include "order/atomic.h"

enum {
    ACK_WAIT_NS = 20000, /* how long an acknowledgement waits to be taken along */
    ACK_AT = WEFT_NET_MPI_WINDOW / 4
};

void weft_net_mpi_publish(struct weft_net *net, struct weft_net_mpi_peer *peer, uint32_t applied)
{
    weft_store_release_u32(&peer->applied, applied, ORDER_ring_credit);
    if (!peer->is_owing) {
        peer->is_owing = true;
        peer->owed_since = weft_now_ns();
        peer->next_owing = net->owing;
        net->owing = peer;
    }
}

weft_status weft_net_mpi_take_ack(struct weft_net_mpi_peer *peer, uint32_t acked)
{
    const uint32_t before = weft_load_relaxed_u32(&peer->acked);

    /* `made` is as new as any message that the other end can have seen. */
    const uint32_t made = weft_load_relaxed_u32(&peer->made);
    const enum weft_receipt receipt = weft_receipt_check(before, made, acked);
    if (receipt == WEFT_RECEIPT_OLD)
        return WEFT_OK;
    if (receipt == WEFT_RECEIPT_FALSE)
        return weft_err(WEFT_ERR_PROTOCOL,
                        "mpi: process %d acknowledges message %u; the last one to it was %u",
                        peer->process, acked, made);
    weft_store_release_u32(&peer->acked, acked, ORDER_ring_credit);
    return WEFT_OK;
}

static weft_status send_ack(struct weft_net *net, struct weft_net_mpi_peer *peer)
{
    const uint32_t applied = weft_load_relaxed_u32(&peer->applied);
    const struct weft_net_mpi_message ack = {.kind = WEFT_NET_MPI_ACK, .acked = applied};

    weft_net_mpi_message_put(peer->ack_wire, &ack);
    const int error = net->ops->isend(&net->comm, peer->ack_wire, sizeof(peer->ack_wire),
                                      peer->rank, WEFT_NET_MPI_TAG_MESSAGE, &peer->ack_request);
    if (error != 0)
        return weft_net_mpi_failed(net, "to", peer->process, error,
                                   "MPI_Isend of an acknowledgement");
    peer->acking = true;
    weft_tell_u32(&peer->told, applied);
    return WEFT_OK;
}

/* One at a time to a peer. *owing: it has to be looked at again. */
static weft_status acknowledge(struct weft_net *net, struct weft_net_mpi_peer *peer, uint64_t now,
                               bool *owing)
{
    /* After a good-bye nothing may follow. */
    const uint32_t owed =
        net->closing ? 0
                     : weft_load_relaxed_u32(&peer->applied) - weft_load_relaxed_u32(&peer->told);
    bool done = true;
    size_t bytes;

    *owing = true;
    if (peer->acking) {
        const int error = net->ops->test(&peer->ack_request, &done, &bytes);
        if (error != 0)
            return weft_net_mpi_failed(net, "to", peer->process, error,
                                       "sending an acknowledgement");
        peer->acking = !done;
        if (!done)
            return WEFT_OK;
    }
    if (owed == 0)
        *owing = false;
    else if (weft_receipt_due(owed, ACK_AT, now - peer->owed_since, ACK_WAIT_NS))
        return send_ack(net, peer);
    return WEFT_OK;
}

weft_status weft_net_mpi_serve_owing(struct weft_net *net)
{
    const uint64_t now = net->owing != NULL ? weft_now_ns() : 0;
    struct weft_net_mpi_peer **place = &net->owing;

    while (*place != NULL) {
        struct weft_net_mpi_peer *peer = *place;
        bool owing;
        weft_status status = acknowledge(net, peer, now, &owing);
        if (status != WEFT_OK)
            return status;
        if (owing) {
            place = &peer->next_owing;
        } else {
            *place = peer->next_owing;
            peer->is_owing = false;
        }
    }
    return WEFT_OK;
}
