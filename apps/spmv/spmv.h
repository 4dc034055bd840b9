/*
 * spmv/spmv.h - how the product is cut, and what a process has of it. For the host programs, weft's
 * kernel and the two-model kernels alike.
 *
 * x = A b, again and again, on a grid of P x Q processes. Process (p, q) has one block of A, rows
 * of one P-th and columns of one Q-th of it. b begins on grid row 0, block q at (0, q), and goes
 * down the grid columns; each process multiplies; the results are added along the grid rows, and x
 * ends on grid column 0. Both ways by binomial trees. Before every product but the first b changes
 * its sign on row 0: whatever is left of the product before is wrong in this one.
 */
#ifndef SPMV_H
#define SPMV_H

#include <stddef.h>
#include <stdint.h>

#ifdef __CUDACC__
#define SPMV_FN static __host__ __device__ inline
#else
#define SPMV_FN static inline
#endif

/* The grid, and this process's place in it. */
struct spmv_grid {
    uint32_t rows, columns, row, column;
};

/*
 * A process's block in compressed rows. A row with more than `most_short` entries is long: all
 * threads of a block multiply it together; others get `lanes` threads each.
 */
struct spmv_block {
    uint32_t rows, columns;
    uint32_t lanes, most_short;
    uint32_t long_rows;
    const uint32_t *row_start; /* rows + 1 */
    const uint32_t *column_of; /* from the block's first column */
    const double *value;
    const uint32_t *long_row; /* by rising number */
};

/* Offsets into a process's arena, in bytes; the same on all processes. */
struct spmv_layout {
    size_t b, x;
    size_t partial, partial_bytes; /* x of others in the grid row, one for each round of the tree */
    size_t bytes;
};

SPMV_FN size_t spmv_reserve(struct spmv_layout *layout, size_t bytes)
{
    const size_t offset = layout->bytes;
    layout->bytes += (bytes + 127) / 128 * 128;
    return offset;
}

/* Rounds of a binomial tree over `size` processes. */
SPMV_FN uint32_t spmv_rounds(uint32_t size)
{
    uint32_t rounds = 0;
    while (((uint64_t)1 << rounds) < size)
        rounds++;
    return rounds;
}

/* most_rows, most_columns: of any block. */
SPMV_FN struct spmv_layout spmv_layout_of(const struct spmv_grid *grid, size_t most_rows,
                                          size_t most_columns)
{
    struct spmv_layout layout = {0};
    layout.partial_bytes = (most_rows * sizeof(double) + 127) / 128 * 128;
    layout.b = spmv_reserve(&layout, most_columns * sizeof(double));
    layout.x = spmv_reserve(&layout, most_rows * sizeof(double));
    layout.partial = spmv_reserve(&layout, spmv_rounds(grid->columns) * layout.partial_bytes);
    return layout;
}

/* Products that a thread has under way at once; whoever has few threads defines more. */
#ifndef SPMV_DEEP
#define SPMV_DEEP 4
#endif

/*
 * One thread's share of a row: entries first, first + step, ... below end, times b. What is left of
 * the last SPMV_DEEP goes at once, too: with the first entry again, and zero, for those that are
 * not there.
 */
SPMV_FN double spmv_share(const struct spmv_block *block, const double *b, uint32_t first,
                          uint32_t end, uint32_t step)
{
    const double *value = block->value;
    const uint32_t *column = block->column_of;
    double sum[SPMV_DEEP] = {0};
    uint32_t i = first;
    for (; i + (SPMV_DEEP - 1) * step < end; i += SPMV_DEEP * step)
        for (uint32_t k = 0; k < SPMV_DEEP; k++)
            sum[k] += value[i + k * step] * b[column[i + k * step]];
    if (i < end)
        for (uint32_t k = 0; k < SPMV_DEEP; k++) {
            const uint32_t at = i + k * step < end ? i + k * step : i;
            sum[k] += (at > i || k == 0 ? value[at] : 0) * b[column[at]];
        }
    for (uint32_t half = SPMV_DEEP / 2; half > 0; half /= 2)
        for (uint32_t k = 0; k < half; k++)
            sum[k] += sum[k + half];
    return sum[0];
}

SPMV_FN uint32_t spmv_row_length(const struct spmv_block *block, uint32_t row)
{
    return block->row_start[row + 1] - block->row_start[row];
}

#endif
