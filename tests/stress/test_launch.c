/*
 * Runs that do nothing but meet, one after the other: what other processes' ranks send arrives
 * while this process's kernel is being launched, and what they sent at the end of the run before
 * must not be taken for it.
 */
#include "support/test.h"

struct data {
    struct test_check check;
};

WEFT_KERNEL(meet_kernel, struct data, user)
{
    weft_enter(self);
    weft_leave(self);
    test_done(self, &user->check);
}

#ifndef __CUDACC__
static int body(struct test_env *env)
{
    const int prepares = env->random ? 2 : 3, runs = env->random ? 3 : 100 * env->scale;
    struct data data = {0};

    for (int p = 0; p < prepares && env->failures == 0; p++) {
        if (!test_prepare(env, &meet_kernel))
            return TEST_FAILED;
        for (int i = 0; i < runs && env->failures == 0; i++)
            test_run(env, &data, sizeof(data));
    }
    return TEST_PASSED;
}

int main(int argc, char **argv)
{
    return test_main(argc, argv, body);
}
#endif
