/*
 * The buffers of a transport, and the writes that may be under way, which the peer layer shares
 * out: a process that takes nothing leaves half of them to the others, what is sent gives its
 * buffer back, and no packet is longer than its receiver takes. Memory that is lent is not written
 * by the transport. Data that is gathered is reported as sent once all its packets are.
 */
#include "net/peer/inside.h"
#include "net/peer/packet.h"
#include "support/notices.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { PROCESSES = 4, BUFFERS = 8, WRITES = 8, ROOM = 2048, SHORT = 512, EACH = 100 };

struct weft_transport {
    unsigned char buffers[BUFFERS][ROOM];
    int holder[BUFFERS]; /* the process to which it is sent; -1: none */
    size_t longest[PROCESSES];
    int packets[PROCESSES];
    int takes; /* the process whose packets are sent; -1: none */
    int writes[PROCESSES];
    uint64_t cookies[WRITES]; /* 0: free */
    int registered;
    const unsigned char *data; /* behind what was gathered */
};
static struct weft_transport transport;
static size_t gather_from;
static bool unordered;

static weft_status open_it(struct weft_transport **t, const struct weft_net_open *open)
{
    (void)open;
    memset(&transport, 0, sizeof(transport));
    memset(transport.holder, 0xff, sizeof(transport.holder));
    transport.takes = -1;
    *t = &transport;
    return WEFT_OK;
}

static void close_it(struct weft_transport *t)
{
    (void)t;
}

static void caps(struct weft_transport *t, struct weft_transport_caps *caps)
{
    *caps = (struct weft_transport_caps){.net.address_bytes = 1,
                                         .address = t,
                                         .packet = ROOM,
                                         .gather_from = gather_from,
                                         .buffers = t->buffers[0],
                                         .buffer_count = BUFFERS,
                                         .depth = 100,
                                         .ordered = !unordered,
                                         .writes_ordered = true,
                                         .writes = true,
                                         .place_is_key = true,
                                         .write_count = WRITES,
                                         .write_from = 2 * ROOM,
                                         .write_most = 1 << 20,
                                         .immediate = 32};
}

static weft_status reg(struct weft_transport *t, void *base, size_t bytes, uint64_t place[2],
                       void **mr)
{
    (void)base, (void)bytes;
    place[0] = 1;
    t->registered++;
    *mr = t;
    return WEFT_OK;
}

static void dereg(struct weft_transport *t, void *mr)
{
    (void)mr;
    t->registered--;
}

static weft_status write_it(struct weft_transport *t, const struct weft_transport_write *write)
{
    int i = 0;

    while (i < WRITES && t->cookies[i] != 0)
        i++;
    assert_true(i < WRITES && write->cookie >> 32 == (uint64_t)write->process);
    t->cookies[i] = write->cookie;
    t->writes[write->process]++;
    return WEFT_OK;
}

static weft_status connect_it(struct weft_transport *t, int process, const void *address)
{
    (void)t, (void)process, (void)address;
    return WEFT_OK;
}

static weft_status commit(struct weft_transport *t, int process, unsigned char *packet,
                          size_t bytes)
{
    const size_t buffer = (size_t)(packet - t->buffers[0]) / ROOM;

    assert_true(buffer < BUFFERS && packet == t->buffers[buffer]);
    assert_int_equal(t->holder[buffer], -1); /* nobody else builds there */
    t->holder[buffer] = process;
    t->packets[process]++;
    t->longest[process] = bytes > t->longest[process] ? bytes : t->longest[process];
    return WEFT_OK;
}

static weft_status gather(struct weft_transport *t, int process, unsigned char *packet,
                          size_t bytes, const void *data, size_t data_bytes)
{
    struct weft_packet head;

    memcpy(&head, packet, sizeof(head));
    assert_true(head.bytes == bytes + data_bytes && data_bytes % 8 == 0);
    assert_true(t->data == NULL || t->data == data);
    t->data = (const unsigned char *)data + data_bytes;
    return commit(t, process, packet, bytes);
}

static int poll_send(struct weft_transport *t, struct weft_transport_event *events, int most)
{
    int count = 0;

    for (uint32_t i = 0; i < BUFFERS && count < most; i++)
        if (t->holder[i] >= 0 && t->holder[i] == t->takes) {
            t->holder[i] = -1;
            events[count++] = (struct weft_transport_event){
                .kind = WEFT_EVENT_SENT, .process = t->takes, .count = 1, .value = i};
        }
    for (int i = 0; i < WRITES && count < most; i++)
        if (t->takes >= 0 && t->cookies[i] >> 32 == (uint64_t)t->takes) {
            events[count++] = (struct weft_transport_event){
                .kind = WEFT_EVENT_READ, .process = t->takes, .value = t->cookies[i]};
            t->cookies[i] = 0;
            t->writes[t->takes]--;
        }
    return count;
}

static int poll_receive(struct weft_transport *t, struct weft_transport_event *events, int most)
{
    (void)t, (void)events, (void)most;
    return 0;
}

static const struct weft_transport_ops ops = {.name = "buffers",
                                              .open = open_it,
                                              .close = close_it,
                                              .caps = caps,
                                              .connect = connect_it,
                                              .reg = reg,
                                              .dereg = dereg,
                                              .commit = commit,
                                              .gather = gather,
                                              .write = write_it,
                                              .poll = {poll_send, poll_receive}};

static void done(void *context, void *cookie)
{
    (void)context, (void)cookie;
}

static int sent_count;

static void sent(void *context, void *cookie)
{
    (void)context, (void)cookie;
    sent_count++;
}

static struct weft_config config;
static struct weft_net *net;

static void announce(int process, uint32_t packet, weft_status expected)
{
    _Alignas(8) unsigned char address[WEFT_NET_ADDRESS_MAX];
    struct weft_peer_address theirs;

    weft_net_address(net, address);
    memcpy(&theirs, address, sizeof(theirs));
    theirs.packet = packet;
    memcpy(address, &theirs, sizeof(theirs));
    assert_int_equal(weft_net_connect(net, process, address), expected);
}

static void open_net(void)
{
    static struct weft_notice_kinds kinds;
    const struct weft_net_open open = {.config = &config,
                                       .processes = PROCESSES,
                                       .events = {.sent = sent, .delivered = done},
                                       .kinds = &kinds};

    assert_int_equal(weft_config_load(&config, NULL, NULL), WEFT_OK);
    assert_int_equal(weft_net_open(&net, &ops, &open), WEFT_OK);
    for (int p = 0; p < PROCESSES; p++)
        announce(p, ROOM, WEFT_OK);
}

/* As many puts as it takes. */
static int put_all_to(int process, uint64_t key, size_t bytes)
{
    static const unsigned char source[2 * ROOM];
    const struct weft_net_put put = {
        .process = process, .key = key, .source = source, .bytes = bytes};
    int taken = 0;
    bool did = false;

    while (taken < EACH && weft_net_put(net, &put) == WEFT_OK) {
        taken++;
        assert_int_equal(weft_net_progress(net, WEFT_NET_SEND, &did), WEFT_OK);
    }
    return taken;
}

static int put_all(int process, size_t bytes)
{
    return put_all_to(process, WEFT_PEER_PLACED | 1, bytes);
}

static int held_by(int process)
{
    int count = 0;

    for (int i = 0; i < BUFFERS; i++)
        count += transport.holder[i] == process;
    return count;
}

static void shares(void **state)
{
    bool did = false;

    (void)state;
    open_net();
    assert_true(put_all(1, ROOM) < EACH); /* nothing of it is sent */
    assert_int_equal(held_by(1), BUFFERS / 2);
    put_all(2, ROOM);
    put_all(3, ROOM);
    assert_true(held_by(1) == BUFFERS / 2 && held_by(2) == BUFFERS / 4 && held_by(3) == 1);
    transport.takes = 2;
    const int before = transport.packets[2];
    assert_int_equal(weft_net_progress(net, WEFT_NET_SEND, &did), WEFT_OK);
    put_all(2, 8);
    assert_true(transport.packets[2] > before); /* the buffers that are free again are used */
    assert_int_equal(held_by(1), BUFFERS / 2);
    weft_net_close(net);
}

static void writes(void **state)
{
    bool did = false;

    (void)state;
    open_net();
    assert_true(put_all(1, (size_t)2 * ROOM) < EACH);
    assert_int_equal(transport.writes[1], WRITES / 2);
    put_all(2, (size_t)2 * ROOM);
    put_all(3, (size_t)2 * ROOM);
    assert_true(transport.writes[2] == WRITES / 4 && transport.writes[3] == 1);
    transport.takes = 2;
    assert_int_equal(weft_net_progress(net, WEFT_NET_SEND, &did), WEFT_OK);
    assert_true(put_all(2, (size_t)2 * ROOM) > WRITES);
    assert_int_equal(transport.writes[1], WRITES / 2);
    weft_net_close(net);
}

static void lengths(void **state)
{
    (void)state;
    open_net();
    announce(2, SHORT, WEFT_OK);
    announce(3, 2 * ROOM, WEFT_OK);
    for (int p = 1; p < PROCESSES; p++)
        put_all(p, ROOM);
    assert_true(transport.longest[1] > SHORT && transport.longest[1] <= ROOM);
    assert_true(transport.longest[2] > SHORT / 2 && transport.longest[2] <= SHORT);
    assert_true(transport.longest[3] > SHORT && transport.longest[3] <= ROOM);
    announce(2, WEFT_PACKET_LEAST, WEFT_OK);
    announce(2, WEFT_PACKET_LEAST - 1, WEFT_ERR_PROTOCOL);
    announce(2, 0, WEFT_ERR_PROTOCOL);
    weft_net_close(net);
}

static void lends(void **state)
{
    static unsigned char memory[2 * ROOM];
    uint64_t lent, placed;

    (void)state;
    open_net();
    assert_int_equal(weft_net_lend(net, memory, sizeof(memory), true, &lent), WEFT_OK);
    assert_int_equal(transport.registered, 0);
    assert_int_equal(weft_net_reg(net, memory, sizeof(memory), true, &placed), WEFT_OK);
    assert_int_equal(transport.registered, 1);
    assert_true(lent != placed && (lent & WEFT_PEER_PLACED) == 0);
    put_all_to(1, lent, sizeof(memory));
    assert_true(transport.writes[1] == 0 && held_by(1) > 0);
    put_all_to(2, placed, sizeof(memory));
    assert_true(transport.writes[2] > 0);
    weft_net_dereg(net, lent);
    assert_int_equal(transport.registered, 1);
    weft_net_dereg(net, placed);
    assert_int_equal(transport.registered, 0);
    weft_net_close(net);
}

static void gathers(void **state)
{
    static const unsigned char source[9 * ROOM + 4];
    struct weft_net_put put = {.process = 1, .source = source, .bytes = sizeof(source)};
    bool did = false;

    (void)state;
    gather_from = ROOM;
    open_net();
    assert_int_equal(weft_net_put(net, &put),
                     WEFT_OK); /* who takes no longer packets gets copies */
    assert_null(transport.data);
    weft_net_close(net);
    open_net();
    announce(1, 4 * ROOM, WEFT_OK);
    sent_count = 0;
    assert_int_equal(weft_net_put(net, &put), WEFT_OK);
    assert_ptr_equal(transport.data, source + 9 * ROOM);
    assert_int_equal(held_by(1), 4); /* the last with the bytes behind */
    assert_int_equal(sent_count, 0);
    transport.takes = 1;
    assert_int_equal(weft_net_progress(net, WEFT_NET_SEND, &did), WEFT_OK);
    assert_int_equal(held_by(1), 0);
    assert_int_equal(sent_count, 1);
    transport.data = NULL;
    put.bytes = put.pitch = put.source_pitch = ROOM;
    put.rows = 2;
    assert_int_equal(weft_net_put(net, &put), WEFT_OK);
    assert_null(transport.data);
    assert_true(transport.longest[1] <= ROOM);
    weft_net_close(net);
    gather_from = 0;
}

/* A write, which may pass packets, waits for one whose data is gathered, also when that is read. */
static void gathered_is_passed(void **state)
{
    static const unsigned char source[8 * ROOM];
    struct weft_net_put put = {.process = 1, .source = source, .bytes = 3 * ROOM};
    bool did = false;

    (void)state;
    gather_from = ROOM;
    unordered = true;
    open_net();
    announce(1, 4 * ROOM, WEFT_OK);
    transport.data = NULL;
    assert_int_equal(weft_net_put(net, &put), WEFT_OK);
    assert_non_null(transport.data);
    put.key = WEFT_PEER_PLACED | 1;
    put.bytes = sizeof(source); /* too long to be copied instead */
    for (transport.takes = -1; transport.takes <= 1; transport.takes += 2) {
        assert_int_equal(weft_net_put(net, &put), transport.takes < 0 ? WEFT_OK : WEFT_NET_FULL);
        assert_int_equal(weft_net_progress(net, WEFT_NET_SEND, &did), WEFT_OK);
        assert_int_equal(transport.writes[1], 0);
    }
    weft_net_close(net);
    gather_from = 0;
    unordered = false;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares), cmocka_unit_test(writes),  cmocka_unit_test(lengths),
        cmocka_unit_test(lends),  cmocka_unit_test(gathers), cmocka_unit_test(gathered_is_passed)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
