/*
 * ptr: where a window is mapped, the rank stores and loads through the address itself; a fence
 * orders its stores before a relaxed notify and before a small put, a notify orders them alone, and
 * so does a barrier, for all. The
 * caller's own window and those of its device are always mapped; windows of weft_malloc memory in
 * other processes are exactly when the path allows it.
 */
#include "order/atomic.h"
#include "support/test.h"

enum { WORDS = 100, EACH = (WORDS + 1) * 8, TAG = 11, TAG_FREE = 12 };

struct data {
    struct test_check check;
    uint64_t *memory; /* WORDS a rank */
    uint32_t rounds;
    uint32_t mapped; /* other processes' windows must be mapped */
};

WEFT_DEVICE_FN void check_addresses(weft_self *self, struct data *user, weft_win win)
{
    const int first = weft_process_first(self, weft_process(self));
    const int here = weft_size(self, WEFT_COMM_DEVICE), n = weft_size(self, WEFT_COMM_WORLD);

    for (int r = 0; r < n; r++) {
        void *address = weft_ptr(self, win, r);
        if (r >= first && r < first + here)
            CHECK(self, &user->check, address == user->memory + (r - first) * (WORDS + 1));
        else
            CHECK(self, &user->check, address != NULL || !user->mapped);
    }
}

WEFT_DEVICE_FN void check_stores(weft_self *self, struct data *user, weft_win win)
{
    const int n = weft_size(self, WEFT_COMM_WORLD), me = weft_rank(self, WEFT_COMM_WORLD);
    const int to = (me + 1) % n, from = (me + n - 1) % n;
    uint64_t *mine = (uint64_t *)test_mine(self, user->memory, EACH);
    uint64_t *theirs = (uint64_t *)weft_ptr(self, win, to);

    weft_notify(self, WEFT_COMM_WORLD, from, TAG_FREE);
    for (uint64_t round = 1; round <= user->rounds; round++) {
        weft_wait(self, TAG_FREE, 1);
        if (theirs != NULL) {
            weft_for (i, WORDS)
                theirs[i] = round * 1000 + i + (uint64_t)me;
        }
        if (round % 2 == 0) {
            weft_notify(self, WEFT_COMM_WORLD, to, TAG);
        } else {
            weft_fence(self);
            weft_notify_relaxed(self, WEFT_COMM_WORLD, to, TAG);
        }
        weft_wait(self, TAG, 1);
        if (mine[0] != 0) { /* or it is not mapped there */
            weft_for (i, WORDS)
                CHECK_EQ(self, &user->check, mine[i], round * 1000 + i + (uint64_t)from);
        } else {
            CHECK(self, &user->check, !user->mapped);
        }
        weft_notify(self, WEFT_COMM_WORLD, from, TAG_FREE);
    }
    weft_wait(self, TAG_FREE, 1);
    /* Loads: the next rank's words are there as they were written. */
    if (theirs != NULL)
        CHECK_EQ(self, &user->check, theirs[WORDS - 1],
                 user->rounds * 1000 + WORDS - 1 + (uint64_t)me);
}

/*
 * Stores, a fence, and a notified put of a word elsewhere, which may go through a channel. The
 * target has looked at the old words just before, so a cache may hold them.
 */
WEFT_DEVICE_FN void check_fenced(weft_self *self, struct data *user, weft_win win)
{
    const int n = weft_size(self, WEFT_COMM_WORLD), me = weft_rank(self, WEFT_COMM_WORLD);
    uint64_t *mine = (uint64_t *)test_mine(self, user->memory, EACH);
    uint64_t *theirs = (uint64_t *)weft_ptr(self, win, n - 1);
    const int mapped = user->mapped && n > 1; /* all ranks alike */

    weft_barrier(self, WEFT_COMM_WORLD);
    for (uint64_t round = 1; mapped && round <= user->rounds; round++) {
        if (me == 0) {
            weft_wait(self, TAG_FREE, 1);
            weft_for (i, WORDS)
                theirs[i] = round * 7 + i;
            weft_fence(self);
            if (weft_thread(self) == 0)
                mine[0] = round;
            weft_put_notify(self, win, n - 1, WORDS * 8, mine, 8, TAG);
        } else if (me == n - 1) {
            if (round > 1)
                weft_for (i, WORDS)
                    CHECK_EQ(self, &user->check, mine[i], (round - 1) * 7 + i);
            weft_notify(self, WEFT_COMM_WORLD, 0, TAG_FREE);
            weft_wait(self, TAG, 1);
            weft_for (i, WORDS)
                CHECK_EQ(self, &user->check, mine[i], round * 7 + i);
            CHECK_EQ(self, &user->check, mine[WORDS], round);
        }
    }
    weft_barrier(self, WEFT_COMM_WORLD);
}

/* Random mode may hold it back, until something releases it. */
WEFT_DEVICE_FN void store(uint64_t *word, uint64_t value)
{
#ifdef __CUDACC__
    *word = value;
#else
    weft_store_relaxed_u64(word, value);
#endif
}

/*
 * Every thread stores to several ranks, which know by a barrier alone that it is there. Two copies:
 * who is ahead by a barrier writes the other.
 */
WEFT_DEVICE_FN void check_barrier(weft_self *self, struct data *user, weft_win win)
{
    enum { REACH = 5, COPY = WORDS / 2, EACH_OF = COPY / REACH };
    const int n = weft_size(self, WEFT_COMM_WORLD), me = weft_rank(self, WEFT_COMM_WORLD);
    uint64_t *mine = (uint64_t *)test_mine(self, user->memory, EACH);

    for (uint64_t round = 1; round <= user->rounds; round++) {
        const uint64_t copy = round % 2 * COPY;
        for (int d = 0; d < REACH && d < n; d++) {
            uint64_t *theirs = (uint64_t *)weft_ptr(self, win, (me + d) % n);
            weft_for (i, theirs != NULL ? EACH_OF : 0)
                store(&theirs[copy + (uint64_t)d * EACH_OF + i], round * 1000 + (uint64_t)me + i);
        }
        weft_barrier(self, WEFT_COMM_WORLD);
        for (int d = 0; d < REACH && d < n; d++) {
            const int from = (me + n - d) % n;
            weft_for (i, weft_ptr(self, win, from) != NULL ? EACH_OF : 0)
                CHECK_EQ(self, &user->check, mine[copy + (uint64_t)d * EACH_OF + i],
                         round * 1000 + (uint64_t)from + i);
        }
    }
    weft_barrier(self, WEFT_COMM_WORLD);
}

WEFT_KERNEL(ptr_kernel, struct data, user)
{
    weft_enter(self);
    weft_win win =
        weft_win_create(self, WEFT_COMM_WORLD, test_mine(self, user->memory, EACH), EACH);
    CHECK(self, &user->check, win != WEFT_WIN_NONE);
    check_addresses(self, user, win);
    check_stores(self, user, win);
    check_fenced(self, user, win);
    check_barrier(self, user, win);
    weft_win_free(self, &win);
    weft_leave(self);
    test_done(self, &user->check);
}

#ifndef __CUDACC__
static int body(struct test_env *env)
{
    static const enum test_memory kinds[] = {TEST_MAPPED, TEST_PLAIN};

    if (!test_prepare(env, &ptr_kernel))
        return TEST_FAILED;
    for (size_t i = 0; i < 2; i++) {
        struct data data = {
            .memory = test_memory(env, kinds[i], (size_t)env->numbers->ranks_here * EACH),
            .rounds = env->brief ? 3 : 50 * (uint32_t)env->scale,
            .mapped = env->mapped_only,
        };
        test_run(env, &data, sizeof(data));
    }
    return TEST_PASSED;
}

TEST_MAIN(body)
#endif
