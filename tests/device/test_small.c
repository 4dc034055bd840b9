/*
 * Small notified puts for ranks that wait, as they come through the host: every size that travels
 * another way, at odd places; now and then a plain put over the same place, which comes later, and
 * one that is large. Nothing beside them is touched.
 */
#include "support/test.h"

enum { AT = 64, LARGE = 9000, OFFSETS = 17, EACH = AT + LARGE + OFFSETS + 64 };
enum { TAG_DATA = 1, TAG_FREE = 2 };

struct data {
    struct test_check check;
    unsigned char *windows, *sources; /* EACH bytes a rank, and twice that */
    uint32_t rounds;
};

/* Within a command, in the lines behind it, and too large for these. */
WEFT_DEVICE_FN size_t size_of(uint32_t round)
{
    const uint16_t sizes[] = {0,  1,  2,  3,   4,   5,   7,   8,    9,    12,   15,   16,
                              17, 24, 63, 100, 223, 225, 511, 1000, 1023, 1024, 1025, LARGE};

    return sizes[round % (sizeof(sizes) / sizeof(sizes[0]))];
}

/* The key of a round; newer: of what is put over it. */
WEFT_DEVICE_FN uint64_t key_of(int from, uint32_t round, int newer)
{
    return ((uint64_t)from * 1000003 + round) * 2 + (uint64_t)newer;
}

WEFT_DEVICE_FN void send(weft_self *self, struct data *user, weft_win win, int to, uint32_t round)
{
    const int me = weft_rank(self, WEFT_COMM_WORLD);
    unsigned char *source = test_mine(self, user->sources, 2 * EACH) + round % 5;
    const size_t bytes = size_of(round), at = AT + round % OFFSETS;

    weft_flush_local(self, win);
    test_fill(self, source, bytes, key_of(me, round, 0));
    weft_put_notify(self, win, to, at, source, bytes, TAG_DATA);
    if (round % 3 != 0)
        return;
    test_fill(self, source + EACH, bytes / 2, key_of(me, round, 1));
    weft_put(self, win, to, at, source + EACH, bytes / 2);
    weft_notify(self, WEFT_COMM_WORLD, to, TAG_DATA);
}

WEFT_DEVICE_FN void receive(weft_self *self, struct data *user, int from, uint32_t round)
{
    unsigned char *window = test_mine(self, user->windows, EACH);
    const size_t bytes = size_of(round), at = AT + round % OFFSETS;
    const size_t newer = round % 3 == 0 ? bytes / 2 : 0;

    weft_wait(self, TAG_DATA, round % 3 == 0 ? 2 : 1);
    CHECK_EQ(self, &user->check, test_differs(self, window + at, newer, key_of(from, round, 1)), 0);
    test_will_read(window + at, bytes);
    size_t wrong = 0;
    weft_for (i, bytes)
        wrong += i >= newer && window[at + i] != test_byte(key_of(from, round, 0), i);
    CHECK_EQ(self, &user->check, wrong, 0);
    CHECK_EQ(self, &user->check, test_differs_from(self, window, at, 0), 0);
    CHECK_EQ(self, &user->check, test_differs_from(self, window + at + bytes, EACH - at - bytes, 0),
             0);
    test_clear(self, window, EACH);
    weft_notify(self, WEFT_COMM_WORLD, from, TAG_FREE);
}

WEFT_KERNEL(small_kernel, struct data, user)
{
    const int n = weft_size(self, WEFT_COMM_WORLD), me = weft_rank(self, WEFT_COMM_WORLD);
    const int to = (me + n / 2) % n, from = (me + n - n / 2) % n;

    weft_enter(self);
    weft_win win =
        weft_win_create(self, WEFT_COMM_WORLD, test_mine(self, user->windows, EACH), EACH);
    CHECK(self, &user->check, win != WEFT_WIN_NONE);
    test_clear(self, test_mine(self, user->windows, EACH), EACH);
    weft_notify(self, WEFT_COMM_WORLD, from, TAG_FREE);
    for (uint32_t round = 0; round < user->rounds; round++) {
        weft_wait(self, TAG_FREE, 1);
        send(self, user, win, to, round);
        receive(self, user, from, round);
    }
    weft_wait(self, TAG_FREE, 1);
    weft_win_free(self, &win);
    weft_leave(self);
    test_done(self, &user->check);
}

#ifndef __CUDACC__
static int body(struct test_env *env)
{
    if (!test_prepare(env, &small_kernel))
        return TEST_FAILED;
    const size_t ranks = (size_t)env->numbers->ranks_here;
    struct data data = {.windows = test_memory(env, TEST_MAPPED, ranks * EACH),
                        .sources = test_memory(env, TEST_MAPPED, ranks * 2 * EACH),
                        .rounds = env->brief ? 24 : 480 * (uint32_t)env->scale};
    test_run(env, &data, sizeof(data));
    return TEST_PASSED;
}

TEST_MAIN(body)
#endif
