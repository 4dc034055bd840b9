/*
 * stencil2d/ranks.cu - the plate without tasks: each rank keeps some rows for all iterations, and
 * waits for the ranks above and below alone. Who is on another device gets the row that it needs
 * with the notification.
 */
#ifndef WEFT_LEAST_RANKS      /* bench/CMakeLists.txt: four ranks of 256 threads on a processor */
#define WEFT_MOST_THREADS 512 /* two */
#else
#define WEFT_MOST_THREADS 256
#endif
#include <stdbool.h>
#include <weft/device.h>

#include "stencil2d.h"

#ifdef __CUDACC__
#define APART static __device__ __noinline__ /* its registers are its own */
#else
#define APART static
#endif

enum { FROM_ABOVE, FROM_BELOW }; /* tags: the neighbour's rows of one more iteration are there */
enum { DEEP = 8 };               /* rows at once: their loads are under way together */

struct neighbour {
    int rank;     /* -1: there is none */
    bool apart;   /* of another process */
    uint64_t row; /* there, in either field: where my row goes */
    uint64_t rows;
};

/* Rows of one field, from row `from` of `rows`, each of `width` points with an edge. */
APART void relax_rows(weft_self *self, const double *in, double *out, uint64_t width, uint64_t rows)
{
    (void)self;
    for (uint64_t row = 0; row < rows; row += DEEP)
        weft_for (k, width - 2) {
            const double *const from = in + row * width + k + 1;
            double *const to = out + row * width + k + 1;
            const uint64_t deep = rows - row < DEEP ? rows - row : DEEP;
            double middle[DEEP + 2], sides[DEEP];
            for (uint64_t i = 0; i < DEEP + 2; i++)
                middle[i] = i < deep + 2 ? from[(int64_t)(i * width) - (int64_t)width] : 0;
            for (uint64_t i = 0; i < DEEP; i++)
                sides[i] = i < deep ? from[i * width - 1] + from[i * width + 1] : 0;
            for (uint64_t i = 0; i < DEEP; i++)
                if (i < deep)
                    to[i * width] = 0.25 * ((middle[i] + middle[i + 2]) + sides[i]);
        }
    __asm__ volatile("" ::: "memory"); /* the work is done each time */
}

/* My row of that field is done: the neighbour may go on. */
WEFT_DEVICE_FN void hand_on(weft_self *self, weft_win win, const struct neighbour *to, int field,
                            uint64_t width, const double *row, int tag)
{
    const uint64_t at = (to->rows * (uint64_t)field + to->row) * width * sizeof(double);

    if (to->rank >= 0 && to->apart)
        weft_put_notify(self, win, to->rank, at, row, width * sizeof(double), tag);
    else if (to->rank >= 0)
        weft_notify(self, WEFT_COMM_WORLD, to->rank, tag);
}

/* Ranks of a process that have rows. */
WEFT_DEVICE_FN uint64_t ranks_at(weft_self *self, int process, uint64_t rows)
{
    const int first = weft_process_first(self, process);
    const int end = process + 1 < weft_processes(self) ? weft_process_first(self, process + 1)
                                                       : weft_size(self, WEFT_COMM_WORLD);
    return (uint64_t)(end - first) < rows ? (uint64_t)(end - first) : rows;
}

WEFT_KERNEL(stencil2d_ranks, struct rows, user)
{
    const int process = weft_process(self);
    const uint64_t mine = ranks_at(self, process, user->here), width = user->width;
    const uint64_t me = (uint64_t)weft_rank(self, WEFT_COMM_DEVICE);
    const uint64_t first = user->here * me / mine, end = user->here * (me + 1) / mine;
    const int rank = weft_rank(self, WEFT_COMM_WORLD);
    const uint32_t times = process == user->slow ? user->times : 1;
    struct neighbour above = {.rank = rank - 1}, below = {.rank = rank + 1};

    if (me == 0) {
        above.apart = true;
        above.row = user->above + 1;
        above.rows = user->above + 2;
        above.rank = user->above == 0 ? -1
                                      : weft_process_first(self, process - 1) +
                                            (int)ranks_at(self, process - 1, user->above) - 1;
    }
    if (me + 1 == mine) {
        below.apart = true;
        below.rows = user->below + 2;
        below.rank = user->below == 0 ? -1 : weft_process_first(self, process + 1);
    }
    weft_enter(self);
    weft_win win = weft_win_create(self, WEFT_COMM_WORLD, user->fields,
                                   2 * (user->here + 2) * width * sizeof(double));
    for (uint32_t it = 0; win != WEFT_WIN_NONE && me < mine && it < user->iterations; it++) {
        const uint64_t field = (user->here + 2) * width;
        const double *const in = user->fields + it % 2 * field + (first + 1) * width;
        double *const out = user->fields + (it + 1) % 2 * field + (first + 1) * width;
        if (it > 0 && above.rank >= 0)
            weft_wait(self, FROM_ABOVE, 1);
        if (it > 0 && below.rank >= 0)
            weft_wait(self, FROM_BELOW, 1);
        for (uint32_t again = 0; again < times; again++)
            relax_rows(self, in, out, width, end - first);
        weft_sync(self);
        if (it + 1 < user->iterations) {
            hand_on(self, win, &above, (it + 1) % 2, width, out, FROM_BELOW);
            hand_on(self, win, &below, (it + 1) % 2, width, out + (end - first - 1) * width,
                    FROM_ABOVE);
        }
    }
    if (win != WEFT_WIN_NONE)
        weft_win_free(self, &win);
    weft_leave(self);
}
