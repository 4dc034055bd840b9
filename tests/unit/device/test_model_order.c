/*
 * Random mode's memory, by random programs: whoever acquires a ticket finds in memory, by plain
 * loads, all that its releaser knew when it released it, over any chain of tasks, words and locks.
 * Each task counts in a cell of its own; a ticket comes with a note of what its releaser knew.
 */
#include "base/task.h"
#include "device/cpu/random/random.h"
#include "order/atomic.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

enum { SEEDS = 200, TASKS = 6, WORDS = 3, STEPS = 60, TICKETS = TASKS * STEPS + 1 };

struct knowledge {
    uint32_t version[TASKS]; /* of each task's cell */
};

static struct {
    uint32_t cell[TASKS];
    uint64_t word[WORDS]; /* a ticket, or 0 */
    struct weft_lock lock;
    struct knowledge locked; /* of the last who held the lock */
} s;

/* Not part of the program under test: plain memory, outside the model. */
static struct knowledge notes[TICKETS];
static uint32_t tickets, wrong, chains;

struct task {
    uint32_t me, random;
    struct knowledge known, fenced;
};

static uint32_t draw(struct task *task, uint32_t n)
{
    task->random = task->random * 1664525 + 1013904223;
    return (task->random >> 16) % n;
}

static void bump(struct task *task)
{
    const uint32_t version = ++task->known.version[task->me];

    if (draw(task, 2) == 0)
        weft_write_shared(&s.cell[task->me], &version, sizeof(version));
    else
        weft_store_relaxed_u32(&s.cell[task->me], version);
}

static uint32_t ticket_for(const struct knowledge *knowledge)
{
    notes[++tickets] = *knowledge;
    return tickets;
}

static void release(struct task *task)
{
    uint64_t *word = &s.word[draw(task, WORDS)];

    if (draw(task, 2) == 0)
        weft_store_release_u64(word, ticket_for(&task->known), ORDER_ring_publish);
    else
        weft_store_relaxed_u64(word, ticket_for(&task->fenced));
}

static void fence(struct task *task)
{
    weft_fence_release(ORDER_fence);
    task->fenced = task->known;
}

/* The task knows this now; of its own cell only what came back to it is sure to be in memory. */
static void learn(struct task *task, const struct knowledge *more)
{
    for (uint32_t i = 0; i < TASKS; i++) {
        if (more->version[i] > task->known.version[i])
            task->known.version[i] = more->version[i];
        wrong += s.cell[i] < (i == task->me ? more : &task->known)->version[i];
        chains += i != task->me && more->version[i] > 0;
    }
}

static void acquire(struct task *task)
{
    const uint64_t ticket = weft_load_acquire_u64(&s.word[draw(task, WORDS)], ORDER_ring_poll);

    if (ticket != 0)
        learn(task, &notes[ticket]);
}

static void with_lock(struct task *task)
{
    weft_lock(&s.lock);
    learn(task, &s.locked);
    bump(task);
    s.locked = task->known;
    weft_unlock(&s.lock);
}

static void run_task(void *argument)
{
    static void (*const actions[])(struct task *) = {bump,    bump,    release, release,  fence,
                                                     acquire, acquire, acquire, with_lock};
    struct task *task = argument;

    for (int i = 0; i < STEPS; i++) {
        actions[draw(task, sizeof(actions) / sizeof(actions[0]))](task);
        if (draw(task, 8) == 0)
            weft_task_yield(false);
    }
}

/* How often a task missed what it knew, with one label weakened. */
static uint32_t run(enum weft_order weakened)
{
    uint32_t missed = 0;

    weft_mutation = weakened;
    chains = 0;
    for (uint32_t seed = 0; seed < SEEDS; seed++) {
        struct weft_task handle[TASKS];
        struct task task[TASKS];
        memset(&s, 0, sizeof(s));
        tickets = wrong = 0;
        assert_int_equal(weft_random_begin(seed), WEFT_OK);
        for (uint32_t i = 0; i < TASKS; i++) {
            char name[16];
            snprintf(name, sizeof(name), "task %u", i % 100);
            task[i] = (struct task){.me = i, .random = seed * TASKS + i};
            assert_int_equal(weft_task_start(&handle[i], name, run_task, &task[i]), WEFT_OK);
        }
        for (uint32_t i = 0; i < TASKS; i++)
            weft_task_join(&handle[i]);
        for (uint32_t i = 0; i < TASKS; i++)
            assert_int_equal(s.cell[i], task[i].known.version[i]);
        weft_random_end();
        missed += wrong;
    }
    weft_mutation = ORDER_none;
    return missed;
}

static void what_is_known_is_there(void **state)
{
    (void)state;
    assert_int_equal(run(ORDER_none), 0);
    assert_true(chains > 100 * SEEDS);
}

static void weakened_labels_show(void **state)
{
    (void)state;
    assert_true(run(ORDER_ring_publish) > 0);
    assert_true(run(ORDER_ring_poll) > 0);
    assert_true(run(ORDER_fence) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_known_is_there),
        cmocka_unit_test(weakened_labels_show),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
