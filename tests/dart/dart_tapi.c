/*
 * tests/dart/dart_tapi.c - tasks: in and out of this and other units, sync, async and of many
 * calls; more than one unit can have; where they may run; cancelled ones; all are done at the end.
 * It says the kind of each unit, for dartrun.
 */
#include <dart_tapi.h>

enum { WORDS = 64 };

#define WORK(X) X(square) X(count) X(busy)
DART_TAPI_BODIES(WORK)

/* out[i] = in[i]^2 + out[i] */
DART_TAPI_TASK(square, call)
{
    const uint64_t *const in = (const uint64_t *)call->in;
    uint64_t *const out = (uint64_t *)call->out;

    weft_for (i, call->out_bytes / sizeof(*out))
        out[i] += in[i] * in[i];
}

/* Each call marks its own word. */
DART_TAPI_TASK(count, call)
{
    uint64_t *const out = (uint64_t *)call->out;

    if (weft_thread(self) == 0)
        out[call->index]++;
}

/* Takes a moment. */
DART_TAPI_TASK(busy, call)
{
    const uint64_t *const in = (const uint64_t *)call->in;
    uint64_t *const out = (uint64_t *)call->out;
    uint64_t state = in[0];

    for (int i = 0; i < 20000; i++)
        state = state * 6364136223846793005u + 1442695040888963407u;
    if (weft_thread(self) == 0)
        out[0] = state | 1;
}

DART_TAPI_KERNEL(work, WORK)

#ifndef __CUDACC__

#include "dart_test.h"

/* One synchronous and one asynchronous task whose data another unit has. */
static void across(dart_gptr_t base)
{
    const int next = (unit + 1) % units;
    uint64_t numbers[WORDS], results[WORDS];
    dart_gptr_t in = base, out = base;
    dart_tapi_task_t task;
    int32_t finished = 0, cancelled = 5;

    GOOD(dart_gptr_setunit(&in, next));
    GOOD(dart_gptr_setunit(&out, next));
    GOOD(dart_gptr_incaddr(&out, sizeof(numbers)));
    for (int i = 0; i < WORDS; i++)
        numbers[i] = (uint64_t)(100 * unit + i);
    memset(results, 0, sizeof(results));
    GOOD(dart_put_blocking(in, numbers, sizeof(numbers)));
    GOOD(dart_put_blocking(out, results, sizeof(results)));
    GOOD(dart_tapi_task_create(square_id, in, sizeof(numbers), out, sizeof(results), NULL, 1,
                               &task));
    GOOD(dart_get_blocking(results, out, sizeof(results)));
    for (int i = 0; i < WORDS; i++)
        CHECK(results[i] == numbers[i] * numbers[i]);
    GOOD(dart_tapi_task_wait(&task, &cancelled));
    CHECK(!cancelled);
    GOOD(dart_tapi_task_create(square_id, in, sizeof(numbers), out, sizeof(results), NULL, 0,
                               &task));
    while (!finished)
        GOOD(dart_tapi_task_test(&task, &finished, NULL));
    GOOD(dart_get_blocking(results, out, sizeof(results)));
    for (int i = 0; i < WORDS; i++)
        CHECK(results[i] == 2 * numbers[i] * numbers[i]);
}

/* A task of many calls, and many tasks, in this unit's own memory. */
static void many(void)
{
    const dart_tapi_config_t config = {500, 0}, stay = {1, DART_TAPI_STAY};
    static uint64_t marks[500];
    dart_tapi_task_t tasks[100];
    dart_gptr_t memory, at;
    uint64_t seed = 3, result;

    memset(marks, 0, sizeof(marks));
    GOOD(dart_memalloc(sizeof(marks), &memory));
    GOOD(dart_put_blocking(memory, marks, sizeof(marks)));
    GOOD(dart_tapi_task_create(count_id, memory, 0, memory, sizeof(marks), &config, 0, &tasks[0]));
    GOOD(dart_tapi_task_wait(&tasks[0], NULL));
    GOOD(dart_get_blocking(marks, memory, sizeof(marks)));
    for (int i = 0; i < 500; i++)
        CHECK(marks[i] == 1);
    at = memory;
    for (int i = 0; i < 100; i++) {
        GOOD(dart_put_blocking(at, &seed, sizeof(seed)));
        GOOD(dart_tapi_task_create(busy_id, at, 8, at, 8, i % 2 ? &stay : NULL, 0, &tasks[i]));
        GOOD(dart_gptr_incaddr(&at, 8));
    }
    at = memory;
    for (int i = 0; i < 100; i++) {
        GOOD(dart_tapi_task_wait(&tasks[i], NULL));
        GOOD(dart_get_blocking(&result, at, sizeof(result)));
        CHECK((result & 1) != 0 && result != seed);
        GOOD(dart_gptr_incaddr(&at, 8));
    }
    GOOD(dart_memfree(memory));
}

/* What is cancelled ends, whether it had begun or not; nobody asks for the last ones. */
static void cancelled(dart_gptr_t base)
{
    dart_tapi_task_t tasks[50];
    int32_t by_us;

    GOOD(dart_gptr_setunit(&base, unit));
    for (int i = 0; i < 50; i++)
        GOOD(dart_tapi_task_create(busy_id, base, 8, base, 8, NULL, 0, &tasks[i]));
    for (int i = 49; i >= 0; i--)
        GOOD(dart_tapi_task_cancel(tasks[i]));
    for (int i = 0; i < 50; i++) {
        GOOD(dart_tapi_task_wait(&tasks[i], &by_us));
        CHECK(by_us == 0 || by_us == 1);
    }
    for (int i = 0; i < 50; i++)
        GOOD(dart_tapi_task_create(busy_id, base, 8, base, 8, NULL, 0, NULL));
}

static void refused(dart_gptr_t base)
{
    dart_tapi_task_t task = {3, 77};
    dart_gptr_t none = base;

    BAD(dart_tapi_task_create(17, base, 8, base, 8, NULL, 0, NULL));
    BAD(dart_tapi_task_create(busy_id, base, 1 << 20, base, 8, NULL, 0, NULL));
    none.segid = 900;
    CODE(DART_ERR_NOTFOUND, dart_tapi_task_create(busy_id, none, 8, base, 8, NULL, 0, NULL));
    BAD(dart_tapi_task_wait(&task, NULL));
    BAD(dart_tapi_task_cancel(task));
    BAD(dart_team_memalloc_aligned(DART_TEAM_ALL, 8, &none));
}

static void run(void)
{
    dart_gptr_t base;

    printf("unit %d: %s\n", unit, getenv("WEFT_DEVICE") != NULL ? getenv("WEFT_DEVICE") : "any");
    GOOD(dart_team_memalloc_aligned(DART_TEAM_ALL, 2 * WORDS * sizeof(uint64_t), &base));
    BAD(dart_tapi_end());
    BAD(dart_tapi_task_create(busy_id, base, 8, base, 8, NULL, 1, NULL));
    GOOD(dart_tapi_begin(&work, 64));
    across(base);
    GOOD(dart_barrier(DART_TEAM_ALL));
    many();
    cancelled(base);
    refused(base);
    GOOD(dart_tapi_end());
    GOOD(dart_team_memfree(DART_TEAM_ALL, base));
    GOOD(dart_team_memalloc_aligned(DART_TEAM_ALL, 2 * WORDS * sizeof(uint64_t), &base));
    GOOD(dart_tapi_begin(&work, 64)); /* dart_exit ends it */
    across(base);
}

#endif
