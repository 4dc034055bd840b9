/*
 * weft_close after puts of the host program that were never flushed: all of them land first, and no
 * task works on memory that is gone.
 */
#include "support/test.h"

#ifndef __CUDACC__
#include <stdio.h>

enum { MOST = 4, PUTS = 16, BYTES = 1 << 18 }; /* in all, more than the rings on the way hold */

/* By process, as they may be threads. Static, since it is looked at when the job is closed. */
static unsigned char windows[MOST][PUTS * BYTES];
static unsigned char sources[MOST][BYTES];
static int filled[MOST]; /* with what, by process; 0: a process of another program */

static int body(struct test_env *env)
{
    const int me = env->numbers->process, n = env->numbers->processes;
    weft_win win = WEFT_WIN_NONE;

    if (n > MOST || env->mapped_only)
        return TEST_SKIPPED;
    for (size_t i = 0; i < BYTES; i++)
        sources[me][i] = (unsigned char)(1 + me);
    TEST_EQ(env, weft_host_win_create(env->job, windows[me], PUTS * BYTES, &win), WEFT_OK);
    for (size_t i = 0; i < PUTS; i++)
        TEST_EQ(env, weft_host_put(env->job, win, (me + 1) % n, i * BYTES, sources[me], BYTES),
                WEFT_OK);
    filled[me] = 1 + (me + n - 1) % n;
    return TEST_PASSED;
}

int main(int argc, char **argv)
{
    int result = test_main(argc, argv, body);

    for (int p = 0; result == TEST_PASSED && p < MOST; p++) {
        size_t missing = 0;
        for (size_t i = 0; filled[p] != 0 && i < PUTS * BYTES; i++)
            missing += windows[p][i] != filled[p];
        if (missing != 0) {
            fprintf(stderr, "FAILED %zu bytes did not reach process %d\n", missing, p);
            result = TEST_FAILED;
        }
    }
    return result;
}
#endif
