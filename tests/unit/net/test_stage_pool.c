/* The pool of host memory for puts: what it lends, to whom, and in which pieces. */
#include "net/staging.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

enum { UNIT = 32 << 10, UNITS = 8 };

static unsigned char memory[UNITS * UNIT];
static const struct weft_config config = {.stage_memory = sizeof(memory)};

static struct weft_stage *make(int processes)
{
    struct weft_stage *stage = weft_stage_make(&config, memory, processes);
    assert_non_null(stage);
    return stage;
}

/* All of it can be had, once; what was given back can be had again. */
static void lends_all(void **state)
{
    struct weft_stage *stage = make(2);
    unsigned char *got[UNITS];
    bool seen[UNITS] = {false};
    size_t room;

    (void)state;
    for (int i = 0; i < UNITS; i++) {
        got[i] = weft_stage_take(stage, 1, 0, 1000, &room);
        assert_non_null(got[i]);
        assert_int_equal(room, 1000);
        const size_t at = (size_t)(got[i] - memory);
        assert_true(at % UNIT == 0 && at / UNIT < UNITS && !seen[at / UNIT]);
        seen[at / UNIT] = true;
    }
    assert_null(weft_stage_take(stage, 1, 0, 1, &room));
    weft_stage_give(stage, 0, got[3], 1000);
    assert_ptr_equal(weft_stage_take(stage, 1, 1, UNIT, &room), got[3]);
    weft_stage_free(stage);
}

/* Less than was wanted, down to a quarter; below that it is worth waiting. */
static void lends_less(void **state)
{
    struct weft_stage *stage = make(2);
    size_t room;

    (void)state;
    unsigned char *first = weft_stage_take(stage, 1, 0, 5 * UNIT, &room);
    assert_ptr_equal(first, memory);
    assert_int_equal(room, 5 * UNIT);
    assert_ptr_equal(weft_stage_take(stage, 1, 0, 4 * UNIT, &room), memory + 5 * UNIT);
    assert_int_equal(room, 3 * UNIT);
    assert_null(weft_stage_take(stage, 1, 0, 5 * UNIT, &room));
    weft_stage_give(stage, 0, first, 5 * UNIT);
    assert_ptr_equal(weft_stage_take(stage, 1, 0, 5 * UNIT - 7, &room), memory);
    assert_int_equal(room, 5 * UNIT - 7);
    weft_stage_free(stage);
}

/* More than all of it is asked for: it comes in what there is. */
static void lends_to_the_greedy(void **state)
{
    struct weft_stage *stage = make(3);
    size_t room = 0;

    (void)state;
    assert_non_null(weft_stage_take(stage, 1, 0, sizeof(memory) * 64, &room));
    assert_true(room >= UNIT && room <= sizeof(memory) / 2);
    weft_stage_free(stage);
}

/* Who found no room gets the next, whoever asks before. */
static void hungry_is_next(void **state)
{
    struct weft_stage *stage = make(2);
    size_t room;

    (void)state;
    unsigned char *all = weft_stage_take(stage, 1, 0, sizeof(memory), &room);
    assert_int_equal(room, sizeof(memory));
    assert_null(weft_stage_take(stage, 7, 0, UNIT, &room));
    weft_stage_give(stage, 0, all, sizeof(memory));
    assert_null(weft_stage_take(stage, 1, 0, UNIT, &room));
    assert_null(weft_stage_take(stage, 2, 1, UNIT, &room));
    assert_non_null(weft_stage_take(stage, 7, 0, UNIT, &room));
    assert_non_null(weft_stage_take(stage, 1, 0, UNIT, &room));
    weft_stage_free(stage);
}

/* One process that takes nothing leaves half to the others, and keeps nobody waiting. */
static void stuck_process(void **state)
{
    struct weft_stage *stage = make(3);
    size_t room;

    (void)state;
    for (int i = 0; i < UNITS / 2; i++)
        assert_non_null(weft_stage_take(stage, 1, 1, UNIT, &room));
    assert_null(weft_stage_take(stage, 1, 1, UNIT, &room));
    assert_null(weft_stage_take(stage, 2, 1, UNIT, &room));
    for (int i = 0; i < UNITS / 2; i++)
        assert_non_null(weft_stage_take(stage, 3, 2, UNIT, &room));
    weft_stage_give(stage, 1, memory, UNIT);
    assert_null(weft_stage_take(stage, 2, 1, UNIT, &room)); /* slot 1 asked before */
    assert_ptr_equal(weft_stage_take(stage, 1, 1, UNIT, &room), memory);
    weft_stage_free(stage);
}

static void sizes(void **state)
{
    const struct weft_config by_default = {.stage_memory = 16 << 20};
    const struct weft_config set = {
        .stage_memory = 1 << 20, .stage_piece = 1 << 20, .stage_depth = 5};

    (void)state;
    assert_int_equal(weft_stage_piece(&by_default, (2 << 20) - 1), 512 << 10);
    assert_int_equal(weft_stage_piece(&by_default, 2 << 20), 1 << 20);
    assert_int_equal(weft_stage_depth(&by_default), 8);
    assert_int_equal(weft_stage_piece(&set, 4096), 512 << 10); /* half of the memory at most */
    assert_int_equal(weft_stage_depth(&set), 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lends_all),           cmocka_unit_test(lends_less),
        cmocka_unit_test(lends_to_the_greedy), cmocka_unit_test(hungry_is_next),
        cmocka_unit_test(stuck_process),       cmocka_unit_test(sizes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
