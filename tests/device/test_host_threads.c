/*
 * Several threads of each host program call at once: each has its own tag and words, and waits for
 * what the same thread of the next process sends. A thread that waits for long keeps none of the
 * others from going on. In a job that was opened for one thread others are refused.
 */
#ifndef __CUDACC__ /* no kernel */
#include "support/test.h"

#include "runtime/job/job.h"

#include <string.h>

enum { THREADS = 4, ROUNDS = 100, LAST = 200, BLOCK = 512 };

struct worker {
    struct test_env *env;
    pthread_t thread;
    weft_win win;
    int index;
};

static bool updates(const struct test_env *env)
{
    const struct weft_state *state = &env->job->space.state;
    return state->copy == NULL || state->update != NULL;
}

static void *work(void *argument)
{
    struct worker *w = argument;
    struct test_env *env = w->env;
    weft_job *job = env->job;
    const int n = env->numbers->processes, me = env->numbers->process, to = (me + 1) % n;
    const size_t at = 64 + (size_t)w->index * BLOCK;
    unsigned char data[BLOCK], back[BLOCK];

    for (int i = 0; i < ROUNDS * env->scale; i++) {
        const uint64_t key = (uint64_t)i * THREADS + (uint64_t)w->index;
        uint64_t old;
        weft_op op;
        for (size_t b = 0; b < BLOCK; b++)
            data[b] = test_byte(key, b);
        TEST_EQ(env, weft_host_put_begin(job, w->win, to, at, data, BLOCK, &op), WEFT_OK);
        TEST_EQ(env, weft_host_notify(job, to, w->index), WEFT_OK);
        TEST_EQ(env, weft_host_wait(job, w->index, 1), WEFT_OK);
        TEST_EQ(env, weft_host_get(job, w->win, me, at, back, BLOCK), WEFT_OK);
        TEST_EQ(env, memcmp(data, back, BLOCK), 0); /* the same key comes from the other side */
        TEST_EQ(env, weft_host_get(job, w->win, to, at, back, BLOCK), WEFT_OK);
        TEST_EQ(env, memcmp(data, back, BLOCK), 0);
        if (updates(env))
            TEST_EQ(env, weft_host_fetch_add(job, w->win, i % n, 0, 1, &old), WEFT_OK);
        TEST_EQ(env, weft_host_op_wait(job, op, WEFT_LOCAL), WEFT_OK);
        TEST_EQ(env, weft_host_notify(job, (me + n - 1) % n, 100 + w->index), WEFT_OK);
        TEST_EQ(env, weft_host_wait(job, 100 + w->index, 1), WEFT_OK);
    }
    return NULL;
}

/* Waits all the time for what comes when the others are done. */
static void *wait_for_last(void *argument)
{
    struct worker *w = argument;

    TEST_EQ(w->env, weft_host_wait_for(w->env->job, LAST + 1, 1, 0.01), WEFT_ERR_TIMEOUT);
    TEST_EQ(w->env, weft_host_wait(w->env->job, LAST, 1), WEFT_OK);
    return NULL;
}

static void check_threads(struct test_env *env, weft_win win)
{
    struct worker workers[THREADS + 1];
    weft_job *job = env->job;
    const int n = env->numbers->processes, me = env->numbers->process;
    uint64_t count = 0, want = 0;

    for (int i = 0; i <= THREADS; i++) {
        workers[i] = (struct worker){.env = env, .win = win, .index = i};
        TEST_EQ(env,
                pthread_create(&workers[i].thread, NULL, i < THREADS ? work : wait_for_last,
                               &workers[i]),
                0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(workers[i].thread, NULL);
    TEST_EQ(env, weft_host_notify(job, (me + 1) % n, LAST), WEFT_OK);
    pthread_join(workers[THREADS].thread, NULL);
    TEST_EQ(env, weft_host_flush(job, win), WEFT_OK);
    TEST_EQ(env, weft_host_barrier(job), WEFT_OK);
    TEST_EQ(env, weft_host_get(job, win, me, 0, &count, sizeof(count)), WEFT_OK);
    for (int i = 0; updates(env) && i < ROUNDS * env->scale; i++)
        want += i % n == me ? (uint64_t)(THREADS * n) : 0;
    TEST_EQ(env, count, want);
    TEST_EQ(env, weft_host_barrier(job), WEFT_OK);
}

static void *call_alone(void *argument)
{
    struct test_env *env = argument;
    const char *said;

    TEST_EQ(env, weft_host_notify(env->job, 0, 1), WEFT_ERR_STATE);
    said = weft_error(NULL);
    TEST(env, strstr(said, "weft_host_notify: called by thread ") != NULL);
    TEST(env, weft_malloc(env->job, 1) == NULL);
    return NULL;
}

static int body(struct test_env *env)
{
    const size_t bytes = 64 + THREADS * BLOCK;
    pthread_t other;
    weft_win win;

    if (env->random) /* it has one thread, which runs everything */
        return TEST_SKIPPED;
    if (test_threads == WEFT_THREAD_SINGLE) {
        TEST_EQ(env, pthread_create(&other, NULL, call_alone, env), 0);
        pthread_join(other, NULL);
        env->expect = WEFT_ERR_STATE;
        return TEST_PASSED;
    }
    TEST_EQ(env, weft_host_win_create(env->job, test_memory(env, TEST_MAPPED, bytes), bytes, &win),
            WEFT_OK);
    check_threads(env, win);
    TEST_EQ(env, weft_host_win_free(env->job, &win), WEFT_OK);
    return TEST_PASSED;
}

/* --case single: the job is opened for one thread. */
int main(int argc, char **argv)
{
    test_threads = WEFT_THREAD_MULTIPLE;
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "single") == 0)
            test_threads = WEFT_THREAD_SINGLE;
    return test_main(argc, argv, body);
}
#endif
