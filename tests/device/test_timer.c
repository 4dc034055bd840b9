/*
 * Timers and the run's own time: each stop appends one interval, none longer than the run, those
 * that contain work not shorter than the work, and a new run starts an empty list. On the CPU
 * device the clock is the host's. Random schedules have virtual time: there only the number of
 * intervals is looked at.
 */
#include "support/test.h"

#ifndef __CUDACC__
#include <time.h>
#endif

enum { INTERVALS = 20 };

struct data {
    struct test_check check;
    uint32_t intervals;
    uint32_t steps;            /* of work in every second interval */
    double sum;                /* so that the work is not removed */
    int64_t inside[INTERVALS]; /* ns by the host's clock, read within; where a kernel can read it */
};

#ifndef __CUDACC__
static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}
#endif

WEFT_KERNEL(timer_kernel, struct data, user)
{
    double sum = 0;

    weft_enter(self);
    for (uint32_t i = 0; i < user->intervals; i++) {
        weft_timer_start(self);
#ifndef __CUDACC__
        const int64_t begin = now_ns();
#endif
        if (i % 2 == 1 && weft_rank(self, WEFT_COMM_DEVICE) == 0) {
            for (uint32_t k = 1; k <= user->steps; k++)
                sum += 1.0 / k;
        }
#ifndef __CUDACC__
        if (weft_rank(self, WEFT_COMM_DEVICE) == 0)
            user->inside[i] = now_ns() - begin;
#endif
        weft_timer_stop(self);
    }
    weft_leave(self);
    if (weft_rank(self, WEFT_COMM_DEVICE) == 0 && weft_thread(self) == 0)
        user->sum = sum;
    test_done(self, &user->check);
}

#ifndef __CUDACC__
static void check_run(struct test_env *env, uint32_t intervals)
{
    struct data data = {.intervals = intervals, .steps = env->brief ? 10 : 1000000};
    const double *list = NULL;
    size_t count = 0;
    double ms = -1, sum = 0, idle = 0;

    const int64_t before = now_ns();
    TEST_EQ(env, weft_run(env->job, &data, sizeof(data), &ms), WEFT_OK);
    const double around = (double)(now_ns() - before) * 1e-6;
    TEST_EQ(env, data.check.failed, 0);
    TEST_EQ(env, weft_intervals(env->job, &list, &count), WEFT_OK);
    TEST_EQ(env, count, intervals);
    for (size_t i = 0; i < count; i++) {
        TEST(env, list[i] >= 0);
        sum += list[i];
        idle += i % 2 == 0 ? list[i] : 0;
    }
    if (env->random)
        return;
    double least = 1e9; /* that an interval exceeds what was read within it */
    for (size_t i = 0; i < count; i++) {
        const double more = list[i] - (double)data.inside[i] * 1e-6;
        TEST(env, more > -1e-6); /* half a nanosecond, for conversions */
        least = more < least ? more : least;
    }
    TEST(env, ms >= sum && ms <= around);
    if (intervals > 1) {
        /* One clock, one unit. A thread may lose its processor in one interval, hardly in all. */
        TEST(env, env->numbers->threads > 1 || least < 5);
        /* A million divisions take at least 0.2 ms on any machine of today. */
        TEST(env, sum - idle > 0.2 * (intervals / 2));
        TEST(env, data.sum > 14);
    }
}

static int body(struct test_env *env)
{
    if (!test_prepare(env, &timer_kernel))
        return TEST_FAILED;
    check_run(env, INTERVALS);
    check_run(env, 1);
    check_run(env, 0);
    return TEST_PASSED;
}

TEST_MAIN(body)
#endif
