/*
 * wait_until: every comparison, 32 and 64 bits, on small puts and on stores of the same device;
 * aligned puts of up to 8 bytes arrive undivided.
 */
#include "support/test.h"

enum { WORDS = 32, TAG = 7 };

struct data {
    struct test_check check;
    uint64_t *memory; /* 2 * WORDS a rank: window, source */
    uint32_t rounds;
};

WEFT_DEVICE_FN void put_u64(weft_self *self, weft_win win, int to, size_t word, uint64_t *source,
                            uint64_t value)
{
    weft_flush_local(self, win);
    weft_sync(self);
    *source = value;
    weft_put(self, win, to, word * 8, source, 8);
}

/* The next rank's word goes 0, 5, 9, 3; each value is awaited by another comparison. */
WEFT_DEVICE_FN void check_compares(weft_self *self, struct data *user, weft_win win)
{
    const int n = weft_size(self, WEFT_COMM_WORLD), me = weft_rank(self, WEFT_COMM_WORLD);
    const int to = (me + 1) % n, from = (me + n - 1) % n;
    uint64_t *window = (uint64_t *)test_mine(self, user->memory, 2 * WORDS * 8);
    const uint64_t big = (uint64_t)1 << 40; /* the upper half counts too */

    weft_wait_until(self, window, WEFT_EQ, 0);
    weft_wait_until(self, window, WEFT_LT, 1);
    weft_wait_until(self, window, WEFT_LE, 0);
    weft_wait_until(self, window, WEFT_GE, 0);
    weft_wait_until(self, window, WEFT_NE, 1);
    weft_barrier(self, WEFT_COMM_WORLD);
    put_u64(self, win, to, 0, window + WORDS, big + 5);
    weft_wait_until(self, window, WEFT_NE, 0);
    CHECK_EQ(self, &user->check, *window, big + 5);
    weft_notify(self, WEFT_COMM_WORLD, from, TAG);
    weft_wait(self, TAG, 1);
    put_u64(self, win, to, 0, window + WORDS, big + 9);
    weft_wait_until(self, window, WEFT_GT, big + 8);
    weft_wait_until(self, window, WEFT_GE, big + 9);
    weft_notify(self, WEFT_COMM_WORLD, from, TAG);
    weft_wait(self, TAG, 1);
    put_u64(self, win, to, 0, window + WORDS, 3);
    weft_wait_until(self, window, WEFT_LT, 4);
    weft_wait_until(self, window, WEFT_LE, 3);
    weft_wait_until(self, window, WEFT_EQ, 3);
    weft_barrier(self, WEFT_COMM_WORLD);
}

WEFT_DEVICE_FN void check_u32(weft_self *self, struct data *user, weft_win win)
{
    const int n = weft_size(self, WEFT_COMM_WORLD), me = weft_rank(self, WEFT_COMM_WORLD);
    uint64_t *memory = (uint64_t *)test_mine(self, user->memory, 2 * WORDS * 8);
    const uint32_t *window = (const uint32_t *)(memory + 1);
    uint32_t *source = (uint32_t *)(memory + WORDS + 1);

    weft_sync(self);
    *source = 0xfffffff0u;
    weft_put(self, win, (me + 1) % n, 12, source, 4);            /* the upper half of word 1 */
    weft_wait_until_u32(self, window + 1, WEFT_GT, 0x80000000u); /* unsigned */
    weft_wait_until_u32(self, window + 1, WEFT_EQ, 0xfffffff0u);
    CHECK_EQ(self, &user->check, window[0], 0); /* the other half was not touched */
    weft_barrier(self, WEFT_COMM_WORLD);
}

/* A stream of values whose halves are equal, unsynchronised: none is seen half-written. */
WEFT_DEVICE_FN void check_undivided(weft_self *self, struct data *user, weft_win win)
{
    const int n = weft_size(self, WEFT_COMM_WORLD), me = weft_rank(self, WEFT_COMM_WORLD);
    uint64_t *window = (uint64_t *)test_mine(self, user->memory, 2 * WORDS * 8);
    uint64_t last = 0;

    for (uint64_t i = 1; i <= user->rounds; i++) {
        put_u64(self, win, (me + 1) % n, 2, window + WORDS + 2, i << 32 | i);
        const uint64_t seen = test_peek_u64(window + 2);
        CHECK_EQ(self, &user->check, seen >> 32, seen & 0xffffffffu);
        CHECK(self, &user->check, seen >= last); /* no older value over a newer one */
        last = seen;
    }
    weft_wait_until(self, window + 2, WEFT_EQ,
                    (uint64_t)user->rounds << 32 | (uint64_t)user->rounds);
    weft_barrier(self, WEFT_COMM_WORLD);
}

WEFT_KERNEL(wait_until_kernel, struct data, user)
{
    weft_enter(self);
    weft_win win = weft_win_create(self, WEFT_COMM_WORLD,
                                   test_mine(self, user->memory, 2 * WORDS * 8), WORDS * 8);
    CHECK(self, &user->check, win != WEFT_WIN_NONE);
    check_compares(self, user, win);
    check_u32(self, user, win);
    check_undivided(self, user, win);
    weft_win_free(self, &win);
    weft_leave(self);
    test_done(self, &user->check);
}

#ifndef __CUDACC__
static int body(struct test_env *env)
{
    static const enum test_memory kinds[] = {TEST_MAPPED, TEST_PLAIN};

    if (!test_prepare(env, &wait_until_kernel))
        return TEST_FAILED;
    for (size_t i = 0; i < 2; i++) {
        struct data data = {
            .memory = test_memory(env, kinds[i], (size_t)env->numbers->ranks_here * 2 * WORDS * 8),
            .rounds = env->brief ? 8 : 500 * (uint32_t)env->scale};
        test_run(env, &data, sizeof(data));
    }
    return TEST_PASSED;
}

TEST_MAIN(body)
#endif
