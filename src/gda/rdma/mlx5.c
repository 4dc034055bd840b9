/*
 * gda/rdma/mlx5.c - queues of mlx5 devices: libmlx5 makes them, and mlx5dv_init_obj says where
 * their slots, completions, doorbell record and doorbell are. It has run on no hardware. One thread
 * at a time.
 */
#include "gda/rdma/rdma.h"

#include "base/say.h"

#include <infiniband/mlx5dv.h>

const char *weft_rdma_mlx5_missing(const struct weft_verbs_device *device)
{
    return mlx5dv_is_supported(device->context->device) ? NULL : "the device is not one of mlx5's";
}

const char *weft_rdma_about(void)
{
    return "mlx5: built against rdma-core " WEFT_RDMA_CORE ", has run on no hardware";
}

static bool is_power(uint32_t x)
{
    return x != 0 && (x & (x - 1)) == 0;
}

weft_status weft_rdma_mlx5_end(const struct weft_rdma_queue *queue, struct weft_gda_queue *end)
{
    struct mlx5dv_qp qp = {0};
    struct mlx5dv_cq cq = {0};
    struct mlx5dv_obj obj = {.qp = {.in = queue->qp, .out = &qp},
                             .cq = {.in = queue->cq, .out = &cq}};
    const int error = mlx5dv_init_obj(&obj, MLX5DV_OBJ_QP | MLX5DV_OBJ_CQ);

    if (error != 0 || qp.sq.stride != WEFT_MLX5_SLOT || cq.cqe_size != WEFT_MLX5_CQE_BYTES ||
        !is_power(qp.sq.wqe_cnt) || !is_power(cq.cqe_cnt) || qp.bf.reg == NULL)
        return weft_err(WEFT_ERR_NETWORK,
                        "%s: a queue of %u slots of %u bytes and %u completions of %u bytes is of "
                        "no form that ranks drive (error %d)",
                        queue->rdma->device.name, qp.sq.wqe_cnt, qp.sq.stride, cq.cqe_cnt,
                        cq.cqe_size, error);
    *end = (struct weft_gda_queue){.wqe = qp.sq.buf,
                                   .cqe = cq.buf,
                                   .record = (uint32_t *)qp.dbrec,
                                   .doorbell = qp.bf.reg,
                                   .qpn = queue->qp->qp_num,
                                   .slots = qp.sq.wqe_cnt,
                                   .cq_slots = cq.cqe_cnt};
    return WEFT_OK;
}
