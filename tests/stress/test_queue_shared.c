/*
 * Many ranks that post to one queue: each takes tickets by atomics, and puts to its neighbour. No
 * ticket is lost or given twice, and each put is there when its notice is. Index wraps and nearly
 * full queues are the matrix's (WEFT_COUNTER_START, WEFT_GDA_DEPTH).
 */
#include "support/test.h"

#ifndef __CUDACC__
#include <stdio.h>
#include <stdlib.h>
#endif

enum { BYTES = 200, TAG = 3, TAG_FREE = 4 };

struct data {
    struct test_check check;
    unsigned char *memory; /* of each rank: a word for tickets and a window; then a source */
    uint64_t *tickets;     /* that each rank got, `rounds` each */
    uint32_t rounds;
};

enum { EACH = 8 + 2 * BYTES };

WEFT_KERNEL(sharing, struct data, user)
{
    const int me = weft_rank(self, WEFT_COMM_WORLD), n = weft_size(self, WEFT_COMM_WORLD);
    const int to = (me + 1) % n, from = (me + n - 1) % n;
    unsigned char *const mine = test_mine(self, user->memory, EACH);
    unsigned char *const source = mine + 8 + BYTES;
    uint64_t *const tickets =
        user->tickets + (size_t)weft_rank(self, WEFT_COMM_DEVICE) * user->rounds;
    const uint32_t rounds = user->rounds;

    weft_enter(self);
    weft_win win = weft_win_create(self, WEFT_COMM_WORLD, mine, 8 + BYTES);
    weft_notify(self, WEFT_COMM_WORLD, from, TAG_FREE);
    for (uint32_t i = 0; i < rounds; i++) {
        const size_t bytes = 1 + (i * 37 + (uint32_t)me) % BYTES; /* inside a request, and not */
        const uint64_t ticket = weft_fetch_add(self, win, 0, 0, 1);
        if (weft_thread(self) == 0)
            tickets[i] = ticket;
        weft_flush_local(self, win);
        test_fill(self, source, bytes, (uint64_t)me * rounds + i);
        weft_wait(self, TAG_FREE, 1);
        if (i % 3 == 0)
            weft_batch_begin(self);
        weft_put(self, win, to, 8, source, bytes / 2);
        weft_put_notify(self, win, to, 8 + bytes / 2, source + bytes / 2, bytes - bytes / 2, TAG);
        if (i % 3 == 0)
            weft_batch_end(self);
        weft_wait(self, TAG, 1);
        const size_t sent = 1 + (i * 37 + (uint32_t)from) % BYTES;
        CHECK_EQ(self, &user->check,
                 test_differs(self, mine + 8, sent, (uint64_t)from * rounds + i), 0);
        weft_notify(self, WEFT_COMM_WORLD, from, TAG_FREE);
    }
    weft_wait(self, TAG_FREE, 1);
    weft_barrier(self, WEFT_COMM_WORLD);
    if (me == 0)
        CHECK_EQ(self, &user->check, *(volatile uint64_t *)mine, (uint64_t)n * rounds);
    weft_win_free(self, &win);
    weft_leave(self);
    test_done(self, &user->check);
}

#ifndef __CUDACC__
/* Of one process all tickets are here: each number once. Of several: a rank's rise. */
static void check_tickets(struct test_env *env, const uint64_t *tickets, uint32_t rounds)
{
    const size_t here = (size_t)env->numbers->ranks_here * rounds;
    const size_t all = (size_t)env->numbers->ranks * rounds;
    unsigned char *seen = calloc(all, 1);

    TEST(env, seen != NULL);
    for (size_t i = 0; i < here && seen != NULL; i++) {
        if (!TEST(env, tickets[i] < all) || !TEST_EQ(env, seen[tickets[i]], 0) ||
            !TEST(env, i % rounds == 0 || tickets[i] > tickets[i - 1]))
            break;
        seen[tickets[i]] = 1;
    }
    free(seen);
}

static int body(struct test_env *env)
{
    if (!test_prepare(env, &sharing))
        return TEST_FAILED;
    const size_t ranks = (size_t)env->numbers->ranks_here;
    struct data data = {.rounds = env->brief ? 3 : (ranks > 16 ? 40 : 300) * (uint32_t)env->scale};
    const size_t bytes = ranks * data.rounds * sizeof(uint64_t);
    uint64_t *tickets = test_memory(env, TEST_HOST, bytes);

    data.memory = test_memory(env, TEST_MAPPED, ranks * EACH);
    data.tickets = test_memory(env, TEST_MAPPED, bytes);
    test_run(env, &data, sizeof(data));
    TEST_EQ(env, weft_copy(env->job, tickets, data.tickets, bytes), WEFT_OK);
    check_tickets(env, tickets, data.rounds);
    if (env->failures == 0 && env->numbers->process == 0)
        printf("%d ranks, %u requests each: none lost, none twice\n", env->numbers->ranks,
               4 * data.rounds);
    return TEST_PASSED;
}

TEST_MAIN(body)
#endif
