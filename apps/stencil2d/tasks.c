/*
 * stencil2d/tasks.c - the plate by tasks of one tile each. Every place creates the tasks for its
 * own rows in each iteration; or tasks of all places are recorded by each, and weft copies between
 * places what they read of each other.
 */
#include "plate.h"
#include "stencil2d.h"

#include <weft/task.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

WEFT_TASK_IDS(TILES)
WEFT_TASK_IDS(TILES_TWO)
WEFT_TASK_KERNEL_DECLARE(stencil2d_tasks);
WEFT_TASK_KERNEL_DECLARE(stencil2d_tasks_two);

/* Iterations of the next sweep, of those that are left. */
static uint32_t next_sweep(const struct options *o, uint32_t left)
{
    return left < o->sweep ? left : o->sweep;
}

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* The task of one tile of a sweep. */
static void describe(const struct plate *plate, uint64_t row, uint64_t column,
                     const struct tile *tile, int from, weft_task_desc *desc)
{
    const uint32_t sweep = plate->options.sweep;
    const uint64_t n = plate->options.n, below = row + tile->rows;
    const uint64_t left = (tile->edges & EDGE_LEFT) != 0 ? 1 : sweep;
    const uint64_t right = (tile->edges & EDGE_RIGHT) != 0 ? 1 : sweep;
    const uint64_t more = sweep == 2 ? left + right : 0, begin = column - (sweep == 2 ? left : 0);
    const struct {
        uint64_t row, column, columns;
        uint32_t rows;
        int field;
    } part[TILE_DATA_TWO] = {
        [TILE_IN] = {row, column - left, tile->columns + left + right, tile->rows, from},
        [TILE_ABOVE] = {row - 1, begin, tile->columns + more, 1, from},
        [TILE_BELOW] = {below, begin, tile->columns + more, 1, from},
        [TILE_OUT] = {row, column, tile->columns, tile->rows, 1 - from},
        [TILE_ABOVE_TWO] = {row == 1 ? 0 : row - 2, begin, tile->columns + more, 1, from},
        [TILE_TWO_BELOW] = {below > n ? below : below + 1, begin, tile->columns + more, 1, from}};

    *desc = (weft_task_desc){.body = sweep == 2 ? relax_two_id : relax_id,
                             .priority = 1,
                             .datas = sweep == 2 ? TILE_DATA_TWO : TILE_DATA,
                             .arguments = tile,
                             .arguments_bytes = sizeof(*tile)};
    if (plate->options.variant == VARIANT_STATIC)
        desc->flags = WEFT_TASK_HOLD;
    for (uint32_t i = 0; i < desc->datas; i++) {
        weft_task_data_desc *const data = &desc->data[i];
        data->win = plate->win;
        data->place = plate_place(plate, part[i].row, part[i].column, part[i].field, &data->offset);
        data->bytes = part[i].columns * sizeof(double);
        data->pitch = (n + 2) * sizeof(double);
        data->rows = part[i].rows;
        data->mode = i == TILE_OUT ? WEFT_TASK_OUT : WEFT_TASK_IN;
    }
}

/* Tiles of so many rows: how many down, and across. */
static void grid(const struct options *o, uint64_t rows, uint64_t *down, uint64_t *across,
                 uint64_t *height, uint64_t *width)
{
    *height = o->way != 0 ? (rows + o->way - 1) / o->way : o->tile_rows;
    *width = o->way != 0 ? o->n : o->tile_columns;
    *down = rows == 0 ? 0 : (rows + *height - 1) / *height;
    *across = (o->n + *width - 1) / *width;
}

/* Where a tile, of at most so many columns, is beside the plate's edge. */
static uint32_t edges_of(const struct options *o, uint64_t row, uint64_t rows, uint64_t column,
                         uint64_t columns)
{
    return (row == 1 ? EDGE_ABOVE : 0) | (row + rows > o->n ? EDGE_BELOW : 0) |
           (column == 1 ? EDGE_LEFT : 0) | (column + columns > o->n ? EDGE_RIGHT : 0);
}

/* The tasks of a sweep for the rows of a place: created, or recorded. Both ends of the rows come
 * first: other places wait for them. */
static bool make_tasks(const struct plate *plate, int place, int from, uint32_t sweep,
                       weft_recording *recording)
{
    const struct options *o = &plate->options;
    uint64_t first, end, down, across, height, width;
    weft_status status = WEFT_OK;

    rows_of(o, place, plate->numbers->processes, &first, &end);
    grid(o, end - first, &down, &across, &height, &width);
    for (uint64_t r = 0; r < down; r++)
        for (uint64_t c = 0; c < across && status == WEFT_OK; c++) {
            const uint64_t row = first + (r + down - 1) % down * height, column = 1 + c * width;
            const struct tile tile = {
                .rows = (uint32_t)(end - row < height ? end - row : height),
                .columns = (uint32_t)(o->n + 1 - column < width ? o->n + 1 - column : width),
                .slow = o->slow,
                .times = o->times,
                .edges = edges_of(o, row, end - row < height ? end - row : height, column, width) |
                         (sweep < o->sweep ? EDGE_ALL : 0)};
            weft_task_desc desc;
            describe(plate, row, column, &tile, from, &desc);
            status = recording == NULL ? weft_task_create(plate->job, &desc, NULL)
                     : o->variant == VARIANT_TASKS
                         ? weft_tasks_add(recording, &desc)
                         : weft_tasks_add_at(recording, &desc, -1, row * (o->n + 2) + column);
        }
    return status == WEFT_OK;
}

/* Some iterations from the first field on, as an epoch of recorded tasks. */
static bool record(const struct plate *plate, uint32_t iterations, weft_recording **recording)
{
    bool good = weft_tasks_record_all(plate->job, recording) == WEFT_OK;
    uint32_t left = iterations, sweep;

    for (int from = 0; left != 0; from = 1 - from, left -= sweep) {
        sweep = next_sweep(&plate->options, left);
        for (int p = 0; good && p < plate->numbers->processes; p++)
            good = make_tasks(plate, p, from, sweep, *recording);
    }
    return good && weft_tasks_ready(*recording) == WEFT_OK;
}

/* Epochs until the homes of the tasks stay. */
static bool choose(weft_recording *recording, weft_recording_numbers *numbers)
{
    enum { EPOCHS = 127, MORE = 16 };
    uint64_t plans = 0;
    bool good = weft_tasks_run(recording, EPOCHS) == WEFT_OK &&
                weft_tasks_recorded(recording, numbers) == WEFT_OK;

    while (good && numbers->plans != plans) {
        plans = numbers->plans;
        good = weft_tasks_run(recording, MORE) == WEFT_OK &&
               weft_tasks_recorded(recording, numbers) == WEFT_OK;
    }
    return good;
}

/* Before time is taken homes are chosen; then the plate is as at first. */
static bool settle(const struct plate *plate, weft_recording *recording)
{
    const uint64_t rows = plate->end - plate->first + 2;
    const size_t bytes = rows * (plate->options.n + 2) * sizeof(double);
    double *const start = malloc(bytes), began = now_ms();
    weft_recording_numbers numbers;
    bool good = start != NULL && choose(recording, &numbers);
    const double took = now_ms() - began;

    if (good)
        start_rows(plate->options.n, plate->first - 1, rows, start);
    for (size_t field = 0; good && field < 2; field++)
        good = weft_host_put(plate->job, plate->win, plate->numbers->process, field * bytes, start,
                             bytes) == WEFT_OK;
    good = good && weft_host_flush(plate->job, plate->win) == WEFT_OK;
    if (good)
        printf(
            "place %d: %llu of %llu steps, sends %llu bytes in %u iterations, plan %llu, chosen in "
            "%.0f ms\n",
            plate->numbers->process, (unsigned long long)numbers.steps,
            (unsigned long long)numbers.tasks, (unsigned long long)numbers.copied,
            2 * plate->options.sweep, (unsigned long long)numbers.plans, took);
    free(start);
    return good;
}

/* There and back is an epoch; what is left of the iterations is another. */
static bool run_recorded(const struct plate *plate, double *ms)
{
    const uint32_t iterations = plate->options.iterations, epoch = 2 * plate->options.sweep;
    weft_recording *both, *rest;

    if (!record(plate, epoch, &both) || !record(plate, iterations % epoch, &rest) ||
        (plate->options.variant == VARIANT_PLAN && !settle(plate, both)) ||
        weft_host_barrier(plate->job) != WEFT_OK)
        return false;
    const double began = now_ms();
    const bool done = weft_tasks_run(both, iterations / epoch) == WEFT_OK &&
                      weft_tasks_run(rest, iterations % epoch != 0) == WEFT_OK;
    *ms = now_ms() - began;
    return done;
}

static bool run_created(const struct plate *plate, double *ms)
{
    const double began = now_ms();
    uint32_t left = plate->options.iterations, sweep;
    bool done = true;

    for (int from = 0; done && left != 0; from = 1 - from, left -= sweep) {
        sweep = next_sweep(&plate->options, left);
        done = make_tasks(plate, plate->numbers->process, from, sweep, NULL) &&
               weft_tasks_finish(plate->job) == WEFT_OK;
    }
    *ms = now_ms() - began;
    return done;
}

static bool tell(const struct plate *plate, double ms)
{
    const struct options *o = &plate->options;
    const int n = plate->numbers->processes;
    weft_task_numbers mine, *const all = calloc((size_t)n, sizeof(*all));
    const bool good = all != NULL && weft_tasks_numbers(plate->job, &mine) == WEFT_OK &&
                      weft_host_gather(plate->job, 0, &mine, sizeof(mine), all) == WEFT_OK;

    if (good && plate->numbers->process == 0) {
        printf("stencil2d %s: N = %llu, %d places: %.4f ms an iteration\n",
               variant_name(o->variant), (unsigned long long)o->n, n, ms / o->iterations);
        for (int p = 0; p < n; p++)
            printf("stolen by %d: %llu tasks\n", p, (unsigned long long)all[p].taken);
    }
    free(all);
    return good;
}

bool run_tasks(struct plate *plate)
{
    const struct options *o = &plate->options;
    struct nothing nothing = {0};

    rows_of(o, plate->numbers->process, plate->numbers->processes, &plate->first, &plate->end);
    plate->around = 1;
    if (!plate_fill(plate) ||
        weft_tasks_begin(plate->job, o->sweep == 2 ? &stencil2d_tasks_two : &stencil2d_tasks,
                         &nothing, o->threads, o->ranks) != WEFT_OK)
        return false;
    double ms = 0;
    const bool done = o->variant == VARIANT_TASKS || o->variant == VARIANT_PLAN
                          ? run_recorded(plate, &ms)
                          : run_created(plate, &ms);
    if (weft_tasks_end(plate->job) != WEFT_OK || !done || !tell(plate, ms))
        return false;
    return plate_finish(plate);
}
