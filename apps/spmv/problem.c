/*
 * spmv/problem.c - see problem.h.
 */
#include "problem.h"

#include "matrix_market.h"
#include "random.h"
#include "random_matrix.h"
#include "report.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OF_ROWS, OF_NONZEROS };

const struct program spmv_program = {
    .name = "spmv",
    .about = "Products of a sparse matrix and a vector, on a grid of processes.",
    .takes_matrix = true,
    .iterations = {9, 100, 50},
    .size = {{"rows", "and columns of a block", 1, 1 << 24, {60, 10816, 108160}},
             {"nonzeros", "of a million entries", 1, 1000000, {100000, 3000, 3000}},
             {0}},
};

/* A row costs as much as so many entries, besides those it has. */
enum { ROW_COST = 4 };
/* Entries that a lane takes at a time (spmv_share), and so many times that make a row long. */
enum { LANE_ENTRIES = 8, LONG = 16 };

struct part {
    uint64_t begin, end;
};

static struct part part_of(uint64_t n, uint64_t parts, uint64_t i)
{
    return (struct part){n * i / parts, n * (i + 1) / parts};
}

/* The grid nearest to a square. */
static struct spmv_grid choose_grid(int process, int processes, bool tall)
{
    uint32_t few = 1;
    for (uint32_t side = 1; side * side <= (uint32_t)processes; side++)
        if ((uint32_t)processes % side == 0)
            few = side;
    const uint32_t many = (uint32_t)processes / few;
    struct spmv_grid grid = {.rows = tall ? many : few, .columns = tall ? few : many};
    grid.row = (uint32_t)process / grid.columns;
    grid.column = (uint32_t)process % grid.columns;
    return grid;
}

/* ---- the matrix ---------------------------------------------------------------------------- */

/* Rows of a matrix that was read. */
static bool take_rows(const struct sparse *whole, struct part rows, struct sparse *strip)
{
    const uint64_t first = whole->row_start[rows.begin];
    const uint64_t entries = whole->row_start[rows.end] - first;
    *strip = (struct sparse){.rows = rows.end - rows.begin, .columns = whole->columns};
    strip->row_start = malloc((strip->rows + 1) * sizeof(*strip->row_start));
    strip->column_of = malloc((entries + 1) * sizeof(*strip->column_of));
    strip->value = malloc((entries + 1) * sizeof(*strip->value));
    if (!strip->row_start || !strip->column_of || !strip->value)
        return false;
    for (uint64_t row = 0; row <= strip->rows; row++)
        strip->row_start[row] = whole->row_start[rows.begin + row] - first;
    memcpy(strip->column_of, whole->column_of + first, entries * sizeof(*strip->column_of));
    memcpy(strip->value, whole->value + first, entries * sizeof(*strip->value));
    return true;
}

static bool read_matrix(const struct spmv_problem *problem, const char *path, struct sparse *whole)
{
    struct market_error error;
    FILE *file = fopen(path, "re");
    if (!file) {
        complain("cannot open %s: %s", path, strerror(errno));
        return false;
    }
    const bool good = market_read(file, whole, &error);
    fclose(file);
    if (good && problem->square && whole->rows != whole->columns) {
        complain("%s: %" PRIu64 " rows and %" PRIu64 " columns: not square", path, whole->rows,
                 whole->columns);
        sparse_free(whole);
        return false;
    }
    if (!good && error.line > 0)
        complain("%s:%" PRIu64 ": %s", path, error.line, error.text);
    else if (!good)
        complain("%s: %s", path, error.text);
    return good;
}

static bool out_of_memory(const struct spmv_problem *problem)
{
    complain("out of memory for %" PRIu64 " rows of %" PRIu64 " columns",
             problem->all_rows / problem->grid.rows, problem->all_columns);
    return false;
}

/* The order of a square matrix whose entries are shared by so many processes. */
static uint64_t square_order(uint64_t rows, const struct spmv_grid *grid)
{
    return (uint64_t)llround((double)rows * sqrt((double)grid->rows * grid->columns));
}

bool spmv_make_rows(struct spmv_problem *problem, const struct settings *settings,
                    uint32_t grid_rows, uint32_t grid_row, struct sparse *strip)
{
    const struct spmv_grid *grid = &problem->grid;
    const uint64_t rows = settings->size[OF_ROWS];
    struct sparse whole = {0};
    if (settings->matrix && !read_matrix(problem, settings->matrix, &whole))
        return false;
    if (settings->matrix) {
        problem->all_rows = whole.rows;
        problem->all_columns = whole.columns;
    } else {
        problem->all_rows = problem->square ? square_order(rows, grid) : rows * grid->rows;
        problem->all_columns = problem->square ? problem->all_rows : rows * grid->columns;
    }
    const struct part part = part_of(problem->all_rows, grid_rows, grid_row);
    const bool good = settings->matrix
                          ? take_rows(&whole, part, strip)
                          : random_rows(strip, settings->seed, settings->size[OF_NONZEROS],
                                        part.begin, part.end, problem->all_columns);
    if (settings->matrix)
        sparse_free(&whole);
    return good || out_of_memory(problem);
}

/* Cuts this process's columns out of the strip. */
static bool make_block(struct spmv_problem *problem)
{
    const struct part columns =
        part_of(problem->all_columns, problem->grid.columns, problem->grid.column);
    const struct sparse *strip = &problem->strip;
    struct spmv_block *block = &problem->block;
    const uint64_t entries = sparse_entries(strip);
    if (entries > INT32_MAX) {
        complain("%" PRIu64 " entries are more than %d", entries, INT32_MAX);
        return false;
    }
    problem->row_start = malloc((strip->rows + 1) * sizeof(*problem->row_start));
    problem->column_of = malloc((entries + 1) * sizeof(*problem->column_of));
    problem->value = malloc((entries + 1) * sizeof(*problem->value));
    if (!problem->row_start || !problem->column_of || !problem->value)
        return out_of_memory(problem);
    uint32_t at = 0;
    for (uint64_t row = 0; row < strip->rows; row++) {
        problem->row_start[row] = at;
        for (uint64_t i = strip->row_start[row]; i < strip->row_start[row + 1]; i++) {
            const uint64_t column = strip->column_of[i];
            if (column < columns.begin || column >= columns.end)
                continue;
            problem->column_of[at] = (uint32_t)(column - columns.begin);
            problem->value[at++] = strip->value[i];
        }
    }
    problem->row_start[strip->rows] = at;
    block->rows = (uint32_t)strip->rows;
    block->columns = (uint32_t)(columns.end - columns.begin);
    block->row_start = problem->row_start;
    block->column_of = problem->column_of;
    block->value = problem->value;
    return true;
}

/* How many threads a row gets, and which rows are long. */
static bool list_long_rows(struct spmv_problem *problem, uint32_t threads)
{
    struct spmv_block *block = &problem->block;
    const uint64_t most_lanes = threads % 32 == 0 ? 32 : 1, rows = block->rows;
    block->lanes = 1;
    while (block->lanes < most_lanes &&
           (uint64_t)block->lanes * LANE_ENTRIES * rows < block->row_start[rows])
        block->lanes *= 2;
    block->most_short = threads > 1 ? block->lanes * LANE_ENTRIES * LONG : UINT32_MAX;
    problem->long_row = malloc((rows + 1) * sizeof(*problem->long_row));
    if (!problem->long_row)
        return out_of_memory(problem);
    for (uint32_t row = 0; row < rows; row++)
        if (spmv_row_length(block, row) > block->most_short)
            problem->long_row[block->long_rows++] = row;
    block->long_row = problem->long_row;
    return true;
}

static double start_value(const struct settings *settings, uint64_t i)
{
    return 0.5 + random_unit(settings->seed + 1, i);
}

bool spmv_make(struct spmv_problem *problem, const struct settings *settings, int process,
               int processes, uint32_t threads)
{
    problem->grid = choose_grid(process, processes, problem->tall);
    const struct spmv_grid *grid = &problem->grid;
    if (!spmv_make_rows(problem, settings, grid->rows, grid->row, &problem->strip) ||
        !make_block(problem) || !list_long_rows(problem, threads))
        return false;
    const struct part columns = part_of(problem->all_columns, grid->columns, grid->column);
    problem->b = malloc((columns.end - columns.begin + 1) * sizeof(*problem->b));
    if (!problem->b)
        return out_of_memory(problem);
    for (uint64_t i = columns.begin; i < columns.end; i++)
        problem->b[i - columns.begin] = start_value(settings, i);
    problem->layout = spmv_layout_of(grid, problem->all_rows / grid->rows + 1,
                                     problem->all_columns / grid->columns + 1);
    return true;
}

void spmv_free(struct spmv_problem *problem)
{
    free(problem->strip.row_start);
    free(problem->strip.column_of);
    free(problem->strip.value);
    free(problem->row_start);
    free(problem->column_of);
    free(problem->long_row);
    free(problem->value);
    free(problem->b);
}

void spmv_cut(const struct spmv_problem *problem, uint32_t ranks, uint32_t *x_cut,
              uint32_t *long_cut)
{
    const struct sparse *strip = &problem->strip;
    const struct spmv_block *block = &problem->block;
    const uint64_t all = sparse_entries(strip) + ROW_COST * strip->rows;
    uint32_t row = 0, in_list = 0;
    for (uint32_t rank = 0; rank <= ranks; rank++) {
        const uint64_t share = all * rank / ranks;
        while (row < block->rows && strip->row_start[row] + ROW_COST * (uint64_t)row < share)
            row++;
        x_cut[rank] = rank < ranks ? row : block->rows;
        while (in_list < block->long_rows && block->long_row[in_list] < x_cut[rank])
            in_list++;
        long_cut[rank] = in_list;
    }
}

/* Element i of the result, on process 0 among the blocks. */
static double result_at(const struct spmv_problem *problem, const char *blocks, uint64_t row)
{
    const uint64_t rows = problem->grid.rows;
    uint64_t block = row * rows / problem->all_rows;
    while (part_of(problem->all_rows, rows, block).end <= row)
        block++;
    const double *x =
        (const double *)(blocks + block * problem->grid.columns * problem->layout.partial_bytes);
    return x[row - part_of(problem->all_rows, rows, block).begin];
}

bool spmv_check(const struct spmv_problem *problem, const struct settings *settings,
                const char *blocks)
{
    struct spmv_problem whole = {.grid = problem->grid};
    struct sparse *matrix = &whole.strip;
    const double sign = settings->iterations % 2 ? 1 : -1; /* b has changed its own so often */
    double worst = 0, largest = 0;
    if (!spmv_make_rows(&whole, settings, 1, 0, matrix)) {
        spmv_free(&whole);
        return false;
    }
    for (uint64_t row = 0; row < matrix->rows; row++) {
        double expected = 0;
        for (uint64_t i = matrix->row_start[row]; i < matrix->row_start[row + 1]; i++)
            expected += matrix->value[i] * sign * start_value(settings, matrix->column_of[i]);
        const double off = fabs(result_at(problem, blocks, row) - expected);
        if (!(off <= worst))
            worst = off; /* and NaN, which stays */
        largest = fmax(largest, fabs(expected));
    }
    spmv_free(&whole);
    return report_check(settings, "difference from the serial product",
                        largest > 0 ? worst / largest : worst, 1e-10);
}
