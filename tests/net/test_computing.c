/*
 * While a rank computes, and its worker serves no network, the services do: what it has put goes
 * on, and what is put to it is delivered. Before, workers served for so long that the services
 * hardly look (src/runtime/service/progress.c: park_ns). Processes as threads of this one: the
 * computing rank sees in memory, without a call of weft's, how far the other is.
 */
#include "support/test.h"

#include "base/task.h"

#ifdef __SANITIZE_THREAD__
enum { CALM = 4000 };
#else
enum { CALM = 20000 };
#endif
enum { BYTES = 4 << 20, LATER = 500, ROUNDS = 6, PATIENCE_S = 60, TAG = 0, BALL = 1 };

struct data {
    struct test_check check;
    unsigned char *window, *source;
    int calm;
};

static uint32_t reached; /* the round whose data the other rank knows to be there */

/* False: it has not come. */
static bool compute_until(uint32_t round)
{
    const uint64_t end = weft_now_ns() + PATIENCE_S * 1000000000ull;

    while (__atomic_load_n(&reached, __ATOMIC_ACQUIRE) < round)
        if (weft_now_ns() > end)
            return false;
    return true;
}

static void know(uint32_t round)
{
    __atomic_store_n(&reached, round, __ATOMIC_RELEASE);
}

static void play(weft_self *self, int rounds)
{
    const int me = weft_rank(self, WEFT_COMM_WORLD);

    for (int i = 0; i < rounds; i++) {
        if (me == 0)
            weft_notify(self, WEFT_COMM_WORLD, 1, BALL);
        weft_wait(self, BALL, 1);
        if (me == 1)
            weft_notify(self, WEFT_COMM_WORLD, 0, BALL);
    }
}

/* More than rings and sockets hold, from or to the rank that computes. */
WEFT_KERNEL(computing, struct data, user)
{
    const int me = weft_rank(self, WEFT_COMM_WORLD);

    weft_enter(self);
    weft_win win = weft_win_create(self, WEFT_COMM_WORLD, user->window, BYTES);
    for (uint32_t round = 1; round <= 2 * ROUNDS; round++) {
        const int sender = (int)(round % 2);
        play(self, round == 1 ? user->calm : LATER);
        if (me == sender)
            weft_put_notify(self, win, 1 - me, 0, user->source, BYTES, TAG);
        if (me == 1) {
            CHECK(self, &user->check, compute_until(round));
        } else {
            if (sender == 0)
                weft_flush(self, win);
            else
                weft_wait(self, TAG, 1);
            know(round);
        }
        if (me == 1 && sender == 0)
            weft_wait(self, TAG, 1);
        CHECK_EQ(self, &user->check, me == sender || user->window[BYTES - 1] == 7, 1);
        weft_flush(self, win);
    }
    weft_win_free(self, &win);
    weft_leave(self);
    test_done(self, &user->check);
}

static int body(struct test_env *env)
{
    struct data data = {.calm = CALM * env->scale};

    data.window = test_memory(env, TEST_MAPPED, BYTES);
    data.source = test_memory(env, TEST_PLAIN, BYTES);
    if (!test_prepare(env, &computing))
        return TEST_FAILED;
    for (size_t i = 0; i < BYTES; i++)
        data.source[i] = 7;
    test_run(env, &data, sizeof(data));
    return TEST_PASSED;
}

TEST_MAIN(body)
