/*
 * stencil2d/kernel.cu - the task: a tile of the next field, from the present one. All variants add
 * in the same order, so that their results are equal bit by bit.
 */
#include <weft/task.h>

#include "stencil2d.h"

WEFT_TASK_IDS(TILES)

WEFT_TASK(relax, struct tile, tile)
{
    /* Rows of the tile with a column more on either side; the rows above and below it. */
    const double *const in = (const double *)weft_task_data(task, TILE_IN) + 1;
    const double *const above = (const double *)weft_task_data(task, TILE_ABOVE);
    const double *const below = (const double *)weft_task_data(task, TILE_BELOW);
    double *const out = (double *)weft_task_data(task, TILE_OUT);
    const size_t from = weft_task_pitch(task, TILE_IN) / sizeof(double);
    const size_t to = weft_task_pitch(task, TILE_OUT) / sizeof(double);
    const uint32_t times = weft_process(self) == tile->slow ? tile->times : 1;

    for (uint32_t again = 0; again < times; again++) {
        for (size_t row = 0; row < tile->rows; row++) {
            const double *const up = row == 0 ? above : in + (row - 1) * from;
            const double *const down = row + 1 == tile->rows ? below : in + (row + 1) * from;
            const double *const here = in + row * from;
            double *const there = out + row * to;
            weft_for (i, tile->columns)
                there[i] = 0.25 * ((up[i] + down[i]) + (here[i - 1] + here[i + 1]));
        }
        __asm__ volatile("" ::: "memory"); /* the work is done each time */
    }
}

WEFT_TASK_KERNEL(stencil2d_tasks, TILES, struct nothing)
