/* Random mode's tasks: start, join, exit, locks, fairness, virtual time, quiet. */
#include "model_tasks.h"

#include <string.h>

/* A child sees what its parent did, a parent what its joined child did; exit ends at any depth. */
static unsigned char bytes[64];
static bool wrong_in_child; /* cmocka cannot fail a test from a fiber */

static void __attribute__((noreturn)) store_and_exit(void)
{
    for (size_t i = 0; i < sizeof(bytes); i += 4)
        weft_write_shared(bytes + i, "\2\2\2\2", 4);
    weft_model->exit();
}

static void child(void *argument)
{
    unsigned char seen[sizeof(bytes)];

    wrong_in_child |= *weft_task_local() != argument;
    *weft_task_local() = NULL;
    weft_read_shared(seen, bytes, sizeof(bytes));
    for (size_t i = 0; i < sizeof(bytes); i++)
        wrong_in_child |= seen[i] != 1;
    store_and_exit();
}

static void start_and_join_order_everything(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        unsigned char ones[sizeof(bytes)];
        struct weft_task task;
        begin(seed);
        *weft_task_local() = &task;
        memset(ones, 1, sizeof(ones));
        weft_write_shared(bytes, ones, sizeof(ones));
        assert_int_equal(weft_task_start(&task, "child", child, &task), WEFT_OK);
        weft_task_join(&task);
        assert_false(wrong_in_child);
        assert_ptr_equal(*weft_task_local(), &task);
        for (size_t i = 0; i < sizeof(bytes); i++)
            assert_int_equal(bytes[i], 2);
        weft_random_end();
        assert_int_equal(races, 0);
    }
}

/* What a task held back when it ended arrives although nobody joins it before the end. */
static void store_and_end(void *argument)
{
    (void)argument;
    weft_store_relaxed_u32(&word, 1);
    weft_add_relaxed_u32(&ended, 1);
}

static void stores_outlive_their_task(void **state)
{
    int late = 0;
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct weft_task task;
        begin(seed);
        assert_int_equal(weft_task_start(&task, "task", store_and_end, NULL), WEFT_OK);
        while (weft_load_relaxed_u32(&ended) == 0)
            weft_task_yield(true);
        late += word == 0;
        while (weft_load_relaxed_u32(&word) == 0) /* arrives in the end */
            weft_task_yield(true);
        weft_random_end();
    }
    assert_true(late > 0);
}

/* Locks exclude, order, and are all that makes this free of races. */
static struct weft_lock lock;
static uint32_t guarded;

static void count_locked(void *argument)
{
    const bool *locked = argument;

    for (int i = 0; i < 5; i++) {
        uint32_t value;
        if (*locked)
            weft_lock(&lock);
        weft_read_shared(&value, &guarded, sizeof(value));
        value++;
        weft_write_shared(&guarded, &value, sizeof(value));
        if (*locked)
            weft_unlock(&lock);
    }
}

static void locks_exclude_and_order(void **state)
{
    int wrong = 0;
    (void)state;
    for (uint64_t seed = 0; seed < 2 * SEEDS; seed++) {
        struct weft_task tasks[TASKS];
        bool locked = seed < SEEDS;
        begin(seed);
        guarded = 0;
        start_all(tasks, TASKS, count_locked, &locked);
        join_all(tasks, TASKS);
        weft_random_end();
        assert_int_equal(races, locked ? 0 : 1);
        if (locked)
            assert_int_equal(guarded, 5 * TASKS);
        wrong += guarded != 5 * TASKS;
    }
    assert_true(wrong > 0);
}

/* Every task gets its turn, even beside one that polls without ever yielding. */
static void poll_only(void *argument)
{
    (void)argument;
    while (weft_load_relaxed_u32(&word) != TASKS - 1)
        ;
}

static void all_tasks_get_turns(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct weft_task tasks[TASKS];
        begin(seed);
        start_all(tasks, 1, poll_only, NULL);
        start_all(tasks + 1, TASKS - 1, add_one, NULL);
        join_all(tasks, TASKS);
        weft_random_end();
    }
}

/* Tasks that wait for each other: quiet, and time runs, but not while anyone has work. */
static void deadlock_is_quiet(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct weft_task tasks[TASKS];
        begin(seed);
        start_all(tasks, TASKS, wait_for_word, NULL);
        for (uint32_t i = 0; i < 1200; i++) { /* the root works: no deadlock */
            assert_false(weft_model->quiet());
            if (i < 600)
                weft_store_relaxed_u32(&guarded, i);
            else
                weft_add_relaxed_u32(&guarded, 1);
            weft_task_yield(true);
        }
        const uint64_t start = weft_now_ns();
        assert_true(start < 100000000);
        while (!weft_model->quiet())
            weft_task_yield(true);
        assert_true(weft_now_ns() - start > 1000000000); /* timeouts of a second have fired */
        weft_store_release_u32(&word, 1, ORDER_ring_publish);
        assert_false(weft_model->quiet());
        join_all(tasks, TASKS);
        weft_random_end();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(start_and_join_order_everything),
        cmocka_unit_test(stores_outlive_their_task),
        cmocka_unit_test(locks_exclude_and_order),
        cmocka_unit_test(all_tasks_get_turns),
        cmocka_unit_test(deadlock_is_quiet),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
