/*
 * cholesky/tile.h - what tasks do with tiles, which are stored by columns. Threads share the work:
 * each computes rows of four columns in its registers.
 *
 * Every element is computed by the same operations in the same order, whatever the device, the size
 * of tiles and the number of threads: products are subtracted by fma, from the first column on, and
 * a division or a root ends it. So results are equal bit by bit.
 */
#ifndef CHOLESKY_TILE_H
#define CHOLESKY_TILE_H

#include "cholesky.h"

#include <math.h>
#include <stdint.h>

/* Rows that a thread has of gemm's tile, and of the others'. On a processor the functions that a
 * program calls choose one of two ways in which these are compiled (tile.c). */
#ifdef __CUDACC__
#define CELL_FN       static __device__ __forceinline__
#define TILE_FN(name) static __device__ void name
#define TILE_UNROLL   _Pragma("unroll")
enum { TILE_ROWS = 4, TILE_SOLVED = 1 };
#else
#define CELL_FN       static inline __attribute__((always_inline))
#define TILE_FN(name) CELL_FN void name##_inline
#define TILE_UNROLL   _Pragma("GCC unroll 8")
enum { TILE_ROWS = 8, TILE_SOLVED = 8 };
#endif
enum { TILE_COLUMNS = 4, TILE_LEAST = 32 }; /* n is a multiple of TILE_LEAST */

/* Rows of four columns. `rows` below is a constant. */
struct cell {
    double at[TILE_COLUMNS][TILE_ROWS];
};

/* So many values that follow each other. Four on a GPU are aligned, and take two loads. */
CELL_FN void cell_take(double *to, const double *from, int count)
{
#ifdef __CUDACC__
    if (count == 4) {
        const double2 low = ((const double2 *)from)[0], high = ((const double2 *)from)[1];
        to[0] = low.x;
        to[1] = low.y;
        to[2] = high.x;
        to[3] = high.y;
        return;
    }
#endif
    TILE_UNROLL
    for (int i = 0; i < count; i++)
        to[i] = from[i];
}

CELL_FN void cell_load(struct cell *cell, const double *from, uint64_t pitch, int rows)
{
    TILE_UNROLL
    for (int c = 0; c < TILE_COLUMNS; c++)
        cell_take(cell->at[c], from + (uint64_t)c * pitch, rows);
}

CELL_FN void cell_store(const struct cell *cell, double *to, uint64_t pitch, int rows)
{
    TILE_UNROLL
    for (int c = 0; c < TILE_COLUMNS; c++) {
        TILE_UNROLL
        for (int r = 0; r < rows; r++)
            to[(uint64_t)c * pitch + (uint64_t)r] = cell->at[c][r];
    }
}

/* Subtracts the product of the first k columns: of a, from the cell's rows on, and of b, from its
 * columns on. */
CELL_FN void cell_subtract(struct cell *cell, const double *a, const double *b, uint64_t k,
                           uint64_t pitch, int rows)
{
    for (uint64_t i = 0; i < k; i++, a += pitch, b += pitch) {
        double left[TILE_ROWS], right[TILE_COLUMNS];
        cell_take(left, a, rows);
        cell_take(right, b, TILE_COLUMNS);
        TILE_UNROLL
        for (int c = 0; c < TILE_COLUMNS; c++) {
            TILE_UNROLL
            for (int r = 0; r < rows; r++)
                cell->at[c][r] = fma(-left[r], right[c], cell->at[c][r]);
        }
    }
}

/* The last step: against the factor of the diagonal's block of four. */
CELL_FN void cell_solve(struct cell *cell, const double *block, uint64_t pitch, int rows)
{
    TILE_UNROLL
    for (int c = 0; c < TILE_COLUMNS; c++) {
        TILE_UNROLL
        for (int r = 0; r < rows; r++) {
            for (int k = 0; k < c; k++)
                cell->at[c][r] =
                    fma(-cell->at[k][r], block[(uint64_t)k * pitch + (uint64_t)c], cell->at[c][r]);
            cell->at[c][r] /= block[(uint64_t)c * pitch + (uint64_t)c];
        }
    }
}

/* to = from - a * b', or its part that is not above the diagonal. Threads need not wait. */
TILE_FN(tile_gemm)
(const struct tile *t, const double *from, double *to, const double *a, const double *b,
 uint64_t thread, uint64_t threads)
{
    const uint64_t down = t->n / TILE_ROWS, cells = down * (t->n / TILE_COLUMNS);

    for (uint64_t i = thread; i < cells; i += threads) {
        /* 32 cells after each other, of a warp, are 8 x 4: they share what they load. */
        const uint64_t group = i / 32, r = group % (down / 4) * 4 + i % 4;
        const uint64_t c = group / (down / 4) * 8 + i % 32 / 4;
        const uint64_t row = r * TILE_ROWS, column = c * TILE_COLUMNS;
        const uint64_t at = column * t->pitch + row;
        struct cell cell;
        if (t->diagonal && row + TILE_ROWS <= column)
            continue;
        cell_load(&cell, from + at, t->pitch, TILE_ROWS);
        cell_subtract(&cell, a + row, b + column, t->n, t->pitch, TILE_ROWS);
        cell_store(&cell, to + at, t->pitch, TILE_ROWS);
    }
}

/* to * l' = from. A thread has whole rows, and does not wait. */
TILE_FN(tile_trsm)
(const struct tile *t, const double *from, double *to, const double *l, uint64_t thread,
 uint64_t threads)
{
    for (uint64_t row = thread * TILE_SOLVED; row < t->n; row += threads * TILE_SOLVED)
        for (uint64_t column = 0; column < t->n; column += TILE_COLUMNS) {
            const uint64_t at = column * t->pitch + row;
            struct cell cell;
            cell_load(&cell, from + at, t->pitch, TILE_SOLVED);
            cell_subtract(&cell, to + row, l + column, column, t->pitch, TILE_SOLVED);
            cell_solve(&cell, l + column * t->pitch + column, t->pitch, TILE_SOLVED);
            cell_store(&cell, to + at, t->pitch, TILE_SOLVED);
        }
}

/* Four columns of to * to' = from, as far as those before tell. All threads wait after it. */
TILE_FN(tile_potrf_columns)
(const struct tile *t, const double *from, double *to, uint64_t column, uint64_t thread,
 uint64_t threads)
{
    const uint64_t first = column / TILE_SOLVED * TILE_SOLVED;

    for (uint64_t row = first + thread * TILE_SOLVED; row < t->n; row += threads * TILE_SOLVED) {
        const uint64_t at = column * t->pitch + row;
        struct cell cell;
        cell_load(&cell, from + at, t->pitch, TILE_SOLVED);
        cell_subtract(&cell, to + row, to + column, column, t->pitch, TILE_SOLVED);
        cell_store(&cell, to + at, t->pitch, TILE_SOLVED);
    }
}

/* Factors their block on the diagonal. One thread; all wait after it. */
TILE_FN(tile_potrf_block)(const struct tile *t, double *to, uint64_t column)
{
    double *const block = to + column * t->pitch + column;

    for (uint64_t c = 0; c < TILE_COLUMNS; c++)
        for (uint64_t r = c; r < TILE_COLUMNS; r++) {
            double value = block[c * t->pitch + r];
            for (uint64_t k = 0; k < c; k++)
                value = fma(-block[k * t->pitch + r], block[k * t->pitch + c], value);
            block[c * t->pitch + r] = r == c ? sqrt(value) : value / block[c * t->pitch + c];
        }
}

/* The rows below it. All threads wait after it. */
TILE_FN(tile_potrf_below)
(const struct tile *t, double *to, uint64_t column, uint64_t thread, uint64_t threads)
{
    const double *const block = to + column * t->pitch + column;
    const uint64_t below = column + TILE_COLUMNS;

    for (uint64_t row = below + thread; row < t->n; row += threads) {
        struct cell cell;
        cell_load(&cell, to + column * t->pitch + row, t->pitch, 1);
        cell_solve(&cell, block, t->pitch, 1);
        cell_store(&cell, to + column * t->pitch + row, t->pitch, 1);
    }
}

#ifndef __CUDACC__
void tile_gemm(const struct tile *t, const double *from, double *to, const double *a,
               const double *b, uint64_t thread, uint64_t threads);
void tile_trsm(const struct tile *t, const double *from, double *to, const double *l,
               uint64_t thread, uint64_t threads);
void tile_potrf_columns(const struct tile *t, const double *from, double *to, uint64_t column,
                        uint64_t thread, uint64_t threads);
void tile_potrf_block(const struct tile *t, double *to, uint64_t column);
void tile_potrf_below(const struct tile *t, double *to, uint64_t column, uint64_t thread,
                      uint64_t threads);
#endif

#endif
