/*
 * Puts of every size, at every alignment of target and source, each of the four ways to tell the
 * target: all bytes arrive, and no byte beside them changes.
 */
#include "support/test.h"

enum { LARGEST = 98304 + 16, GUARD = 24, EACH = LARGEST + 2 * GUARD + 16, DISTANCES = 3 };
static_assert(EACH % 16 == 0, "all ranks' memory is aligned alike");

struct data {
    struct test_check check;
    unsigned char *windows, *sources; /* EACH bytes a rank */
    uint32_t brief;
};

enum form { PUT_NOTIFY, PUT_THEN_NOTIFY, PUT_FLUSH_NOTIFY, PUT_FENCE_RELAXED, FORMS };

struct exchange {
    enum form form;
    size_t bytes, offset, skew; /* skew: of the source */
    int way;                    /* 0 .. DISTANCES - 1: which neighbour */
};

WEFT_DEVICE_FN int distance(int way, int ranks)
{
    return way == 0 ? 0 : way == 1 ? 1 : ranks / 2;
}

WEFT_DEVICE_FN void send(weft_self *self, weft_win win, int to, const unsigned char *source,
                         const struct exchange *x, int tag)
{
    if (x->form == PUT_NOTIFY) {
        weft_put_notify(self, win, to, x->offset, source, x->bytes, tag);
        return;
    }
    weft_put(self, win, to, x->offset, source, x->bytes);
    if (x->form == PUT_FLUSH_NOTIFY)
        weft_flush(self, win);
    if (x->form == PUT_FENCE_RELAXED) {
        weft_fence(self);
        weft_notify_relaxed(self, WEFT_COMM_WORLD, to, tag);
    } else {
        weft_notify(self, WEFT_COMM_WORLD, to, tag);
    }
}

/* Every rank sends to one neighbour and hears from another; each says first that it is ready. */
WEFT_DEVICE_FN void exchange(weft_self *self, struct data *user, weft_win win,
                             const struct exchange *x)
{
    const int n = weft_size(self, WEFT_COMM_WORLD), me = weft_rank(self, WEFT_COMM_WORLD);
    const int d = distance(x->way, n), to = (me + d) % n, from = (me + n - d) % n;
    const int ready = 2 * x->way, arrived = 2 * x->way + 1;
    unsigned char *target = test_mine(self, user->windows, EACH);
    unsigned char *source = test_mine(self, user->sources, EACH) + x->skew;
    const uint64_t key = x->bytes * 7 + x->offset;
    const int lanes = weft_threads(self) % 8 == 0 ? 8 : 1;

    test_clear(self, target + x->offset - GUARD, x->bytes + 2 * GUARD);
    weft_notify(self, WEFT_COMM_WORLD, from, ready);
    weft_flush_local(self, win);
    test_fill(self, source, x->bytes, key + (uint64_t)me * 1000);
    weft_wait(self, ready, 1);
    send(self, win, to, source, x, arrived);
    /* The thread that sends for all may be late: nobody must be left out. */
    CHECK_EQ(self, &user->check, weft_block_sum(self, 1), weft_threads(self));
    CHECK_EQ(self, &user->check, weft_lane_sum(self, 1, lanes), lanes);
    weft_wait(self, arrived, 1);
    CHECK_EQ(self, &user->check,
             test_differs(self, target + x->offset, x->bytes, key + (uint64_t)from * 1000), 0);
    CHECK_EQ(self, &user->check, test_differs_from(self, target + x->offset - GUARD, GUARD, 0), 0);
    CHECK_EQ(self, &user->check, test_differs_from(self, target + x->offset + x->bytes, GUARD, 0),
             0);
}

/* The i-th size of the list; 0 <= i < SIZES: all up to 66, then about the powers of two. */
enum { SIZES = 67 + 3 * 6 + 2 };
WEFT_DEVICE_FN size_t size_at(int i)
{
    if (i < 67)
        return (size_t)i;
    if (i < 67 + 18)
        return ((size_t)128 << (i - 67) / 3) + (size_t)((i - 67) % 3) - 1;
    return i == 67 + 18 ? 12289 : 65536 + 3;
}

/* Sizes about the rounds of a copy by 64 threads, 16 or 8 bytes each, 8 under way: 8 or 4 KiB. */
enum { WIDE = 10 };
WEFT_DEVICE_FN size_t wide_at(int i)
{
    const size_t bytes[WIDE] = {1040,  4096 - 16, 4096,  8192 + 16,  24576 + 16,
                                16384, 32768,     49152, 65536 + 16, LARGEST};
    return bytes[i];
}

/* To the next address that is `rest` more than a multiple of 16. */
WEFT_DEVICE_FN size_t up_to(const unsigned char *p, size_t rest)
{
    return (rest - (size_t)(uintptr_t)p) % 16;
}

WEFT_KERNEL(put_kernel, struct data, user)
{
    weft_enter(self);
    weft_win win =
        weft_win_create(self, WEFT_COMM_WORLD, test_mine(self, user->windows, EACH), EACH);
    CHECK(self, &user->check, win != WEFT_WIN_NONE);
    for (int i = 0; i < SIZES; i += user->brief ? 11 : 1) {
        for (int way = 0; way < DISTANCES; way++) {
            struct exchange x;
            x.form = (enum form)((i + way) % FORMS);
            x.bytes = size_at(i);
            x.offset = GUARD + (size_t)(i + 3 * way) % 16;
            x.skew = (size_t)(i / 8 + way) % 16;
            x.way = way;
            exchange(self, user, win, &x);
        }
    }
    for (int i = 0; i < WIDE; i += user->brief ? 4 : 1) {
        struct exchange x;
        const unsigned char *target = test_mine(self, user->windows, EACH);
        const unsigned char *source = test_mine(self, user->sources, EACH);
        const size_t rest = i % 4 == 3 ? 8 : 0; /* alike, or not */
        x.form = i % 2 == 0 ? PUT_NOTIFY : PUT_THEN_NOTIFY;
        x.bytes = wide_at(i);
        x.way = i % DISTANCES;
        x.offset = GUARD + up_to(target + GUARD, 0);
        x.skew = up_to(source, rest);
        exchange(self, user, win, &x);
    }
    weft_win_free(self, &win);
    CHECK_EQ(self, &user->check, win, WEFT_WIN_NONE);
    weft_leave(self);
    test_done(self, &user->check);
}

#ifndef __CUDACC__
static int body(struct test_env *env)
{
    static const enum test_memory kinds[] = {TEST_MAPPED, TEST_PLAIN, TEST_REGISTERED};

    if (!test_prepare(env, &put_kernel))
        return TEST_FAILED;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        const size_t bytes = (size_t)env->numbers->ranks_here * EACH;
        struct data data = {.windows = test_memory(env, kinds[i], bytes),
                            .sources = test_memory(env, kinds[(i + 1) % 3], bytes),
                            .brief = env->brief};
        test_run(env, &data, sizeof(data));
    }
    return TEST_PASSED;
}

TEST_MAIN(body)
#endif
