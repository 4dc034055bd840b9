/*
 * litmus/kernels.cu - the litmus kernels. In all of them a rank has one partner to send to and one
 * to receive from: the other rank of its process (near), or its counterpart in the other (far).
 */
#include "kernels.h"

enum { ROUNDS = 3, MEDIUM = 750 };

/* put_notify to a partner, who checks it and says that its buffer is free. */
WEFT_DEVICE_FN void exchange(weft_self *self, struct litmus_data *data, weft_win win,
                             unsigned char *window, int partner, size_t bytes)
{
    unsigned char *const source = test_mine(self, data->sources, LITMUS_EACH);
    const int me = weft_rank(self, WEFT_COMM_WORLD);

    for (int round = 0; round < ROUNDS; round++) {
        test_fill(self, source, bytes, key_of(me, round));
        weft_put_notify(self, win, partner, 0, source, bytes, DATA);
        weft_wait(self, DATA, 1);
        CHECK_EQ(self, &data->check, test_differs(self, window, bytes, key_of(partner, round)), 0);
        weft_notify(self, WEFT_COMM_WORLD, partner, FREE);
        weft_wait(self, FREE, 1);
        weft_flush_local(self, win);
    }
}

WEFT_KERNEL(litmus_near, struct litmus_data, data)
{
    weft_win win = window_over(self, data->mapped);
    exchange(self, data, win, test_mine(self, data->mapped, LITMUS_EACH),
             weft_rank(self, WEFT_COMM_WORLD) ^ 1, SMALL);
    weft_win_free(self, &win);
    test_done(self, &data->check);
}

WEFT_KERNEL(litmus_far, struct litmus_data, data)
{
    weft_win win = window_over(self, data->mapped);
    exchange(self, data, win, test_mine(self, data->mapped, LITMUS_EACH), far_partner(self), SMALL);
    exchange(self, data, win, test_mine(self, data->mapped, LITMUS_EACH), far_partner(self), LARGE);
    weft_win_free(self, &win);
    test_done(self, &data->check);
}

/* The same pair over both paths: each operation must wait for, or carry, those before it. */
WEFT_KERNEL(litmus_mixed, struct litmus_data, data)
{
    unsigned char *mapped = test_mine(self, data->mapped, LITMUS_EACH);
    unsigned char *plain = test_mine(self, data->plain, LITMUS_EACH);
    const int me = weft_rank(self, WEFT_COMM_WORLD), partner = far_partner(self);
    weft_win direct = window_over(self, data->mapped), proxied = window_over(self, data->plain);
    unsigned char *const source = test_mine(self, data->sources, LITMUS_EACH);

    for (int round = 0; round < ROUNDS; round++) {
        const uint64_t key = key_of(partner, round);
        test_fill(self, source, LARGE, key_of(me, round));
        weft_put(self, direct, partner, 0, source, SMALL);
        weft_put_notify(self, proxied, partner, 0, source, SMALL, DATA);
        weft_wait(self, DATA, 1);
        CHECK_EQ(self, &data->check, test_differs(self, mapped, SMALL, key), 0);
        CHECK_EQ(self, &data->check, test_differs(self, plain, SMALL, key), 0);

        weft_put(self, proxied, partner, HALF, source, LARGE);
        weft_put_notify(self, direct, partner, HALF, source, SMALL, DATA);
        weft_wait(self, DATA, 1);
        CHECK_EQ(self, &data->check, test_differs(self, plain + HALF, LARGE, key), 0);
        /* Passed on within the rank: random mode then checks the order of this read, too. */
        weft_put(self, proxied, me, 2 * SMALL, plain + HALF, LARGE);
        CHECK_EQ(self, &data->check, test_differs(self, mapped + HALF, SMALL, key), 0);

        weft_notify(self, WEFT_COMM_WORLD, partner, FREE);
        weft_wait(self, FREE, 1);
    }
    weft_win_free(self, &direct);
    weft_win_free(self, &proxied);
    test_done(self, &data->check);
}

/* A payload that may still be in a channel, then a plain put over it, which comes later. */
WEFT_KERNEL(litmus_over, struct litmus_data, data)
{
    unsigned char *mapped = test_mine(self, data->mapped, LITMUS_EACH);
    const int me = weft_rank(self, WEFT_COMM_WORLD), partner = far_partner(self);
    weft_win win = window_over(self, data->mapped);
    unsigned char *const source = test_mine(self, data->sources, LITMUS_EACH);
    unsigned char *const old = source + HALF;

    test_fill(self, old, MEDIUM, key_of(me, ROUNDS));
    for (int round = 0; round < 4 * ROUNDS; round++) {
        test_fill(self, source, MEDIUM, key_of(me, round));
        weft_put_notify(self, win, partner, HALF, old, MEDIUM, DATA);
        weft_put(self, win, partner, HALF, source, MEDIUM);
        weft_notify(self, WEFT_COMM_WORLD, partner, DATA);
        weft_wait(self, DATA, 2);
        CHECK_EQ(self, &data->check,
                 test_differs(self, mapped + HALF, MEDIUM, key_of(partner, round)), 0);
        weft_notify(self, WEFT_COMM_WORLD, partner, FREE);
        weft_wait(self, FREE, 1);
    }
    weft_win_free(self, &win);
    test_done(self, &data->check);
}

/* The source of a put is overwritten, by a put of its own, as soon as flush_local allows it. */
WEFT_KERNEL(litmus_reuse, struct litmus_data, data)
{
    unsigned char *mapped = test_mine(self, data->mapped, LITMUS_EACH);
    const int me = weft_rank(self, WEFT_COMM_WORLD), partner = far_partner(self);
    weft_win win = window_over(self, data->mapped);
    unsigned char *const next = test_mine(self, data->sources, LITMUS_EACH);

    test_fill(self, mapped + HALF, LARGE, key_of(me, 0));
    for (int round = 0; round < ROUNDS; round++) {
        weft_put_notify(self, win, partner, 0, mapped + HALF, LARGE, DATA);
        weft_flush_local(self, win);
        test_fill(self, next, LARGE, key_of(me, round + 1));
        weft_put(self, win, me, HALF, next, LARGE);
        weft_wait(self, DATA, 1);
        CHECK_EQ(self, &data->check, test_differs(self, mapped, LARGE, key_of(partner, round)), 0);
        weft_notify(self, WEFT_COMM_WORLD, partner, FREE);
        weft_wait(self, FREE, 1);
    }
    weft_win_free(self, &win);
    test_done(self, &data->check);
}

/* Data, then a polled flag; `order` stands between them. */
WEFT_DEVICE_FN void flag_rounds(weft_self *self, struct litmus_data *data, bool flush, int partner)
{
    unsigned char *mapped = test_mine(self, data->mapped, LITMUS_EACH);
    const uint64_t *flag = (const uint64_t *)(const void *)(mapped + HALF);
    const int me = weft_rank(self, WEFT_COMM_WORLD);
    weft_win win = window_over(self, data->mapped);
    unsigned char *const source = test_mine(self, data->sources, LITMUS_EACH);
    uint64_t *const value = (uint64_t *)(void *)(source + SMALL);

    for (int round = 0; round < ROUNDS; round++) {
        *value = (uint64_t)round + 1;
        test_fill(self, source, SMALL, key_of(me, round));
        weft_put(self, win, partner, 0, source, SMALL);
        if (flush)
            weft_flush(self, win);
        else
            weft_fence(self);
        weft_put(self, win, partner, HALF, value, sizeof(*value));
        weft_wait_until(self, flag, WEFT_GE, (uint64_t)round + 1);
        CHECK_EQ(self, &data->check, test_differs(self, mapped, SMALL, key_of(partner, round)), 0);
        weft_notify(self, WEFT_COMM_WORLD, partner, FREE);
        weft_wait(self, FREE, 1);
    }
    weft_win_free(self, &win);
}

WEFT_KERNEL(litmus_fence, struct litmus_data, data)
{
    flag_rounds(self, data, false, far_partner(self));
    test_done(self, &data->check);
}

WEFT_KERNEL(litmus_flush, struct litmus_data, data)
{
    flag_rounds(self, data, true, far_partner(self));
    test_done(self, &data->check);
}

/*
 * put_notify, flush, then a third rank is told, who looks at what the second one has got, and says
 * when the next may come.
 */
WEFT_KERNEL(litmus_third, struct litmus_data, data)
{
    unsigned char *mapped = test_mine(self, data->mapped, LITMUS_EACH);
    const int me = weft_rank(self, WEFT_COMM_WORLD), partner = far_partner(self);
    weft_win win = window_over(self, data->mapped);
    unsigned char *const source = test_mine(self, data->sources, LITMUS_EACH);

    for (int round = 0; round < 4 * ROUNDS; round++) {
        const size_t bytes = round % 2 == 0 ? MEDIUM : sizeof(uint64_t);
        if (me % 2 == 0) {
            test_fill(self, source, bytes, key_of(me, round));
            weft_put_notify(self, win, partner, 0, source, bytes, DATA);
            weft_flush(self, win);
            weft_notify(self, WEFT_COMM_WORLD, partner + 1, DATA);
            weft_wait(self, DATA, 1);
            weft_wait(self, FREE, 1);
        } else {
            weft_wait(self, DATA, 1);
            CHECK_EQ(self, &data->check,
                     test_differs(self, mapped - LITMUS_EACH, bytes, key_of(partner - 1, round)),
                     0);
            weft_notify(self, WEFT_COMM_WORLD, partner - 1, FREE);
        }
    }
    weft_win_free(self, &win);
    test_done(self, &data->check);
}

/* Windows and communicators come and go; every handle is used at once. */
WEFT_KERNEL(litmus_windows, struct litmus_data, data)
{
    unsigned char *mapped = test_mine(self, data->mapped, LITMUS_EACH);
    uint64_t *const value = (uint64_t *)(void *)test_mine(self, data->sources, LITMUS_EACH);
    const int me = weft_rank(self, WEFT_COMM_WORLD);

    for (int round = 0; round < ROUNDS; round++) {
        weft_comm pair = weft_comm_split(self, WEFT_COMM_WORLD, me % 2, -me);
        const int other = 1 - weft_rank(self, pair);
        weft_win win = weft_win_create(self, pair, mapped, LITMUS_EACH);
        *value = key_of(me, round);
        CHECK_EQ(self, &data->check, weft_failure(self), WEFT_OK);
        weft_put_notify(self, win, other, 8, value, sizeof(*value), DATA);
        weft_wait(self, DATA, 1);
        CHECK_EQ(self, &data->check, test_peek_u64((const uint64_t *)(const void *)(mapped + 8)),
                 key_of(far_partner(self), round));
        weft_win_free(self, &win);
        weft_barrier(self, pair);
        weft_comm_free(self, &pair);
    }
    test_done(self, &data->check);
}

/* More than the rings hold, in both directions, before anybody waits. */
WEFT_KERNEL(litmus_flood, struct litmus_data, data)
{
    enum { MESSAGES = 12 };
    unsigned char *mapped = test_mine(self, data->mapped, LITMUS_EACH);
    const int me = weft_rank(self, WEFT_COMM_WORLD), partner = far_partner(self);
    weft_win win = window_over(self, data->mapped);
    unsigned char *const source = test_mine(self, data->sources, LITMUS_EACH);

    for (int m = 0; m < MESSAGES; m++) {
        const size_t bytes = m % 2 == 0 ? 200 : 600; /* inside the command, and by reference */
        test_fill(self, source + m * 600, bytes, key_of(me, m));
        weft_put_notify(self, win, partner, (size_t)m * 600, source + m * 600, bytes, DATA);
    }
    for (int m = 0; m < MESSAGES; m++) {
        weft_wait(self, DATA, 1);
        CHECK_EQ(self, &data->check,
                 test_differs(self, mapped + m * 600, m % 2 == 0 ? 200 : 600, key_of(partner, m)),
                 0);
    }
    weft_win_free(self, &win);
    test_done(self, &data->check);
}

/* What was flushed before a barrier is there after it. */
WEFT_KERNEL(litmus_barrier, struct litmus_data, data)
{
    unsigned char *mapped = test_mine(self, data->mapped, LITMUS_EACH);
    const int me = weft_rank(self, WEFT_COMM_WORLD), partner = far_partner(self);
    weft_win win = window_over(self, data->mapped);
    unsigned char *const source = test_mine(self, data->sources, LITMUS_EACH);

    for (int round = 0; round < ROUNDS; round++) {
        test_fill(self, source, SMALL, key_of(me, round));
        weft_put(self, win, partner, 0, source, SMALL);
        weft_flush(self, win);
        weft_barrier(self, WEFT_COMM_WORLD);
        CHECK_EQ(self, &data->check, test_differs(self, mapped, SMALL, key_of(partner, round)), 0);
        weft_barrier(self, WEFT_COMM_WORLD);
    }
    weft_win_free(self, &win);
    test_done(self, &data->check);
}

/* What was put comes back, by every kind of get; then it is written anew. */
WEFT_KERNEL(litmus_get, struct litmus_data, data)
{
    const int me = weft_rank(self, WEFT_COMM_WORLD), partner = far_partner(self);
    unsigned char *const back = test_mine(self, data->plain, LITMUS_EACH);
    weft_win win = window_over(self, data->mapped);
    unsigned char *const source = test_mine(self, data->sources, LITMUS_EACH);

    for (int round = 0; round < ROUNDS; round++) {
        test_fill(self, source, LARGE, key_of(me, round));
        weft_put(self, win, partner, 0, source, LARGE);
        weft_get(self, win, partner, 0, back, LARGE);
        CHECK_EQ(self, &data->check, test_differs(self, back, LARGE, key_of(me, round)), 0);
        weft_put(self, win, partner, HALF, source, 8);
        weft_get_notify(self, win, partner, HALF, back, 8, DATA);
        weft_wait(self, DATA, 1);
        CHECK_EQ(self, &data->check, test_differs(self, back, 8, key_of(me, round)), 0);
        weft_flush_local(self, win);
    }
    weft_win_free(self, &win);
    test_done(self, &data->check);
}

/* Data, then an update; whoever sees that by an update of its own sees the data. */
WEFT_DEVICE_FN void update_rounds(weft_self *self, struct litmus_data *data, int partner,
                                  size_t flag)
{
    unsigned char *mapped = test_mine(self, data->mapped, LITMUS_EACH);
    const int me = weft_rank(self, WEFT_COMM_WORLD);
    weft_win win = window_over(self, data->mapped);
    unsigned char *const source = test_mine(self, data->sources, LITMUS_EACH);

    for (int round = 0; round < ROUNDS; round++) {
        test_fill(self, source, SMALL, key_of(me, round));
        weft_put(self, win, partner, 0, source, SMALL);
        weft_add(self, win, partner, flag, 1);
        while (weft_fetch_add(self, win, me, flag, 0) != (uint64_t)round + 1)
            continue;
        CHECK_EQ(self, &data->check, test_differs(self, mapped, SMALL, key_of(partner, round)), 0);
        weft_notify(self, WEFT_COMM_WORLD, partner, FREE);
        weft_wait(self, FREE, 1);
    }
    weft_win_free(self, &win);
}

WEFT_KERNEL(litmus_update, struct litmus_data, data)
{
    update_rounds(self, data, far_partner(self), HALF);
    update_rounds(self, data, weft_rank(self, WEFT_COMM_WORLD) ^ 1, HALF + 8);
    test_done(self, &data->check);
}

/* More at once than there are places for; each brings its own old value. */
WEFT_KERNEL(litmus_tickets, struct litmus_data, data)
{
    enum { TICKETS = 50 };
    uint64_t *const old = (uint64_t *)(void *)test_mine(self, data->plain, LITMUS_EACH);
    const int partner = far_partner(self);
    weft_win win = window_over(self, data->mapped);

    for (uint64_t i = 0; i < TICKETS; i++)
        weft_fetch_add_begin(self, win, partner, 0, 1, old + i);
    weft_flush_local(self, win);
    test_will_read(old, TICKETS * sizeof(*old));
    for (uint64_t i = 0; i < TICKETS; i++)
        CHECK_EQ(self, &data->check, old[i], i);
    weft_win_free(self, &win);
    test_done(self, &data->check);
}

/* Two ranks take the same memory in turns: who gets it comes after who had it. */
WEFT_KERNEL(litmus_heap, struct litmus_data, data)
{
    const int me = weft_rank(self, WEFT_COMM_WORLD);

    for (int round = 0; round < ROUNDS; round++) {
        weft_gptr block = weft_local_alloc(self, data->space, LITMUS_HEAP);
        while (weft_gptr_is_null(block)) {
            weft_test(self, DATA, 1); /* the other one goes on */
            block = weft_local_alloc(self, data->space, LITMUS_HEAP);
        }
        void *const memory = weft_gaddress(self, data->space, block);
        test_fill(self, memory, LITMUS_HEAP, key_of(me, round));
        CHECK_EQ(self, &data->check, test_differs(self, memory, LITMUS_HEAP, key_of(me, round)), 0);
        weft_local_free(self, data->space, block);
    }
    test_done(self, &data->check);
}
