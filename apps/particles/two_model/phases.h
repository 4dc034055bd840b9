/*
 * particles/two_model/phases.h - the two-model form of the particles: three kernels a step. The
 * process keeps two halo segments. The host exchanges the lists of those that leave after the first
 * kernel, and the segments at the edges after the last; both in messages of the full capacity,
 * since how much is in them is known on the device alone: asking would cost more than it saves.
 */
#ifndef PARTICLES_PHASES_H
#define PARTICLES_PHASES_H

#include "machine.h"
#include "particles.h"

/*
 * Lists of the store, by "boundary": what came (up from below, and down from above), and what
 * leaves in even and in odd steps: the one is emptied while the other may still be read.
 */
enum particles_lists { LISTS_IN, LISTS_OUT, LISTS = LISTS_OUT + 2 };
enum particles_ways { UP, DOWN };

struct particles_step {
    struct particles_store store;
    uint32_t parity; /* of the step */
};

#ifdef __cplusplus
extern "C" {
#endif
/* Block: a segment, from 0. Plane: as many of its particles as a block has threads. */
PHASE_DECLARE(particles_move, struct particles_step);
/* Block: a segment, from 0. */
PHASE_DECLARE(particles_scan, struct particles_step);
/* Blocks and planes as for move; one block more: those that came in lists. */
PHASE_DECLARE(particles_settle, struct particles_step);
#ifdef __cplusplus
}
#endif

#endif
