/* cholesky/kernel.cu - the tasks: tiles by all threads of a rank. */
#define WEFT_MOST_THREADS 256
#define WEFT_LEAST_RANKS  2
#include <weft/task.h>

#include "tile.h"

WEFT_TASK_IDS(FACTORS)

/* Where a piece of data is, and who works on it. */
#define TILE_AT(i)  ((double *)weft_task_data(task, i))
#define TILE_THREAD (uint64_t) weft_thread(self)
#define TILE_ALL    (uint64_t) weft_threads(self)

WEFT_TASK(potrf, struct tile, tile)
{
    double *const to = TILE_AT(TILE_TO);

    for (uint64_t column = 0; column < tile->n; column += TILE_COLUMNS) {
        tile_potrf_columns(tile, TILE_AT(TILE_FROM), to, column, TILE_THREAD, TILE_ALL);
        weft_sync(self);
        if (weft_thread(self) == 0)
            tile_potrf_block(tile, to, column);
        weft_sync(self);
        tile_potrf_below(tile, to, column, TILE_THREAD, TILE_ALL);
        weft_sync(self);
    }
}

WEFT_TASK(trsm, struct tile, tile)
{
    tile_trsm(tile, TILE_AT(TILE_FROM), TILE_AT(TILE_TO), TILE_AT(TILE_A), TILE_THREAD, TILE_ALL);
}

WEFT_TASK(gemm, struct tile, tile)
{
    tile_gemm(tile, TILE_AT(TILE_FROM), TILE_AT(TILE_TO), TILE_AT(TILE_A), TILE_AT(TILE_B),
              TILE_THREAD, TILE_ALL);
}

WEFT_TASK_KERNEL(cholesky_tasks, FACTORS, struct nothing)
