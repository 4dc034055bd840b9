/*
 * stencil/kernel.cu - all iterations in one persistent kernel. A rank owns some rows of the grid,
 * in all planes. All ranks of a device work on one copy of the fields: what a rank needs of a
 * neighbour on its own device it reads in place, and only the notice travels. What goes into the
 * halo of another device is stored there as it is computed, if that device's memory is mapped, and
 * put otherwise.
 *
 * Three exchanges an iteration, as the law demands: lap of the first row goes down, fly of the last
 * row goes up, the new field of both goes both ways. The rows at the edges come first in each
 * phase, and the rows between are computed while they travel; those in one go (wave), so that they
 * are still in the cache when the next phase wants them.
 *
 * No barrier and no flush: every buffer is overwritten only when the neighbour that reads it has
 * said more than that it has read it. Between a rank and the one above it, in iteration k:
 *   - lap of k goes down after in of k has come from below, which was sent after out of k-1 was
 *     made below, for which fly of k-1 and so lap of k-1 had been read there.
 *   - fly of k goes up after lap of k has come from above, which was sent after fly of k-1 had been
 *     read there.
 *   - in of k+1 lies where in of k-1 was. It goes down after fly of k has come from below, and up
 *     after lap of k has come from above, both sent after all of iteration k-1 was done there.
 * The same messages say that a put has been read at its source. Every arrow is a notification,
 * which is a release of the loads before it, too.
 */
#ifdef __CUDACC__
#define STENCIL_DEEP 4
#endif
#include "kernel.h"

#define WEFT_MOST_THREADS STENCIL_THREADS
#define WEFT_LEAST_RANKS  3

#include <weft/device.h>

#include <stdbool.h>

/* Functions that are used in many places: inlined, they would cost the kernel its registers. */
#ifdef __CUDACC__
#define APART static __device__ __noinline__
#else
#define APART static
#endif

enum { TAG_LAP, TAG_FLY, TAG_IN };

struct slab {
    weft_self *self;
    const struct stencil_data *data;
    struct stencil_part part;
    struct stencil_sweep sweep;
    weft_win win;
    double *in, *out, *lap, *fly;
    uint32_t first, last; /* its rows, both included, counted in the part from 1 */
    int below, above;     /* world ranks, -1: none */
    double *arena_below;  /* that of the device of the rank below, if it is another one and */
    double *arena_above;  /* mapped; NULL: what it needs is put */
};

WEFT_DEVICE_FN struct stencil_sweep make_sweep(weft_self *self, const struct stencil_part *part)
{
    const uint32_t threads = (uint32_t)weft_threads(self), thread = (uint32_t)weft_thread(self);
    const uint32_t width = threads < part->nx ? threads : part->nx;
    struct stencil_sweep sweep = {thread % width, width, thread / width, threads / width};
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

/* fly of the halo row at the edge of the grid is zero for ever. */
APART void out_row(const struct slab *slab, uint32_t row, struct stencil_row copy)
{
    stencil_out_row(&slab->part, slab->sweep, row_of(slab, slab->lap, row),
                    row_of(slab, slab->fly, row - 1), row_of(slab, slab->fly, row),
                    row_of(slab, slab->in, row), row_of(slab, slab->out, row), copy);
}

/*
 * Rows from .. to - 1, none of them the last: lap of the next row, unless that is the last, whose
 * lap is there already; fly of the row; and out, but for the first row, which waits for fly from
 * below. A thread reads lap of the others only left and right, in the row that it made before the
 * barrier; all else it has made itself.
 */
WEFT_DEVICE_FN void wave(const struct slab *slab, uint32_t from, uint32_t to)
{
    for (uint32_t row = from; row < to; row++) {
        if (row + 1 < slab->last)
            lap_row(slab, row + 1, STENCIL_NO_ROW);
        fly_row(slab, row, STENCIL_NO_ROW);
        if (row > slab->first)
            out_row(slab, row, STENCIL_NO_ROW);
        weft_sync(slab->self);
    }
}

/* ---- messages ------------------------------------------------------------------------------ */

/* To another device: a row of a field, in all planes, to row `there` of the target's. */
APART void send_away(const struct slab *slab, int target, const double *field, uint32_t row,
                     uint32_t there, int tag)
{
    const struct stencil_part *part = &slab->part;
    const size_t base = (size_t)(field - slab->data->arena), width = part->nx * sizeof(double);
    const size_t pitch = stencil_plane(part) * sizeof(double);
    const double *source = field + (size_t)row * part->nx;
    const size_t offset = (base + (size_t)there * part->nx) * sizeof(double);
    weft_sync(slab->self); /* the row is made */
    if (!slab->data->message_a_plane) {
        weft_put_2d_notify(slab->self, slab->win, target, offset, pitch, source, pitch, width,
                           part->nz, tag);
        return;
    }
    for (uint32_t z = 0; z < part->nz; z++) {
        const double *plane = source + z * stencil_plane(part);
        if (z + 1 < part->nz)
            weft_put(slab->self, slab->win, target, offset + z * pitch, plane, width);
        else
            weft_put_notify(slab->self, slab->win, target, offset + z * pitch, plane, width, tag);
    }
}

/* To a rank that has the row: it reads it where it is, or it was stored there. */
APART void tell(const struct slab *slab, int target, int tag)
{
    weft_notify(slab->self, WEFT_COMM_WORLD, target, tag);
}

APART void wait_for(const struct slab *slab, int tag)
{
    weft_wait(slab->self, tag, 1);
}

/* The rank above of the first rank of a device is the last of the device before: its halo is last.
 */
WEFT_DEVICE_FN void send_down(const struct slab *slab, const double *field, int tag)
{
    if (slab->below >= 0 && (slab->first > 1 || slab->arena_below))
        tell(slab, slab->below, tag);
    else if (slab->below >= 0)
        send_away(slab, slab->below, field, slab->first, slab->part.rows + 1, tag);
}

WEFT_DEVICE_FN void send_up(const struct slab *slab, const double *field, int tag)
{
    if (slab->above >= 0 && (slab->last < slab->part.rows || slab->arena_above))
        tell(slab, slab->above, tag);
    else if (slab->above >= 0)
        send_away(slab, slab->above, field, slab->last, 0, tag);
}

/* To both at once, if both have the row; false: nothing was sent. */
WEFT_DEVICE_FN bool told_both(const struct slab *slab, int tag)
{
    const int neighbours[2] = {slab->below, slab->above};
    if (slab->below < 0 || (slab->first == 1 && !slab->arena_below) || slab->above < 0 ||
        (slab->last == slab->part.rows && !slab->arena_above))
        return false;
    weft_notify_many(slab->self, WEFT_COMM_WORLD, neighbours, 2, tag);
    return true;
}

WEFT_DEVICE_FN void wait_below(const struct slab *slab, int tag)
{
    if (slab->below >= 0)
        wait_for(slab, tag);
}

WEFT_DEVICE_FN void wait_above(const struct slab *slab, int tag)
{
    if (slab->above >= 0)
        wait_for(slab, tag);
}

/* One wait for both: neither sends the next before it has what this rank makes of these. */
WEFT_DEVICE_FN void wait_both(const struct slab *slab, int tag)
{
    const uint32_t neighbours = (slab->below >= 0) + (slab->above >= 0);
    if (neighbours > 0)
        weft_wait(slab->self, tag, neighbours);
}

/* ---- an iteration -------------------------------------------------------------------------- */

WEFT_DEVICE_FN void iterate(const struct slab *slab)
{
    const uint32_t first = slab->first, last = slab->last, third = (last - first + 2) / 3;
    const uint32_t early = first + third < last ? first + third : last;
    const uint32_t late = early + third < last ? early + third : last;

    lap_row(slab, first, halo_below(slab, slab->lap));
    send_down(slab, slab->lap, TAG_LAP);
    if (last > first)
        lap_row(slab, last, STENCIL_NO_ROW);
    weft_sync(slab->self);
    wave(slab, first, early);

    wait_above(slab, TAG_LAP);
    fly_row(slab, last, halo_above(slab, slab->fly));
    send_up(slab, slab->fly, TAG_FLY);
    wave(slab, early, late);

    wait_below(slab, TAG_FLY);
    out_row(slab, first,
            last > first || slab->arena_below ? halo_below(slab, slab->out)
                                              : halo_above(slab, slab->out));
    if (last > first || !told_both(slab, TAG_IN)) {
        send_down(slab, slab->out, TAG_IN);
        wave(slab, late, last);
        if (last > first)
            out_row(slab, last, halo_above(slab, slab->out));
        send_up(slab, slab->out, TAG_IN);
    }
    weft_sync(slab->self); /* of the new field its threads need each other's points */
}

WEFT_DEVICE_FN struct slab make_slab(weft_self *self, const struct stencil_data *data)
{
    const int me = weft_rank(self, WEFT_COMM_WORLD), all = weft_size(self, WEFT_COMM_WORLD);
    const uint32_t ranks = (uint32_t)weft_size(self, WEFT_COMM_DEVICE);
    const uint32_t rank = (uint32_t)weft_rank(self, WEFT_COMM_DEVICE);
    const size_t field = stencil_field(&data->part);
    struct slab slab;
    slab.self = self;
    slab.data = data;
    slab.part = data->part;
    slab.sweep = make_sweep(self, &data->part);
    slab.win = WEFT_WIN_NONE;
    slab.in = data->arena + FIELD_IN * field;
    slab.out = data->arena + FIELD_OUT * field;
    slab.lap = data->arena + FIELD_LAP * field;
    slab.fly = data->arena + FIELD_FLY * field;
    slab.first = 1 + (uint32_t)((uint64_t)data->part.rows * rank / ranks);
    slab.last = (uint32_t)((uint64_t)data->part.rows * (rank + 1) / ranks);
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

WEFT_KERNEL(stencil, struct stencil_data, data)
{
    struct slab slab = make_slab(self, data);
    const size_t bytes = FIELDS * stencil_field(&slab.part) * sizeof(double);

    weft_enter(self);
    slab.win = weft_win_create(self, WEFT_COMM_WORLD, data->arena, bytes);
    if (slab.win == WEFT_WIN_NONE) {
        data->failed = 1;
        weft_leave(self);
        return;
    }
    find_neighbours(&slab);
    weft_timer_start(self);
    for (uint32_t k = 0; k < data->iterations; k++) {
        if (k > 0) /* the halos of the first iteration are the host's */
            wait_both(&slab, TAG_IN);
        iterate(&slab);
        double *const made = slab.out;
        slab.out = slab.in;
        slab.in = made;
    }
    weft_timer_stop(self);
    weft_win_free(self, &slab.win);
    weft_leave(self);
}
