/*
 * Several jobs of the same processes: one while another is open, and one after another, each with
 * ranks, memory and windows of its own. The first is the test's.
 */
#include "support/test.h"

enum { ROUNDS = 20, TAG = 3, RANKS = 3, JOBS = 4 };

struct data {
    struct test_check check;
    uint64_t *memory; /* two words a rank: its window, and the source of its puts */
    uint64_t key;
};

WEFT_KERNEL(jobs_kernel, struct data, user)
{
    const int n = weft_size(self, WEFT_COMM_WORLD), me = weft_rank(self, WEFT_COMM_WORLD);
    uint64_t *word = user->memory + 2 * weft_rank(self, WEFT_COMM_DEVICE), *source = word + 1;
    weft_win win = weft_win_create(self, WEFT_COMM_WORLD, word, sizeof(*word));

    for (uint64_t round = 0; round < ROUNDS; round++) {
        if (weft_thread(self) == 0)
            *source = user->key + round;
        weft_put_notify(self, win, (me + 1) % n, 0, source, sizeof(*source), TAG);
        weft_wait(self, TAG, 1);
        CHECK_EQ(self, &user->check, test_peek_u64(word), user->key + round);
        weft_flush_local(self, win);
        weft_barrier(self, WEFT_COMM_WORLD);
    }
    weft_win_free(self, &win);
    test_done(self, &user->check);
}

#ifndef __CUDACC__
/* A kernel of the job, with words of its own; they tell the jobs apart. */
static void run_in(struct test_env *env, weft_job *job, uint64_t key)
{
    struct test_env own = *env;
    struct data data = {.key = key};
    const weft_numbers *numbers = weft_numbers_of(job);

    own.job = job;
    own.numbers = numbers;
    own.failures = 0;
    TEST_EQ(env, numbers->processes, env->numbers->processes);
    TEST_EQ(env, numbers->process, env->numbers->process);
    if (!TEST_EQ(env, weft_prepare(job, &jobs_kernel, 1, RANKS), WEFT_OK))
        return;
    data.memory = weft_malloc(job, 2 * RANKS * sizeof(*data.memory));
    if (TEST(env, data.memory != NULL))
        test_run(&own, &data, sizeof(data));
    weft_free(job, data.memory);
    env->failures += own.failures;
}

/* A word to the next process's window. */
static void pass_on(struct test_env *env, weft_job *job, uint64_t *word, weft_win win, uint64_t key)
{
    const int n = env->numbers->processes, next = (env->numbers->process + 1) % n;
    uint64_t here = 0;

    TEST_EQ(env, weft_host_put_notify(job, win, next, 0, &key, sizeof(key), TAG), WEFT_OK);
    TEST_EQ(env, weft_host_wait(job, TAG, 1), WEFT_OK);
    TEST_EQ(env, weft_copy(job, &here, word, sizeof(here)), WEFT_OK);
    TEST_EQ(env, here, key);
    TEST_EQ(env, weft_host_barrier(job), WEFT_OK);
}

/* An operation is one of its own job alone, also where another has as many. Closes `other`. */
static void check_operations(struct test_env *env, weft_job *job, weft_job *other)
{
    const int n = env->numbers->processes, next = (env->numbers->process + 1) % n;
    uint64_t *word = weft_malloc(job, sizeof(*word)), value = 7;
    weft_op op = {0};
    weft_win win;

    TEST_EQ(env, weft_host_win_create(job, word, sizeof(*word), &win), WEFT_OK);
    TEST_EQ(env, weft_host_put_begin(job, win, next, 0, &value, sizeof(value), &op), WEFT_OK);
    TEST_EQ(env, weft_host_op_wait(job, op, WEFT_REMOTE), WEFT_OK);
    const bool done = op.sequence == 0; /* where memory is mapped all are, of any job */
    TEST_EQ(env, weft_host_op_wait(other, op, WEFT_REMOTE), done ? WEFT_OK : WEFT_ERR_ARGUMENT);
    TEST_EQ(env, weft_close(other), done ? WEFT_OK : WEFT_ERR_ARGUMENT);
    TEST_EQ(env, weft_host_win_free(job, &win), WEFT_OK);
    weft_free(job, word);
}

static int body(struct test_env *env)
{
    weft_job *job[JOBS] = {env->job};
    uint64_t *word[JOBS];
    weft_win win[JOBS];

    run_in(env, job[0], 1000);
    for (int i = 1; i < JOBS; i++)
        if (!TEST_EQ(env, weft_open(&job[i], NULL, NULL), WEFT_OK))
            return TEST_FAILED;
    for (int i = 0; i < JOBS; i++) {
        word[i] = weft_malloc(job[i], sizeof(*word[i]));
        TEST_EQ(env, weft_host_win_create(job[i], word[i], sizeof(*word[i]), &win[i]), WEFT_OK);
    }
    for (uint64_t round = 0; round < ROUNDS; round++)
        for (int i = JOBS - 1; i >= 0; i--)
            pass_on(env, job[i], word[i], win[i], 100 * round + (uint64_t)i);
    for (int i = 0; i < JOBS; i++) {
        TEST_EQ(env, weft_host_win_free(job[i], &win[i]), WEFT_OK);
        weft_free(job[i], word[i]);
    }
    for (int i = 1; i < JOBS; i++)
        run_in(env, job[i], 2000 * (uint64_t)i);
    for (int i = 1; i < JOBS; i++) { /* those that are left go on */
        TEST_EQ(env, weft_close(job[i]), WEFT_OK);
        run_in(env, job[0], 10000 * (uint64_t)i);
    }
    if (TEST_EQ(env, weft_open(&job[1], NULL, NULL), WEFT_OK)) {
        run_in(env, job[1], 50000);
        check_operations(env, job[0], job[1]);
    }
    return TEST_PASSED;
}

TEST_MAIN(body)
#endif
