/*
 * stencil2d/ranks.cu - the plate without tasks: each rank keeps some rows for all iterations, and
 * waits for the ranks above and below alone. Who is on another device gets the rows that it needs
 * with the notification. A sweep is one iteration, or two.
 */
#ifndef WEFT_LEAST_RANKS      /* bench/CMakeLists.txt: four ranks of 256 threads on a processor */
#define WEFT_MOST_THREADS 512 /* two */
#else
#define WEFT_MOST_THREADS 256
#endif
#include <stdbool.h>
#include <weft/device.h>

#include "stencil2d.h"
#include "twice.h"

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
    uint64_t row; /* there, in either field: where my rows go */
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

/* The same, two iterations on. There are two rows more above those, and below. */
APART void relax_twice(weft_self *self, const double *in, double *out, uint64_t width,
                       uint64_t rows, uint32_t edges)
{
    struct field f;

    f.in = in + 1;
    f.above = f.in - width;
    f.above_two = f.above - width;
    f.below = f.in + rows * width;
    f.two_below = f.below + width;
    f.out = out + 1;
    f.from = f.to = width;
    f.rows = rows;
    f.columns = width - 2;
    f.edges = edges;
    sweep_twice(&f, (uint32_t)weft_thread(self) / CREW, (uint32_t)weft_threads(self) / CREW);
    __asm__ volatile("" ::: "memory");
}

/* My outer rows of that field are done: the neighbour may go on. */
WEFT_DEVICE_FN void hand_on(weft_self *self, weft_win win, const struct rows *user,
                            const struct neighbour *to, uint32_t field, const double *row, int tag)
{
    const uint64_t bytes = user->width * sizeof(double);
    const uint64_t at = (to->rows * field + to->row) * bytes;

    if (to->rank >= 0 && to->apart)
        weft_put_notify(self, win, to->rank, at, row, user->sweep * bytes, tag);
    else if (to->rank >= 0)
        weft_notify(self, WEFT_COMM_WORLD, to->rank, tag);
}

/* Ranks of a process that have rows: as many as a sweep reads of a neighbour. */
WEFT_DEVICE_FN uint64_t ranks_at(weft_self *self, int process, uint64_t rows, uint32_t sweep)
{
    const int first = weft_process_first(self, process);
    const int end = process + 1 < weft_processes(self) ? weft_process_first(self, process + 1)
                                                       : weft_size(self, WEFT_COMM_WORLD);
    return (uint64_t)(end - first) < rows / sweep ? (uint64_t)(end - first) : rows / sweep;
}

/* Who has the rows next to mine: ranks of this process, or the last and first one of the next. */
WEFT_DEVICE_FN void find_neighbours(weft_self *self, const struct rows *user, uint64_t me,
                                    uint64_t mine, struct neighbour *above, struct neighbour *below)
{
    const int process = weft_process(self), rank = weft_rank(self, WEFT_COMM_WORLD);

    above->rank = rank - 1;
    below->rank = rank + 1;
    above->apart = me == 0;
    below->apart = me + 1 == mine;
    above->row = user->sweep + user->above;
    below->row = 0;
    above->rows = user->above + 2 * user->sweep;
    below->rows = user->below + 2 * user->sweep;
    if (above->apart)
        above->rank = user->above == 0
                          ? -1
                          : weft_process_first(self, process - 1) +
                                (int)ranks_at(self, process - 1, user->above, user->sweep) - 1;
    if (below->apart)
        below->rank = user->below == 0 ? -1 : weft_process_first(self, process + 1);
}

WEFT_KERNEL(stencil2d_ranks, struct rows, user)
{
    const uint64_t mine = ranks_at(self, weft_process(self), user->here, user->sweep);
    const uint64_t me = (uint64_t)weft_rank(self, WEFT_COMM_DEVICE), width = user->width;
    const uint64_t first = user->here * me / mine, rows = user->here * (me + 1) / mine - first;
    const uint64_t points = (user->here + 2 * user->sweep) * width; /* of a field */
    double *const tile = user->fields + (first + user->sweep) * width;
    const uint32_t times = weft_process(self) == user->slow ? user->times : 1;
    struct neighbour above, below;

    find_neighbours(self, user, me, mine, &above, &below);
    const uint32_t edges = EDGE_LEFT | EDGE_RIGHT | (above.rank < 0 ? EDGE_ABOVE : 0) |
                           (below.rank < 0 ? EDGE_BELOW : 0);
    weft_enter(self);
    weft_win win =
        weft_win_create(self, WEFT_COMM_WORLD, user->fields, 2 * points * sizeof(double));
    uint32_t left = win != WEFT_WIN_NONE && me < mine ? user->iterations : 0;
    for (uint32_t sweep = 0; left != 0; sweep++) {
        const uint32_t some = left < user->sweep ? left : user->sweep;
        const double *const in = tile + sweep % 2 * points;
        double *const out = tile + (sweep + 1) % 2 * points;
        if (sweep > 0 && above.rank >= 0)
            weft_wait(self, FROM_ABOVE, 1);
        if (sweep > 0 && below.rank >= 0)
            weft_wait(self, FROM_BELOW, 1);
        for (uint32_t again = 0; again < times; again++)
            if (some == 2)
                relax_twice(self, in, out, width, rows, edges);
            else
                relax_rows(self, in, out, width, rows);
        weft_sync(self);
        left -= some;
        if (left == 0)
            break;
        hand_on(self, win, user, &above, (sweep + 1) % 2, out, FROM_BELOW);
        hand_on(self, win, user, &below, (sweep + 1) % 2, out + (rows - user->sweep) * width,
                FROM_ABOVE);
    }
    if (win != WEFT_WIN_NONE)
        weft_win_free(self, &win);
    weft_leave(self);
}
