/*
 * Gets of every size and alignment, from each distance: all bytes come, no byte beside them
 * changes. A get sees what its rank put there before, by any path, and nothing that it puts there
 * later. Many may be under way; the newest that is there speaks for those before it.
 */
#include "support/test.h"

enum {
    LARGEST = 300000,
    GUARD = 24,
    DISTANCES = 3,
    OWN = 20480, /* of a window, written by the rank at one distance only */
    SHOWN = LARGEST + 16,
    EACH = SHOWN + DISTANCES * OWN,
    ROOM = LARGEST + 2 * GUARD + 32,
    MANY = 50, /* more than one process may have under way at another */
    TAG_DATA = 7,
    TAG_PUT = 8
};
static_assert(EACH % 16 == 0 && ROOM % 16 == 0, "all ranks' memory is aligned alike");

struct data {
    struct test_check check;
    unsigned char *windows, *fetched; /* EACH and ROOM bytes a rank */
    uint32_t brief, shown;            /* shown: bytes of a window to look at */
};

WEFT_DEVICE_FN int distance(int way, int ranks)
{
    return way == 0 ? 0 : way == 1 ? 1 : ranks / 2;
}

WEFT_DEVICE_FN int source_of(weft_self *self, int way)
{
    const int n = weft_size(self, WEFT_COMM_WORLD);
    return (weft_rank(self, WEFT_COMM_WORLD) + distance(way, n)) % n;
}

/* What a rank shows: byte i of its window. */
WEFT_DEVICE_FN unsigned char shown(int rank, size_t i)
{
    return test_byte((uint64_t)rank + 77, i);
}

/* `bytes` bytes from offset of rank `from` lie at p; the value is how many of them do not. */
WEFT_DEVICE_FN size_t wrong(weft_self *self, const unsigned char *p, int from, size_t offset,
                            size_t bytes)
{
    size_t count = 0;

    (void)self;
    test_will_read(p, bytes);
    weft_for (i, bytes)
        count += p[i] != shown(from, offset + i);
    return count;
}

/* One get, and the bytes beside it. */
WEFT_DEVICE_FN void check_one(weft_self *self, struct data *user, weft_win win, int from,
                              size_t offset, size_t skew, size_t bytes, bool notified)
{
    unsigned char *const to = test_mine(self, user->fetched, ROOM) + GUARD + skew;

    test_clear(self, to - GUARD, bytes + 2 * GUARD);
    if (notified) {
        weft_get_notify(self, win, from, offset, to, bytes, TAG_DATA);
        weft_wait(self, TAG_DATA, 1);
    } else {
        weft_get(self, win, from, offset, to, bytes);
    }
    CHECK_EQ(self, &user->check, wrong(self, to, from, offset, bytes), 0);
    CHECK_EQ(self, &user->check, test_differs_from(self, to - GUARD, GUARD, 0), 0);
    CHECK_EQ(self, &user->check, test_differs_from(self, to + bytes, GUARD, 0), 0);
    weft_sync(self);
}

enum { SIZES = 18, BRIEF_SIZES = 14 };
WEFT_DEVICE_FN size_t size_at(int i)
{
    const size_t bytes[SIZES] = {0,  1,    2,    3,    4,    7,     8,     9,      16,
                                 63, 1000, 1024, 1025, 4096, 16384, 65539, 131073, LARGEST};
    return bytes[i];
}

WEFT_DEVICE_FN void check_sizes(weft_self *self, struct data *user, weft_win win)
{
    for (int i = 0; i < (user->brief ? (int)BRIEF_SIZES : (int)SIZES); i += user->brief ? 3 : 1)
        for (int way = 0; way < DISTANCES; way++) {
            const size_t bytes = size_at(i), rest = (size_t)(i + way) % 16;
            check_one(self, user, win, source_of(self, way), i % 3 == 0 ? 0 : rest,
                      i % 2 == 0 ? 0 : (size_t)(3 * i) % 16, bytes, (i + way) % 2 == 1);
        }
}

/* Rows apart in the window, further or less far apart where they go. */
WEFT_DEVICE_FN void check_2d(weft_self *self, struct data *user, weft_win win, int from,
                             size_t width, size_t height, size_t pitch, size_t to_pitch)
{
    unsigned char *const to = test_mine(self, user->fetched, ROOM) + 8;
    size_t count = 0;

    test_clear(self, to, height * to_pitch);
    const weft_op op = weft_get_2d_begin(self, win, from, 5, pitch, to, to_pitch, width, height);
    weft_op_wait(self, op, WEFT_LOCAL);
    CHECK_EQ(self, &user->check, weft_op_test(self, op, WEFT_REMOTE), 1);
    for (size_t row = 0; row < height; row++) {
        count += wrong(self, to + row * to_pitch, from, 5 + row * pitch, width);
        count += test_differs_from(self, to + row * to_pitch + width, to_pitch - width, 0);
    }
    CHECK_EQ(self, &user->check, count, 0);
    weft_sync(self);
}

WEFT_DEVICE_FN void check_rows(weft_self *self, struct data *user, weft_win win)
{
    for (int way = 0; way < DISTANCES; way++) {
        const int from = source_of(self, way);
        check_2d(self, user, win, from, 8, 5, 24, 40);
        check_2d(self, user, win, from, 13, 17, 13, 13);
        check_2d(self, user, win, from, 1, 30, 3, 1);
        check_2d(self, user, win, from, 0, 4, 16, 16);
        check_2d(self, user, win, from, 40, 0, 40, 40);
        if (!user->brief)
            check_2d(self, user, win, from, 1500, 20, 1600, 1507);
    }
}

/* Many at once; some land behind others in size, all in order. */
WEFT_DEVICE_FN void check_many(weft_self *self, struct data *user, weft_win win)
{
    unsigned char *const to = test_mine(self, user->fetched, ROOM);
    const size_t step = user->brief ? 1200 : ROOM / MANY / 16 * 16;
    const int count = user->brief ? 20 : MANY;
    weft_op newest[DISTANCES], op;

    test_clear(self, to, step * (size_t)count);
    for (int i = 0; i < count; i++) {
        const size_t bytes = i % 3 == 0 ? step : i % 3 == 1 ? 8 : 100;
        const int from = source_of(self, i % DISTANCES);
        op = weft_get_begin(self, win, from, (size_t)i * 8, to + (size_t)i * step, bytes);
        newest[i % DISTANCES] = op;
    }
    for (int way = 0; way < DISTANCES; way++) {
        if (way == 1)
            while (!weft_op_test(self, newest[way], WEFT_LOCAL))
                continue;
        weft_op_wait(self, newest[way], WEFT_LOCAL);
        for (int i = way; i < count; i += DISTANCES)
            CHECK_EQ(self, &user->check,
                     wrong(self, to + (size_t)i * step, source_of(self, way), (size_t)i * 8,
                           i % 3 == 0   ? step
                           : i % 3 == 1 ? 8
                                        : 100),
                     0);
    }
    weft_sync(self);
    /* A flush ends them, too. */
    test_clear(self, to, 5000);
    weft_get_begin(self, win, source_of(self, 1), 16, to, 3000);
    weft_get_begin(self, win, source_of(self, 2), 32, to + 3000, 8);
    weft_flush_local(self, win);
    CHECK_EQ(self, &user->check, wrong(self, to, source_of(self, 1), 16, 3000), 0);
    CHECK_EQ(self, &user->check, wrong(self, to + 3000, source_of(self, 2), 32, 8), 0);
    weft_sync(self);
}

/*
 * To a place that no other rank writes: put, get, put again. Each get shows the put before it. The
 * put may travel by a channel, which its target takes in its own time.
 */
WEFT_DEVICE_FN void check_after_put(weft_self *self, struct data *user, weft_win win)
{
    const int rounds = user->brief ? 4 : 12;
    unsigned char *const back = test_mine(self, user->fetched, ROOM);
    unsigned char *const source = back + OWN;

    for (int i = 0; i < rounds * DISTANCES; i++) {
        const int way = i % DISTANCES, to = source_of(self, way);
        const size_t bytes = size_at((i / DISTANCES * 5 + (i & 1)) % (user->brief ? 13 : 15));
        const size_t offset = SHOWN + (size_t)way * OWN + (size_t)(i * 8) % 64;
        test_fill(self, source, bytes, (uint64_t)i * 3 + 1);
        if (i % 2 == 0)
            weft_put_notify(self, win, to, offset, source, bytes, TAG_PUT);
        else
            weft_put(self, win, to, offset, source, bytes);
        if (bytes >= 8) { /* of a large one any thread may store the last word */
            const size_t last = bytes / 8 * 8 - 8;
            uint64_t differs = 0;
            weft_get(self, win, to, offset + last, back, 8);
            weft_for (j, 8)
                differs += back[j] != source[last + j];
            CHECK_EQ(self, &user->check, differs, 0);
            weft_sync(self);
        }
        weft_get(self, win, to, offset, back, bytes);
        weft_flush_local(self, win);
        test_fill(self, source, bytes, (uint64_t)i * 3 + 2);
        weft_put(self, win, to, offset, source, bytes);
        CHECK_EQ(self, &user->check, test_differs(self, back, bytes, (uint64_t)i * 3 + 1), 0);
        weft_op_wait(self, weft_get_begin(self, win, to, offset, back, bytes), WEFT_REMOTE);
        CHECK_EQ(self, &user->check, test_differs(self, back, bytes, (uint64_t)i * 3 + 2), 0);
        weft_flush_local(self, win);
    }
    weft_wait(self, TAG_PUT, (uint32_t)((rounds * DISTANCES + 1) / 2));
}

WEFT_KERNEL(get_kernel, struct data, user)
{
    unsigned char *window = test_mine(self, user->windows, EACH);
    const int me = weft_rank(self, WEFT_COMM_WORLD);

    weft_enter(self);
    test_will_write(window, user->shown);
    weft_for (i, user->shown)
        window[i] = shown(me, i);
    weft_win win = weft_win_create(self, WEFT_COMM_WORLD, window, EACH);
    CHECK(self, &user->check, win != WEFT_WIN_NONE);
    weft_barrier(self, WEFT_COMM_WORLD);
    check_sizes(self, user, win);
    check_rows(self, user, win);
    check_many(self, user, win);
    check_after_put(self, user, win);
    /* What is under way when the window is freed, and the kernel ends, is not lost. */
    weft_get_begin(self, win, source_of(self, 2), 64, test_mine(self, user->fetched, ROOM), 5000);
    weft_win_free(self, &win);
    CHECK_EQ(self, &user->check,
             wrong(self, test_mine(self, user->fetched, ROOM), source_of(self, 2), 64, 5000), 0);
    weft_leave(self);
    test_done(self, &user->check);
}

#ifndef __CUDACC__
static int body(struct test_env *env)
{
    static const enum test_memory kinds[] = {TEST_MAPPED, TEST_PLAIN, TEST_REGISTERED};

    if (!test_prepare(env, &get_kernel))
        return TEST_FAILED;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        const size_t ranks = (size_t)env->numbers->ranks_here;
        struct data data = {.windows = test_memory(env, kinds[i], ranks * EACH),
                            .fetched = test_memory(env, kinds[(i + 1) % 3], ranks * ROOM),
                            .brief = env->brief,
                            .shown = env->brief ? 5120 : SHOWN};
        test_run(env, &data, sizeof(data));
    }
    return TEST_PASSED;
}

TEST_MAIN(body)
#endif
