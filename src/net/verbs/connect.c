/*
 * net/verbs/connect.c - reliable connections, made when the first put to a process is issued, and
 * the datagrams that make them. Receive thread, except opening and closing.
 *
 * Every process has one datagram queue pair; its number is in the address that all exchange at the
 * start. So there is no second network whose interface would have to be chosen, and what a job
 * holds grows only with the pairs that really talk. A request is said again until it is answered,
 * and answering twice does no harm.
 *
 *   initiator                                   target
 *   queue pair, INIT ── REQUEST (its number) ─► queue pair, joined to it
 *   joined to it     ◄─ REPLY (its number) ──── ready for whatever comes
 *   READY: the send side has it
 *
 * The initiator sends nothing before it is joined, and the target acknowledges nothing before it
 * has received; so neither sends to an end that is not ready.
 */
#include "net/verbs/state.h"

#include "base/say.h"
#include "base/task.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    DATAGRAMS = 128,   /* receives; more that come at once are lost, and said again */
    SENDS = 32,        /* datagrams under way, */
    GRH = 40,          /* and what the device puts before each */
    QKEY = 0x77656674, /* guards nothing: the token does */
    AGAIN_NS = 30000000
};

struct weft_verbs_control_end {
    struct ibv_qp *qp;
    struct ibv_mr *mr;
    unsigned char *memory; /* DATAGRAMS receives, then SENDS */
    uint32_t next, under_way;
    uint64_t last_ns; /* when the peers were last looked at */
};

static const size_t ROOM = GRH + sizeof(struct weft_verbs_control);

/* ---- datagrams ----------------------------------------------------------------------------- */

static weft_status post_receive(const struct weft_net *net, uint64_t i)
{
    const struct weft_verbs_control_end *end = net->control;
    struct ibv_sge sge = {.addr = (uint64_t)(uintptr_t)(end->memory + i * ROOM),
                          .length = (uint32_t)ROOM,
                          .lkey = end->mr->lkey};
    struct ibv_recv_wr wr = {.wr_id = i, .sg_list = &sge, .num_sge = 1}, *bad;

    return ibv_post_recv(end->qp, &wr, &bad) == 0
               ? WEFT_OK
               : weft_err(WEFT_ERR_NETWORK, "verbs: %s takes no receives for datagrams",
                          net->device.name);
}

static weft_status ready(struct weft_net *net, struct ibv_qp *qp)
{
    struct ibv_qp_attr init = {
        .qp_state = IBV_QPS_INIT, .port_num = net->device.port, .qkey = QKEY};
    struct ibv_qp_attr receive = {.qp_state = IBV_QPS_RTR}, send = {.qp_state = IBV_QPS_RTS};
    int error =
        ibv_modify_qp(qp, &init, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);

    if (error == 0)
        error = ibv_modify_qp(qp, &receive, IBV_QP_STATE);
    if (error == 0)
        error = ibv_modify_qp(qp, &send, IBV_QP_STATE | IBV_QP_SQ_PSN);
    return error == 0 ? WEFT_OK
                      : weft_err(WEFT_ERR_NETWORK, "verbs: %s: no datagrams: %s", net->device.name,
                                 strerror(error));
}

weft_status weft_verbs_connect_open(struct weft_net *net)
{
    struct weft_verbs_control_end *end = calloc(1, sizeof(*end));
    struct ibv_qp_init_attr attr = {.send_cq = net->ack_cq,
                                    .recv_cq = net->receive_cq,
                                    .cap = {.max_send_wr = SENDS,
                                            .max_recv_wr = DATAGRAMS,
                                            .max_send_sge = 1,
                                            .max_recv_sge = 1},
                                    .qp_type = IBV_QPT_UD};
    void *memory = NULL;

    if (end == NULL)
        return weft_err(WEFT_ERR_MEMORY, "verbs: no memory for datagrams");
    net->control = end;
    end->mr =
        weft_verbs_alloc(net->pd, (DATAGRAMS + SENDS) * ROOM, IBV_ACCESS_LOCAL_WRITE, &memory);
    end->memory = memory;
    if (end->mr == NULL)
        return WEFT_ERR_MEMORY;
    end->qp = ibv_create_qp(net->pd, &attr);
    if (end->qp == NULL)
        return weft_err(WEFT_ERR_NETWORK, "verbs: %s gives no queue pair for datagrams: %s",
                        net->device.name, strerror(errno));
    net->address.control = end->qp->qp_num;
    weft_status status = ready(net, end->qp);
    for (uint64_t i = 0; i < DATAGRAMS && status == WEFT_OK; i++)
        status = post_receive(net, i);
    return status;
}

void weft_verbs_connect_close(struct weft_net *net)
{
    struct weft_verbs_control_end *end = net->control;

    if (end == NULL)
        return;
    WEFT_VERBS_CLOSE(ibv_destroy_qp, end->qp);
    weft_verbs_release(end->mr, end->memory);
    free(end);
}

weft_status weft_verbs_way(struct weft_net *net, int process, struct ibv_ah **ah)
{
    struct ibv_ah_attr route;

    weft_verbs_route(&net->device, &net->peers[process].address, &route);
    *ah = ibv_create_ah(net->pd, &route);
    return *ah != NULL ? WEFT_OK
                       : weft_err(WEFT_ERR_NETWORK, "verbs: %s knows no way to process %d: %s",
                                  net->device.name, process, strerror(errno));
}

/* Sends it, or loses it if too many are under way: what matters is said again. */
static weft_status say(struct weft_net *net, int process, struct weft_verbs_control *what)
{
    struct weft_verbs_control_end *end = net->control;
    struct weft_verbs_peer *peer = &net->peers[process];
    weft_status status = WEFT_OK;

    if (end->under_way == SENDS)
        return WEFT_OK;
    if (peer->control == NULL)
        status = weft_verbs_way(net, process, &peer->control);
    if (status != WEFT_OK)
        return status;
    what->process = (uint32_t)net->open.process;
    what->token = peer->address.token;
    unsigned char *memory = end->memory + (DATAGRAMS + end->next++ % SENDS) * ROOM;
    memcpy(memory, what, sizeof(*what));
    struct weft_verbs_request r;
    struct ibv_send_wr *bad;
    weft_verbs_request_begin(&r, IBV_WR_SEND);
    weft_verbs_request_gather(&r, (uint64_t)(uintptr_t)memory, sizeof(*what), end->mr->lkey);
    r.wr.wr_id = WEFT_VERBS_DATAGRAM;
    r.wr.send_flags = IBV_SEND_SIGNALED;
    r.wr.wr.ud.ah = peer->control;
    r.wr.wr.ud.remote_qpn = peer->address.control;
    r.wr.wr.ud.remote_qkey = QKEY;
    const int error = ibv_post_send(end->qp, &r.wr, &bad);
    if (error != 0)
        return weft_err(WEFT_ERR_NETWORK, "verbs: %s sends no datagrams: %s", net->device.name,
                        strerror(error));
    end->under_way++;
    return WEFT_OK;
}

/* ---- which queue pair is whose ------------------------------------------------------------- */

int weft_verbs_process_of(const struct weft_net *net, uint32_t qpn)
{
    const int *page = qpn <= WEFT_VERBS_QPN_MOST ? net->by_qpn[qpn / WEFT_VERBS_QPN_PAGE] : NULL;

    return page != NULL ? page[qpn % WEFT_VERBS_QPN_PAGE] - 1 : -1;
}

static weft_status remember(struct weft_net *net, uint32_t qpn, int process)
{
    int **page = &net->by_qpn[qpn / WEFT_VERBS_QPN_PAGE];

    if (*page == NULL)
        *page = calloc(WEFT_VERBS_QPN_PAGE, sizeof(**page));
    if (*page == NULL)
        return weft_err(WEFT_ERR_MEMORY, "verbs: no memory for the connection of process %d",
                        process);
    (*page)[qpn % WEFT_VERBS_QPN_PAGE] = process + 1;
    return WEFT_OK;
}

/* ---- the target's part --------------------------------------------------------------------- */

static weft_status make_responder(struct weft_net *net, int process,
                                  const struct weft_verbs_control *request)
{
    struct weft_verbs_peer *peer = &net->peers[process];
    struct weft_verbs_responder *responder = calloc(1, sizeof(*responder));

    if (responder == NULL)
        return weft_err(WEFT_ERR_MEMORY, "verbs: no memory for process %d's connection", process);
    responder->remote_qpn = request->qpn;
    responder->arrived = net->start;
    responder->qp = weft_verbs_rc_make(net, net->ack_cq, WEFT_VERBS_ACKS, sizeof(uint64_t));
    weft_status status = responder->qp != NULL ? WEFT_OK : WEFT_ERR_NETWORK;
    if (status == WEFT_OK) {
        responder->psn = (responder->qp->qp_num * 0x9e3779b1u) >> 8;
        status = weft_verbs_rc_join(
            net, responder->qp, process,
            (struct weft_verbs_ends){responder->psn, request->qpn, request->psn});
    }
    if (status == WEFT_OK)
        status = remember(net, responder->qp->qp_num, process);
    if (status != WEFT_OK) {
        WEFT_VERBS_CLOSE(ibv_destroy_qp, responder->qp);
        free(responder);
        return status;
    }
    net->counts.queue_pairs++;
    peer->responder = responder;
    return WEFT_OK;
}

static weft_status answer(struct weft_net *net, const struct weft_verbs_control *request)
{
    const int process = (int)request->process;
    struct weft_verbs_peer *peer = &net->peers[process];
    weft_status status = WEFT_OK;

    if (!peer->known)
        return WEFT_OK; /* it is early, and will say it again */
    if (peer->responder == NULL)
        status = make_responder(net, process, request);
    else if (peer->responder->remote_qpn != request->qpn)
        return weft_err(WEFT_ERR_PROTOCOL,
                        "verbs: process %d wants to be connected twice (queue pairs %u and %u)",
                        process, peer->responder->remote_qpn, request->qpn);
    if (status != WEFT_OK)
        return status;
    struct weft_verbs_control reply = {.kind = WEFT_VERBS_REPLY,
                                       .qpn = peer->responder->qp->qp_num,
                                       .to_qpn = request->qpn,
                                       .psn = peer->responder->psn};
    return say(net, process, &reply);
}

/* ---- the initiator's part ------------------------------------------------------------------ */

static weft_status ask(struct weft_net *net, int process)
{
    struct weft_verbs_peer *peer = &net->peers[process];
    struct weft_verbs_control request = {
        .kind = WEFT_VERBS_REQUEST, .qpn = peer->qp->qp_num, .psn = peer->psn};

    peer->asked_ns = weft_now_ns();
    return say(net, process, &request);
}

static weft_status begin_connection(struct weft_net *net, int process)
{
    struct weft_verbs_peer *peer = &net->peers[process];

    if (net->dc != NULL) { /* nothing is to be connected */
        weft_verbs_set_state(peer, WEFT_VERBS_READY);
        return WEFT_OK;
    }
    peer->qp = weft_verbs_rc_make(net, net->send_cq, net->sends, net->inline_most);
    if (peer->qp == NULL)
        return WEFT_ERR_NETWORK;
    net->counts.queue_pairs++;
    peer->psn = (peer->qp->qp_num * 0x85ebca6bu) >> 8;
    peer->since_ns = weft_now_ns();
    net->connecting++;
    weft_verbs_set_state(peer, WEFT_VERBS_CONNECTING);
    return ask(net, process);
}

static weft_status finish(struct weft_net *net, const struct weft_verbs_control *reply)
{
    const int process = (int)reply->process;
    struct weft_verbs_peer *peer = &net->peers[process];

    if (weft_verbs_state_of(peer) != WEFT_VERBS_CONNECTING || reply->to_qpn != peer->qp->qp_num)
        return WEFT_OK; /* said twice */
    weft_status status = weft_verbs_rc_join(
        net, peer->qp, process, (struct weft_verbs_ends){peer->psn, reply->qpn, reply->psn});
    net->connecting--;
    weft_verbs_set_state(peer, status == WEFT_OK ? WEFT_VERBS_READY : WEFT_VERBS_FAILED);
    return status;
}

static weft_status look_after(struct weft_net *net, int process, uint64_t now)
{
    struct weft_verbs_peer *peer = &net->peers[process];
    const double patience = net->open.config->connect_s;

    switch (weft_verbs_state_of(peer)) {
    case WEFT_VERBS_WANTED:
        __atomic_sub_fetch(&net->wanted, 1, __ATOMIC_RELAXED);
        return begin_connection(net, process);
    case WEFT_VERBS_CONNECTING:
        if ((double)(now - peer->since_ns) > patience * 1e9) {
            weft_verbs_set_state(peer, WEFT_VERBS_FAILED);
            return weft_err(WEFT_ERR_PEER_LOST,
                            "verbs: process %d has not answered for %.1f s, through %s", process,
                            patience, net->device.name);
        }
        return now - peer->asked_ns > AGAIN_NS ? ask(net, process) : WEFT_OK;
    default:
        return WEFT_OK;
    }
}

static weft_status tell_refusal(struct weft_net *net)
{
    const struct weft_verbs_refusal *refusal = &net->refusal;
    struct weft_verbs_control what = {.kind = WEFT_VERBS_REFUSED,
                                      .key = refusal->key,
                                      .offset = refusal->offset,
                                      .bytes = refusal->bytes};

    if (net->control->under_way == SENDS)
        return WEFT_OK; /* this is said once: not before there is room */
    weft_status status = say(net, refusal->process, &what);
    __atomic_store_n(&net->refusal.pending, 0, __ATOMIC_RELEASE);
    return status;
}

weft_status weft_verbs_connect_progress(struct weft_net *net, bool *did)
{
    struct weft_verbs_control_end *end = net->control;
    weft_status status = WEFT_OK;

    if (__atomic_load_n(&net->refusal.pending, __ATOMIC_ACQUIRE) != 0) {
        *did = true;
        status = tell_refusal(net);
    }
    const bool wanted = __atomic_load_n(&net->wanted, __ATOMIC_ACQUIRE) != 0;
    if (status != WEFT_OK || (!wanted && net->connecting == 0))
        return status;
    const uint64_t now = weft_now_ns();
    if (!wanted && now - end->last_ns < AGAIN_NS / 4)
        return WEFT_OK;
    end->last_ns = now;
    *did |= wanted;
    for (int p = 0; p < net->open.processes && status == WEFT_OK; p++)
        status = look_after(net, p, now);
    return status;
}

void weft_verbs_datagram_sent(struct weft_net *net)
{
    net->control->under_way--;
}

weft_status weft_verbs_datagram(struct weft_net *net, const struct ibv_wc *wc)
{
    struct weft_verbs_control what;
    const size_t bytes = wc->byte_len >= GRH ? wc->byte_len - GRH : 0;
    const char *wrong =
        weft_verbs_parse_control(net->control->memory + wc->wr_id * ROOM + GRH, bytes,
                                 (uint32_t)net->open.processes, net->address.token, &what);
    const weft_status status = post_receive(net, wc->wr_id);
    if (status != WEFT_OK)
        return status;
    if (wrong != NULL) { /* anybody on the fabric can send one: it is not the job's fault */
        weft_say(WEFT_SAY_WARN, "verbs: a datagram from queue pair %u was ignored: %s", wc->src_qp,
                 wrong);
        return WEFT_OK;
    }
    switch (what.kind) {
    case WEFT_VERBS_REQUEST:
        return net->dc == NULL ? answer(net, &what) : WEFT_OK;
    case WEFT_VERBS_REPLY:
        return finish(net, &what);
    default:
        return weft_err(WEFT_ERR_PROTOCOL,
                        "verbs: process %u put %llu bytes at offset %llu of key 0x%llx, which is "
                        "no region of this process",
                        what.process, (unsigned long long)what.bytes,
                        (unsigned long long)what.offset, (unsigned long long)what.key);
    }
}
