/*
 * Data that the peer layer has a transport gather: it is read only when its packet is sent, in any
 * order, after the transport had no room now and then. Until it was read nobody is told that its
 * source may be reused; here it is overwritten at once, then. All that was put arrives.
 */
#include "net/peer/inside.h"
#include "net/peer/packet.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { BUFFERS = 8, ROOM = 512, TAKES = 3000, LEAST = 256, PUTS = 400, MOST = 12000 };

static struct put {
    unsigned char *source;
    size_t bytes, at;
    int sent, delivered;
} given[PUTS];
static struct weft_transport {
    unsigned char buffers[BUFFERS][ROOM];
    struct {
        bool used;
        size_t bytes, data_bytes;
        const unsigned char *data;
    } way[BUFFERS];
} transport;
static unsigned char target[PUTS * MOST];
static struct weft_net *net;
static int gathered, refused;
static uint64_t seed = 1;

static uint32_t draw(uint32_t below)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % below;
}

static unsigned char pattern(size_t at)
{
    return (unsigned char)(at * 7 + at / 251);
}

static weft_status open_it(struct weft_transport **t, const struct weft_net_open *open)
{
    (void)open;
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
                                         .takes = TAKES,
                                         .gather_from = LEAST,
                                         .buffers = t->buffers[0],
                                         .buffer_count = BUFFERS,
                                         .depth = 2,
                                         .acknowledges = true};
}

static weft_status connect_it(struct weft_transport *t, int process, const void *address)
{
    (void)t, (void)process, (void)address;
    return WEFT_OK;
}

static weft_status gather(struct weft_transport *t, int process, unsigned char *packet,
                          size_t bytes, const void *data, size_t data_bytes)
{
    const size_t i = (size_t)(packet - t->buffers[0]) / ROOM;

    (void)process;
    if (draw(3) == 0) {
        refused++;
        return WEFT_NET_FULL;
    }
    assert_true(i < BUFFERS && packet == t->buffers[i] && !t->way[i].used && bytes <= ROOM);
    assert_true(data_bytes % 8 == 0 && bytes % 8 == 0 && bytes + data_bytes <= TAKES);
    t->way[i].used = true;
    t->way[i].bytes = bytes;
    t->way[i].data = data;
    t->way[i].data_bytes = data_bytes;
    gathered += data_bytes != 0;
    return WEFT_OK;
}

static weft_status commit(struct weft_transport *t, int process, unsigned char *packet,
                          size_t bytes)
{
    return gather(t, process, packet, bytes, NULL, 0);
}

/* The packet goes: what it says is now stored in the target. */
static void send_now(struct weft_transport *t, size_t i)
{
    static struct weft_entry entries[WEFT_PACKET_ENTRIES];
    _Alignas(8) static unsigned char bytes[TAKES];
    const size_t count = t->way[i].bytes + t->way[i].data_bytes;
    struct weft_packet packet;
    const char *wrong = NULL;

    memcpy(bytes, t->buffers[i], t->way[i].bytes);
    if (t->way[i].data_bytes != 0)
        memcpy(bytes + t->way[i].bytes, t->way[i].data, t->way[i].data_bytes);
    assert_int_equal(weft_packet_parse(bytes, count, net->token, 2, &packet, entries, &wrong),
                     WEFT_PACKET_GOOD);
    for (uint32_t e = 0; e < packet.entries; e++)
        memcpy(target + entries[e].offset, entries[e].data, entries[e].bytes);
    t->way[i].used = false;
}

static int poll_send(struct weft_transport *t, struct weft_transport_event *events, int most)
{
    int count = 0;

    for (uint32_t n = draw(4), i = draw(BUFFERS); n > 0 && count < most; n--, i = draw(BUFFERS))
        if (t->way[i].used) {
            send_now(t, i);
            events[count++] = (struct weft_transport_event){
                .kind = WEFT_EVENT_SENT, .process = 1, .count = 1, .value = i};
        }
    return count;
}

static int poll_receive(struct weft_transport *t, struct weft_transport_event *events, int most)
{
    (void)t, (void)events, (void)most;
    return 0;
}

static const struct weft_transport_ops ops = {.name = "gathers",
                                              .open = open_it,
                                              .close = close_it,
                                              .caps = caps,
                                              .connect = connect_it,
                                              .commit = commit,
                                              .gather = gather,
                                              .poll = {poll_send, poll_receive}};

static void sent(void *context, void *cookie)
{
    struct put *put = cookie;

    (void)context;
    assert_int_equal(put->sent++, 0);
    memset(put->source, 0xee, put->bytes);
    free(put->source);
}

static void delivered(void *context, void *cookie)
{
    struct put *put = cookie;

    (void)context;
    assert_true(put->sent == 1 && put->delivered++ == 0);
}

static void fill(struct put *put, size_t at)
{
    static const size_t lengths[] = {1, 8, 100, LEAST - 1, LEAST, LEAST + 1, TAKES - 56, TAKES};

    put->at = at;
    put->bytes = draw(2) == 0 ? lengths[draw(8)] : 1 + draw(MOST);
    put->source = malloc(put->bytes);
    assert_non_null(put->source);
    for (size_t i = 0; i < put->bytes; i++)
        put->source[i] = pattern(at + i);
}

static void arrives(void **state)
{
    static struct weft_config config;
    static struct weft_notice_kinds kinds;
    const struct weft_net_open open = {.config = &config,
                                       .processes = 2,
                                       .events = {.sent = sent, .delivered = delivered},
                                       .kinds = &kinds};
    _Alignas(8) unsigned char address[WEFT_NET_ADDRESS_MAX];
    bool did = false;

    (void)state;
    assert_int_equal(weft_config_load(&config, NULL, NULL), WEFT_OK);
    assert_int_equal(weft_net_open(&net, &ops, &open), WEFT_OK);
    weft_net_address(net, address);
    assert_int_equal(weft_net_connect(net, 1, address), WEFT_OK);
    size_t at = 0;
    for (int i = 0; i < PUTS; i++) {
        fill(&given[i], at);
        at += given[i].bytes;
        const struct weft_net_put put = {.process = 1,
                                         .offset = given[i].at,
                                         .source = given[i].source,
                                         .bytes = given[i].bytes,
                                         .cookie = &given[i]};
        for (int tries = 0; weft_net_put(net, &put) != WEFT_OK; tries++) {
            assert_true(tries < 10000);
            assert_int_equal(weft_net_progress(net, WEFT_NET_SEND, &did), WEFT_OK);
        }
    }
    for (int tries = 0; given[PUTS - 1].delivered == 0; tries++) {
        assert_true(tries < 10000);
        assert_int_equal(weft_net_progress(net, WEFT_NET_SEND, &did), WEFT_OK);
    }
    for (int i = 0; i < PUTS; i++)
        assert_true(given[i].sent == 1 && given[i].delivered == 1);
    for (size_t i = 0; i < at; i++)
        assert_int_equal(target[i], pattern(i));
    assert_true(weft_net_left(net) && gathered > PUTS && refused > PUTS / 2);
    weft_net_close(net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(arrives)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
