/*
 * A phase ends (weft_tasks_finish), and the kernel pauses (weft_tasks_ready of a recording of all
 * places), while another thread of each host program creates tasks without a break, and, when it
 * pauses, one that waits for them. None is lost, and none runs twice.
 */
#include "support/test.h"

#include <weft/task.h>

struct user {
    weft_win win;
};
struct args {
    uint64_t spins;
};

#define BODIES(X) X(add_one)
WEFT_TASK_IDS(BODIES)

/* At place 0. */
WEFT_TASK(add_one, struct args, args)
{
    struct user *const user = (struct user *)weft_task_user(task);

    for (uint64_t i = 0; i < args->spins; i++)
        weft_fetch_add(self, user->win, 0, 0, 0);
    weft_fetch_add(self, user->win, 0, 0, 1);
}

WEFT_TASK_KERNEL(tasks, BODIES, struct user)

#ifndef __CUDACC__

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#ifdef __SANITIZE_THREAD__ /* the first of them, beside two threads, takes seconds */
enum { FINISHES = 2 };
#else
enum { FINISHES = 6 };
#endif
enum { ROUNDS = 60, BURST = 16 };

struct maker {
    struct test_env *env;
    bool over;
    uint64_t made;
};

static void *make(void *argument)
{
    struct maker *const m = argument;
    struct args args = {.spins = 4};
    weft_task_desc desc = {
        .body = add_one_id, .arguments = &args, .arguments_bytes = sizeof(args), .priority = 1};
    weft_task_id task[BURST];

    while (!__atomic_load_n(&m->over, __ATOMIC_ACQUIRE)) {
        for (int i = 0; i < BURST; i++, m->made++)
            if (!TEST_EQ(m->env, weft_task_create(m->env->job, &desc, &task[i]), WEFT_OK))
                return NULL;
        for (int i = 0; i < BURST; i++)
            if (!TEST_EQ(m->env, weft_task_wait(m->env->job, task[i], NULL), WEFT_OK))
                return NULL;
        usleep(3000); /* all places are done at a moment */
    }
    return NULL;
}

/* Without a break. */
static void *flood(void *argument)
{
    struct maker *const m = argument;
    struct args args = {.spins = 0};
    weft_task_desc desc = {
        .body = add_one_id, .arguments = &args, .arguments_bytes = sizeof(args), .priority = 1};

    for (; !__atomic_load_n(&m->over, __ATOMIC_ACQUIRE); m->made++)
        if (!TEST_EQ(m->env, weft_task_create(m->env->job, &desc, NULL), WEFT_OK))
            return NULL;
    return NULL;
}

/* One that takes long, for which it waits: the phase that ends meanwhile may end its name before.
 */
static void *wait_long(void *argument)
{
    struct maker *const m = argument;
    struct args args = {.spins = 500};
    weft_task_desc desc = {
        .body = add_one_id, .arguments = &args, .arguments_bytes = sizeof(args), .priority = 1};

    for (; !__atomic_load_n(&m->over, __ATOMIC_ACQUIRE); m->made++) {
        weft_task_status status = WEFT_TASK_NONE;
        weft_task_id task;
        if (!TEST_EQ(m->env, weft_task_create(m->env->job, &desc, &task), WEFT_OK))
            return NULL;
        const weft_status waited = weft_task_wait(m->env->job, task, &status);
        TEST_EQ(m->env, waited, status == WEFT_TASK_DONE ? WEFT_OK : WEFT_ERR_ARGUMENT);
    }
    return NULL;
}

/* Its name is none when its phase is over. */
static void finishes(struct test_env *env)
{
    struct args args = {.spins = 0};
    weft_task_desc desc = {.body = add_one_id, .arguments = &args, .arguments_bytes = sizeof(args)};
    weft_task_id task;

    TEST_EQ(env, weft_task_create(env->job, &desc, &task), WEFT_OK);
    TEST_EQ(env, weft_tasks_finish(env->job), WEFT_OK);
    TEST_EQ(env, weft_task_wait(env->job, task, NULL), WEFT_ERR_ARGUMENT);
}

static void pauses(struct test_env *env, weft_win win)
{
    struct args args = {.spins = 0};
    weft_task_desc desc = {.body = add_one_id,
                           .arguments = &args,
                           .arguments_bytes = sizeof(args),
                           .datas = 1,
                           .data[0] = {.win = win, .offset = 64, .bytes = 8, .mode = WEFT_TASK_IN}};
    weft_recording *recording = NULL;

    TEST_EQ(env, weft_tasks_record_all(env->job, &recording), WEFT_OK);
    TEST_EQ(env, weft_tasks_add_at(recording, &desc, 0, 0), WEFT_OK);
    TEST_EQ(env, weft_tasks_ready(recording), WEFT_OK);
    TEST_EQ(env, weft_tasks_run(recording, 1), WEFT_OK);
    TEST_EQ(env, weft_tasks_free(&recording), WEFT_OK);
}

static int body(struct test_env *env)
{
    struct user user;
    struct maker maker[2] = {{.env = env}, {.env = env}};
    const int me = env->numbers->process, places = env->numbers->processes;
    uint64_t sum = 0, made, ran = 0;
    pthread_t thread[2];

    if (env->random)
        return TEST_SKIPPED;
    env->expect = WEFT_ERR_ARGUMENT;
    void *const memory = test_memory(env, TEST_MAPPED, 128 + 8 * (size_t)places);
    TEST_EQ(env, weft_host_win_create(env->job, memory, 128 + 8 * (size_t)places, &user.win),
            WEFT_OK);
    TEST_EQ(env, weft_tasks_begin(env->job, &tasks, &user, env->threads, env->ranks), WEFT_OK);
    TEST_EQ(env, pthread_create(&thread[1], NULL, flood, &maker[1]), 0);
    TEST_EQ(env, pthread_create(&thread[0], NULL, wait_long, &maker[0]), 0);
    for (int i = 0; i < FINISHES; i++)
        finishes(env);
    __atomic_store_n(&maker[0].over, true, __ATOMIC_RELEASE);
    pthread_join(thread[0], NULL);
    maker[0].over = false;
    TEST_EQ(env, pthread_create(&thread[0], NULL, make, &maker[0]), 0);
    for (int i = 0; i < ROUNDS; i++) {
        if (i == 3)
            __atomic_store_n(&maker[1].over, true, __ATOMIC_RELEASE);
        pauses(env, user.win);
    }
    for (int i = 0; i < 2; i++) {
        __atomic_store_n(&maker[i].over, true, __ATOMIC_RELEASE);
        pthread_join(thread[i], NULL);
    }
    TEST_EQ(env, weft_tasks_end(env->job), WEFT_OK);
    made = maker[0].made + maker[1].made;
    TEST_EQ(env, weft_host_put(env->job, user.win, 0, 128 + 8 * (size_t)me, &made, 8), WEFT_OK);
    TEST_EQ(env, weft_host_flush(env->job, user.win), WEFT_OK);
    TEST_EQ(env, weft_host_barrier(env->job), WEFT_OK);
    TEST_EQ(env, weft_host_get(env->job, user.win, 0, 0, &ran, 8), WEFT_OK);
    for (int p = 0; p < places; p++) {
        TEST_EQ(env, weft_host_get(env->job, user.win, 0, 128 + 8 * (size_t)p, &made, 8), WEFT_OK);
        sum += made;
    }
    TEST_EQ(env, ran, sum + ROUNDS + (uint64_t)(places * FINISHES));
    TEST_EQ(env, weft_host_win_free(env->job, &user.win), WEFT_OK);
    return TEST_PASSED;
}

int main(int argc, char **argv)
{
    test_threads = WEFT_THREAD_MULTIPLE;
    return test_main(argc, argv, body);
}
#endif
