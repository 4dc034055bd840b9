/*
 * Waiting for any, some or all of several words, and looking without waiting; what the writers had
 * fenced before is there. And notifications with a value: whoever consumes them sees the values.
 */
#include "support/test.h"

enum { MOST_RANKS = 64, TAG = 3 };

/* A rank's window, and what it puts from. */
struct memory {
    uint64_t flags[MOST_RANKS], data[MOST_RANKS];
    uint32_t values[MOST_RANKS];
    uint64_t flag, datum;
    unsigned char status[MOST_RANKS];
};

struct data {
    struct test_check check;
    unsigned char *memory;
    uint32_t rounds;
};

WEFT_DEVICE_FN void put_all(weft_self *self, weft_win win, struct memory *mine, uint64_t round)
{
    const int n = weft_size(self, WEFT_COMM_WORLD), me = weft_rank(self, WEFT_COMM_WORLD);
    const size_t at = (size_t)me * sizeof(uint64_t);

    if (weft_thread(self) == 0) {
        mine->flag = round + 1;
        mine->datum = round * 1000 + (uint64_t)me;
    }
    weft_sync(self);
    for (int k = 0; k < n; k++)
        weft_put(self, win, (me + k) % n, offsetof(struct memory, data) + at, &mine->datum, 8);
    weft_fence(self);
    for (int k = 0; k < n; k++)
        weft_put(self, win, (me + k) % n, offsetof(struct memory, flags) + at, &mine->flag, 8);
    for (int k = 0; k < n; k++)
        weft_notify_value(self, win, (me + k) % n,
                          offsetof(struct memory, values) + (size_t)me * sizeof(uint32_t),
                          (uint32_t)(round * 100 + (uint64_t)me), TAG);
}

WEFT_DEVICE_FN void take_all(weft_self *self, struct test_check *check, struct memory *mine,
                             uint64_t round)
{
    const int n = weft_size(self, WEFT_COMM_WORLD);
    const int least = round % 3 == 0 ? 1 : round % 3 == 1 ? (n + 1) / 2 : n;
    int found;

    weft_for (i, MOST_RANKS)
        mine->status[i] = 0;
    weft_sync(self);
    for (int taken = 0; taken < n; taken += found) {
        int new_ones = 0;
        const int open = n - taken;
        found = weft_wait_where(self, mine->flags, n, least < open ? least : open, WEFT_GE,
                                round + 1, mine->status);
        CHECK(self, check, found >= (least < open ? least : open));
        for (int i = 0; i < n; i++) {
            new_ones += mine->status[i] == 1;
            if (mine->status[i] == 1)
                CHECK_EQ(self, check, mine->data[i], round * 1000 + (uint64_t)i);
        }
        CHECK_EQ(self, check, new_ones, found);
        weft_sync(self);
        weft_for (i, n)
            mine->status[i] = mine->status[i] != 0 ? 2 : 0;
        weft_sync(self);
    }
    CHECK_EQ(self, check, weft_wait_where(self, mine->flags, n, 0, WEFT_GE, 0, mine->status), 0);
    weft_wait(self, TAG, (uint32_t)n);
    for (int i = 0; i < n; i++)
        CHECK_EQ(self, check, mine->values[i], round * 100 + (uint64_t)i);
}

WEFT_KERNEL(wait_where_kernel, struct data, user)
{
    struct memory *mine = (struct memory *)(void *)test_mine(self, user->memory, sizeof(*mine));

    weft_enter(self);
    test_clear(self, (unsigned char *)mine, sizeof(*mine));
    weft_win win = weft_win_create(self, WEFT_COMM_WORLD, mine, offsetof(struct memory, flag));
    weft_barrier(self, WEFT_COMM_WORLD);
    CHECK_EQ(self, &user->check, weft_wait_where(self, NULL, 0, 0, WEFT_EQ, 0, NULL), 0);
    for (uint64_t round = 0; round < user->rounds; round++) {
        put_all(self, win, mine, round);
        while (round % 4 == 3 && weft_wait_where(self, mine->flags, 1, 0, WEFT_EQ, round + 1,
                                                 mine->status + MOST_RANKS - 1) == 0)
            continue; /* the last byte is 0, or becomes 1 */
        take_all(self, &user->check, mine, round);
        weft_flush(self, win);
        weft_barrier(self, WEFT_COMM_WORLD);
    }
    weft_win_free(self, &win);
    weft_leave(self);
    test_done(self, &user->check);
}

#ifndef __CUDACC__
static int body(struct test_env *env)
{
    static const enum test_memory kinds[] = {TEST_MAPPED, TEST_PLAIN};

    env->ranks = env->ranks * env->numbers->processes <= MOST_RANKS
                     ? env->ranks
                     : MOST_RANKS / env->numbers->processes;
    if (!test_prepare(env, &wait_where_kernel))
        return TEST_FAILED;
    for (size_t i = 0; i < 2; i++) {
        struct data data = {.rounds = env->brief ? 6 : 60};
        data.memory =
            test_memory(env, kinds[i], (size_t)env->numbers->ranks_here * sizeof(struct memory));
        test_run(env, &data, sizeof(data));
    }
    return TEST_PASSED;
}

TEST_MAIN(body)
#endif
