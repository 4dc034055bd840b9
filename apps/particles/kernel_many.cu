/*
 * particles/kernel_many.cu - the other: more ranks of fewer threads, whose segments are never held
 * in shared memory. Compiled without the one case, it has registers for the other.
 */
#include "kernel.h"

#define STEP_HELD         false
#define WEFT_MOST_THREADS PARTICLES_THREADS_MANY
#define WEFT_LEAST_RANKS  2
#define WEFT_SHARED_BYTES PARTICLES_SHARED_MANY
#include "rank.h"

WEFT_KERNEL(particles_many, struct particles_data, data)
{
    all_steps(self, data);
}
