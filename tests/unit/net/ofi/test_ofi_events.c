/*
 * how ofi's receive side and its choice of a way behave over a provider
 * that does what none here does: it delivers out of order, twice, too far ahead; it has four bytes
 * of remote data; it keeps no order of writes.
 */
#include "fake_ofi.h"

/* ---- tests --------------------------------------------------------------------------------- */

/* Out of order across the wrap of the numbers: notices and data in order all the same. */
static void test_order(void **state)
{
    const uint32_t start = UINT32_MAX - 1;
    struct weft_net *net = make(WEFT_OFI_WIDE, true, start);

    (void)state;
    message(start + 3, 13, 3);
    write_of(WEFT_OFI_WIDE, start + 2, 12);
    message(start + 1, 11, 1);
    assert_int_equal(receive(net), WEFT_OK);
    assert_int_equal(arrived_count, 0);
    assert_int_equal(memory[8], 0);
    assert_int_equal(posted, 2); /* its buffers were not kept */
    message(start, 10, 9);
    assert_int_equal(receive(net), WEFT_OK);
    assert_int_equal(arrived_count, 4);
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(notices[i], 10 + i);
    assert_int_equal(memory[8], 3);
    destroy(net);
}

static void test_twice(void **state)
{
    struct weft_net *net = make(WEFT_OFI_WIDE, true, 0);

    (void)state;
    message(2, 1, 1);
    message(2, 1, 1);
    assert_int_equal(receive(net), WEFT_ERR_PROTOCOL);
    destroy(net);
    net = make(WEFT_OFI_WIDE, true, 0);
    message(0, 1, 1);
    message(0, 1, 1);
    assert_int_equal(receive(net), WEFT_ERR_PROTOCOL);
    assert_int_equal(arrived_count, 1);
    destroy(net);
}

static void test_too_far(void **state)
{
    struct weft_net *net = make(WEFT_OFI_WIDE, true, 0);

    (void)state;
    message(WEFT_OFI_WINDOW, 1, 1);
    assert_int_equal(receive(net), WEFT_ERR_PROTOCOL);
    destroy(net);
    net = make(WEFT_OFI_WIDE, true, 0);
    write_of(WEFT_OFI_WIDE, WEFT_OFI_WINDOW, 1);
    assert_int_equal(receive(net), WEFT_ERR_PROTOCOL);
    assert_int_equal(arrived_count, 0);
    destroy(net);
}

static void test_stranger(void **state)
{
    struct weft_net *net = make(WEFT_OFI_WIDE, true, 0);

    (void)state;
    message_of(98, 0, 1, 8, 1);
    assert_int_equal(receive(net), WEFT_OK);
    assert_int_equal(arrived_count, 0);
    assert_int_equal(memory[8], 0);
    assert_int_equal(posted, 1);
    message_of(99, 0, 1, 57, 1); /* of this job, and one byte beyond the region */
    assert_int_equal(receive(net), WEFT_ERR_PROTOCOL);
    destroy(net);
}

/* A receipt for more than was sent. */
static void test_receipt(void **state)
{
    struct weft_net *net = make(WEFT_OFI_WIDE, true, 0);
    struct weft_ofi_header h = {.token = 99, .kind = WEFT_OFI_RECEIPT, .process = 1, .receipt = 1};

    (void)state;
    memcpy(buffers[0].bytes, &h, sizeof(h));
    waiting[waiting_count++] =
        (struct fi_cq_data_entry){.op_context = &buffers[0], .flags = FI_RECV, .len = sizeof(h)};
    assert_int_equal(receive(net), WEFT_ERR_PROTOCOL);
    destroy(net);
}

/* Also with four bytes of data: a write may overtake messages that lacked receive buffers. */
static void test_narrow(void **state)
{
    struct weft_net *net = make(WEFT_OFI_NARROW, true, 0);
    const uint32_t notice = weft_notice(WEFT_NOTICE_COUNT, 3, 4);

    (void)state;
    write_of(WEFT_OFI_NARROW, 2, notice);
    message(0, 5, 1);
    assert_int_equal(receive(net), WEFT_OK);
    assert_int_equal(arrived_count, 1);
    message(1, 6, 1);
    assert_int_equal(receive(net), WEFT_OK);
    assert_int_equal(arrived_count, 3);
    assert_int_equal(notices[2], notice);
    destroy(net);
}

/* One put of `bytes` to process 1, whose region is known. */
static void put(struct weft_net *net, uint64_t offset, size_t bytes)
{
    static unsigned char source[4096];
    const struct weft_net_put p = {.process = 1,
                                   .key = 5,
                                   .offset = offset,
                                   .source = source,
                                   .bytes = bytes,
                                   .notice = weft_notice(WEFT_NOTICE_COUNT, 1, 1)};

    assert_int_equal(weft_ofi_put(net, &p), WEFT_OK);
}

static void know_region(struct weft_net *net)
{
    const struct weft_ofi_place place = {.address = 1 << 20, .bytes = 4096, .exposed = 1};

    assert_null(weft_ofi_remote(net, 1, 5)); /* asks */
    assert_int_equal(last_injected.kind, WEFT_OFI_ASK);
    weft_ofi_remote_told(net, 1, 5, &place);
    assert_non_null(weft_ofi_remote(net, 1, 5));
    injected = 0;
}

/* What could be overtaken by a write makes it a message; what lies elsewhere does not. */
static void test_overtaking(void **state)
{
    struct weft_net *net = make(WEFT_OFI_WIDE, true, 0);

    (void)state;
    know_region(net);
    put(net, 0, 8); /* small: a message */
    assert_int_equal(written * 10 + injected, 1);
    put(net, 100, 16);
    assert_int_equal(written * 10 + injected, 11);
    put(net, 4, 16); /* over the small one */
    assert_int_equal(written * 10 + injected, 12);
    put(net, 108, 16); /* over a write: the provider keeps their order */
    assert_int_equal(written * 10 + injected, 22);
    struct weft_net_put other = {.process = 1, .key = 6, .bytes = 8, .source = memory};
    assert_int_equal(weft_ofi_put(net, &other),
                     WEFT_OK); /* into a region that was never asked for */
    put(net, 300, 16);         /* may overlap it */
    assert_int_equal(last_injected.kind, WEFT_OFI_PUT);
    assert_int_equal(written, 2);
    weft_ofi_remote_told(net, 1, 6,
                         &(struct weft_ofi_place){.address = 1 << 10, .bytes = 64, .exposed = 1});
    put(net, 400, 16); /* it does not */
    assert_int_equal(written, 3);
    written = 2, injected = 2;
    put(net, 4090, 16); /* not inside: the target shall refuse it */
    assert_int_equal(written * 10 + injected, 23);
    destroy(net);

    net = make(WEFT_OFI_WIDE, true, 0); /* keeps the order of writes up to 1 KiB */
    know_region(net);
    net->can.ordered_most = 1024;
    put(net, 0, 2000);
    put(net, 3000, 16);
    assert_int_equal(written * 10 + injected, 20);
    put(net, 100, 16); /* over the long one */
    assert_int_equal(written * 10 + injected, 21);
    destroy(net);

    net = make(WEFT_OFI_WIDE, false, 0);
    know_region(net);
    put(net, 100, 16);
    put(net, 200, 16);
    assert_int_equal(written * 10 + injected, 20);
    put(net, 108, 16); /* the same over a provider that does not */
    assert_int_equal(written * 10 + injected, 21);
    destroy(net);
}

/*
 * A write whose number could not be told is not issued: a short one becomes a message, a long one
 * waits. Without messages before it an ordered write can be told.
 */
static void test_untellable(void **state)
{
    enum { SPREAD = 4 };
    static unsigned char source[WEFT_OFI_MESSAGE_BYTES];
    const struct weft_net_put large = {
        .process = 1, .key = 5, .offset = 0, .source = source, .bytes = 4096};
    struct weft_net *net = make(WEFT_OFI_NARROW, true, 0);

    (void)state;
    net->can.spread = SPREAD;
    know_region(net);
    for (int i = 0; i < 2 * SPREAD; i++)
        put(net, (uint64_t)i * 16, 16);
    assert_int_equal(written, 2 * SPREAD);
    put(net, 1000, 8); /* a message */
    put(net, 2000, 16);
    assert_int_equal(written * 10 + injected, 2 * SPREAD * 10 + 2);
    assert_int_equal(net->peers[1].messages, 2);
    for (struct weft_ofi_op *op = net->peers[1].first; op != NULL; op = op->next)
        op->key = 77, op->place_known = true, op->at = op->end = 0; /* none overlaps */
    assert_int_equal(weft_ofi_put(net, &large), WEFT_NET_FULL);
    assert_true(net->peers[1].ask_receipt);
    net->peers[1].received = net->peers[1].events - SPREAD + 1;
    assert_int_equal(weft_ofi_put(net, &large), WEFT_OK);
    assert_int_equal(written, 2 * SPREAD + 1);
    destroy(net);

    net = make(WEFT_OFI_NARROW, false, 0); /* nothing is ordered */
    net->can.spread = SPREAD;
    know_region(net);
    for (int i = 0; i < SPREAD; i++)
        put(net, (uint64_t)i * 16, 16);
    assert_int_equal(written * 10 + injected, SPREAD * 10);
    put(net, 1000, 16);
    assert_int_equal(written * 10 + injected, SPREAD * 10 + 1);
    destroy(net);
}

/* The number of an event goes with the write, its low bits. */
static void test_data(void **state)
{
    struct weft_net *net = make(WEFT_OFI_WIDE, true, 0x1fffe);
    struct weft_ofi_arrival arrival;

    (void)state;
    know_region(net);
    put(net, 100, 16);
    assert_true(weft_ofi_data_parse(WEFT_OFI_WIDE, 2, last_data, &arrival));
    assert_int_equal(arrival.event, 0xfffe);
    assert_int_equal(arrival.notice, weft_notice(WEFT_NOTICE_COUNT, 1, 1));
    destroy(net);
}

/* ---- closing ------------------------------------------------------------------------------- */

static int closed, lingering;
static bool stopped;

static int close_one(struct fid *fid)
{
    (void)fid;
    closed++;
    return 0;
}

static struct fi_ops closing = {.size = sizeof(closing), .close = close_one};
static struct fid_mr registered = {.fid.ops = &closing};

static void no_info(struct fi_info *none)
{
    (void)none;
}

static bool all_stopped(void *context)
{
    (void)context;
    return stopped;
}

static void lingers(void *context)
{
    (void)context;
    lingering++;
}

/* Another region, with a registration, and then the end. */
static struct weft_net *closed_net(bool all_have, enum fi_progress data, uint32_t outstanding)
{
    static const struct weft_ofi_library library = {.freeinfo = no_info};
    static struct fi_domain_attr domain_attr;
    struct weft_net *net = make(WEFT_OFI_WIDE, true, 0);

    closed = lingering = 0;
    stopped = all_have;
    cq.fid.ops = ep.fid.ops = &closing;
    domain_attr.data_progress = data;
    info.domain_attr = &domain_attr;
    net->fi = &library;
    net->enabled = true;
    net->outstanding = outstanding;
    net->open.events.all_stopped = all_stopped;
    net->open.events.lingers = lingers;
    weft_arrive_keep(&net->arrive, key, &registered, 0);
    weft_net_ofi.close(net);
    return net;
}

/* Of a job that has failed only registrations are closed, so that nobody writes there. */
static void test_close(void **state)
{
    static const struct {
        enum fi_progress data;
        uint32_t outstanding;
        int lingers;
    } left[] = {{FI_PROGRESS_MANUAL, 0, 0}, {FI_PROGRESS_MANUAL, 1, 1}, {FI_PROGRESS_AUTO, 0, 1}};

    (void)state;
    for (size_t i = 0; i < sizeof(left) / sizeof(left[0]); i++) {
        struct weft_net *net = closed_net(false, left[i].data, left[i].outstanding);
        assert_int_equal(closed, 1);
        assert_int_equal(lingering, left[i].lingers);
        free(net->peers);
        free(net);
    }
    closed_net(true, FI_PROGRESS_AUTO, 0);
    assert_int_equal(closed, 4); /* the endpoint and two queues, too */
    assert_int_equal(lingering, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),      cmocka_unit_test(test_twice),
        cmocka_unit_test(test_too_far),    cmocka_unit_test(test_stranger),
        cmocka_unit_test(test_receipt),    cmocka_unit_test(test_narrow),
        cmocka_unit_test(test_overtaking), cmocka_unit_test(test_untellable),
        cmocka_unit_test(test_data),       cmocka_unit_test(test_close),

    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
