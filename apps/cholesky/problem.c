/* cholesky/problem.c - see problem.h. */
#include "problem.h"

#include "random.h"
#include "report.h"
#include "tile.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct program cholesky = {
    .name = "cholesky",
    .about = "factors a symmetric positive definite matrix in tiles, by tasks that are recorded "
             "once; on one process",
    .iterations = {2, 5, 5},
    .size = {[SIZE_N] = {.name = "order",
                         .about = "rows of the matrix",
                         .lowest = 1,
                         .highest = 1 << 20,
                         .preset = {500, 4096, 32768}},
             [SIZE_TILE] = {.name = "tile",
                            .about = "rows of a tile, by 32",
                            .lowest = 32,
                            .highest = 4096,
                            .preset = {64, 256, 256}}}};

bool matrix_of(const struct settings *settings, bool speak, struct matrix *m)
{
    *m = (struct matrix){.n = settings->size[SIZE_N], .side = settings->size[SIZE_TILE]};
    m->tiles = (m->n + m->side - 1) / m->side;
    m->pitch = m->side % 128 == 0 ? m->side + 8 : m->side; /* columns in unlike sets of a cache */
    m->tile_bytes = m->pitch * m->side * sizeof(double);
    m->bytes = m->tiles * (m->tiles + 1) / 2 * m->tile_bytes;
    if (m->side % TILE_LEAST == 0)
        return true;
    if (speak)
        complain("--tile %llu is no multiple of %d", (unsigned long long)m->side, TILE_LEAST);
    return false;
}

static double element(const struct matrix *m, uint64_t seed, uint64_t row, uint64_t column)
{
    if (row >= m->n || column >= m->n)
        return row == column;
    return row == column ? (double)m->n : random_unit(seed, row * m->n + column);
}

void matrix_fill(const struct matrix *m, uint64_t seed, double *tiles)
{
    memset(tiles, 0, m->bytes);
    for (uint64_t i = 0; i < m->tiles; i++)
        for (uint64_t j = 0; j <= i; j++)
            for (uint64_t c = 0; c < m->side; c++)
                for (uint64_t r = 0; r < m->side; r++)
                    if (i > j || r >= c)
                        tiles[matrix_tile(m, i, j) + c * m->pitch + r] =
                            element(m, seed, i * m->side + r, j * m->side + c);
}

/* What a step does with a column of tiles on its right; then that column's own step begins. */
static bool column_tasks(const struct matrix *m, uint64_t column, uint64_t step,
                         bool (*add)(void *to, const struct factor_task *task), void *to)
{
    bool good = true;

    for (uint64_t row = column; good && row < m->tiles; row++)
        good = add(to, &(struct factor_task){
                           .what = FACTOR_GEMM, .row = row, .column = column, .step = step});
    for (uint64_t row = column; good && row < m->tiles && column == step + 1; row++)
        good = add(to, &(struct factor_task){.what = row == column ? FACTOR_POTRF : FACTOR_TRSM,
                                             .row = row,
                                             .column = column,
                                             .step = column});
    return good;
}

bool matrix_tasks(const struct matrix *m, bool (*add)(void *to, const struct factor_task *task),
                  void *to)
{
    bool good = add(to, &(struct factor_task){.what = FACTOR_POTRF});

    for (uint64_t row = 1; good && row < m->tiles; row++)
        good = add(to, &(struct factor_task){.what = FACTOR_TRSM, .row = row});
    for (uint64_t step = 0; good && step < m->tiles; step++)
        for (uint64_t column = step + 1; good && column < m->tiles; column++)
            good = column_tasks(m, column, step, add, to);
    return good;
}

/* ---- by one thread --------------------------------------------------------------------------- */

/* The same operations on each element as in tile.h, as plain loops. */
static void subtract(const struct matrix *m, double *to, const double *a, const double *b)
{
    for (uint64_t k = 0; k < m->side; k++)
        for (uint64_t c = 0; c < m->side; c++)
            for (uint64_t r = 0; r < m->side; r++)
                to[c * m->pitch + r] =
                    fma(-a[k * m->pitch + r], b[k * m->pitch + c], to[c * m->pitch + r]);
}

/* to * l' = to; l NULL: to * to' = to. */
static void divide(const struct matrix *m, double *to, const double *l)
{
    const double *const by = l != NULL ? l : to;

    for (uint64_t c = 0; c < m->side; c++)
        for (uint64_t r = l != NULL ? 0 : c; r < m->side; r++) {
            double *const value = &to[c * m->pitch + r];
            for (uint64_t k = 0; k < c; k++)
                *value = fma(-to[k * m->pitch + r], by[k * m->pitch + c], *value);
            *value = l == NULL && r == c ? sqrt(*value) : *value / by[c * m->pitch + c];
        }
}

static void factor_serially(const struct matrix *m, double *tiles)
{
    for (uint64_t j = 0; j < m->tiles; j++) {
        for (uint64_t i = j; i < m->tiles; i++)
            for (uint64_t k = 0; k < j; k++)
                subtract(m, tiles + matrix_tile(m, i, j), tiles + matrix_tile(m, i, k),
                         tiles + matrix_tile(m, j, k));
        for (uint64_t i = j; i < m->tiles; i++)
            divide(m, tiles + matrix_tile(m, i, j), i > j ? tiles + matrix_tile(m, j, j) : NULL);
    }
}

bool matrix_verify(const struct matrix *m, const struct settings *settings, const double *factor)
{
    FILE *const out = settings->csv ? stderr : stdout;
    double *const want = malloc(m->bytes);
    uint64_t wrong = 0;

    if (want == NULL) {
        complain("no memory for %zu bytes", m->bytes);
        return false;
    }
    matrix_fill(m, settings->seed, want);
    factor_serially(m, want);
    for (uint64_t i = 0; i < m->tiles; i++)
        for (uint64_t j = 0; j <= i; j++)
            for (uint64_t c = 0; c < m->side; c++)
                for (uint64_t r = i == j ? c : 0; r < m->side; r++) {
                    const size_t at = matrix_tile(m, i, j) + c * m->pitch + r;
                    wrong += memcmp(&want[at], &factor[at], sizeof(double)) != 0;
                }
    if (wrong == 0)
        fprintf(out, "verified: bit-equal\n");
    else
        fprintf(out, "verified: %llu elements DIFFER\n", (unsigned long long)wrong);
    free(want);
    return wrong == 0;
}
