/*
 * fake_mlx5.h - what stands for the driver of a device that has DC: queue pairs that keep what is
 * posted to them. The linker puts these functions before libmlx5's (--wrap, tests/CMakeLists.txt);
 * for one program, which includes this once.
 */
#ifndef WEFT_TESTS_FAKE_MLX5_H
#define WEFT_TESTS_FAKE_MLX5_H

#include <infiniband/mlx5dv.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { TARGET = 1000, LOG = 1 << 16 };

/* A queue pair: libibverbs' part, and mlx5's. */
struct fake_qp {
    struct ibv_qp_ex ex; /* begins with the ibv_qp */
    struct mlx5dv_qp_ex mlx5;
    bool target, started;
    int states; /* INIT, RTR, RTS, in this order */
};

/* A request, as it reached an initiator. */
static struct posted {
    const struct fake_qp *qp;
    enum ibv_wr_opcode opcode;
    uint64_t id, remote;
    uint32_t flags, rkey, bytes, target;
    unsigned char data[64];
    bool inlined, complete;
} posted[LOG];
static uint32_t posted_count, polled, doorbells;
static uint32_t made[2], ways; /* initiators, targets; address handles */
static struct fake_qp *all[64];
static uint32_t all_count;

static struct posted *last(void)
{
    assert_true(posted_count > 0);
    return &posted[posted_count - 1];
}
static void begin(struct ibv_qp_ex *qp, enum ibv_wr_opcode opcode, uint32_t rkey, uint64_t remote)
{
    assert_true(posted_count < LOG && ((struct fake_qp *)qp)->started);
    posted[posted_count++] = (struct posted){.qp = (struct fake_qp *)qp,
                                             .opcode = opcode,
                                             .id = qp->wr_id,
                                             .flags = qp->wr_flags,
                                             .rkey = rkey,
                                             .remote = remote};
}
static void start(struct ibv_qp_ex *qp)
{
    assert_false(((struct fake_qp *)qp)->started);
    ((struct fake_qp *)qp)->started = true;
}
static int complete(struct ibv_qp_ex *qp)
{
    ((struct fake_qp *)qp)->started = false;
    doorbells++;
    return 0;
}
static void wr_write(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t remote)
{
    begin(qp, IBV_WR_RDMA_WRITE, rkey, remote);
}
static void wr_send(struct ibv_qp_ex *qp)
{
    begin(qp, IBV_WR_SEND, 0, 0);
}
static void set_inline(struct ibv_qp_ex *qp, void *data, size_t bytes)
{
    (void)qp;
    last()->bytes = (uint32_t)bytes;
    last()->inlined = true;
    memcpy(last()->data, data, bytes < 64 ? bytes : 64);
}
static void set_sge(struct ibv_qp_ex *qp, uint32_t lkey, uint64_t address, uint32_t bytes)
{
    (void)qp, (void)lkey, (void)address;
    last()->bytes = bytes;
}
static void set_dc(struct mlx5dv_qp_ex *mlx5, struct ibv_ah *ah, uint32_t target, uint64_t key)
{
    (void)mlx5;
    assert_non_null(ah);
    assert_int_equal(key, 0xd0c0 + target - TARGET); /* the destination's own */
    last()->target = target;
}

struct ibv_qp *__wrap_mlx5dv_create_qp(struct ibv_context *context,
                                       struct ibv_qp_init_attr_ex *attr,
                                       struct mlx5dv_qp_init_attr *mlx5);
struct ibv_qp *__wrap_mlx5dv_create_qp(struct ibv_context *context,
                                       struct ibv_qp_init_attr_ex *attr,
                                       struct mlx5dv_qp_init_attr *mlx5)
{
    struct fake_qp *qp = calloc(1, sizeof(*qp));

    (void)context;
    assert_non_null(qp);
    assert_int_equal(attr->qp_type, IBV_QPT_DRIVER);
    assert_true((mlx5->comp_mask & MLX5DV_QP_INIT_ATTR_MASK_DC) != 0);
    qp->target = mlx5->dc_init_attr.dc_type == MLX5DV_DCTYPE_DCT;
    assert_true(!qp->target || attr->srq != NULL);
    qp->ex.wr_start = start;
    qp->ex.wr_complete = complete;
    qp->ex.wr_rdma_write = wr_write;
    qp->ex.wr_send = wr_send;
    qp->ex.wr_set_inline_data = set_inline;
    qp->ex.wr_set_sge = set_sge;
    qp->mlx5.wr_set_dc_addr = set_dc;
    made[qp->target]++;
    qp->ex.qp_base.qp_num = 100 + all_count;
    all[all_count++] = qp;
    return &qp->ex.qp_base;
}

int __wrap_ibv_modify_qp(struct ibv_qp *base, struct ibv_qp_attr *attr, int mask);
int __wrap_ibv_modify_qp(struct ibv_qp *base, struct ibv_qp_attr *attr, int mask)
{
    static const enum ibv_qp_state order[] = {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS};
    struct fake_qp *qp = (struct fake_qp *)base;

    assert_true((mask & IBV_QP_STATE) != 0 && qp->states < 3 - qp->target);
    assert_int_equal(attr->qp_state, order[qp->states]);
    if (attr->qp_state == IBV_QPS_RTS)
        assert_int_equal(attr->rnr_retry, 7);
    qp->states++;
    return 0;
}

int __wrap_ibv_destroy_qp(struct ibv_qp *qp);
int __wrap_ibv_destroy_qp(struct ibv_qp *qp)
{
    free(qp);
    return 0;
}
struct ibv_qp_ex *__wrap_ibv_qp_to_qp_ex(struct ibv_qp *qp);
struct ibv_qp_ex *__wrap_ibv_qp_to_qp_ex(struct ibv_qp *qp)
{
    return &((struct fake_qp *)qp)->ex;
}
struct mlx5dv_qp_ex *__wrap_mlx5dv_qp_ex_from_ibv_qp_ex(struct ibv_qp_ex *qp);
struct mlx5dv_qp_ex *__wrap_mlx5dv_qp_ex_from_ibv_qp_ex(struct ibv_qp_ex *qp)
{
    return &((struct fake_qp *)qp)->mlx5;
}
struct ibv_ah *__wrap_ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr);
struct ibv_ah *__wrap_ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
    (void)pd, (void)attr;
    ways++;
    return calloc(1, sizeof(struct ibv_ah));
}
int __wrap_ibv_destroy_ah(struct ibv_ah *ah);
int __wrap_ibv_destroy_ah(struct ibv_ah *ah)
{
    free(ah);
    return 0;
}

#endif
