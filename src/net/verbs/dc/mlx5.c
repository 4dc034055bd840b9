/* net/verbs/dc/mlx5.c - see dc.h. `post` needs the send lock; the rest is opening and closing. */
#include "net/verbs/dc/dc.h"

#include "base/say.h"

#include <errno.h>
#include <infiniband/mlx5dv.h>
#include <stdlib.h>
#include <string.h>

struct weft_verbs_dc {
    struct weft_verbs_queue initiators[WEFT_VERBS_INITIATORS];
    struct ibv_qp *target;
};

const char *weft_verbs_dc_missing(const struct weft_verbs_device *device)
{
    return mlx5dv_is_supported(device->context->device) ? NULL : "the device is not one of mlx5's";
}

static weft_status no_pair(struct weft_transport *t, const char *what)
{
    return weft_err(WEFT_ERR_NETWORK, "verbs: %s gives no DC %s: %s", t->device.name, what,
                    strerror(errno));
}

/* What takes a queue pair to its next state. */
struct step {
    struct ibv_qp_attr attr;
    int mask; /* which attributes are set, besides the state */
};

/* Makes a queue pair and takes it through its states; NULL: errno says why not. */
static struct ibv_qp *make_ready(struct weft_transport *t, struct ibv_qp_init_attr_ex *attr,
                                 struct mlx5dv_qp_init_attr *mlx5, struct step *steps, int count)
{
    struct ibv_qp *qp = mlx5dv_create_qp(t->device.context, attr, mlx5);
    int error = 0;

    if (qp == NULL)
        return NULL;
    for (int i = 0; i < count && error == 0; i++)
        error = ibv_modify_qp(qp, &steps[i].attr, steps[i].mask | IBV_QP_STATE);
    if (error == 0) {
        t->counts.queue_pairs++;
        return qp;
    }
    ibv_destroy_qp(qp);
    errno = error;
    return NULL;
}

/* Makes an initiator, ready to send; NULL: errno says why not. */
static struct ibv_qp *make_initiator(struct weft_transport *t)
{
    struct ibv_qp_init_attr_ex attr = {
        .send_cq = t->send_cq,
        .recv_cq = t->send_cq,
        .cap = {.max_send_wr = t->sends, .max_send_sge = 1, .max_inline_data = t->inline_most},
        .qp_type = IBV_QPT_DRIVER,
        .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
        .pd = t->pd,
        .send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_SEND};
    struct mlx5dv_qp_init_attr mlx5 = {.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_DC |
                                                    MLX5DV_QP_INIT_ATTR_MASK_QP_CREATE_FLAGS,
                                       .create_flags = MLX5DV_QP_CREATE_DISABLE_SCATTER_TO_CQE,
                                       .dc_init_attr.dc_type = MLX5DV_DCTYPE_DCI};
    struct step steps[] = {
        {{.qp_state = IBV_QPS_INIT, .port_num = t->device.port}, IBV_QP_PKEY_INDEX | IBV_QP_PORT},
        {{.qp_state = IBV_QPS_RTR,
          .path_mtu = (enum ibv_mtu)t->address.mtu,
          .ah_attr = {.port_num = t->device.port, .is_global = t->device.ethernet}},
         IBV_QP_PATH_MTU | IBV_QP_AV},
        {{.qp_state = IBV_QPS_RTS,
          .timeout = (uint8_t)weft_verbs_timeout(t->open.config),
          .retry_cnt = WEFT_VERBS_RETRIES,
          .rnr_retry = WEFT_VERBS_RNR_FOR_EVER,
          .max_rd_atomic = 1},
         IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
             IBV_QP_MAX_QP_RD_ATOMIC}};

    return make_ready(t, &attr, &mlx5, steps, 3);
}

/* Makes a target, ready to receive; NULL: errno says why not. */
static struct ibv_qp *make_target(struct weft_transport *t)
{
    struct ibv_qp_init_attr_ex attr = {.send_cq = t->receive_cq,
                                       .recv_cq = t->receive_cq,
                                       .srq = t->srq,
                                       .qp_type = IBV_QPT_DRIVER,
                                       .comp_mask = IBV_QP_INIT_ATTR_PD,
                                       .pd = t->pd};
    struct mlx5dv_qp_init_attr mlx5 = {
        .comp_mask = MLX5DV_QP_INIT_ATTR_MASK_DC,
        .dc_init_attr = {.dc_type = MLX5DV_DCTYPE_DCT, .dct_access_key = t->address.token}};
    struct step steps[] = {
        {{.qp_state = IBV_QPS_INIT,
          .port_num = t->device.port,
          .qp_access_flags = IBV_ACCESS_REMOTE_WRITE},
         IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS},
        {{.qp_state = IBV_QPS_RTR,
          .path_mtu = (enum ibv_mtu)t->address.mtu,
          .min_rnr_timer = WEFT_VERBS_RNR_DELAY,
          .ah_attr = {.port_num = t->device.port,
                      .is_global = t->device.ethernet,
                      .grh = {.hop_limit = 64, .sgid_index = t->device.gid_index}}},
         IBV_QP_PATH_MTU | IBV_QP_MIN_RNR_TIMER | IBV_QP_AV}};

    return make_ready(t, &attr, &mlx5, steps, 2);
}

/* Posts a request. An initiator takes it only through these functions, with its destination. */
static int post(struct ibv_qp *initiator, const struct weft_verbs_peer *to,
                const struct ibv_send_wr *wr)
{
    struct ibv_qp_ex *qp = ibv_qp_to_qp_ex(initiator);

    ibv_wr_start(qp);
    qp->wr_id = wr->wr_id;
    qp->wr_flags = wr->send_flags & ~(unsigned)IBV_SEND_INLINE;
    if (wr->opcode == IBV_WR_RDMA_WRITE)
        ibv_wr_rdma_write(qp, wr->wr.rdma.rkey, wr->wr.rdma.remote_addr);
    else
        ibv_wr_send(qp);
    mlx5dv_wr_set_dc_addr(mlx5dv_qp_ex_from_ibv_qp_ex(qp), to->way, to->address.target,
                          to->address.token);
    if ((wr->send_flags & IBV_SEND_INLINE) != 0)
        ibv_wr_set_inline_data(qp, (void *)(uintptr_t)wr->sg_list->addr, wr->sg_list->length);
    else
        ibv_wr_set_sge(qp, wr->sg_list->lkey, wr->sg_list->addr, wr->sg_list->length);
    return ibv_wr_complete(qp);
}

static void close_dc(struct weft_transport *t)
{
    for (uint32_t i = 0; i < WEFT_VERBS_INITIATORS; i++)
        WEFT_VERBS_CLOSE(ibv_destroy_qp, t->dc->initiators[i].qp);
    WEFT_VERBS_CLOSE(ibv_destroy_qp, t->dc->target);
    free(t->dc);
    t->dc = NULL;
}

static const struct weft_verbs_dc_ops ops = {.close = close_dc, .post = post};

weft_status weft_verbs_dc_open(struct weft_transport *t)
{
    struct weft_verbs_dc *dc = calloc(1, sizeof(*dc));

    if (dc == NULL)
        return weft_err(WEFT_ERR_MEMORY, "verbs: no memory for initiators");
    t->dc = dc; /* close_dc frees it from here on */
    t->dc_ops = &ops;
    for (uint32_t i = 0; i < WEFT_VERBS_INITIATORS; i++)
        if ((dc->initiators[i].qp = make_initiator(t)) == NULL)
            return no_pair(t, "initiator");
    for (int p = 0; p < t->open.processes; p++)
        t->peers[p].queue = &dc->initiators[p % WEFT_VERBS_INITIATORS];
    dc->target = make_target(t);
    if (dc->target == NULL)
        return no_pair(t, "target");
    t->address.target = dc->target->qp_num;
    return WEFT_OK;
}
