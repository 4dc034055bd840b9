/* Tasks inherit their starter's slot; locks exclude; a bell wakes, times out and can be declined.
 */
#include "base/task.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { TASKS = 4, TURNS = 20000 };

static void add_slot(void *argument)
{
    int *sum = *weft_task_local();
    __atomic_fetch_add(sum, *(int *)argument, __ATOMIC_RELAXED);
    *weft_task_local() = NULL; /* its own slot: the starter keeps its value */
}

static void slots_are_inherited(void **state)
{
    struct weft_task tasks[TASKS];
    int sum = 0, value = 10;
    (void)state;

    *weft_task_local() = &sum;
    for (int i = 0; i < TASKS; i++)
        assert_int_equal(weft_task_start(&tasks[i], "slot", add_slot, &value), WEFT_OK);
    for (int i = 0; i < TASKS; i++)
        weft_task_join(&tasks[i]);
    assert_ptr_equal(*weft_task_local(), &sum);
    assert_int_equal(sum, 10 * TASKS);
    *weft_task_local() = NULL;
}

static struct weft_lock lock;
static long guarded;

static void count(void *argument)
{
    (void)argument;
    for (int i = 0; i < TURNS; i++) {
        weft_lock(&lock);
        long seen = guarded;
        if (i % 64 == 0)
            weft_task_yield(false);
        guarded = seen + 1;
        weft_unlock(&lock);
    }
}

static void locks_exclude(void **state)
{
    struct weft_task tasks[TASKS];
    (void)state;

    for (int i = 0; i < TASKS; i++)
        assert_int_equal(weft_task_start(&tasks[i], "a name of more than 15", count, NULL),
                         WEFT_OK);
    for (int i = 0; i < TASKS; i++)
        weft_task_join(&tasks[i]);
    assert_int_equal(guarded, (long)TASKS * TURNS);
    assert_int_equal(lock.word, 0);
}

static void a_sleep_ends_by_itself(void **state)
{
    struct weft_bell bell = {0};
    (void)state;

    const uint64_t start = weft_now_ns();
    while (weft_now_ns() - start < 5000000) /* a sleep may end early */
        weft_bell_sleep(&bell, weft_bell_prepare(&bell), 5000000);
    assert_int_equal(bell.sleepers, 0);
}

static void a_stale_ticket_does_not_sleep(void **state)
{
    struct weft_bell bell = {0};
    (void)state;

    const uint64_t start = weft_now_ns();
    const uint32_t ticket = weft_bell_prepare(&bell);
    weft_bell_ring(&bell);
    weft_bell_sleep(&bell, ticket, UINT64_C(3600) * 1000000000);
    assert_true(weft_now_ns() - start < UINT64_C(600) * 1000000000);
    assert_int_equal(bell.sleepers, 0);
}

static void ringing_alone_changes_nothing(void **state)
{
    struct weft_bell bell = {0};
    (void)state;

    weft_bell_ring(&bell);
    assert_int_equal(bell.rung, 0);
    weft_bell_prepare(&bell);
    weft_bell_cancel(&bell);
    weft_bell_ring(&bell);
    assert_int_equal(bell.rung, 0);
    assert_int_equal(bell.sleepers, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slots_are_inherited),
        cmocka_unit_test(locks_exclude),
        cmocka_unit_test(a_sleep_ends_by_itself),
        cmocka_unit_test(a_stale_ticket_does_not_sleep),
        cmocka_unit_test(ringing_alone_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
