/*
 * The ring of frames: at its smallest size and a larger one, from near the wrap of its indexes,
 * full and empty, every length of payload, near and far; and a producer that writes what cannot be.
 */
#include "ring/mail.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

enum { STEPS = 3000 };

struct ring {
    struct weft_mail_ring *memory;
    struct weft_mail_end out;
    struct weft_mail_end in;
    uint32_t sent, taken;
    uint32_t near; /* of those taken */
};

static void ring_open(struct ring *r, uint32_t size, uint32_t start)
{
    *r = (struct ring){.memory = aligned_alloc(64, (weft_mail_ring_bytes(size) + 63) / 64 * 64)};
    assert_non_null(r->memory);
    memset(r->memory, 0, weft_mail_ring_bytes(size));
    weft_mail_ring_init(r->memory, size, start);
    weft_mail_open(&r->out, r->memory, size, start);
    weft_mail_open(&r->in, r->memory, size, start);
}

/* Of the n-th frame; every other one is short, of each size that fits the line and one more. */
static uint16_t count_of(uint32_t number, uint32_t size)
{
    if (number % 2 != 0)
        return (uint16_t)(number / 2 % (WEFT_MAIL_WITHIN + 2));
    return (uint16_t)(number * 2654435761u >> 7) % (weft_mail_most(size) + 1);
}

static bool push(struct ring *r, uint32_t size)
{
    static unsigned char payload[UINT16_MAX];
    const uint16_t count = count_of(r->sent, size);
    const struct weft_mail_text text = {.request = r->sent, .tag = (int32_t)(r->sent & 0xffff)};

    for (uint32_t i = 0; i < count; i++)
        payload[i] = (unsigned char)(r->sent * 31 + i * 7);
    if (!weft_mail_push(&r->out, (struct weft_mail_head){.count = count, .kind = WEFT_MAIL_EAGER},
                        &text, payload))
        return false;
    r->sent++;
    return true;
}

static bool take(struct ring *r, uint32_t size)
{
    struct weft_mail_head head;
    struct weft_mail_text text;
    const unsigned char *payload;
    const enum weft_mail_result result = weft_mail_peek(&r->in, &head, &text, &payload);

    if (result == WEFT_MAIL_NONE) {
        weft_mail_release(&r->in);
        return false;
    }
    assert_int_equal(result, WEFT_MAIL_READY);
    assert_int_equal(text.request, r->taken);
    assert_int_equal(head.count, count_of(r->taken, size));
    for (uint32_t i = 0; i < head.count; i++)
        if (payload[i] != (unsigned char)(r->taken * 31 + i * 7))
            fail_msg("frame %u: byte %u of %u", r->taken, i, head.count);
    r->near += (head.flags & WEFT_MAIL_IS_NEAR) != 0;
    weft_mail_pass(&r->in);
    r->taken++;
    return true;
}

/* Random turns; full when nothing is taken, empty when all is. */
static void exchange(uint32_t size, uint32_t start)
{
    uint64_t random = size ^ start;
    struct ring r;

    ring_open(&r, size, start);
    while (r.taken < STEPS) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        for (uint64_t i = random >> 60; i-- > 0 && push(&r, size);)
            continue;
        for (uint64_t i = random >> 56 & 15; i-- > 0 && take(&r, size);)
            continue;
    }
    while (take(&r, size))
        continue;
    assert_int_equal(r.sent, r.taken);
    while (push(&r, size))
        continue;
    while (take(&r, size))
        continue;
    assert_int_equal(r.sent, r.taken);
    assert_in_range(r.near, STEPS / 64, STEPS - STEPS / 64);
    free(r.memory);
}

static void test_exchange(void **state)
{
    static const uint32_t sizes[] = {WEFT_MAIL_LEAST, 4096, 262144};
    static const uint32_t starts[] = {0, 1, UINT32_MAX, UINT32_MAX - 5, UINT32_MAX - 3000};

    (void)state;
    for (size_t s = 0; s < 3; s++)
        for (size_t i = 0; i < 5; i++)
            exchange(sizes[s], starts[i]);
}

/* More payload than a frame may have: far, and more than there is near. */
static void test_broken(void **state)
{
    struct weft_mail_head head = {.count = 4096 / 2 + 1, .kind = WEFT_MAIL_EAGER};
    struct weft_mail_text text;
    const unsigned char *payload;
    struct ring r;

    (void)state;
    ring_open(&r, 4096, 0);
    assert_int_equal(weft_mail_peek(&r.in, &head, &text, &payload), WEFT_MAIL_NONE);
    r.memory->line[0].commit = weft_mail_commit(head, 2); /* not this lap's */
    assert_int_equal(weft_mail_peek(&r.in, &head, &text, &payload), WEFT_MAIL_NONE);
    head = (struct weft_mail_head){.count = 4096 / 2 + 1, .kind = WEFT_MAIL_EAGER};
    r.memory->line[0].commit = weft_mail_commit(head, 1);
    assert_int_equal(weft_mail_peek(&r.in, &head, &text, &payload), WEFT_MAIL_BROKEN);
    head.flags = WEFT_MAIL_IS_NEAR;
    r.memory->line[0].commit = weft_mail_commit(head, 1);
    assert_int_equal(weft_mail_peek(&r.in, &head, &text, &payload), WEFT_MAIL_READY);
    head.count = 4096 + 1;
    r.memory->line[0].commit = weft_mail_commit(head, 1);
    assert_int_equal(weft_mail_peek(&r.in, &head, &text, &payload), WEFT_MAIL_BROKEN);
    free(r.memory);
}

/* A short payload is copied whole, and nothing beside it is written. */
static void test_short(void **state)
{
    unsigned char from[WEFT_MAIL_WITHIN], into[WEFT_MAIL_WITHIN + 2];

    (void)state;
    for (uint32_t i = 0; i < sizeof(from); i++)
        from[i] = (unsigned char)(i + 1);
    for (uint32_t bytes = 0; bytes <= sizeof(from); bytes++) {
        memset(into, 0xee, sizeof(into));
        weft_mail_copy(into + 1, from, bytes);
        assert_memory_equal(into + 1, from, bytes);
        assert_int_equal(into[0], 0xee);
        for (uint32_t i = bytes + 1; i < sizeof(into); i++)
            assert_int_equal(into[i], 0xee);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {cmocka_unit_test(test_exchange),
                                              cmocka_unit_test(test_broken),
                                              cmocka_unit_test(test_short)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
