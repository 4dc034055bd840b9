/*
 * Streaks of notified puts of one size, then of another, and what comes between them: waits for one
 * notification and for two, messages that are not taken in the order sent, notifications by a third
 * rank. On a GPU a rank changes how it waits with what came before; so this is done with ranks of
 * several numbers of threads.
 */
#include "support/test.h"

enum { MOST_STREAK = 24, MOST_BYTES = 5008, TAG = 2, TAG_THIRD = 20, TAG_ACK = 21, SIZES = 19 };

struct data {
    struct test_check check;
    unsigned char *memory; /* 2 * MOST_STREAK * MOST_BYTES a rank: window, sources */
    uint64_t seed;
    uint32_t streaks;
};

/* How the receiver takes a streak's messages. */
enum how { ONE_BY_ONE, TWO_AT_ONCE, OTHER_ORDER, WITH_A_THIRD, HOWS };

struct streak {
    enum how how;
    uint32_t count; /* even */
    size_t bytes, shift;
};

/* All ranks draw the same. Mostly what goes through an eager channel in many lines. */
WEFT_DEVICE_FN struct streak next_streak(uint64_t *random)
{
    const size_t sizes[SIZES] = {8,    1024, 1024, 1020, 516, 132, 128, 1024, 260, 1000,
                                 1022, 5000, 0,    1024, 2,   12,  136, 384,  392};
    const size_t shifts[8] = {0, 0, 0, 0, 4, 4, 4, 1}; /* of source and target */
    struct streak streak;

    streak.how = test_random(random, 2) == 0 ? ONE_BY_ONE : (enum how)test_random(random, HOWS);
    streak.count = 2 + 2 * test_random(random, MOST_STREAK / 2);
    streak.bytes = sizes[test_random(random, SIZES)];
    streak.shift = shifts[test_random(random, 8)];
    return streak;
}

WEFT_DEVICE_FN uint64_t key_of(int from, uint32_t number, uint32_t k)
{
    return (uint64_t)from * 100000 + number * 100 + k;
}

/* Message k of the streak, from this rank to `to`. */
WEFT_DEVICE_FN void send(weft_self *self, weft_win win, unsigned char *sources, int to,
                         const struct streak *streak, uint32_t number, uint32_t k)
{
    const size_t at = (size_t)k * MOST_BYTES + streak->shift;
    const int tag = TAG + (streak->how == OTHER_ORDER ? (int)(k % 2) : 0);

    test_fill(self, sources + at, streak->bytes,
              key_of(weft_rank(self, WEFT_COMM_WORLD), number, k));
    weft_put_notify(self, win, to, at, sources + at, streak->bytes, tag);
}

WEFT_DEVICE_FN void check_message(weft_self *self, struct data *user, const unsigned char *window,
                                  int from, const struct streak *streak, uint32_t number,
                                  uint32_t k)
{
    const unsigned char *there = window + (size_t)k * MOST_BYTES + streak->shift;

    CHECK_EQ(self, &user->check, test_differs(self, there, streak->bytes, key_of(from, number, k)),
             0);
}

/* Two messages each way. */
WEFT_DEVICE_FN void exchange_two(weft_self *self, struct data *user, weft_win win,
                                 unsigned char *window, int to, int from,
                                 const struct streak *streak, uint32_t number, uint32_t k)
{
    unsigned char *sources = window + (size_t)MOST_STREAK * MOST_BYTES;
    const int n = weft_size(self, WEFT_COMM_WORLD), me = weft_rank(self, WEFT_COMM_WORLD);

    send(self, win, sources, to, streak, number, k);
    if (streak->how == ONE_BY_ONE) {
        weft_wait(self, TAG, 1);
        check_message(self, user, window, from, streak, number, k);
    }
    if (streak->how == WITH_A_THIRD)
        weft_notify(self, WEFT_COMM_WORLD, (me + 1) % n, TAG_THIRD);
    send(self, win, sources, to, streak, number, k + 1);
    if (streak->how == OTHER_ORDER) {
        weft_wait(self, TAG + 1, 1);
        check_message(self, user, window, from, streak, number, k + 1);
        weft_wait(self, TAG, 1);
        check_message(self, user, window, from, streak, number, k);
        return;
    }
    if (streak->how == WITH_A_THIRD) {
        weft_wait(self, TAG, 1);
        check_message(self, user, window, from, streak, number, k);
        weft_wait(self, TAG_THIRD, 1);
    }
    weft_wait(self, TAG, streak->how == TWO_AT_ONCE ? 2 : 1);
    if (streak->how == TWO_AT_ONCE)
        check_message(self, user, window, from, streak, number, k);
    check_message(self, user, window, from, streak, number, k + 1);
}

/* The rank half of all ranks away: mostly in another process. */
WEFT_KERNEL(streaks_kernel, struct data, user)
{
    const size_t all = (size_t)MOST_STREAK * MOST_BYTES;
    const int n = weft_size(self, WEFT_COMM_WORLD), me = weft_rank(self, WEFT_COMM_WORLD);
    const int to = (me + n / 2) % n, from = (me + n - n / 2) % n;
    unsigned char *window = test_mine(self, user->memory, 2 * all);
    uint64_t random = user->seed;

    weft_enter(self);
    weft_win win = weft_win_create(self, WEFT_COMM_WORLD, window, all);
    for (uint32_t number = 0; number < user->streaks; number++) {
        const struct streak streak = next_streak(&random);
        for (uint32_t k = 0; k < streak.count; k += 2)
            exchange_two(self, user, win, window, to, from, &streak, number, k);
        weft_flush_local(self, win);
        weft_notify(self, WEFT_COMM_WORLD, from, TAG_ACK); /* the window may be written again */
        weft_wait(self, TAG_ACK, 1);
    }
    for (int tag = TAG; tag <= TAG_ACK; tag++)
        CHECK_EQ(self, &user->check, weft_test(self, tag, 1), 0);
    weft_win_free(self, &win);
    weft_leave(self);
    test_done(self, &user->check);
}

#ifndef __CUDACC__
static int body(struct test_env *env)
{
    static const int threads[] = {64, 128, 32, 100, 256};
    struct data data;

    for (size_t i = 0; i < (env->brief ? 1 : sizeof(threads) / sizeof(threads[0])); i++) {
        if (!TEST_EQ(env, weft_prepare(env->job, &streaks_kernel, threads[i], env->ranks), WEFT_OK))
            break;
        const size_t ranks = (size_t)env->numbers->ranks_here;
        data.memory = test_memory(env, TEST_MAPPED, ranks * 2 * MOST_STREAK * MOST_BYTES);
        data.seed = env->seed * 100 + i;
        data.streaks = env->brief ? 4 : 40 * (uint32_t)env->scale;
        test_run(env, &data, sizeof(data));
    }
    return TEST_PASSED;
}

TEST_MAIN(body)
#endif
