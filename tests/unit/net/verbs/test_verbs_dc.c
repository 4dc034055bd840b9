/*
 * DC, which no machine of ours has: the choice of initiators, the requests
 * that reach them, the order to each destination, and that what a process holds does not grow with
 * the job. The real code of net/verbs runs, over functions that stand for the driver's
 * (fake_mlx5.h).
 */
#include "fake_mlx5.h"

#include "net/verbs/dc/dc.h"
#include "net/verbs/dc/pool.h"

enum { INITIATORS = 10, MOST = 64 };

/* ---- the pool alone ------------------------------------------------------------------------ */

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

/* ---- a process whose device is all that ---------------------------------------------------- */

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
    net.sends = (uint32_t)config.verbs_sends;
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
    for (uint32_t i = 0; i < net.queues_count; i++) {
        free(net.queues[i]->qp);
        free(net.queues[i]);
    }
    for (int p = 0; p < net.open.processes; p++)
        weft_verbs_sender_close(&net, net.peers[p].sender);
    net.dc_ops->close(&net);
    free(net.queues);
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
        assert_int_equal(net.queues_count, INITIATORS);
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
