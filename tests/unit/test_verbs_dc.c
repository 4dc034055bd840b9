/*
 * unit/test_verbs_dc.c - DC, which no machine of ours has: the choice of initiators, the requests
 * that reach them, the order to each destination, and that what a process holds does not grow with
 * the job. The real code of net/verbs runs, over functions that stand for the driver's (--wrap).
 */
#include "net/verbs/dc/dc.h"
#include "net/verbs/dc/pool.h"
#include "net/verbs/put.h"

#include <infiniband/mlx5dv.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { INITIATORS = 10, MOST = 64, TARGET = 1000, LOG = 1 << 16 };

/* ---- the pool alone ---------------------------------------------------------------------------
 */

static void pool_choice(void **state)
{
    struct weft_verbs_pool pool;

    (void)state;
    weft_verbs_pool_init(&pool, 3);
    assert_int_equal(weft_verbs_pool_choose(&pool, 7, -1, false), 0);
    assert_int_equal(weft_verbs_pool_choose(&pool, 8, -1, false), 1);
    assert_int_equal(weft_verbs_pool_choose(&pool, 7, 0, false), 0); /* nobody came between */
    assert_int_equal(weft_verbs_pool_choose(&pool, 9, -1, false), 2);
    assert_int_equal(weft_verbs_pool_choose(&pool, 5, -1, false), 0); /* round: after 7 */
    assert_int_equal(weft_verbs_pool_choose(&pool, 7, 0, true), 0);   /* busy: stays */
    assert_int_equal(weft_verbs_pool_choose(&pool, 5, 0, false), 1);  /* 7 came between */
    assert_int_equal(weft_verbs_pool_choose(&pool, 8, 1, false), 2);
    weft_verbs_pool_init(&pool, 1);
    for (int d = 0; d < 5; d++)
        assert_int_equal(weft_verbs_pool_choose(&pool, d, d % 2 - 1, d % 3 == 0), 0);
}

/* ---- what stands for the driver ---------------------------------------------------------------
 */

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
    uint32_t flags, rkey, imm, bytes, target;
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
static void wr_write_imm(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t remote, __be32 imm)
{
    begin(qp, IBV_WR_RDMA_WRITE_WITH_IMM, rkey, remote);
    last()->imm = ntohl(imm);
}
static void wr_read(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t remote)
{
    begin(qp, IBV_WR_RDMA_READ, rkey, remote);
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
static void set_sge_list(struct ibv_qp_ex *qp, size_t count, const struct ibv_sge *list)
{
    (void)qp, (void)list;
    assert_int_equal(count, 0);
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
    qp->ex.wr_rdma_write_imm = wr_write_imm;
    qp->ex.wr_rdma_read = wr_read;
    qp->ex.wr_send = wr_send;
    qp->ex.wr_set_inline_data = set_inline;
    qp->ex.wr_set_sge = set_sge;
    qp->ex.wr_set_sge_list = set_sge_list;
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

/* ---- a process whose device is all that -------------------------------------------------------
 */

static struct weft_config config;
static struct weft_net net;
static struct ibv_context context;
static struct ibv_cq cq = {.context = &context};
static struct ibv_mr mr;
static uint32_t sent, landed, most_polled;

/* Completes what was posted, oldest first, at most most_polled requests; says so where asked. */
static int poll_cq(struct ibv_cq *queue, int room, struct ibv_wc *wc)
{
    int count = 0;

    (void)queue;
    for (uint32_t n = 0; n < most_polled && polled < posted_count && count < room; n++) {
        struct posted *p = &posted[polled++];
        p->complete = true;
        if ((p->flags & IBV_SEND_SIGNALED) != 0)
            wc[count++] = (struct ibv_wc){.wr_id = p->id, .status = IBV_WC_SUCCESS};
    }
    return count;
}

static void on_sent(void *unused, void *cookie)
{
    (void)unused, (void)cookie;
    sent++;
}
static void on_landed(void *unused, void *cookie)
{
    (void)unused, (void)cookie;
    landed++;
}

static void open_process(int processes)
{
    memset(&net, 0, sizeof(net));
    memset(posted, 0, sizeof(posted));
    posted_count = polled = doorbells = made[0] = made[1] = ways = all_count = sent = landed = 0;
    most_polled = UINT32_MAX;
    assert_int_equal(weft_config_load(&config, NULL, NULL), WEFT_OK);
    context.ops.poll_cq = poll_cq;
    net.open = (struct weft_net_open){.config = &config,
                                      .processes = processes,
                                      .events = {.sent = on_sent, .landed = on_landed}};
    net.peers = calloc((size_t)processes, sizeof(*net.peers));
    net.busy = calloc((size_t)processes, sizeof(*net.busy));
    net.words = calloc((size_t)processes + 1, sizeof(uint64_t));
    assert_true(net.peers != NULL && net.busy != NULL && net.words != NULL);
    net.send_cq = net.ack_cq = net.receive_cq = &cq;
    net.srq = (struct ibv_srq *)&cq; /* only handed on */
    net.scratch_mr = &mr;
    net.inline_most = 64;
    net.request_bytes = (sizeof(struct weft_verbs_request) + 64 + 63) / 64 * 64;
    net.send_cq_most = 8192;
    net.pieces_most = 1024;
    net.credit = 256;
    net.address.mtu = 5;
    net.device.port_attr.max_msg_sz = 1u << 30;
    assert_int_equal(weft_verbs_dc_open(&net), WEFT_OK);
    for (int p = 0; p < processes; p++) {
        net.peers[p].address = (struct weft_verbs_address){
            .dct_data = TARGET + (uint32_t)p, .words_atomically = 1, .token = 0xd0c0 + (uint64_t)p};
        weft_verbs_set_state(&net.peers[p], WEFT_VERBS_READY);
    }
}

static void close_process(void)
{
    for (uint32_t i = 0; i < net.channels_count; i++) {
        free(net.channels[i]->batch);
        free(net.channels[i]->qp);
        free(net.channels[i]);
    }
    for (int p = 0; p < net.open.processes; p++)
        weft_verbs_sender_close(&net, net.peers[p].sender);
    weft_verbs_dc_close(&net);
    free(net.channels);
    free(net.peers);
    free(net.busy);
    free(net.words);
}

/* The other ends: each answers every marker that has been posted to it. */
static void answer_markers(void)
{
    for (uint32_t i = 0; i < posted_count; i++) {
        struct weft_verbs_message m;
        if (posted[i].opcode != IBV_WR_SEND)
            continue;
        memcpy(&m, posted[i].data, sizeof(m));
        assert_int_equal(m.kind, WEFT_VERBS_MARKER);
        ((uint64_t *)net.words)[posted[i].target - TARGET] = weft_verbs_ack(m.sequence);
    }
}

static weft_status put(int process, uint32_t notice, size_t bytes)
{
    static uint64_t value[8];
    const struct weft_net_put p = {.process = process,
                                   .key = 0x77,
                                   .offset = 64,
                                   .source = value,
                                   .bytes = bytes,
                                   .notice = notice};
    return weft_verbs_put(&net, &p);
}

static void progress(void)
{
    bool did = false;
    assert_int_equal(weft_verbs_progress_send(&net, &did), WEFT_OK);
}

/* A notified put and a plain one, as they reach the initiator. */
static void requests(void **state)
{
    (void)state;
    open_process(3);
    assert_int_equal(put(2, 0x10000005, 8), WEFT_OK);
    assert_int_equal(doorbells, 1);
    assert_int_equal(posted_count, 2); /* the write, and the marker behind it */
    assert_int_equal(posted[0].opcode, IBV_WR_RDMA_WRITE_WITH_IMM);
    assert_int_equal(posted[0].imm, 0x10000005);
    assert_int_equal(posted[0].rkey, 0x77);
    assert_int_equal(posted[0].remote, 64);
    assert_int_equal(posted[0].target, TARGET + 2);
    assert_true(posted[0].inlined && posted[0].bytes == 8);
    assert_int_equal(posted[1].opcode, IBV_WR_SEND);
    assert_int_equal(posted[1].target, TARGET + 2);
    assert_true((posted[1].flags & IBV_SEND_SIGNALED) != 0);
    assert_int_equal(sent, 1);
    progress();
    assert_int_equal(landed, 0); /* complete, and not counted there yet */
    answer_markers();
    progress();
    assert_int_equal(landed, 1);

    assert_int_equal(put(1, 0, 8), WEFT_OK);
    assert_int_equal(posted_count, 4); /* the write, and the read that fences it */
    assert_int_equal(posted[2].opcode, IBV_WR_RDMA_WRITE);
    assert_int_equal(posted[3].opcode, IBV_WR_RDMA_READ);
    assert_true(posted[2].qp != posted[0].qp); /* the next initiator */
    progress();
    assert_int_equal(landed, 2);
    assert_int_equal(put(2, 0, 0), WEFT_OK); /* neither data nor notice: nothing goes out */
    progress();
    assert_int_equal(landed, 3);
    assert_int_equal(posted_count, 4);
    close_process();
}

/* What a process holds that puts to all others, from 2 processes to 64. */
static void holdings(void **state)
{
    (void)state;
    for (int processes = 2; processes <= MOST; processes++) {
        open_process(processes);
        for (int p = 1; p < processes; p++)
            assert_int_equal(put(p, 1u << 28, 8), WEFT_OK);
        progress();
        answer_markers();
        progress();
        assert_int_equal(landed, processes - 1);
        assert_int_equal(made[0], INITIATORS + 1); /* and one for acknowledgements */
        assert_int_equal(made[1], 2);
        assert_int_equal(net.counts.queue_pairs, INITIATORS + 3);
        assert_int_equal(net.channels_count, INITIATORS);
        assert_int_equal(ways, processes - 1); /* memory of this process, no queue pair */
        for (uint32_t i = 0; i < all_count; i++)
            assert_int_equal(all[i]->states, 3 - all[i]->target);
        close_process();
    }
}

/* At random: to each destination nothing is posted on one initiator while another has work for it.
 */
static void order(void **state)
{
    enum { PUTS = 8000, PROCESSES = 40 };
    static uint32_t first_open[PROCESSES]; /* by destination: before it all is complete */
    uint64_t random = 7;
    uint32_t accepted = 0, checked = 0, changes = 0;

    (void)state;
    memset(first_open, 0, sizeof(first_open));
    open_process(PROCESSES);
    for (int i = 0; i < PUTS; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        const int to = (int)(random >> 40) % (i % 400 < 200 ? 3 : PROCESSES - 1) + 1;
        accepted += put(to, random >> 63 != 0 ? 1u << 28 : 0, 8) == WEFT_OK;
        for (; checked < posted_count; checked++) {
            const uint32_t d = posted[checked].target - TARGET;
            for (uint32_t k = first_open[d]; k < checked; k++) {
                if (posted[k].target - TARGET != d)
                    continue;
                changes += posted[k].qp != posted[checked].qp;
                assert_true(posted[k].qp == posted[checked].qp || posted[k].complete);
            }
            while (first_open[d] < checked && posted[first_open[d]].complete)
                first_open[d]++;
        }
        most_polled = (uint32_t)(random >> 50) % 4;
        if (random >> 60 < 10)
            progress();
        if (random >> 60 == 3)
            answer_markers();
    }
    most_polled = UINT32_MAX;
    for (int i = 0; i < 50; i++) {
        progress();
        answer_markers();
    }
    assert_int_equal(landed, accepted);
    assert_int_equal(sent, accepted);
    assert_true(accepted > PUTS / 2 && changes + posted_count > accepted);
    close_process();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pool_choice),
        cmocka_unit_test(requests),
        cmocka_unit_test(holdings),
        cmocka_unit_test(order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
