/*
 * spmv/main.c - one process of weft's variant: make the block, run the kernel, compare.
 */
#include "app.h"
#include "kernel.h"
#include "problem.h"

#include <stdlib.h>

WEFT_KERNEL_DECLARE(spmv);

struct state {
    struct spmv_problem problem;
    struct spmv_data data;
};

/* b is where it begins, on grid row 0 alone; everything else is zero. */
static bool prepare(struct app *app, void *argument)
{
    struct state *state = argument;
    const struct spmv_data *data = &state->data;
    char *start = app_host_memory(app, data->layout.bytes);
    if (!start)
        return false;
    if (data->grid.row == 0) {
        double *b = (double *)(start + data->layout.b);
        for (uint32_t i = 0; i < data->block.columns; i++)
            b[i] = state->problem.b[i];
    }
    const bool good = weft_copy(app->job, data->arena, start, data->layout.bytes) == WEFT_OK;
    free(start);
    return good;
}

/* The block and the cuts, to the device. */
static bool upload(struct app *app, struct state *state)
{
    struct spmv_data *data = &state->data;
    const struct spmv_problem *problem = &state->problem;
    const uint32_t ranks = (uint32_t)app->numbers->ranks_here;
    const size_t entries = problem->row_start[problem->block.rows];
    const size_t cut_bytes = ((size_t)ranks + 1) * sizeof(uint32_t);
    uint32_t *cuts = app_host_memory(app, 2 * cut_bytes);
    if (!cuts)
        return false;
    spmv_cut(problem, ranks, cuts, cuts + ranks + 1);
    data->grid = problem->grid;
    data->block = problem->block;
    data->layout = problem->layout;
    data->b[0] = data->layout.b;
    data->b[1] = spmv_reserve(&data->layout, data->layout.x - data->layout.b);
    struct spmv_block *block = &data->block;
    const bool good =
        app_upload(app, cuts, cut_bytes, &data->x_cut) &&
        app_upload(app, cuts + ranks + 1, cut_bytes, &data->long_cut) &&
        app_upload(app, problem->row_start, (block->rows + (size_t)1) * sizeof(uint32_t),
                   &block->row_start) &&
        app_upload(app, problem->column_of, entries * sizeof(uint32_t), &block->column_of) &&
        app_upload(app, problem->value, entries * sizeof(double), &block->value) &&
        app_upload(app, problem->long_row, block->long_rows * sizeof(uint32_t), &block->long_row) &&
        app_allocate(app, data->layout.bytes, &data->arena);
    free(cuts);
    return good;
}

static bool verify(struct app *app, const struct state *state)
{
    const struct spmv_data *data = &state->data;
    char *all;
    if (!app_gather(app, data->arena + data->layout.x, data->layout.partial_bytes, &all))
        return false;
    const bool good =
        app->numbers->process != 0 || spmv_check(&state->problem, &app->settings, all);
    free(all);
    return app_all(app, good);
}

static bool multiply(struct app *app, struct state *state)
{
    struct spmv_data *data = &state->data;
    if (!app_prepare(app, &spmv, SPMV_THREADS, 0))
        return false;
    const bool made = spmv_make(&state->problem, &app->settings, app->numbers->process,
                                app->numbers->processes, (uint32_t)app->numbers->threads);
    if (!app_all(app, made) || !upload(app, state))
        return false;
    data->iterations = (uint32_t)app->settings.iterations;
    if (!app_repeat(app, prepare, state, data, sizeof(*data)))
        return false;
    if (data->no_window)
        complain("the kernel could not create its window");
    return app_all(app, !data->no_window) && (!app->settings.verify || verify(app, state));
}

int main(int argc, char **argv)
{
    struct app app;
    struct state state = {0};
    const bool good = app_open(&app, &spmv_program, argc, argv) && multiply(&app, &state);
    spmv_free(&state.problem);
    return app_close(&app, good);
}
