/* net/verbs/rc.c - queue pairs of reliable connections. A queue pair has one thread at a time. */
#include "net/verbs/state.h"

#include "base/say.h"

#include <errno.h>
#include <string.h>

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

struct ibv_qp *weft_verbs_rc_make(struct weft_transport *t)
{
    struct ibv_qp *qp = try_make(t, t->inline_most);
    int error = errno; /* of making it; ibv_modify_qp returns its own */

    if (qp != NULL)
        error = weft_verbs_rc_start(&t->device, qp, IBV_ACCESS_REMOTE_WRITE);
    if (qp == NULL || error != 0) {
        weft_err_say(WEFT_ERR_NETWORK, "verbs: %s gives no queue pair of %u requests: %s",
                     t->device.name, t->sends, strerror(error));
        WEFT_VERBS_CLOSE(ibv_destroy_qp, qp);
        return NULL;
    }
    t->counts.queue_pairs++;
    return qp;
}

int weft_verbs_rc_start(const struct weft_verbs_device *device, struct ibv_qp *qp, int access)
{
    struct ibv_qp_attr attr = {
        .qp_state = IBV_QPS_INIT, .port_num = device->port, .qp_access_flags = (unsigned)access};

    return ibv_modify_qp(qp, &attr,
                         IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
}

int weft_verbs_rc_connect(const struct weft_verbs_device *device, struct ibv_qp *qp,
                          const struct weft_verbs_address *to, struct weft_verbs_ends ends,
                          int timeout)
{
    const uint8_t own_mtu = (uint8_t)device->port_attr.active_mtu;
    struct ibv_qp_attr attr = {
        .qp_state = IBV_QPS_RTR,
        .path_mtu = (enum ibv_mtu)(own_mtu < to->mtu ? own_mtu : to->mtu),
        .dest_qp_num = ends.remote_qpn,
        .rq_psn = ends.remote_psn,
        .max_dest_rd_atomic = (uint8_t)weft_verbs_at_most(device->attr.max_qp_rd_atom, 16),
        .min_rnr_timer = WEFT_VERBS_RNR_DELAY,
    };

    weft_verbs_route(device, to, &attr.ah_attr);
    const int error =
        ibv_modify_qp(qp, &attr,
                      IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                          IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
    attr = (struct ibv_qp_attr){
        .qp_state = IBV_QPS_RTS,
        .sq_psn = ends.psn,
        .timeout = (uint8_t)timeout,
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
