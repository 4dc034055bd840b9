/*
 * stencil2d/main.c - a plate whose points become the mean of their neighbours, by tasks of one tile
 * each. Every place has some of the rows, in two fields, and creates the tasks for its own. Tasks
 * of all places are recorded by each, and weft copies between places what they read of each other.
 */
#include <weft/task.h>

#include "problem.h"
#include "report.h"
#include "stencil2d.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

WEFT_TASK_IDS(TILES)
WEFT_TASK_KERNEL_DECLARE(stencil2d_tasks);
WEFT_KERNEL_DECLARE(stencil2d_ranks);

struct plate {
    weft_job *job;
    const weft_numbers *numbers;
    struct options options;
    uint64_t first, end; /* this place's rows */
    double *fields;      /* device memory: its rows, one above and one below, of either field */
    weft_win win;
};

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* Where a point is in the window of a place that has rows from `first` on, and before `end`. */
static uint64_t offset_of(const struct plate *plate, uint64_t first, uint64_t end, uint64_t row,
                          uint64_t column, int field)
{
    const uint64_t width = plate->options.n + 2;

    return (((end - first + 2) * (uint64_t)field + row + 1 - first) * width + column) *
           sizeof(double);
}

/* The place that has the row, and where a point is in its window. Edge rows are their neighbours'.
 */
static int place_of(const struct plate *plate, uint64_t row, uint64_t column, int field,
                    uint64_t *offset)
{
    const struct options *o = &plate->options;
    const uint64_t inner = row == 0 ? 1 : row > o->n ? o->n : row;
    uint64_t first = 0, end = 0;
    int place = 0;

    for (; place < plate->numbers->processes; place++) {
        rows_of(o, place, plate->numbers->processes, &first, &end);
        if (inner >= first && inner < end)
            break;
    }
    *offset = offset_of(plate, first, end, row, column, field);
    return place;
}

static bool fill(struct plate *plate)
{
    const uint64_t width = plate->options.n + 2, rows = plate->end - plate->first + 2;
    const size_t bytes = rows * width * sizeof(double);
    double *const start = malloc(bytes);

    plate->fields = weft_malloc(plate->job, 2 * bytes);
    bool good = start != NULL && plate->fields != NULL;
    if (good)
        start_rows(plate->options.n, plate->first - 1, rows, start);
    for (size_t field = 0; good && field < 2; field++)
        good = weft_copy(plate->job, plate->fields + field * rows * width, start, bytes) == WEFT_OK;
    free(start);
    return good &&
           weft_host_win_create(plate->job, plate->fields, 2 * bytes, &plate->win) == WEFT_OK;
}

/* The task of one tile of an iteration. */
static void describe(const struct plate *plate, uint64_t row, uint32_t rows, uint64_t column,
                     uint32_t columns, int from, weft_task_desc *desc)
{
    const struct options *o = &plate->options;
    const uint64_t pitch = (o->n + 2) * sizeof(double);
    const struct {
        uint64_t row, column;
        uint32_t rows, columns;
        int field;
    } part[TILE_DATA] = {[TILE_IN] = {row, column - 1, rows, columns + 2, from},
                         [TILE_ABOVE] = {row - 1, column, 1, columns, from},
                         [TILE_BELOW] = {row + rows, column, 1, columns, from},
                         [TILE_OUT] = {row, column, rows, columns, 1 - from}};

    *desc = (weft_task_desc){.body = relax_id, .priority = 1, .datas = TILE_DATA};
    if (o->variant == VARIANT_STATIC)
        desc->flags = WEFT_TASK_HOLD;
    for (int i = 0; i < TILE_DATA; i++) {
        weft_task_data_desc *const data = &desc->data[i];
        data->win = plate->win;
        data->place = place_of(plate, part[i].row, part[i].column, part[i].field, &data->offset);
        data->bytes = part[i].columns * sizeof(double);
        data->pitch = pitch;
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

/* The tasks of an iteration for the rows of a place: created, or recorded. Both ends of the rows
 * come first: other places wait for them. */
static bool make_tasks(const struct plate *plate, int place, uint32_t iteration,
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
                .times = o->times};
            weft_task_desc desc;
            describe(plate, row, tile.rows, column, tile.columns, (int)(iteration % 2), &desc);
            desc.arguments = &tile;
            desc.arguments_bytes = sizeof(tile);
            status = recording == NULL ? weft_task_create(plate->job, &desc, NULL)
                     : o->variant == VARIANT_TASKS
                         ? weft_tasks_add(recording, &desc)
                         : weft_tasks_add_at(recording, &desc, -1, row * (o->n + 2) + column);
        }
    return status == WEFT_OK;
}

/* Some iterations, as an epoch of recorded tasks. */
static bool record(const struct plate *plate, uint32_t iterations, weft_recording **recording)
{
    bool good = weft_tasks_record_all(plate->job, recording) == WEFT_OK;

    for (uint32_t it = 0; it < iterations; it++)
        for (int p = 0; good && p < plate->numbers->processes; p++)
            good = make_tasks(plate, p, it, *recording);
    return good && weft_tasks_ready(*recording) == WEFT_OK;
}

/* Before time is taken the homes of the tasks are chosen; then the plate is as at first. */
static bool settle(const struct plate *plate, weft_recording *recording)
{
    enum { EPOCHS = 127 };
    const uint64_t rows = plate->end - plate->first + 2;
    const size_t bytes = rows * (plate->options.n + 2) * sizeof(double);
    double *const start = malloc(bytes);
    weft_recording_numbers numbers;
    bool good = start != NULL && weft_tasks_run(recording, EPOCHS) == WEFT_OK &&
                weft_tasks_recorded(recording, &numbers) == WEFT_OK;

    if (good)
        start_rows(plate->options.n, plate->first - 1, rows, start);
    for (size_t field = 0; good && field < 2; field++)
        good = weft_host_put(plate->job, plate->win, plate->numbers->process, field * bytes, start,
                             bytes) == WEFT_OK;
    good = good && weft_host_flush(plate->job, plate->win) == WEFT_OK;
    if (good)
        printf("place %d: %llu of %llu steps, sends %llu bytes in two iterations, plan %llu\n",
               plate->numbers->process, (unsigned long long)numbers.steps,
               (unsigned long long)numbers.tasks, (unsigned long long)numbers.copied,
               (unsigned long long)numbers.plans);
    free(start);
    return good;
}

/* There and back is an epoch; an odd number ends with one there. */
static bool run_recorded(const struct plate *plate, double *ms)
{
    const uint32_t iterations = plate->options.iterations;
    weft_recording *both, *there;

    if (!record(plate, 2, &both) || !record(plate, 1, &there) ||
        (plate->options.variant == VARIANT_PLAN && !settle(plate, both)) ||
        weft_host_barrier(plate->job) != WEFT_OK)
        return false;
    const double began = now_ms();
    const bool done = weft_tasks_run(both, iterations / 2) == WEFT_OK &&
                      weft_tasks_run(there, iterations % 2) == WEFT_OK;
    *ms = now_ms() - began;
    return done;
}

static bool run_created(const struct plate *plate, double *ms)
{
    const double began = now_ms();
    bool done = true;

    for (uint32_t it = 0; done && it < plate->options.iterations; it++)
        done = make_tasks(plate, plate->numbers->process, it, NULL) &&
               weft_tasks_finish(plate->job) == WEFT_OK;
    *ms = now_ms() - began;
    return done;
}

/* Process 0 fetches all rows, and compares. */
static bool verify(const struct plate *plate)
{
    const struct options *o = &plate->options;
    const uint64_t width = o->n + 2;
    double ms, *const want = solve(o, &ms), *const row = malloc(width * sizeof(*row));
    uint64_t wrong = 0;

    for (uint64_t r = 1; want != NULL && row != NULL && r <= o->n; r++) {
        uint64_t offset;
        const int place = place_of(plate, r, 0, (int)(o->iterations % 2), &offset);
        if (weft_host_get(plate->job, plate->win, place, offset, row, width * sizeof(*row)) !=
            WEFT_OK)
            break;
        wrong += memcmp(row, want + r * width, width * sizeof(*row)) != 0;
        if (r == o->n && wrong == 0)
            printf("verified: bit-equal\n");
        else if (r == o->n)
            printf("verified: %llu rows DIFFER\n", (unsigned long long)wrong);
    }
    const bool good = want != NULL && row != NULL && wrong == 0;
    free(want);
    free(row);
    return good;
}

static bool finish(struct plate *plate)
{
    const bool checks = plate->options.verify && plate->numbers->process == 0;
    const bool good = !checks || verify(plate);

    return weft_host_win_free(plate->job, &plate->win) == WEFT_OK && good;
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

static bool run(struct plate *plate)
{
    const struct options *o = &plate->options;
    struct nothing nothing = {0};

    rows_of(o, plate->numbers->process, plate->numbers->processes, &plate->first, &plate->end);
    if (!fill(plate) ||
        weft_tasks_begin(plate->job, &stencil2d_tasks, &nothing, o->threads, o->ranks) != WEFT_OK)
        return false;
    double ms;
    const bool done = o->variant == VARIANT_TASKS || o->variant == VARIANT_PLAN
                          ? run_recorded(plate, &ms)
                          : run_created(plate, &ms);
    if (weft_tasks_end(plate->job) != WEFT_OK || !done || !tell(plate, ms))
        return false;
    return finish(plate);
}

static uint64_t rows_at(const struct plate *plate, int process)
{
    const int n = plate->numbers->processes;
    uint64_t first = 0, end = 0;

    if (process >= 0 && process < n)
        rows_of(&plate->options, process, n, &first, &end);
    return end - first;
}

static bool run_ranks(struct plate *plate)
{
    const struct options *o = &plate->options;
    const int me = plate->numbers->process, n = plate->numbers->processes;
    double ms;

    for (int p = 0; p < n; p++)
        if (rows_at(plate, p) == 0) {
            if (me == 0)
                fprintf(stderr, "stencil2d: process %d of %d has none of %llu rows\n", p, n,
                        (unsigned long long)o->n);
            return false;
        }
    rows_of(o, me, n, &plate->first, &plate->end);
    if (!fill(plate) || weft_prepare(plate->job, &stencil2d_ranks, o->threads, o->ranks) != WEFT_OK)
        return false;
    struct rows rows = {.fields = plate->fields,
                        .width = o->n + 2,
                        .here = rows_at(plate, me),
                        .above = rows_at(plate, me - 1),
                        .below = rows_at(plate, me + 1),
                        .iterations = o->iterations,
                        .times = o->times,
                        .slow = o->slow};
    if (weft_run(plate->job, &rows, sizeof(rows), &ms) != WEFT_OK)
        return false;
    if (me == 0)
        printf("stencil2d ranks: N = %llu, %d processes: %.4f ms an iteration\n",
               (unsigned long long)o->n, n, ms / o->iterations);
    return finish(plate);
}

static bool run_omp(const struct options *o)
{
    double ms, *const field = solve(o, &ms);

    if (field != NULL)
        printf("stencil2d omp: N = %llu, %s%d threads: %.4f ms an iteration\n",
               (unsigned long long)o->n, solvers() == 0 ? "built without OpenMP, " : "",
               solvers() == 0 ? 1 : solvers(), ms / o->iterations);
    free(field);
    return field != NULL;
}

int main(int argc, char **argv)
{
    struct plate plate = {0};
    bool good = false;

    if (weft_open(&plate.job, &argc, argv) != WEFT_OK)
        return 1;
    plate.numbers = weft_numbers_of(plate.job);
    const bool speaks = plate.numbers->process == 0;
    const int places = plate.numbers->processes;
    if (!options_read(&plate.options, argc, argv, speaks)) {
        weft_close(plate.job);
        return 2;
    }
    if (plate.options.help)
        good = true;
    else if (plate.options.home >= places) {
        if (speaks)
            fprintf(stderr, "stencil2d: place %d of %d\n", plate.options.home, places);
    } else if (plate.options.variant == VARIANT_OMP) {
        good = !speaks || run_omp(&plate.options);
    } else if (plate.options.variant == VARIANT_RANKS) {
        good = run_ranks(&plate);
    } else {
        good = run(&plate);
    }
    weft_free(plate.job, plate.fields);
    return weft_close(plate.job) != WEFT_OK || !report_flushed() || !good;
}
