/*
 * Puts by global pointers with a notification: ranks to ranks of other places, and host programs to
 * ranks of a running kernel. Who consumes the notification finds the data. The words lie in memory
 * of which each place has given as much as it has ranks.
 */
#include "support/test.h"

#include <weft/pgas.h>

enum { ROUNDS = 5, RANKS_TAG = 3, HOSTS_TAG = 4 };

struct data {
    struct test_check check;
    weft_gspace *space;
    weft_gspan words; /* two for each rank of a place: of ranks, and of host programs */
    uint64_t *memory; /* two words a rank: what it puts, and what it gets */
};

/* Which place has the rank, and where its word is. */
WEFT_DEVICE_FN weft_gptr word_of(weft_self *self, const struct data *user, int rank, int which)
{
    int place = 0;

    while (rank >= weft_process_first(self, place) + weft_process_ranks(self, place))
        place++;
    return weft_gptr_add(weft_gptr_at_place(user->words.base, place),
                         16 * (int64_t)(rank - weft_process_first(self, place)) + 8 * which);
}

WEFT_KERNEL(notified, struct data, user)
{
    const int n = weft_size(self, WEFT_COMM_WORLD), me = weft_rank(self, WEFT_COMM_WORLD);
    const int next = (me + 1) % n, before = (me + n - 1) % n;
    uint64_t *const mine = (uint64_t *)test_mine(self, user->memory, 2 * sizeof(*mine));
    uint64_t *const got = mine + 1;

    for (uint64_t round = 1; round <= ROUNDS; round++) {
        if (weft_thread(self) == 0) {
            test_will_write(mine, sizeof(*mine));
            *mine = round * 1000 + (uint64_t)me;
        }
        weft_sync(self);
        weft_gput_notify(self, user->space, word_of(self, user, next, 0), mine, sizeof(*mine), next,
                         RANKS_TAG);
        weft_wait(self, RANKS_TAG, 1);
        weft_gget(self, user->space, word_of(self, user, me, 0), got, sizeof(*got));
        test_will_read(got, sizeof(*got));
        CHECK_EQ(self, &user->check, *got, round * 1000 + (uint64_t)before);
        weft_barrier(self, WEFT_COMM_WORLD);
    }
    weft_wait(self, HOSTS_TAG, 1);
    weft_gget(self, user->space, word_of(self, user, me, 1), got, sizeof(*got));
    test_will_read(got, sizeof(*got));
    CHECK_EQ(self, &user->check, *got, 7 + (uint64_t)me);
    test_done(self, &user->check);
}

/* A rank of another place than the data's. */
WEFT_KERNEL(elsewhere, struct data, user)
{
    uint64_t *const mine = (uint64_t *)test_mine(self, user->memory, 2 * sizeof(*mine));

    weft_gput_notify(self, user->space, user->words.base, mine, sizeof(*mine),
                     weft_process_ranks(self, 0), RANKS_TAG);
    test_done(self, &user->check);
}

#ifndef __CUDACC__

#include "support/pgas_open.h"

#include <stdlib.h>

/* Process q puts to the ranks of process q + 1. */
static void hosts(struct test_env *env, const struct data *user)
{
    const int n = env->numbers->processes, to = (env->numbers->process + 1) % n;
    const int first = weft_first_rank_of(env->job, to), ranks = weft_ranks_of(env->job, to);
    weft_gptr g = weft_gptr_add(weft_gspan_member(env->job, &user->words, to), 8);
    uint64_t *const words = calloc((size_t)ranks, sizeof(*words));

    for (int i = 0; words != NULL && i < ranks; i++, g = weft_gptr_add(g, 16)) {
        words[i] = 7 + (uint64_t)(first + i);
        TEST_EQ(env, weft_host_gput_notify(env->job, g, &words[i], 8, first + i, HOSTS_TAG),
                WEFT_OK);
    }
    TEST_EQ(env, weft_host_gflush(env->job), WEFT_OK); /* words are free again */
    free(words);
}

static int body(struct test_env *env)
{
    struct data user = {.check = {0}};

    if (!test_pgas_open(env))
        return TEST_PASSED;
    if (!test_prepare(env, &notified))
        return TEST_PASSED;
    const size_t here = (size_t)env->numbers->ranks_here;
    user.memory = test_memory(env, TEST_MAPPED, here * 2 * sizeof(*user.memory));
    TEST_EQ(env, weft_galloc_v(env->job, WEFT_COMM_HOST, 16 * here, &user.words), WEFT_OK);
    TEST_EQ(env, user.words.bytes, 16 * here);
    user.space = weft_pgas_space(env->job);
    if (test_start(env, &user, sizeof(user))) {
        hosts(env, &user);
        test_finish(env, &user);
    }
    if (env->only != NULL && test_prepare(env, &elsewhere)) {
        env->expect = WEFT_ERR_RANK;
        test_run(env, &user, sizeof(user));
        return TEST_PASSED;
    }
    TEST_EQ(env, weft_gfree(env->job, &user.words), WEFT_OK);
    TEST_EQ(env, weft_pgas_close(env->job), WEFT_OK);
    return TEST_PASSED;
}

TEST_MAIN(body)

#endif
