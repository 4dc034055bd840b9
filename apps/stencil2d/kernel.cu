/*
 * stencil2d/kernel.cu - the task: a tile of the next field, from the present one. All variants add
 * in the same order, so that their results are equal bit by bit.
 */
#define WEFT_MOST_THREADS 256 /* four ranks of 256 threads on a processor */
#define WEFT_LEAST_RANKS  4
#include <weft/task.h>

#include "stencil2d.h"

WEFT_TASK_IDS(TILES)

/* Rows of the tile with a column more on either side; the rows above and below it. Pitches are in
 * points. */
struct field {
    const double *in, *above, *below;
    double *out;
    size_t from, to, rows, columns;
};

#ifdef __CUDACC__

enum { DEEP = 4 }; /* rows whose loads are under way together */

/* Each thread goes down its columns, and keeps the last two points. */
WEFT_DEVICE_FN void relax_tile(const struct field *f)
{
    weft_for (k, f->columns) {
        const double *from = f->in + k;
        double *to = f->out + k;
        double up = f->above[k], here = *from;
        for (size_t row = 0; row < f->rows; row += DEEP) {
            const size_t left = f->rows - row;
            double next[DEEP], sides[DEEP];
#pragma unroll
            for (size_t i = 0; i < DEEP; i++) {
                next[i] = i + 1 < left ? from[(i + 1) * f->from] : i < left ? f->below[k] : 0;
                sides[i] = i < left ? from[i * f->from - 1] + from[i * f->from + 1] : 0;
            }
#pragma unroll
            for (size_t i = 0; i < DEEP; i++) {
                if (i < left)
                    to[i * f->to] = 0.25 * ((up + next[i]) + sides[i]);
                up = here;
                here = next[i];
            }
            from += DEEP * f->from;
            to += DEEP * f->to;
        }
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
