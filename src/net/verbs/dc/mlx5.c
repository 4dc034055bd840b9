/*
 * net/verbs/dc/mlx5.c - see dc.h.
 *
 * Puts and their notices go to the data target, from one initiator at a time, so their order is
 * kept: a destination changes its initiator only when nothing is under way to it. A receive at a
 * target does not tell from whom it is; so the sender closes each batch that holds notices with a
 * marker, a message that says who it is and how many receives it has made the target consume. The
 * target answers it like RC answers a count: by writing into the sender's words, through the
 * initiator of acknowledgements, to the control target, so that these never wait behind puts.
 */
#include "net/verbs/dc/dc.h"

#include "base/say.h"
#include "net/verbs/dc/pool.h"

#include <errno.h>
#include <infiniband/mlx5dv.h>
#include <stdlib.h>
#include <string.h>

struct weft_verbs_dc {
    struct weft_verbs_pool pool;
    struct ibv_qp *targets[2]; /* data, control */
    struct ibv_qp *acker;      /* the initiator of acknowledgements */
};

const char *weft_verbs_dc_missing(const struct weft_verbs_device *device)
{
    return mlx5dv_is_supported(device->context->device) ? NULL : "the device is not one of mlx5's";
}

static weft_status no_pair(struct weft_net *net, const char *what)
{
    return weft_err(WEFT_ERR_NETWORK, "verbs: %s gives no DC %s: %s", net->device.name, what,
                    strerror(errno));
}

/* What takes a queue pair to its next state. */
struct step {
    struct ibv_qp_attr attr;
    int mask; /* of it, besides the state */
};

/* A new pair, taken through its states; NULL: errno says why not. */
static struct ibv_qp *make_ready(struct weft_net *net, struct ibv_qp_init_attr_ex *attr,
                                 struct mlx5dv_qp_init_attr *mlx5, struct step *steps, int count)
{
    struct ibv_qp *qp = mlx5dv_create_qp(net->device.context, attr, mlx5);
    int error = 0;

    if (qp == NULL)
        return NULL;
    for (int i = 0; i < count && error == 0; i++)
        error = ibv_modify_qp(qp, &steps[i].attr, steps[i].mask | IBV_QP_STATE);
    if (error == 0) {
        net->counts.queue_pairs++;
        return qp;
    }
    ibv_destroy_qp(qp);
    errno = error;
    return NULL;
}

/* An initiator, ready to send; NULL: errno says why not. */
static struct ibv_qp *make_initiator(struct weft_net *net, struct ibv_cq *completions,
                                     uint32_t depth)
{
    struct ibv_qp_init_attr_ex attr = {
        .send_cq = completions,
        .recv_cq = completions,
        .cap = {.max_send_wr = depth, .max_send_sge = 1, .max_inline_data = net->inline_most},
        .qp_type = IBV_QPT_DRIVER,
        .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
        .pd = net->pd,
        .send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
                          IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_SEND};
    struct mlx5dv_qp_init_attr mlx5 = {.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_DC |
                                                    MLX5DV_QP_INIT_ATTR_MASK_QP_CREATE_FLAGS,
                                       .create_flags = MLX5DV_QP_CREATE_DISABLE_SCATTER_TO_CQE,
                                       .dc_init_attr.dc_type = MLX5DV_DCTYPE_DCI};
    struct step steps[] = {
        {{.qp_state = IBV_QPS_INIT, .port_num = net->device.port}, IBV_QP_PKEY_INDEX | IBV_QP_PORT},
        {{.qp_state = IBV_QPS_RTR,
          .path_mtu = (enum ibv_mtu)net->address.mtu,
          .ah_attr = {.port_num = net->device.port, .is_global = net->device.ethernet}},
         IBV_QP_PATH_MTU | IBV_QP_AV},
        {{.qp_state = IBV_QPS_RTS,
          .timeout = (uint8_t)weft_verbs_timeout(net->open.config),
          .retry_cnt = WEFT_VERBS_RETRIES,
          .rnr_retry = WEFT_VERBS_RNR_FOR_EVER,
          .max_rd_atomic = 1},
         IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
             IBV_QP_MAX_QP_RD_ATOMIC}};

    return make_ready(net, &attr, &mlx5, steps, 3);
}

/* A target, ready to receive; NULL: errno says why not. */
static struct ibv_qp *make_target(struct weft_net *net)
{
    struct ibv_qp_init_attr_ex attr = {.send_cq = net->receive_cq,
                                       .recv_cq = net->receive_cq,
                                       .srq = net->srq,
                                       .qp_type = IBV_QPT_DRIVER,
                                       .comp_mask = IBV_QP_INIT_ATTR_PD,
                                       .pd = net->pd};
    struct mlx5dv_qp_init_attr mlx5 = {
        .comp_mask = MLX5DV_QP_INIT_ATTR_MASK_DC,
        .dc_init_attr = {.dc_type = MLX5DV_DCTYPE_DCT, .dct_access_key = net->address.token}};
    struct step steps[] = {
        {{.qp_state = IBV_QPS_INIT,
          .port_num = net->device.port,
          .qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ},
         IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS},
        {{.qp_state = IBV_QPS_RTR,
          .path_mtu = (enum ibv_mtu)net->address.mtu,
          .min_rnr_timer = WEFT_VERBS_RNR_DELAY,
          .ah_attr = {.port_num = net->device.port,
                      .is_global = net->device.ethernet,
                      .grh = {.hop_limit = 64, .sgid_index = net->device.gid_index}}},
         IBV_QP_PATH_MTU | IBV_QP_MIN_RNR_TIMER | IBV_QP_AV}};

    return make_ready(net, &attr, &mlx5, steps, 2);
}

static void choose(struct weft_net *net, int process)
{
    struct weft_verbs_sender *sender = net->peers[process].sender;
    const struct weft_verbs_queue *queue = sender->queue;
    const int current = queue == NULL ? -1 : (int)queue->index;
    const bool busy = queue != NULL && !weft_verbs_reached(queue->done, sender->last);
    const uint32_t chosen = weft_verbs_pool_choose(&net->dc->pool, process, current, busy);

    if ((int)chosen == current)
        return;
    /* All requests are complete, fences included; their numbers mean nothing on another queue. */
    for (uint32_t i = sender->landed; i != sender->made; i++)
        sender->pieces[i % net->pieces_most].complete = true;
    sender->queue = net->queues[chosen];
    sender->last = sender->queue->done;
}

/* A DC initiator takes requests only through these functions, each with its destination. */
static int post_one(struct ibv_qp_ex *qp, struct ibv_ah *ah, uint32_t target, uint64_t key,
                    const struct ibv_send_wr *wr)
{
    qp->wr_id = wr->wr_id;
    qp->wr_flags = wr->send_flags & ~(unsigned)IBV_SEND_INLINE;
    switch (wr->opcode) {
    case IBV_WR_RDMA_WRITE:
        ibv_wr_rdma_write(qp, wr->wr.rdma.rkey, wr->wr.rdma.remote_addr);
        break;
    case IBV_WR_RDMA_WRITE_WITH_IMM:
        ibv_wr_rdma_write_imm(qp, wr->wr.rdma.rkey, wr->wr.rdma.remote_addr, wr->imm_data);
        break;
    case IBV_WR_RDMA_READ:
        ibv_wr_rdma_read(qp, wr->wr.rdma.rkey, wr->wr.rdma.remote_addr);
        break;
    case IBV_WR_SEND:
        ibv_wr_send(qp);
        break;
    default:
        return -1; /* nothing else is made (request.h) */
    }
    mlx5dv_wr_set_dc_addr(mlx5dv_qp_ex_from_ibv_qp_ex(qp), ah, target, key);
    if (wr->num_sge == 0)
        ibv_wr_set_sge_list(qp, 0, NULL);
    else if ((wr->send_flags & IBV_SEND_INLINE) != 0)
        ibv_wr_set_inline_data(qp, (void *)(uintptr_t)wr->sg_list->addr, wr->sg_list->length);
    else
        ibv_wr_set_sge(qp, wr->sg_list->lkey, wr->sg_list->addr, wr->sg_list->length);
    return 0;
}

/* A list of requests, one doorbell. An errno. */
static int post(struct ibv_qp *qp, struct ibv_ah *ah, uint32_t target, uint64_t key,
                const struct ibv_send_wr *wr)
{
    struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(qp);

    ibv_wr_start(ex);
    for (; wr != NULL; wr = wr->next)
        if (post_one(ex, ah, target, key, wr) != 0) {
            ibv_wr_abort(ex);
            return EINVAL;
        }
    return ibv_wr_complete(ex);
}

static int post_batch(struct weft_net *net, struct weft_verbs_queue *queue)
{
    const struct weft_verbs_peer *peer = &net->peers[queue->process];

    return post(queue->qp, peer->sender->ah, peer->address.dct_data, peer->address.token,
                &weft_verbs_batch_at(net, queue, 0)->wr);
}

static weft_status make_responder(struct weft_net *net, int process)
{
    struct weft_verbs_peer *peer = &net->peers[process];
    struct weft_verbs_responder *responder;

    if (peer->responder != NULL)
        return WEFT_OK;
    responder = calloc(1, sizeof(*responder));
    if (responder == NULL)
        return weft_err(WEFT_ERR_MEMORY, "verbs: no memory for process %d's puts", process);
    weft_status status = weft_verbs_way(net, process, &responder->ah);
    if (status != WEFT_OK) {
        free(responder);
        return status;
    }
    responder->arrived = net->start;
    peer->responder = responder;
    return WEFT_OK;
}

static int post_ack(struct weft_net *net, int process, const struct ibv_send_wr *wr)
{
    const struct weft_verbs_peer *peer = &net->peers[process];

    return post(net->dc->acker, peer->responder->ah, peer->address.dct_control, peer->address.token,
                wr);
}

/* The queues are closed by whoever closes those of RC. */
static void close_dc(struct weft_net *net)
{
    struct weft_verbs_dc *dc = net->dc;

    for (int i = 0; i < 2; i++)
        WEFT_VERBS_CLOSE(ibv_destroy_qp, dc->targets[i]);
    WEFT_VERBS_CLOSE(ibv_destroy_qp, dc->acker);
    free(dc);
    net->dc = NULL;
}

static const struct weft_verbs_dc_ops ops = {close_dc, choose, post_batch, make_responder,
                                             post_ack};

weft_status weft_verbs_dc_open(struct weft_net *net)
{
    const uint32_t initiators = (uint32_t)net->open.config->verbs_initiators;
    const uint32_t depth = net->sends;
    struct weft_verbs_dc *dc = calloc(1, sizeof(*dc));

    net->queues = calloc(initiators, sizeof(struct weft_verbs_queue *));
    if (dc == NULL || net->queues == NULL) {
        free(dc);
        return weft_err(WEFT_ERR_MEMORY, "verbs: no memory for %u initiators", initiators);
    }
    net->dc = dc; /* close_dc frees it from here on */
    net->dc_ops = &ops;
    weft_verbs_pool_init(&dc->pool, initiators);
    for (uint32_t i = 0; i < initiators; i++) {
        struct ibv_qp *qp = make_initiator(net, net->send_cq, depth);
        if (qp == NULL)
            return no_pair(net, "initiator");
        weft_status status = weft_verbs_queue_open(net, i, qp, &net->queues[i]);
        if (status != WEFT_OK) {
            ibv_destroy_qp(qp);
            return status;
        }
        net->queues[i]->process = -1;
        net->queues_count = i + 1;
    }
    dc->acker = make_initiator(net, net->ack_cq, depth);
    if (dc->acker == NULL)
        return no_pair(net, "initiator for acknowledgements");
    for (int i = 0; i < 2; i++) {
        dc->targets[i] = make_target(net);
        if (dc->targets[i] == NULL)
            return no_pair(net, "target");
    }
    net->address.dct_data = dc->targets[0]->qp_num;
    net->address.dct_control = dc->targets[1]->qp_num;
    return WEFT_OK;
}
