/*
 * The global address space: what is no global pointer, no block, or no place is refused, and the
 * job goes on; a rank that puts outside of a segment ends it (--case outside).
 */
#include "support/test.h"

#include <weft/pgas.h>

struct data {
    struct test_check check;
    weft_gspace *space;
    unsigned char *memory; /* 8 bytes a rank */
    weft_gspan span;
};

WEFT_KERNEL(outside, struct data, user)
{
    const weft_gptr end = weft_gptr_add(user->span.base, (int64_t)user->span.bytes - 4);

    weft_gput(self, user->space, end, test_mine(self, user->memory, 8), 8);
    test_done(self, &user->check);
}

#ifndef __CUDACC__

#include "support/pgas_open.h"

#include <stdlib.h>
#include <string.h>

enum { BYTES = 4096 }; /* of each part */

/* What is refused says so, and the job goes on. */
static void refused(struct test_env *env, weft_gspan *span)
{
    const int n = env->numbers->processes, me = env->numbers->process;
    weft_gspan other = *span;
    weft_gptr g = span->base, block, garbage = {0xdeadbeef, 3, 4, 5};
    unsigned char buffer[8] = {0};

    TEST_EQ(env, weft_host_gput(env->job, weft_gptr_add(g, (int64_t)span->bytes - 4), buffer, 8),
            WEFT_ERR_BOUNDS);
    TEST_EQ(env, weft_host_gget(env->job, weft_gptr_add(g, -4), buffer, 8), WEFT_ERR_BOUNDS);
    TEST_EQ(env, weft_host_gput(env->job, weft_gptr_at_place(g, n + 7), buffer, 8), WEFT_ERR_RANK);
    TEST_EQ(env, weft_host_gput(env->job, garbage, buffer, 8), WEFT_ERR_ARGUMENT);
    TEST_EQ(env, weft_host_gput(env->job, weft_gptr_null(), buffer, 8), WEFT_ERR_ARGUMENT);
    TEST_EQ(env, weft_host_local_alloc(env->job, 1000, &block), WEFT_OK);
    TEST_EQ(env, weft_host_local_free(env->job, weft_gptr_add(block, 256)), WEFT_ERR_ARGUMENT);
    TEST_EQ(env, weft_host_local_free(env->job, weft_gptr_at_place(block, (me + 1) % n)),
            n > 1 ? WEFT_ERR_ARGUMENT : WEFT_OK);
    TEST_EQ(env, weft_host_local_free(env->job, block), n > 1 ? WEFT_OK : WEFT_ERR_ARGUMENT);
    TEST_EQ(env, weft_host_local_free(env->job, block), WEFT_ERR_ARGUMENT);
    TEST_EQ(env, weft_host_local_alloc(env->job, (size_t)1 << 40, &block), WEFT_ERR_MEMORY);
    TEST_EQ(env, weft_galloc(env->job, WEFT_COMM_HOST, (size_t)1 << 40, &other), WEFT_ERR_MEMORY);
    if (n > 1)
        TEST_EQ(env, weft_galloc(env->job, WEFT_COMM_HOST, me == 1 ? 128 : 64, &other),
                WEFT_ERR_MISMATCH);
    TEST_EQ(env, weft_gfree(NULL, span), WEFT_ERR_ARGUMENT);
    TEST_EQ(env, weft_gfree(env->job, span), WEFT_OK);
    TEST_EQ(env, weft_host_gput(env->job, g, buffer, 8), WEFT_ERR_WINDOW);
    env->expect = WEFT_ERR_BOUNDS; /* what weft_close returns */
}

static void run_outside(struct test_env *env, const weft_gspan *span)
{
    struct data user = {.space = weft_pgas_space(env->job), .span = *span};

    if (!test_prepare(env, &outside))
        return;
    user.memory = test_memory(env, TEST_MAPPED, (size_t)env->numbers->ranks_here * 8);
    env->expect = WEFT_ERR_BOUNDS;
    test_run(env, &user, sizeof(user));
}

static int body(struct test_env *env)
{
    weft_gspan span;

    if (!test_pgas_open(env))
        return TEST_PASSED;
    TEST_EQ(env,
            weft_galloc(env->job, WEFT_COMM_HOST, (size_t)env->numbers->processes * BYTES, &span),
            WEFT_OK);
    if (env->only != NULL && strcmp(env->only, "outside") == 0)
        run_outside(env, &span);
    else
        refused(env, &span);
    TEST_EQ(env, weft_pgas_close(env->job), WEFT_OK);
    return TEST_PASSED;
}

int main(int argc, char **argv)
{
    setenv("WEFT_HEAP", "16M", 0);
    return test_main(argc, argv, body);
}
#endif
