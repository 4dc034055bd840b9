/*
 * spmv/problem.h - what weft's program and the two-model programs share on the host: the grid, the
 * matrix, the vector, and the serial reference.
 *
 * Every process makes its own rows, out of the seed or out of the file, which it must be able to
 * read; the matrix does not depend on how it is cut.
 */
#ifndef SPMV_PROBLEM_H
#define SPMV_PROBLEM_H

#include "settings.h"
#include "sparse.h"
#include "spmv.h"

extern const struct program spmv_program;

/* One process's part, on the host. Starts as zeros, but for what comes before grid. */
struct spmv_problem {
    bool square; /* the matrix must be, or is made so, of about as many entries */
    bool tall;   /* the grid has at least as many rows as columns; else no more */
    struct spmv_grid grid;
    uint64_t all_rows, all_columns;
    struct sparse strip;     /* all columns of the process's rows */
    struct spmv_block block; /* of it, in host memory */
    struct spmv_layout layout;
    uint32_t *row_start, *column_of, *long_row; /* the block's own */
    double *value, *b;                          /* b: the process's block, where row is 0 */
};

/* Fills *problem; threads: most lanes of a row. Returns false after it has said why. */
bool spmv_make(struct spmv_problem *problem, const struct settings *settings, int process,
               int processes, uint32_t threads);
/*
 * One of grid_rows strips of the rows of the whole matrix, in *strip; sets the size of the whole.
 * grid and what comes before it are set. Returns false after it has said why; free the strip in any
 * case.
 */
bool spmv_make_rows(struct spmv_problem *problem, const struct settings *settings,
                    uint32_t grid_rows, uint32_t grid_row, struct sparse *strip);
void spmv_free(struct spmv_problem *problem);

/*
 * Cuts the rows into slices of equal work, the same on all processes of a grid row, and the list of
 * long rows at the same places. x_cut, long_cut: ranks + 1 numbers.
 */
void spmv_cut(const struct spmv_problem *problem, uint32_t ranks, uint32_t *x_cut,
              uint32_t *long_cut);

/*
 * On process 0, blocks: the x of all processes, layout.partial_bytes each; those of grid column 0
 * hold the result of so many products. Compares them with a serial product and prints it.
 */
bool spmv_check(const struct spmv_problem *problem, const struct settings *settings,
                const char *blocks);

#endif
