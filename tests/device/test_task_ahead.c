/*
 * Tasks that other places take in batches: their data are fetched while the task before runs, each
 * into memory of its own, and what they wrote is back. Long tasks of all sizes, also of some that
 * leave no room for another's data, and of a first priority that come between.
 */
#include "support/test.h"

#include <weft/task.h>

enum { TASKS = 64, BLOCK = 1 << 18, WORDS = BLOCK / 8 };

struct user {
    struct test_check check;
};
struct args {
    uint64_t index, words;
};

#define BODIES(X) X(add)
WEFT_TASK_IDS(BODIES)

WEFT_TASK(add, struct args, args)
{
    uint64_t *const block = (uint64_t *)weft_task_data(task, 0);

    test_will_read(block, args->words * 8);
    test_will_write(block, args->words * 8);
    for (int round = 0; round < 20; round++)
        weft_for (i, args->words)
            block[i] += args->index + i;
}

WEFT_TASK_KERNEL(tasks, BODIES, struct user)

#ifndef __CUDACC__

#include <stdlib.h>

static size_t words_of(const struct test_env *env, uint64_t i)
{
    return env->brief ? 8 + i : i % 7 == 0 ? WORDS : 1000 + 100 * (size_t)i;
}

static void create_all(struct test_env *env, weft_win win, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        struct args args = {i, words_of(env, i)};
        weft_task_desc desc = {.body = add_id,
                               .priority = i % 16 == 15 ? 0 : 2,
                               .arguments = &args,
                               .arguments_bytes = sizeof(args),
                               .datas = 1};
        desc.data[0] = (weft_task_data_desc){
            .win = win, .offset = i * BLOCK, .bytes = args.words * 8, .mode = WEFT_TASK_INOUT};
        TEST_EQ(env, weft_task_create(env->job, &desc, NULL), WEFT_OK);
    }
}

static void check_all(struct test_env *env, weft_win win, uint64_t n)
{
    uint64_t *const seen = malloc(BLOCK);

    for (uint64_t i = 0; seen != NULL && i < n; i++) {
        size_t wrong = 0;
        TEST_EQ(env, weft_host_get(env->job, win, 0, i * BLOCK, seen, words_of(env, i) * 8),
                WEFT_OK);
        for (size_t k = 0; k < words_of(env, i); k++)
            wrong += seen[k] != 20 * (i + k);
        TEST_EQ(env, wrong, 0);
    }
    free(seen);
}

static int body(struct test_env *env)
{
    static const unsigned char zero[BLOCK];
    const bool first = env->numbers->process == 0;
    const uint64_t n = env->brief ? 8 : TASKS;
    unsigned char *const memory = test_memory(env, TEST_MAPPED, n * BLOCK);
    struct user user = {.check = {.failed = 0}};
    weft_task_numbers numbers = {0};
    weft_win win;

    for (uint64_t i = 0; i < n; i++)
        TEST_EQ(env, weft_copy(env->job, memory + i * BLOCK, zero, BLOCK), WEFT_OK);
    TEST_EQ(env, weft_host_win_create(env->job, memory, n * BLOCK, &win), WEFT_OK);
    if (!TEST_EQ(env, weft_tasks_begin(env->job, &tasks, &user, env->threads, 1), WEFT_OK))
        return TEST_FAILED;
    if (first)
        create_all(env, win, n);
    TEST_EQ(env, weft_tasks_end(env->job), WEFT_OK);
    TEST_EQ(env, weft_tasks_numbers(env->job, &numbers), WEFT_OK);
    if (first)
        check_all(env, win, n);
    else if (numbers.taken >= TASKS / 4 && numbers.bytes != 0)
        TEST(env, numbers.ahead > 0);
    TEST_EQ(env, weft_host_win_free(env->job, &win), WEFT_OK);
    return TEST_PASSED;
}

int main(int argc, char **argv)
{
    setenv("WEFT_TASK_SCRATCH", "300K", 0);
    return test_main(argc, argv, body);
}
#endif
