/*
 * stencil2d/main.c - a plate whose points become the mean of their neighbours, by tasks of one tile
 * each. Every place has some of the rows, in two fields, and makes the tasks for its own. Where the
 * rows above or below are another's, the task fetches them.
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
    uint32_t *gate[2]; /* variant tasks: by tile, of this iteration and the next */
};

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* The place that has the row, and where a point is in its window. Edge rows are their neighbours'.
 */
static int place_of(const struct plate *plate, uint64_t row, uint64_t column, int field,
                    uint64_t *offset)
{
    const struct options *o = &plate->options;
    const uint64_t width = o->n + 2, inner = row == 0 ? 1 : row > o->n ? o->n : row;
    uint64_t first = 0, end = 0;
    int place = 0;

    for (; place < plate->numbers->processes; place++) {
        rows_of(o, place, plate->numbers->processes, &first, &end);
        if (inner >= first && inner < end)
            break;
    }
    *offset =
        (((end - first + 2) * (uint64_t)field + row + 1 - first) * width + column) * sizeof(double);
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

/* The task of one tile of an iteration, but for gates. */
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
    if (o->variant == VARIANT_STATIC || o->variant == VARIANT_TASKS)
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

/* Tiles of this place: how many down, and across. */
static void grid(const struct plate *plate, uint64_t *down, uint64_t *across, uint64_t *height,
                 uint64_t *width)
{
    const struct options *o = &plate->options;
    const uint64_t rows = plate->end - plate->first;

    *height = o->way != 0 ? (rows + o->way - 1) / o->way : o->tile_rows;
    *width = o->way != 0 ? o->n : o->tile_columns;
    *down = rows == 0 ? 0 : (rows + *height - 1) / *height;
    *across = (o->n + *width - 1) / *width;
}

/* Gates of the next iteration: each tile waits for itself and its neighbours in this one. */
static bool next_gates(struct plate *plate, uint64_t down, uint64_t across, bool last)
{
    uint32_t *const made = plate->gate[0];

    plate->gate[0] = plate->gate[1];
    plate->gate[1] = made;
    for (uint64_t r = 0; r < down; r++)
        for (uint64_t c = 0; c < across; c++) {
            const uint32_t near = 1 + (r > 0) + (r + 1 < down) + (c > 0) + (c + 1 < across);
            made[r * across + c] = 0;
            if (!last && weft_gate_create(plate->job, near, &made[r * across + c]) != WEFT_OK)
                return false;
        }
    return true;
}

static void add_gates(const struct plate *plate, uint64_t r, uint64_t c, uint64_t down,
                      uint64_t across, weft_task_desc *desc)
{
    static const int steps[5][2] = {{0, 0}, {-1, 0}, {1, 0}, {0, -1}, {0, 1}};

    desc->after = plate->gate[0][r * across + c];
    for (int i = 0; i < 5; i++) {
        const uint64_t row = r + (uint64_t)steps[i][0], column = c + (uint64_t)steps[i][1];
        if (row < down && column < across && plate->gate[1][row * across + column] != 0)
            desc->open[desc->opens++] = plate->gate[1][row * across + column];
    }
}

/* All tasks of an iteration. */
static bool make_tasks(struct plate *plate, uint32_t iteration, bool last)
{
    const struct options *o = &plate->options;
    uint64_t down, across, height, width;

    grid(plate, &down, &across, &height, &width);
    if (o->variant == VARIANT_TASKS && !next_gates(plate, down, across, last))
        return false;
    for (uint64_t r = 0; r < down; r++)
        for (uint64_t c = 0; c < across; c++) {
            const uint64_t row = plate->first + r * height, column = 1 + c * width;
            const struct tile tile = {
                .rows = (uint32_t)(plate->end - row < height ? plate->end - row : height),
                .columns = (uint32_t)(o->n + 1 - column < width ? o->n + 1 - column : width),
                .slow = o->slow,
                .times = o->times};
            weft_task_desc desc;
            describe(plate, row, tile.rows, column, tile.columns, (int)(iteration % 2), &desc);
            desc.arguments = &tile;
            desc.arguments_bytes = sizeof(tile);
            if (o->variant == VARIANT_TASKS)
                add_gates(plate, r, c, down, across, &desc);
            if (weft_task_create(plate->job, &desc, NULL) != WEFT_OK)
                return false;
        }
    return true;
}

static bool iterate(struct plate *plate)
{
    enum { GATES = 60000 }; /* fewer than WEFT_TASK_GATES has by default */
    const struct options *o = &plate->options;
    uint64_t down, across, height, width;

    grid(plate, &down, &across, &height, &width);
    const uint64_t tiles = down * across;
    const uint64_t stretch = o->variant != VARIANT_TASKS ? 1 : tiles < GATES ? GATES / tiles : 1;
    for (int i = 0; i < 2; i++)
        if ((plate->gate[i] = calloc(tiles + 1, sizeof(uint32_t))) == NULL)
            return false;
    for (uint32_t it = 0; it < o->iterations; it++) {
        const bool last = (it + 1) % stretch == 0 || it + 1 == o->iterations;
        if (!make_tasks(plate, it, last) || (last && weft_tasks_finish(plate->job) != WEFT_OK))
            return false;
    }
    return true;
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
    const double began = now_ms();
    const bool done = iterate(plate);
    const double ms = now_ms() - began;
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
    else if (plate.options.home >= places ||
             (plate.options.variant == VARIANT_TASKS && places > 1)) {
        if (speaks)
            fprintf(stderr, "stencil2d: place %d of %d; variant tasks has one place\n",
                    plate.options.home, places);
    } else if (plate.options.variant == VARIANT_OMP) {
        good = !speaks || run_omp(&plate.options);
    } else if (plate.options.variant == VARIANT_RANKS) {
        good = run_ranks(&plate);
    } else {
        good = run(&plate);
    }
    free(plate.gate[0]);
    free(plate.gate[1]);
    weft_free(plate.job, plate.fields);
    return weft_close(plate.job) != WEFT_OK || !report_flushed() || !good;
}
