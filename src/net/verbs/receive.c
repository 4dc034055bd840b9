/*
 * net/verbs/receive.c - the receive side: notices and messages, receives to replace those consumed.
 *
 * All connections share one queue of receives, so that what a process pins does not grow with its
 * peers. A receive is consumed by a put with a notice and by a message, by nothing else. They are
 * replaced an eighth of the queue at a time. A sender has at most a fixed number under way to each
 * target (state.h: credit), so a few senders never find the queue empty; many together may, and are
 * asked to wait by the device, as often as it takes (rnr_retry 7).
 */
#include "base/say.h"
#include "net/verbs/dc/dc.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

/* What was received at once, until it is acknowledged and its receives are posted again. */
struct taken {
    uint64_t buffer;
    int process;       /* whose put has taken effect; -1: nothing is owed for it */
    uint32_t sequence; /* DC: up to this one */
};
struct weft_verbs_batch {
    struct taken taken[WEFT_VERBS_POLL];
    int count;
};

enum {
    ROUNDS = 4,         /* polls in one call, while each finds as many as it can take */
    LOOK_AROUND = 1024, /* calls without anything new between looks at the device's events; */
    LOOK_CLOCK = 16,    /* but who sleeps between calls looks by the clock, */
    LOOK_NS = 100000000
};

/* ---- receives ------------------------------------------------------------------------------ */

static void consumed(struct weft_net *net, uint64_t buffer)
{
    const uint32_t i = net->refill_count++;

    net->refill_sges[i] =
        (struct ibv_sge){.addr = (uint64_t)(uintptr_t)net->buffers + buffer * net->buffer_bytes,
                         .length = net->buffer_bytes,
                         .lkey = net->buffers_mr->lkey};
    net->refills[i] =
        (struct ibv_recv_wr){.wr_id = buffer, .sg_list = &net->refill_sges[i], .num_sge = 1};
}

/* Posts what was consumed, in one list. */
static weft_status refill(struct weft_net *net)
{
    struct ibv_recv_wr *bad;

    for (uint32_t i = 0; i + 1 < net->refill_count; i++)
        net->refills[i].next = &net->refills[i + 1];
    const int error = ibv_post_srq_recv(net->srq, net->refills, &bad);
    if (error != 0)
        return weft_err(WEFT_ERR_NETWORK, "verbs: %s takes no receives: %s", net->device.name,
                        strerror(error));
    net->refill_count = 0;
    net->counts.refills++;
    return WEFT_OK;
}

weft_status weft_verbs_receive_open(struct weft_net *net)
{
    struct ibv_srq_init_attr attr = {.attr = {.max_wr = net->receives, .max_sge = 1}};

    net->srq = ibv_create_srq(net->pd, &attr);
    if (net->srq == NULL)
        return weft_err(WEFT_ERR_NETWORK, "verbs: %s gives no shared queue of %u receives: %s",
                        net->device.name, net->receives, strerror(errno));
    net->buffers_mr = weft_verbs_alloc(net->pd, (size_t)net->receives * net->buffer_bytes,
                                       IBV_ACCESS_LOCAL_WRITE, &net->buffers);
    net->refills = calloc(net->receives, sizeof(*net->refills));
    net->refill_sges = calloc(net->receives, sizeof(*net->refill_sges));
    net->owed = calloc((size_t)net->open.processes, sizeof(*net->owed));
    net->batches = calloc(WEFT_VERBS_BATCHES, sizeof(*net->batches));
    if (net->batches == NULL || net->buffers_mr == NULL || net->refills == NULL ||
        net->refill_sges == NULL || net->owed == NULL)
        return weft_err(WEFT_ERR_MEMORY, "verbs: no memory for %u receives of %u bytes",
                        net->receives, net->buffer_bytes);
    for (uint64_t i = 0; i < net->receives; i++)
        consumed(net, i);
    return refill(net);
}

void weft_verbs_receive_close(struct weft_net *net)
{
    free(net->batches);
    WEFT_VERBS_CLOSE(ibv_destroy_srq, net->srq);
    weft_verbs_release(net->buffers_mr, net->buffers);
    free(net->refills);
    free(net->refill_sges);
    free(net->owed);
    for (int i = 0; i < WEFT_VERBS_QPN_PAGES; i++)
        free(net->by_qpn[i]);
}

/* ---- what arrives -------------------------------------------------------------------------- */

static weft_status apply_message(struct weft_net *net, int process, const struct ibv_wc *wc,
                                 struct taken *taken)
{
    const unsigned char *bytes =
        (const unsigned char *)net->buffers + wc->wr_id * net->buffer_bytes;
    struct weft_verbs_message m;
    const char *wrong =
        weft_verbs_parse_message(bytes, wc->byte_len, (uint32_t)net->open.processes, &m);
    weft_status status = WEFT_OK;

    if (wrong == NULL && process >= 0 && (uint32_t)process != m.process)
        wrong = "it names another process as its sender";
    if (wrong != NULL)
        return weft_err(WEFT_ERR_PROTOCOL, "verbs: a message of %u bytes from process %d: %s",
                        wc->byte_len, process, wrong);
    process = (int)m.process;
    status = weft_arrive_deliver(&net->arrive, process,
                                 m.bytes != 0 ? weft_verbs_memory_region(&net->memory, m.key) : 0,
                                 m.offset, bytes + sizeof(m), m.bytes, m.notice);
    if (status == WEFT_OK && net->dc != NULL)
        status = net->dc_ops->responder(net, process);
    if (status == WEFT_OK && m.kind == WEFT_VERBS_MARKER && net->dc != NULL)
        *taken = (struct taken){taken->buffer, process, m.sequence};
    return status;
}

/* A receive was consumed. RC counts it for the process whose connection it came on. */
static weft_status apply(struct weft_net *net, const struct ibv_wc *wc, struct taken *taken)
{
    const int process = net->dc != NULL ? -1 : weft_verbs_process_of(net, wc->qp_num);
    weft_status status;

    net->counts.receives++;
    if (net->dc == NULL && process < 0)
        return weft_err(WEFT_ERR_PROTOCOL, "verbs: something came on the unknown queue pair %u",
                        wc->qp_num);
    switch (wc->opcode) {
    case IBV_WC_RECV_RDMA_WITH_IMM:
        status = weft_arrive_notice(&net->arrive, process, ntohl(wc->imm_data));
        break;
    case IBV_WC_RECV:
        status = apply_message(net, process, wc, taken);
        break;
    default:
        status = weft_err(WEFT_ERR_PROTOCOL, "verbs: process %d sent something of kind %d", process,
                          (int)wc->opcode);
    }
    if (net->dc == NULL)
        taken->process = process;
    return status;
}

static weft_status take(struct weft_net *net, const struct ibv_wc *wc,
                        struct weft_verbs_batch *batch)
{
    const bool datagram = wc->qp_num == net->address.control;
    struct taken *taken = &batch->taken[batch->count];

    if (!datagram) {
        *taken = (struct taken){.buffer = wc->wr_id, .process = -1};
        batch->count++;
    }
    if (wc->status == IBV_WC_SUCCESS)
        return datagram ? weft_verbs_datagram(net, wc) : apply(net, wc, taken);
    const int process = datagram ? -1 : weft_verbs_process_of(net, wc->qp_num);
    switch (wc->status) {
    case IBV_WC_LOC_LEN_ERR:
        return weft_err(WEFT_ERR_PROTOCOL, "verbs: process %d sent a message of more than %u bytes",
                        process, net->buffer_bytes);
    case IBV_WC_REM_ACCESS_ERR:
    case IBV_WC_LOC_ACCESS_ERR:
    case IBV_WC_REM_INV_REQ_ERR:
        return weft_err(WEFT_ERR_PROTOCOL,
                        "verbs: %s refused a put of process %d, outside of what is registered here",
                        net->device.name, process);
    default:
        break;
    }
    return weft_err(WEFT_ERR_NETWORK, "verbs: a receive from process %d failed on %s: %s (0x%x)",
                    process, net->device.name, ibv_wc_status_str(wc->status), wc->vendor_err);
}

weft_status weft_verbs_conclude(struct weft_net *net, uint64_t index)
{
    const struct weft_verbs_batch *batch = &net->batches[index];

    for (int i = 0; i < batch->count; i++) {
        const struct taken *taken = &batch->taken[i];
        if (taken->process >= 0)
            weft_verbs_owe(net, taken->process,
                           net->dc != NULL ? taken->sequence
                                           : net->peers[taken->process].responder->arrived + 1);
        consumed(net, taken->buffer);
    }
    return net->refill_count >= net->refill ? refill(net) : WEFT_OK;
}

/*
 * Before the notices of a round: what the device has written into device memory is visible there.
 * All that came before those notices has been written when their completions are here.
 */
static weft_status reached(struct weft_net *net, const struct ibv_wc *wc, int count)
{
    bool notices = false;

    if (__atomic_load_n(&net->memory.dmabufs, __ATOMIC_ACQUIRE) == 0)
        return WEFT_OK;
    for (int i = 0; i < count; i++)
        notices |= wc[i].qp_num != net->address.control;
    return notices ? weft_arrive_reached(&net->arrive) : WEFT_OK;
}

/* One poll of the queue, if there is room for what it finds. */
static weft_status receive(struct weft_net *net, int *count, bool *did)
{
    const uint32_t index = weft_arrive_next(&net->arrive);
    struct weft_verbs_batch *batch = &net->batches[index];
    struct ibv_wc wc[WEFT_VERBS_POLL];
    weft_status status;

    *count = 0;
    if (!weft_arrive_has_room(&net->arrive))
        return WEFT_OK;
    *count = ibv_poll_cq(net->receive_cq, WEFT_VERBS_POLL, wc);
    if (*count < 0)
        return weft_err(WEFT_ERR_NETWORK, "verbs: completions of %s cannot be had",
                        net->device.name);
    status = reached(net, wc, *count);
    batch->count = 0;
    for (int i = 0; i < *count && status == WEFT_OK; i++)
        status = take(net, &wc[i], batch);
    *did |= *count > 0;
    return status == WEFT_OK && batch->count > 0 ? weft_arrive_batch_end(&net->arrive, index)
                                                 : status;
}

/* ---- what the device tells of besides completions ------------------------------------------ */

/*
 * A port that is down may come back: who is cut off by it for longer than the retries last is lost,
 * and the send side says so. But a device may forget to retry while its port is down (soft-RoCE):
 * then nobody else says so. It gets twice as long as the retries last, and some seconds.
 */
static const uint64_t PORT_NS = 3000000000;

static void look_around(struct weft_net *net)
{
    struct pollfd fd = {.fd = net->device.context->async_fd, .events = POLLIN};
    struct ibv_async_event event;

    while (poll(&fd, 1, 0) == 1 && ibv_get_async_event(net->device.context, &event) == 0) {
        const bool quiet = event.event_type == IBV_EVENT_COMM_EST ||
                           event.event_type == IBV_EVENT_QP_LAST_WQE_REACHED ||
                           event.event_type == IBV_EVENT_GID_CHANGE;
        weft_say(quiet ? WEFT_SAY_INFO : WEFT_SAY_WARN, "verbs: %s: %s", net->device.name,
                 ibv_event_type_str(event.event_type));
        if (event.event_type == IBV_EVENT_PORT_ERR &&
            event.element.port_num == net->device.port) /* a device may have another one */
            net->down_since = weft_now_ns();
        else if (event.event_type == IBV_EVENT_PORT_ACTIVE &&
                 event.element.port_num == net->device.port)
            net->down_since = 0;
        ibv_ack_async_event(&event);
    }
}

static weft_status look_at_port(const struct weft_net *net)
{
    const uint64_t retries = weft_verbs_retries_ns(weft_verbs_timeout(net->open.config));
    const uint64_t down = net->down_since != 0 ? weft_now_ns() - net->down_since : 0;

    if (down < PORT_NS + 2 * retries)
        return WEFT_OK;
    for (int p = 0; p < net->open.processes; p++)
        if (p != net->open.process && weft_verbs_state_of(&net->peers[p]) == WEFT_VERBS_READY)
            return weft_err(WEFT_ERR_PEER_LOST,
                            "verbs: process %d cannot be reached any more: %s has been down for "
                            "%.1f s",
                            p, net->device.name, (double)down * 1e-9);
    return WEFT_OK;
}

/* ---- progress ------------------------------------------------------------------------------ */

/* Counts a call that found nothing. True: it is time to look around. */
static bool is_time_to_look(struct weft_net *net)
{
    if (++net->idle_rounds % LOOK_CLOCK != 0)
        return false;
    const uint64_t now = weft_now_ns();
    if (net->idle_rounds % LOOK_AROUND != 0 && now - net->looked_at < LOOK_NS)
        return false;
    net->looked_at = now;
    return true;
}

weft_status weft_verbs_progress_receive(struct weft_net *net, bool *did)
{
    weft_status status = weft_arrive_settle(&net->arrive, did);
    int count = WEFT_VERBS_POLL;

    for (int round = 0; round < ROUNDS && count == WEFT_VERBS_POLL && status == WEFT_OK; round++)
        status = receive(net, &count, did);
    if (status != WEFT_OK)
        return status; /* nothing is acknowledged behind what was wrong */
    if (net->acks_under_way > 0 || net->owed_count > 0 || net->connecting > 0)
        weft_verbs_poll_acks(net);
    if (net->owed_count > 0)
        weft_verbs_send_acks(net, did);
    if (!*did && is_time_to_look(net)) {
        look_around(net);
        weft_verbs_poll_acks(net);
        status = look_at_port(net);
        if (status != WEFT_OK)
            return status;
    }
    return weft_verbs_connect_progress(net, did);
}
