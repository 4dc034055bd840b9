/*
 * packets of the peer layer: what was made is what is parsed, for entries of all kinds and sizes;
 * each kind of damage is recognised, and a packet of somebody else's job is not ours.
 */
#include "net/peer/packet.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { PROCESSES = 3, MOST = 65536 };
static const uint64_t TOKEN = 77;

static _Alignas(8) unsigned char bytes[MOST];
static struct weft_entry made[WEFT_PACKET_ENTRIES], parsed[WEFT_PACKET_ENTRIES];
static struct weft_packet packet;

static uint32_t draw(uint32_t below)
{
    static uint32_t state = 1;

    state = state * 1664525u + 1013904223u;
    return (state >> 8) % below;
}

/* Any entry; `bytes` of data as they travel. */
static struct weft_entry any_entry(void)
{
    struct weft_entry e = {.notice = draw(3) == 0 ? 0 : draw(1u << 24) + 1,
                           .bytes = draw(4) == 0 ? 0 : draw(200) + 1,
                           .kind = (enum weft_entry_kind)draw(3),
                           .key = draw(1000),
                           .offset = draw(1000)};

    if (e.bytes == 0) {
        e = (struct weft_entry){.notice = e.notice};
    } else if (e.kind == WEFT_ENTRY_ROWS) {
        e.rows.rows = draw(5) + 1;
        e.rows.pitch = draw(20) + 20;
        e.bytes = (uint32_t)(sizeof(e.rows) + e.rows.rows * (draw(20) + 1));
    } else if (e.kind == WEFT_ENTRY_STAGED) {
        e.staged = draw(100000);
    }
    return e;
}

static void append(const struct weft_entry *e)
{
    const struct weft_entry_head head = weft_entry_pack(e);
    const size_t length = head.bytes == 0 ? 8 : WEFT_ENTRY_HEAD;
    unsigned char *at = bytes + packet.bytes;

    memcpy(at, &head, length);
    memset(at + length, packet.entries + 1, e->kind == WEFT_ENTRY_STAGED ? 8 : e->bytes);
    if (e->kind == WEFT_ENTRY_ROWS)
        memcpy(at + length, &e->rows, sizeof(e->rows));
    if (e->kind == WEFT_ENTRY_STAGED)
        memcpy(at + length, &e->staged, sizeof(e->staged));
    made[packet.entries++] = *e;
    packet.bytes += (uint32_t)weft_entry_room(e->kind, e->bytes);
}

static void make(uint32_t entries)
{
    packet = (struct weft_packet){.token = TOKEN,
                                  .process = (uint16_t)draw(PROCESSES),
                                  .kind = entries > 0 ? WEFT_PACKET_PUTS : WEFT_PACKET_ACK,
                                  .flags = (uint8_t)draw(2),
                                  .bytes = WEFT_PACKET_HEAD,
                                  .number = draw(1u << 24),
                                  .delivered = draw(1u << 24)};
    for (uint32_t i = 0; i < entries; i++) {
        const struct weft_entry e = any_entry();
        append(&e);
    }
    memcpy(bytes, &packet, sizeof(packet));
}

static enum weft_packet_parse parse(void)
{
    struct weft_packet head;
    const char *reason = NULL;
    const enum weft_packet_parse result =
        weft_packet_parse(bytes, packet.bytes, TOKEN, PROCESSES, &head, parsed, &reason);

    assert_int_equal(result == WEFT_PACKET_MALFORMED, reason != NULL);
    if (result == WEFT_PACKET_GOOD)
        assert_memory_equal(&head, bytes, sizeof(head));
    return result;
}

static void check_entry(const struct weft_entry *p, const struct weft_entry *m, unsigned char fill)
{
    const size_t rows = m->kind == WEFT_ENTRY_ROWS ? sizeof(m->rows) : 0;

    assert_int_equal(p->notice, m->notice);
    assert_int_equal(p->kind, m->kind);
    assert_int_equal(p->bytes, m->bytes - rows);
    assert_int_equal(p->key, m->key);
    assert_int_equal(p->offset, m->offset);
    if (m->kind == WEFT_ENTRY_STAGED)
        assert_int_equal(p->staged, m->staged);
    if (m->kind == WEFT_ENTRY_ROWS)
        assert_memory_equal(&p->rows, &m->rows, sizeof(p->rows));
    assert_int_equal(p->data != NULL, m->bytes != 0 && m->kind != WEFT_ENTRY_STAGED);
    for (uint32_t i = 0; p->data != NULL && i < p->bytes; i++)
        assert_int_equal(p->data[i], fill);
}

static void test_same(void **state)
{
    (void)state;
    for (int round = 0; round < 2000; round++) {
        make(draw(round % 100 == 0 ? WEFT_PACKET_ENTRIES / 4 : 8));
        assert_int_equal(parse(), WEFT_PACKET_GOOD);
        for (uint32_t i = 0; i < packet.entries; i++)
            check_entry(&parsed[i], &made[i], (unsigned char)(i + 1));
    }
}

/* A notice alone takes 8 bytes, so the most entries fit in little. */
static void test_most(void **state)
{
    const struct weft_entry notice = {.notice = 1};

    (void)state;
    make(0);
    packet.kind = WEFT_PACKET_PUTS;
    for (int i = 0; i < WEFT_PACKET_ENTRIES; i++)
        append(&notice);
    memcpy(bytes, &packet, sizeof(packet));
    assert_int_equal(packet.bytes, WEFT_PACKET_HEAD + 8 * WEFT_PACKET_ENTRIES);
    assert_int_equal(parse(), WEFT_PACKET_GOOD);
    memset(bytes + packet.bytes, 1, 4);
    memset(bytes + packet.bytes + 4, 0, 4);
    packet.bytes += 8;
    packet.entries++;
    memcpy(bytes, &packet, sizeof(packet));
    assert_int_equal(parse(), WEFT_PACKET_MALFORMED);
}

static void test_cut(void **state)
{
    (void)state;
    for (int round = 0; round < 200; round++) {
        make(draw(4) + 1);
        const uint32_t all = packet.bytes;
        for (packet.bytes = 0; packet.bytes < all; packet.bytes++) {
            memcpy(bytes + offsetof(struct weft_packet, bytes), &packet.bytes, 4);
            assert_int_not_equal(parse(), WEFT_PACKET_GOOD);
        }
    }
}

static void spoil(size_t at, uint64_t value, size_t size, enum weft_packet_parse want)
{
    unsigned char good[8];

    memcpy(good, bytes + at, size);
    memcpy(bytes + at, &value, size);
    assert_int_equal(parse(), want);
    memcpy(bytes + at, good, size);
    assert_int_equal(parse(), WEFT_PACKET_GOOD);
}

static void test_spoilt(void **state)
{
    const struct weft_entry data = {.notice = 1, .bytes = 24, .key = 3, .offset = 5};
    const struct weft_entry rows = {.bytes = sizeof(struct weft_entry_rows) + 8,
                                    .kind = WEFT_ENTRY_ROWS,
                                    .rows = {.pitch = 9, .rows = 4}};
    const size_t entry = WEFT_PACKET_HEAD, second = entry + WEFT_ENTRY_HEAD + 24;

    (void)state;
    make(0);
    spoil(offsetof(struct weft_packet, entries), 1, 2, WEFT_PACKET_MALFORMED);
    packet.kind = WEFT_PACKET_PUTS;
    append(&data);
    append(&rows);
    memcpy(bytes, &packet, sizeof(packet));
    assert_int_equal(parse(), WEFT_PACKET_GOOD);
    spoil(0, TOKEN + 1, 8, WEFT_PACKET_STRANGER);
    spoil(offsetof(struct weft_packet, process), PROCESSES, 2, WEFT_PACKET_MALFORMED);
    spoil(offsetof(struct weft_packet, kind), 0, 1, WEFT_PACKET_MALFORMED);
    spoil(offsetof(struct weft_packet, kind), WEFT_PACKET_ACK, 1, WEFT_PACKET_MALFORMED);
    spoil(offsetof(struct weft_packet, bytes), packet.bytes + 8, 4, WEFT_PACKET_MALFORMED);
    for (uint64_t count = 0; count < 5; count++)
        if (count != packet.entries)
            spoil(offsetof(struct weft_packet, entries), count, 2, WEFT_PACKET_MALFORMED);
    spoil(entry + 4, 16, 4, WEFT_PACKET_MALFORMED);                   /* shorter data */
    spoil(entry + 4, 24 | 3u << 28, 4, WEFT_PACKET_MALFORMED);        /* of no kind */
    spoil(entry + 16, UINT64_MAX - 20, 8, WEFT_PACKET_MALFORMED);     /* the offset wraps */
    spoil(second + WEFT_ENTRY_HEAD, 1, 8, WEFT_PACKET_MALFORMED);     /* rows that overlap */
    spoil(second + WEFT_ENTRY_HEAD + 8, 3, 8, WEFT_PACKET_MALFORMED); /* not its data */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same),
        cmocka_unit_test(test_most),
        cmocka_unit_test(test_cut),
        cmocka_unit_test(test_spoilt),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
