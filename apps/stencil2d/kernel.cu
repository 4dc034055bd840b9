/*
 * stencil2d/kernel.cu - the task: a tile of the next field, from the present one. All variants add
 * in the same order, so that their results are equal bit by bit.
 */
#define WEFT_MOST_THREADS 256 /* two ranks of 256 threads on a processor */
#define WEFT_LEAST_RANKS  2
#include <weft/task.h>

#include "field.h"

WEFT_TASK_IDS(TILES)

#ifdef __CUDACC__

enum { DEEP = 8 }; /* rows whose loads are under way together */

/* A thread on its way down a column: the row that it computes next, and the point above that. */
struct march {
    const double *from, *loaded; /* that row; the last one that is loaded or on its way */
    double *to, up, here;
};

/* So many rows of DEEP, whose lower neighbours are `next`. Those to the left and right the threads
 * of the warp have loaded into the L1 cache. */
WEFT_DEVICE_FN void relax_down(struct march *m, const struct field *f, const double *next,
                               size_t rows)
{
#pragma unroll
    for (size_t i = 0; i < DEEP; i++) {
        if (i < rows) {
            *m->to = 0.25 * ((m->up + next[i]) + (m->from[-1] + m->from[1]));
            m->up = m->here;
            m->here = next[i];
            m->from += f->from;
            m->to += f->to;
        }
    }
}

WEFT_DEVICE_FN void load_down(struct march *m, const struct field *f, double *next)
{
#pragma unroll
    for (size_t i = 0; i < DEEP; i++)
        next[i] = *(m->loaded += f->from);
}

/* Each thread goes down its columns; the loads of DEEP rows are under way while it computes those
 * before. */
WEFT_DEVICE_FN void relax_tile(const struct field *f)
{
    weft_for (k, f->columns) {
        struct march m = {.from = f->in + k,
                          .loaded = f->in + k,
                          .to = f->out + k,
                          .up = f->above[k],
                          .here = f->in[k]};
        double next[DEEP], after[DEEP];
        size_t left = f->rows;
        if (left > DEEP)
            load_down(&m, f, next);
        for (; left > 3 * DEEP; left -= 2 * DEEP) { /* in turns: a move would wait for the load */
            load_down(&m, f, after);
            relax_down(&m, f, next, DEEP);
            load_down(&m, f, next);
            relax_down(&m, f, after, DEEP);
        }
        for (; left > DEEP; left -= DEEP) {
            relax_down(&m, f, next, DEEP);
            if (left > 2 * DEEP)
                load_down(&m, f, next);
        }
#pragma unroll
        for (size_t i = 0; i < DEEP; i++)
            next[i] = i + 1 < left ? *(m.loaded += f->from) : i < left ? f->below[k] : 0;
        relax_down(&m, f, next, left);
    }
}

#else

static void relax_tile(const struct field *f)
{
    for (size_t row = 0; row < f->rows; row++) {
        const double *const up = row == 0 ? f->above : f->in + (row - 1) * f->from;
        const double *const down = row + 1 == f->rows ? f->below : f->in + (row + 1) * f->from;
        const double *const here = f->in + row * f->from;
        double *const there = f->out + row * f->to;
        weft_for (i, f->columns)
            there[i] = 0.25 * ((up[i] + down[i]) + (here[i - 1] + here[i + 1]));
    }
}

#endif

WEFT_TASK(relax, struct tile, tile)
{
    const struct field field = {
        .in = (const double *)weft_task_data(task, TILE_IN) + 1,
        .above = (const double *)weft_task_data(task, TILE_ABOVE),
        .below = (const double *)weft_task_data(task, TILE_BELOW),
        .out = (double *)weft_task_data(task, TILE_OUT),
        .from = weft_task_pitch(task, TILE_IN) / sizeof(double),
        .to = weft_task_pitch(task, TILE_OUT) / sizeof(double),
        .rows = tile->rows,
        .columns = tile->columns,
    };
    const uint32_t times = weft_process(self) == tile->slow ? tile->times : 1;

    for (uint32_t again = 0; again < times; again++) {
        relax_tile(&field);
        __asm__ volatile("" ::: "memory"); /* the work is done each time */
    }
}

WEFT_TASK_KERNEL(stencil2d_tasks, TILES, struct nothing)
