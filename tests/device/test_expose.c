/*
 * Windows with one member, announced while a kernel runs: other host programs reach them at once,
 * and ranks, which hear of them by a put; what nobody has announced, and what is gone. Groups of
 * host programs, made while the kernel runs, that outlive it.
 */
#include "support/test.h"

#include <string.h>

enum { TELL = 1, DONE = 2, BYTES = 4096, NUMBER = 77 };

struct data {
    struct test_check check;
    weft_win box;      /* of the host programs: a handle for each process */
    uint64_t *handles; /* this process's part of it: exposures, by process */
    uint64_t *out;     /* what ranks put from: a word for each */
};

/* Each rank puts its number into every process's exposure, and adds to its first word. */
WEFT_KERNEL(expose_kernel, struct data, user)
{
    const int me = weft_rank(self, WEFT_COMM_WORLD), n = weft_processes(self);
    uint64_t *out = user->out + weft_rank(self, WEFT_COMM_DEVICE);

    weft_wait(self, TELL, 1);
    if (weft_thread(self) == 0)
        *out = (uint64_t)me + 1;
    weft_sync(self);
    for (int p = 0; p < n; p++) {
        const weft_win win = (weft_win)test_peek_u64(&user->handles[p]);
        weft_put(self, win, 0, 8 * ((size_t)me + 1), out, 8);
        weft_add(self, win, 0, 0, (uint64_t)me + 1);
        weft_flush(self, win);
        weft_notify(self, WEFT_COMM_HOST, p, DONE);
    }
    test_done(self, &user->check);
}

#ifndef __CUDACC__
/* Tells the ranks here of all exposures. */
static void tell_ranks(struct test_env *env, struct data *data)
{
    weft_job *job = env->job;
    const int me = env->numbers->process;

    for (int p = 0; p < env->numbers->processes; p++) {
        weft_win win = WEFT_WIN_NONE;
        TEST_EQ(env, weft_exposed(job, p, NUMBER + (uint32_t)p, 60, &win), WEFT_OK);
        const uint64_t handle = win;
        TEST_EQ(env, weft_host_put(job, data->box, me, 8 * (size_t)p, &handle, 8), WEFT_OK);
        TEST_EQ(env, weft_host_flush(job, data->box), WEFT_OK);
    }
    for (int r = 0; r < env->numbers->ranks_here; r++)
        TEST_EQ(env, weft_host_notify_rank(job, env->numbers->first_rank + r, TELL), WEFT_OK);
}

static void check_ranks(struct test_env *env, weft_win win)
{
    const uint64_t ranks = (uint64_t)env->numbers->ranks;
    uint64_t word = 0;

    TEST_EQ(env, weft_host_wait(env->job, DONE, (uint32_t)ranks), WEFT_OK);
    TEST_EQ(env, weft_host_get(env->job, win, 0, 0, &word, 8), WEFT_OK);
    TEST_EQ(env, word, ranks * (ranks + 1) / 2);
    for (uint64_t r = 0; r < ranks && env->failures == 0; r++) {
        TEST_EQ(env, weft_host_get(env->job, win, 0, 8 * (r + 1), &word, 8), WEFT_OK);
        TEST_EQ(env, word, r + 1);
    }
}

/* Host programs among themselves: each puts into the next one's. */
static void check_hosts(struct test_env *env, weft_win own)
{
    const int n = env->numbers->processes, me = env->numbers->process, to = (me + 1) % n;
    const uint64_t mark = 1000 + (uint64_t)me;
    weft_win win = WEFT_WIN_NONE;
    uint64_t word = 0;

    TEST_EQ(env, weft_exposed(env->job, to, NUMBER + (uint32_t)to, 60, &win), WEFT_OK);
    TEST(env, (own == win) == (n == 1));
    TEST_EQ(env, weft_host_put_notify(env->job, win, 0, BYTES - 8, &mark, 8, 5), WEFT_OK);
    TEST_EQ(env, weft_host_notify(env->job, to, 6), WEFT_OK);
    TEST_EQ(env, weft_host_wait(env->job, 6, 1), WEFT_OK);
    TEST_EQ(env, weft_host_get(env->job, own, 0, BYTES - 8, &word, 8), WEFT_OK);
    TEST_EQ(env, word, 1000 + (uint64_t)((me + n - 1) % n));
    TEST_EQ(env, weft_host_wait(env->job, 5, 1), WEFT_OK);
}

/* Even and odd processes; the order in each is the reverse. */
static void make_group(struct test_env *env, weft_comm *group)
{
    const int me = env->numbers->process;
    weft_comm none = 5;

    TEST_EQ(env, weft_host_split(env->job, -1, 0, &none), WEFT_OK);
    TEST_EQ(env, none, WEFT_COMM_NONE);
    TEST_EQ(env, weft_host_split(env->job, me % 2, -me, group), WEFT_OK);
}

/* Each puts into the part of the next member. */
static void check_group(struct test_env *env, weft_comm *group, weft_win *win)
{
    const int n = env->numbers->processes, me = env->numbers->process;
    const int size = (n + 1 - me % 2) / 2, rank = size - 1 - me / 2;
    uint64_t *memory = test_memory(env, TEST_MAPPED, 64);
    uint64_t word = 0;

    TEST_EQ(env, weft_host_group_win_create(env->job, *group, memory, 64, win), WEFT_OK);
    TEST_EQ(env, weft_host_get(env->job, *win, size, 0, &word, 8), WEFT_ERR_RANK);
    word = 1 + (uint64_t)me;
    TEST_EQ(env, weft_host_put(env->job, *win, (rank + 1) % size, 0, &word, 8), WEFT_OK);
    TEST_EQ(env, weft_host_flush(env->job, *win), WEFT_OK);
    TEST_EQ(env, weft_host_group_barrier(env->job, *group), WEFT_OK);
    TEST_EQ(env, weft_host_get(env->job, *win, rank, 0, &word, 8), WEFT_OK);
    TEST_EQ(env, word, 1 + (uint64_t)((me + 2 < n ? me + 2 : me % 2)));
    TEST_EQ(env, weft_host_win_free(env->job, win), WEFT_OK);
    TEST_EQ(env, weft_host_group_free(env->job, group), WEFT_OK);
    TEST_EQ(env, weft_host_group_barrier(env->job, *group), WEFT_ERR_COMM);
}

static void check_refused(struct test_env *env, weft_win own)
{
    weft_job *job = env->job;
    const int n = env->numbers->processes, me = env->numbers->process;
    const uint32_t number = NUMBER + (uint32_t)me;
    weft_win win = WEFT_WIN_NONE;
    uint64_t word;

    TEST_EQ(env, weft_exposed(job, me, 5, 1e-6, &win), WEFT_ERR_TIMEOUT);
    TEST(env, strstr(weft_error(job), "announced nothing under number 5") != NULL);
    TEST_EQ(env, weft_exposed(job, n, 5, 0, &win), WEFT_ERR_RANK);
    TEST_EQ(env, weft_expose(job, &word, 8, number), WEFT_ERR_STATE);
    TEST_EQ(env, weft_expose(job, NULL, 8, 6), WEFT_ERR_ARGUMENT);
    TEST_EQ(env, weft_unexpose(job, 6), WEFT_ERR_STATE);
    TEST_EQ(env, weft_host_get(job, own, 1, 0, &word, 8), WEFT_ERR_RANK);
    TEST_EQ(env, weft_host_get(job, own, 0, BYTES, &word, 8), WEFT_ERR_BOUNDS);
    win = own;
    TEST_EQ(env, weft_host_win_free(job, &win), WEFT_ERR_WINDOW);
    env->expect = WEFT_ERR_TIMEOUT; /* of weft_close: the first that was refused */
}

/* It has ended, and its memory is freed, before others hear of it. */
static void check_brief(struct test_env *env)
{
    for (int i = 0; i < 20; i++) {
        void *const memory = weft_malloc(env->job, 4096);
        if (!TEST(env, memory != NULL))
            return;
        TEST_EQ(env, weft_expose(env->job, memory, 4096, 99), WEFT_OK);
        TEST_EQ(env, weft_unexpose(env->job, 99), WEFT_OK);
        weft_free(env->job, memory);
    }
}

static void run(struct test_env *env, struct data *data, weft_comm *group)
{
    const uint32_t number = NUMBER + (uint32_t)env->numbers->process;
    unsigned char *memory = test_memory(env, TEST_MAPPED, BYTES);
    weft_win own = WEFT_WIN_NONE;

    TEST_EQ(env, weft_host_barrier(env->job), WEFT_OK);
    if (!test_start(env, data, sizeof(*data)))
        return;
    TEST_EQ(env, weft_expose(env->job, memory, BYTES, number), WEFT_OK);
    TEST_EQ(env, weft_exposed(env->job, env->numbers->process, number, 0, &own), WEFT_OK);
    tell_ranks(env, data);
    check_hosts(env, own);
    check_ranks(env, own);
    if (*group == WEFT_COMM_NONE)
        make_group(env, group);
    test_finish(env, data);
    TEST_EQ(env, weft_unexpose(env->job, number), WEFT_OK);
    TEST_EQ(env, weft_host_barrier(env->job), WEFT_OK);
}

static int body(struct test_env *env)
{
    struct data data = {.box = WEFT_WIN_NONE};
    const size_t bytes = 8 * (size_t)env->numbers->processes;
    unsigned char *memory = test_memory(env, TEST_MAPPED, BYTES);
    weft_comm group = WEFT_COMM_NONE;
    weft_win win = WEFT_WIN_NONE;
    uint64_t word = 0;

    if (!test_prepare(env, &expose_kernel) ||
        !TEST(env, 8 * (size_t)env->numbers->ranks < BYTES - 16))
        return TEST_FAILED;
    data.handles = test_memory(env, TEST_MAPPED, bytes);
    data.out = test_memory(env, TEST_MAPPED, 8 * (size_t)env->numbers->ranks_here);
    TEST_EQ(env, weft_host_win_create(env->job, data.handles, bytes, &data.box), WEFT_OK);
    run(env, &data, &group);
    run(env, &data, &group); /* the numbers are free again */
    check_brief(env);
    TEST_EQ(env, weft_expose(env->job, memory, BYTES, NUMBER + (uint32_t)env->numbers->process),
            WEFT_OK);
    TEST_EQ(env,
            weft_exposed(env->job, env->numbers->process, NUMBER + (uint32_t)env->numbers->process,
                         0, &win),
            WEFT_OK);
    check_refused(env, win);
    TEST_EQ(env, weft_unexpose(env->job, NUMBER + (uint32_t)env->numbers->process), WEFT_OK);
    TEST_EQ(env, weft_host_get(env->job, win, 0, 0, &word, 8), WEFT_ERR_WINDOW);
    check_group(env, &group, &win);
    TEST_EQ(env, weft_host_win_free(env->job, &data.box), WEFT_OK);
    return TEST_PASSED;
}

TEST_MAIN(body)
#endif
