/*
 * packets, writes and events of ofi over a provider that fails when it is asked (provider.h), how a
 * transport is closed of which a process was lost, and how long a receive side sleeps.
 */
#include "provider.h"

#include <unistd.h>

/* ---- sending --------------------------------------------------------------------------------- */

static void test_sent(void **state)
{
    struct weft_transport *t = make();

    (void)state;
    packet(t, 1, 10, 64); /* taken at once */
    packet(t, 2, 20, 72);
    assert_int_equal(gone_count, 2);
    assert_int_equal(take(t, WEFT_NET_SEND), 1);
    assert_int_equal(events[0].kind, WEFT_EVENT_SENT);
    assert_int_equal(events[0].process, 1);
    assert_int_equal(take(t, WEFT_NET_SEND), 0);
    complete();
    assert_int_equal(take(t, WEFT_NET_SEND), 1);
    assert_int_equal(events[0].process, 2);
    assert_int_equal(events[0].count, 1);
    assert_int_equal(events[0].value, 1); /* its buffer */
    destroy(t);
}

/* A packet that finds no room stays as it is, and goes when its owner says so again. */
static void test_no_room(void **state)
{
    struct weft_transport *t = make();

    (void)state;
    for (size_t bytes = 40; bytes <= 72; bytes += 32) { /* taken at once, or not */
        unsigned char *at = buffer_of_packet(t);
        at[0] = 5;
        answer = -FI_EAGAIN;
        for (int i = 0; i < 3; i++)
            assert_int_equal(weft_ofi_commit(t, 1, at, bytes), WEFT_NET_FULL);
        assert_int_equal(gone_count, 0);
        assert_true(t->stuck);
        assert_int_equal(take(t, WEFT_NET_SEND), 0); /* which drives the provider */
        assert_false(t->stuck);
        answer = 0;
        assert_int_equal(weft_ofi_commit(t, 1, at, bytes), WEFT_OK);
        assert_int_equal(gone_count, 1);
        assert_int_equal(gone[0].first, 5);
        complete();
        assert_int_equal(take(t, WEFT_NET_SEND), 1);
        assert_int_equal(t->outstanding, 0);
    }
    destroy(t);
}

/* Data that lies elsewhere goes behind its packet. */
static void test_gathered(void **state)
{
    static const unsigned char data[16];
    struct weft_transport *t = make();

    (void)state;
    assert_int_equal(weft_ofi_gather(t, 1, buffer_of_packet(t), 64, data, sizeof(data)), WEFT_OK);
    assert_int_equal(gone[0].parts, 2);
    assert_ptr_equal(gone[0].last, data);
    assert_int_equal(take(t, WEFT_NET_SEND), 0);
    complete();
    assert_int_equal(take(t, WEFT_NET_SEND), 1);
    assert_int_equal(events[0].kind, WEFT_EVENT_SENT);
    t->can.inject = 128; /* what is injected is in one piece */
    gone[0].parts = 0;
    assert_int_equal(weft_ofi_gather(t, 1, buffer_of_packet(t), 64, data, sizeof(data)), WEFT_OK);
    assert_int_equal(gone[0].parts, 2);
    destroy(t);
}

static void test_writes(void **state)
{
    static const unsigned char source[16];
    struct weft_transport_write write = {.process = 1,
                                         .place = {5, 0},
                                         .offset = 24,
                                         .source = source,
                                         .bytes = sizeof(source),
                                         .immediate = 0x1234,
                                         .cookie = 99};
    struct weft_transport *t = make();

    (void)state;
    t->open.process = 2;
    assert_int_equal(weft_ofi_write(t, &write), WEFT_OK);
    assert_int_equal(gone[0].address, 24);
    assert_int_equal(weft_ofi_data_process(gone[0].data), 2);
    assert_int_equal(weft_ofi_data_immediate(gone[0].data), 0x1234);
    complete();
    assert_int_equal(take(t, WEFT_NET_SEND), 1);
    assert_int_equal(events[0].kind, WEFT_EVENT_READ);
    assert_int_equal(events[0].value, 99);
    write.place[1] = 1 << 20; /* where it begins, for a provider that wants addresses */
    answer = -FI_EAGAIN;
    for (int i = 0; i < MOST; i++) /* nothing is lost by it */
        assert_int_equal(weft_ofi_write(t, &write), WEFT_NET_FULL);
    answer = 0;
    assert_int_equal(weft_ofi_write(t, &write), WEFT_OK);
    assert_int_equal(gone[0].address, (1 << 20) + 24);
    assert_int_equal(weft_ofi_write(t, &write), WEFT_OK);
    t->can.local_mr = true;
    assert_int_equal(weft_ofi_write(t, &write), WEFT_NET_STAGE); /* it lies in no registration */
    destroy(t);
}

static int idle(const struct weft_ofi_op *op)
{
    int count = 0;

    for (; op != NULL; op = op->next)
        count++;
    return count;
}

/* With libfabric's reason; the memory of what was on its way is free. */
static void loses(struct weft_transport *t, enum weft_transport_event_kind frees)
{
    assert_int_equal(take(t, WEFT_NET_SEND), 2);
    assert_int_equal(events[0].process, 1);
    assert_int_equal(events[0].kind, frees);
    assert_int_equal(events[1].process, 1);
    assert_int_equal(events[1].kind, WEFT_EVENT_LOST);
    assert_string_equal(events[1].text, weft_ofi_error(FI_ECONNRESET));
    assert_int_equal(take(t, WEFT_NET_SEND), 0);
    assert_int_equal(t->outstanding, 0);
    assert_int_equal(idle(t->writes), WRITES);
    gone_count = 0;
    packet(t, 2, 0, 72); /* others are reached */
    assert_int_equal(gone_count, 1);
    destroy(t);
}

static void test_lost(void **state)
{
    const struct weft_transport_write write = {.process = 1, .source = &write, .bytes = 8};

    (void)state;
    for (int written = 0; written < 2; written++)
        for (int later = 0; later < 2; later++) { /* as it goes, or on its way */
            struct weft_transport *t = make();
            answer = later != 0 ? 0 : -FI_ECONNRESET;
            if (written != 0)
                (void)weft_ofi_write(t, &write);
            else
                packet(t, 1, 0, 72);
            answer = 0;
            breaks = later != 0;
            broken = (struct fi_cq_err_entry){.op_context = gone[0].context, .err = FI_ECONNRESET};
            loses(t, written != 0 ? WEFT_EVENT_READ : WEFT_EVENT_SENT);
        }
    assert_string_equal(weft_ofi_error(-FI_EMFILE), "Too many open files (ulimit -n)");
    struct weft_transport *t = make();
    packet(t, 1, 0, 72);
    breaks = true; /* whose? */
    broken = (struct fi_cq_err_entry){.err = FI_EIO};
    assert_int_equal(take(t, WEFT_NET_SEND), -(int)WEFT_ERR_NETWORK);
    destroy(t);
}

/* ---- receiving ------------------------------------------------------------------------------- */

static void comes(struct weft_ofi_op *op, uint64_t flags, uint64_t data, size_t bytes)
{
    waiting[waiting_count++] =
        (struct fi_cq_data_entry){.op_context = op, .flags = flags, .data = data, .len = bytes};
}

static struct weft_ofi_op *buffer(struct weft_transport *t, int i)
{
    assert_int_equal(t->pools->ops[i].kind, WEFT_OFI_RECEIVE);
    return &t->pools->ops[i];
}

static void test_received(void **state)
{
    struct weft_transport *t = make();

    (void)state;
    assert_int_equal(posted, WEFT_OFI_RECEIVES);
    comes(buffer(t, 0), FI_RECV, 0, 40);
    comes(NULL, FI_REMOTE_WRITE | FI_RMA | FI_REMOTE_CQ_DATA, weft_ofi_data(2, 7), 0);
    comes(buffer(t, 1), FI_RECV | FI_REMOTE_CQ_DATA, weft_ofi_data(9, 7), 48); /* a stranger's */
    assert_int_equal(take(t, WEFT_NET_RECEIVE), 3);
    assert_int_equal(events[0].kind, WEFT_EVENT_PACKET);
    assert_int_equal(events[0].process, -1);
    assert_int_equal(events[0].length, 40);
    assert_ptr_equal(events[0].bytes, buffer(t, 0)->bytes);
    assert_int_equal(events[1].kind, WEFT_EVENT_WRITTEN);
    assert_int_equal(events[1].process, 2);
    assert_int_equal(events[1].value, 7);
    assert_int_equal(events[2].kind, WEFT_EVENT_PACKET);
    weft_ofi_release(t, -1, events[2].value);
    weft_ofi_release(t, -1, events[0].value);
    assert_int_equal(posted, WEFT_OFI_RECEIVES);
    assert_int_equal(take(t, WEFT_NET_RECEIVE), 0);
    assert_int_equal(posted, WEFT_OFI_RECEIVES + 2);
    t->can.data_takes_buffer = true;
    comes(buffer(t, 5), FI_RMA | FI_REMOTE_CQ_DATA, weft_ofi_data(1, 8), 0);
    assert_int_equal(take(t, WEFT_NET_RECEIVE), 1);
    assert_int_equal(take(t, WEFT_NET_RECEIVE), 0);
    assert_int_equal(posted, WEFT_OFI_RECEIVES + 3);
    t->can.data_takes_buffer = false;
    comes(NULL, FI_RMA | FI_REMOTE_CQ_DATA, weft_ofi_data(PROCESSES, 8), 0);
    assert_int_equal(take(t, WEFT_NET_RECEIVE), -(int)WEFT_ERR_PROTOCOL);
    destroy(t);
}

/* Packets that nobody has released yet do not end the receiving. */
static void test_held(void **state)
{
    struct weft_transport *t = make();
    int count = 0;

    (void)state;
    for (int i = 0; i < WEFT_OFI_RECEIVES; i++)
        comes(buffer(t, i), FI_RECV, 0, 40);
    while (waiting_count > 0)
        count += take(t, WEFT_NET_RECEIVE);
    assert_int_equal(count, WEFT_OFI_RECEIVES);
    assert_int_equal(take(t, WEFT_NET_RECEIVE), 0);
    assert_int_equal(posted, 2 * WEFT_OFI_RECEIVES);
    destroy(t);
}

/* What a stranger can cause ends nothing, and costs no buffer. */
static void test_failed_receives(void **state)
{
    struct weft_transport *t = make();

    (void)state;
    breaks = true;
    broken = (struct fi_cq_err_entry){.op_context = buffer(t, 0), .err = FI_ETRUNC, .olen = 9};
    assert_int_equal(take(t, WEFT_NET_RECEIVE), 0);
    assert_int_equal(take(t, WEFT_NET_RECEIVE), 0);
    assert_int_equal(posted, WEFT_OFI_RECEIVES + 1);
    breaks = true;
    broken = (struct fi_cq_err_entry){.err = FI_EIO};
    assert_int_equal(take(t, WEFT_NET_RECEIVE), -(int)WEFT_ERR_NETWORK);
    destroy(t);
}

/* As much as 4 bytes take. */
static void test_data(void **state)
{
    const uint64_t data = weft_ofi_data(65535, 0xabcdef012345);

    (void)state;
    assert_int_equal(weft_ofi_data_process(data), 65535);
    assert_int_equal(weft_ofi_data_immediate(data), 0xabcdef012345);
    assert_int_equal(weft_ofi_data(65535, 0xffff), UINT32_MAX);
}

/* ---- closing --------------------------------------------------------------------------------- */

static bool stopped;
static int lingering;

static bool all_stopped(void *context)
{
    (void)context;
    return stopped;
}

static void keeps_memory(void *context)
{
    (void)context;
    lingering++;
}

/* Of a job that has failed the endpoint stays, and what it reads still has to stay, too. */
static void test_close(void **state)
{
    static const struct {
        bool stopped;
        enum fi_progress data;
        uint32_t outstanding;
        int keeps_memory;
    } ends[] = {{false, FI_PROGRESS_MANUAL, 0, 0},
                {false, FI_PROGRESS_MANUAL, 1, 1},
                {false, FI_PROGRESS_AUTO, 0, 1},
                {true, FI_PROGRESS_AUTO, 0, 0}};

    (void)state;
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        struct weft_transport *t = make();
        stopped = ends[i].stopped;
        lingering = 0;
        domain_attr.data_progress = ends[i].data;
        t->outstanding = ends[i].outstanding;
        t->open.events.all_stopped = all_stopped;
        t->open.events.keeps_memory = keeps_memory;
        weft_ofi_close(t);
        assert_int_equal(closed, stopped ? 3 : 0); /* the endpoint and two queues */
        assert_int_equal(lingering, ends[i].keeps_memory);
        if (!stopped)
            destroy(t);
    }
}

static int nothing_waits(struct fid_fabric *fabric, struct fid **fids, int count)
{
    (void)fabric, (void)fids, (void)count;
    return 0;
}

/* Rounds of a receive side with nothing to do, in so many seconds. */
static int idle_rounds(struct weft_transport *t, double seconds)
{
    const uint64_t end = weft_now_ns() + (uint64_t)(seconds * 1e9);
    int rounds = 0;

    for (; weft_now_ns() < end; rounds++) {
        assert_int_equal(take(t, WEFT_NET_RECEIVE), 0);
        assert_true(weft_ofi_sleep(t, 10000000));
    }
    return rounds;
}

/* A descriptor that always says that something came is not believed for long. */
static void test_sleep(void **state)
{
    static struct fi_ops_fabric ops = {.size = sizeof(ops), .trywait = nothing_waits};
    static struct fid_fabric fabric = {.ops = &ops};
    struct weft_transport *t = make();
    int ends[2];

    (void)state;
    assert_int_equal(pipe(ends), 0);
    t->fabric = &fabric;
    t->fd[WEFT_NET_RECEIVE] = t->fd[WEFT_NET_SEND] = ends[0];
    assert_true(idle_rounds(t, 0.2) < 100);
    assert_int_equal(write(ends[1], "x", 1), 1);
    assert_true(idle_rounds(t, 0.2) < 3000); /* else some 100,000 */
    waiting[waiting_count++] =
        (struct fi_cq_data_entry){.op_context = &t->pools->ops[0], .flags = FI_RECV, .len = 8};
    assert_int_equal(take(t, WEFT_NET_RECEIVE), 1);
    assert_true(weft_ofi_sleep(t, 10000000));
    assert_int_equal(t->vain, 1); /* the descriptor has woken it again */
    close(ends[0]);
    close(ends[1]);
    destroy(t);
}

/* What another process says of itself may be a text without an end, which a provider would read. */
static void test_address(void **state)
{
    struct weft_transport *t = make();
    unsigned char endless[sizeof(t->name)];

    (void)state;
    memset(endless, 'x', sizeof(endless));
    assert_int_equal(weft_transport_ofi.connect(t, 1, endless), WEFT_ERR_PROTOCOL);
    destroy(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sent),     cmocka_unit_test(test_no_room),
        cmocka_unit_test(test_gathered), cmocka_unit_test(test_writes),
        cmocka_unit_test(test_lost),     cmocka_unit_test(test_received),
        cmocka_unit_test(test_held),     cmocka_unit_test(test_failed_receives),
        cmocka_unit_test(test_data),     cmocka_unit_test(test_close),
        cmocka_unit_test(test_sleep),    cmocka_unit_test(test_address),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
