/*
 * stencil2d/kernel_two.cu - the task of two iterations: a tile of the next field, two iterations
 * on, or one. A kernel of its own, so that the registers of either are its own.
 */
#define WEFT_MOST_THREADS 256 /* two ranks of 256 threads on a processor */
#define WEFT_LEAST_RANKS  2
#include <weft/task.h>

#include "twice.h"

WEFT_TASK_IDS(TILES_TWO)

WEFT_TASK(relax_two, struct tile, tile)
{
    const size_t left = (tile->edges & EDGE_LEFT) != 0 ? 1 : 2;
    const struct field field = {
        .in = (const double *)weft_task_data(task, TILE_IN) + left,
        .above = (const double *)weft_task_data(task, TILE_ABOVE) + left,
        .below = (const double *)weft_task_data(task, TILE_BELOW) + left,
        .above_two = (const double *)weft_task_data(task, TILE_ABOVE_TWO) + left,
        .two_below = (const double *)weft_task_data(task, TILE_TWO_BELOW) + left,
        .out = (double *)weft_task_data(task, TILE_OUT),
        .from = weft_task_pitch(task, TILE_IN) / sizeof(double),
        .to = weft_task_pitch(task, TILE_OUT) / sizeof(double),
        .rows = tile->rows,
        .columns = tile->columns,
        .edges = tile->edges,
    };
    const uint32_t times = weft_process(self) == tile->slow ? tile->times : 1;

    for (uint32_t again = 0; again < times; again++) {
        sweep_twice(&field, (uint32_t)weft_thread(self) / CREW,
                    (uint32_t)weft_threads(self) / CREW);
        __asm__ volatile("" ::: "memory"); /* the work is done each time */
    }
}

WEFT_TASK_KERNEL(stencil2d_tasks_two, TILES_TWO, struct nothing)
