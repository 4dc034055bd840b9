/*
 * A kernel of many calls, each compiled into it: more code than most have. nvcc 13.0 took an
 * assumption of the library for false in such kernels, and dropped what came behind it. So each
 * step says that it was reached; that nvcc keeps them all is seen without a GPU, too
 * (tests/install/test_large_kernel.sh).
 */
#include "support/test.h"

enum { EACH = 8192, TAG = 3, STEPS = 12, REACHED = 77077000 };

struct data {
    struct test_check check;
    unsigned char *memory;                /* EACH bytes a rank */
    volatile uint32_t reached[STEPS + 1]; /* the last: the end */
};

/* Between neighbours of a ring, with a window of its own; one of nothing for some. */
WEFT_DEVICE_FN void exchange(weft_self *self, struct data *user)
{
    const int n = weft_size(self, WEFT_COMM_WORLD), me = weft_rank(self, WEFT_COMM_WORLD);
    const int to = (me + 1) % n, from = (me + n - 1) % n;
    const size_t mine = (size_t)(me % 16) * 64, theirs = (size_t)(to % 16) * 64;
    unsigned char *memory = test_mine(self, user->memory, EACH);
    unsigned char *source = memory + EACH / 2;

    test_clear(self, memory, EACH);
    test_fill(self, source, theirs, (uint64_t)me);
    weft_win win = weft_win_create(self, WEFT_COMM_WORLD, mine == 0 ? NULL : memory, mine);
    CHECK_EQ(self, &user->check, weft_failure(self), WEFT_OK);
    CHECK(self, &user->check, win != WEFT_WIN_NONE);
    weft_put_notify(self, win, to, 0, source, theirs, TAG);
    weft_put_notify(self, win, to, theirs, NULL, 0, TAG);
    weft_wait(self, TAG, 2);
    CHECK_EQ(self, &user->check, test_differs(self, memory, mine, (uint64_t)from), 0);
    CHECK_EQ(self, &user->check, test_differs_from(self, memory + mine, EACH / 2 - mine, 0), 0);
    weft_win_free(self, &win);
}

/* Each says that it was reached. */
#define STEP(k)                                                                                    \
    do {                                                                                           \
        exchange(self, user);                                                                      \
        weft_barrier(self, WEFT_COMM_WORLD);                                                       \
        if (weft_thread(self) == 0 && weft_rank(self, WEFT_COMM_DEVICE) == 0)                      \
            user->reached[k] = REACHED + (k);                                                      \
    } while (0)

WEFT_KERNEL(large, struct data, user)
{
    weft_enter(self);
    STEP(0);
    STEP(1);
    STEP(2);
    STEP(3);
    STEP(4);
    STEP(5);
    STEP(6);
    STEP(7);
    STEP(8);
    STEP(9);
    STEP(10);
    STEP(11);
    weft_leave(self);
    if (weft_thread(self) == 0 && weft_rank(self, WEFT_COMM_DEVICE) == 0)
        user->reached[STEPS] = REACHED + STEPS;
    test_done(self, &user->check);
}

#ifndef __CUDACC__
static int body(struct test_env *env)
{
    struct data data = {0};

    if (!test_prepare(env, &large))
        return TEST_FAILED;
    data.memory = test_memory(env, TEST_MAPPED, (size_t)env->numbers->ranks_here * EACH);
    test_run(env, &data, sizeof(data));
    for (uint32_t k = 0; k <= STEPS; k++)
        TEST_EQ(env, data.reached[k], REACHED + k);
    return TEST_PASSED;
}

int main(int argc, char **argv)
{
    return test_main(argc, argv, body);
}
#endif
