/*
 * stencil/march.h - out of many rows, one after the other, as fast as memory brings `in`: each
 * point of it is loaded once. A thread has a few columns, points of the same x and plane in all
 * rows. What the next row needs of this one stays in its registers, and what the columns left and
 * right need of it, in and lap of a row, goes through memory that the rank's threads share.
 *
 * In step `row` a thread makes lap of the row after, fly of the row and out of it. Shared memory
 * has in of the row after, and lap of the row; what the next step reads goes to the other copy, so
 * there is one barrier a step. in is loaded a step before it is needed.
 */
#ifndef STENCIL_MARCH_H
#define STENCIL_MARCH_H

#include "slab.h"

enum {
    MARCH_COLUMNS = 4
}; /* of a thread, on every device: so CPUs march through short rows, too */

struct march_column {
    size_t offset;            /* in a row of a field: its plane and x */
    uint32_t at, left, right; /* in shared memory: its place, and those beside it */
    bool mine;                /* false: there is no such column; it computes as another does */
    double here, above, next; /* in of this row, and of the two after it */
    double to_left, to_right; /* from in on the left to that here, from that here to the right */
    double lap, fly;          /* of this row; of the row before */
};

/* Planes that the rank's threads march through at once, shared out evenly; 0: a row is too wide. */
WEFT_DEVICE_FN uint32_t march_planes(const struct slab *slab)
{
    const uint32_t columns = MARCH_COLUMNS * (uint32_t)weft_threads(slab->self);
    const uint32_t room = columns < SLAB_POINTS ? columns : SLAB_POINTS;
    const uint32_t most = room / slab->part.nx, nz = slab->part.nz;
    return most > 0 ? (nz + (nz + most - 1) / most - 1) / ((nz + most - 1) / most) : 0;
}

/* in of a row and lap of it, in shared memory. */
WEFT_DEVICE_FN double *march_in(const struct slab *slab, uint32_t row)
{
    return (double *)weft_shared(slab->self) + (row & 1) * SLAB_POINTS;
}

WEFT_DEVICE_FN double *march_lap(const struct slab *slab, uint32_t row)
{
    return march_in(slab, row) + 2 * SLAB_POINTS;
}

/* The thread's columns among `planes` planes from z on. */
WEFT_DEVICE_FN void march_find(const struct slab *slab, struct march_column *columns, uint32_t z,
                               uint32_t planes)
{
    const uint32_t nx = slab->part.nx, thread = (uint32_t)weft_thread(slab->self);
    STENCIL_UNROLL
    for (uint32_t i = 0; i < MARCH_COLUMNS; i++) {
        struct march_column *column = &columns[i];
        const uint32_t at = thread + i * (uint32_t)weft_threads(slab->self);
        column->mine = at < nx * planes;
        column->at = column->mine ? at : 0;
        const uint32_t x = column->at % nx;
        column->left = x > 0 ? column->at - 1 : column->at;
        column->right = x + 1 < nx ? column->at + 1 : column->at;
        column->offset = (z + column->at / nx) * stencil_plane(&slab->part) + x;
    }
}

/* in of a row that is not more than one beyond the rank's. */
WEFT_DEVICE_FN const double *march_row(const struct slab *slab, uint32_t row)
{
    if (row > slab->last)
        row = row_above(slab, slab->last);
    return slab->in + (size_t)row * slab->part.nx;
}

/* Before the step that comes before `start`; fly_below: of the row before that. */
WEFT_DEVICE_FN void march_begin(const struct slab *slab, struct march_column *columns,
                                uint32_t start, const double *fly_below)
{
    const double *below = march_row(slab, row_below(slab, start)), *in = march_row(slab, start);
    const double *above = march_row(slab, start + 1);
    double *shared = march_in(slab, start);
    STENCIL_UNROLL
    for (uint32_t i = 0; i < MARCH_COLUMNS; i++) {
        struct march_column *column = &columns[i];
        column->here = below[column->offset];
        column->above = in[column->offset];
        column->next = above[column->offset];
        column->fly = fly_below ? fly_below[column->offset] : 0;
        column->to_left = column->to_right = column->lap = 0;
    }
    STENCIL_UNROLL
    for (uint32_t i = 0; i < MARCH_COLUMNS; i++)
        if (columns[i].mine)
            shared[columns[i].at] = columns[i].above;
    weft_sync(slab->self);
}

/*
 * A column's step; returns out. after: in of the third row from here. lap_above: lap of the row
 * after, if it is not the rank's. flies: there is lap of this row.
 */
WEFT_DEVICE_FN double march_column(struct march_column *column, const double *in,
                                   const double *lap_here, double after, const double *lap_above,
                                   bool flies)
{
    const double left = in[column->left], right = in[column->right];
    const double lap = lap_above ? lap_above[column->offset]
                                 : 4 * column->above - left - right - column->here - column->next;
    const double fly = stencil_limited(column->lap, lap, column->here, column->above);
    const double across =
        stencil_limited(column->lap, lap_here[column->right], 0, column->to_right) -
        stencil_limited(lap_here[column->left], column->lap, 0, column->to_left);
    const double out = column->here - STENCIL_COEFFICIENT * (across + fly - column->fly);
    column->to_left = column->above - left;
    column->to_right = right - column->above;
    column->here = column->above;
    column->above = column->next;
    column->next = after;
    column->lap = lap;
    if (flies)
        column->fly = fly;
    return out;
}

/*
 * Step `row`, which makes lap of the next one; of this one fly if it is `start` or later, and out
 * if it is `from` or later. copy: NULL, or where out goes, too.
 */
WEFT_DEVICE_FN void march_step(const struct slab *slab, struct march_column *columns, uint32_t row,
                               uint32_t start, uint32_t from, double *copy)
{
    const double *in = march_in(slab, row + 1), *lap = march_lap(slab, row);
    double *next_in = march_in(slab, row + 2), *next_lap = march_lap(slab, row + 1);
    const double *lap_above =
        row == slab->last ? slab->lap + (size_t)row_above(slab, row) * slab->part.nx : NULL;
    const double *late = march_row(slab, row + 3);
    double *out = slab->out + (size_t)row * slab->part.nx, after[MARCH_COLUMNS];

    STENCIL_UNROLL
    for (uint32_t i = 0; i < MARCH_COLUMNS; i++)
        after[i] = late[columns[i].offset];
    STENCIL_UNROLL
    for (uint32_t i = 0; i < MARCH_COLUMNS; i++) {
        struct march_column *column = &columns[i];
        const double made = march_column(column, in, lap, after[i], lap_above, row >= start);
        if (!column->mine)
            continue;
        next_in[column->at] = column->above;
        next_lap[column->at] = column->lap;
        if (row >= from)
            out[column->offset] = made;
        if (row >= from && copy)
            copy[column->offset] = made;
    }
    weft_sync(slab->self);
}

/* out of rows from .. to, the last one copied, too. */
APART void march(const struct slab *slab, uint32_t from, uint32_t to, double *copy)
{
    const uint32_t planes = march_planes(slab), start = from > slab->first ? from - 1 : from;
    const double *fly_below =
        from == slab->first ? slab->fly + (size_t)(from - 1) * slab->part.nx : NULL;
    struct march_column columns[MARCH_COLUMNS];

    for (uint32_t z = 0; from <= to && z < slab->part.nz; z += planes) {
        const uint32_t left = slab->part.nz - z;
        march_find(slab, columns, z, left < planes ? left : planes);
        march_begin(slab, columns, start, fly_below);
        for (uint32_t row = start - 1; row <= to; row++)
            march_step(slab, columns, row, start, from, row == to ? copy : NULL);
    }
}

#endif
