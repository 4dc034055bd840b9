/*
 * net/verbs/wire.h: bytes of other processes. What is whole is taken, each
 * thing that can be wrong is found, and whatever the bytes, what is taken holds what it promises.
 */
#include "net/verbs/wire.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { PROCESSES = 5, TOKEN = 0x1234567 };

static const struct weft_verbs_address good_address = {.magic = WEFT_VERBS_MAGIC,
                                                       .buffer = 8192,
                                                       .receives = 1024,
                                                       .control = 17,
                                                       .token = TOKEN,
                                                       .transport = WEFT_VERBS_RC,
                                                       .mtu = 5,
                                                       .ethernet = 1};

#define WRONG_ADDRESS(change)                                                                      \
    do {                                                                                           \
        struct weft_verbs_address a = good_address, parsed;                                        \
        change;                                                                                    \
        assert_non_null(weft_verbs_parse_address(&a, sizeof(a), &parsed));                         \
    } while (0)

static void addresses(void **state)
{
    struct weft_verbs_address out;

    (void)state;
    assert_null(weft_verbs_parse_address(&good_address, sizeof(good_address), &out));
    assert_memory_equal(&out, &good_address, sizeof(out));
    assert_non_null(weft_verbs_parse_address(&good_address, sizeof(good_address) - 1, &out));
    WRONG_ADDRESS(a.magic++);
    WRONG_ADDRESS(a.transport = 0);
    WRONG_ADDRESS(a.transport = WEFT_VERBS_DC); /* without targets */
    WRONG_ADDRESS((a.transport = WEFT_VERBS_DC, a.dct_data = 1, a.dct_control = 1u << 24));
    WRONG_ADDRESS(a.control = 0);
    WRONG_ADDRESS(a.control = 1u << 24);
    WRONG_ADDRESS(a.mtu = 0);
    WRONG_ADDRESS(a.mtu = 6);
    WRONG_ADDRESS(a.ethernet = 0); /* and no LID */
    WRONG_ADDRESS(a.ethernet = 2);
    WRONG_ADDRESS(a.words_atomically = 2);
    WRONG_ADDRESS(a.buffer = sizeof(struct weft_verbs_message));
    WRONG_ADDRESS(a.receives = 1);
}

static const struct weft_verbs_control good_control = {
    .kind = WEFT_VERBS_REPLY, .process = 4, .token = TOKEN, .qpn = 18, .to_qpn = 19, .psn = 20};

#define WRONG_CONTROL(change)                                                                      \
    do {                                                                                           \
        struct weft_verbs_control c = good_control, parsed;                                        \
        change;                                                                                    \
        assert_non_null(weft_verbs_parse_control(&c, sizeof(c), PROCESSES, TOKEN, &parsed));       \
    } while (0)

static void controls(void **state)
{
    struct weft_verbs_control out;
    unsigned char longer[sizeof(out) + 1] = {0};

    (void)state;
    assert_null(
        weft_verbs_parse_control(&good_control, sizeof(good_control), PROCESSES, TOKEN, &out));
    assert_memory_equal(&out, &good_control, sizeof(out));
    memcpy(longer, &good_control, sizeof(good_control));
    assert_non_null(weft_verbs_parse_control(longer, sizeof(longer), PROCESSES, TOKEN, &out));
    assert_non_null(weft_verbs_parse_control(longer, sizeof(out) - 1, PROCESSES, TOKEN, &out));
    assert_non_null(weft_verbs_parse_control(NULL, 0, PROCESSES, TOKEN, &out));
    WRONG_CONTROL(c.token ^= 1);
    WRONG_CONTROL(c.process = PROCESSES);
    WRONG_CONTROL(c.psn = 1u << 24);
    WRONG_CONTROL(c.qpn = 0);
    WRONG_CONTROL(c.to_qpn = 0);
    WRONG_CONTROL(c.qpn = 1u << 24);
    WRONG_CONTROL(c.kind = 0);
    WRONG_CONTROL(c.kind = WEFT_VERBS_REFUSED + 1);
}

static void messages(void **state)
{
    struct {
        struct weft_verbs_message head;
        unsigned char data[24];
    } m = {.head = {.kind = WEFT_VERBS_PUT, .process = 4, .bytes = 24}};
    struct weft_verbs_message out;

    (void)state;
    assert_null(weft_verbs_parse_message(&m, sizeof(m), PROCESSES, &out));
    assert_int_equal(out.bytes, 24);
    assert_non_null(weft_verbs_parse_message(&m, sizeof(m) - 1, PROCESSES, &out));
    assert_non_null(weft_verbs_parse_message(&m, sizeof(m.head) - 1, PROCESSES, &out));
    assert_non_null(weft_verbs_parse_message(&m, sizeof(m), 4, &out));
    m.head.bytes = 0xffffffff;
    assert_non_null(weft_verbs_parse_message(&m, sizeof(m), PROCESSES, &out));
    m.head.bytes = 24;
    m.head.kind = WEFT_VERBS_MARKER;
    assert_non_null(weft_verbs_parse_message(&m, sizeof(m), PROCESSES, &out));
    m.head.bytes = 0;
    assert_null(weft_verbs_parse_message(&m, sizeof(m.head), PROCESSES, &out));
    m.head.kind = 0;
    assert_non_null(weft_verbs_parse_message(&m, sizeof(m.head), PROCESSES, &out));
}

/* Good bytes with some of them changed, of any length: nothing is read or taken that is not there.
 */
static void anything(void **state)
{
    uint64_t random = 1;

    (void)state;
    for (int i = 0; i < 200000; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        const size_t bytes = (size_t)(random >> 33) % 80;
        unsigned char *memory = malloc(bytes + 1); /* of that size, so that a sanitizer watches */
        struct weft_verbs_address a;
        struct weft_verbs_control c;
        struct weft_verbs_message m;
        assert_non_null(memory);
        memset(memory, 0, bytes + 1);
        memcpy(memory, i % 2 == 0 ? (const void *)&good_control : (const void *)&good_address,
               bytes < sizeof(good_control) ? bytes : sizeof(good_control));
        for (int k = 0; k < i % 4 && bytes > 0; k++)
            memory[(random >> (7 * k)) % bytes] = (unsigned char)(random >> (5 * k));
        weft_verbs_parse_address(memory, bytes, &a);
        if (weft_verbs_parse_control(memory, bytes, PROCESSES, TOKEN, &c) == NULL)
            assert_true(c.process < PROCESSES && c.psn <= WEFT_VERBS_QPN_MOST);
        if (weft_verbs_parse_message(memory, bytes, PROCESSES, &m) == NULL)
            assert_true(m.process < PROCESSES && m.bytes + sizeof(m) == bytes);
        free(memory);
    }
}

/* A word that is being written, byte by byte in one direction, is never taken for a whole one. */
static void acknowledgements(void **state)
{
    (void)state;
    for (uint32_t i = 0, was = 0xfffffe00u; i < 60; i++, was += 37)
        for (uint32_t more = 1; more < 600; more += 7) {
            const uint64_t from = weft_verbs_ack(was), to = weft_verbs_ack(was + more);
            assert_true(weft_verbs_ack_whole(from) && weft_verbs_ack_whole(to));
            for (int bytes = 1; bytes < 8; bytes++) {
                const uint64_t low = ~0ull >> (64 - 8 * bytes);
                const uint64_t upwards = (to & low) | (from & ~low);
                const uint64_t downwards = (from & low) | (to & ~low);
                assert_true(upwards == from || upwards == to || !weft_verbs_ack_whole(upwards));
                assert_true(downwards == from || downwards == to ||
                            !weft_verbs_ack_whole(downwards));
            }
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses), cmocka_unit_test(controls),         cmocka_unit_test(messages),
        cmocka_unit_test(anything),  cmocka_unit_test(acknowledgements),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
