/*
 * Several targets in one call: each is told once for each time it is in the list, after what the
 * rank put or stored before; puts of all sizes land where they belong, mixed with those that go one
 * by one, also to oneself; nothing for an empty list.
 */
#include "support/test.h"

enum { TAG_NEWS = 7, TAG_ITEM = 8, TAG_LONG = 9, WORDS = 64, MOST = 40, SIZES = 6 };
enum { LONGS = 4, LONG = 5008 }; /* long puts of a rank, and bytes that each has in a window */

struct data {
    struct test_check check;
    uint64_t *memory; /* 2 * bytes a rank: window, source */
    uint64_t window;  /* bytes */
    uint32_t rounds;
};

/* Everyone to everyone, and oneself twice, after a put to the next rank. */
WEFT_DEVICE_FN void check_notify(weft_self *self, struct data *user, weft_win win, uint64_t *window,
                                 uint64_t *source, uint64_t round)
{
    const int n = weft_size(self, WEFT_COMM_WORLD), me = weft_rank(self, WEFT_COMM_WORLD);
    const int before = (me + n - 1) % n;
    int targets[MOST];

    weft_for (i, WORDS)
        source[i] = 1000 * round + (uint64_t)me + i;
    weft_put(self, win, (me + 1) % n, 0, source, WORDS * sizeof(uint64_t));
    for (int first = 0; first < n; first += MOST - 1) {
        int count = 0;
        for (int to = first; to < n && count < MOST - 1; to++)
            targets[count++] = (to + me) % n;
        if (first == 0)
            targets[count++] = me;
        weft_notify_many(self, WEFT_COMM_WORLD, targets, count, TAG_NEWS);
    }
    weft_notify_many(self, WEFT_COMM_WORLD, NULL, 0, TAG_NEWS);
    weft_wait(self, TAG_NEWS, (uint32_t)n + 1);
    weft_for (i, WORDS)
        CHECK_EQ(self, &user->check, window[i], 1000 * round + (uint64_t)before + i);
}

/* The size of the put from one rank to another: mostly one store, sometimes not. */
WEFT_DEVICE_FN size_t size_of(int from, int to, uint64_t round)
{
    const size_t sizes[SIZES] = {8, 4, 8, 24, 2, 0};
    return sizes[((uint64_t)(from + 3 * to) + round) % SIZES];
}

WEFT_DEVICE_FN unsigned char byte_of(int from, int to, uint64_t round, size_t i)
{
    return (unsigned char)((uint64_t)(7 * from + 13 * to) + 5 * round + i);
}

/* Everyone to everyone: 32 bytes of the window for each sender. */
WEFT_DEVICE_FN void check_put(weft_self *self, struct data *user, weft_win win,
                              const unsigned char *window, unsigned char *source, uint64_t round)
{
    const int n = weft_size(self, WEFT_COMM_WORLD), me = weft_rank(self, WEFT_COMM_WORLD);
    weft_put_item items[MOST];

    weft_for (i, (uint64_t)n * 32)
        source[i] = byte_of(me, (int)(i / 32), round, i % 32);
    for (int first = 0; first < n; first += MOST) {
        int count = 0;
        for (int to = first; to < n && count < MOST; to++) {
            weft_put_item *item = &items[count++];
            item->source = source + 32 * (size_t)to;
            item->bytes = size_of(me, to, round);
            item->offset = 32 * (size_t)me;
            item->target = to;
            item->tag = TAG_ITEM;
        }
        weft_put_notify_many(self, win, items, count);
    }
    weft_put_notify_many(self, win, NULL, 0);
    weft_wait(self, TAG_ITEM, (uint32_t)n);
    weft_for (from, n)
        for (size_t i = 0; i < size_of((int)from, me, round); i++)
            CHECK_EQ(self, &user->check, window[32 * from + i], byte_of((int)from, me, round, i));
}

/* To both neighbours and to oneself: sizes and addresses of all kinds. */
WEFT_DEVICE_FN void check_long(weft_self *self, struct data *user, weft_win win,
                               const unsigned char *window, unsigned char *source, uint64_t round)
{
    const int n = weft_size(self, WEFT_COMM_WORLD), me = weft_rank(self, WEFT_COMM_WORLD);
    const int away[LONGS] = {1, n - 1, 0, 1};
    const size_t bytes[LONGS] = {5000, 1024, 40, 9}, odd[LONGS] = {0, 0, 8, 1};
    weft_put_item items[LONGS];

    weft_for (i, LONGS * LONG)
        source[i] = byte_of(me, (int)(i / LONG), round, i % LONG);
    for (int k = 0; k < LONGS; k++) {
        items[k].source = source + k * LONG + odd[k];
        items[k].bytes = bytes[k];
        items[k].offset = (size_t)k * LONG;
        items[k].target = (me + away[k]) % n;
        items[k].tag = TAG_LONG;
    }
    weft_put_notify_many(self, win, items, LONGS);
    weft_wait(self, TAG_LONG, LONGS);
    for (int k = 0; k < LONGS; k++) {
        const int from = (me + n - away[k]) % n;
        weft_for (i, bytes[k])
            CHECK_EQ(self, &user->check, window[(size_t)k * LONG + i],
                     byte_of(from, k, round, i + odd[k]));
    }
}

WEFT_KERNEL(many_kernel, struct data, user)
{
    unsigned char *window =
        (unsigned char *)test_mine(self, user->memory, (size_t)(2 * user->window));
    unsigned char *source = window + user->window;

    weft_enter(self);
    weft_win win = weft_win_create(self, WEFT_COMM_WORLD, window, (size_t)user->window);
    CHECK(self, &user->check, win != WEFT_WIN_NONE);
    for (uint32_t round = 0; round < user->rounds; round++) {
        check_notify(self, user, win, (uint64_t *)window, (uint64_t *)source, round);
        weft_flush_local(self, win);
        weft_barrier(self, WEFT_COMM_WORLD); /* all have read their windows */
        check_long(self, user, win, window, source, round);
        weft_flush_local(self, win);
        weft_barrier(self, WEFT_COMM_WORLD);
        check_put(self, user, win, window, source, round);
        weft_flush_local(self, win);
        weft_barrier(self, WEFT_COMM_WORLD);
    }
    CHECK_EQ(self, &user->check, weft_test(self, TAG_NEWS, 1), 0); /* and nothing is left */
    CHECK_EQ(self, &user->check, weft_test(self, TAG_ITEM, 1), 0);
    weft_win_free(self, &win);
    weft_leave(self);
    test_done(self, &user->check);
}

#ifndef __CUDACC__
static int body(struct test_env *env)
{
    static const enum test_memory kinds[] = {TEST_MAPPED, TEST_PLAIN};

    if (!test_prepare(env, &many_kernel))
        return TEST_FAILED;
    for (size_t i = 0; i < 2; i++) {
        const size_t slots = 32 * (size_t)env->numbers->ranks;
        struct data data = {.window = slots > LONGS * LONG ? slots : LONGS * LONG,
                            .rounds = env->brief || env->numbers->ranks > 32 ? 2 : 12};
        data.memory =
            test_memory(env, kinds[i], (size_t)env->numbers->ranks_here * 2 * (size_t)data.window);
        test_run(env, &data, sizeof(data));
    }
    return TEST_PASSED;
}

TEST_MAIN(body)
#endif
