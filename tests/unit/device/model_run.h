/*
 * model_run.h - runs litmus programs in random mode over many seeds, and counts what went wrong.
 *
 * A correct program is never stale and never a race; with one label weakened, every run is reported
 * as a race, and some run goes visibly wrong.
 */
#ifndef WEFT_TESTS_MODEL_RUN_H
#define WEFT_TESTS_MODEL_RUN_H

#include "base/task.h"
#include "device/cpu/random/random.h"
#include "order/atomic.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

enum { SEEDS = 300, MOST = 4 };

/* What the tasks of one litmus program share, all zero at the start of each run. */
static struct {
    uint32_t flag, credit, x, y;
    uint64_t wide;
    unsigned char data[40];
    bool stale; /* the program saw what it must not see (or what only a weak machine shows) */
} s;

struct tally {
    int races, stale;
};

static int races;
static bool named; /* each message names both tasks */

static inline void on_race(const char *text, void *argument)
{
    (void)argument;
    named &= strstr(text, "race: task ") != NULL && strstr(text, "not ordered after task ") != NULL;
    races++;
}

/* Runs the tasks over all seeds, with one label weakened. */
static inline struct tally run(enum weft_order weakened, int tasks, void (*const *task)(void *))
{
    static const char *const names[MOST] = {"task 0", "task 1", "task 2", "task 3"};
    struct tally tally = {0, 0};

    named = true;
    weft_mutation = weakened;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct weft_task handle[MOST];
        memset(&s, 0, sizeof(s));
        races = 0;
        assert_int_equal(weft_random_begin(seed), WEFT_OK);
        weft_random_on_race(on_race, NULL);
        for (int i = 0; i < tasks; i++)
            assert_int_equal(weft_task_start(&handle[i], names[i], task[i], NULL), WEFT_OK);
        for (int i = 0; i < tasks; i++)
            weft_task_join(&handle[i]);
        weft_random_end();
        assert_true(races <= 1 && named);
        tally.races += races;
        tally.stale += s.stale;
    }
    weft_mutation = ORDER_none;
    return tally;
}

#define RUN(weakened, ...)                                                                         \
    run(weakened, (int)(sizeof((void (*[])(void *)){__VA_ARGS__}) / sizeof(void (*)(void *))),     \
        (void (*[])(void *)){__VA_ARGS__})

static inline void expect_good(struct tally tally)
{
    assert_int_equal(tally.races, 0);
    assert_int_equal(tally.stale, 0);
}

static inline void expect_caught(struct tally tally)
{
    assert_int_equal(tally.races, SEEDS);
    assert_true(tally.stale > 0);
}

static inline void put_data(unsigned char value)
{
    unsigned char bytes[sizeof(s.data) - 3];
    memset(bytes, value, sizeof(bytes));
    weft_write_shared(s.data + 1, bytes, sizeof(bytes)); /* neither end on a word */
}

static inline void look_for(unsigned char value)
{
    unsigned char bytes[sizeof(s.data) - 3];
    weft_read_shared(bytes, s.data + 1, sizeof(bytes));
    for (size_t i = 0; i < sizeof(bytes); i++)
        s.stale |= bytes[i] != value;
}

static inline void await(const uint32_t *word, uint32_t value, enum weft_order label)
{
    while (weft_load_acquire_u32(word, label) != value)
        weft_task_yield(true);
}

#endif
