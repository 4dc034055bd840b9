/*
 * long puts by docks: berths in the order of events, also when those come
 * otherwise; berths that were not written; a quay that is full; when berths are free again.
 */
#include "fake_ofi.h"

enum { SHARE = 128 << 10, PIECE = SHARE / 8 };

/* Writes reach a dock only; process 1 has a quay of it, and this process one of that of 1. */
static struct weft_net *make_docked(uint32_t start)
{
    struct weft_net *net = make(WEFT_OFI_WIDE, true, start);
    const struct weft_ofi_place place = {.address = 1 << 20, .bytes = SHARE, .exposed = 1};

    net->can.direct = false;
    net->can.docks = true;
    net->dock =
        (struct weft_ofi_dock){.memory = calloc(2, SHARE), .bytes = 2 * SHARE, .quay = SHARE};
    net->peers[1].berthed = true;
    net->peers[1].berths_at = SHARE;
    net->peers[1].quay = (struct weft_ofi_quay){.asked = true, .known = true, .place = place};
    return net;
}

/* What process 1 wrote to the dock, at such a place of its quay. */
static void dock(struct weft_net *net, size_t at, uint32_t event, uint32_t notice, int value)
{
    const struct weft_ofi_berth berth = {.header = {.token = 99,
                                                    .kind = WEFT_OFI_DOCKED,
                                                    .process = 1,
                                                    .event = event,
                                                    .receipt = first_event,
                                                    .notice = notice,
                                                    .key = key,
                                                    .offset = 16},
                                         .bytes = 8};
    unsigned char *to = net->dock.memory + SHARE + at;

    memcpy(to, &berth, sizeof(berth));
    memset(to + sizeof(berth), value, 8);
}

/* Berths are taken in the order of events, whatever order their events come in. */
static void test_docked(void **state)
{
    const uint32_t start = UINT32_MAX;
    struct weft_net *net = make_docked(start);

    (void)state;
    dock(net, 0, start, 10, 1);
    dock(net, 128, start + 2, 12, 3);
    write_of(WEFT_OFI_WIDE, start + 2, 0);
    message(start + 1, 11, 2);
    assert_int_equal(receive(net), WEFT_OK);
    assert_int_equal(arrived_count, 0);
    write_of(WEFT_OFI_WIDE, start, 0);
    assert_int_equal(receive(net), WEFT_OK);
    assert_int_equal(arrived_count, 3);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(notices[i], 10 + i);
    assert_int_equal(memory[8], 2);
    assert_int_equal(memory[16], 3);
    destroy(net);
}

/* An event without a berth, with an older one's, and of a process that has no quay. */
static void test_nothing_docked(void **state)
{
    struct weft_net *net = make_docked(0);

    (void)state;
    write_of(WEFT_OFI_WIDE, 0, 0);
    assert_int_equal(receive(net), WEFT_ERR_PROTOCOL);
    destroy(net);
    net = make_docked(0);
    dock(net, 0, 0, 1, 1);
    dock(net, 128, 0, 1, 1);
    write_of(WEFT_OFI_WIDE, 0, 0);
    write_of(WEFT_OFI_WIDE, 1, 0);
    assert_int_equal(receive(net), WEFT_ERR_PROTOCOL);
    assert_int_equal(arrived_count, 1);
    destroy(net);
    net = make_docked(0);
    dock(net, 0, 0, 1, 1);
    net->peers[1].berthed = false;
    write_of(WEFT_OFI_WIDE, 0, 0);
    assert_int_equal(receive(net), WEFT_ERR_PROTOCOL);
    assert_int_equal(arrived_count, 0);
    destroy(net);
}

/* All writes so far are through at this side; process 1 has so many of the events. */
static void complete(struct weft_net *net, uint32_t received)
{
    bool did = false;

    for (int i = 0; i < completions_count; i++)
        waiting[waiting_count++] = (struct fi_cq_data_entry){.op_context = completions[i]};
    completions_count = 0;
    assert_true(weft_ofi_received(net, 1, received));
    assert_int_equal(weft_ofi_progress_send(net, &did), WEFT_OK);
}

/* A long put is cut; its last piece has the notice. A full quay waits for receipts. */
static void test_pieces(void **state)
{
    static unsigned char source[10 * PIECE];
    struct weft_net *net = make_docked(0);
    struct weft_net_put large = {
        .process = 1, .key = 5, .source = source, .bytes = sizeof(source), .notice = 7};

    (void)state;
    assert_int_equal(weft_ofi_put(net, &large), WEFT_OK);
    assert_int_equal(docked, 7); /* with its header an eighth does not fit */
    assert_int_equal(last_head.header.notice, 0);
    assert_int_equal(last_head.header.offset, 6 * PIECE);
    assert_int_equal(last_address, (1 << 20) + 6 * (PIECE + 64));
    assert_int_equal(weft_ofi_put(net, &large), WEFT_NET_FULL);
    complete(net, 1);
    assert_int_equal(docked, 8); /* not behind the seventh, where too little is left */
    assert_int_equal(last_address, 1 << 20);
    complete(net, 8);
    assert_int_equal(docked, 10);
    assert_int_equal(last_head.header.notice, 7);
    assert_int_equal(last_head.header.event, 9);
    assert_int_equal(sent_count, 0);
    complete(net, 9);
    assert_int_equal(sent_count, 1);
    assert_int_equal(landed_count, 0);
    complete(net, 10);
    assert_int_equal(landed_count, 1);
    assert_null(net->peers[1].quay.first);
    assert_int_equal(net->peers[1].quay.tail, net->peers[1].quay.head);
    destroy(net);
}

/* Receipts that come before the provider is through with the source free no berth. */
static void test_receipt_first(void **state)
{
    static unsigned char source[PIECE];
    struct weft_net *net = make_docked(0);
    const struct weft_net_put put = {
        .process = 1, .key = 5, .source = source, .bytes = sizeof(source)};
    bool did = false;

    (void)state;
    assert_int_equal(weft_ofi_put(net, &put), WEFT_OK);
    assert_true(weft_ofi_received(net, 1, 1));
    assert_int_equal(weft_ofi_progress_send(net, &did), WEFT_OK);
    assert_int_equal(landed_count, 0);
    assert_non_null(net->peers[1].quay.first);
    complete(net, 1);
    assert_int_equal(sent_count * 10 + landed_count, 11);
    assert_null(net->peers[1].quay.first);
    destroy(net);
}

/* Until the quay is known, and where there is none, puts travel as messages. */
static void test_no_quay(void **state)
{
    static unsigned char source[40];
    struct weft_net *net = make_docked(0);
    const struct weft_net_put put = {.process = 1, .key = 5, .source = source, .bytes = 20};
    struct weft_ofi_place place = {.exposed = 1, .bytes = SHARE - 1};

    (void)state;
    net->peers[1].quay = (struct weft_ofi_quay){0};
    assert_int_equal(weft_ofi_put(net, &put), WEFT_OK);
    assert_int_equal(injected, 2); /* the question, the put */
    assert_int_equal(weft_ofi_put(net, &put), WEFT_OK);
    assert_int_equal(injected, 3);
    weft_ofi_dock_told(net, 1, &place); /* too small */
    assert_int_equal(weft_ofi_put(net, &put), WEFT_OK);
    assert_int_equal(injected, 4);
    place.bytes = SHARE; /* too late: nobody asked again */
    weft_ofi_dock_told(net, 1, &place);
    assert_int_equal(weft_ofi_put(net, &put), WEFT_OK);
    assert_int_equal(injected * 10 + docked, 50);
    destroy(net);
}

/* Process 1 says in the header of what comes second that five events of ours have landed. */
static void hear_early(bool docks)
{
    struct weft_net *net = make_docked(0);
    net->peers[1].events = 5;
    first_event = 5; /* the receipt that is sent from now on */
    if (docks) {
        dock(net, 0, 1, 11, 2);
        write_of(WEFT_OFI_WIDE, 1, 0);
    } else {
        message(1, 11, 2);
    }
    first_event = 0;
    message(0, 10, 1); /* the first event, without a receipt */
    assert_int_equal(receive(net), WEFT_OK);
    assert_int_equal(arrived_count, 2);
    assert_int_equal(net->peers[1].received, 5);
    destroy(net);
}

static void test_early_message(void **state)
{
    (void)state;
    hear_early(false);
}

static void test_early_docked(void **state)
{
    (void)state;
    hear_early(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_early_message), cmocka_unit_test(test_early_docked),
        cmocka_unit_test(test_docked),        cmocka_unit_test(test_nothing_docked),
        cmocka_unit_test(test_pieces),        cmocka_unit_test(test_receipt_first),
        cmocka_unit_test(test_no_quay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
