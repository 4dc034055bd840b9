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

static const struct weft_verbs_address good_address = {
    .token = TOKEN, .control = 17, .target = 18, .lid = 3, .mtu = 5};

static void addresses(void **state)
{
    struct weft_verbs_address out, wrong = good_address;

    (void)state;
    assert_true(weft_verbs_parse_address(&good_address, &out));
    assert_memory_equal(&out, &good_address, sizeof(out));
    for (int mtu = 0; mtu < 256; mtu++) {
        wrong.mtu = (uint8_t)mtu;
        assert_int_equal(weft_verbs_parse_address(&wrong, &out), mtu >= 1 && mtu <= 5);
    }
}

static const struct weft_verbs_control good_control = {
    .kind = WEFT_VERBS_REPLY, .process = 4, .token = TOKEN, .qpn = 18, .psn = 20};

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
    WRONG_CONTROL(c.qpn = 1u << 24);
    WRONG_CONTROL(c.kind = 0);
    WRONG_CONTROL(c.kind = WEFT_VERBS_REPLY + 1);
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
        struct weft_verbs_control c;
        assert_non_null(memory);
        memset(memory, 0, bytes + 1);
        memcpy(memory, &good_control, bytes < sizeof(good_control) ? bytes : sizeof(good_control));
        for (int k = 0; k < i % 4 && bytes > 0; k++)
            memory[(random >> (7 * k)) % bytes] = (unsigned char)(random >> (5 * k));
        if (weft_verbs_parse_control(memory, bytes, PROCESSES, TOKEN, &c) == NULL)
            assert_true(c.process < PROCESSES && c.psn <= WEFT_VERBS_QPN_MOST);
        free(memory);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses),
        cmocka_unit_test(controls),
        cmocka_unit_test(anything),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
