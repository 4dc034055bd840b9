/*
 * Tasks whose data are rows of a larger block: those of one place are added to another's, by ranks
 * of any, and what lies between them stays.
 */
#include "support/test.h"

#include <weft/task.h>

enum { ROW = 4096, WORDS = ROW / 8, ROWS = 64, BYTES = ROWS * ROW }; /* in each process's window */

struct user {
    struct test_check check;
};

struct args {
    uint32_t index, height;
};

#define BODIES(X) X(rows)
WEFT_TASK_IDS(BODIES)

/* The left half of rows, and a number, to the right half of others. */
WEFT_TASK(rows, struct args, args)
{
    const size_t from = weft_task_pitch(task, 0) / 8, to = weft_task_pitch(task, 1) / 8;
    const uint64_t *const in = (const uint64_t *)weft_task_data(task, 0);
    uint64_t *const out = (uint64_t *)weft_task_data(task, 1);

    for (size_t row = 0; row < args->height; row++) {
        test_will_read(in + row * from, ROW / 2);
        test_will_write(out + row * to, ROW / 2);
        weft_for (i, WORDS / 2)
            out[row * to + i] += in[row * from + i] + args->index;
    }
}

WEFT_TASK_KERNEL(tasks, BODIES, struct user)

#ifndef __CUDACC__

#include <stdlib.h>

static uint64_t left_word(int place, size_t row, size_t i)
{
    return test_mix(((uint64_t)place * ROWS + row) * WORDS + i);
}

static void fill(struct test_env *env, weft_win win, uint64_t *block)
{
    for (size_t row = 0; row < ROWS; row++)
        for (size_t i = 0; i < WORDS; i++)
            block[row * WORDS + i] = i < WORDS / 2 ? left_word(env->numbers->process, row, i) : 0;
    TEST_EQ(env, weft_host_put(env->job, win, env->numbers->process, 0, block, BYTES), WEFT_OK);
    TEST_EQ(env, weft_host_flush(env->job, win), WEFT_OK);
    TEST_EQ(env, weft_host_barrier(env->job), WEFT_OK);
}

static void create(struct test_env *env, weft_win win, uint32_t index, uint32_t height)
{
    struct args args = {.index = index, .height = height};
    weft_task_desc desc = {
        .body = rows_id, .arguments = &args, .arguments_bytes = sizeof(args), .datas = 2};

    for (int d = 0; d < 2; d++)
        desc.data[d] =
            (weft_task_data_desc){.win = win,
                                  .place = (env->numbers->process + d) % env->numbers->processes,
                                  .offset = (size_t)index * height * ROW + (size_t)d * ROW / 2,
                                  .bytes = ROW / 2,
                                  .pitch = ROW,
                                  .rows = height,
                                  .mode = d == 0 ? WEFT_TASK_IN : WEFT_TASK_INOUT};
    TEST_EQ(env, weft_task_create(env->job, &desc, NULL), WEFT_OK);
}

static void check(struct test_env *env, weft_win win, uint64_t *block, size_t used, size_t height)
{
    const int me = env->numbers->process, n = env->numbers->processes;

    TEST_EQ(env, weft_host_get(env->job, win, me, 0, block, BYTES), WEFT_OK);
    for (size_t row = 0; row < ROWS; row++)
        for (size_t i = 0; i < WORDS / 2; i += 37) {
            const uint64_t added = left_word((me + n - 1) % n, row, i) + row / height;
            TEST_EQ(env, block[row * WORDS + i], left_word(me, row, i));
            TEST_EQ(env, block[row * WORDS + WORDS / 2 + i], row < used ? added : 0);
        }
}

static int body(struct test_env *env)
{
    const uint32_t height = env->brief ? 2 : 8, n = env->brief ? 3 : 8;
    void *const memory = test_memory(env, TEST_MAPPED, BYTES);
    uint64_t *const block = malloc(BYTES);
    struct user user = {.check = {.failed = 0}};
    weft_win win;

    TEST_EQ(env, weft_host_win_create(env->job, memory, BYTES, &win), WEFT_OK);
    fill(env, win, block);
    if (!TEST_EQ(env, weft_tasks_begin(env->job, &tasks, &user, env->threads, env->ranks), WEFT_OK))
        return TEST_FAILED;
    for (uint32_t i = 0; i < n; i++)
        create(env, win, i, height);
    TEST_EQ(env, weft_tasks_end(env->job), WEFT_OK);
    check(env, win, block, (size_t)n * height, height);
    TEST_EQ(env, user.check.failed, 0);
    TEST_EQ(env, weft_host_win_free(env->job, &win), WEFT_OK);
    free(block);
    return TEST_PASSED;
}

TEST_MAIN(body)
#endif
