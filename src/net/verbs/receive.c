/*
 * net/verbs/receive.c - what arrives, and receives to replace those consumed. The receive task,
 * except opening and closing.
 *
 * All connections share one queue of receives, so that what a process pins does not grow with its
 * peers. A packet consumes one until it is released, a write's immediate for a moment. They are
 * replaced an eighth of the queue at a time. A sender has 64 packets and writes at most under way,
 * so a few senders never find the queue empty; many together may, and are asked to wait by the
 * device, as often as it takes (rnr_retry 7).
 */
#include "base/say.h"
#include "base/task.h"
#include "net/verbs/dc/dc.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LOOK_EVERY = 16, LOOK_NS = 100000000 }; /* at the clock; at the device's events */

/* ---- receives ------------------------------------------------------------------------------ */

static unsigned char *buffer_at(const struct weft_transport *t, uint64_t i)
{
    return (unsigned char *)t->buffers + i * WEFT_VERBS_LONGEST;
}

/* Posts what was consumed, in one list. */
static weft_status refill(struct weft_transport *t)
{
    struct ibv_recv_wr *bad;

    for (uint32_t i = 0; i + 1 < t->refill_count; i++)
        t->refills[i].next = &t->refills[i + 1];
    const int error = ibv_post_srq_recv(t->srq, t->refills, &bad);
    if (error != 0)
        return weft_err(WEFT_ERR_NETWORK, "verbs: %s takes no receives: %s", t->device.name,
                        strerror(error));
    t->refill_count = 0;
    t->counts.refills++;
    return WEFT_OK;
}

static void consumed(struct weft_transport *t, uint64_t buffer)
{
    const uint32_t i = t->refill_count++;

    t->refill_sges[i] = (struct ibv_sge){.addr = (uintptr_t)buffer_at(t, buffer),
                                         .length = WEFT_VERBS_LONGEST,
                                         .lkey = t->buffers_mr->lkey};
    t->refills[i] =
        (struct ibv_recv_wr){.wr_id = buffer, .sg_list = &t->refill_sges[i], .num_sge = 1};
}

void weft_verbs_give_back(struct weft_transport *t, int process, uint64_t packet)
{
    (void)process;
    consumed(t, packet);
    if (t->refill_count >= t->refill && t->broken == WEFT_OK)
        t->broken = refill(t);
}

weft_status weft_verbs_receive_open(struct weft_transport *t)
{
    struct ibv_srq_init_attr attr = {.attr = {.max_wr = t->receives, .max_sge = 1}};
    const size_t bytes = (size_t)t->receives * WEFT_VERBS_LONGEST;

    t->srq = ibv_create_srq(t->pd, &attr);
    if (t->srq == NULL)
        return weft_err(WEFT_ERR_NETWORK, "verbs: %s gives no shared queue of %u receives: %s",
                        t->device.name, t->receives, strerror(errno));
    t->buffers_mr = weft_verbs_alloc(t->pd, bytes, IBV_ACCESS_LOCAL_WRITE, &t->buffers);
    t->refills = calloc(t->receives, sizeof(*t->refills));
    t->refill_sges = calloc(t->receives, sizeof(*t->refill_sges));
    if (t->buffers_mr == NULL || t->refills == NULL || t->refill_sges == NULL)
        return weft_err(WEFT_ERR_MEMORY, "verbs: no memory for %u receives of %d bytes",
                        t->receives, WEFT_VERBS_LONGEST);
    weft_net_pin(&t->open, "verbs", t->buffers, bytes);
    for (uint64_t i = 0; i < t->receives; i++)
        consumed(t, i);
    return refill(t);
}

void weft_verbs_receive_close(struct weft_transport *t)
{
    WEFT_VERBS_CLOSE(ibv_destroy_srq, t->srq);
    weft_net_unpin(&t->open, t->buffers);
    weft_verbs_release(t->buffers_mr, t->buffers);
    free(t->refills);
    free(t->refill_sges);
    for (int i = 0; i < WEFT_VERBS_QPN_PAGES; i++)
        free(t->by_qpn[i]);
}

/* ---- what arrives -------------------------------------------------------------------------- */

/* RC: by its connection, over which the other end can be sent to from then on. */
static weft_status find_sender(struct weft_transport *t, const struct ibv_wc *wc, int *process)
{
    *process = t->dc != NULL ? -1 : weft_verbs_process_of(t, wc->qp_num);
    if (t->dc == NULL && *process < 0)
        return weft_err(WEFT_ERR_PROTOCOL, "verbs: something came on the unknown queue pair %u",
                        wc->qp_num);
    if (t->dc == NULL && t->peers[*process].ready == 0)
        weft_verbs_tell(&t->peers[*process].ready, 1);
    return WEFT_OK;
}

static weft_status receive_failed(const struct weft_transport *t, int process,
                                  const struct ibv_wc *wc)
{
    if (wc->status == IBV_WC_WR_FLUSH_ERR)
        return WEFT_OK; /* the send side knows why */
    if (wc->status == IBV_WC_LOC_LEN_ERR)
        return weft_err(WEFT_ERR_PROTOCOL, "verbs: process %d sent a packet of more than %d bytes",
                        process, WEFT_VERBS_LONGEST);
    return weft_err(WEFT_ERR_NETWORK, "verbs: a receive from process %d failed on %s: %s (0x%x)",
                    process, t->device.name, ibv_wc_status_str(wc->status), wc->vendor_err);
}

/* A receive was consumed; *event: by what. *is: there is one. */
static weft_status take(struct weft_transport *t, const struct ibv_wc *wc,
                        struct weft_transport_event *event, bool *is)
{
    struct weft_verbs_written written = {0};
    int process;
    const weft_status status = find_sender(t, wc, &process);

    *is = false;
    if (status != WEFT_OK)
        return status;
    t->counts.receives++;
    if (wc->status != IBV_WC_SUCCESS) {
        weft_verbs_give_back(t, process, wc->wr_id);
        return receive_failed(t, process, wc);
    }
    *is = true;
    *event = (struct weft_transport_event){.kind = WEFT_EVENT_PACKET,
                                           .process = process,
                                           .value = wc->wr_id,
                                           .bytes = buffer_at(t, wc->wr_id),
                                           .length = wc->byte_len};
    if (t->dc != NULL
            ? !weft_verbs_parse_written(event->bytes, event->length, (uint32_t)t->open.processes,
                                        t->address.token, &written)
            : wc->opcode != IBV_WC_RECV_RDMA_WITH_IMM)
        return WEFT_OK;
    event->kind = WEFT_EVENT_WRITTEN;
    event->process = t->dc != NULL ? (int)written.process : process;
    event->value = t->dc != NULL ? written.immediate : ntohl(wc->imm_data);
    weft_verbs_give_back(t, process, wc->wr_id);
    return WEFT_OK;
}

/* ---- what the device tells of besides completions ------------------------------------------ */

/*
 * A port that is down may come back: who is cut off by it for longer than the retries last is lost,
 * and the send side says so. But a device may forget to retry while its port is down (soft-RoCE):
 * then nobody else says so. It gets twice as long as the retries last, and some seconds.
 */
static const uint64_t PORT_NS = 3000000000;

static void look_around(struct weft_transport *t)
{
    struct pollfd fd = {.fd = t->device.context->async_fd, .events = POLLIN};
    struct ibv_async_event event;

    while (poll(&fd, 1, 0) == 1 && ibv_get_async_event(t->device.context, &event) == 0) {
        const bool quiet = event.event_type == IBV_EVENT_COMM_EST ||
                           event.event_type == IBV_EVENT_QP_LAST_WQE_REACHED ||
                           event.event_type == IBV_EVENT_GID_CHANGE;
        weft_say(quiet ? WEFT_SAY_INFO : WEFT_SAY_WARN, "verbs: %s: %s", t->device.name,
                 ibv_event_type_str(event.event_type));
        if (event.event_type == IBV_EVENT_PORT_ERR &&
            event.element.port_num == t->device.port) /* a device may have another one */
            t->down_since = weft_now_ns();
        else if (event.event_type == IBV_EVENT_PORT_ACTIVE &&
                 event.element.port_num == t->device.port)
            t->down_since = 0;
        ibv_ack_async_event(&event);
    }
}

/* Some process that is cut off by the port; 0: none, or it is not down for long. */
static int look_at_port(struct weft_transport *t, struct weft_transport_event *event)
{
    const uint64_t retries = weft_verbs_retries_ns(weft_verbs_timeout(t->open.config));
    const uint64_t down = t->down_since != 0 ? weft_now_ns() - t->down_since : 0;

    if (down < PORT_NS + 2 * retries)
        return 0;
    t->down_since = 0;
    for (int p = 0; p < t->open.processes; p++) {
        if (p == t->open.process || t->peers[p].ready == 0)
            continue;
        snprintf(t->receive_text, sizeof(t->receive_text), "%s has been down for %.1f s",
                 t->device.name, (double)down * 1e-9);
        *event = (struct weft_transport_event){
            .kind = WEFT_EVENT_LOST, .process = p, .text = t->receive_text};
        return 1;
    }
    return 0;
}

/* Counts a call that found nothing. True: it is time to look around. */
static bool is_time_to_look(struct weft_transport *t)
{
    if (++t->idle_rounds % LOOK_EVERY != 0)
        return false;
    const uint64_t now = weft_now_ns();
    const bool look = now - t->looked_at >= LOOK_NS;
    if (look)
        t->looked_at = now;
    return look;
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
    if (taken == 0 && is_time_to_look(t)) {
        look_around(t);
        count = look_at_port(t, events);
    }
    return status == WEFT_OK ? count : -(int)status;
}
