/*
 * Batches: what a rank and its host program begin in them arrives, in order, whether the batch
 * ends, waits, tests, fills the ring, lies in another, or ends with the kernel.
 */
#include "support/test.h"

enum {
    SLOTS = 80, /* more than the host takes in a turn */
    WORDS = 5,  /* of a slot */
    SUM = SLOTS * WORDS * 8,
    EACH = SUM + 8,
    SOURCES = EACH + SLOTS * 8, /* what is put, and what comes back */
    TAG_DATA = 1,
    TAG_BACK = 2,
    TAG_LAST = 3,
    HOST_TAG = 4
};

struct data {
    struct test_check check;
    unsigned char *window, *sources; /* EACH, SOURCES bytes a rank */
    uint32_t rounds;
};

WEFT_DEVICE_FN uint64_t key_of(uint32_t round, size_t slot, int rank)
{
    return round * 1000 + slot + (uint64_t)rank * 7919;
}

/* Puts short and long, gets of them, and updates, all begun in one batch, or two. */
WEFT_DEVICE_FN void begin_all(weft_self *self, struct data *user, weft_win win, uint32_t round)
{
    const int n = weft_size(self, WEFT_COMM_WORLD), me = weft_rank(self, WEFT_COMM_WORLD);
    const int to = (me + 1) % n;
    unsigned char *source = test_mine(self, user->sources, SOURCES);
    weft_op op = {0, 0, 0};

    weft_batch_begin(self);
    if (round % 2 == 1)
        weft_batch_begin(self);
    for (size_t slot = 0; slot < SLOTS; slot++) {
        unsigned char *const from = source + slot * WORDS * 8;
        const size_t bytes = slot % 2 == 0 ? 8 : WORDS * 8;
        test_fill(self, from, bytes, key_of(round, slot, me));
        op = weft_put_begin(self, win, to, slot * WORDS * 8, from, bytes);
        weft_get_begin(self, win, to, slot * WORDS * 8, source + EACH + slot * 8, 8);
        weft_add(self, win, to, SUM, slot);
    }
    if (round % 2 == 1)
        weft_batch_end(self);
    if (round % 3 == 0)
        weft_op_wait(self, op, WEFT_REMOTE); /* within the batch */
    if (round % 3 == 1)
        while (!weft_op_test(self, op, WEFT_LOCAL))
            continue;
    weft_notify(self, WEFT_COMM_WORLD, to, TAG_DATA);
    if (round % 3 == 2) /* the notification is held back with the rest */
        weft_flush(self, win);
    weft_batch_end(self);
    weft_flush(self, win);
}

WEFT_DEVICE_FN void check_all(weft_self *self, struct data *user, uint32_t round)
{
    const int n = weft_size(self, WEFT_COMM_WORLD), me = weft_rank(self, WEFT_COMM_WORLD);
    const int from = (me + n - 1) % n;
    unsigned char *window = test_mine(self, user->window, EACH);
    unsigned char *source = test_mine(self, user->sources, SOURCES);

    for (size_t slot = 0; slot < SLOTS; slot++) {
        const size_t bytes = slot % 2 == 0 ? 8 : WORDS * 8;
        CHECK_EQ(self, &user->check,
                 test_differs(self, window + slot * WORDS * 8, bytes, key_of(round, slot, from)),
                 0);
        CHECK_EQ(self, &user->check,
                 test_differs(self, source + EACH + slot * 8, 8, key_of(round, slot, me)), 0);
    }
    CHECK_EQ(self, &user->check, test_peek_u64((const uint64_t *)(window + SUM)),
             (round + 1) * (uint64_t)(SLOTS * (SLOTS - 1) / 2));
}

/* A rank waits in its batch for one that waits in its own: the waits send what both began. */
WEFT_DEVICE_FN void check_waits(weft_self *self, struct data *user)
{
    const int n = weft_size(self, WEFT_COMM_WORLD), me = weft_rank(self, WEFT_COMM_WORLD);
    const int to = (me + 1) % n, back = (me + n - 1) % n;

    for (uint32_t round = 0; round < user->rounds; round++) {
        weft_batch_begin(self);
        weft_notify(self, WEFT_COMM_WORLD, to, TAG_DATA);
        weft_wait(self, TAG_DATA, 1);
        weft_notify(self, WEFT_COMM_WORLD, back, TAG_BACK);
        while (!weft_test(self, TAG_BACK, 1))
            continue;
        weft_barrier(self, WEFT_COMM_WORLD);
        weft_batch_end(self);
    }
}

WEFT_KERNEL(batch_kernel, struct data, user)
{
    const int n = weft_size(self, WEFT_COMM_WORLD), me = weft_rank(self, WEFT_COMM_WORLD);

    weft_enter(self);
    weft_win win =
        weft_win_create(self, WEFT_COMM_WORLD, test_mine(self, user->window, EACH), EACH);
    CHECK(self, &user->check, win != WEFT_WIN_NONE);
    for (uint32_t round = 0; round < user->rounds; round++) {
        begin_all(self, user, win, round);
        weft_wait(self, TAG_DATA, 1);
        weft_barrier(self, WEFT_COMM_WORLD);
        check_all(self, user, round);
        weft_barrier(self, WEFT_COMM_WORLD);
    }
    check_waits(self, user);
    weft_win_free(self, &win);
    weft_leave(self);
    /* The last ranks wait for what the first began in a batch that only their end can end. */
    if (me >= n / 2 && n > 1)
        weft_wait(self, TAG_LAST, 1);
    weft_batch_begin(self);
    if (me < n / 2)
        weft_notify(self, WEFT_COMM_WORLD, me + n / 2, TAG_LAST);
    if (me == 0 && n % 2 == 1 && n > 1)
        weft_notify(self, WEFT_COMM_WORLD, n - 1, TAG_LAST);
    test_done(self, &user->check);
}

#ifndef __CUDACC__

/* The same of the host program; what it begins in a batch goes when it waits, or ends the batch. */
static void check_host(struct test_env *env)
{
    const int me = env->numbers->process, n = env->numbers->processes;
    uint64_t *memory = test_memory(env, TEST_MAPPED, SLOTS * 8);
    uint64_t *source = test_memory(env, TEST_HOST, SLOTS * 8);
    uint64_t *back = test_memory(env, TEST_HOST, SLOTS * 8);
    weft_win win = WEFT_WIN_NONE;
    weft_op op;

    TEST_EQ(env, weft_host_win_create(env->job, memory, SLOTS * 8, &win), WEFT_OK);
    TEST_EQ(env, weft_host_batch_begin(env->job), WEFT_OK);
    for (size_t slot = 0; slot < SLOTS; slot++) {
        source[slot] = (uint64_t)me * 1000 + slot;
        TEST_EQ(env, weft_host_put(env->job, win, (me + 1) % n, slot * 8, &source[slot], 8), 0);
        TEST_EQ(env,
                weft_host_get_begin(env->job, win, (me + 1) % n, slot * 8, &back[slot], 8, &op), 0);
    }
    TEST_EQ(env, weft_host_op_wait(env->job, op, WEFT_LOCAL), WEFT_OK);
    for (size_t slot = 0; slot < SLOTS; slot++)
        TEST_EQ(env, back[slot], source[slot]);
    TEST_EQ(env, weft_host_notify(env->job, (me + 1) % n, HOST_TAG), WEFT_OK);
    TEST_EQ(env, weft_host_batch_end(env->job), WEFT_OK);
    TEST_EQ(env, weft_host_wait(env->job, HOST_TAG, 1), WEFT_OK);
    TEST_EQ(env, weft_host_get(env->job, win, me, 0, back, SLOTS * 8), WEFT_OK);
    for (size_t slot = 0; slot < SLOTS; slot++)
        TEST_EQ(env, back[slot], (uint64_t)((me + n - 1) % n) * 1000 + slot);
    TEST_EQ(env, weft_host_win_free(env->job, &win), WEFT_OK);
    TEST_EQ(env, weft_host_batch_end(env->job), WEFT_ERR_STATE);
    env->expect = WEFT_ERR_STATE; /* of weft_close: what was refused */
}

static int body(struct test_env *env)
{
    if (!test_prepare(env, &batch_kernel))
        return TEST_FAILED;
    const size_t ranks = (size_t)env->numbers->ranks_here;
    struct data data = {.window = test_memory(env, TEST_MAPPED, ranks * EACH),
                        .sources = test_memory(env, TEST_PLAIN, ranks * SOURCES),
                        .rounds = env->brief ? 2 : 6 * (uint32_t)env->scale};
    test_run(env, &data, sizeof(data));
    check_host(env);
    return TEST_PASSED;
}

TEST_MAIN(body)
#endif
