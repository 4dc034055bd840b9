/*
 * net/verbs/connect.c - reliable connections, made when the first packet to a process is wanted,
 * and the datagrams that make them. The receive task, except opening and closing.
 *
 * Every process has one datagram queue pair; its number is in the address that all exchange at the
 * start. So there is no second network whose interface would have to be chosen, and what a job
 * holds grows only with the pairs that really talk. A request is said again until it is answered,
 * and answering twice does no harm.
 *
 *   who wants                                   the other
 *   queue pair, INIT ── REQUEST (its number) ─► queue pair, joined to it
 *   joined to it     ◄─ REPLY (its number) ──── ready when something has come on it, or its own
 *   ready                                       request, which it makes as well, is answered
 *
 * A connection carries both directions. Nobody sends before the other end is joined: a reply says
 * so, and whatever comes from there. If both ask at once, each joins its one queue pair to the
 * other's.
 */
#include "net/verbs/state.h"

#include "base/say.h"
#include "base/task.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    GRH = 40, /* bytes that the device puts before a datagram */
    AGAIN_NS = 30000000
};

/* ---- queue pairs ------------------------------------------------------------------------- */

/* Returns the number of a queue pair's first packet. */
static uint32_t psn_of(const struct ibv_qp *qp)
{
    return (qp->qp_num * 0x85ebca6bu) >> 8;
}

weft_status weft_verbs_table_open(struct weft_transport *t)
{
    while (t->by_qpn_mask < 2 * (uint32_t)t->open.processes) /* half of it stays empty */
        t->by_qpn_mask = 2 * t->by_qpn_mask + 1;
    t->by_qpn = calloc(t->by_qpn_mask + 1, sizeof(*t->by_qpn));
    return t->by_qpn != NULL ? WEFT_OK
                             : weft_err(WEFT_ERR_MEMORY, "verbs: no memory for connections");
}

/* Returns where process + 1 is kept for a queue pair's number, or 0 if it is not known. */
static int *place_of(const struct weft_transport *t, uint32_t qpn)
{
    uint32_t at = qpn;

    while (t->by_qpn[at & t->by_qpn_mask] != 0 &&
           t->peers[t->by_qpn[at & t->by_qpn_mask] - 1].own.qp->qp_num != qpn)
        at++;
    return &t->by_qpn[at & t->by_qpn_mask];
}

int weft_verbs_process(const struct weft_transport *t, uint32_t qpn)
{
    return t->by_qpn != NULL ? *place_of(t, qpn) - 1 : -1;
}

static struct ibv_qp *try_make(const struct weft_transport *t, uint32_t inline_most)
{
    struct ibv_qp_init_attr attr = {
        .send_cq = t->send_cq,
        .recv_cq = t->receive_cq,
        .srq = t->srq,
        .cap = {.max_send_wr = t->sends, .max_send_sge = 1, .max_inline_data = inline_most},
        .qp_type = IBV_QPT_RC};

    return ibv_create_qp(t->pd, &attr);
}

static int connect_pair(struct weft_transport *t, const struct weft_verbs_peer *peer,
                        uint32_t remote_psn)
{
    const struct weft_verbs_device *device = &t->device;
    struct ibv_qp *qp = peer->own.qp;
    struct ibv_qp_attr attr = {
        .qp_state = IBV_QPS_RTR,
        .path_mtu = (enum ibv_mtu)weft_verbs_at_most(t->address.mtu, peer->address.mtu),
        .dest_qp_num = peer->remote_qpn,
        .rq_psn = remote_psn,
        .max_dest_rd_atomic = (uint8_t)weft_verbs_at_most(device->attr.max_qp_rd_atom, 16),
        .min_rnr_timer = WEFT_VERBS_RNR_DELAY,
    };

    weft_verbs_route(device, &peer->address, &attr.ah_attr);
    const int error =
        ibv_modify_qp(qp, &attr,
                      IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                          IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
    attr = (struct ibv_qp_attr){
        .qp_state = IBV_QPS_RTS,
        .sq_psn = psn_of(qp),
        .timeout = (uint8_t)weft_verbs_timeout(t->open.config),
        .retry_cnt = WEFT_VERBS_RETRIES,
        .rnr_retry = WEFT_VERBS_RNR_FOR_EVER,
        .max_rd_atomic = (uint8_t)weft_verbs_at_most(device->attr.max_qp_init_rd_atom, 16),
    };
    return error != 0
               ? error
               : ibv_modify_qp(qp, &attr,
                               IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                                   IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC);
}

int weft_verbs_timeout(const struct weft_config *config)
{
    const uint64_t silence_ns = (uint64_t)config->silence_s * 1000000000;
    int timeout = config->verbs_timeout != 0 ? (int)config->verbs_timeout : 8;

    while (config->verbs_timeout == 0 && weft_verbs_retries_ns(timeout) < silence_ns)
        timeout++;
    return timeout;
}

uint32_t weft_verbs_rc_inline(struct weft_transport *t)
{
    for (uint32_t wanted = 224; wanted > 0; wanted = wanted * 3 / 4) {
        struct ibv_qp *qp = try_make(t, wanted);
        if (qp == NULL)
            continue;
        ibv_destroy_qp(qp);
        return wanted;
    }
    return 0;
}

/* ---- datagrams ----------------------------------------------------------------------------- */

/* Returns the key of a process's datagrams: the device drops what does not bring it. Those with the
 * top bit are the system's. */
static uint32_t qkey(const struct weft_verbs_address *address)
{
    return (uint32_t)address->token & 0x7fffffff;
}

weft_status weft_verbs_connect_open(struct weft_transport *t)
{
    struct ibv_qp_init_attr attr = {.send_cq = t->receive_cq,
                                    .recv_cq = t->receive_cq,
                                    .srq = t->srq,
                                    .cap = {.max_send_wr = WEFT_VERBS_DATAGRAMS, .max_send_sge = 1},
                                    .qp_type = IBV_QPT_UD};
    struct ibv_qp_attr init = {
        .qp_state = IBV_QPS_INIT, .port_num = t->device.port, .qkey = qkey(&t->address)};
    struct ibv_qp_attr receive = {.qp_state = IBV_QPS_RTR}, send = {.qp_state = IBV_QPS_RTS};
    struct ibv_qp *qp = ibv_create_qp(t->pd, &attr);

    if (qp == NULL)
        return weft_err(WEFT_ERR_NETWORK, "verbs: %s gives no queue pair for datagrams: %s",
                        t->device.name, strerror(errno));
    t->control.qp = qp;
    t->address.control = qp->qp_num;
    t->counts.queue_pairs++;
    int error =
        ibv_modify_qp(qp, &init, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);
    if (error == 0)
        error = ibv_modify_qp(qp, &receive, IBV_QP_STATE);
    if (error == 0)
        error = ibv_modify_qp(qp, &send, IBV_QP_STATE | IBV_QP_SQ_PSN);
    return error == 0 ? WEFT_OK
                      : weft_err(WEFT_ERR_NETWORK, "verbs: %s: no datagrams: %s", t->device.name,
                                 strerror(error));
}

weft_status weft_verbs_way(struct weft_transport *t, int process)
{
    struct weft_verbs_peer *peer = &t->peers[process];
    struct ibv_ah_attr route;

    if (peer->way != NULL)
        return WEFT_OK;
    weft_verbs_route(&t->device, &peer->address, &route);
    peer->way = ibv_create_ah(t->pd, &route);
    return peer->way != NULL
               ? WEFT_OK
               : weft_err(WEFT_ERR_NETWORK, "verbs: %s knows no way to process %d: %s",
                          t->device.name, process, strerror(errno));
}

/* Sends a process a datagram with the number of its queue pair here; or none if too many are under
 * way, as what matters is said again. */
static weft_status say(struct weft_transport *t, int process, enum weft_verbs_control_kind kind)
{
    struct weft_verbs_peer *peer = &t->peers[process];
    const struct weft_verbs_control what = {.token = peer->address.token,
                                            .kind = kind,
                                            .process = (uint32_t)t->open.process,
                                            .qpn = peer->own.qp->qp_num,
                                            .psn = psn_of(peer->own.qp)};
    struct ibv_send_wr *bad;

    if (t->control.under_way == WEFT_VERBS_DATAGRAMS)
        return WEFT_OK;
    WEFT_TRY(weft_verbs_way(t, process));
    unsigned char *memory =
        weft_verbs_buffer(t, t->receives) + t->control.next++ % WEFT_VERBS_DATAGRAMS * sizeof(what);
    memcpy(memory, &what, sizeof(what));
    struct ibv_sge sge = {.addr = (uintptr_t)memory, .length = sizeof(what), .lkey = t->mr->lkey};
    struct ibv_send_wr wr = {.wr_id = WEFT_VERBS_DATAGRAM,
                             .sg_list = &sge,
                             .num_sge = 1,
                             .opcode = IBV_WR_SEND,
                             .send_flags = IBV_SEND_SIGNALED,
                             .wr.ud = {.ah = peer->way,
                                       .remote_qpn = peer->address.control,
                                       .remote_qkey = qkey(&peer->address)}};
    const int error = ibv_post_send(t->control.qp, &wr, &bad);
    if (error != 0)
        return weft_err(WEFT_ERR_NETWORK, "verbs: %s sends no datagrams: %s", t->device.name,
                        strerror(error));
    t->control.under_way++;
    return WEFT_OK;
}

/* ---- connections --------------------------------------------------------------------------- */

/* Makes the queue pair to a process, if there is none yet. It is not joined to the other's. */
static weft_status make(struct weft_transport *t, int process)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT,
                               .port_num = t->device.port,
                               .qp_access_flags = IBV_ACCESS_REMOTE_WRITE};
    struct ibv_qp **qp = &t->peers[process].own.qp;

    if (*qp != NULL)
        return WEFT_OK;
    *qp = try_make(t, t->inline_most);
    const int error =
        *qp == NULL
            ? errno
            : ibv_modify_qp(*qp, &attr,
                            IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
    if (error != 0)
        return weft_err(WEFT_ERR_NETWORK, "verbs: %s gives no queue pair of %u requests: %s",
                        t->device.name, t->sends, strerror(error));
    t->counts.queue_pairs++;
    *place_of(t, (*qp)->qp_num) = process + 1;
    return WEFT_OK;
}

/* Joins a queue pair to the one that the other process has told of. */
static weft_status join(struct weft_transport *t, const struct weft_verbs_control *said)
{
    const int process = (int)said->process;
    struct weft_verbs_peer *peer = &t->peers[process];

    if (peer->remote_qpn == said->qpn)
        return WEFT_OK;
    if (peer->remote_qpn != 0)
        return weft_err(WEFT_ERR_PROTOCOL,
                        "verbs: process %d wants to be connected twice (queue pairs %u and %u)",
                        process, peer->remote_qpn, said->qpn);
    peer->remote_qpn = said->qpn;
    const int error = connect_pair(t, peer, said->psn);
    return error == 0
               ? WEFT_OK
               : weft_err(WEFT_ERR_NETWORK, "verbs: %s cannot be connected to process %d: %s",
                          t->device.name, process, strerror(error));
}

/* Does what the send side waits for: has a process asked to connect, now and then. */
static weft_status ask(struct weft_transport *t, int process, uint64_t now)
{
    struct weft_verbs_peer *peer = &t->peers[process];
    const double patience = t->open.config->connect_s;

    if (t->dc != NULL) { /* nothing is to be connected */
        const weft_status status = weft_verbs_way(t, process);
        weft_verbs_tell(&peer->ready, status == WEFT_OK);
        return status;
    }
    if (peer->since_ns == 0)
        peer->since_ns = now;
    if ((double)(now - peer->since_ns) > patience * 1e9)
        return weft_err(WEFT_ERR_PEER_LOST,
                        "verbs: process %d has not answered for %.1f s, through %s", process,
                        patience, t->device.name);
    if (now - peer->asked_ns < AGAIN_NS)
        return WEFT_OK;
    peer->asked_ns = now;
    WEFT_TRY(make(t, process));
    return say(t, process, WEFT_VERBS_REQUEST);
}

weft_status weft_verbs_connect_progress(struct weft_transport *t)
{
    uint32_t connected = 0;

    if (weft_verbs_look(&t->wanted) == t->connected)
        return WEFT_OK;
    const uint64_t now = weft_now_ns();
    for (int p = 0; p < t->open.processes; p++) {
        if (weft_verbs_look(&t->peers[p].wanted) == 0)
            continue;
        if (t->peers[p].ready == 0)
            WEFT_TRY(ask(t, p, now));
        connected += t->peers[p].ready != 0;
    }
    t->connected = connected;
    return WEFT_OK;
}

weft_status weft_verbs_datagram(struct weft_transport *t, const struct ibv_wc *wc)
{
    struct weft_verbs_control what;

    if (wc->wr_id == WEFT_VERBS_DATAGRAM) {
        t->control.under_way--;
        return WEFT_OK;
    }
    const size_t bytes =
        wc->status == IBV_WC_SUCCESS && wc->byte_len >= GRH ? wc->byte_len - GRH : 0;
    const char *wrong =
        weft_verbs_parse_control(weft_verbs_buffer(t, wc->wr_id) + GRH, bytes,
                                 (uint32_t)t->open.processes, t->address.token, &what);
    weft_verbs_give_back(t, -1, wc->wr_id);
    if (wrong != NULL) { /* anybody on the fabric can send one: it is not the job's fault */
        weft_say(WEFT_SAY_WARN, "verbs: a datagram from queue pair %u was ignored: %s", wc->src_qp,
                 wrong);
        return WEFT_OK;
    }
    if (t->dc != NULL)
        return WEFT_OK;
    WEFT_TRY(make(t, (int)what.process));
    WEFT_TRY(join(t, &what));
    if (what.kind == WEFT_VERBS_REQUEST)
        return say(t, (int)what.process, WEFT_VERBS_REPLY);
    weft_verbs_tell(&t->peers[what.process].ready, 1);
    return WEFT_OK;
}
