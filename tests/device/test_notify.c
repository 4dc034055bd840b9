/*
 * Notifications: every tag, counts exact, consumed by wait and by test, tags and ranks apart from
 * each other, to oneself, relaxed ones behind a fence, a notify as "your buffer is free", and many
 * at once.
 */
#include "support/test.h"

enum { TAG_FREE = 200, TAG_DATA = 201, TAG_DONE = 202, WORDS = 64 };

struct data {
    struct test_check check;
    uint64_t *memory; /* 2 * WORDS a rank: window, source */
    uint32_t rounds;
};

/* Tag t is notified t % 5 times, by both neighbours; the receiver takes some, then the rest. */
WEFT_DEVICE_FN void check_tags(weft_self *self, struct data *user)
{
    const int n = weft_size(self, WEFT_COMM_WORLD), me = weft_rank(self, WEFT_COMM_WORLD);

    for (int tag = 0; tag < WEFT_TAGS; tag += 1 + tag % 3) {
        for (int i = 0; i < tag % 5; i++) {
            weft_notify(self, WEFT_COMM_WORLD, (me + 1) % n, tag);
            weft_notify(self, WEFT_COMM_WORLD, (me + n - 1) % n, tag);
        }
    }
    for (int tag = 0; tag < WEFT_TAGS; tag += 1 + tag % 3) {
        const uint32_t all = 2 * (uint32_t)(tag % 5);
        weft_wait(self, tag, all / 3);
        while (!weft_test(self, tag, all - all / 3))
            ;
    }
    weft_barrier(self, WEFT_COMM_WORLD); /* and now nothing is left, not even of tags unused */
    for (int tag = 0; tag < WEFT_TAGS; tag++) {
        CHECK_EQ(self, &user->check, weft_test(self, tag, 1), 0);
        CHECK_EQ(self, &user->check, weft_test(self, tag, 0), 1);
    }
    weft_barrier(self, WEFT_COMM_WORLD); /* before anyone sends more */
}

/* test consumes all or nothing. */
WEFT_DEVICE_FN void check_test(weft_self *self, struct data *user)
{
    const int me = weft_rank(self, WEFT_COMM_WORLD);

    for (int i = 0; i < 3; i++)
        weft_notify(self, WEFT_COMM_WORLD, me, 255);
    while (!weft_test(self, 255, 1))
        ;
    CHECK_EQ(self, &user->check, weft_test(self, 255, 3), 0);
    while (!weft_test(self, 255, 2))
        ;
    CHECK_EQ(self, &user->check, weft_test(self, 255, 1), 0);
}

/*
 * One buffer of a word at the next rank, written again and again: the reader's notify releases its
 * loads, the writer's orders the data, by a plain notify or by a fence and a relaxed one.
 */
WEFT_DEVICE_FN void check_pipeline(weft_self *self, struct data *user, weft_comm comm, weft_win win)
{
    const int n = weft_size(self, comm), me = weft_rank(self, comm);
    const int to = (me + 1) % n, from = (me + n - 1) % n;
    uint64_t *window = (uint64_t *)test_mine(self, user->memory, 2 * WORDS * sizeof(uint64_t));
    uint64_t *source = window + WORDS;

    weft_notify(self, comm, from, TAG_FREE);
    for (uint32_t round = 1; round <= user->rounds; round++) {
        const size_t words = round % WORDS + 1;
        weft_flush_local(self, win);
        weft_for (i, words)
            source[i] = ((uint64_t)me << 32) + round * 100 + i;
        weft_wait(self, TAG_FREE, 1);
        if (round % 3 == 0) {
            weft_put_notify(self, win, to, 0, source, words * 8, TAG_DATA);
        } else {
            weft_put(self, win, to, 0, source, words * 8);
            if (round % 3 == 1) {
                weft_notify(self, comm, to, TAG_DATA);
            } else {
                weft_fence(self);
                weft_notify_relaxed(self, comm, to, TAG_DATA);
            }
        }
        weft_wait(self, TAG_DATA, 1);
        weft_for (i, words)
            CHECK_EQ(self, &user->check, window[i], ((uint64_t)from << 32) + round * 100 + i);
        weft_notify(self, comm, from, TAG_FREE);
    }
    weft_wait(self, TAG_FREE, 1);
}

/* Relaxed ones order nothing, but all of them arrive. Everyone to everyone. */
WEFT_DEVICE_FN void check_relaxed(weft_self *self, struct data *user)
{
    const int n = weft_size(self, WEFT_COMM_WORLD);

    for (int to = 0; to < n; to++)
        weft_notify_relaxed(self, WEFT_COMM_WORLD, to, TAG_DONE);
    weft_wait(self, TAG_DONE, (uint32_t)n);
    weft_barrier(self, WEFT_COMM_WORLD);
    CHECK_EQ(self, &user->check, weft_test(self, TAG_DONE, 1), 0);
}

WEFT_KERNEL(notify_kernel, struct data, user)
{
    weft_enter(self);
    weft_win win = weft_win_create(self, WEFT_COMM_WORLD,
                                   test_mine(self, user->memory, 2 * WORDS * sizeof(uint64_t)),
                                   WORDS * sizeof(uint64_t));
    CHECK(self, &user->check, win != WEFT_WIN_NONE);
    if (user->rounds > 20)
        check_tags(self, user);
    check_test(self, user);
    check_pipeline(self, user, WEFT_COMM_WORLD, win);
    check_relaxed(self, user);
    weft_win_free(self, &win);
    weft_leave(self);
    test_done(self, &user->check);
}

#ifndef __CUDACC__
static int body(struct test_env *env)
{
    static const enum test_memory kinds[] = {TEST_MAPPED, TEST_PLAIN};

    if (!test_prepare(env, &notify_kernel))
        return TEST_FAILED;
    for (size_t i = 0; i < 2; i++) {
        struct data data = {
            .memory = test_memory(env, kinds[i], (size_t)env->numbers->ranks_here * 2 * WORDS * 8),
            .rounds = env->brief ? 7 : 100 * (uint32_t)env->scale,
        };
        test_run(env, &data, sizeof(data));
    }
    return TEST_PASSED;
}

TEST_MAIN(body)
#endif
