/*
 * Rings and mailboxes full on both sides: with the smallest rings, everyone floods everyone while
 * nobody waits until the end, first the ranks, then the host programs. A sender may have to wait
 * for space, but two that do so never block each other; nothing is dropped or mixed up.
 */
#include "support/test.h"

#ifndef __CUDACC__
#include <stdlib.h>
#endif

enum { LARGE = 20000, SLOT = LARGE + 8, TAG = 1, TAG_COUNT = 2 };

struct data {
    struct test_check check;
    unsigned char *windows; /* a SLOT for each sender, for each rank of the device */
    unsigned char *sources; /* LARGE + 8 * count bytes a rank */
    uint32_t ranks, count;
};

/* How many bytes the i-th put carries: inline, more than a command line, more than a ring. */
WEFT_DEVICE_FN size_t size_at(uint32_t i)
{
    return i % 50 == 49 ? LARGE : i % 7 == 0 ? 1500 : i % 3 == 0 ? 200 : 8;
}

/* What every flood sends: the pattern, and behind it the numbers 1 .. count. */
WEFT_DEVICE_FN unsigned char *fill_source(weft_self *self, struct data *user)
{
    unsigned char *source = test_mine(self, user->sources, LARGE + 8 * (size_t)user->count);
    uint64_t *numbers = (uint64_t *)(source + LARGE);

    test_fill(self, source, LARGE, (uint64_t)weft_rank(self, WEFT_COMM_WORLD));
    weft_for (i, user->count)
        numbers[i] = i + 1;
    weft_sync(self);
    return source;
}

WEFT_DEVICE_FN void flood(weft_self *self, struct data *user, weft_win win,
                          const unsigned char *source)
{
    const int n = weft_size(self, WEFT_COMM_WORLD), me = weft_rank(self, WEFT_COMM_WORLD);
    const size_t slot = (size_t)me * SLOT;

    for (uint32_t i = 0; i < user->count; i++) {
        for (int to = 0; to < n; to++) {
            weft_put(self, win, to, slot, source, size_at(i));
            weft_put_notify(self, win, to, slot + LARGE, source + LARGE + 8 * i, 8, TAG);
            weft_notify(self, WEFT_COMM_WORLD, to, TAG_COUNT);
        }
    }
}

WEFT_KERNEL(full_kernel, struct data, user)
{
    const int n = weft_size(self, WEFT_COMM_WORLD);
    const size_t each = user->ranks * (size_t)SLOT;
    unsigned char *window = test_mine(self, user->windows, each);
    const unsigned char *source = fill_source(self, user);

    weft_enter(self);
    weft_win win = weft_win_create(self, WEFT_COMM_WORLD, window, each);
    CHECK(self, &user->check, win != WEFT_WIN_NONE);
    flood(self, user, win, source);
    weft_wait(self, TAG, user->count * (uint32_t)n);
    for (int r = 0; r < n; r++) {
        const unsigned char *slot = window + (size_t)r * SLOT;
        CHECK_EQ(self, &user->check, *(const uint64_t *)(slot + LARGE), user->count);
        CHECK_EQ(self, &user->check,
                 test_differs(self, slot, user->count >= 50 ? LARGE : 1500, (uint64_t)r), 0);
    }
    weft_wait(self, TAG_COUNT, user->count * (uint32_t)n);
    weft_barrier(self, WEFT_COMM_WORLD);
    /* Collectives through rings that are full. */
    flood(self, user, win, source);
    weft_comm comm = weft_comm_split(self, WEFT_COMM_WORLD, 0, 0);
    flood(self, user, win, source);
    weft_barrier(self, comm);
    weft_flush(self, win);
    weft_comm_free(self, &comm);
    weft_wait(self, TAG, 2 * user->count * (uint32_t)n);
    weft_wait(self, TAG_COUNT, 2 * user->count * (uint32_t)n);
    weft_barrier(self, WEFT_COMM_WORLD);
    CHECK_EQ(self, &user->check, weft_test(self, TAG, 1), 0);
    CHECK_EQ(self, &user->check, weft_test(self, TAG_COUNT, 1), 0);
    weft_win_free(self, &win);
    weft_leave(self);
    test_done(self, &user->check);
}

#ifndef __CUDACC__
/* The same among the host programs, which have no kernel to look after them. */
static void flood_hosts(struct test_env *env, uint32_t count)
{
    weft_job *job = env->job;
    const int n = env->numbers->processes, me = env->numbers->process;
    unsigned char *window = test_memory(env, TEST_PLAIN, (size_t)n * SLOT);
    unsigned char *source = test_memory(env, TEST_HOST, LARGE);
    unsigned char *here = test_memory(env, TEST_HOST, (size_t)n * SLOT);
    weft_win win = WEFT_WIN_NONE;

    for (size_t i = 0; i < LARGE; i++)
        source[i] = test_byte((uint64_t)me, i);
    TEST_EQ(env, weft_host_win_create(job, window, (size_t)n * SLOT, &win), WEFT_OK);
    for (uint32_t i = 0; i < count; i++) {
        for (int to = 0; to < n; to++) {
            TEST_EQ(env,
                    weft_host_put(job, win, to, (size_t)me * SLOT, source, i % 9 == 8 ? LARGE : 50),
                    WEFT_OK);
            TEST_EQ(env, weft_host_notify(job, to, TAG), WEFT_OK);
        }
    }
    TEST_EQ(env, weft_host_wait(job, TAG, count * (uint32_t)n), WEFT_OK);
    TEST_EQ(env, weft_copy(job, here, window, (size_t)n * SLOT), WEFT_OK);
    for (int p = 0; p < n; p++) {
        for (size_t i = 0; i < (count > 8 ? (size_t)LARGE : 50); i++) {
            if (!TEST_EQ(env, here[(size_t)p * SLOT + i], test_byte((uint64_t)p, i)))
                break;
        }
    }
    TEST_EQ(env, weft_host_flush(job, win), WEFT_OK);
    TEST_EQ(env, weft_host_win_free(job, &win), WEFT_OK);
}

static int body(struct test_env *env)
{
    static const enum test_memory kinds[] = {TEST_MAPPED, TEST_PLAIN};

    if (!test_prepare(env, &full_kernel))
        return TEST_FAILED;
    const weft_numbers *n = env->numbers;
    struct data data = {
        .ranks = (uint32_t)n->ranks,
        .count = env->brief ? 8 : (n->ranks > 16 ? 10 : 100) * (uint32_t)env->scale,
    };
    data.sources =
        test_memory(env, TEST_PLAIN, (size_t)n->ranks_here * (LARGE + 8 * (size_t)data.count));
    for (size_t i = 0; i < 2; i++) {
        data.windows = test_memory(env, kinds[i], (size_t)n->ranks_here * (size_t)n->ranks * SLOT);
        test_run(env, &data, sizeof(data));
    }
    flood_hosts(env, env->brief ? 5 : 200 * (uint32_t)env->scale);
    return TEST_PASSED;
}

int main(int argc, char **argv)
{
    if (setenv("WEFT_COMMAND_RING", "32", 1) != 0 || setenv("WEFT_SHM_RING", "4096", 1) != 0)
        return TEST_FAILED;
    return test_main(argc, argv, body);
}
#endif
