/*
 * Every rank sends 26 small messages, one for each neighbour that a cell of a cubic grid has, to
 * every other rank at once, before it waits for any: the exchange of a stencil code, where bursts
 * of small messages must neither be lost nor block each other, however few the network holds.
 */
#include "support/test.h"

enum { DIRECTIONS = 26, SLOT = 64, HALVES = 2 };

struct data {
    struct test_check check;
    unsigned char *window; /* of each rank: HALVES x ranks x DIRECTIONS slots */
    unsigned char *source; /* of each rank: HALVES x DIRECTIONS slots */
    uint32_t rounds;
    int32_t ranks;
};

WEFT_DEVICE_FN inline size_t bytes_of(uint32_t round, int direction)
{
    return (size_t)1 << (((uint32_t)direction + round) % 7); /* 1, 2, ... 64 */
}

WEFT_DEVICE_FN inline uint64_t key_of(int from, uint32_t round, int direction)
{
    return ((uint64_t)from * 1000 + round) * DIRECTIONS + (uint64_t)direction;
}

WEFT_DEVICE_FN inline size_t slot_of(const struct data *user, uint32_t round, int from,
                                     int direction)
{
    return (((size_t)(round % HALVES) * (size_t)user->ranks + (size_t)from) * DIRECTIONS +
            (size_t)direction) *
           SLOT;
}

/* Some are a round ahead already; what they send must not be counted for this one. */
WEFT_DEVICE_FN inline uint8_t tag_of(uint32_t round, int direction)
{
    return (uint8_t)(round % HALVES * DIRECTIONS + (uint32_t)direction);
}

/* All messages of a round, to all others. */
WEFT_DEVICE_FN void send_round(weft_self *self, struct data *user, weft_win win,
                               unsigned char *source, uint32_t round)
{
    const int n = weft_size(self, WEFT_COMM_WORLD), me = weft_rank(self, WEFT_COMM_WORLD);
    unsigned char *half = source + (size_t)(round % HALVES) * DIRECTIONS * SLOT;

    weft_flush_local(self, win);
    for (int d = 0; d < DIRECTIONS; d++)
        test_fill(self, half + (size_t)d * SLOT, bytes_of(round, d), key_of(me, round, d));
    for (int away = 1; away < n; away++)
        for (int d = 0; d < DIRECTIONS; d++)
            weft_put_notify(self, win, (me + away) % n, slot_of(user, round, me, d),
                            half + (size_t)d * SLOT, bytes_of(round, d), tag_of(round, d));
}

WEFT_KERNEL(neighbours_kernel, struct data, user)
{
    const int n = weft_size(self, WEFT_COMM_WORLD), me = weft_rank(self, WEFT_COMM_WORLD);
    const size_t each = (size_t)HALVES * (size_t)user->ranks * DIRECTIONS * SLOT;
    unsigned char *window = test_mine(self, user->window, each);
    unsigned char *source =
        test_mine(self, user->source, (size_t)HALVES * (size_t)DIRECTIONS * (size_t)SLOT);

    weft_enter(self);
    weft_win win = weft_win_create(self, WEFT_COMM_WORLD, window, each);
    CHECK(self, &user->check, win != WEFT_WIN_NONE);
    /* Nobody is more than a round ahead of another: two halves are enough. */
    for (uint32_t round = 0; round < user->rounds; round++) {
        send_round(self, user, win, source, round);
        for (int d = DIRECTIONS - 1; d >= 0; d--)
            weft_wait(self, tag_of(round, d), (uint32_t)(n - 1));
        for (int from = 0; from < n; from++)
            for (int d = 0; d < DIRECTIONS && from != me; d++)
                CHECK_EQ(self, &user->check,
                         test_differs(self, window + slot_of(user, round, from, d),
                                      bytes_of(round, d), key_of(from, round, d)),
                         0);
    }
    weft_win_free(self, &win);
    weft_leave(self);
    test_done(self, &user->check);
}

#ifndef __CUDACC__
static int body(struct test_env *env)
{
    struct data data = {.rounds = env->brief ? 2 : 10 * (uint32_t)env->scale};

    if (!test_prepare(env, &neighbours_kernel))
        return TEST_FAILED;
    data.ranks = env->numbers->ranks;
    const size_t here = (size_t)env->numbers->ranks_here;
    data.window =
        test_memory(env, TEST_MAPPED, here * HALVES * (size_t)data.ranks * DIRECTIONS * SLOT);
    data.source = test_memory(env, TEST_PLAIN, here * HALVES * DIRECTIONS * SLOT);
    test_run(env, &data, sizeof(data));
    return TEST_PASSED;
}

TEST_MAIN(body)
#endif
