/*
 * User data: a struct of any size goes in and comes back, shared by the ranks of the device, apart
 * for each process; none at all is allowed; the wrong size is not. The block helpers: every index
 * of weft_for once, the sum of the rank's threads, and shared storage, small and large.
 */
#define WEFT_SHARED_BYTES 100000 /* more than a GPU gives without being asked */
#define WEFT_SHARED_LEAST 4000
#include "support/test.h"

#include <string.h>

enum { MANY = 100000, MOST_RANKS = 1024 };

struct data {
    struct test_check check;
    uint64_t in;
    uint64_t out[MOST_RANKS];
    uint8_t once[MANY]; /* by the device's first rank */
    double sum;
    uint64_t shared; /* bytes */
    int32_t threads;
};

WEFT_KERNEL(user_kernel, struct data, user)
{
    const int me = weft_rank(self, WEFT_COMM_DEVICE);
    const int threads = weft_threads(self), thread = weft_thread(self);
    WEFT_SHARED(uint32_t, word, 1);

    weft_enter(self);
    CHECK(self, &user->check, thread >= 0 && thread < threads);
    CHECK_EQ(self, &user->check, threads, user->threads);
    if (me == 0) {
        weft_for (i, MANY)
            user->once[i]++;
    }
    /* 1 + 2 + ... + threads, on all of them */
    const double sum = weft_block_sum(self, thread + 1.0);
    CHECK_EQ(self, &user->check, sum * 2, threads * (threads + 1));
    if (thread == 0)
        word[0] = (uint32_t)me + 100;
    weft_sync(self);
    CHECK_EQ(self, &user->check, word[0], me + 100);
    weft_sync(self);
    if (thread == 0)
        user->out[me] = user->in + word[0];
    /* All of weft_shared, each word by another thread than the one that reads it; and the rank's
     * own: its neighbours are there at the same time. */
    uint32_t *const shared = (uint32_t *)weft_shared(self);
    CHECK_EQ(self, &user->check, (uintptr_t)shared % 16, 0);
    CHECK_EQ(self, &user->check, weft_shared_bytes(self), user->shared);
    const int words = (int)(weft_shared_bytes(self) / sizeof(uint32_t));
    weft_for (i, words)
        shared[words - 1 - i] = (uint32_t)(me * words + (int)i);
    weft_barrier(self, WEFT_COMM_DEVICE);
    uint32_t wrong = 0;
    weft_for (i, words)
        wrong += shared[i] != (uint32_t)(me * words + words - 1 - (int)i);
    CHECK_EQ(self, &user->check, wrong, 0);
    weft_leave(self);
    test_done(self, &user->check);
}

WEFT_KERNEL(nothing_kernel, struct test_check, check)
{
    weft_enter(self);
    weft_leave(self);
    (void)check;
}

#ifndef __CUDACC__
static int body(struct test_env *env)
{
    static const struct {
        size_t limit, gets;
    } shared[] = {{SIZE_MAX, WEFT_SHARED_BYTES}, {20000, 20000}, {10, WEFT_SHARED_LEAST}};
    const weft_numbers *n = env->numbers;
    struct data *data = test_memory(env, TEST_HOST, sizeof(*data));
    env->ranks = env->ranks < MOST_RANKS ? env->ranks : MOST_RANKS;
    for (uint64_t run = 0; run < 6; run++) { /* two runs of each preparation */
        weft_limit_shared(env->job, shared[run / 2].limit);
        if (run % 2 == 0 && !test_prepare(env, &user_kernel))
            return TEST_FAILED;
        memset(data, 0, sizeof(*data));
        data->in = (uint64_t)n->process * 1000 + run;
        data->threads = n->threads;
        data->shared = shared[run / 2].gets;
        test_run(env, data, sizeof(*data));
        for (int r = 0; r < n->ranks_here; r++)
            TEST_EQ(env, data->out[r], data->in + (uint64_t)r + 100);
        for (int i = 0; i < MANY; i++) {
            if (!TEST_EQ(env, data->once[i], 1))
                break;
        }
    }
    TEST_EQ(env, weft_prepare(env->job, &nothing_kernel, 1, 1), WEFT_OK);
    TEST_EQ(env, n->ranks_here, 1);
    TEST_EQ(env, weft_run(env->job, &data->check, sizeof(data->check), NULL), WEFT_OK);
    return TEST_PASSED;
}

TEST_MAIN(body)
#endif
