/*
 * Runs that do nothing but meet, one after the other: what other processes' ranks send arrives
 * while this process's kernel is being launched, and what they sent at the end of the run before
 * must not be taken for it. Each kernel needs more local memory than the one before: the first
 * launch of such a one makes a GPU's driver do more than others.
 */
#include "support/test.h"

struct data {
    struct test_check check;
    uint64_t seed;
};

/* `words` of a thread's own memory, reached by indexes that the compiler does not know. */
#define MEETING(name, words)                                                                       \
    WEFT_KERNEL(name, struct data, user)                                                           \
    {                                                                                              \
        uint64_t own[words], sum = 0;                                                              \
                                                                                                   \
        weft_enter(self);                                                                          \
        for (uint64_t i = 0; i < (words); i++)                                                     \
            own[(i + user->seed) % (words)] = i;                                                   \
        weft_barrier(self, WEFT_COMM_WORLD);                                                       \
        for (uint64_t i = 0; i < (words); i++)                                                     \
            sum += own[i];                                                                         \
        CHECK_EQ(self, &user->check, sum, (uint64_t)(words) * ((words)-1) / 2);                    \
        weft_leave(self);                                                                          \
        test_done(self, &user->check);                                                             \
    }

MEETING(little_kernel, 3)
MEETING(more_kernel, 257)
MEETING(much_kernel, 511)
MEETING(most_kernel, 1021)

#ifndef __CUDACC__
static int body(struct test_env *env)
{
    const weft_kernel *const kernels[] = {&little_kernel, &more_kernel, &much_kernel, &most_kernel};
    const int runs = env->brief ? 2 : 20 * env->scale;
    struct data data = {.seed = env->seed};

    for (int k = 0; k < 4; k++) {
        if (!test_prepare(env, kernels[k]))
            return TEST_FAILED;
        for (int i = 0; i < runs && env->failures == 0; i++)
            test_run(env, &data, sizeof(data));
    }
    return TEST_PASSED;
}

TEST_MAIN(body)
#endif
