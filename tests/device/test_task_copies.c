/*
 * Tasks whose data are the next place's, so that ranks which do not reach it run on copies: trees
 * of tasks that spawn tasks on parts of their own data, and go on with the rest, so that each word
 * is counted once by each task whose part it is in; and tasks of which each call counts a word.
 * Every second one does not leave its place.
 */
#include "support/test.h"

#include <weft/task.h>

enum { TREES = 4, LOOKS = 6 };

struct user {
    struct test_check check;
    weft_win win;
};
struct args {
    int32_t place; /* where its words are */
    uint32_t body, flags, levels;
    uint64_t first, words, counter;
};

#define BODIES(X) X(split) X(tick)
WEFT_TASK_IDS(BODIES)

WEFT_DEVICE_FN void describe(weft_task_desc *desc, const struct args *args, weft_win win)
{
    memset(desc, 0, sizeof(*desc));
    desc->body = args->body;
    desc->count = args->body == tick_id ? args->words : 1;
    desc->flags = args->flags;
    desc->priority = 1;
    desc->arguments = args;
    desc->arguments_bytes = sizeof(*args);
    desc->datas = 1;
    desc->data[0].win = win;
    desc->data[0].place = args->place;
    desc->data[0].offset = args->first * 8;
    desc->data[0].bytes = args->words * 8;
    desc->data[0].mode = WEFT_TASK_INOUT;
}

/* One more for each of so many words. */
WEFT_DEVICE_FN void count(weft_self *self, uint64_t *words, uint64_t n, uint64_t more)
{
    test_will_read(words, n * 8);
    test_will_write(words, n * 8);
    weft_for (i, n)
        words[i] += more;
    weft_sync(self);
}

/* Counts its words, leaves the upper half to a task, and goes on with the lower one. */
WEFT_TASK(split, struct args, args)
{
    struct user *const user = (struct user *)weft_task_user(task);
    uint64_t *const words = (uint64_t *)weft_task_data(task, 0);
    struct args rest = *args;
    weft_task_desc desc;

    for (uint64_t n = args->words; rest.levels != 0; n /= 2) {
        count(self, words, n, 1);
        rest.levels--;
        rest.words = n / 2;
        rest.first = args->first + n / 2;
        describe(&desc, &rest, user->win);
        desc.data[0] = *weft_task_piece(task, 0); /* of this task, wherever it runs */
        desc.data[0].offset += n / 2 * 8;
        desc.data[0].bytes = n / 2 * 8;
        if (!weft_task_spawn(self, task, &desc)) { /* no room: all of it here */
            count(self, words, n, rest.levels);
            break;
        }
        for (int i = 0; i < LOOKS; i++) /* time in which that task could run */
            weft_fetch_add(self, user->win, args->place, args->counter, 1);
    }
}

WEFT_TASK(tick, struct args, args)
{
    (void)args;
    count(self, (uint64_t *)weft_task_data(task, 0) + weft_task_index(task), 1, 1);
}

WEFT_TASK_KERNEL(tasks, BODIES, struct user)

#ifndef __CUDACC__

#include <stdlib.h>

static void create_all(struct test_env *env, weft_win win, uint32_t body, uint32_t levels,
                       uint64_t words)
{
    for (uint32_t tree = 0; tree < TREES; tree++) {
        const struct args args = {.place = (env->numbers->process + 1) % env->numbers->processes,
                                  .body = body,
                                  .flags = tree % 2 == 0 ? WEFT_TASK_HOLD : 0,
                                  .levels = levels,
                                  .first = tree * words,
                                  .words = words,
                                  .counter = TREES * words * 8};
        weft_task_desc desc;
        describe(&desc, &args, win);
        TEST_EQ(env, weft_task_create(env->job, &desc, NULL), WEFT_OK);
    }
}

static int body(struct test_env *env)
{
    const uint32_t levels = env->random ? 4 : 7;
    const uint64_t words = (env->random ? 2ull : 64ull) << levels;
    const size_t bytes = TREES * words * 8 + 8;
    uint64_t *const memory = test_memory(env, TEST_MAPPED, bytes), *const seen = calloc(1, bytes);
    struct user user = {.check = {.failed = 0}};
    size_t wrong = 0;

    TEST_EQ(env, weft_copy(env->job, memory, seen, bytes), WEFT_OK);
    TEST_EQ(env, weft_host_win_create(env->job, memory, bytes, &user.win), WEFT_OK);
    if (!TEST_EQ(env, weft_tasks_begin(env->job, &tasks, &user, env->threads, env->ranks), WEFT_OK))
        return TEST_FAILED;
    create_all(env, user.win, split_id, levels, words);
    TEST_EQ(env, weft_tasks_finish(env->job), WEFT_OK);
    create_all(env, user.win, tick_id, 0, words);
    TEST_EQ(env, weft_tasks_end(env->job), WEFT_OK);
    TEST_EQ(env, weft_host_get(env->job, user.win, env->numbers->process, 0, seen, bytes), WEFT_OK);
    for (size_t i = 0; i < TREES * words; i++)
        wrong += seen[i] != levels + 1;
    TEST_EQ(env, wrong, 0);
    TEST_EQ(env, weft_host_win_free(env->job, &user.win), WEFT_OK);
    free(seen);
    return TEST_PASSED;
}

int main(int argc, char **argv)
{
    return test_main(argc, argv, body);
}
#endif
