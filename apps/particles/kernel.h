/*
 * particles/kernel.h - what the host program and weft's kernel share.
 */
#ifndef PARTICLES_KERNEL_H
#define PARTICLES_KERNEL_H

#include "particles.h"

/*
 * Of a rank, at most; and the bytes of its shared memory: all that a multiprocessor of an H200 has,
 * but for what the library and WEFT_SHARED take (held.h). With less, less is kept there. Where a
 * segment does not fit, there are more ranks, of fewer threads, which keep counts of their cells
 * alone, up to so many bytes: the rest is cache. Two of them on a multiprocessor leave a thread 56
 * registers.
 */
enum {
    PARTICLES_THREADS = 1024,
    PARTICLES_SHARED = 218 << 10,
    PARTICLES_THREADS_MANY = 576,
    PARTICLES_SHARED_MANY = 64 << 10
};

/* Rank r of a device has segment r, boundary r below it and r + 1 above it. */
struct particles_data {
    struct particles_store store; /* its failure: the kernel's own */
    uint32_t iterations;
    uint32_t failure;   /* result: PARTICLES_FULL or PARTICLES_FAST */
    uint32_t no_window; /* result */
};

#endif
