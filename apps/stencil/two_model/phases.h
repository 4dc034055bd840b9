/*
 * stencil/two_model/phases.h - the two-model form of the stencil: three kernels an iteration, and
 * after each of them the host exchanges one plane of nx x nz points with a neighbour (after the
 * last, with both). Rows from neighbours lie in planes of their own; the kernels read them there
 * and write a second copy of what is to be sent, so that nothing is packed or unpacked.
 */
#ifndef STENCIL_PHASES_H
#define STENCIL_PHASES_H

#include "machine.h"
#include "stencil.h"

/* Planes, each with its size: those to send, and beside them those that are received. */
enum stencil_planes {
    SEND_LAP,
    SEND_FLY,
    SEND_IN_DOWN,
    SEND_IN_UP,
    LAP_ABOVE,
    FLY_BELOW,
    IN_ABOVE,
    IN_BELOW,
    PLANES
};

/* One step: in and out as they are in it. */
struct stencil_step {
    struct stencil_part part;
    double *in, *out, *lap, *fly;
    double *planes; /* PLANES of them */
};

STENCIL_FN struct stencil_row stencil_plane_row(const struct stencil_step *step, int plane)
{
    const struct stencil_part *part = &step->part;
    return stencil_row_at(step->planes + (size_t)plane * part->nx * part->nz, part->nx);
}

/*
 * Block b computes row b + 1; after the rows come blocks for what is sent: lap of the first row,
 * fly of the last, and the new field of both.
 */
#ifdef __cplusplus
extern "C" {
#endif
PHASE_DECLARE(stencil_lap, struct stencil_step);
PHASE_DECLARE(stencil_fly, struct stencil_step);
PHASE_DECLARE(stencil_out, struct stencil_step);
#ifdef __cplusplus
}
#endif

/* Blocks in the second direction for so many threads: each computes some planes of its row. */
STENCIL_FN uint32_t stencil_chunk(const struct stencil_part *part, uint32_t threads)
{
    return threads < part->nx ? 1 : threads / part->nx;
}

#endif
