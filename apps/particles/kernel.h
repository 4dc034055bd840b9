/*
 * particles/kernel.h - what the host program and weft's kernel share.
 */
#ifndef PARTICLES_KERNEL_H
#define PARTICLES_KERNEL_H

#include "particles.h"

enum { PARTICLES_THREADS = 256 };

/* One rank has boundary r below it and r + 1 above it: store.box.boundaries is the ranks + 1. */
struct particles_data {
    struct particles_store store; /* its failure: the kernel's own */
    uint32_t iterations;
    uint32_t failure;   /* result: PARTICLES_FULL or PARTICLES_FAST */
    uint32_t no_window; /* result */
};

#endif
