/*
 * Operations of puts: LOCAL frees the source, REMOTE shows the data to whoever is told, also a
 * third rank. The newest that is done speaks for those before it; a done one is done for ever. They
 * mix over windows, and with gets and updates.
 */
#include "support/test.h"

enum {
    BYTES = 3000,
    SLOTS = 24,
    EACH = BYTES * SLOTS + 64,
    TAG_DATA = 1,
    TAG_LOOK = 2,
    TAG_FREE = 3
};

struct data {
    struct test_check check;
    unsigned char *windows[2], *sources; /* EACH bytes a rank */
    uint32_t rounds;
};

WEFT_DEVICE_FN size_t bytes_of(size_t slot)
{
    return slot % 3 == 0 ? BYTES : slot % 3 == 1 ? 8 : 40; /* inline, and not */
}

/* One source for many puts, written anew as soon as each has left. */
WEFT_DEVICE_FN void check_local(weft_self *self, struct data *user, const weft_win *win)
{
    const int n = weft_size(self, WEFT_COMM_WORLD), me = weft_rank(self, WEFT_COMM_WORLD);
    const int to = (me + 1) % n, from = (me + n - 1) % n;
    unsigned char *source = test_mine(self, user->sources, EACH);

    for (uint32_t round = 0; round < user->rounds; round++) {
        for (size_t slot = 0; slot < SLOTS; slot++) {
            test_fill(self, source, bytes_of(slot), round * SLOTS + slot + (uint64_t)me * 7919);
            const weft_op op =
                weft_put_begin(self, win[slot % 2], to, slot * BYTES, source, bytes_of(slot));
            if (slot % 4 == 0)
                while (!weft_op_test(self, op, WEFT_LOCAL))
                    continue;
            else
                weft_op_wait(self, op, WEFT_LOCAL);
        }
        test_clear(self, source, BYTES);
        weft_notify(self, WEFT_COMM_WORLD, to, TAG_DATA);
        weft_wait(self, TAG_DATA, 1);
        for (size_t slot = 0; slot < SLOTS; slot++)
            CHECK_EQ(self, &user->check,
                     test_differs(self,
                                  test_mine(self, user->windows[slot % 2], EACH) + slot * BYTES,
                                  bytes_of(slot), round * SLOTS + slot + (uint64_t)from * 7919),
                     0);
        weft_notify(self, WEFT_COMM_WORLD, from, TAG_FREE);
        weft_wait(self, TAG_FREE, 1);
    }
}

/*
 * Rank r puts to r + 1, waits until the newest is there, and tells r + 2, who asks r + 1 to look at
 * all of them.
 */
WEFT_DEVICE_FN void check_remote(weft_self *self, struct data *user, const weft_win *win)
{
    const int n = weft_size(self, WEFT_COMM_WORLD), me = weft_rank(self, WEFT_COMM_WORLD);
    unsigned char *source = test_mine(self, user->sources, EACH);

    for (uint32_t round = 0; round < user->rounds; round++) {
        weft_op op[SLOTS];
        for (size_t slot = 0; slot < SLOTS; slot++) {
            test_fill(self, source + slot * BYTES, bytes_of(slot),
                      round + slot * 100 + (uint64_t)me * 31);
            op[slot] = weft_put_begin(self, win[slot % 2], (me + 1) % n, slot * BYTES,
                                      source + slot * BYTES, bytes_of(slot));
        }
        weft_op_wait(self, op[SLOTS - 1], WEFT_REMOTE);
        weft_notify(self, WEFT_COMM_WORLD, (me + 2) % n, TAG_DATA);
        for (size_t slot = 0; slot < SLOTS; slot++) {
            CHECK_EQ(self, &user->check, weft_op_test(self, op[slot], WEFT_REMOTE), 1);
            CHECK_EQ(self, &user->check, weft_op_test(self, op[slot], WEFT_LOCAL), 1);
        }
        weft_wait(self, TAG_DATA, 1);
        weft_notify(self, WEFT_COMM_WORLD, (me + n - 1) % n, TAG_LOOK);
        weft_wait(self, TAG_LOOK, 1);
        for (size_t slot = 0; slot < SLOTS; slot++)
            CHECK_EQ(self, &user->check,
                     test_differs(
                         self, test_mine(self, user->windows[slot % 2], EACH) + slot * BYTES,
                         bytes_of(slot), round + slot * 100 + (uint64_t)((me + n - 1) % n) * 31),
                     0);
        weft_barrier(self, WEFT_COMM_WORLD);
    }
}

/* Operations of both kinds under way at once, to all distances, over two windows. */
WEFT_DEVICE_FN void check_mixed(weft_self *self, struct data *user, const weft_win *win)
{
    const int n = weft_size(self, WEFT_COMM_WORLD), me = weft_rank(self, WEFT_COMM_WORLD);
    unsigned char *source = test_mine(self, user->sources, EACH), *back = source + EACH / 2 / 8 * 8;
    const weft_op done = {0, 0, 0};
    uint64_t *const word = (uint64_t *)(void *)(source + EACH - 64);
    weft_op put[3], get[3], add[3];

    CHECK_EQ(self, &user->check, weft_op_test(self, done, WEFT_LOCAL), 1);
    CHECK_EQ(self, &user->check, weft_op_test(self, done, WEFT_REMOTE), 1);
    weft_op_wait(self, done, WEFT_REMOTE);
    for (int w = 0; w < 2; w++) {
        test_clear(self, test_mine(self, user->windows[w], EACH), EACH);
        weft_barrier(self, WEFT_COMM_WORLD);
        for (int i = 0; i < 3; i++) {
            const int to = (me + i * (n / 2)) % n;
            /* Each distance has a place of its own; with few ranks two distances may be one. */
            const size_t place = (size_t)i * 4096, at = EACH - 64 + (size_t)i * 8;
            test_fill(self, source, 2000, (uint64_t)me * 3 + 1);
            put[i] = weft_put_begin(self, win[w], to, place, source, 2000);
            get[i] = weft_get_begin(self, win[w], to, place, back + i * 2000, 2000);
            add[i] = weft_fetch_add_begin(self, win[w], to, at, 5, word + i);
            weft_op_wait(self, put[i], WEFT_LOCAL);
        }
        for (int i = 2; i >= 0; i--) {
            weft_op_wait(self, add[i], WEFT_LOCAL);
            CHECK_EQ(self, &user->check, weft_op_test(self, get[i], WEFT_LOCAL), 1);
            CHECK_EQ(self, &user->check,
                     test_differs(self, back + i * 2000, 2000, (uint64_t)me * 3 + 1), 0);
            CHECK_EQ(self, &user->check, word[i], 0);
        }
        weft_flush(self, win[w]);
        weft_barrier(self, WEFT_COMM_WORLD);
        for (int i = 0; i < 3; i++) {
            weft_get(self, win[w], me, EACH - 64 + (size_t)i * 8, word + i, 8);
            CHECK_EQ(self, &user->check, word[i], 5);
        }
        weft_barrier(self, WEFT_COMM_WORLD);
    }
}

WEFT_KERNEL(op_kernel, struct data, user)
{
    weft_win win[2];

    weft_enter(self);
    for (int w = 0; w < 2; w++) {
        win[w] =
            weft_win_create(self, WEFT_COMM_WORLD, test_mine(self, user->windows[w], EACH), EACH);
        CHECK(self, &user->check, win[w] != WEFT_WIN_NONE);
    }
    check_local(self, user, win);
    weft_barrier(self, WEFT_COMM_WORLD);
    check_remote(self, user, win);
    check_mixed(self, user, win);
    for (int w = 0; w < 2; w++)
        weft_win_free(self, &win[w]);
    weft_leave(self);
    test_done(self, &user->check);
}

#ifndef __CUDACC__
static int body(struct test_env *env)
{
    if (!test_prepare(env, &op_kernel))
        return TEST_FAILED;
    const size_t bytes = (size_t)env->numbers->ranks_here * EACH;
    struct data data = {
        .windows = {test_memory(env, TEST_MAPPED, bytes), test_memory(env, TEST_PLAIN, bytes)},
        .sources = test_memory(env, TEST_PLAIN, bytes),
        .rounds = env->brief ? 1 : 8 * (uint32_t)env->scale};
    test_run(env, &data, sizeof(data));
    return TEST_PASSED;
}

TEST_MAIN(body)
#endif
