/* cholesky/cholesky.h - what the tasks and the host program share. */
#ifndef CHOLESKY_H
#define CHOLESKY_H

#include <stdint.h>

/* Rows of a tile, and doubles from one column to the next. */
struct tile {
    uint64_t n, pitch;
    uint32_t diagonal; /* only what is not above the diagonal matters */
    uint32_t unused;
};

struct nothing {
    uint32_t unused;
};

/* The data of a task: the tile that it writes, the same as it was before, and one or two others. */
enum { TILE_TO, TILE_FROM, TILE_A, TILE_B, TILE_DATA };

/* Factors a tile of the diagonal; solves one below it; subtracts a product from one to the right.
 */
#define FACTORS(X) X(potrf) X(trsm) X(gemm)

#endif
