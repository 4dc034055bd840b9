/*
 * stencil2d/twice.h - two iterations of a tile in one sweep, so that each point is read and written
 * once for both. Around the tile two rows and columns more are read. Where the plate ends, the edge
 * stays as it is; with EDGE_ALL so does all in the first one, so that the sweep is one iteration.
 * Both add in the order of all variants.
 */
#ifndef STENCIL2D_TWICE_H
#define STENCIL2D_TWICE_H

#include "field.h"

#include <stdbool.h>

#ifdef __CUDACC__

/*
 * A warp goes down a strip of 28 columns, and then the next of its strips; a lane has a column.
 * Columns beside its own come from the other lanes, two more on either side.
 */
enum {
    CREW = 32, /* threads that go down a strip together */
    STRIP = 28,
    AHEAD = 8 /* rows whose loads are under way together */
};

/* Where the lane loads next: rows of the tile and around it, as if they were one piece. */
struct ahead {
    const double *at;
    uint32_t strip, left; /* rows until `at` goes elsewhere */
    int piece;
};

/* Where the lane computes. Of v, the points, and w, after an iteration, the last two rows. */
struct behind {
    double v[2], w[2], *to;
    uint32_t strip, row; /* rows that it has had of the strip */
    bool fixed, own;     /* it stays as it is at first; a column of the strip */
};

static __device__ __forceinline__ int64_t lane_column(const struct field *f, uint32_t strip)
{
    const int64_t column = (int64_t)strip * STRIP + threadIdx.x % 32 - 2;
    const int64_t first = (f->edges & EDGE_LEFT) != 0 ? -1 : -2;
    const int64_t last = (int64_t)f->columns + ((f->edges & EDGE_RIGHT) != 0 ? 0 : 1);

    return column < first ? first : column > last ? last : column;
}

static __device__ __forceinline__ void begin_piece(const struct field *f, struct ahead *a)
{
    const double *const row = a->piece == 0   ? f->above_two
                              : a->piece == 1 ? f->above
                              : a->piece == 2 ? f->in
                              : a->piece == 3 ? f->below
                                              : f->two_below;

    a->at = row + lane_column(f, a->strip);
    a->left = a->piece == 2 ? (uint32_t)f->rows : 1;
}

static __device__ __forceinline__ double load_point(const struct field *f, struct ahead *a,
                                                    uint32_t step)
{
    const double point = *a->at;

    a->at += f->from;
    if (--a->left == 0) {
        a->piece = a->piece == 4 ? 0 : a->piece + 1;
        a->strip += a->piece == 0 ? step : 0;
        begin_piece(f, a);
    }
    return point;
}

static __device__ __forceinline__ void begin_strip(const struct field *f, struct behind *b)
{
    const int64_t column = lane_column(f, b->strip);
    const uint32_t lane = threadIdx.x % 32;

    b->row = 0;
    b->fixed = (f->edges & EDGE_ALL) != 0 || ((f->edges & EDGE_LEFT) != 0 && column < 0) ||
               ((f->edges & EDGE_RIGHT) != 0 && column >= (int64_t)f->columns);
    b->own = lane >= 2 && lane < 2 + STRIP && (size_t)b->strip * STRIP + lane - 2 < f->columns;
    b->to =
        f->out + column - 4 * (int64_t)f->to; /* the fifth row that is read is the tile's first */
}

static __device__ __forceinline__ double sides(double row)
{
    return __shfl_up_sync(~0u, row, 1) + __shfl_down_sync(~0u, row, 1);
}

/* The point below the last two rows: so an iteration of the row before, two of that before it. */
static __device__ __forceinline__ void take_point(const struct field *f, struct behind *b,
                                                  double point, uint32_t step)
{
    const bool fixed = b->fixed || (b->row == 2 && (f->edges & EDGE_ABOVE) != 0) ||
                       (b->row == (uint32_t)f->rows + 3 && (f->edges & EDGE_BELOW) != 0);
    const double once = 0.25 * ((b->v[0] + point) + sides(b->v[1]));
    const double w = fixed ? b->v[1] : once;
    const double twice = 0.25 * ((b->w[0] + w) + sides(b->w[1]));

    if (b->own && b->row >= 4)
        *b->to = twice;
    b->to += f->to;
    b->v[0] = b->v[1];
    b->v[1] = point;
    b->w[0] = b->w[1];
    b->w[1] = w;
    if (++b->row == (uint32_t)f->rows + 4) {
        b->strip += step;
        begin_strip(f, b);
    }
}

/* What all lanes have alike: nvcc sees that they do, and that they branch together. */
static __device__ __forceinline__ uint32_t of_warp(uint32_t value)
{
    return __shfl_sync(~0u, value, 0);
}

/* Every step-th strip from `first` on. All lanes of a warp, alike; of one that is not whole, whose
 * `first` is not below `step`, none. */
static __device__ __forceinline__ void sweep_twice(const struct field *field, uint32_t first,
                                                   uint32_t step)
{
    if (first >= step)
        return;
    struct field f = *field; /* in registers: stores could change what is in memory */
    f.rows = of_warp((uint32_t)f.rows);
    f.columns = of_warp((uint32_t)f.columns);
    f.edges = of_warp(f.edges);
    step = of_warp(step);
    const uint32_t begin = of_warp(first);
    const uint32_t strips = ((uint32_t)f.columns + STRIP - 1) / STRIP;
    const uint32_t all =
        begin < strips ? (strips - begin + step - 1) / step * ((uint32_t)f.rows + 4) : 0;
    struct ahead ahead = {.at = NULL, .strip = begin, .left = 0, .piece = 0};
    struct behind behind = {.v = {0, 0}, .w = {0, 0}, .to = NULL, .strip = begin};
    double next[AHEAD], after[AHEAD];

    if (all == 0)
        return;
    begin_piece(&f, &ahead);
    begin_strip(&f, &behind);
#pragma unroll
    for (uint32_t i = 0; i < AHEAD; i++)
        next[i] = load_point(&f, &ahead, step);
    /* In turns: a move would wait. Behind the last strip no lane has a column of its own. */
    for (uint32_t done = 0; done < all; done += 2 * AHEAD) {
#pragma unroll
        for (uint32_t i = 0; i < AHEAD; i++)
            after[i] = load_point(&f, &ahead, step);
#pragma unroll
        for (uint32_t i = 0; i < AHEAD; i++)
            take_point(&f, &behind, next[i], step);
#pragma unroll
        for (uint32_t i = 0; i < AHEAD; i++)
            next[i] = load_point(&f, &ahead, step);
#pragma unroll
        for (uint32_t i = 0; i < AHEAD; i++)
            take_point(&f, &behind, after[i], step);
    }
}

#else

enum { CREW = 1, STRIP = 256 };

/* A row of the tile, or next to it. */
static inline const double *row_of(const struct field *f, int64_t row)
{
    const int64_t rows = (int64_t)f->rows;

    return row == -2         ? f->above_two
           : row == -1       ? f->above
           : row == rows     ? f->below
           : row == rows + 1 ? f->two_below
                             : f->in + (size_t)row * f->from;
}

/* So many columns of a row and one more on either side after an iteration: to[0] is left of them.
 */
static inline void relax_once(const struct field *f, int64_t row, size_t column, size_t columns,
                              double *to)
{
    const double *const here = row_of(f, row) + column - 1;
    const bool fixed = (f->edges & EDGE_ALL) != 0 || (row == -1 && (f->edges & EDGE_ABOVE) != 0) ||
                       (row == (int64_t)f->rows && (f->edges & EDGE_BELOW) != 0);
    const bool left = fixed || (column == 0 && (f->edges & EDGE_LEFT) != 0);
    const bool right = fixed || (column + columns == f->columns && (f->edges & EDGE_RIGHT) != 0);

    if (left)
        to[0] = here[0];
    if (right)
        to[columns + 1] = here[columns + 1];
    if (fixed) {
        for (size_t i = 1; i <= columns; i++)
            to[i] = here[i];
        return;
    }
    const double *const up = row_of(f, row - 1) + column - 1;
    const double *const down = row_of(f, row + 1) + column - 1;
    for (size_t i = left; i < columns + 2 - right; i++)
        to[i] = 0.25 * ((up[i] + down[i]) + (here[i - 1] + here[i + 1]));
}

/* A strip of the tile, down. */
static inline void sweep_strip(const struct field *f, size_t column, size_t columns)
{
    double w[3][STRIP + 2];

    for (int64_t row = -1; row <= (int64_t)f->rows; row++) {
        relax_once(f, row, column, columns, w[(row + 3) % 3]);
        if (row < 1)
            continue;
        const double *const up = w[(row + 1) % 3], *const here = w[(row + 2) % 3];
        const double *const down = w[row % 3];
        double *const out = f->out + (size_t)(row - 1) * f->to + column;
        for (size_t i = 0; i < columns; i++)
            out[i] = 0.25 * ((up[i + 1] + down[i + 1]) + (here[i] + here[i + 2]));
    }
}

/* Every step-th strip from `first` on. */
static inline void sweep_twice(const struct field *f, uint32_t first, uint32_t step)
{
    for (size_t column = (size_t)first * STRIP; column < f->columns; column += (size_t)step * STRIP)
        sweep_strip(f, column, f->columns - column < STRIP ? f->columns - column : STRIP);
}

#endif

#endif
