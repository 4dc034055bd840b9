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

/* Each says that it was reached. */
#define STEP(k)                                                                                    \
    do {                                                                                           \
        test_exchange(self, &user->check, test_mine(self, user->memory, EACH), EACH, TAG);         \
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

TEST_MAIN(body)
#endif
