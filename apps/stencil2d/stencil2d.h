/* stencil2d/stencil2d.h - what the tasks and the host program share. */
#ifndef STENCIL2D_H
#define STENCIL2D_H

#include <stdint.h>

/* One tile of one sweep, and who is slow: place `slow` does the work of each point so often. */
struct tile {
    uint32_t rows, columns;
    int32_t slow;
    uint32_t times;
    uint32_t edges; /* EDGE_ */
};

/* What ranks without tasks are given. */
struct rows {
    double *fields;              /* two: the process's rows, `sweep` above and as many below */
    uint64_t width;              /* points of a row, edge included */
    uint64_t here, above, below; /* rows of this process, of the one before, of the next; 0: none */
    uint32_t iterations, sweep;  /* iterations of a sweep: 1 or 2 */
    uint32_t times;              /* as in struct tile */
    int32_t slow;
};

/* Where the plate's edge is next to a tile; all of it stays as it is in the first iteration. */
enum { EDGE_LEFT = 1, EDGE_RIGHT = 2, EDGE_ABOVE = 4, EDGE_BELOW = 8, EDGE_ALL = 16 };

struct nothing {
    uint32_t unused;
};

/* The data of a tile's task; of two iterations in one sweep, also the rows next to those. */
enum {
    TILE_IN,
    TILE_ABOVE,
    TILE_BELOW,
    TILE_OUT,
    TILE_DATA,
    TILE_ABOVE_TWO = TILE_DATA,
    TILE_TWO_BELOW,
    TILE_DATA_TWO
};

#define TILES(X)     X(relax)
#define TILES_TWO(X) X(relax_two)

#endif
