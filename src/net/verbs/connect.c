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
    DATAGRAMS = 128,   /* receives; more that come at once are lost, and said again */
    SENDS = 32,        /* datagrams under way, */
    GRH = 40,          /* and what the device puts before each */
    QKEY = 0x77656674, /* guards nothing: the token does */
    AGAIN_NS = 30000000
};

static const size_t ROOM = GRH + sizeof(struct weft_verbs_control);

/* ---- datagrams ----------------------------------------------------------------------------- */

static weft_status post_receive(const struct weft_transport *t, uint64_t i)
{
    const struct weft_verbs_control_end *end = &t->control;
    struct ibv_sge sge = {.addr = (uint64_t)(uintptr_t)(end->memory + i * ROOM),
                          .length = (uint32_t)ROOM,
                          .lkey = end->mr->lkey};
    struct ibv_recv_wr wr = {.wr_id = i, .sg_list = &sge, .num_sge = 1}, *bad;

    return ibv_post_recv(end->qp, &wr, &bad) == 0
               ? WEFT_OK
               : weft_err(WEFT_ERR_NETWORK, "verbs: %s takes no receives for datagrams",
                          t->device.name);
}

static weft_status ready(struct weft_transport *t, struct ibv_qp *qp)
{
    struct ibv_qp_attr init = {.qp_state = IBV_QPS_INIT, .port_num = t->device.port, .qkey = QKEY};
    struct ibv_qp_attr receive = {.qp_state = IBV_QPS_RTR}, send = {.qp_state = IBV_QPS_RTS};
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

weft_status weft_verbs_connect_open(struct weft_transport *t)
{
    struct weft_verbs_control_end *end = &t->control;
    struct ibv_qp_init_attr attr = {.send_cq = t->receive_cq,
                                    .recv_cq = t->receive_cq,
                                    .cap = {.max_send_wr = SENDS,
                                            .max_recv_wr = DATAGRAMS,
                                            .max_send_sge = 1,
                                            .max_recv_sge = 1},
                                    .qp_type = IBV_QPT_UD};
    void *memory = NULL;

    end->mr = weft_verbs_alloc(t->pd, (DATAGRAMS + SENDS) * ROOM, IBV_ACCESS_LOCAL_WRITE, &memory);
    end->memory = memory;
    if (end->mr == NULL)
        return WEFT_ERR_MEMORY;
    end->qp = ibv_create_qp(t->pd, &attr);
    if (end->qp == NULL)
        return weft_err(WEFT_ERR_NETWORK, "verbs: %s gives no queue pair for datagrams: %s",
                        t->device.name, strerror(errno));
    t->address.control = end->qp->qp_num;
    weft_status status = ready(t, end->qp);
    for (uint64_t i = 0; i < DATAGRAMS && status == WEFT_OK; i++)
        status = post_receive(t, i);
    return status;
}

void weft_verbs_connect_close(struct weft_transport *t)
{
    WEFT_VERBS_CLOSE(ibv_destroy_qp, t->control.qp);
    weft_verbs_release(t->control.mr, t->control.memory);
}

weft_status weft_verbs_way(struct weft_transport *t, int process, struct ibv_ah **ah)
{
    struct ibv_ah_attr route;

    weft_verbs_route(&t->device, &t->peers[process].address, &route);
    *ah = ibv_create_ah(t->pd, &route);
    return *ah != NULL ? WEFT_OK
                       : weft_err(WEFT_ERR_NETWORK, "verbs: %s knows no way to process %d: %s",
                                  t->device.name, process, strerror(errno));
}

/* Sends it, or loses it if too many are under way: what matters is said again. */
static weft_status say(struct weft_transport *t, int process, struct weft_verbs_control *what)
{
    struct weft_verbs_control_end *end = &t->control;
    struct weft_verbs_peer *peer = &t->peers[process];
    weft_status status = WEFT_OK;

    if (end->under_way == SENDS)
        return WEFT_OK;
    if (peer->way == NULL)
        status = weft_verbs_way(t, process, &peer->way);
    if (status != WEFT_OK)
        return status;
    what->process = (uint32_t)t->open.process;
    what->token = peer->address.token;
    unsigned char *memory = end->memory + (DATAGRAMS + end->next++ % SENDS) * ROOM;
    memcpy(memory, what, sizeof(*what));
    struct ibv_sge sge = {
        .addr = (uintptr_t)memory, .length = sizeof(*what), .lkey = end->mr->lkey};
    struct ibv_send_wr wr = {
        .wr_id = WEFT_VERBS_DATAGRAM,
        .sg_list = &sge,
        .num_sge = 1,
        .opcode = IBV_WR_SEND,
        .send_flags = IBV_SEND_SIGNALED,
        .wr.ud = {.ah = peer->way, .remote_qpn = peer->address.control, .remote_qkey = QKEY}};
    struct ibv_send_wr *bad;
    const int error = ibv_post_send(end->qp, &wr, &bad);
    if (error != 0)
        return weft_err(WEFT_ERR_NETWORK, "verbs: %s sends no datagrams: %s", t->device.name,
                        strerror(error));
    end->under_way++;
    return WEFT_OK;
}

/* ---- which queue pair is whose ------------------------------------------------------------- */

int weft_verbs_process_of(const struct weft_transport *t, uint32_t qpn)
{
    const int *page = qpn <= WEFT_VERBS_QPN_MOST ? t->by_qpn[qpn / WEFT_VERBS_QPN_PAGE] : NULL;

    return page != NULL ? page[qpn % WEFT_VERBS_QPN_PAGE] - 1 : -1;
}

static weft_status remember(struct weft_transport *t, uint32_t qpn, int process)
{
    int **page = &t->by_qpn[qpn / WEFT_VERBS_QPN_PAGE];

    if (*page == NULL)
        *page = calloc(WEFT_VERBS_QPN_PAGE, sizeof(**page));
    if (*page == NULL)
        return weft_err(WEFT_ERR_MEMORY, "verbs: no memory for the connection of process %d",
                        process);
    (*page)[qpn % WEFT_VERBS_QPN_PAGE] = process + 1;
    return WEFT_OK;
}

/* ---- connections --------------------------------------------------------------------------- */

/* The queue pair to a process, which is to be joined. */
static weft_status make(struct weft_transport *t, int process)
{
    struct weft_verbs_peer *peer = &t->peers[process];

    if (peer->queue != NULL)
        return WEFT_OK;
    struct ibv_qp *qp = weft_verbs_rc_make(t);
    if (qp == NULL)
        return WEFT_ERR_NETWORK;
    const weft_status status = weft_verbs_queue_open(t, (uint32_t)process, qp, &peer->queue);
    if (status != WEFT_OK) {
        ibv_destroy_qp(qp);
        return status;
    }
    t->queues[process] = peer->queue;
    peer->psn = (qp->qp_num * 0x85ebca6bu) >> 8;
    return remember(t, qp->qp_num, process);
}

/* Joins it to the queue pair that the other has told of. */
static weft_status join(struct weft_transport *t, const struct weft_verbs_control *said)
{
    const int process = (int)said->process;
    struct weft_verbs_peer *peer = &t->peers[process];
    const struct weft_verbs_ends ends = {
        .psn = peer->psn, .remote_qpn = said->qpn, .remote_psn = said->psn};

    if (peer->remote_qpn == said->qpn)
        return WEFT_OK;
    if (peer->remote_qpn != 0)
        return weft_err(WEFT_ERR_PROTOCOL,
                        "verbs: process %d wants to be connected twice (queue pairs %u and %u)",
                        process, peer->remote_qpn, said->qpn);
    peer->remote_qpn = said->qpn;
    const int error = weft_verbs_rc_connect(&t->device, peer->queue->qp, &peer->address, ends,
                                            weft_verbs_timeout(t->open.config));
    return error == 0
               ? WEFT_OK
               : weft_err(WEFT_ERR_NETWORK, "verbs: %s cannot be connected to process %d: %s",
                          t->device.name, process, strerror(error));
}

static weft_status answer(struct weft_transport *t, const struct weft_verbs_control *request)
{
    struct weft_verbs_peer *peer = &t->peers[request->process];

    if (!peer->known)
        return WEFT_OK; /* it is early, and will say it again */
    weft_status status = make(t, (int)request->process);
    if (status == WEFT_OK)
        status = join(t, request);
    if (status != WEFT_OK)
        return status;
    struct weft_verbs_control reply = {.kind = WEFT_VERBS_REPLY,
                                       .qpn = peer->queue->qp->qp_num,
                                       .to_qpn = request->qpn,
                                       .psn = peer->psn};
    return say(t, (int)request->process, &reply);
}

static weft_status finish(struct weft_transport *t, const struct weft_verbs_control *reply)
{
    struct weft_verbs_peer *peer = &t->peers[reply->process];

    if (peer->queue == NULL || reply->to_qpn != peer->queue->qp->qp_num)
        return WEFT_OK; /* of nobody's request */
    const weft_status status = join(t, reply);
    if (status == WEFT_OK)
        weft_verbs_tell(&peer->ready, 1);
    return status;
}

static weft_status ask(struct weft_transport *t, int process)
{
    struct weft_verbs_peer *peer = &t->peers[process];
    struct weft_verbs_control request = {
        .kind = WEFT_VERBS_REQUEST, .qpn = peer->queue->qp->qp_num, .psn = peer->psn};

    peer->asked_ns = weft_now_ns();
    return say(t, process, &request);
}

/* The send side wants it. */
static weft_status begin_connection(struct weft_transport *t, int process)
{
    struct weft_verbs_peer *peer = &t->peers[process];
    weft_status status;

    if (t->dc != NULL) { /* nothing is to be connected */
        status = weft_verbs_way(t, process, &peer->way);
        weft_verbs_tell(&peer->ready, status == WEFT_OK);
        return status;
    }
    status = make(t, process);
    peer->since_ns = weft_now_ns();
    t->connecting++;
    return status == WEFT_OK ? ask(t, process) : status;
}

static weft_status look_after(struct weft_transport *t, int process, uint64_t now)
{
    struct weft_verbs_peer *peer = &t->peers[process];
    const double patience = t->open.config->connect_s;
    const bool ready = peer->ready != 0;

    if (peer->since_ns == 0)
        return !ready && weft_verbs_look(&peer->wanted) != 0 ? begin_connection(t, process)
                                                             : WEFT_OK;
    if (ready) {
        t->connecting--;
        peer->since_ns = 0;
        return WEFT_OK;
    }
    if ((double)(now - peer->since_ns) > patience * 1e9)
        return weft_err(WEFT_ERR_PEER_LOST,
                        "verbs: process %d has not answered for %.1f s, through %s", process,
                        patience, t->device.name);
    return now - peer->asked_ns > AGAIN_NS ? ask(t, process) : WEFT_OK;
}

weft_status weft_verbs_connect_progress(struct weft_transport *t)
{
    struct weft_verbs_control_end *end = &t->control;
    const uint32_t wanted = weft_verbs_look(&t->wanted);
    weft_status status = WEFT_OK;

    if (wanted == t->heard && t->connecting == 0)
        return WEFT_OK;
    const uint64_t now = weft_now_ns();
    if (wanted == t->heard && now - end->last_ns < AGAIN_NS / 4)
        return WEFT_OK;
    t->heard = wanted;
    end->last_ns = now;
    for (int p = 0; p < t->open.processes && status == WEFT_OK; p++)
        status = look_after(t, p, now);
    return status;
}

weft_status weft_verbs_datagram(struct weft_transport *t, const struct ibv_wc *wc)
{
    struct weft_verbs_control what;
    const size_t bytes = wc->byte_len >= GRH ? wc->byte_len - GRH : 0;

    if (wc->wr_id == WEFT_VERBS_DATAGRAM) {
        t->control.under_way--;
        return WEFT_OK;
    }
    const char *wrong =
        weft_verbs_parse_control(t->control.memory + wc->wr_id * ROOM + GRH, bytes,
                                 (uint32_t)t->open.processes, t->address.token, &what);
    const weft_status status = post_receive(t, wc->wr_id);
    if (status != WEFT_OK)
        return status;
    if (wrong != NULL) { /* anybody on the fabric can send one: it is not the job's fault */
        weft_say(WEFT_SAY_WARN, "verbs: a datagram from queue pair %u was ignored: %s", wc->src_qp,
                 wrong);
        return WEFT_OK;
    }
    if (t->dc != NULL)
        return WEFT_OK;
    return what.kind == WEFT_VERBS_REQUEST ? answer(t, &what) : finish(t, &what);
}
