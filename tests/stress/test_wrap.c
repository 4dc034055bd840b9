/*
 * Wrap: every counter and sequence starts a few steps before 2^32 (WEFT_COUNTER_START) and passes
 * it while all kinds of operations run: notifications, barriers, commands, completions, replies,
 * rings. Starts from one to many steps before, so that each kind meets the wrap in each state.
 */
#include "support/test.h"

#ifndef __CUDACC__
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#endif

enum { BYTES = 600, EACH = 2 * BYTES, TAG = 8, TAG_FREE = 9, TAG_MANY = 10 };

struct data {
    struct test_check check;
    unsigned char *memory; /* EACH bytes a rank: window, source */
    uint32_t rounds;
};

WEFT_KERNEL(wrap_kernel, struct data, user)
{
    const int n = weft_size(self, WEFT_COMM_WORLD), me = weft_rank(self, WEFT_COMM_WORLD);
    const int to = (me + 1) % n, from = (me + n - 1) % n;
    unsigned char *window = test_mine(self, user->memory, EACH), *source = window + BYTES;

    weft_enter(self);
    weft_win win = weft_win_create(self, WEFT_COMM_WORLD, window, BYTES);
    CHECK(self, &user->check, win != WEFT_WIN_NONE);
    CHECK_EQ(self, &user->check, weft_test(self, TAG, 1), 0);
    weft_notify(self, WEFT_COMM_WORLD, from, TAG_FREE);
    for (uint32_t round = 0; round < user->rounds; round++) {
        const size_t bytes = round % 2 == 0 ? 8 : BYTES; /* inline, and not */
        weft_flush_local(self, win);
        test_fill(self, source, bytes, round + (uint64_t)me * 100);
        weft_wait(self, TAG_FREE, 1);
        weft_put_notify(self, win, to, 0, source, bytes, TAG);
        weft_notify_relaxed(self, WEFT_COMM_WORLD, to, TAG_MANY);
        if (round % 3 == 0)
            weft_flush(self, win);
        weft_wait(self, TAG, 1);
        CHECK_EQ(self, &user->check,
                 test_differs(self, window, bytes, round + (uint64_t)from * 100), 0);
        CHECK_EQ(self, &user->check, weft_test(self, TAG, 1), 0);
        weft_notify(self, WEFT_COMM_WORLD, from, TAG_FREE);
        if (round % 4 == 0)
            weft_barrier(self, WEFT_COMM_WORLD);
        if (round % 8 == 0) {
            weft_comm comm = weft_comm_split(self, WEFT_COMM_WORLD, me % 2, 0);
            weft_barrier(self, comm);
            weft_barrier(self, comm);
            weft_comm_free(self, &comm);
        }
    }
    weft_wait(self, TAG_FREE, 1);
    weft_wait(self, TAG_MANY, user->rounds); /* across the wrap at once */
    weft_barrier(self, WEFT_COMM_WORLD);
    CHECK_EQ(self, &user->check, weft_test(self, TAG_MANY, 1), 0);
    weft_win_free(self, &win);
    weft_leave(self);
    test_done(self, &user->check);
}

#ifndef __CUDACC__
static void ring_of_hosts(struct test_env *env)
{
    weft_job *job = env->job;
    const int n = env->numbers->processes, me = env->numbers->process;

    for (int i = 0; i < 20; i++) {
        TEST_EQ(env, weft_host_notify(job, (me + 1) % n, TAG), WEFT_OK);
        TEST_EQ(env, weft_host_wait(job, TAG, 1), WEFT_OK);
    }
    TEST_EQ(env, weft_host_barrier(job), WEFT_OK);
}

static int body(struct test_env *env)
{
    static const enum test_memory kinds[] = {TEST_MAPPED, TEST_PLAIN};

    ring_of_hosts(env);
    if (!test_prepare(env, &wrap_kernel))
        return TEST_FAILED;
    for (int i = 0; i < 4; i++) { /* later runs go on from where the counters are */
        struct data data = {
            .memory = test_memory(env, kinds[i % 2], (size_t)env->numbers->ranks_here * EACH),
            .rounds = env->brief ? 6 : 60};
        test_run(env, &data, sizeof(data));
    }
    ring_of_hosts(env);
    return TEST_PASSED;
}

/* --case N: how many steps before the wrap; 6 otherwise. */
int main(int argc, char **argv)
{
    unsigned long before = 6;
    char start[32];

    for (int i = 1; i + 1 < argc; i++) {
        if (strcmp(argv[i], "--case") == 0)
            before = strtoul(argv[i + 1], NULL, 10);
    }
    snprintf(start, sizeof(start), "%lu", (1ul << 32) - before);
    if (setenv("WEFT_COUNTER_START", start, 1) != 0)
        return TEST_FAILED;
    return test_main(argc, argv, body);
}
#endif
