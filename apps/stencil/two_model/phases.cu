/*
 * stencil/two_model/phases.cu - see phases.h. The law is that of stencil.h, as in weft's kernel.
 */
#include "phases.h"

PHASE_FN struct stencil_sweep make_sweep(const struct stencil_part *part, uint32_t plane)
{
    const uint32_t width = phase_threads() < part->nx ? phase_threads() : part->nx;
    const uint32_t chunk = stencil_chunk(part, phase_threads());
    struct stencil_sweep sweep = {.x = phase_thread() % width,
                                  .x_step = width,
                                  .z = plane * chunk + phase_thread() / width,
                                  .z_step = part->nz};
    if (phase_thread() / width >= chunk)
        sweep.z = part->nz; /* threads that do not fill a row */
    return sweep;
}

PHASE_FN struct stencil_row own_row(const struct stencil_step *step, double *field, uint32_t row)
{
    return stencil_row_of(&step->part, field, row);
}

/* The row before, or at the edge of the grid the row itself. */
PHASE_FN struct stencil_row in_below(const struct stencil_step *step, uint32_t row)
{
    if (row > 1)
        return own_row(step, step->in, row - 1);
    return stencil_has_below(&step->part) ? stencil_plane_row(step, IN_BELOW)
                                          : own_row(step, step->in, row);
}

/* The row after, of the field or of lap. */
PHASE_FN struct stencil_row above(const struct stencil_step *step, double *field, uint32_t row,
                                  int plane)
{
    if (row < step->part.rows)
        return own_row(step, field, row + 1);
    return stencil_has_above(&step->part) ? stencil_plane_row(step, plane)
                                          : own_row(step, field, row);
}

PHASE(stencil_lap, struct stencil_step, step)
{
    const bool sent = block == step->part.rows;
    const uint32_t row = sent ? 1 : block + 1;
    stencil_lap_row(&step->part, make_sweep(&step->part, plane), in_below(step, row),
                    own_row(step, step->in, row), above(step, step->in, row, IN_ABOVE),
                    sent ? stencil_plane_row(step, SEND_LAP) : own_row(step, step->lap, row),
                    STENCIL_NO_ROW);
}

PHASE(stencil_fly, struct stencil_step, step)
{
    const bool sent = block == step->part.rows;
    const uint32_t row = sent ? step->part.rows : block + 1;
    stencil_fly_row(&step->part, make_sweep(&step->part, plane), own_row(step, step->lap, row),
                    above(step, step->lap, row, LAP_ABOVE), own_row(step, step->in, row),
                    above(step, step->in, row, IN_ABOVE),
                    sent ? stencil_plane_row(step, SEND_FLY) : own_row(step, step->fly, row),
                    STENCIL_NO_ROW);
}

/* fly below the grid is the plane that nobody sends: zero. */
PHASE(stencil_out, struct stencil_step, step)
{
    const uint32_t rows = step->part.rows;
    uint32_t row = block + 1;
    struct stencil_row out = own_row(step, step->out, row);
    if (block >= rows) {
        row = block == rows ? 1 : rows;
        out = stencil_plane_row(step, block == rows ? SEND_IN_DOWN : SEND_IN_UP);
    }
    stencil_out_row(
        &step->part, make_sweep(&step->part, plane), own_row(step, step->lap, row),
        row > 1 ? own_row(step, step->fly, row - 1) : stencil_plane_row(step, FLY_BELOW),
        own_row(step, step->fly, row), own_row(step, step->in, row), out, STENCIL_NO_ROW);
}
