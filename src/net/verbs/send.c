/*
 * net/verbs/send.c - packets and writes become requests, and completions events. Who has the send
 * lock.
 *
 * Each request asks for a completion: a packet carries many puts, and so no completion is awaited
 * that none will ask for. What it was is in its id.
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

enum { EVENTS = 2 /* of a completion, at most: SENT or READ, and LOST */ };

/* The id of a packet: this bit, its process, and the number of its buffer; of a write its cookie.
 */
#define PACKET (1ull << 63)

/* ---- requests -------------------------------------------------------------------------------- */

/* Whether a process can be sent to; if not, has the receive task connect it. */
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

static weft_status post(struct weft_transport *t, int process, struct ibv_send_wr *wr)
{
    struct weft_verbs_peer *peer = &t->peers[process];
    struct ibv_send_wr *bad;

    if (!is_ready(t, process))
        return WEFT_NET_FULL;
    if (peer->queue->under_way == t->sends)
        return WEFT_NET_FULL;
    wr->send_flags |= IBV_SEND_SIGNALED;
    const int error = t->dc != NULL ? t->dc_ops->post(peer->queue->qp, peer, wr)
                                    : ibv_post_send(peer->queue->qp, wr, &bad);
    if (error != 0)
        return weft_err(WEFT_ERR_NETWORK, "verbs: %s takes no requests to process %d: %s",
                        t->device.name, process, strerror(error));
    peer->queue->under_way++;
    t->counts.requests++;
    return WEFT_OK;
}

weft_status weft_verbs_commit(struct weft_transport *t, int process, unsigned char *packet,
                              size_t bytes)
{
    const uint64_t buffer =
        (uint64_t)(packet - weft_verbs_buffer(t, t->receives + 1)) / WEFT_VERBS_LONGEST;
    struct ibv_sge sge = {
        .addr = (uintptr_t)packet, .length = (uint32_t)bytes, .lkey = t->mr->lkey};
    struct ibv_send_wr wr = {.wr_id = PACKET | (uint64_t)process << 32 | buffer,
                             .sg_list = &sge,
                             .num_sge = 1,
                             .opcode = IBV_WR_SEND,
                             .send_flags = bytes <= t->inline_most ? IBV_SEND_INLINE : 0};

    return post(t, process, &wr);
}

weft_status weft_verbs_write(struct weft_transport *t, const struct weft_transport_write *write)
{
    const struct weft_verbs_region *region = write->mr;

    if (region == NULL)
        return WEFT_NET_STAGE;
    struct ibv_sge sge = {.addr = region->address + ((uintptr_t)write->source - region->base),
                          .length = (uint32_t)write->bytes,
                          .lkey = region->mr->lkey};
    struct ibv_send_wr wr = {
        .wr_id = write->cookie,
        .sg_list = &sge,
        .num_sge = 1,
        .opcode = t->dc != NULL ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_WRITE_WITH_IMM,
        .imm_data = htonl((uint32_t)write->immediate),
        .wr.rdma = {.remote_addr = weft_verbs_place_base(write->place[0]) + write->offset,
                    .rkey = weft_verbs_place_rkey(write->place[0])}};

    return post(t, write->process, &wr);
}

/* ---- completions ----------------------------------------------------------------------------- */

/* A request to a process has failed: *event says so. */
static weft_status failed(struct weft_transport *t, int process, const struct ibv_wc *wc,
                          struct weft_transport_event *event)
{
    const bool packet = (wc->wr_id & PACKET) != 0;
    const bool refused =
        wc->status == IBV_WC_REM_ACCESS_ERR || wc->status == IBV_WC_REM_INV_REQ_ERR;

    snprintf(t->send_text, sizeof(t->send_text), "a %s on %s: %s (0x%x)",
             packet ? "packet" : "write", t->device.name, ibv_wc_status_str(wc->status),
             wc->vendor_err);
    *event = (struct weft_transport_event){.kind = refused && !packet ? WEFT_EVENT_REFUSED
                                                                      : WEFT_EVENT_LOST,
                                           .process = process,
                                           .value = wc->wr_id,
                                           .text = t->send_text};
    if (t->dc == NULL || event->kind == WEFT_EVENT_REFUSED)
        return WEFT_OK;
    return weft_err(WEFT_ERR_PEER_LOST, "verbs: the initiator of process %d broke: %s", process,
                    t->send_text); /* it serves other processes, too */
}

static weft_status complete(struct weft_transport *t, const struct ibv_wc *wc,
                            struct weft_transport_event *events, int *count)
{
    const bool packet = (wc->wr_id & PACKET) != 0;
    const int process = (int)((wc->wr_id & ~PACKET) >> 32);

    t->peers[process].queue->under_way--;
    events[(*count)++] =
        (struct weft_transport_event){.kind = packet ? WEFT_EVENT_SENT : WEFT_EVENT_READ,
                                      .process = process,
                                      .count = 1,
                                      .value = packet ? (uint32_t)wc->wr_id : wc->wr_id};
    return wc->status == IBV_WC_SUCCESS ? WEFT_OK : failed(t, process, wc, &events[(*count)++]);
}

/* Tells of completions, up to one that failed, since there is room for one text. */
int weft_verbs_poll_send(struct weft_transport *t, struct weft_transport_event *events, int most)
{
    struct ibv_wc wc = {.status = IBV_WC_SUCCESS};
    weft_status status = WEFT_OK;
    int count = 0, taken = 1;

    while (most - count >= EVENTS && status == WEFT_OK && wc.status == IBV_WC_SUCCESS &&
           (taken = ibv_poll_cq(t->send_cq, 1, &wc)) > 0)
        status = complete(t, &wc, events, &count);
    if (taken < 0)
        status =
            weft_err(WEFT_ERR_NETWORK, "verbs: completions of %s cannot be had", t->device.name);
    return status == WEFT_OK ? count : -(int)status;
}
