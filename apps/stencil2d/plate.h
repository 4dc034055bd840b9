/*
 * stencil2d/plate.h - the plate in a window of host programs: every place has some of the rows, in
 * two fields. The functions make calls of weft, which prints what went wrong where they give false.
 */
#ifndef STENCIL2D_PLATE_H
#define STENCIL2D_PLATE_H

#include "problem.h"

#include <weft/task.h>

struct plate {
    weft_job *job;
    const weft_numbers *numbers;
    struct options options;
    uint64_t first, end; /* this place's rows */
    uint64_t around;     /* rows of either field above its own, and below them */
    double *fields;      /* device memory: those, of either field */
    weft_win win;
};

/* Gives both fields the rows at the beginning; all places call it. */
bool plate_fill(struct plate *plate);

/* The place that has the row, and where a point is in its window. Edge rows are their neighbours'.
 */
int plate_place(const struct plate *plate, uint64_t row, uint64_t column, int field,
                uint64_t *offset);

/* Frees the window, after process 0 has compared all rows if that is wanted; all places call it. */
bool plate_finish(struct plate *plate);

/* The variants of tasks (tasks.c): runs them, and process 0 says what they took. */
bool run_tasks(struct plate *plate);

#endif
