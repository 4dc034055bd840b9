/*
 * Segments that come and go between runs of a kernel, whose ranks know those of their run; members
 * that ask for other sizes get the largest; groups come and go, of other members each time.
 */
#include "support/test.h"

#include <weft/message.h>
#include <weft/pgas.h>

enum { RUNS = 5 };

struct data {
    struct test_check check;
    weft_gspace *space;
    weft_gptr last; /* the last word of the next place's part */
    uint64_t value;
};

WEFT_KERNEL(mark, struct data, user)
{
    if (weft_rank(self, WEFT_COMM_DEVICE) == 0)
        weft_gput(self, user->space, user->last, &user->value, 8);
    weft_gflush(self, user->space);
    test_done(self, &user->check);
}

#ifndef __CUDACC__

#include "support/pgas_open.h"

#include <stdlib.h>

static weft_gptr last_word(struct test_env *env, const weft_gspan *span, int place)
{
    return weft_gptr_add(weft_gspan_member(env->job, span, place), (int64_t)span->bytes - 8);
}

/* before: two segments, in turns: one is freed when a later one is there. */
static void run(struct test_env *env, struct data *user, int i, weft_gspan before[2])
{
    const size_t me = (size_t)env->numbers->process, n = (size_t)env->numbers->processes;
    const size_t mine = i % 2 == 0 ? me + 1 : n;
    weft_gspan *const span = &before[i % 2];
    uint64_t seen = 0;

    if (i >= 2)
        TEST_EQ(env, weft_gfree(env->job, span), WEFT_OK);
    TEST_EQ(env, weft_galloc_most(env->job, WEFT_COMM_HOST, 8 * mine, span), WEFT_OK);
    TEST_EQ(env, span->bytes, 8 * n);
    user->last = last_word(env, span, (int)((me + 1) % n));
    user->value = 100 * (uint64_t)i + me;
    test_run(env, user, sizeof(*user));
    TEST_EQ(env, weft_host_barrier(env->job), WEFT_OK);
    TEST_EQ(env, weft_host_gget(env->job, last_word(env, span, (int)me), &seen, 8), WEFT_OK);
    TEST_EQ(env, seen, 100 * (uint64_t)i + (me + n - 1) % n);
    TEST_EQ(env, weft_host_barrier(env->job), WEFT_OK);
}

/* The next members of a group have its place in the table of communicators. */
static void groups(struct test_env *env, int i)
{
    const int me = env->numbers->process, n = env->numbers->processes;
    const int parts = 1 + i % 3, members = (n - me % parts + parts - 1) / parts;
    uint64_t seen = 0, value = 1000 * (uint64_t)i + (uint64_t)me;
    weft_comm group;
    weft_gspan span;

    TEST_EQ(env, weft_host_split(env->job, me % parts, 0, &group), WEFT_OK);
    TEST_EQ(env, weft_galloc(env->job, group, 8, &span), WEFT_OK);
    TEST_EQ(env, span.members, members);
    const int next = (me / parts + 1) % members, before = (me / parts + members - 1) % members;
    TEST_EQ(env, weft_host_gput(env->job, weft_gspan_member(env->job, &span, next), &value, 8),
            WEFT_OK);
    TEST_EQ(env, weft_host_gflush(env->job), WEFT_OK);
    TEST_EQ(env, weft_host_barrier(env->job), WEFT_OK);
    TEST_EQ(env, weft_host_gget(env->job, weft_gspan_member(env->job, &span, me / parts), &seen, 8),
            WEFT_OK);
    TEST_EQ(env, seen, 1000 * (uint64_t)i + (uint64_t)(before * parts + me % parts));
    TEST_EQ(env, weft_gfree(env->job, &span), WEFT_OK);
    TEST_EQ(env, weft_host_group_free(env->job, &group), WEFT_OK);
}

/* Groups beside those that the program has numbered itself, as front ends do. */
static void among_numbers(struct test_env *env)
{
    enum { TAKEN = 512, GROUPS = 130 };
    weft_comm taken[TAKEN];
    int all[64];
    const int n = env->numbers->processes;

    for (int i = 0; i < n; i++)
        all[i] = i;
    for (int i = 0; i < TAKEN; i++)
        TEST_EQ(env, weft_message_group_take(env->job, i, all, n, &taken[i]), WEFT_OK);
    for (int i = 0; i < GROUPS; i++) {
        weft_comm group;
        weft_gspan span;
        TEST_EQ(env, weft_host_split(env->job, env->numbers->process % 2, 0, &group), WEFT_OK);
        TEST_EQ(env, weft_galloc(env->job, group, 8, &span), WEFT_OK);
        TEST_EQ(env, weft_gfree(env->job, &span), WEFT_OK);
        TEST_EQ(env, weft_host_group_free(env->job, &group), WEFT_OK);
    }
    for (int i = 0; i < TAKEN; i++)
        TEST_EQ(env, weft_message_group_give(env->job, &taken[i]), WEFT_OK);
}

static int body(struct test_env *env)
{
    struct data user = {.check = {.failed = 0}};
    weft_gspan span[2];

    if (!test_pgas_open(env))
        return TEST_PASSED;
    if (!test_prepare(env, &mark))
        return TEST_FAILED;
    user.space = weft_pgas_space(env->job);
    for (int i = 0; i < RUNS; i++)
        run(env, &user, i, span);
    for (int i = 0; i < RUNS; i++)
        groups(env, i);
    among_numbers(env);
    for (int i = 0; i < 2; i++)
        TEST_EQ(env, weft_gfree(env->job, &span[i]), WEFT_OK);
    TEST_EQ(env, weft_pgas_close(env->job), WEFT_OK);
    return TEST_PASSED;
}

int main(int argc, char **argv)
{
    setenv("WEFT_HEAP", "1M", 0);
    setenv("WEFT_HOST_HEAP", "1M", 0);
    return test_main(argc, argv, body);
}
#endif
