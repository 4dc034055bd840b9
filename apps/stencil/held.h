/*
 * stencil/held.h - out of a few rows that stay in memory that the rank's threads share, from one
 * iteration to the next: in and lap of each, and fly of one. Only what neighbours read is stored in
 * their reach, and only what they made is loaded. A thread computes the same points in all phases;
 * those left and right of them are others'.
 */
#ifndef STENCIL_HELD_H
#define STENCIL_HELD_H

#include "slab.h"

enum {
    /* Of a row and thread, on every device: so CPUs hold short rows, too. */
    HELD_POINTS = STENCIL_POINTS,
    HELD_APART = STENCIL_THREADS, /* in shared memory, from a thread's point to its next */
    HELD_ROOM = HELD_POINTS * HELD_APART
};

/*
 * Whether there is room for the rank's rows, and their width and planes are such that all that
 * differs between a thread's points is known when nvcc writes out the loops: they have one x, and
 * HELD_POINTS - 1 of them are there for each thread.
 */
WEFT_DEVICE_FN bool held_fits(const struct slab *slab)
{
    const uint32_t threads = (uint32_t)weft_threads(slab->self), nx = slab->part.nx;
    const uint32_t planes = threads / nx, nz = slab->part.nz; /* planes: from point to point */
    const size_t rows = slab->last - slab->first + 1;
    return threads <= HELD_APART && threads % nx == 0 && (HELD_POINTS - 1) * planes <= nz &&
           nz <= HELD_POINTS * planes && stencil_field(&slab->part) <= UINT32_MAX &&
           (2 * rows + 1) * HELD_ROOM * sizeof(double) <= weft_shared_bytes(slab->self);
}

/* A thread's points of a row. */
struct held {
    bool all;                /* HELD_POINTS; false: one less */
    int left, right;         /* to the places in shared memory beside each, 0 at the edge */
    uint32_t offset, planes; /* the first's in a row of a field, and to the next */
};

WEFT_DEVICE_FN struct held held_points(const struct slab *slab)
{
    const uint32_t nx = slab->part.nx, thread = (uint32_t)weft_thread(slab->self);
    const uint32_t planes = (uint32_t)weft_threads(slab->self) / nx;
    const uint32_t x = thread % nx, z = thread / nx, apart = (uint32_t)stencil_plane(&slab->part);
    const struct held held = {.all = slab->part.nz > z + (HELD_POINTS - 1) * planes,
                              .left = x > 0 ? -1 : 0,
                              .right = x + 1 < nx ? 1 : 0,
                              .offset = z * apart + x,
                              .planes = planes * apart};
    return held;
}

/* The thread's first point in its memory, number 0: fly; then in and lap of each row. */
WEFT_DEVICE_FN double *held_memory(const struct slab *slab, uint32_t number)
{
    return (double *)weft_shared(slab->self) + number * HELD_ROOM + weft_thread(slab->self);
}

WEFT_DEVICE_FN double *held_fly(const struct slab *slab)
{
    return held_memory(slab, 0);
}

WEFT_DEVICE_FN double *held_in(const struct slab *slab, uint32_t row)
{
    return held_memory(slab, 2 * (row - slab->first) + 1);
}

WEFT_DEVICE_FN double *held_lap(const struct slab *slab, uint32_t row)
{
    return held_memory(slab, 2 * (row - slab->first) + 2);
}

/* The thread's points in a row that may be a neighbour's, or its own in shared memory. */
struct held_row {
    const double *at;
    uint32_t apart;
};

WEFT_DEVICE_FN struct held_row held_row(const struct slab *slab, const struct held *held,
                                        uint32_t row, const double *field, const double *own)
{
    struct held_row view = {own, HELD_APART};
    if (row < slab->first || row > slab->last) {
        view.at = field + (size_t)row * slab->part.nx + held->offset;
        view.apart = held->planes;
    }
    return view;
}

WEFT_DEVICE_FN struct held_row held_in_of(const struct slab *slab, const struct held *held,
                                          uint32_t row)
{
    return held_row(slab, held, row, slab->in, held_in(slab, row));
}

/* Whether the thread has its point i; and where to load it from, the first one if not. */
WEFT_DEVICE_FN bool held_has(const struct held *held, uint32_t i)
{
    return i < HELD_POINTS - 1 || held->all;
}

WEFT_DEVICE_FN double held_load(const struct held *held, struct held_row row, uint32_t i)
{
    return row.at[held_has(held, i) ? i * row.apart : 0];
}

/* To a row of a field, if that is not NULL. */
WEFT_DEVICE_FN void held_store(const struct held *held, double *row, const double *values)
{
    if (!row)
        return;
    STENCIL_UNROLL
    for (uint32_t i = 0; i < HELD_POINTS; i++)
        if (held_has(held, i))
            row[held->offset + i * held->planes] = values[i];
}

/* Before the first iteration, and after the last. */
APART void held_begin(const struct slab *slab)
{
    const struct held held = held_points(slab);
    for (uint32_t row = slab->first; row <= slab->last; row++) {
        const double *from = row_of(slab, slab->in, row).at + held.offset;
        for (uint32_t i = 0; i < HELD_POINTS; i++)
            if (held_has(&held, i))
                held_in(slab, row)[i * HELD_APART] = from[i * held.planes];
    }
    weft_sync(slab->self);
}

APART void held_end(const struct slab *slab)
{
    const struct held held = held_points(slab);
    for (uint32_t row = slab->first; row <= slab->last; row++) {
        double *to = row_of(slab, slab->in, row).at + held.offset;
        for (uint32_t i = 0; i < HELD_POINTS; i++)
            if (held_has(&held, i))
                to[i * held.planes] = held_in(slab, row)[i * HELD_APART];
    }
}

/* lap of a row; also for the rank below, in row `to`, if that is not NULL. */
APART void held_make_lap(const struct slab *slab, uint32_t row, double *to)
{
    const struct held held = held_points(slab);
    const struct held_row below = held_in_of(slab, &held, row_below(slab, row));
    const struct held_row above = held_in_of(slab, &held, row_above(slab, row));
    const double *in = held_in(slab, row);
    double *lap = held_lap(slab, row), made[HELD_POINTS];

    STENCIL_UNROLL
    for (uint32_t i = 0; i < HELD_POINTS; i++)
        made[i] = held_load(&held, below, i) + held_load(&held, above, i);
    STENCIL_UNROLL
    for (uint32_t i = 0; i < HELD_POINTS; i++) {
        const double *here = in + i * HELD_APART;
        made[i] = 4 * *here - here[held.left] - here[held.right] - made[i];
        lap[i * HELD_APART] = made[i];
    }
    held_store(&held, to, made);
    weft_sync(slab->self);
}

/*
 * fly of a row, also for the rank above, in rows `to` and `copy`, if they are not NULL. And, in the
 * place of lap, all differences that out of the row needs; but of the rank's first row without fly
 * from below. Rows one after the other: fly of the row before is in shared memory.
 */
APART void held_make_fly(const struct slab *slab, uint32_t row, double *to, double *copy)
{
    const struct held held = held_points(slab);
    const uint32_t next = row_above(slab, row);
    const struct held_row in_above = held_in_of(slab, &held, next);
    const struct held_row lap_above = held_row(slab, &held, next, slab->lap, held_lap(slab, next));
    const double *in = held_in(slab, row);
    double *lap = held_lap(slab, row), *fly = held_fly(slab), made[HELD_POINTS];
    double in_here[HELD_POINTS], lap_here[HELD_POINTS]; /* shared memory is the bottleneck */

    STENCIL_UNROLL
    for (uint32_t i = 0; i < HELD_POINTS; i++) {
        in_here[i] = in[i * HELD_APART];
        lap_here[i] = lap[i * HELD_APART];
        made[i] = stencil_limited(lap_here[i], held_load(&held, lap_above, i), in_here[i],
                                  held_load(&held, in_above, i));
    }
    held_store(&held, to, made);
    held_store(&held, copy, made);
    STENCIL_UNROLL
    for (uint32_t i = 0; i < HELD_POINTS; i++) {
        const int at = (int)i * HELD_APART;
        const double before = row > slab->first ? fly[at] : 0;
        fly[at] = made[i];
        const double right =
            stencil_limited(lap_here[i], lap[at + held.right], in_here[i], in[at + held.right]);
        const double left =
            stencil_limited(lap[at + held.left], lap_here[i], in[at + held.left], in_here[i]);
        made[i] += right - left - before;
    }
    weft_sync(slab->self); /* all have read lap */
    STENCIL_UNROLL
    for (uint32_t i = 0; i < HELD_POINTS; i++)
        lap[i * HELD_APART] = made[i];
}

/*
 * out of a row, which is in of the next iteration; also in rows `to` and `copy`, if they are not
 * NULL. fly_below: of the row before the rank's first, NULL for other rows.
 */
APART void held_make_out(const struct slab *slab, uint32_t row, const double *fly_below, double *to,
                         double *copy)
{
    const struct held held = held_points(slab);
    const struct held_row fly = {fly_below ? fly_below + held.offset : NULL, held.planes};
    const double *differences = held_lap(slab, row);
    double *in = held_in(slab, row), made[HELD_POINTS];

    STENCIL_UNROLL
    for (uint32_t i = 0; i < HELD_POINTS; i++)
        made[i] = fly_below ? held_load(&held, fly, i) : 0;
    STENCIL_UNROLL
    for (uint32_t i = 0; i < HELD_POINTS; i++) {
        const uint32_t at = i * HELD_APART;
        made[i] = in[at] - STENCIL_COEFFICIENT * (differences[at] - made[i]);
        in[at] = made[i];
    }
    held_store(&held, to, made);
    held_store(&held, copy, made);
    weft_sync(slab->self);
}

#endif
