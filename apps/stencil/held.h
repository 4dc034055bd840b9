/*
 * stencil/held.h - out of a single row that stays in memory that the rank's threads share: in of it
 * from one iteration to the next, and lap. Only what neighbours read is stored in their reach, and
 * only what they made is loaded. A thread computes the same points in all phases; those left and
 * right of them are others'.
 */
#ifndef STENCIL_HELD_H
#define STENCIL_HELD_H

#include "slab.h"

enum { HELD_POINTS = 13 }; /* of a thread, on every device: so CPUs hold short rows, too */

/* Whether the rank has a single row, and it is short enough. */
WEFT_DEVICE_FN bool held_fits(const struct slab *slab)
{
    const uint64_t points = (uint64_t)slab->part.nx * slab->part.nz;
    return slab->first == slab->last &&
           points <= HELD_POINTS * (uint32_t)weft_threads(slab->self) &&
           HELD_POINTS * weft_threads(slab->self) <= STENCIL_SHARED / 2;
}

WEFT_DEVICE_FN double *held_in(const struct slab *slab)
{
    return (double *)weft_shared(slab->self);
}

WEFT_DEVICE_FN double *held_lap(const struct slab *slab)
{
    return held_in(slab) + STENCIL_SHARED / 2;
}

/* How a thread goes from one of its points to the next: so many planes, and so many points on. */
struct held_steps {
    uint32_t threads, x, nx, end;
    size_t offset, wrap; /* in a field; more if the row has ended */
};

/*
 * Its place in shared memory and those beside it, and in a row of a field. mine: the row has it; if
 * not, what is there is loaded and used for nothing: the row's first point of a field, and in
 * shared memory what lies behind the row.
 */
struct held_point {
    uint32_t at, x, left, right;
    size_t walked, offset;
    bool mine;
};

WEFT_DEVICE_FN struct held_steps held_steps(const struct slab *slab)
{
    const uint32_t threads = (uint32_t)weft_threads(slab->self), nx = slab->part.nx;
    const size_t plane = stencil_plane(&slab->part);
    const struct held_steps steps = {
        threads,   threads % nx, nx, nx * slab->part.nz, threads / nx * plane + threads % nx,
        plane - nx};
    return steps;
}

WEFT_DEVICE_FN struct held_point held_see(const struct held_steps *steps, struct held_point point)
{
    point.mine = point.at < steps->end;
    point.offset = point.mine ? point.walked : 0;
    point.left = point.x > 0 ? point.at - 1 : point.at;
    point.right = point.x + 1 < steps->nx ? point.at + 1 : point.at;
    return point;
}

WEFT_DEVICE_FN struct held_point held_first(const struct slab *slab, const struct held_steps *steps)
{
    const uint32_t thread = (uint32_t)weft_thread(slab->self);
    struct held_point point = {0};
    point.at = thread;
    point.x = thread % steps->nx;
    point.walked = thread / steps->nx * stencil_plane(&slab->part) + point.x;
    return held_see(steps, point);
}

WEFT_DEVICE_FN struct held_point held_next(const struct held_steps *steps, struct held_point point)
{
    point.at += steps->threads;
    point.x += steps->x;
    point.walked += steps->offset;
    if (point.x >= steps->nx) {
        point.x -= steps->nx;
        point.walked += steps->wrap;
    }
    return held_see(steps, point);
}

/* Before the first iteration. */
APART void held_begin(const struct slab *slab)
{
    const struct held_steps steps = held_steps(slab);
    const struct held_point first = held_first(slab, &steps);
    struct held_point p = first;
    const double *in = slab->in + (size_t)slab->first * slab->part.nx;
    for (uint32_t i = 0; i < HELD_POINTS; i++, p = held_next(&steps, p)) {
        if (p.mine)
            held_in(slab)[p.at] = in[p.offset];
    }
    weft_sync(slab->self);
}

/* lap, also for the rank below, at row `to`. below, above: in of the rows before and after. */
APART void held_make_lap(const struct slab *slab, const double *below, const double *above,
                         double *to)
{
    const struct held_steps steps = held_steps(slab);
    const struct held_point first = held_first(slab, &steps);
    struct held_point p = first;
    const double *in = held_in(slab);
    double *lap = held_lap(slab), made[HELD_POINTS];
    STENCIL_UNROLL
    for (uint32_t i = 0; i < HELD_POINTS; i++, p = held_next(&steps, p)) {
        made[i] = below[p.offset] + above[p.offset];
    }
    p = first;
    STENCIL_UNROLL
    for (uint32_t i = 0; i < HELD_POINTS; i++, p = held_next(&steps, p)) {
        made[i] = 4 * in[p.at] - in[p.left] - in[p.right] - made[i];
        if (p.mine) {
            lap[p.at] = made[i];
            to[p.offset] = made[i];
        }
    }
    weft_sync(slab->self);
}

/*
 * fly, for the rank above, at row `to`, and at `copy` if there is one; and, in the place of lap,
 * all differences that out needs but for fly from below.
 */
APART void held_make_fly(const struct slab *slab, const double *lap_above, const double *in_above,
                         double *to, double *copy)
{
    const struct held_steps steps = held_steps(slab);
    const struct held_point first = held_first(slab, &steps);
    struct held_point p = first;
    const double *in = held_in(slab);
    double *lap = held_lap(slab), made[HELD_POINTS];
    STENCIL_UNROLL
    for (uint32_t i = 0; i < HELD_POINTS; i++, p = held_next(&steps, p)) {
        made[i] = stencil_limited(lap[p.at], lap_above ? lap_above[p.offset] : lap[p.at], in[p.at],
                                  in_above[p.offset]);
    }
    p = first;
    STENCIL_UNROLL
    for (uint32_t i = 0; i < HELD_POINTS; i++, p = held_next(&steps, p)) {
        if (p.mine)
            to[p.offset] = made[i];
        if (p.mine && copy)
            copy[p.offset] = made[i];
        made[i] += stencil_limited(lap[p.at], lap[p.right], in[p.at], in[p.right]) -
                   stencil_limited(lap[p.left], lap[p.at], in[p.left], in[p.at]);
    }
    weft_sync(slab->self); /* all have read lap */
    p = first;
    STENCIL_UNROLL
    for (uint32_t i = 0; i < HELD_POINTS; i++, p = held_next(&steps, p)) {
        if (p.mine)
            lap[p.at] = made[i];
    }
}

/* out, also for both neighbours, at row `to`, and at `copy` if there is one. */
APART void held_make_out(const struct slab *slab, const double *fly_below, double *to, double *copy)
{
    const struct held_steps steps = held_steps(slab);
    const struct held_point first = held_first(slab, &steps);
    struct held_point p = first;
    const double *differences = held_lap(slab);
    double *in = held_in(slab), made[HELD_POINTS];
    STENCIL_UNROLL
    for (uint32_t i = 0; i < HELD_POINTS; i++, p = held_next(&steps, p))
        made[i] = fly_below[p.offset];
    p = first;
    STENCIL_UNROLL
    for (uint32_t i = 0; i < HELD_POINTS; i++, p = held_next(&steps, p)) {
        const double out = in[p.at] - STENCIL_COEFFICIENT * (differences[p.at] - made[i]);
        if (p.mine) {
            in[p.at] = out;
            to[p.offset] = out;
        }
        if (p.mine && copy)
            copy[p.offset] = out;
    }
    weft_sync(slab->self);
}

#endif
