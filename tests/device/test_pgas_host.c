/*
 * Blocks in memory that a host program and the ranks of its place reach both: each writes there by
 * plain stores what the other loads, and every place gets and puts there by global pointers.
 */
#include "support/test.h"

#include <weft/pgas.h>

enum { WORDS = 1000, BYTES = 8 * WORDS };

struct data {
    struct test_check check;
    weft_gspace *space;
    weft_gptr block;
};

/* Each word gets its double, by the first rank of the place. */
WEFT_KERNEL(doubles, struct data, user)
{
    uint64_t *const word = (uint64_t *)weft_gaddress(self, user->space, user->block);

    CHECK(self, &user->check, word != NULL);
    if (weft_rank(self, WEFT_COMM_DEVICE) == 0 && word != NULL) {
        test_will_read(word, BYTES);
        test_will_write(word, BYTES);
        weft_for (i, WORDS)
            word[i] *= 2;
    }
    test_done(self, &user->check);
}

#ifndef __CUDACC__

#include "support/pgas_open.h"

#include <stdlib.h>

/* Each place's block, told to all by a table at place 0. */
static void tell(struct test_env *env, const weft_gspan *table, weft_gptr block)
{
    const int me = env->numbers->process;

    TEST_EQ(env,
            weft_host_gput(env->job, weft_gptr_add(table->base, 16 * me), &block, sizeof(block)),
            WEFT_OK);
    TEST_EQ(env, weft_host_gflush(env->job), WEFT_OK);
    TEST_EQ(env, weft_host_barrier(env->job), WEFT_OK);
}

/* The next place's block: as it left it, and then one word more. */
static void visit(struct test_env *env, const weft_gspan *table)
{
    const int n = env->numbers->processes, next = (env->numbers->process + 1) % n;
    uint64_t seen[WORDS], news = 7000 + (uint64_t)env->numbers->process;
    weft_gptr there;

    TEST_EQ(env,
            weft_host_gget(env->job, weft_gptr_add(table->base, 16 * next), &there, sizeof(there)),
            WEFT_OK);
    TEST_EQ(env, weft_gptr_place(there), next);
    TEST_EQ(env, weft_host_gget(env->job, there, seen, BYTES), WEFT_OK);
    for (uint64_t i = 0; i < WORDS; i++)
        TEST_EQ(env, seen[i], 2 * (i + (uint64_t)next));
    TEST_EQ(env, weft_host_gput(env->job, weft_gptr_add(there, 80), &news, 8), WEFT_OK);
    TEST_EQ(env, weft_host_gflush(env->job), WEFT_OK);
    TEST_EQ(env, weft_host_barrier(env->job), WEFT_OK);
}

static int body(struct test_env *env)
{
    const int me = env->numbers->process, n = env->numbers->processes;
    struct data user = {.check = {.failed = 0}};
    weft_gptr block;
    weft_gspan table;

    if (!test_pgas_open(env))
        return TEST_PASSED;
    TEST_EQ(env, weft_galloc(env->job, WEFT_COMM_HOST, 16 * (size_t)n, &table), WEFT_OK);
    TEST_EQ(env, weft_host_local_alloc_kind(env->job, BYTES, WEFT_GKIND_HOST, &block), WEFT_OK);
    uint64_t *const word = weft_host_gaddress(env->job, block);
    if (!TEST(env, word != NULL) || !test_prepare(env, &doubles))
        return TEST_FAILED;
    for (uint64_t i = 0; i < WORDS; i++)
        word[i] = i + (uint64_t)me;
    user.space = weft_pgas_space(env->job);
    user.block = block;
    test_run(env, &user, sizeof(user));
    for (uint64_t i = 0; i < WORDS; i++)
        TEST_EQ(env, word[i], 2 * (i + (uint64_t)me));
    tell(env, &table, block);
    visit(env, &table);
    TEST_EQ(env, word[10], 7000 + (uint64_t)((me + n - 1) % n));
    TEST_EQ(env, weft_host_local_free(env->job, block), WEFT_OK);
    TEST_EQ(env, weft_gfree(env->job, &table), WEFT_OK);
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
