/*
 * Strided puts: rows land where they belong, what lies between the rows is left alone, and the
 * whole is one message with one notification.
 */
#include "support/test.h"

enum { EACH = 64 * 1024, CASES = 13, TAG_READY = 0, TAG_DATA = 1 };

struct data {
    struct test_check check;
    unsigned char *windows, *sources;
};

struct shape {
    size_t offset, pitch, source_pitch, width, height;
};

WEFT_DEVICE_FN struct shape shape_at(int i)
{
    const struct shape shapes[CASES] = {
        {0, 8, 8, 8, 1},          {0, 16, 8, 8, 7},      {5, 13, 7, 7, 9},
        {8, 8, 24, 8, 16},        {3, 100, 100, 1, 200}, {64, 512, 256, 256, 100},
        {1, 4099, 3001, 3000, 5}, {0, 1000, 64, 0, 3},   {16, 64, 64, 64, 0},
        {0, 64, 32, 32, 1000},    {8, 24, 16, 8, 2000},  {4, 20, 12, 12, 300},
        {0, 8192, 4096, 4096, 7},
    };
    return shapes[i];
}

/* Byte `i` of row `row` as the sender laid it out. */
WEFT_DEVICE_FN unsigned char value(int sender, int shape, size_t row, size_t i)
{
    return test_byte((uint64_t)sender * 64 + (uint64_t)shape, row * 4096 + i);
}

WEFT_DEVICE_FN void fill_rows(weft_self *self, unsigned char *source, int shape)
{
    const struct shape s = shape_at(shape);
    const int me = weft_rank(self, WEFT_COMM_WORLD);

    weft_sync(self);
    weft_for (k, s.width * s.height)
        source[k / s.width * s.source_pitch + k % s.width] =
            value(me, shape, k / s.width, k % s.width);
    weft_sync(self);
}

/* Bytes of the window that are not as they must be: rows from the sender, zeros elsewhere. */
WEFT_DEVICE_FN size_t wrong_bytes(weft_self *self, const unsigned char *window, int sender,
                                  int shape)
{
    const struct shape s = shape_at(shape);
    const size_t end = s.height == 0 ? 64 : s.offset + s.pitch * s.height + 64;
    size_t wrong = 0;

    (void)self;
    weft_for (k, end < EACH ? end : (size_t)EACH) {
        unsigned char want = 0;
        if (k >= s.offset && s.pitch != 0) {
            const size_t row = (k - s.offset) / s.pitch, i = (k - s.offset) % s.pitch;
            if (row < s.height && i < s.width)
                want = value(sender, shape, row, i);
        }
        wrong += window[k] != want;
    }
    return wrong;
}

WEFT_KERNEL(put_2d_kernel, struct data, user)
{
    const int n = weft_size(self, WEFT_COMM_WORLD), me = weft_rank(self, WEFT_COMM_WORLD);
    const int to = (me + 1) % n, from = (me + n - 1) % n;
    unsigned char *target = test_mine(self, user->windows, EACH);
    unsigned char *source = test_mine(self, user->sources, EACH);

    weft_enter(self);
    weft_win win = weft_win_create(self, WEFT_COMM_WORLD, target, EACH);
    CHECK(self, &user->check, win != WEFT_WIN_NONE);
    for (int i = 0; i < CASES; i++) {
        const struct shape s = shape_at(i);
        test_clear(self, target, EACH);
        weft_flush_local(self, win);
        fill_rows(self, source, i);
        weft_notify(self, WEFT_COMM_WORLD, from, TAG_READY);
        weft_wait(self, TAG_READY, 1);
        if (i % 2 == 0) {
            weft_put_2d_notify(self, win, to, s.offset, s.pitch, source, s.source_pitch, s.width,
                               s.height, TAG_DATA);
        } else {
            weft_put_2d(self, win, to, s.offset, s.pitch, source, s.source_pitch, s.width,
                        s.height);
            weft_notify(self, WEFT_COMM_WORLD, to, TAG_DATA);
        }
        weft_wait(self, TAG_DATA, 1);
        CHECK_EQ(self, &user->check, wrong_bytes(self, target, from, i), 0);
    }
    weft_barrier(self, WEFT_COMM_WORLD);
    CHECK_EQ(self, &user->check, weft_test(self, TAG_DATA, 1), 0); /* one message, one count */
    weft_win_free(self, &win);
    weft_leave(self);
    test_done(self, &user->check);
}

#ifndef __CUDACC__
static int body(struct test_env *env)
{
    static const enum test_memory kinds[] = {TEST_MAPPED, TEST_PLAIN};

    if (!test_prepare(env, &put_2d_kernel))
        return TEST_FAILED;
    for (size_t i = 0; i < 2; i++) {
        const size_t bytes = (size_t)env->numbers->ranks_here * EACH;
        struct data data = {.windows = test_memory(env, kinds[i], bytes),
                            .sources = test_memory(env, TEST_PLAIN, bytes)};
        test_run(env, &data, sizeof(data));
    }
    return TEST_PASSED;
}

TEST_MAIN(body)
#endif
