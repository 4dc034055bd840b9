/*
 * particles/problem.h - what weft's program and the two-model programs share on the host: sizes,
 * the initial particles, and the serial reference.
 */
#ifndef PARTICLES_PROBLEM_H
#define PARTICLES_PROBLEM_H

#include "particles.h"
#include "settings.h"

extern const struct program particles_program;

/*
 * This process's part of the box, not yet divided into segments. Returns false after it has said
 * why, if speak.
 */
bool particles_make_box(const struct settings *settings, int process, int processes, bool speak,
                        struct particles_box *box);

/*
 * Into segments of as many cells each, but for one, and at both ends `less` fewer, if that will do;
 * or of as many rows, where less would not do. At most as many as there are rows. All that is
 * missing then are the boundaries.
 */
void particles_divide(const struct settings *settings, uint32_t segments, uint32_t less,
                      struct particles_box *box);

/*
 * Fills a zeroed arena in host memory: what is to be there before the first step, halos included.
 * Returns false after it has said why.
 */
bool particles_fill(const struct settings *settings, int processes,
                    const struct particles_store *store);

/* Bytes that particles_check takes from each process: from the beginning of the arena. */
static inline size_t particles_checked(const struct particles_store *store)
{
    return store->layout.moved_position;
}

/*
 * On process 0, arenas: those of all processes, particles_checked each. Are all particles there,
 * once; is the sum of their momenta what it was; are they where a serial run, in its plainest form
 * and without the kernels' code, has them? Prints all three. Returns whether they are.
 */
bool particles_check(const struct settings *settings, int processes,
                     const struct particles_store *store, const char *arenas);

/* Says what a failure of the kernels means. Returns whether there was none. */
bool particles_succeeded(uint32_t failure);

#endif
