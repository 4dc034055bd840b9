/*
 * cholesky/problem.h - a symmetric positive definite matrix, of which the tiles on and below the
 * diagonal are stored, each by columns; and its factor by one thread, to compare with. Tiles at the
 * end are filled up with those of the unit matrix.
 */
#ifndef CHOLESKY_PROBLEM_H
#define CHOLESKY_PROBLEM_H

#include "cholesky.h"
#include "settings.h"

#include <stdbool.h>
#include <stddef.h>

/* Its sizes. */
enum { SIZE_N, SIZE_TILE };
extern const struct program cholesky;

struct matrix {
    uint64_t n, side, tiles, pitch; /* rows; of a tile; tiles in a column; of a tile's columns */
    size_t tile_bytes, bytes;
};
/* False: the tile is no multiple of TILE_LEAST, which is said if `speak`. */
bool matrix_of(const struct settings *settings, bool speak, struct matrix *matrix);

/* Where a tile is, in doubles; row >= column. */
static inline size_t matrix_tile(const struct matrix *m, uint64_t row, uint64_t column)
{
    return (row * (row + 1) / 2 + column) * (m->tile_bytes / sizeof(double));
}

/* Operations of a factorisation. */
static inline double matrix_flops(const struct matrix *m)
{
    const double n = (double)m->n;

    return n * n * n / 3;
}

void matrix_fill(const struct matrix *m, uint64_t seed, double *tiles);

/*
 * The tasks of a factorisation, one call each, in an order in which few wait: each step's column
 * first, with what comes next there, then the rest of the step. The first one to write a tile reads
 * the matrix, all others the tile.
 */
enum factor { FACTOR_POTRF, FACTOR_TRSM, FACTOR_GEMM }; /* as in FACTORS */
struct factor_task {
    enum factor what;
    uint64_t row, column, step; /* the tile; the column of tiles that is subtracted, or its own */
};
bool matrix_tasks(const struct matrix *m, bool (*add)(void *to, const struct factor_task *task),
                  void *to);

/* Whether the factor is that of a serial loop over tiles, bit by bit; prints that. */
bool matrix_verify(const struct matrix *m, const struct settings *settings, const double *factor);

#endif
