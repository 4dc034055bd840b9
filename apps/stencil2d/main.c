/*
 * stencil2d/main.c - a plate whose points become the mean of their neighbours: by tasks of one tile
 * each (tasks.c), by ranks that keep some rows, or by OpenMP's threads.
 */
#include "plate.h"
#include "report.h"
#include "stencil2d.h"

#include <stdio.h>
#include <stdlib.h>

WEFT_KERNEL_DECLARE(stencil2d_ranks);

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
        if (rows_at(plate, p) < o->sweep) {
            if (me == 0)
                fprintf(stderr, "stencil2d: process %d of %d has %llu of %llu rows, and needs %u\n",
                        p, n, (unsigned long long)rows_at(plate, p), (unsigned long long)o->n,
                        o->sweep);
            return false;
        }
    plate->around = o->sweep;
    rows_of(o, me, n, &plate->first, &plate->end);
    if (!plate_fill(plate) ||
        weft_prepare(plate->job, &stencil2d_ranks, o->threads, o->ranks) != WEFT_OK)
        return false;
    struct rows rows = {.fields = plate->fields,
                        .width = o->n + 2,
                        .here = rows_at(plate, me),
                        .above = rows_at(plate, me - 1),
                        .below = rows_at(plate, me + 1),
                        .iterations = o->iterations,
                        .sweep = o->sweep,
                        .times = o->times,
                        .slow = o->slow};
    if (weft_run(plate->job, &rows, sizeof(rows), &ms) != WEFT_OK)
        return false;
    if (me == 0)
        printf("stencil2d ranks: N = %llu, %d processes: %.4f ms an iteration\n",
               (unsigned long long)o->n, n, ms / o->iterations);
    return plate_finish(plate);
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
        good = run_tasks(&plate);
    }
    weft_free(plate.job, plate.fields);
    return weft_close(plate.job) != WEFT_OK || !report_flushed() || !good;
}
