/*
 * DC, which no machine of ours has: the requests that reach initiators, the order to each
 * destination, and that what a process holds does not grow with the job. The real code of net/verbs
 * runs, over functions that stand for the driver's (fake_mlx5.h).
 */
#include "fake_mlx5.h"

#include "net/verbs/dc/dc.h"

enum { MOST = 64 };

/* ---- a process whose device is all that ---------------------------------------------------- */

static struct weft_config config;
static struct weft_transport t;
static struct ibv_context context;
static struct ibv_cq cq = {.context = &context};
static struct ibv_mr mr;
static uint32_t sent, read_out, lost, most_polled;
static uint32_t idle[WEFT_VERBS_PACKETS]; /* buffers */
static int idle_count;
static enum ibv_wc_status ends;

/* Completes what was posted, oldest first, at most most_polled requests; says so where asked. */
static int poll_cq(struct ibv_cq *queue, int room, struct ibv_wc *wc)
{
    int count = 0;

    (void)queue;
    for (; most_polled > 0 && polled < posted_count && count < room; most_polled--) {
        struct posted *p = &posted[polled++];
        p->complete = true;
        if ((p->flags & IBV_SEND_SIGNALED) != 0)
            wc[count++] = (struct ibv_wc){.wr_id = p->id, .status = ends};
    }
    return count;
}

static void open_process(int processes)
{
    memset(&t, 0, sizeof(t));
    memset(posted, 0, sizeof(posted));
    posted_count = polled = doorbells = made[0] = made[1] = ways = all_count = 0;
    sent = read_out = lost = 0;
    most_polled = UINT32_MAX;
    ends = IBV_WC_SUCCESS;
    assert_int_equal(weft_config_load(&config, NULL, NULL), WEFT_OK);
    context.ops.poll_cq = poll_cq;
    t.open = (struct weft_net_open){.config = &config, .processes = processes};
    t.peers = calloc((size_t)processes, sizeof(*t.peers));
    t.memory = calloc(1 + WEFT_VERBS_PACKETS, WEFT_VERBS_LONGEST);
    assert_true(t.peers != NULL && t.memory != NULL);
    for (idle_count = 0; idle_count < WEFT_VERBS_PACKETS; idle_count++)
        idle[idle_count] = (uint32_t)idle_count;
    t.mr = &mr;
    t.send_cq = t.receive_cq = &cq;
    t.srq = (struct ibv_srq *)&cq; /* only handed on */
    t.inline_most = 64;
    t.sends = (uint32_t)config.verbs_sends;
    t.address.mtu = 5;
    t.device.port_attr.max_msg_sz = 1u << 30;
    assert_int_equal(weft_verbs_dc_open(&t), WEFT_OK);
    for (int p = 0; p < processes; p++) {
        t.peers[p].address = (struct weft_verbs_address){.target = TARGET + (uint32_t)p,
                                                         .token = 0xd0c0 + (uint64_t)p};
        assert_int_equal(weft_verbs_way(&t, p), WEFT_OK);
        weft_verbs_tell(&t.peers[p].ready, 1);
    }
}

static void close_process(void)
{
    for (int p = 0; p < t.open.processes; p++)
        free(t.peers[p].way);
    t.dc_ops->close(&t);
    free(t.peers);
    free(t.memory);
}

static bool send_packet(int process, size_t bytes)
{
    if (idle_count == 0)
        return false;
    unsigned char *at = weft_verbs_buffer(&t, 1 + idle[idle_count - 1]);
    memset(at, process, bytes);
    const weft_status status = weft_verbs_commit(&t, process, at, bytes);
    assert_true(status == WEFT_OK || status == WEFT_NET_FULL); /* then it stays as it is */
    idle_count -= status == WEFT_OK;
    return status == WEFT_OK;
}

static weft_status write_to(int process)
{
    static struct weft_verbs_region region = {.mr = &mr, .base = 4096, .address = 8192};
    const struct weft_transport_write write = {.process = process,
                                               .place = {0x77},
                                               .offset = 64,
                                               .source = (const void *)4106,
                                               .bytes = 5000,
                                               .mr = &region,
                                               .immediate = 0x10000005,
                                               .cookie = (uint64_t)process << 32 | 99};
    return weft_verbs_write(&t, &write);
}

static int progress(void)
{
    struct weft_transport_event events[3];
    int all_events = 0, count = 1;

    while (count > 0) {
        count = weft_verbs_poll_send(&t, events, 3);
        for (int i = 0; i < count; i++) {
            if (events[i].kind == WEFT_EVENT_SENT) {
                idle[idle_count++] = (uint32_t)events[i].value;
                sent++;
            }
            read_out += events[i].kind == WEFT_EVENT_READ &&
                        events[i].value == ((uint64_t)events[i].process << 32 | 99);
            lost += events[i].kind == WEFT_EVENT_LOST;
        }
        all_events += count;
    }
    return count < 0 ? count : all_events;
}

/* Packets, and a write, as they reach the initiator. */
static void requests(void **state)
{
    (void)state;
    open_process(3);
    assert_true(send_packet(2, 64) && send_packet(2, 72));
    assert_int_equal(doorbells, 2);
    assert_int_equal(posted_count, 2);
    assert_int_equal(posted[0].opcode, IBV_WR_SEND);
    assert_int_equal(posted[0].target, TARGET + 2);
    assert_true(posted[0].inlined && posted[0].bytes == 64);
    assert_true(!posted[1].inlined && posted[1].bytes == 72);
    assert_true(posted[1].qp == posted[0].qp);
    assert_int_equal(t.peers[2].queue->under_way, 2);
    progress();
    assert_int_equal(sent, 2);
    assert_int_equal(t.peers[2].queue->under_way, 0);

    assert_int_equal(write_to(1), WEFT_OK);
    assert_int_equal(posted_count, 3);
    assert_int_equal(posted[2].opcode, IBV_WR_RDMA_WRITE);
    assert_int_equal(posted[2].rkey, 0x77);
    assert_int_equal(posted[2].remote, 64);
    assert_int_equal(posted[2].bytes, 5000);
    assert_true(posted[2].qp != posted[0].qp); /* the next initiator */
    progress();
    assert_true(sent == 2 && read_out == 1);
    close_process();
}

/* What a process holds that sends to all others, from 2 processes to 64. */
static void holdings(void **state)
{
    (void)state;
    for (int processes = 2; processes <= MOST; processes++) {
        open_process(processes);
        for (int p = 1; p < processes; p++)
            assert_true(send_packet(p, 64));
        progress();
        assert_int_equal(sent, processes - 1);
        assert_int_equal(made[0], WEFT_VERBS_INITIATORS);
        assert_int_equal(made[1], 1);
        assert_int_equal(t.counts.queue_pairs, WEFT_VERBS_INITIATORS + 1);
        for (uint32_t i = 0; i < all_count; i++)
            assert_int_equal(all[i]->states, 3 - all[i]->target);
        close_process();
    }
}

/* At random: to each destination nothing is posted on one initiator while another has work for it.
 */
static void order(void **state)
{
    enum { SENDS = 8000, PROCESSES = 40 };
    static uint32_t first_open[PROCESSES]; /* by destination: before it all is complete */
    uint64_t random = 7;
    uint32_t packets = 0, writes = 0, checked = 0;

    (void)state;
    memset(first_open, 0, sizeof(first_open));
    open_process(PROCESSES);
    most_polled = 0;
    for (int i = 0; i < SENDS; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        const int to = (int)(random >> 40) % (i % 400 < 200 ? 3 : PROCESSES - 1) + 1;
        if (random >> 62 == 0)
            writes += write_to(to) == WEFT_OK;
        else
            packets += send_packet(to, random >> 60 == 15 ? 64 : 200);
        for (; checked < posted_count; checked++) {
            const uint32_t d = posted[checked].target - TARGET;
            for (uint32_t k = first_open[d]; k < checked; k++)
                if (posted[k].target - TARGET == d)
                    assert_true(posted[k].qp == posted[checked].qp || posted[k].complete);
            while (first_open[d] < checked && posted[first_open[d]].complete)
                first_open[d]++;
        }
        if (random >> 60 < 10) {
            most_polled = (uint32_t)(random >> 50) % 4;
            progress();
        }
    }
    most_polled = UINT32_MAX;
    progress();
    assert_int_equal(sent, packets);
    assert_int_equal(read_out, writes);
    assert_true(packets > SENDS / 8 && writes > SENDS / 16);
    close_process();
}

/* A request fails: the job ends, for the initiator serves others, too. */
static void failure(void **state)
{
    (void)state;
    open_process(3);
    t.open.config = &config;
    assert_true(send_packet(1, 64));
    ends = IBV_WC_RETRY_EXC_ERR;
    assert_int_equal(progress(), -(int)WEFT_ERR_PEER_LOST);
    close_process();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests),
        cmocka_unit_test(holdings),
        cmocka_unit_test(order),
        cmocka_unit_test(failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
