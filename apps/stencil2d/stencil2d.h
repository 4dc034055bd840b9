/* stencil2d/stencil2d.h - what the tasks and the host program share. */
#ifndef STENCIL2D_H
#define STENCIL2D_H

#include <stdint.h>

/* One tile of one iteration, and who is slow: place `slow` does the work of each point so often. */
struct tile {
    uint32_t rows, columns;
    int32_t slow;
    uint32_t times;
};

/* What ranks without tasks are given. */
struct rows {
    double *fields;              /* two: the process's rows, one above and one below */
    uint64_t width;              /* points of a row, edge included */
    uint64_t here, above, below; /* rows of this process, of the one before, of the next; 0: none */
    uint32_t iterations, times;  /* as in struct tile */
    int32_t slow;
};

struct nothing {
    uint32_t unused;
};

/* The data of a tile's task. */
enum { TILE_IN, TILE_ABOVE, TILE_BELOW, TILE_OUT, TILE_DATA };

#define TILES(X) X(relax)

#endif
