/*
 * stencil/kernel.cu - all iterations in one persistent kernel. A rank owns some rows of the grid,
 * in all planes. All ranks of a device work on one copy of the fields: what a rank needs of a
 * neighbour on its own device it reads in place, and only the notice travels. What goes into the
 * halo of another device is stored there as it is computed, if that device's memory is mapped, and
 * put otherwise.
 *
 * Three exchanges an iteration, as the law demands: lap of the first row goes down, fly of the last
 * row goes up, the new field of both goes both ways. The rows between are computed while these
 * travel, all three phases of a row in one go (march.h, wave.h), so what is between the phases
 * never leaves the chip; and where a rank's rows are few, neither do they (held.h).
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
#define WEFT_SHARED_BYTES STENCIL_SHARED
#define WEFT_SHARED_LEAST STENCIL_SHARED_LEAST

#include <weft/device.h>

#include <stdbool.h>

#include "held.h"
#include "march.h"
#include "wave.h"

enum { TAG_LAP, TAG_FLY, TAG_IN };

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

/* The new field: of a single row, to both in one call if they can read it. */
WEFT_DEVICE_FN void send_out(const struct slab *slab)
{
    if (slab->last == slab->first && told_both(slab, TAG_IN))
        return;
    send_down(slab, slab->out, TAG_IN);
    if (slab->last == slab->first)
        send_up(slab, slab->out, TAG_IN);
}

/* Where the new field of the first row is wanted, too. */
WEFT_DEVICE_FN struct stencil_row copy_of_first(const struct slab *slab)
{
    return slab->last > slab->first || slab->arena_below ? halo_below(slab, slab->out)
                                                         : halo_above(slab, slab->out);
}

/* out of rows from .. to, the last one copied, too. */
WEFT_DEVICE_FN void make_out(const struct slab *slab, uint32_t from, uint32_t to,
                             struct stencil_row copy)
{
    if (slab->marches)
        march(slab, from, to, copy.at);
    else
        wave(slab, from, to, copy);
}

WEFT_DEVICE_FN void iterate(const struct slab *slab)
{
    const uint32_t first = slab->first, last = slab->last, middle = first + (last - first) / 2;

    lap_row(slab, first, halo_below(slab, slab->lap));
    send_down(slab, slab->lap, TAG_LAP);
    if (last > first)
        lap_row(slab, last, STENCIL_NO_ROW);
    make_out(slab, first + 1, middle, STENCIL_NO_ROW);

    wait_above(slab, TAG_LAP);
    fly_row(slab, last, halo_above(slab, slab->fly));
    send_up(slab, slab->fly, TAG_FLY);
    if (last > first) {
        make_out(slab, middle + 1, last, halo_above(slab, slab->out));
        send_up(slab, slab->out, TAG_IN);
    }
    wait_below(slab, TAG_FLY);
    make_out(slab, first, first, copy_of_first(slab));
    send_out(slab);
}

/*
 * The same of rows that stay in shared memory. In that of the device is only what neighbours read,
 * lap of the first row, fly of the last, and out of both.
 */
WEFT_DEVICE_FN void iterate_held(const struct slab *slab)
{
    const uint32_t first = slab->first, last = slab->last;

    held_make_lap(
        slab, first,
        (slab->arena_below ? halo_below(slab, slab->lap) : row_of(slab, slab->lap, first)).at);
    send_down(slab, slab->lap, TAG_LAP);
    for (uint32_t row = first + 1; row <= last; row++)
        held_make_lap(slab, row, NULL);
    for (uint32_t row = first; row < last; row++)
        held_make_fly(slab, row, NULL, NULL);

    wait_above(slab, TAG_LAP);
    held_make_fly(slab, last, row_of(slab, slab->fly, last).at, halo_above(slab, slab->fly).at);
    send_up(slab, slab->fly, TAG_FLY);
    for (uint32_t row = first + 1; row < last; row++)
        held_make_out(slab, row, NULL, NULL, NULL);
    if (last > first)
        held_make_out(slab, last, NULL, row_of(slab, slab->out, last).at,
                      halo_above(slab, slab->out).at);
    wait_below(slab, TAG_FLY);
    held_make_out(slab, first, row_of(slab, slab->fly, first - 1).at,
                  row_of(slab, slab->out, first).at, copy_of_first(slab).at);
    if (!told_both(slab, TAG_IN)) {
        send_down(slab, slab->out, TAG_IN);
        send_up(slab, slab->out, TAG_IN);
    }
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
    const bool held = held_fits(&slab);
    slab.marches = march_planes(&slab) > 0;
    if (held)
        held_begin(&slab);
    for (uint32_t k = 0; k < data->iterations; k++) {
        if (k > 0) /* the halos of the first iteration are the host's */
            wait_both(&slab, TAG_IN);
        if (held)
            iterate_held(&slab);
        else
            iterate(&slab);
        double *const made = slab.out;
        slab.out = slab.in;
        slab.in = made;
    }
    if (held)
        held_end(&slab);
    weft_timer_stop(self);
    if (data->iterations > 0) /* what the last iteration sent: nobody needs it */
        wait_both(&slab, TAG_IN);
    weft_win_free(self, &slab.win);
    weft_leave(self);
}
