/*
 * model_tasks.h - starts tasks in random mode, and counts races, for the tests of its tasks.
 */
#ifndef WEFT_TESTS_MODEL_TASKS_H
#define WEFT_TESTS_MODEL_TASKS_H

#include "base/task.h"
#include "device/cpu/random/random.h"
#include "order/atomic.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

enum { SEEDS = 300, TASKS = 8 };

static uint32_t word, ended;
static int races;

static inline void on_race(const char *text, void *argument)
{
    (void)argument;
    (void)text;
    races++;
}

static inline void begin(uint64_t seed)
{
    word = ended = 0;
    races = 0;
    assert_int_equal(weft_random_begin(seed), WEFT_OK);
    weft_random_on_race(on_race, NULL);
}

static inline void start_all(struct weft_task *tasks, int count, void (*run)(void *),
                             void *argument)
{
    for (int i = 0; i < count; i++) {
        char name[24];
        snprintf(name, sizeof(name), "task %d", i);
        assert_int_equal(weft_task_start(&tasks[i], name, run, argument), WEFT_OK);
    }
}

static inline void join_all(struct weft_task *tasks, int count)
{
    for (int i = 0; i < count; i++)
        weft_task_join(&tasks[i]);
}

static inline void add_one(void *argument)
{
    (void)argument;
    weft_add_relaxed_u32(&word, 1);
}

static inline void wait_for_word(void *argument)
{
    (void)argument;
    while (weft_load_acquire_u32(&word, ORDER_ring_poll) == 0)
        weft_task_yield(true);
}

#endif
