/*
 * spmv/problem.c - see problem.h.
 */
#include "problem.h"

#include "matrix_market.h"
#include "random.h"
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

/* The grid nearest to a square, with at least as many columns as rows. */
static struct spmv_grid choose_grid(int process, int processes)
{
    struct spmv_grid grid = {.rows = 1};
    for (uint32_t rows = 1; rows * rows <= (uint32_t)processes; rows++)
        if ((uint32_t)processes % rows == 0)
            grid.rows = rows;
    grid.columns = (uint32_t)processes / grid.rows;
    grid.row = (uint32_t)process / grid.columns;
    grid.column = (uint32_t)process % grid.columns;
    return grid;
}

/* ---- the matrix ---------------------------------------------------------------------------- */

/* Entries of a matrix that is being made, in the order of rows. */
struct growing {
    struct sparse *matrix;
    uint64_t count, room;
};

static bool append(struct growing *to, uint64_t column, double value)
{
    if (to->count == to->room) {
        const uint64_t room = to->room * 2 + 1024;
        uint32_t *columns = realloc(to->matrix->column_of, room * sizeof(*columns));
        if (columns)
            to->matrix->column_of = columns;
        double *values = realloc(to->matrix->value, room * sizeof(*values));
        if (values)
            to->matrix->value = values;
        if (!columns || !values)
            return false;
        to->room = room;
    }
    to->matrix->column_of[to->count] = (uint32_t)column;
    to->matrix->value[to->count++] = value;
    return true;
}

/*
 * Rows of the matrix that the seed makes: every entry is there with the same chance, so the gaps
 * between them have a geometric distribution; values are in -1 .. 1.
 */
static bool make_rows(const struct settings *settings, struct part rows, uint64_t columns,
                      struct sparse *strip)
{
    const double chance = (double)settings->size[OF_NONZEROS] * 1e-6;
    struct growing to = {.matrix = strip};
    for (uint64_t row = rows.begin; row < rows.end; row++) {
        uint64_t index = row << 32;
        double column = -1;
        strip->row_start[row - rows.begin] = to.count;
        for (;;) {
            column += 1;
            if (chance < 1)
                column += floor(log1p(-random_unit(settings->seed, index)) / log1p(-chance));
            if (!(column < (double)columns))
                break;
            if (!append(&to, (uint64_t)column, 2 * random_unit(settings->seed, index + 1) - 1))
                return false;
            index += 2;
        }
    }
    strip->row_start[rows.end - rows.begin] = to.count;
    return true;
}

/* Rows of a matrix that was read. */
static bool take_rows(const struct sparse *whole, struct part rows, struct sparse *strip)
{
    struct growing to = {.matrix = strip};
    for (uint64_t row = rows.begin; row < rows.end; row++) {
        strip->row_start[row - rows.begin] = to.count;
        for (uint64_t i = whole->row_start[row]; i < whole->row_start[row + 1]; i++)
            if (!append(&to, whole->column_of[i], whole->value[i]))
                return false;
    }
    strip->row_start[rows.end - rows.begin] = to.count;
    return true;
}

static bool read_matrix(const char *path, struct sparse *whole)
{
    struct market_error error;
    FILE *file = fopen(path, "re");
    if (!file) {
        complain(&spmv_program, "cannot open %s: %s", path, strerror(errno));
        return false;
    }
    const bool good = market_read(file, whole, &error);
    fclose(file);
    if (!good && error.line > 0)
        complain(&spmv_program, "%s:%" PRIu64 ": %s", path, error.line, error.text);
    else if (!good)
        complain(&spmv_program, "%s: %s", path, error.text);
    return good;
}

static bool out_of_memory(const struct spmv_problem *problem)
{
    complain(&spmv_program, "out of memory for %" PRIu64 " rows of %" PRIu64 " columns",
             problem->all_rows / problem->grid.rows, problem->all_columns);
    return false;
}

/* The rows of one grid row, or with P = 1 all of them, in *strip. Sets the size of the whole. */
static bool make_strip(struct spmv_problem *problem, const struct settings *settings,
                       uint32_t grid_rows, uint32_t grid_row, struct sparse *strip)
{
    struct sparse whole = {0};
    if (settings->matrix && !read_matrix(settings->matrix, &whole))
        return false;
    problem->all_rows =
        settings->matrix ? whole.rows : settings->size[OF_ROWS] * problem->grid.rows;
    problem->all_columns =
        settings->matrix ? whole.columns : settings->size[OF_ROWS] * problem->grid.columns;
    const struct part rows = part_of(problem->all_rows, grid_rows, grid_row);
    *strip = (struct sparse){.rows = rows.end - rows.begin, .columns = problem->all_columns};
    strip->row_start = malloc((strip->rows + 1) * sizeof(*strip->row_start));
    bool good = strip->row_start != NULL;
    if (good && settings->matrix)
        good = take_rows(&whole, rows, strip);
    else if (good)
        good = make_rows(settings, rows, problem->all_columns, strip);
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
        complain(&spmv_program, "%" PRIu64 " entries are more than %d", entries, INT32_MAX);
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
    problem->grid = choose_grid(process, processes);
    const struct spmv_grid *grid = &problem->grid;
    if (!make_strip(problem, settings, grid->rows, grid->row, &problem->strip) ||
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
    if (!make_strip(&whole, settings, 1, 0, matrix)) {
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
