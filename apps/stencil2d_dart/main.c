/*
 * stencil2d_dart/main.c - a plate whose points become the mean of their neighbours, by DART alone.
 * Each unit has some rows in two fields, with a row more above and below. In each iteration it
 * creates one task for all of its rows, then puts its outer rows where its neighbours read them.
 * Units may be CPUs or GPUs: the program does not see which.
 */
#include <dash/dart/if/dart.h>

#include <dart_tapi.h>

#include "random.h"
#include "report.h"
#include "settings.h"
#include "stencil2d_dart.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

DART_TAPI_BODIES(WORK)
WEFT_TASK_KERNEL_DECLARE(stencil2d_dart_tasks);

enum { SIZE_N, SIZE_CALLS, SIZE_FIRST };

static const struct program plate_program = {
    .name = "stencil2d_dart",
    .about = "relaxes a plate of N x N points on the units of DART, by tasks of whole rows",
    .iterations = {20, 100, 100},
    .size = {[SIZE_N] = {.name = "N",
                         .about = "inner points of a side",
                         .lowest = 1,
                         .highest = 1000000,
                         .preset = {300, 4000, 20000}},
             [SIZE_CALLS] = {.name = "calls",
                             .about = "calls of a unit's task",
                             .lowest = 1,
                             .highest = 1 << 20,
                             .preset = {16, 64, 256}},
             [SIZE_FIRST] = {.name = "first",
                             .about = "rows of unit 0; 0: even",
                             .lowest = 0,
                             .highest = 1000000,
                             .preset = {0, 0, 0}}}};

struct plate {
    struct settings settings;
    int unit, units;
    uint64_t width, first, rows, most; /* points of a row; this unit's rows; of any unit */
    dart_gptr_t memory;                /* of unit 0 */
    double *row;
};

#define TRY(call)                                                                                  \
    do {                                                                                           \
        if ((call) != DART_OK)                                                                     \
            return false;                                                                          \
    } while (0)

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* The inner rows of a unit, from 1 to N: the first one; those of the next unit follow. */
static uint64_t first_of(const struct plate *p, int unit)
{
    const uint64_t n = p->settings.size[SIZE_N], first = p->settings.size[SIZE_FIRST];
    const uint64_t units = (uint64_t)p->units, u = (uint64_t)unit;

    if (first == 0 || units == 1)
        return 1 + n * u / units;
    return unit == 0 ? 1 : 1 + first + (n - first) * (u - 1) / (units - 1);
}

static bool divide(struct plate *p)
{
    const uint64_t n = p->settings.size[SIZE_N];

    p->width = n + 2;
    p->most = 0;
    for (int u = 0; u < p->units && p->settings.size[SIZE_FIRST] <= n; u++) {
        const uint64_t rows = first_of(p, u + 1) - first_of(p, u);
        p->most = rows > p->most ? rows : p->most;
        if (rows == 0)
            break;
        if (u == p->unit) {
            p->first = first_of(p, u);
            p->rows = rows;
        }
        if (u + 1 == p->units)
            return true;
    }
    if (p->unit == 0)
        complain("a unit has none of %llu rows", (unsigned long long)n);
    return false;
}

/* A unit's row in its memory: of a field, counted from the one above its first. */
static dart_gptr_t at(const struct plate *p, int unit, int field, uint64_t row)
{
    dart_gptr_t to = p->memory;
    const uint64_t rows = (uint64_t)field * (p->most + 2) + row;

    dart_gptr_setunit(&to, DART_TEAM_UNIT_ID(unit));
    dart_gptr_incaddr(&to, (int64_t)(rows * p->width * sizeof(double)));
    return to;
}

static void start_row(const struct plate *p, uint64_t row, double *to)
{
    for (uint64_t i = 0; i < p->width; i++)
        to[i] = random_unit(p->settings.seed, row * p->width + i);
}

static bool fill(struct plate *p)
{
    for (uint64_t row = 0; row < p->rows + 2; row++) {
        start_row(p, p->first - 1 + row, p->row);
        for (int field = 0; field < 2; field++)
            TRY(dart_put_blocking(at(p, p->unit, field, row), p->row, p->width, DART_TYPE_DOUBLE,
                                  DART_TYPE_DOUBLE));
    }
    return true;
}

/* One of this unit's rows into that row of another unit, which is beyond its own. */
static bool hand_on(const struct plate *p, int field, uint64_t row, int to, uint64_t there)
{
    if (to < 0 || to >= p->units)
        return true;
    TRY(dart_get_blocking(p->row, at(p, p->unit, field, row), p->width, DART_TYPE_DOUBLE,
                          DART_TYPE_DOUBLE));
    TRY(dart_put_blocking(at(p, to, field, there), p->row, p->width, DART_TYPE_DOUBLE,
                          DART_TYPE_DOUBLE));
    return true;
}

/* From a field to the other one. What neighbours read of it is there when all have passed the
 * barrier; what they still read meanwhile is of the field before. */
static bool iterate(const struct plate *p, int field)
{
    const dart_tapi_config_t config = {p->settings.size[SIZE_CALLS], DART_TAPI_STAY};
    const uint64_t bytes = p->width * sizeof(double);
    dart_tapi_task_t task;

    TRY(dart_tapi_task_create(relax_id, at(p, p->unit, field, 0), (p->rows + 2) * bytes,
                              at(p, p->unit, 1 - field, 1), p->rows * bytes, &config, 0, &task));
    TRY(dart_tapi_task_wait(&task, NULL));
    if (!hand_on(p, 1 - field, 1, p->unit - 1,
                 first_of(p, p->unit) - first_of(p, p->unit - 1) + 1) ||
        !hand_on(p, 1 - field, p->rows, p->unit + 1, 0))
        return false;
    TRY(dart_barrier(DART_TEAM_ALL));
    return true;
}

/* All repetitions, each of which goes on where the one before has ended. *field: the last one. */
static bool run(struct plate *p, int *field)
{
    const struct settings *const s = &p->settings;
    struct report report = {.program = &plate_program,
                            .settings = s,
                            .variant = "dart",
                            .device = "units",
                            .processes = p->units};

    if (p->unit == 0 && !report_begin(&report))
        return false;
    for (uint64_t i = 0; i < s->repetitions; i++) {
        TRY(dart_barrier(DART_TEAM_ALL));
        const double began = now_ms();
        for (uint64_t it = 0; it < s->iterations; it++, *field = 1 - *field)
            if (!iterate(p, *field))
                return false;
        if (p->unit == 0)
            report_repetition(&report, now_ms() - began, -1);
    }
    if (p->unit == 0)
        report_end(&report);
    return true;
}

/* All rows after all iterations, by one thread; NULL: no memory. */
static double *solve(const struct plate *p)
{
    const uint64_t width = p->width, steps = p->settings.iterations * p->settings.repetitions;
    double *const both = malloc(2 * width * width * sizeof(double));

    for (uint64_t row = 0; both != NULL && row < 2 * width; row++)
        start_row(p, row % width, both + row * width);
    for (uint64_t step = 0; both != NULL && step < steps; step++)
        for (uint64_t row = 1; row < width - 1; row++) {
            const double *const here = both + (step % 2 * width + row) * width;
            double *const there = both + ((step + 1) % 2 * width + row) * width;
            for (uint64_t i = 1; i < width - 1; i++)
                there[i] =
                    0.25 * ((here[i - width] + here[i + width]) + (here[i - 1] + here[i + 1]));
        }
    return both;
}

static bool verify(const struct plate *p, int field)
{
    double *const want = solve(p);
    uint64_t wrong = 0;
    bool good = want != NULL;

    for (int u = 0; good && u < p->units; u++)
        for (uint64_t row = first_of(p, u); good && row < first_of(p, u + 1); row++) {
            good = dart_get_blocking(p->row, at(p, u, field, row + 1 - first_of(p, u)), p->width,
                                     DART_TYPE_DOUBLE, DART_TYPE_DOUBLE) == DART_OK;
            wrong += memcmp(p->row, want + ((uint64_t)field * p->width + row) * p->width,
                            p->width * sizeof(double)) != 0;
        }
    free(want);
    if (good && wrong == 0)
        fprintf(p->settings.csv ? stderr : stdout, "verified: bit-equal\n");
    else
        complain("verified: %llu rows DIFFER", (unsigned long long)wrong);
    return good && wrong == 0;
}

static bool work(struct plate *p)
{
    const int threads = p->settings.threads > 0 ? p->settings.threads : 256;
    int field = 0;

    TRY(dart_team_memalloc_aligned(DART_TEAM_ALL, 2 * (p->most + 2) * p->width, DART_TYPE_DOUBLE,
                                   &p->memory));
    if (!fill(p))
        return false;
    TRY(dart_tapi_begin(&stencil2d_dart_tasks, threads));
    if (!run(p, &field))
        return false;
    TRY(dart_tapi_end());
    const bool good = p->unit != 0 || !p->settings.verify || verify(p, field);
    TRY(dart_team_memfree(p->memory));
    return good;
}

int main(int argc, char **argv)
{
    struct plate plate = {.unit = 0};
    dart_global_unit_t me;
    size_t units;

    if (dart_init(&argc, &argv) != DART_OK || dart_myid(&me) != DART_OK ||
        dart_size(&units) != DART_OK)
        return 1;
    plate.unit = me.id;
    plate.units = (int)units;
    bool good = settings_read(&plate_program, argc, argv, me.id == 0, &plate.settings);
    if (good && (good = divide(&plate))) {
        plate.row = malloc(plate.width * sizeof(double));
        good = plate.row != NULL && work(&plate);
        if (!good)
            dart_abort(EXIT_FAILURE); /* others may wait for this unit */
        free(plate.row);
    }
    good = good || plate.settings.help;
    return dart_exit() != DART_OK || !report_flushed() || !good;
}
