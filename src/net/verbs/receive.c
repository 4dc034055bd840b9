/*
 * net/verbs/receive.c - what arrives, and receives to replace those consumed. The receive task
 * calls it, except for opening and closing.
 *
 * All connections share one queue of receives, so that what a process pins does not grow with its
 * peers. A packet consumes one until it is released, a write's immediate, or a datagram, for a
 * moment. A sender has 64 packets and writes at most under way, so a few senders never find the
 * queue empty. Many together may, and are asked to wait by the device, as often as it takes
 * (rnr_retry 7).
 */
#include "base/say.h"
#include "base/task.h"
#include "net/verbs/dc/dc.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { LOOK_EVERY = 16, LOOK_NS = 100000000 }; /* at the clock; at the port */

/* ---- receives ------------------------------------------------------------------------------ */

void weft_verbs_give_back(struct weft_transport *t, int process, uint64_t packet)
{
    struct ibv_sge sge = {.addr = (uintptr_t)weft_verbs_buffer(t, packet),
                          .length = WEFT_VERBS_LONGEST,
                          .lkey = t->mr->lkey};
    struct ibv_recv_wr wr = {.wr_id = packet, .sg_list = &sge, .num_sge = 1}, *bad;
    const int error = ibv_post_srq_recv(t->srq, &wr, &bad);

    (void)process;
    if (error != 0 && t->broken == WEFT_OK)
        t->broken = weft_err(WEFT_ERR_NETWORK, "verbs: %s takes no receives: %s", t->device.name,
                             strerror(error));
}

weft_status weft_verbs_receive_open(struct weft_transport *t)
{
    struct ibv_srq_init_attr attr = {.attr = {.max_wr = t->receives, .max_sge = 1}};

    t->srq = ibv_create_srq(t->pd, &attr);
    if (t->srq == NULL)
        return weft_err(WEFT_ERR_NETWORK, "verbs: %s gives no shared queue of %u receives: %s",
                        t->device.name, t->receives, strerror(errno));
    for (uint64_t i = 0; i < t->receives; i++)
        weft_verbs_give_back(t, -1, i);
    return t->broken;
}

/* ---- what arrives -------------------------------------------------------------------------- */

/* Names who sends to a queue pair: to one of DC, or of datagrams, several processes do. */
static const char *sender(struct weft_transport *t, uint32_t qpn)
{
    const int process = weft_verbs_process(t, qpn);

    if (process < 0)
        return "some process";
    snprintf(t->receive_text, sizeof(t->receive_text), "process %d", process);
    return t->receive_text;
}

static weft_status receive_failed(struct weft_transport *t, const struct ibv_wc *wc)
{
    if (wc->status == IBV_WC_WR_FLUSH_ERR)
        return WEFT_OK; /* the send side knows why */
    if (wc->status == IBV_WC_LOC_LEN_ERR)
        return weft_err(WEFT_ERR_PROTOCOL, "verbs: %s sent a packet of more than %d bytes",
                        sender(t, wc->qp_num), WEFT_VERBS_LONGEST);
    return weft_err(WEFT_ERR_NETWORK, "verbs: a receive from %s failed on %s: %s (0x%x)",
                    sender(t, wc->qp_num), t->device.name, ibv_wc_status_str(wc->status),
                    wc->vendor_err);
}

/* Takes the completion of a receive; *is: *event says what came, and from whom if that is known. */
static weft_status take(struct weft_transport *t, const struct ibv_wc *wc,
                        struct weft_transport_event *event, bool *is)
{
    const int process = weft_verbs_process(t, wc->qp_num);

    if (t->dc == NULL && process < 0)
        return weft_err(WEFT_ERR_PROTOCOL, "verbs: something came on the unknown queue pair %u",
                        wc->qp_num);
    if (t->dc == NULL && t->peers[process].ready == 0)
        weft_verbs_tell(&t->peers[process].ready, 1); /* the other end is joined */
    t->counts.receives++;
    if (wc->status != IBV_WC_SUCCESS) {
        weft_verbs_give_back(t, process, wc->wr_id);
        return receive_failed(t, wc);
    }
    *is = true;
    *event = (struct weft_transport_event){.kind = WEFT_EVENT_PACKET,
                                           .process = process,
                                           .value = wc->wr_id,
                                           .bytes = weft_verbs_buffer(t, wc->wr_id),
                                           .length = wc->byte_len};
    if (wc->opcode != IBV_WC_RECV_RDMA_WITH_IMM)
        return WEFT_OK;
    event->kind = WEFT_EVENT_WRITTEN;
    event->value = ntohl(wc->imm_data);
    weft_verbs_give_back(t, process, wc->wr_id);
    return WEFT_OK;
}

/* ---- what else the device says ------------------------------------------------------------- */

/* Takes an event of the device. Errors: NETWORK: nothing more comes; PROTOCOL: a process sent what
 * the device refused. */
static weft_status take_news(struct weft_transport *t, const struct ibv_async_event *news,
                             uint64_t now)
{
    const char *what = ibv_event_type_str(news->event_type), *name = t->device.name;

    switch (news->event_type) {
    case IBV_EVENT_PORT_ERR:
    case IBV_EVENT_PORT_ACTIVE:
        if (news->element.port_num != t->device.port)
            return WEFT_OK; /* the device has another one */
        weft_say(WEFT_SAY_WARN, "verbs: %s: %s", name, what);
        if (news->event_type == IBV_EVENT_PORT_ACTIVE)
            t->down_since = 0;
        else if (t->down_since == 0) /* it may be said again */
            t->down_since = now;
        return WEFT_OK;
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
        return weft_err(WEFT_ERR_PROTOCOL, "verbs: %s: what %s sent was refused: %s", name,
                        sender(t, news->element.qp->qp_num), what);
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_CQ_ERR:
    case IBV_EVENT_SRQ_ERR:
    case IBV_EVENT_DEVICE_FATAL: /* or it was removed */
        return weft_err(WEFT_ERR_NETWORK, "verbs: %s has failed: %s", name, what);
    default:
        weft_say(WEFT_SAY_INFO, "verbs: %s: %s", name, what);
        return WEFT_OK;
    }
}

/*
 * Whether the port has been down for too long; *lost: some process that is cut off. A port may come
 * back: who is cut off for longer than the retries last is lost, and the send side says so. But a
 * device may forget to retry while its port is down (soft-RoCE): then nobody else says so. It gets
 * twice as long as the retries last, and some seconds.
 */
static bool is_cut_off(struct weft_transport *t, uint64_t now, struct weft_transport_event *lost)
{
    static const uint64_t port_ns = 3000000000;
    const uint64_t retries = weft_verbs_retries_ns(weft_verbs_timeout(t->open.config));
    int process = 0;

    if (t->down_since == 0 || now - t->down_since < port_ns + 2 * retries)
        return false;
    while (process < t->open.processes &&
           (process == t->open.process || t->peers[process].ready == 0))
        process++;
    snprintf(t->receive_text, sizeof(t->receive_text), "%s has been down for %.1f s",
             t->device.name, (double)(now - t->down_since) * 1e-9);
    *lost = (struct weft_transport_event){
        .kind = WEFT_EVENT_LOST, .process = process, .text = t->receive_text};
    return process < t->open.processes;
}

/*
 * Every LOOK_NS of idle rounds. The device is never asked how its port is: the kernel may answer
 * only when whoever changes the port's interface is done (soft-RoCE), and the events that say so
 * are read without waiting.
 */
static weft_status look_around(struct weft_transport *t, struct weft_transport_event *lost,
                               int *count)
{
    const uint64_t now = ++t->idle_rounds % LOOK_EVERY == 0 ? weft_now_ns() : t->looked_at;
    weft_status status = WEFT_OK;
    struct ibv_async_event news;

    if (now - t->looked_at < LOOK_NS)
        return WEFT_OK;
    t->looked_at = now;
    while (status == WEFT_OK && ibv_get_async_event(t->device.context, &news) == 0) {
        status = take_news(t, &news, now);
        ibv_ack_async_event(&news);
    }
    *count += is_cut_off(t, now, lost);
    return status;
}

/* ---- a turn -------------------------------------------------------------------------------- */

int weft_verbs_poll_receive(struct weft_transport *t, struct weft_transport_event *events, int most)
{
    struct ibv_wc wc[WEFT_VERBS_POLL];
    const int taken = ibv_poll_cq(t->receive_cq, weft_verbs_at_most(most, WEFT_VERBS_POLL), wc);
    weft_status status = t->broken;
    int count = 0;

    if (taken < 0)
        return -(int)weft_err(WEFT_ERR_NETWORK, "verbs: completions of %s cannot be had",
                              t->device.name);
    for (int i = 0; i < taken && status == WEFT_OK; i++) {
        bool is = false;
        status = wc[i].qp_num == t->address.control ? weft_verbs_datagram(t, &wc[i])
                                                    : take(t, &wc[i], &events[count], &is);
        count += is;
    }
    if (status == WEFT_OK)
        status = weft_verbs_connect_progress(t);
    if (taken == 0 && status == WEFT_OK)
        status = look_around(t, events, &count);
    return status == WEFT_OK ? count : -(int)status;
}
