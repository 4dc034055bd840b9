/*
 * particles/initial.h - the particles before the first step, one by one.
 */
#ifndef PARTICLES_INITIAL_H
#define PARTICLES_INITIAL_H

#include "particles.h"
#include "settings.h"

/* How many there are in the whole box; their ids are 0 .. that - 1. */
uint64_t particles_all(const struct settings *settings, int processes);

/* Any place in the box with the same chance, and each component of the velocity in -1/2 .. 1/2. */
struct particle particles_initial(const struct settings *settings, const struct particles_box *box,
                                  uint64_t id);

#endif
