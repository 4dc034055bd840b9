/*
 * Random mode's runs: the same seed gives the same run; places, stacks and errors of tasks; and
 * what is said when it is misused.
 */
#include "model_tasks.h"

#include "base/say.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool wrong_in_child; /* cmocka cannot fail a test from a fiber */

/* The order of all events, as a hash; the memory's addresses differ from run to run. */
static uint64_t trace;

static void note(uint64_t event)
{
    trace = (trace ^ event) * UINT64_C(0x100000001b3);
}

struct shared {
    struct shared *next;
    uint32_t flag, data[8];
};

static void mix(void *argument)
{
    struct shared *shared = argument;
    const uint64_t me = weft_add_release_u32(&shared->flag, 1, ORDER_count_add_local);

    for (uint32_t i = 0; i < 20; i++) {
        uint32_t value = i;
        weft_store_relaxed_u32(&shared->data[(me + i) % 8], (uint32_t)me << 8 | i);
        note(me << 32 | weft_load_relaxed_u32(&shared->data[i % 8]));
        weft_write_shared(&shared->next->data[me % 4], &value, sizeof(value));
        if (i % 5 == 0)
            weft_task_yield(i % 2 == 0);
    }
    note(weft_now_ns());
}

static uint64_t trace_of(uint64_t seed, size_t hole)
{
    struct weft_task tasks[TASKS];
    struct shared *a = calloc(1, sizeof(*a)), *gap = malloc(hole), *b = calloc(1, sizeof(*b));

    assert_true(a != NULL && b != NULL && gap != NULL);
    a->next = b;
    b->next = a;
    trace = 1;
    begin(seed);
    start_all(tasks, TASKS / 2, mix, a);
    start_all(tasks + TASKS / 2, TASKS / 2, mix, b);
    join_all(tasks, TASKS);
    weft_random_end();
    note((uint64_t)races);
    free(a);
    free(b);
    free(gap);
    return trace;
}

static void runs_are_repeatable(void **state)
{
    uint64_t seen[SEEDS];
    int same = 0;
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        seen[seed] = trace_of(seed, 16);
        assert_int_equal(trace_of(seed, 4096 + 24 * seed), seen[seed]);
        for (uint64_t other = 0; other < seed; other++)
            same += seen[other] == seen[seed];
    }
    assert_int_equal(same, 0);
}

/* More tasks than there are places, one after the other; too many at once are refused. */
static void places_are_used_again(void **state)
{
    enum { MANY = 1023 };
    static struct weft_task tasks[MANY + 1];
    (void)state;

    begin(1);
    for (int i = 0; i < 3 * MANY; i++) {
        start_all(tasks, 1, add_one, NULL);
        join_all(tasks, 1);
    }
    assert_int_equal(word, 3 * MANY);
    start_all(tasks, MANY, wait_for_word, NULL);
    assert_int_equal(weft_task_start(&tasks[MANY], "one more", wait_for_word, NULL),
                     WEFT_ERR_SYSTEM);
    join_all(tasks, MANY);
    weft_random_end();
}

static void misuse_is_said(void **state)
{
    struct weft_task task;
    (void)state;

    begin(1);
    assert_int_equal(weft_random_begin(2), WEFT_ERR_STATE);
    start_all(&task, 1, wait_for_word, NULL);
    weft_random_end(); /* drops the task */
    assert_non_null(strstr(weft_err_last(), "task 0 still runs"));
    assert_null(weft_model);
}

static void touch_stack(void *argument)
{
    const size_t size = *(const size_t *)argument;
    volatile unsigned char *stack = __builtin_alloca(size);

    for (size_t i = 0; i < size; i += 1024)
        stack[i] = 1;
}

static void stacks_are_as_large_as_asked_for(void **state)
{
    size_t size = 7 << 20;
    struct weft_task task;

    (void)state;
    begin(1);
    weft_random_stack(8 << 20);
    start_all(&task, 1, touch_stack, &size);
    weft_task_join(&task);
    weft_random_stack(4096); /* never less than a megabyte */
    size = 1 << 19;
    start_all(&task, 1, touch_stack, &size);
    weft_task_join(&task);
    weft_random_end();
}

/* Each task speaks for its own process, and keeps its own last error. */
static void speak(void *argument)
{
    const int process = *(const int *)argument;
    char text[32];

    wrong_in_child |= weft_err_last()[0] != 0;
    weft_say_process(process);
    for (int i = 0; i < 5; i++) {
        snprintf(text, sizeof(text), "from %d", process);
        weft_err_say(WEFT_ERR_USER, "%s", text);
        weft_task_yield(false);
        wrong_in_child |= strcmp(weft_err_last(), text) != 0;
    }
}

static void tasks_speak_for_themselves(void **state)
{
    int process[2] = {4, 7}, ends[2], lines[2] = {0};
    struct weft_task tasks[2];
    char text[4096];

    (void)state;
    wrong_in_child = false;
    assert_int_equal(pipe(ends), 0);
    const int stderr_was = dup(STDERR_FILENO);
    assert_int_equal(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
    begin(3);
    for (int i = 0; i < 2; i++)
        start_all(&tasks[i], 1, speak, &process[i]);
    for (int i = 0; i < 2; i++)
        weft_task_join(&tasks[i]);
    weft_random_end();
    assert_int_equal(dup2(stderr_was, STDERR_FILENO), STDERR_FILENO);
    close(stderr_was);
    close(ends[1]);
    const ssize_t got = read(ends[0], text, sizeof(text) - 1);
    assert_true(got > 0);
    text[got] = 0;
    close(ends[0]);
    for (const char *at = text; (at = strstr(at, "weft: [p")) != NULL; at++)
        for (int i = 0; i < 2; i++) {
            char line[64];
            snprintf(line, sizeof(line), "weft: [p%d] WEFT_ERR_USER: from %d\n", process[i],
                     process[i]);
            lines[i] += strncmp(at, line, strlen(line)) == 0;
        }
    assert_int_equal(lines[0], 5);
    assert_int_equal(lines[1], 5);
    assert_false(wrong_in_child);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_are_repeatable),
        cmocka_unit_test(places_are_used_again),
        cmocka_unit_test(misuse_is_said),
        cmocka_unit_test(stacks_are_as_large_as_asked_for),
        cmocka_unit_test(tasks_speak_for_themselves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
