/*
 * A face of a cube, its corners and a number, each with one notification; then rank 0 takes what
 * the others report, in the order in which that comes.
 */
#include <weft/device.h>

#include "pieces.h"

#include <stddef.h>

enum { FACE_TAG, CORNERS_TAG, LARGE_TAG };

WEFT_DEVICE_FN double number_of(int rank, size_t i)
{
    return (double)((i * 7919 + (size_t)rank * 104729) % 1009);
}

/* Where a corner is in the cube. */
WEFT_DEVICE_FN size_t corner_at(int i)
{
    const size_t far = SIDE - 1;
    return (i & 1 ? far : 0) + (i & 2 ? far * SIDE : 0) + (i & 4 ? far * SIDE * SIDE : 0);
}

WEFT_DEVICE_FN void send(weft_self *self, weft_win win, int to, struct part *mine)
{
    const weft_put_box face = {.source = mine->cube + SIDE - 1, /* the last number of each row */
                               .offset = offsetof(struct part, face),
                               .width = sizeof(double),
                               .height = SIDE,
                               .depth = SIDE,
                               .pitch = sizeof(double),
                               .plane = SIDE * sizeof(double),
                               .source_pitch = SIDE * sizeof(double),
                               .source_plane = SIDE * SIDE * sizeof(double)};
    WEFT_SHARED(weft_put_piece, corners, CORNERS);
    uint64_t large = 0;

    weft_for (i, CORNERS) {
        corners[i].source = mine->cube + corner_at((int)i);
        corners[i].bytes = sizeof(double);
        corners[i].offset = offsetof(struct part, corner) + i * sizeof(double);
    }
    weft_for (i, SIDE * SIDE * SIDE)
        large += mine->cube[i] > LARGE;
    weft_block_reduce(self, &large, WEFT_U64, WEFT_SUM, NULL); /* corners are there, too */
    weft_put_3d_notify(self, win, to, face, FACE_TAG);
    weft_put_list_notify(self, win, to, corners, CORNERS, CORNERS_TAG);
    weft_notify_value(self, win, to, offsetof(struct part, large), (uint32_t)large, LARGE_TAG);
}

/* How much of what came from a rank is right, at most 1 for each number. */
WEFT_DEVICE_FN uint64_t check(weft_self *self, const struct part *mine, int from)
{
    uint64_t right = 0, large = 0;

    weft_for (i, SIDE * SIDE)
        right += mine->face[i] == number_of(from, i * SIDE + SIDE - 1);
    weft_for (i, CORNERS)
        right += mine->corner[i] == number_of(from, corner_at((int)i));
    weft_for (i, SIDE * SIDE * SIDE)
        large += number_of(from, i) > LARGE;
    weft_block_reduce(self, &right, WEFT_U64, WEFT_SUM, NULL);
    weft_block_reduce(self, &large, WEFT_U64, WEFT_SUM, NULL);
    return right + (large == mine->large);
}

/* The sum of all reports. */
WEFT_DEVICE_FN uint64_t take_reports(weft_self *self, struct part *mine, int ranks)
{
    uint64_t sum = 0;

    weft_for (i, ranks)
        mine->status[i] = 0;
    weft_sync(self);
    for (int taken = 0; taken < ranks;) {
        taken += weft_wait_where(self, mine->report, ranks, 1, WEFT_NE, 0, mine->status);
        for (int i = 0; i < ranks; i++)
            sum += mine->status[i] == 1 ? mine->report[i] : 0;
        weft_sync(self);
        weft_for (i, ranks)
            mine->status[i] = mine->status[i] != 0 ? 2 : 0; /* taken */
        weft_sync(self);
    }
    return sum;
}

WEFT_KERNEL(pieces_kernel, struct pieces, user)
{
    const int n = weft_size(self, WEFT_COMM_WORLD), me = weft_rank(self, WEFT_COMM_WORLD);
    struct part *const mine = &user->parts[weft_rank(self, WEFT_COMM_DEVICE)];

    weft_for (i, SIDE * SIDE * SIDE)
        mine->cube[i] = number_of(me, i);
    weft_for (i, MOST_RANKS)
        mine->report[i] = 0;
    weft_win win = weft_win_create(self, WEFT_COMM_WORLD, mine, offsetof(struct part, cube));
    weft_barrier(self, WEFT_COMM_WORLD);
    send(self, win, (me + 1) % n, mine);
    weft_wait(self, FACE_TAG, 1);
    weft_wait(self, CORNERS_TAG, 1);
    weft_wait(self, LARGE_TAG, 1);
    const uint64_t right = check(self, mine, (me + n - 1) % n);
    if (weft_thread(self) == 0)
        mine->mine = right;
    weft_sync(self);
    weft_put(self, win, 0, offsetof(struct part, report) + (size_t)me * sizeof(uint64_t),
             &mine->mine, sizeof(uint64_t));
    if (me == 0) {
        const uint64_t sum = take_reports(self, mine, n);
        if (weft_thread(self) == 0)
            user->sum = sum;
    }
    weft_win_free(self, &win);
}
