/*
 * flush_local: the source may be reused. flush: the data is at its target, so that a third rank,
 * told by this one, finds it there, and so that a plain store to a flag may follow it.
 */
#include "support/test.h"

enum {
    BYTES = 3000,
    SLOTS = 8,
    EACH = BYTES * SLOTS + 64,
    TAG_DATA = 1,
    TAG_FREE = 2,
    TAG_ASK = 3
};

struct data {
    struct test_check check;
    unsigned char *windows, *sources; /* EACH bytes a rank */
    uint32_t rounds;
};

/* One source for many puts, written anew after each flush_local. */
WEFT_DEVICE_FN void check_local(weft_self *self, struct data *user, weft_win win)
{
    const int n = weft_size(self, WEFT_COMM_WORLD), me = weft_rank(self, WEFT_COMM_WORLD);
    const int to = (me + 1) % n, from = (me + n - 1) % n;
    unsigned char *source = test_mine(self, user->sources, EACH);
    unsigned char *window = test_mine(self, user->windows, EACH);

    weft_notify(self, WEFT_COMM_WORLD, from, TAG_FREE);
    for (uint32_t round = 0; round < user->rounds; round++) {
        weft_wait(self, TAG_FREE, 1);
        for (size_t slot = 0; slot < SLOTS; slot++) {
            const size_t bytes = slot % 2 == 0 ? BYTES : 40; /* inline, and not */
            test_fill(self, source, bytes, round * SLOTS + slot + (uint64_t)me * 7919);
            weft_put(self, win, to, slot * BYTES, source, bytes);
            weft_flush_local(self, win);
        }
        test_clear(self, source, BYTES);
        weft_notify(self, WEFT_COMM_WORLD, to, TAG_DATA);
        weft_wait(self, TAG_DATA, 1);
        for (size_t slot = 0; slot < SLOTS; slot++)
            CHECK_EQ(self, &user->check,
                     test_differs(self, window + slot * BYTES, slot % 2 == 0 ? BYTES : 40,
                                  round * SLOTS + slot + (uint64_t)from * 7919),
                     0);
        weft_notify(self, WEFT_COMM_WORLD, from, TAG_FREE);
    }
    weft_wait(self, TAG_FREE, 1);
}

/* Rank r puts to r + 1, flushes, and tells r + 2, who asks r + 1 to look: it must be there. */
WEFT_DEVICE_FN void check_third(weft_self *self, struct data *user, weft_win win)
{
    const int n = weft_size(self, WEFT_COMM_WORLD), me = weft_rank(self, WEFT_COMM_WORLD);
    unsigned char *source = test_mine(self, user->sources, EACH);
    unsigned char *window = test_mine(self, user->windows, EACH);

    for (uint32_t round = 0; round < user->rounds; round++) {
        test_fill(self, source, BYTES, round + (uint64_t)me * 31);
        weft_put(self, win, (me + 1) % n, 0, source, BYTES);
        weft_flush(self, win);
        weft_notify(self, WEFT_COMM_WORLD, (me + 2) % n, TAG_DATA);
        weft_wait(self, TAG_DATA, 1);
        weft_notify(self, WEFT_COMM_WORLD, (me + n - 1) % n, TAG_ASK);
        weft_wait(self, TAG_ASK, 1);
        CHECK_EQ(self, &user->check,
                 test_differs(self, window, BYTES, round + (uint64_t)((me + n - 1) % n) * 31), 0);
        weft_barrier(self, WEFT_COMM_WORLD);
    }
}

/* Data, then a plain small put as a flag that the target polls, with a flush or a fence between. */
WEFT_DEVICE_FN void check_flag(weft_self *self, struct data *user, weft_win win)
{
    const int n = weft_size(self, WEFT_COMM_WORLD), me = weft_rank(self, WEFT_COMM_WORLD);
    const int to = (me + 1) % n, from = (me + n - 1) % n;
    unsigned char *source = test_mine(self, user->sources, EACH);
    unsigned char *window = test_mine(self, user->windows, EACH);
    const size_t flag = BYTES * SLOTS; /* a multiple of 8 */
    uint64_t *number = (uint64_t *)(source + flag);

    weft_notify(self, WEFT_COMM_WORLD, from, TAG_FREE);
    for (uint32_t round = 1; round <= user->rounds; round++) {
        weft_wait(self, TAG_FREE, 1);
        weft_flush_local(self, win);
        test_fill(self, source, BYTES, round + (uint64_t)me * 17);
        weft_sync(self);
        *number = round;
        weft_put(self, win, to, 0, source, BYTES);
        if (round % 2 == 0)
            weft_flush(self, win);
        else
            weft_fence(self);
        weft_put(self, win, to, flag, number, sizeof(*number));
        weft_wait_until(self, (const uint64_t *)(window + flag), WEFT_EQ, round);
        CHECK_EQ(self, &user->check, test_differs(self, window, BYTES, round + (uint64_t)from * 17),
                 0);
        weft_notify(self, WEFT_COMM_WORLD, from, TAG_FREE);
    }
    weft_wait(self, TAG_FREE, 1);
}

WEFT_KERNEL(flush_kernel, struct data, user)
{
    weft_enter(self);
    weft_win win =
        weft_win_create(self, WEFT_COMM_WORLD, test_mine(self, user->windows, EACH), EACH);
    CHECK(self, &user->check, win != WEFT_WIN_NONE);
    check_local(self, user, win);
    weft_barrier(self, WEFT_COMM_WORLD);
    check_third(self, user, win);
    check_flag(self, user, win);
    weft_win_free(self, &win);
    weft_leave(self);
    test_done(self, &user->check);
}

#ifndef __CUDACC__
static int body(struct test_env *env)
{
    static const enum test_memory kinds[] = {TEST_MAPPED, TEST_PLAIN};

    if (!test_prepare(env, &flush_kernel))
        return TEST_FAILED;
    for (size_t i = 0; i < 2; i++) {
        const size_t bytes = (size_t)env->numbers->ranks_here * EACH;
        struct data data = {.windows = test_memory(env, kinds[i], bytes),
                            .sources = test_memory(env, kinds[1 - i], bytes),
                            .rounds = env->brief ? 2 : 20 * (uint32_t)env->scale};
        test_run(env, &data, sizeof(data));
    }
    return TEST_PASSED;
}

TEST_MAIN(body)
#endif
