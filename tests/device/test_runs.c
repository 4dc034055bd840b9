/*
 * Many runs and several kernels in a job: nothing of one run is seen by the next. Notifications
 * left over are dropped, windows and communicators left behind are freed, other numbers of ranks
 * take effect, and memory keeps what was in it. How many were left over is said by a line for each
 * run and process, and nothing of the library's own is counted among them.
 */
#include "support/test.h"

#ifndef __CUDACC__
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#endif

enum { LEFT_WINDOWS = 5, LEFT_COMMS = 3, WORDS = 16 };

struct data {
    struct test_check check;
    uint64_t *memory; /* WORDS a rank */
    uint64_t run;
    int32_t ranks;
};

/* Leaves behind as much as it can. */
WEFT_KERNEL(messy_kernel, struct data, user)
{
    const int n = weft_size(self, WEFT_COMM_WORLD), me = weft_rank(self, WEFT_COMM_WORLD);
    uint64_t *memory = (uint64_t *)test_mine(self, user->memory, WORDS * 8);

    weft_enter(self);
    CHECK_EQ(self, &user->check, n, user->ranks);
    for (int tag = 0; tag < WEFT_TAGS; tag++)
        CHECK_EQ(self, &user->check, weft_test(self, tag, 1), 0);
    CHECK_EQ(self, &user->check, memory[0], user->run);
    weft_barrier(self, WEFT_COMM_WORLD);
    for (int i = 0; i < LEFT_WINDOWS; i++) {
        weft_win win = weft_win_create(self, WEFT_COMM_WORLD, memory, WORDS * 8);
        CHECK(self, &user->check, win != WEFT_WIN_NONE);
        weft_put_notify(self, win, (me + 1) % n, 8, memory + WORDS / 2, 8, 30 + i);
    }
    for (int i = 0; i < LEFT_COMMS; i++) {
        const weft_comm comm = weft_comm_split(self, WEFT_COMM_WORLD, me % 2, 0);
        CHECK(self, &user->check, comm != WEFT_COMM_NONE);
        weft_notify(self, comm, 0, 40 + i);
    }
    weft_wait(self, 30, 1); /* and leaves the others */
    weft_leave(self);
    weft_notify(self, WEFT_COMM_WORLD, (me + 1) % n, 50); /* after the end of communication */
    if (weft_thread(self) == 0)
        memory[0]++;
    test_done(self, &user->check);
}

/* Another kernel, which only counts. */
WEFT_KERNEL(ring_kernel, struct data, user)
{
    const int n = weft_size(self, WEFT_COMM_WORLD), me = weft_rank(self, WEFT_COMM_WORLD);

    weft_enter(self);
    CHECK_EQ(self, &user->check, n, user->ranks);
    for (uint64_t i = 0; i < 3 + user->run % 4; i++) {
        weft_notify(self, WEFT_COMM_WORLD, (me + 1) % n, 30);
        weft_wait(self, 30, 1);
    }
    weft_leave(self);
    CHECK_EQ(self, &user->check, weft_test(self, 30, 1), 0);
    test_done(self, &user->check);
}

#ifndef __CUDACC__
static void run_messy(struct test_env *env, struct data *data, uint64_t runs)
{
    if (!test_prepare(env, &messy_kernel))
        return;
    data->ranks = env->numbers->ranks;
    for (uint64_t i = 0; i < runs; i++, data->run++) {
        const int n = data->ranks, first = env->numbers->first_rank;
        const int here = env->numbers->ranks_here, last = first + here;
        int left = here * LEFT_WINDOWS; /* one of these was consumed, one came after the end */
        left += first == 0 && last > 0 ? LEFT_COMMS * ((n + 1) / 2) : 0;
        left += first <= 1 && last > 1 ? LEFT_COMMS * (n / 2) : 0;
        test_run(env, data, sizeof(*data));
        fprintf(stderr, "it was messy_kernel which left %d notifications\n", left);
    }
}

/* `most` ranks here; the numbers must add up, whatever the other processes asked for. */
static void run_ring(struct test_env *env, struct data *data, int most)
{
    const weft_numbers *n = env->numbers;
    int sum = 0;

    if (!TEST_EQ(env, weft_prepare(env->job, &ring_kernel, 32, most), WEFT_OK))
        return;
    TEST(env, n->ranks_here >= 1 && (most == 0 || n->ranks_here <= most));
    for (int p = 0; p < n->processes; p++) {
        TEST_EQ(env, weft_first_rank_of(env->job, p), sum);
        sum += weft_ranks_of(env->job, p);
    }
    TEST_EQ(env, sum, n->ranks);
    data->ranks = n->ranks;
    test_run(env, data, sizeof(*data));
    test_run(env, data, sizeof(*data));
}

static int body(struct test_env *env)
{
    const uint64_t runs = env->brief ? 2 : 20;
    struct data data = {0};
    const int process = env->numbers->process;

    TEST_EQ(env, env->numbers->ranks, 0); /* nothing is prepared yet */
    data.memory = test_memory(env, TEST_MAPPED, (size_t)env->ranks * WORDS * 8);
    run_messy(env, &data, runs);
    run_ring(env, &data, process % 3 + 1);
    run_ring(env, &data, env->ranks);
    run_ring(env, &data, 1);
    if (!env->random)
        run_ring(env, &data, 0); /* as many as the device holds */
    run_messy(env, &data, 2);
    return TEST_PASSED;
}

static int child(int argc, char **argv)
{
    return test_main(argc, argv, body);
}

int main(int argc, char **argv)
{
    static const char *const ring[] = {"kernel ring_kernel ended with", NULL};
    char *text, want[64], have[64];
    const int result = test_capture(child, argc, argv, &text);
    int left, wrong = test_lines_with(text, ring);

    for (const char *at = text; (at = strstr(at, "which left ")) != NULL; at++) {
        if (sscanf(at, "which left %d", &left) != 1)
            continue;
        snprintf(want, sizeof(want), "which left %d notifications", left);
        snprintf(have, sizeof(have), "kernel messy_kernel ended with %d notifications", left);
        wrong += test_lines_with(text, (const char *[]){want, NULL}) !=
                 test_lines_with(text, (const char *[]){have, NULL});
    }
    if (wrong != 0 || (result != TEST_PASSED && result != TEST_SKIPPED))
        fprintf(stderr, "exit code %d, %d wrong lines; the child printed:\n%s", result, wrong,
                text);
    free(text);
    return wrong != 0 ? TEST_FAILED : result;
}
#endif
