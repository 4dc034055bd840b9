/*
 * power_iteration/distribution.c - cutting, scattering and gathering.
 */
#include "balance.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/*
 * The grid that was asked for, or the one nearest to a square, with at least as many rows as
 * columns: pieces of x are sent straight to all rows, but from column to column they are added up.
 */
static bool choose_grid(const struct options *options, uint64_t processes,
                        struct power_shape *shape)
{
    if (options->grid_rows > 0) {
        shape->rows = options->grid_rows;
        shape->columns = options->grid_columns;
        if (shape->rows * shape->columns == processes)
            return true;
        complain("a grid of %" PRIu64 "x%" PRIu64 " needs %" PRIu64 " processes, not %" PRIu64,
                 shape->rows, shape->columns, shape->rows * shape->columns, processes);
        return false;
    }
    for (uint64_t columns = 1; columns * columns <= processes; columns++) {
        if (processes % columns == 0)
            shape->columns = columns;
    }
    shape->rows = processes / shape->columns;
    return true;
}

/* Appends the entries of one block at *at; row_start gets its rows + 1 starts. Moves *at on. */
static void cut_block(const struct sparse *matrix, struct power_range rows,
                      struct power_range columns, uint64_t *row_start, struct blocks *blocks,
                      uint64_t *at)
{
    uint64_t first = *at;
    for (uint64_t row = rows.begin; row < rows.end; row++) {
        *row_start++ = *at - first;
        for (uint64_t i = matrix->row_start[row]; i < matrix->row_start[row + 1]; i++) {
            uint64_t column = matrix->column_of[i];
            if (column < columns.begin || column >= columns.end)
                continue;
            blocks->column_of[*at] = (uint32_t)(column - columns.begin);
            blocks->value[*at] = matrix->value[i];
            ++*at;
        }
    }
    *row_start = *at - first;
}

/* PageRank: what a sum that is added to all elements of b adds to those of x. */
static bool sum_rows(const struct problem *problem, struct blocks *blocks)
{
    const struct sparse *matrix = &problem->matrix;
    if (!problem->options.pagerank)
        return true;
    blocks->row_sum = calloc(matrix->rows + 1, sizeof(*blocks->row_sum));
    for (uint64_t row = 0; blocks->row_sum && row < matrix->rows; row++)
        for (uint64_t i = matrix->row_start[row]; i < matrix->row_start[row + 1]; i++)
            blocks->row_sum[row] += matrix->value[i];
    return blocks->row_sum != NULL;
}

bool blocks_cut(const struct problem *problem, int processes, struct plan *plans,
                struct blocks *blocks)
{
    const struct options *options = &problem->options;
    const struct sparse *matrix = &problem->matrix;
    uint64_t n = matrix->rows;
    struct plan plan = {.go = 1,
                        .shape = {.n = n, .ranks = (uint64_t)options->ranks},
                        .pagerank = options->pagerank,
                        .iterations = options->iterations,
                        .repetitions = options->repetitions,
                        .silent = options->silent,
                        .tolerance = options->tolerance,
                        .scale = problem->scale,
                        .start_factor = options->pagerank ? 0 : 1 / power_start_norm(n)};
    if (!choose_grid(options, (uint64_t)processes, &plan.shape))
        return false;

    /* Every grid column has all n rows, and every process one start more than rows. */
    uint64_t starts = n * plan.shape.columns + (uint64_t)processes;
    uint64_t entries = sparse_entries(matrix);
    plan.mean_entries = entries / (uint64_t)processes;
    blocks->row_start = malloc(starts * sizeof(*blocks->row_start));
    blocks->column_of = malloc((entries + 1) * sizeof(*blocks->column_of));
    blocks->value = malloc((entries + 1) * sizeof(*blocks->value));
    if (!blocks->row_start || !blocks->column_of || !blocks->value || !sum_rows(problem, blocks)) {
        complain("out of memory for a second copy of the %" PRIu64 " entries", entries);
        return false;
    }
    uint64_t *row_start = blocks->row_start;
    uint64_t at = 0;
    for (uint64_t process = 0; process < (uint64_t)processes; process++) {
        struct power_range rows = power_part(n, plan.shape.rows, process / plan.shape.columns);
        struct power_range columns =
            power_part(n, plan.shape.columns, process % plan.shape.columns);
        uint64_t first = at;
        cut_block(matrix, rows, columns, row_start, blocks, &at);
        row_start += rows.end - rows.begin + 1;
        plans[process] = plan;
        plans[process].entries = at - first;
    }
    return true;
}

void blocks_free(struct blocks *blocks)
{
    free(blocks->row_start);
    free(blocks->column_of);
    free(blocks->value);
    free(blocks->row_sum);
}

/* A failure of this process alone: the others must not wait for it. */
static weft_status no_memory(weft_job *job, size_t bytes)
{
    complain("out of memory for %zu bytes", bytes);
    weft_abort(job, "power_iteration: out of memory");
    return WEFT_ERR_MEMORY;
}

/* Device memory; never of no bytes. */
static weft_status allocate(weft_job *job, size_t bytes, void *memory)
{
    void *got = weft_malloc(job, bytes > 0 ? bytes : 1);
    if (!got) {
        weft_abort(job, "power_iteration: out of device memory");
        return WEFT_ERR_MEMORY;
    }
    memcpy(memory, &got, sizeof(got));
    return WEFT_OK;
}

/* New device memory with these bytes. */
static weft_status upload(weft_job *job, const void *host, size_t bytes, void *memory)
{
    void *device;
    weft_status status = allocate(job, bytes, &device);
    if (status == WEFT_OK)
        status = weft_copy(job, device, host, bytes);
    if (status == WEFT_OK)
        memcpy(memory, &device, sizeof(device));
    return status;
}

/* Collective: this process's part of `all` arrives in new host memory, to be freed in any case. */
static weft_status receive(weft_job *job, const void *all, size_t bytes, void **host)
{
    *host = malloc(bytes + 1);
    if (!*host)
        return no_memory(job, bytes);
    return weft_host_scatter(job, 0, all, *host, bytes);
}

/* The same, in new device memory. */
static weft_status deliver(weft_job *job, const void *all, size_t bytes, void *memory)
{
    void *host;
    weft_status status = receive(job, all, bytes, &host);
    if (status == WEFT_OK)
        status = upload(job, host, bytes, memory);
    free(host);
    return status;
}

/* What the kernel needs to split rows: the list of them, and room for each rank's part. */
static weft_status put_splits(weft_job *job, const uint64_t *row_start, uint64_t rows,
                              struct power_data *data)
{
    uint64_t ranks = data->shape.ranks;
    data->most_whole = power_most_whole(row_start[rows], ranks);
    data->splits = balance_splits(row_start, rows, ranks, NULL);
    size_t bytes = data->splits * sizeof(uint64_t);
    uint64_t *list = malloc(bytes + 1);
    if (!list)
        return no_memory(job, bytes);
    balance_splits(row_start, rows, ranks, list);
    weft_status status = upload(job, list, bytes, &data->split_row);
    free(list);
    if (status == WEFT_OK)
        status = allocate(job, data->splits * ranks * sizeof(*data->segment), &data->segment);
    if (status == WEFT_OK)
        status = allocate(job, 2 * data->splits * ranks * sizeof(*data->part), &data->part);
    return status;
}

/* Collective: the rows of this process's block, and which of them are split. */
static weft_status deliver_rows(weft_job *job, const struct blocks *blocks, struct power_data *data)
{
    struct power_range range = power_part(data->shape.n, data->shape.rows, data->row);
    uint64_t rows = range.end - range.begin;
    size_t bytes = (rows + 1) * sizeof(uint64_t);
    void *row_start;
    weft_status status = receive(job, blocks->row_start, bytes, &row_start);
    if (status == WEFT_OK)
        status = upload(job, row_start, bytes, &data->row_start);
    if (status == WEFT_OK)
        status = put_splits(job, row_start, rows, data);
    free(row_start);
    return status;
}

/* Collective: all the cuts of both vectors, from process 0, which needs a copy for each process. */
static weft_status deliver_cuts(weft_job *job, const struct blocks *blocks, struct power_data *data)
{
    const struct power_shape *shape = &data->shape;
    uint64_t x_cuts = balance_cuts(shape, shape->rows);
    uint64_t cuts = x_cuts + balance_cuts(shape, shape->columns);
    size_t bytes = cuts * sizeof(uint64_t);
    uint64_t *all = NULL;
    if (data->row == 0 && data->column == 0) {
        uint64_t processes = shape->rows * shape->columns;
        all = malloc(processes * bytes);
        if (!all || !balance_slices(shape, blocks, all, all + x_cuts)) {
            free(all);
            return no_memory(job, processes * bytes);
        }
        for (uint64_t process = 1; process < processes; process++)
            memcpy(all + process * cuts, all, bytes);
    }
    weft_status status = deliver(job, all, bytes, &data->x_cut);
    free(all);
    if (status == WEFT_OK)
        data->b_cut = data->x_cut + x_cuts;
    return status;
}

/* Collective. PageRank: column 0 gets the sums of its rows, process by process. */
static weft_status deliver_row_sums(weft_job *job, const struct blocks *blocks,
                                    struct power_data *data)
{
    struct power_range range = power_part(data->shape.n, data->shape.rows, data->row);
    size_t bytes = data->column == 0 ? (range.end - range.begin) * sizeof(double) : 0;
    if (!data->pagerank)
        return WEFT_OK;
    return deliver(job, blocks->row_sum, bytes, &data->row_sum);
}

/* Writes a range of the start vector to an offset of the arena. */
static weft_status put_start(weft_job *job, const struct power_data *data, uint64_t offset,
                             struct power_range range)
{
    size_t bytes = (range.end - range.begin) * sizeof(double);
    double *start = malloc(bytes + 1);
    if (!start)
        return no_memory(job, bytes);
    for (uint64_t i = range.begin; i < range.end; i++)
        start[i - range.begin] = power_start(data->pagerank, data->shape.n, i);
    weft_status status = weft_copy(job, data->arena + offset, start, bytes);
    free(start);
    return status;
}

/* What iteration 0 finds: b, on column 0 "the x before", and the word that is not 0. */
static weft_status put_starts(weft_job *job, const struct power_data *data)
{
    const struct power_shape *shape = &data->shape;
    const uint64_t yes = 1;
    weft_status status = put_start(job, data, data->layout.raw[0],
                                   power_part(shape->n, shape->columns, data->column));
    if (status == WEFT_OK)
        status = weft_copy(job, data->arena + data->layout.yes, &yes, sizeof(yes));
    if (status == WEFT_OK && data->column == 0)
        status =
            put_start(job, data, data->layout.x[0], power_part(shape->n, shape->rows, data->row));
    return status;
}

weft_status distribute(weft_job *job, const struct plan *plan, const struct blocks *blocks,
                       struct power_data *data)
{
    int process = weft_numbers_of(job)->process;
    struct power_data made = {.shape = plan->shape,
                              .layout = power_layout_of(&plan->shape, process),
                              .row = (uint64_t)process / plan->shape.columns,
                              .column = (uint64_t)process % plan->shape.columns,
                              .pagerank = plan->pagerank,
                              .iterations = plan->iterations,
                              .silent = plan->silent,
                              .tolerance = plan->tolerance,
                              .scale = plan->scale,
                              .start_factor = plan->start_factor};
    size_t entries = plan->entries, puts = power_puts_room(&plan->shape) * sizeof(weft_put_item);

    weft_status status = allocate(job, made.layout.bytes, &made.arena);
    if (status == WEFT_OK)
        status = deliver_cuts(job, blocks, &made);
    if (status == WEFT_OK)
        status = deliver_rows(job, blocks, &made);
    if (status == WEFT_OK)
        status = deliver(job, blocks->column_of, entries * sizeof(uint32_t), &made.column_of);
    if (status == WEFT_OK)
        status = deliver(job, blocks->value, entries * sizeof(double), &made.value);
    if (status == WEFT_OK)
        status = deliver_row_sums(job, blocks, &made);
    if (status == WEFT_OK)
        status = allocate(job, puts, &made.puts[0]);
    if (status == WEFT_OK)
        status = allocate(job, puts, &made.puts[1]);
    if (status == WEFT_OK)
        status = put_starts(job, &made);
    if (status == WEFT_OK)
        *data = made;
    return status;
}

weft_status restart(weft_job *job, struct power_data *data)
{
    void *zeros = calloc(1, data->layout.bytes);
    if (!zeros)
        return no_memory(job, data->layout.bytes);
    weft_status status = weft_copy(job, data->arena, zeros, data->layout.bytes);
    free(zeros);
    data->done = data->outcome = 0;
    data->eigenvalue = data->change = 0;
    return status == WEFT_OK ? put_starts(job, data) : status;
}

weft_status collect(weft_job *job, const struct power_data *data, double *vector)
{
    const struct power_shape *shape = &data->shape;
    struct power_range block = power_part(shape->n, shape->rows, data->row);
    size_t bytes = data->column == 0 ? (block.end - block.begin) * sizeof(double) : 0;
    double *mine = malloc(bytes + 1);
    if (!mine)
        return no_memory(job, bytes);
    weft_status status = weft_copy(job, mine, data->arena + data->layout.result, bytes);
    if (status == WEFT_OK)
        status = weft_host_gather(job, 0, mine, bytes, vector);
    free(mine);
    return status;
}
