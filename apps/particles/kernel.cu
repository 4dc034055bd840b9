/*
 * particles/kernel.cu - weft's kernels are what rank.h says. This one: a segment stays in shared
 * memory from step to step, if it fits.
 */
#include "kernel.h"

#define STEP_HELD         true
#define WEFT_MOST_THREADS PARTICLES_THREADS
#define WEFT_SHARED_BYTES PARTICLES_SHARED
#include "rank.h"

WEFT_KERNEL(particles, struct particles_data, data)
{
    all_steps(self, data);
}
