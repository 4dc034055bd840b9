/*
 * Puts of boxes and of lists of pieces: all bytes land where they belong, nothing beside them is
 * touched, and the whole has one notification, which comes last. Boxes with planes that interleave,
 * of one plane, row or byte, and none; lists of none, one and many pieces, empty and unaligned
 * ones.
 */
#include "support/test.h"

enum { EACH = 32 * 1024, BOXES = 11, LISTS = 5, PIECES = 300, TAG_READY = 0, TAG_DATA = 1 };

struct data {
    struct test_check check;
    unsigned char *windows, *sources;
    weft_put_piece *pieces; /* PIECES for each rank */
};

struct box {
    size_t offset, width, height, depth, pitch, plane, source_pitch, source_plane;
};

WEFT_DEVICE_FN struct box box_at(int i)
{
    const struct box boxes[BOXES] = {
        {0, 8, 4, 3, 8, 32, 8, 32},
        {16, 8, 4, 3, 16, 64, 8, 32},
        {3, 5, 7, 6, 11, 99, 5, 35},
        {0, 4, 50, 4, 16, 4, 4, 200}, /* planes interleave */
        {64, 1000, 3, 4, 2000, 9000, 1000, 3000},
        {8, 1, 1, 100, 1, 13, 1, 1},
        {1, 1, 1, 1, 0, 0, 0, 0},
        {40, 0, 5, 5, 8, 64, 8, 64},
        {40, 8, 0, 5, 8, 64, 8, 64},
        {40, 8, 5, 0, 8, 64, 8, 64},
        {EACH - 24, 8, 3, 1, 8, SIZE_MAX, 8, SIZE_MAX},
    };
    return boxes[i];
}

WEFT_DEVICE_FN unsigned char value(int sender, int number, size_t i)
{
    const unsigned char byte = test_byte((uint64_t)sender * 64 + (uint64_t)number, i);
    return byte == 0 ? 1 : byte;
}

/* Where piece i of a list begins in the window, and how long it is. */
WEFT_DEVICE_FN size_t piece_at(int list, int i, size_t *bytes)
{
    *bytes = list == 4 ? (size_t)i % 3 : (size_t)(i * 7 + list) % 60;
    return (size_t)i * 100 + (size_t)((i + list) % 8);
}

WEFT_DEVICE_FN int list_count(int list)
{
    return list == 0 ? 0 : list == 1 ? 1 : list == 2 ? 3 : PIECES;
}

/* What byte k of the window is to be: 0 beside the pieces. */
WEFT_DEVICE_FN unsigned char of_box(int sender, int number, size_t k)
{
    const struct box b = box_at(number);
    const bool empty = b.width * b.height * b.depth == 0;
    const size_t last = empty ? 0 : (b.depth - 1) * b.plane + (b.height - 1) * b.pitch + b.width;

    for (size_t z = 0; k - b.offset < last && z < b.depth; z++) {
        const size_t at = k - b.offset - z * b.plane;
        const size_t row = b.pitch != 0 ? at / b.pitch : 0, x = at - row * b.pitch;
        if (k >= b.offset + z * b.plane && row < b.height && x < b.width)
            return value(sender, number, z * b.source_plane + row * b.source_pitch + x);
    }
    return 0;
}

WEFT_DEVICE_FN unsigned char of_list(int sender, int list, size_t k)
{
    const size_t i = k / 100;
    size_t bytes;
    const size_t at = piece_at(list, (int)i, &bytes);

    return i < (size_t)list_count(list) && k >= at && k < at + bytes
               ? value(sender, BOXES + list, k - 100 * i + 61 * i)
               : 0;
}

WEFT_DEVICE_FN void put_number(weft_self *self, weft_win win, int to, unsigned char *source,
                               weft_put_piece *pieces, int number)
{
    const int me = weft_rank(self, WEFT_COMM_WORLD), list = number - BOXES;

    weft_for (i, EACH)
        source[i] = value(me, number, i);
    if (list >= 0)
        weft_for (i, list_count(list)) {
            size_t bytes;
            const size_t at = piece_at(list, (int)i, &bytes);
            const weft_put_piece piece = {source + 61 * i + at % 100, bytes, at};
            pieces[i] = piece;
        }
    weft_sync(self);
    if (list >= 0) {
        weft_put_list_notify(self, win, to, list == 0 ? NULL : pieces, list_count(list), TAG_DATA);
        return;
    }
    const struct box b = box_at(number);
    const weft_put_box box = {.source = source,
                              .offset = b.offset,
                              .width = b.width,
                              .height = b.height,
                              .depth = b.depth,
                              .pitch = b.pitch,
                              .plane = b.plane,
                              .source_pitch = b.source_pitch,
                              .source_plane = b.source_plane};
    if (number % 3 != 1) {
        weft_put_3d_notify(self, win, to, box, TAG_DATA);
    } else {
        weft_put_3d(self, win, to, box);
        weft_notify(self, WEFT_COMM_WORLD, to, TAG_DATA);
    }
}

WEFT_KERNEL(put_pieces_kernel, struct data, user)
{
    const int n = weft_size(self, WEFT_COMM_WORLD), me = weft_rank(self, WEFT_COMM_WORLD);
    const int to = (me + 1) % n, from = (me + n - 1) % n;
    unsigned char *target = test_mine(self, user->windows, EACH);
    unsigned char *source = test_mine(self, user->sources, EACH);
    weft_put_piece *pieces = user->pieces + weft_rank(self, WEFT_COMM_DEVICE) * PIECES;

    weft_enter(self);
    weft_win win = weft_win_create(self, WEFT_COMM_WORLD, target, EACH);
    for (int i = 0; i < BOXES + LISTS; i++) {
        uint64_t wrong = 0;
        test_clear(self, target, EACH);
        weft_flush_local(self, win);
        weft_sync(self);
        weft_notify(self, WEFT_COMM_WORLD, from, TAG_READY);
        weft_wait(self, TAG_READY, 1);
        put_number(self, win, to, source, pieces, i);
        weft_wait(self, TAG_DATA, 1);
        weft_for (k, EACH)
            wrong += target[k] != (i < BOXES ? of_box(from, i, k) : of_list(from, i - BOXES, k));
        CHECK_EQ(self, &user->check, wrong, 0);
    }
    weft_barrier(self, WEFT_COMM_WORLD);
    CHECK_EQ(self, &user->check, weft_test(self, TAG_DATA, 1), 0); /* one for each */
    weft_win_free(self, &win);
    weft_leave(self);
    test_done(self, &user->check);
}

#ifndef __CUDACC__
static int body(struct test_env *env)
{
    static const enum test_memory kinds[] = {TEST_MAPPED, TEST_PLAIN};

    if (!test_prepare(env, &put_pieces_kernel))
        return TEST_FAILED;
    const size_t here = (size_t)env->numbers->ranks_here;
    for (size_t i = 0; i < 2; i++) {
        struct data data = {
            .windows = test_memory(env, kinds[i], here * EACH),
            .sources = test_memory(env, TEST_PLAIN, here * EACH),
            .pieces = test_memory(env, TEST_PLAIN, here * PIECES * sizeof(weft_put_piece)),
        };
        test_run(env, &data, sizeof(data));
    }
    return TEST_PASSED;
}

TEST_MAIN(body)
#endif
