/*
 * stencil/slab.h - a rank's rows of the grid and its neighbours.
 */
#ifndef STENCIL_SLAB_H
#define STENCIL_SLAB_H

#include "kernel.h"

#include <weft/device.h>

#include <assert.h>
#include <stdbool.h>

#ifdef __CUDACC__
#define STENCIL_UNROLL _Pragma("unroll") /* what a thread keeps in registers has no index */
/* Functions that are used in many places: inlined, they would cost the kernel its registers. */
#define APART static __device__ __noinline__
#else
#define STENCIL_UNROLL
#define APART static
#endif

/* Of two rows of lap and two more there is room for so many points each in shared memory. */
enum { SLAB_POINTS = STENCIL_MOST_NX };
static_assert(SLAB_POINTS * 4 * sizeof(double) <= STENCIL_SHARED_LEAST, "room for four");

struct slab {
    weft_self *self;
    const struct stencil_data *data;
    struct stencil_part part;
    struct stencil_sweep sweep;
    weft_win win;
    double *in, *out, *lap, *fly;
    uint32_t first, last; /* its rows, both included, counted in the part from 1 */
    int below, above;     /* world ranks, -1: none */
    bool marches;         /* how it computes rows: march.h, or wave.h */
    /* Of the device of the rank below, or above, if it is another one and mapped; NULL: what that
     * rank needs is put. */
    double *arena_below, *arena_above;
};

WEFT_DEVICE_FN struct stencil_sweep make_sweep(weft_self *self, const struct stencil_part *part)
{
    const uint32_t threads = (uint32_t)weft_threads(self), thread = (uint32_t)weft_thread(self);
    const uint32_t width = threads < part->nx ? threads : part->nx;
    struct stencil_sweep sweep = {
        .x = thread % width, .x_step = width, .z = thread / width, .z_step = threads / width};
    if (sweep.z >= sweep.z_step) /* threads that do not fill a row of the plane */
        sweep.z = part->nz;
    return sweep;
}

WEFT_DEVICE_FN struct stencil_row row_of(const struct slab *slab, double *field, uint32_t row)
{
    return stencil_row_of(&slab->part, field, row);
}

/* The row before or after, or the row itself at the edge of the grid. */
WEFT_DEVICE_FN uint32_t row_below(const struct slab *slab, uint32_t row)
{
    return row > 1 || stencil_has_below(&slab->part) ? row - 1 : row;
}

WEFT_DEVICE_FN uint32_t row_above(const struct slab *slab, uint32_t row)
{
    return row < slab->part.rows || stencil_has_above(&slab->part) ? row + 1 : row;
}

/* ---- rows ---------------------------------------------------------------------------------- */

/* Row `there` of a field of another device. */
WEFT_DEVICE_FN struct stencil_row row_there(const struct slab *slab, double *arena,
                                            const double *field, uint32_t there)
{
    return arena ? row_of(slab, arena + (field - slab->data->arena), there) : STENCIL_NO_ROW;
}

WEFT_DEVICE_FN struct stencil_row halo_below(const struct slab *slab, const double *field)
{
    return row_there(slab, slab->arena_below, field, slab->part.rows + 1);
}

WEFT_DEVICE_FN struct stencil_row halo_above(const struct slab *slab, const double *field)
{
    return row_there(slab, slab->arena_above, field, 0);
}

APART void lap_row(const struct slab *slab, uint32_t row, struct stencil_row copy)
{
    stencil_lap_row(&slab->part, slab->sweep, row_of(slab, slab->in, row_below(slab, row)),
                    row_of(slab, slab->in, row), row_of(slab, slab->in, row_above(slab, row)),
                    row_of(slab, slab->lap, row), copy);
}

APART void fly_row(const struct slab *slab, uint32_t row, struct stencil_row copy)
{
    const uint32_t above = row_above(slab, row);
    stencil_fly_row(&slab->part, slab->sweep, row_of(slab, slab->lap, row),
                    row_of(slab, slab->lap, above), row_of(slab, slab->in, row),
                    row_of(slab, slab->in, above), row_of(slab, slab->fly, row), copy);
}

WEFT_DEVICE_FN struct slab make_slab(weft_self *self, const struct stencil_data *data)
{
    const int me = weft_rank(self, WEFT_COMM_WORLD), all = weft_size(self, WEFT_COMM_WORLD);
    const uint32_t ranks = (uint32_t)weft_size(self, WEFT_COMM_DEVICE);
    const uint32_t rank = (uint32_t)weft_rank(self, WEFT_COMM_DEVICE);
    const size_t field = stencil_field(&data->part);
    /* The first ranks have a row more: spread evenly, those would meet on some multiprocessors. */
    const uint32_t each = data->part.rows / ranks, more = data->part.rows % ranks;
    struct slab slab;
    slab.self = self;
    slab.data = data;
    slab.part = data->part;
    slab.sweep = make_sweep(self, &data->part);
    slab.win = WEFT_WIN_NONE;
    slab.marches = false;
    slab.in = data->arena + FIELD_IN * field;
    slab.out = data->arena + FIELD_OUT * field;
    slab.lap = data->arena + FIELD_LAP * field;
    slab.fly = data->arena + FIELD_FLY * field;
    slab.first = 1 + rank * each + (rank < more ? rank : more);
    slab.last = slab.first + each - (rank < more ? 0 : 1);
    slab.below = me - 1;
    slab.above = me + 1 < all ? me + 1 : -1;
    return slab;
}

/* A single row has one copy at most, and one between two other devices would need two. */
WEFT_DEVICE_FN void find_neighbours(struct slab *slab)
{
    const int below = slab->first == 1 && slab->below >= 0;
    const int above = slab->last == slab->part.rows && slab->above >= 0;
    slab->arena_below = slab->arena_above = NULL;
    if (slab->data->message_a_plane || (below && above && slab->first == slab->last))
        return;
    if (below)
        slab->arena_below = (double *)weft_ptr(slab->self, slab->win, slab->below);
    if (above)
        slab->arena_above = (double *)weft_ptr(slab->self, slab->win, slab->above);
}

#endif
