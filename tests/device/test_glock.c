/*
 * Locks of the global address space: host programs and ranks of all places add to one number by a
 * get and a put, which loses some unless one at a time does it. Who has the lock sees what the last
 * one put, at another place than the lock's. A lock that is held is not given by a try, and one
 * that nobody has is not released.
 */
#include "support/test.h"

#include <weft/pgas.h>

struct data {
    struct test_check check;
    weft_gspace *space;
    weft_glock lock;
    weft_gptr number;
    uint64_t *memory; /* a word a rank */
    uint32_t rounds;
};

WEFT_KERNEL(locks, struct data, user)
{
    uint64_t *const mine = (uint64_t *)test_mine(self, user->memory, sizeof(*mine));

    for (uint32_t i = 0; i < user->rounds; i++) {
        const int tried = i % 4 == 3 && weft_glock_try(self, user->space, &user->lock);
        if (!tried)
            weft_glock_acquire(self, user->space, &user->lock);
        CHECK(self, &user->check, !weft_glock_try(self, user->space, &user->lock));
        weft_gget(self, user->space, user->number, mine, sizeof(*mine));
        weft_sync(self);
        if (weft_thread(self) == 0) {
            test_will_read(mine, sizeof(*mine));
            test_will_write(mine, sizeof(*mine));
            ++*mine;
        }
        weft_sync(self);
        weft_gput(self, user->space, user->number, mine, sizeof(*mine));
        weft_glock_release(self, user->space, &user->lock);
    }
    test_done(self, &user->check);
}

/* Releases one that nobody has. */
WEFT_KERNEL(unheld, struct data, user)
{
    weft_glock_release(self, user->space, &user->lock);
    test_done(self, &user->check);
}

#ifndef __CUDACC__

#include "support/pgas_open.h"

/* The host program takes its turns while the kernel runs. */
static void hosts(struct test_env *env, const struct data *user)
{
    uint64_t number;
    int taken;

    for (uint32_t i = 0; i < user->rounds; i++) {
        TEST_EQ(env, weft_host_glock_try(env->job, &user->lock, &taken), WEFT_OK);
        if (!taken)
            TEST_EQ(env, weft_host_glock_acquire(env->job, &user->lock), WEFT_OK);
        TEST_EQ(env, weft_host_glock_try(env->job, &user->lock, &taken), WEFT_OK);
        TEST_EQ(env, taken, 0);
        TEST_EQ(env, weft_host_gget(env->job, user->number, &number, sizeof(number)), WEFT_OK);
        number++;
        TEST_EQ(env, weft_host_gput(env->job, user->number, &number, sizeof(number)), WEFT_OK);
        TEST_EQ(env, weft_host_glock_release(env->job, &user->lock), WEFT_OK);
    }
}

static int body(struct test_env *env)
{
    const int n = env->numbers->processes;
    struct data user = {.rounds = env->brief ? 3 : 40 * (uint32_t)env->scale};
    const uint64_t zero = 0;
    uint64_t number = 0;
    weft_gspan span;

    if (!test_pgas_open(env))
        return TEST_PASSED;
    if (!test_prepare(env, &locks))
        return TEST_PASSED;
    user.memory = test_memory(env, TEST_MAPPED, (size_t)env->numbers->ranks_here * 8);
    TEST_EQ(env, weft_glock_create(env->job, WEFT_COMM_HOST, env->numbers->ranks_here, &user.lock),
            WEFT_OK);
    TEST_EQ(env, weft_galloc(env->job, WEFT_COMM_HOST, sizeof(number), &span), WEFT_OK);
    user.space = weft_pgas_space(env->job);
    user.number = weft_gspan_member(env->job, &span, n - 1);
    TEST_EQ(env,
            weft_host_gput(env->job, weft_gptr_at_place(span.base, env->numbers->process), &zero,
                           sizeof(zero)),
            WEFT_OK);
    TEST_EQ(env, weft_host_gflush(env->job), WEFT_OK);
    TEST_EQ(env, weft_host_barrier(env->job), WEFT_OK);
    if (test_start(env, &user, sizeof(user))) {
        hosts(env, &user);
        test_finish(env, &user);
    }
    TEST_EQ(env, weft_host_gget(env->job, user.number, &number, sizeof(number)), WEFT_OK);
    TEST_EQ(env, number, user.rounds * (uint64_t)(env->numbers->ranks + n));
    TEST_EQ(env, weft_host_barrier(env->job), WEFT_OK);
    env->expect = WEFT_ERR_STATE;
    if (env->only != NULL && test_prepare(env, &unheld)) {
        test_run(env, &user, sizeof(user));
        return TEST_PASSED;
    }
    TEST_EQ(env, weft_host_glock_release(env->job, &user.lock), WEFT_ERR_STATE); /* nobody has it */
    TEST_EQ(env, weft_glock_free(env->job, &user.lock), WEFT_OK);
    TEST_EQ(env, weft_gfree(env->job, &span), WEFT_OK);
    TEST_EQ(env, weft_pgas_close(env->job), WEFT_OK);
    return TEST_PASSED;
}

TEST_MAIN(body)

#endif
