/*
 * Windows over mapped, plain and registered memory, used by turns between the same two ranks, and
 * windows whose members differ in that: everything takes effect in the order sent, whichever path
 * each message takes. (tests/stress/test_order.c attacks the same at random.)
 */
#include "support/test.h"

enum { KINDS = 3, BYTES = 1000, EACH = 2 * BYTES, TAG = 20, TAG_FREE = 21 };

struct data {
    struct test_check check;
    unsigned char *memory[KINDS]; /* EACH bytes a rank: window, source */
    uint32_t rounds;
};

/* Puts to each window in turn, the last one tells; all earlier ones must be there. */
WEFT_DEVICE_FN void check_turns(weft_self *self, struct data *user, const weft_win *win)
{
    const int n = weft_size(self, WEFT_COMM_WORLD), me = weft_rank(self, WEFT_COMM_WORLD);
    const int to = (me + 1) % n, from = (me + n - 1) % n;

    weft_notify(self, WEFT_COMM_WORLD, from, TAG_FREE);
    for (uint32_t round = 0; round < user->rounds; round++) {
        const size_t bytes = round % 3 == 0 ? 8 : round % 3 == 1 ? 200 : BYTES;
        for (int k = 0; k < KINDS; k++) {
            weft_flush_local(self, win[k]);
            test_fill(self, test_mine(self, user->memory[k], EACH) + BYTES, bytes,
                      round * 5 + (uint64_t)(me * KINDS + k));
        }
        weft_wait(self, TAG_FREE, 1);
        for (uint32_t k = round; k < round + KINDS; k++) {
            const unsigned char *source = test_mine(self, user->memory[k % KINDS], EACH) + BYTES;
            if (k == round + KINDS - 1)
                weft_put_notify(self, win[k % KINDS], to, 0, source, bytes, TAG);
            else
                weft_put(self, win[k % KINDS], to, 0, source, bytes);
        }
        weft_wait(self, TAG, 1);
        for (int k = 0; k < KINDS; k++)
            CHECK_EQ(self, &user->check,
                     test_differs(self, test_mine(self, user->memory[k], EACH), bytes,
                                  round * 5 + (uint64_t)(from * KINDS + k)),
                     0);
        weft_notify(self, WEFT_COMM_WORLD, from, TAG_FREE);
    }
    weft_wait(self, TAG_FREE, 1);
}

WEFT_KERNEL(mixed_kernel, struct data, user)
{
    const int me = weft_rank(self, WEFT_COMM_WORLD);
    weft_win win[KINDS];

    weft_enter(self);
    for (int k = 0; k < KINDS; k++) {
        win[k] =
            weft_win_create(self, WEFT_COMM_WORLD, test_mine(self, user->memory[k], EACH), BYTES);
        CHECK(self, &user->check, win[k] != WEFT_WIN_NONE);
    }
    check_turns(self, user, win);
    for (int k = 0; k < KINDS; k++)
        weft_win_free(self, &win[k]);
    /* Now each rank exposes another kind in each window. */
    unsigned char *swap[KINDS];
    for (int k = 0; k < KINDS; k++)
        swap[k] = test_mine(self, user->memory[(k + me) % KINDS], EACH);
    for (int k = 0; k < KINDS; k++)
        win[k] = weft_win_create(self, WEFT_COMM_WORLD, swap[k], BYTES);
    weft_barrier(self, WEFT_COMM_WORLD);
    for (int k = 0; k < KINDS; k++) {
        const int n = weft_size(self, WEFT_COMM_WORLD);
        unsigned char *source = test_mine(self, user->memory[k], EACH) + BYTES;
        test_fill(self, source, BYTES, (uint64_t)(900 + me * KINDS + k));
        weft_put_notify(self, win[k], (me + 1) % n, 0, source, BYTES, TAG);
        weft_wait(self, TAG, 1);
        CHECK_EQ(self, &user->check,
                 test_differs(self, swap[k], BYTES, (uint64_t)(900 + (me + n - 1) % n * KINDS + k)),
                 0);
    }
    for (int k = 0; k < KINDS; k++)
        weft_win_free(self, &win[k]);
    weft_leave(self);
    test_done(self, &user->check);
}

#ifndef __CUDACC__
static int body(struct test_env *env)
{
    static const enum test_memory kinds[KINDS] = {TEST_MAPPED, TEST_PLAIN, TEST_REGISTERED};
    struct data data = {.rounds = env->brief ? 4 : 60 * (uint32_t)env->scale};

    if (!test_prepare(env, &mixed_kernel))
        return TEST_FAILED;
    for (int k = 0; k < KINDS; k++)
        data.memory[k] = test_memory(env, kinds[k], (size_t)env->numbers->ranks_here * EACH);
    test_run(env, &data, sizeof(data));
    return TEST_PASSED;
}

TEST_MAIN(body)
#endif
