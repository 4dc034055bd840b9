/*
 * A job that fails gives the host program its buffers back: what the services read of them was read
 * before the call returns the failure. ThreadSanitizer sees whether that order is there; so the
 * process that aborts must learn of the data's delivery by a way that orders nothing.
 */
#include "support/test.h"

#ifndef __CUDACC__
#include <sched.h>
#include <string.h>

enum { BYTES = 10000, NEVER = 2 };

struct window {
    uint64_t arrived;
    unsigned char data[BYTES];
};

/* By process, as they may be threads. Static: the last put may still be delivered when process 1
 * goes on.
 */
static struct window windows[2];

static int body(struct test_env *env)
{
    weft_job *job = env->job;
    const int me = env->numbers->process, n = env->numbers->processes;
    const uint64_t one = 1;
    weft_win win = WEFT_WIN_NONE;

    if (n != 2 || env->mapped_only)
        return TEST_SKIPPED;
    struct window *window = &windows[me];
    unsigned char *source = test_memory(env, TEST_PLAIN, BYTES);
    env->expect = WEFT_ERR_USER;
    TEST_EQ(env, weft_host_win_create(job, window, sizeof(*window), &win), WEFT_OK);
    if (me == 0) {
        weft_host_put(job, win, 1, offsetof(struct window, data), source, BYTES);
        weft_host_put(job, win, 1, offsetof(struct window, arrived), &one, sizeof(one));
        TEST_EQ(env, weft_host_wait(job, NEVER, 1), WEFT_ERR_USER);
        memset(source, 1, BYTES); /* without a flush: the failure is what says that it is free */
    } else {
        while (test_peek_u64(&window->arrived) == 0)
            sched_yield();
        weft_abort(job, "to see that sources are free after a failure");
    }
    return TEST_PASSED;
}

TEST_MAIN(body)
#endif
