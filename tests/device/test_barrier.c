/*
 * Barriers of the world, the device and user communicators: nobody leaves before all have entered.
 * Each rank writes its round into every other rank's table and flushes before it enters; whoever
 * leaves must find the round, or a later one, from all.
 */
#include "support/test.h"

struct data {
    struct test_check check;
    uint64_t *tables;  /* ranks words for each rank of the device, and one as source */
    uint32_t *entered; /* ranks of the device that entered their round */
    uint32_t ranks, rounds;
};

/* Lets ranks arrive in ever different order. */
WEFT_DEVICE_FN void dawdle(weft_self *self, uint64_t *random)
{
    for (uint32_t i = test_random(random, 4); i > 0; i--)
        weft_test(self, 0, 1);
}

WEFT_DEVICE_FN void check_world(weft_self *self, struct data *user, weft_comm comm, uint64_t random)
{
    const int n = weft_size(self, comm), me = weft_rank(self, comm);
    uint64_t *table = (uint64_t *)test_mine(self, user->tables, (user->ranks + 1) * 8);
    uint64_t *source = table + user->ranks;

    test_clear(self, table, user->ranks * 8);
    weft_win win = weft_win_create(self, comm, table, (size_t)n * 8);
    CHECK(self, &user->check, win != WEFT_WIN_NONE);
    for (uint64_t round = 1; round <= user->rounds; round++) {
        dawdle(self, &random);
        weft_sync(self);
        *source = round;
        for (int to = 0; to < n; to++)
            weft_put(self, win, to, (size_t)me * 8, source, 8);
        weft_flush(self, win);
        weft_barrier(self, comm);
        weft_for (r, n)
            CHECK(self, &user->check, test_peek_u64(table + r) >= round);
    }
    weft_win_free(self, &win);
}

/* On the device a plain counter is enough. */
WEFT_DEVICE_FN void check_device(weft_self *self, struct data *user, uint64_t random)
{
    const uint32_t n = (uint32_t)weft_size(self, WEFT_COMM_DEVICE);

    for (uint32_t round = 1; round <= 10 * user->rounds; round++) {
        dawdle(self, &random);
        if (weft_thread(self) == 0)
            test_add_u32(user->entered, 1);
        weft_barrier(self, WEFT_COMM_DEVICE);
        if (weft_thread(self) == 0) {
            const uint32_t entered = test_add_u32(user->entered, 0);
            CHECK(self, &user->check, entered >= n * round && entered <= n * (round + 1));
        }
    }
}

WEFT_KERNEL(barrier_kernel, struct data, user)
{
    const int me = weft_rank(self, WEFT_COMM_WORLD), n = weft_size(self, WEFT_COMM_WORLD);
    const uint64_t random = (uint64_t)me * 77;

    weft_enter(self);
    check_device(self, user, random);
    check_world(self, user, WEFT_COMM_WORLD, random);
    /* Uneven parts, whose members lie all over the devices; several barriers at the same time. */
    weft_comm part = weft_comm_split(self, WEFT_COMM_WORLD, me * 3 / n + me % 2, me);
    check_world(self, user, part, random);
    weft_comm_free(self, &part);
    weft_comm two = weft_comm_split(self, WEFT_COMM_WORLD, me == 0 || me == n - 1 ? 0 : -1, -me);
    if (two != WEFT_COMM_NONE) {
        check_world(self, user, two, random);
        weft_comm_free(self, &two);
    }
    weft_leave(self);
    test_done(self, &user->check);
}

#ifndef __CUDACC__
static int body(struct test_env *env)
{
    if (!test_prepare(env, &barrier_kernel))
        return TEST_FAILED;
    const weft_numbers *n = env->numbers;
    struct data data = {
        .tables = test_memory(env, TEST_MAPPED, (size_t)n->ranks_here * ((size_t)n->ranks + 1) * 8),
        .entered = test_memory(env, TEST_MAPPED, sizeof(uint32_t)),
        .ranks = (uint32_t)n->ranks,
        .rounds = env->brief      ? 2
                  : n->ranks > 64 ? 3
                                  : 20 * (uint32_t)env->scale,
    };
    test_run(env, &data, sizeof(data));
    return TEST_PASSED;
}

TEST_MAIN(body)
#endif
