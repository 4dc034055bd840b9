/*
 * stencil/wave.h - out of many rows, by passes over each: lap of the next row, fly of the row and
 * out of it. lap and fly of two rows are in memory that the rank's threads share, so only in and
 * out pass through that of the device.
 */
#ifndef STENCIL_WAVE_H
#define STENCIL_WAVE_H

#include "slab.h"

/* Row `number` of those in the rank's shared memory, each of so many planes. */
WEFT_DEVICE_FN struct stencil_row shared_row(const struct slab *slab, uint32_t number,
                                             uint32_t planes)
{
    double *const shared = (double *)weft_shared(slab->self);
    return stencil_row_at(shared + (size_t)number * planes * slab->part.nx, slab->part.nx);
}

/* Some planes of the rank's rows. Of two rows lap is in shared memory, and fly. */
struct chunk {
    struct stencil_part part; /* nz: how many planes it has */
    uint32_t planes;          /* how many it may have */
    size_t offset;            /* of the first plane, in a field */
};

WEFT_DEVICE_FN struct stencil_row chunk_row(const struct slab *slab, const struct chunk *chunk,
                                            double *field, uint32_t row)
{
    return row_of(slab, field + chunk->offset, row);
}

WEFT_DEVICE_FN struct stencil_row lap_of(const struct slab *slab, const struct chunk *chunk,
                                         uint32_t row)
{
    return shared_row(slab, row & 1, chunk->planes);
}

WEFT_DEVICE_FN struct stencil_row fly_of(const struct slab *slab, const struct chunk *chunk,
                                         uint32_t row)
{
    return shared_row(slab, 2 + (row & 1), chunk->planes);
}

WEFT_DEVICE_FN void chunk_lap(const struct slab *slab, const struct chunk *chunk, uint32_t row)
{
    stencil_lap_row(&chunk->part, slab->sweep,
                    chunk_row(slab, chunk, slab->in, row_below(slab, row)),
                    chunk_row(slab, chunk, slab->in, row),
                    chunk_row(slab, chunk, slab->in, row_above(slab, row)),
                    lap_of(slab, chunk, row), STENCIL_NO_ROW);
}

/* Lap of the row after the rank's last comes from above. */
WEFT_DEVICE_FN void chunk_fly(const struct slab *slab, const struct chunk *chunk, uint32_t row)
{
    const uint32_t above = row_above(slab, row);
    stencil_fly_row(&chunk->part, slab->sweep, lap_of(slab, chunk, row),
                    row < slab->last ? lap_of(slab, chunk, above)
                                     : chunk_row(slab, chunk, slab->lap, above),
                    chunk_row(slab, chunk, slab->in, row), chunk_row(slab, chunk, slab->in, above),
                    fly_of(slab, chunk, row), STENCIL_NO_ROW);
}

/* And fly of the row before its first from below; at the edge of the grid that is zero for ever. */
WEFT_DEVICE_FN void chunk_out(const struct slab *slab, const struct chunk *chunk, uint32_t row,
                              struct stencil_row copy)
{
    if (copy.at)
        copy.at += chunk->offset;
    stencil_out_row(&chunk->part, slab->sweep, lap_of(slab, chunk, row),
                    row > slab->first ? fly_of(slab, chunk, row - 1)
                                      : chunk_row(slab, chunk, slab->fly, row - 1),
                    fly_of(slab, chunk, row), chunk_row(slab, chunk, slab->in, row),
                    chunk_row(slab, chunk, slab->out, row), copy);
}

/*
 * out of rows from .. to of a chunk, the last one copied, too; before that lap and fly of the row
 * before. A thread reads of the others only lap left and right, in the row that was made before the
 * barrier; all else it has made itself. The lap that it makes takes the place of that two rows
 * before, which was read before the barrier.
 */
WEFT_DEVICE_FN void wave_chunk(const struct slab *slab, const struct chunk *chunk, uint32_t from,
                               uint32_t to, struct stencil_row copy)
{
    const uint32_t start = from > slab->first ? from - 1 : from;
    for (uint32_t row = start - 1; row <= to; row++) {
        if (row < slab->last)
            chunk_lap(slab, chunk, row + 1);
        if (row >= start)
            chunk_fly(slab, chunk, row);
        if (row >= from)
            chunk_out(slab, chunk, row, row == to ? copy : STENCIL_NO_ROW);
        weft_sync(slab->self);
    }
}

/* The same of all planes, as many at a time as the threads compute at once and as there is room. */
APART void wave(const struct slab *slab, uint32_t from, uint32_t to, struct stencil_row copy)
{
    const uint32_t at_once = STENCIL_DEEP * slab->sweep.z_step;
    const uint32_t room = SLAB_POINTS / slab->part.nx;
    struct chunk chunk = {.part = slab->part, .planes = at_once < room ? at_once : room};

    for (uint32_t z = 0; from <= to && z < slab->part.nz; z += chunk.planes) {
        const uint32_t left = slab->part.nz - z;
        chunk.part.nz = left < chunk.planes ? left : chunk.planes;
        chunk.offset = z * stencil_plane(&slab->part);
        wave_chunk(slab, &chunk, from, to, copy);
    }
}

#endif
