/*
 * The device memory of tables: how much a kernel of many GPUs takes, and its arena, which lends
 * ranges of all sizes out of several blocks.
 */
#include "base/config.h"
#include "runtime/space/image.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static size_t setting(enum weft_config_index row)
{
    return strtoull(weft_config_rows[row].def, NULL, 10);
}

static struct weft_image_numbers job_of(size_t gpus, size_t ranks)
{
    return (struct weft_image_numbers){.ranks = gpus * ranks,
                                       .here = ranks,
                                       .processes = gpus,
                                       .windows = 2 * setting(WEFT_CONFIG_AT_WINDOWS) + 1,
                                       .comms = 2 * setting(WEFT_CONFIG_AT_COMMS) + 1,
                                       .room = setting(WEFT_CONFIG_AT_TABLES)};
}

/* The communicators that exist and four windows of all ranks fit without growing. */
static size_t bytes_of(size_t gpus, size_t ranks)
{
    const struct weft_image_numbers n = job_of(gpus, ranks);
    const struct weft_image_layout at = weft_image_lay_out(&n);
    struct weft_arena arena = {0};
    unsigned char *memory = malloc(at.bytes);

    assert_non_null(memory);
    assert_int_equal(weft_arena_add(&arena, memory + at.room, at.bytes - at.room), WEFT_OK);
    assert_non_null(weft_arena_take(&arena, weft_image_comm_bytes(&n, n.ranks)));
    assert_non_null(weft_arena_take(&arena, weft_image_comm_bytes(&n, n.here)));
    for (int i = 0; i < 4; i++)
        assert_non_null(weft_arena_take(&arena, weft_image_window_bytes(n.ranks)));
    printf("%zu GPUs of %zu ranks, 4 windows: %zu bytes of tables a GPU, %zu of them taken\n", gpus,
           ranks, at.bytes, at.room + arena.taken);
    weft_arena_clear(&arena);
    free(memory);
    return at.bytes;
}

static void is_small(void **state)
{
    (void)state;
    assert_true(bytes_of(1, 132) <= 2 << 20);
    assert_true(bytes_of(64, 132) <= 2 << 20);
    assert_true(bytes_of(1000, 132) <= 32 << 20);
}

static unsigned char blocks[2][1024];

/* Ranges are apart, and of no bytes, too; what comes back is joined, but not across blocks. */
static void lends_and_joins(void **state)
{
    struct weft_arena arena = {0};
    unsigned char *got[16];

    (void)state;
    assert_null(weft_arena_take(&arena, 1));
    assert_int_equal(weft_arena_add(&arena, blocks[0], sizeof(blocks[0])), WEFT_OK);
    for (size_t i = 0; i < 16; i++) {
        got[i] = weft_arena_take(&arena, i * 4);
        assert_ptr_equal(got[i], blocks[0] + i * WEFT_ARENA_UNIT);
    }
    assert_int_equal(arena.taken, arena.bytes);
    assert_null(weft_arena_take(&arena, 0));
    weft_arena_give(&arena, NULL);
    assert_int_equal(arena.taken, arena.bytes);
    for (size_t i = 0; i < 16; i += 2)
        weft_arena_give(&arena, got[i]);
    assert_null(weft_arena_take(&arena, WEFT_ARENA_UNIT + 1)); /* holes of one unit each */
    assert_ptr_equal(weft_arena_take(&arena, WEFT_ARENA_UNIT), got[0]);
    weft_arena_give(&arena, got[5]); /* with a hole on each side */
    assert_ptr_equal(weft_arena_take(&arena, 3 * WEFT_ARENA_UNIT), got[4]);
    assert_int_equal(weft_arena_add(&arena, blocks[1], sizeof(blocks[1])), WEFT_OK);
    for (size_t i = 0; i < 16; i++)
        if (i != 5 && i != 6)
            weft_arena_give(&arena, got[i]);
    assert_int_equal(arena.taken, 0);
    assert_null(weft_arena_take(&arena, sizeof(blocks[0]) + 1)); /* the blocks are neighbours */
    assert_non_null(weft_arena_take(&arena, sizeof(blocks[0])));
    assert_non_null(weft_arena_take(&arena, sizeof(blocks[0])));
    weft_arena_clear(&arena);
    assert_int_equal(arena.bytes, 0);
}

/* Any order of taking and giving: no two ranges touch the same byte, and all comes back. */
static void random_ranges(void **state)
{
    enum { LIVE = 24, STEPS = 100000 };
    struct {
        unsigned char *at;
        size_t bytes;
    } live[LIVE] = {0};
    struct weft_arena arena = {0};
    uint32_t random = 1, refused = 0;

    (void)state;
    for (int b = 0; b < 2; b++)
        assert_int_equal(weft_arena_add(&arena, blocks[b], sizeof(blocks[b])), WEFT_OK);
    for (int step = 0; step < STEPS; step++) {
        random = random * 1664525 + 1013904223;
        const size_t i = (random >> 16) % LIVE;
        for (size_t b = 0; b < live[i].bytes; b++)
            assert_int_equal(live[i].at[b], i);
        weft_arena_give(&arena, live[i].at);
        live[i].bytes = (random >> 8) % 250;
        live[i].at = weft_arena_take(&arena, live[i].bytes);
        refused += live[i].at == NULL;
        if (live[i].at == NULL)
            live[i].bytes = 0;
        for (size_t b = 0; b < live[i].bytes; b++)
            live[i].at[b] = (unsigned char)i;
    }
    assert_true(refused > STEPS / 100 && refused < STEPS);
    for (size_t i = 0; i < LIVE; i++)
        weft_arena_give(&arena, live[i].at);
    assert_int_equal(arena.taken, 0);
    for (int b = 0; b < 2; b++)
        assert_non_null(weft_arena_take(&arena, sizeof(blocks[b])));
    weft_arena_clear(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(is_small),
                                       cmocka_unit_test(lends_and_joins),
                                       cmocka_unit_test(random_ranges)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
