/*
 * net/verbs/dc/post.h - hands requests to a DC initiator, which takes them only through the
 * functions of ibv_wr_*, each with its destination.
 */
#ifndef WEFT_NET_VERBS_DC_POST_H
#define WEFT_NET_VERBS_DC_POST_H

#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>

struct weft_verbs_dc_destination {
    struct ibv_ah *ah;
    uint32_t target; /* its number, */
    uint64_t key;    /* and what it asks for */
};

static inline int weft_verbs_dc_post_one(struct ibv_qp_ex *qp, struct mlx5dv_qp_ex *mlx5,
                                         const struct weft_verbs_dc_destination *to,
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
    mlx5dv_wr_set_dc_addr(mlx5, to->ah, to->target, to->key);
    if (wr->num_sge == 0)
        ibv_wr_set_sge_list(qp, 0, NULL);
    else if ((wr->send_flags & IBV_SEND_INLINE) != 0)
        ibv_wr_set_inline_data(qp, (void *)(uintptr_t)wr->sg_list->addr, wr->sg_list->length);
    else
        ibv_wr_set_sge(qp, wr->sg_list->lkey, wr->sg_list->addr, wr->sg_list->length);
    return 0;
}

/* A list of requests, one doorbell. An errno. */
static inline int weft_verbs_dc_post_list(struct ibv_qp_ex *qp, struct mlx5dv_qp_ex *mlx5,
                                          const struct weft_verbs_dc_destination *to,
                                          const struct ibv_send_wr *wr)
{
    ibv_wr_start(qp);
    for (; wr != NULL; wr = wr->next)
        if (weft_verbs_dc_post_one(qp, mlx5, to, wr) != 0) {
            ibv_wr_abort(qp);
            return EINVAL;
        }
    return ibv_wr_complete(qp);
}

#endif
