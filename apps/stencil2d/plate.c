/* stencil2d/plate.c - the fields of a place, where a point is, and the comparison at the end. */
#include "plate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where a point is in the window of a place that has rows from `first` on, and before `end`. */
static uint64_t offset_of(const struct plate *plate, uint64_t first, uint64_t end, uint64_t row,
                          uint64_t column, int field)
{
    const uint64_t width = plate->options.n + 2;

    return (((end - first + 2 * plate->around) * (uint64_t)field + row + plate->around - first) *
                width +
            column) *
           sizeof(double);
}

int plate_place(const struct plate *plate, uint64_t row, uint64_t column, int field,
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

bool plate_fill(struct plate *plate)
{
    const uint64_t width = plate->options.n + 2;
    const uint64_t rows = plate->end - plate->first + 2 * plate->around;
    const size_t bytes = rows * width * sizeof(double);
    double *const start = malloc(bytes);

    plate->fields = weft_malloc(plate->job, 2 * bytes);
    bool good = start != NULL && plate->fields != NULL;
    if (good)
        start_rows(plate->options.n, plate->first - plate->around, rows, start);
    for (size_t field = 0; good && field < 2; field++)
        good = weft_copy(plate->job, plate->fields + field * rows * width, start, bytes) == WEFT_OK;
    free(start);
    return good &&
           weft_host_win_create(plate->job, plate->fields, 2 * bytes, &plate->win) == WEFT_OK;
}

/* The field that has the plate after all sweeps. */
static int last_field(const struct options *o)
{
    return (int)((o->iterations + o->sweep - 1) / o->sweep % 2);
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
        const int place = plate_place(plate, r, 0, last_field(o), &offset);
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

bool plate_finish(struct plate *plate)
{
    const bool checks = plate->options.verify && plate->numbers->process == 0;
    const bool good = !checks || verify(plate);

    return weft_host_win_free(plate->job, &plate->win) == WEFT_OK && good;
}
