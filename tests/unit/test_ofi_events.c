/*
 * unit/test_ofi_events.c - how ofi's receive side and its choice of a way behave over a provider
 * that does what none here does: it delivers out of order, twice, too far ahead; it has four bytes
 * of remote data; it keeps no order of writes. The provider is a few functions in this file.
 */
#include "net/ofi/inside.h"
#include "wire/notice.h"

#include <rdma/fi_errno.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { BUFFERS = 8, MOST = 16 };

/* ---- the provider -------------------------------------------------------------------------------
 */

static struct fi_cq_data_entry waiting[MOST];
static int waiting_count, posted, injected, written, docked;
static struct ofi_berth last_head;
static uint64_t last_address;
static struct ofi_header last_injected;
static uint64_t last_data;
static void *completions[MOST]; /* of writes to docks */
static int completions_count;

static ssize_t cq_read(struct fid_cq *cq, void *entries, size_t count)
{
    const size_t n = count < (size_t)waiting_count ? count : (size_t)waiting_count;

    (void)cq;
    memcpy(entries, waiting, n * sizeof(waiting[0]));
    waiting_count = 0;
    return n == 0 ? -FI_EAGAIN : (ssize_t)n;
}

static ssize_t ep_recv(struct fid_ep *ep, void *bytes, size_t count, void *desc, fi_addr_t from,
                       void *context)
{
    (void)ep, (void)bytes, (void)count, (void)desc, (void)from, (void)context;
    posted++;
    return 0;
}

static ssize_t ep_inject(struct fid_ep *ep, const void *bytes, size_t count, fi_addr_t to)
{
    (void)ep, (void)to;
    assert_true(count >= sizeof(last_injected));
    memcpy(&last_injected, bytes, sizeof(last_injected));
    injected++;
    return 0;
}

static ssize_t ep_writedata(struct fid_ep *ep, const void *bytes, size_t count, void *desc,
                            uint64_t data, fi_addr_t to, uint64_t address, uint64_t key,
                            void *context)
{
    (void)ep, (void)bytes, (void)count, (void)desc, (void)to, (void)address, (void)key;
    (void)context;
    last_data = data;
    written++;
    return 0;
}

static ssize_t ep_writemsg(struct fid_ep *ep, const struct fi_msg_rma *message, uint64_t flags)
{
    (void)ep;
    assert_true((flags & FI_REMOTE_CQ_DATA) != 0);
    assert_int_equal(message->iov_count, 2);
    memcpy(&last_head, message->msg_iov[0].iov_base, sizeof(last_head));
    assert_int_equal(message->rma_iov->len, sizeof(last_head) + last_head.bytes);
    assert_int_equal(message->msg_iov[1].iov_len, last_head.bytes);
    last_address = message->rma_iov->addr;
    last_data = message->data;
    if (completions_count < MOST)
        completions[completions_count++] = message->context;
    docked++;
    return 0;
}

static struct fi_ops_cq cq_ops = {.size = sizeof(cq_ops), .read = cq_read};
static struct fi_ops_msg msg_ops = {.size = sizeof(msg_ops), .recv = ep_recv, .inject = ep_inject};
static struct fi_ops_rma rma_ops = {
    .size = sizeof(rma_ops), .writedata = ep_writedata, .writemsg = ep_writemsg};

/* ---- a network on it ----------------------------------------------------------------------------
 */

static struct fid_cq cq = {.ops = &cq_ops};
static struct fid_ep ep = {.msg = &msg_ops, .rma = &rma_ops};
static struct fi_info info;
static struct fi_fabric_attr fabric_attr = {.prov_name = (char *)"test"};
static struct fi_ep_attr ep_attr = {.max_msg_size = SIZE_MAX};
static struct weft_config config;
static unsigned char memory[64];
static struct ofi_buffer buffers[BUFFERS];
static unsigned char buffer_bytes[BUFFERS][OFI_MESSAGE_BYTES];
static uint32_t notices[MOST];
static int arrived_count, sent_count, landed_count;
static uint64_t key;
static uint32_t first_event;

static bool arrived(void *context, int process, uint32_t notice)
{
    (void)context;
    assert_int_equal(process, 1);
    assert_true(arrived_count < MOST);
    notices[arrived_count++] = notice;
    return true;
}
static void sent(void *context, void *cookie)
{
    (void)context, (void)cookie;
    sent_count++;
}
static void landed(void *context, void *cookie)
{
    (void)context, (void)cookie;
    landed_count++;
}

static struct weft_net *make(enum ofi_data form, bool ordered, uint32_t start)
{
    struct weft_net *net = calloc(1, sizeof(*net));

    docked = completions_count = 0;
    waiting_count = posted = injected = written = arrived_count = sent_count = landed_count = 0;
    first_event = start;
    memset(memory, 0, sizeof(memory));
    info.fabric_attr = &fabric_attr;
    info.ep_attr = &ep_attr;
    net->open =
        (struct weft_net_open){.config = &config,
                               .processes = 2,
                               .events = {.arrived = arrived, .sent = sent, .landed = landed}};
    net->regions.events = &net->open.events;
    net->info = &info;
    net->can = (struct ofi_abilities){.form = form,
                                      .spread = ofi_data_spread(form, 2),
                                      .direct = true,
                                      .inject = 64,
                                      .write_from = 9,
                                      .ordered_writes = ordered,
                                      .ordered_most = ordered ? 4096 : 0};
    net->cq[0] = net->cq[1] = &cq;
    net->ep = &ep;
    net->token = 99;
    net->peers = calloc(2, sizeof(*net->peers));
    for (int p = 0; p < 2; p++) {
        net->peers[p].last = &net->peers[p].first;
        net->peers[p].events = net->peers[p].received = start;
        net->peers[p].expected = net->peers[p].applied = net->peers[p].told = start;
    }
    assert_int_equal(weft_regions_add(&net->regions, memory, sizeof(memory), &key), WEFT_OK);
    for (int i = 0; i < BUFFERS; i++) {
        buffers[i].bytes = buffer_bytes[i];
        buffers[i].context.what = OFI_RECEIVE_BUFFER;
    }
    return net;
}

static void destroy(struct weft_net *net)
{
    free(net->dock.memory);
    ofi_receive_close(net);
    weft_regions_free(&net->regions);
    for (uint32_t i = 0; i < net->slabs_count; i++)
        free(net->slabs[i]);
    free(net->slabs);
    free(net->peers[1].remotes);
    free(net->peers);
    free(net);
}

static void message_of(uint64_t token, uint32_t event, uint32_t notice, uint64_t offset, int value)
{
    const struct ofi_header h = {.token = token,
                                 .kind = OFI_PUT,
                                 .process = 1,
                                 .event = event,
                                 .receipt = first_event,
                                 .notice = notice,
                                 .key = key,
                                 .offset = offset};
    struct ofi_buffer *buffer = &buffers[waiting_count];

    memcpy(buffer->bytes, &h, sizeof(h));
    memset(buffer->bytes + sizeof(h), value, 8);
    waiting[waiting_count++] =
        (struct fi_cq_data_entry){.op_context = buffer, .flags = FI_RECV, .len = sizeof(h) + 8};
}

static void message(uint32_t event, uint32_t notice, int value)
{
    message_of(99, event, notice, 8, value);
}

static void write_of(enum ofi_data form, uint32_t event, uint32_t notice)
{
    const struct ofi_arrival arrival = {1, notice, event};
    uint64_t data = 0;

    assert_true(ofi_data_pack(form, 2, &arrival, &data));
    waiting[waiting_count++] =
        (struct fi_cq_data_entry){.flags = FI_REMOTE_CQ_DATA | FI_RMA, .data = data};
}

static weft_status receive(struct weft_net *net)
{
    bool did = false;
    return ofi_progress_receive(net, &did);
}

/* ---- tests --------------------------------------------------------------------------------------
 */

/* Out of order across the wrap of the numbers: notices and data in order all the same. */
static void test_order(void **state)
{
    const uint32_t start = UINT32_MAX - 1;
    struct weft_net *net = make(OFI_WIDE, true, start);

    (void)state;
    message(start + 3, 13, 3);
    write_of(OFI_WIDE, start + 2, 12);
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
    struct weft_net *net = make(OFI_WIDE, true, 0);

    (void)state;
    message(2, 1, 1);
    message(2, 1, 1);
    assert_int_equal(receive(net), WEFT_ERR_PROTOCOL);
    destroy(net);
    net = make(OFI_WIDE, true, 0);
    message(0, 1, 1);
    message(0, 1, 1);
    assert_int_equal(receive(net), WEFT_ERR_PROTOCOL);
    assert_int_equal(arrived_count, 1);
    destroy(net);
}

static void test_too_far(void **state)
{
    struct weft_net *net = make(OFI_WIDE, true, 0);

    (void)state;
    message(OFI_WINDOW, 1, 1);
    assert_int_equal(receive(net), WEFT_ERR_PROTOCOL);
    destroy(net);
    net = make(OFI_WIDE, true, 0);
    write_of(OFI_WIDE, OFI_WINDOW, 1);
    assert_int_equal(receive(net), WEFT_ERR_PROTOCOL);
    assert_int_equal(arrived_count, 0);
    destroy(net);
}

static void test_stranger(void **state)
{
    struct weft_net *net = make(OFI_WIDE, true, 0);

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
    struct weft_net *net = make(OFI_WIDE, true, 0);
    struct ofi_header h = {.token = 99, .kind = OFI_RECEIPT, .process = 1, .receipt = 1};

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
    struct weft_net *net = make(OFI_NARROW, true, 0);
    const uint32_t notice = weft_notice(WEFT_NOTICE_COUNT, 3, 4);

    (void)state;
    write_of(OFI_NARROW, 2, notice);
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
    static unsigned char source[64];
    const struct weft_net_put p = {.process = 1,
                                   .key = 5,
                                   .offset = offset,
                                   .source = source,
                                   .bytes = bytes,
                                   .notice = weft_notice(WEFT_NOTICE_COUNT, 1, 1)};

    assert_int_equal(ofi_put(net, &p), WEFT_OK);
}

static void know_region(struct weft_net *net)
{
    const struct ofi_place place = {.address = 1 << 20, .bytes = 4096, .exposed = 1};

    assert_null(ofi_remote(net, 1, 5)); /* asks */
    assert_int_equal(last_injected.kind, OFI_ASK);
    ofi_remote_told(net, 1, 5, &place);
    assert_non_null(ofi_remote(net, 1, 5));
    injected = 0;
}

/* What could be overtaken by a write makes it a message; what lies elsewhere does not. */
static void test_overtaking(void **state)
{
    struct weft_net *net = make(OFI_WIDE, true, 0);

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
    assert_int_equal(ofi_put(net, &other), WEFT_OK); /* into a region that was never asked for */
    put(net, 300, 16);                               /* may overlap it */
    assert_int_equal(last_injected.kind, OFI_PUT);
    assert_int_equal(written, 2);
    ofi_remote_told(net, 1, 6, &(struct ofi_place){.address = 1 << 10, .bytes = 64, .exposed = 1});
    put(net, 400, 16); /* it does not */
    assert_int_equal(written, 3);
    written = 2, injected = 2;
    put(net, 4090, 16); /* not inside: the target shall refuse it */
    assert_int_equal(written * 10 + injected, 23);
    destroy(net);

    net = make(OFI_WIDE, false, 0);
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
    static unsigned char source[OFI_MESSAGE_BYTES];
    const struct weft_net_put large = {
        .process = 1, .key = 5, .offset = 0, .source = source, .bytes = 4096};
    struct weft_net *net = make(OFI_NARROW, true, 0);

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
    for (struct ofi_op *op = net->peers[1].first; op != NULL; op = op->next)
        op->key = 77, op->place_known = true, op->at = op->end = 0; /* none overlaps */
    assert_int_equal(ofi_put(net, &large), WEFT_NET_FULL);
    assert_true(net->peers[1].ask_receipt);
    net->peers[1].received = net->peers[1].events - SPREAD + 1;
    assert_int_equal(ofi_put(net, &large), WEFT_OK);
    assert_int_equal(written, 2 * SPREAD + 1);
    destroy(net);

    net = make(OFI_NARROW, false, 0); /* nothing is ordered */
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
    struct weft_net *net = make(OFI_WIDE, true, 0x1fffe);
    struct ofi_arrival arrival;

    (void)state;
    know_region(net);
    put(net, 100, 16);
    assert_true(ofi_data_parse(OFI_WIDE, 2, last_data, &arrival));
    assert_int_equal(arrival.event, 0xfffe);
    assert_int_equal(arrival.notice, weft_notice(WEFT_NOTICE_COUNT, 1, 1));
    destroy(net);
}

/* ---- docks --------------------------------------------------------------------------------------
 */

enum { SHARE = 128 << 10, PIECE = SHARE / 8 };

/* Writes reach a dock only; process 1 has a share of it, and this process one of that of 1. */
static struct weft_net *make_docked(uint32_t start)
{
    struct weft_net *net = make(OFI_WIDE, true, start);
    const struct ofi_place place = {.address = 1 << 20, .bytes = SHARE, .exposed = 1};

    net->can.direct = false;
    net->can.docks = true;
    net->dock = (struct ofi_dock){.memory = calloc(2, SHARE), .bytes = 2 * SHARE, .share = SHARE};
    net->peers[1].berthed = true;
    net->peers[1].berths_at = SHARE;
    net->peers[1].share = (struct ofi_share){.asked = true, .known = true, .place = place};
    return net;
}

/* What process 1 wrote to the dock, at such a place of its share. */
static void dock(struct weft_net *net, size_t at, uint32_t event, uint32_t notice, int value)
{
    const struct ofi_berth berth = {.header = {.token = 99,
                                               .kind = OFI_DOCKED,
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
    write_of(OFI_WIDE, start + 2, 0);
    message(start + 1, 11, 2);
    assert_int_equal(receive(net), WEFT_OK);
    assert_int_equal(arrived_count, 0);
    write_of(OFI_WIDE, start, 0);
    assert_int_equal(receive(net), WEFT_OK);
    assert_int_equal(arrived_count, 3);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(notices[i], 10 + i);
    assert_int_equal(memory[8], 2);
    assert_int_equal(memory[16], 3);
    destroy(net);
}

/* An event without a berth, with an older one's, and of a process that has no share. */
static void test_nothing_docked(void **state)
{
    struct weft_net *net = make_docked(0);

    (void)state;
    write_of(OFI_WIDE, 0, 0);
    assert_int_equal(receive(net), WEFT_ERR_PROTOCOL);
    destroy(net);
    net = make_docked(0);
    dock(net, 0, 0, 1, 1);
    dock(net, 128, 0, 1, 1);
    write_of(OFI_WIDE, 0, 0);
    write_of(OFI_WIDE, 1, 0);
    assert_int_equal(receive(net), WEFT_ERR_PROTOCOL);
    assert_int_equal(arrived_count, 1);
    destroy(net);
    net = make_docked(0);
    dock(net, 0, 0, 1, 1);
    net->peers[1].berthed = false;
    write_of(OFI_WIDE, 0, 0);
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
    assert_true(ofi_received(net, 1, received));
    assert_int_equal(ofi_progress_send(net, &did), WEFT_OK);
}

/* A long put is cut; its last piece has the notice. A full share waits for receipts. */
static void test_pieces(void **state)
{
    static unsigned char source[10 * PIECE];
    struct weft_net *net = make_docked(0);
    struct weft_net_put large = {
        .process = 1, .key = 5, .source = source, .bytes = sizeof(source), .notice = 7};

    (void)state;
    assert_int_equal(ofi_put(net, &large), WEFT_OK);
    assert_int_equal(docked, 7); /* with its header an eighth does not fit */
    assert_int_equal(last_head.header.notice, 0);
    assert_int_equal(last_head.header.offset, 6 * PIECE);
    assert_int_equal(last_address, (1 << 20) + 6 * (PIECE + 64));
    assert_int_equal(ofi_put(net, &large), WEFT_NET_FULL);
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
    assert_null(net->peers[1].share.first);
    assert_int_equal(net->peers[1].share.tail, net->peers[1].share.head);
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
    assert_int_equal(ofi_put(net, &put), WEFT_OK);
    assert_true(ofi_received(net, 1, 1));
    assert_int_equal(ofi_progress_send(net, &did), WEFT_OK);
    assert_int_equal(landed_count, 0);
    assert_non_null(net->peers[1].share.first);
    complete(net, 1);
    assert_int_equal(sent_count * 10 + landed_count, 11);
    assert_null(net->peers[1].share.first);
    destroy(net);
}

/* Until the share is known, and where there is none, puts travel as messages. */
static void test_no_share(void **state)
{
    static unsigned char source[40];
    struct weft_net *net = make_docked(0);
    const struct weft_net_put put = {.process = 1, .key = 5, .source = source, .bytes = 20};
    struct ofi_place place = {.exposed = 1, .bytes = SHARE - 1};

    (void)state;
    net->peers[1].share = (struct ofi_share){0};
    assert_int_equal(ofi_put(net, &put), WEFT_OK);
    assert_int_equal(injected, 2); /* the question, the put */
    assert_int_equal(ofi_put(net, &put), WEFT_OK);
    assert_int_equal(injected, 3);
    ofi_dock_told(net, 1, &place); /* too small */
    assert_int_equal(ofi_put(net, &put), WEFT_OK);
    assert_int_equal(injected, 4);
    place.bytes = SHARE; /* too late: nobody asked again */
    ofi_dock_told(net, 1, &place);
    assert_int_equal(ofi_put(net, &put), WEFT_OK);
    assert_int_equal(injected * 10 + docked, 50);
    destroy(net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),          cmocka_unit_test(test_twice),
        cmocka_unit_test(test_too_far),        cmocka_unit_test(test_stranger),
        cmocka_unit_test(test_receipt),        cmocka_unit_test(test_narrow),
        cmocka_unit_test(test_overtaking),     cmocka_unit_test(test_untellable),
        cmocka_unit_test(test_data),           cmocka_unit_test(test_docked),
        cmocka_unit_test(test_nothing_docked), cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_receipt_first),  cmocka_unit_test(test_no_share),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
