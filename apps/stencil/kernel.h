/*
 * stencil/kernel.h - what the host program and weft's kernel share.
 */
#ifndef STENCIL_KERNEL_H
#define STENCIL_KERNEL_H

#include "stencil.h"

/* Fields, one after the other in the arena that all ranks of a process expose as their window. */
enum stencil_fields { FIELD_IN, FIELD_OUT, FIELD_LAP, FIELD_FLY, FIELDS };

/*
 * Bytes of a rank's shared memory: in and lap of three rows of the presets, and fly of one
 * (held.h), with a rank on each multiprocessor of an H200; or what any GPU has, for all other ways
 * to compute.
 */
enum {
    STENCIL_POINTS = (STENCIL_WIDTH * STENCIL_PLANES + STENCIL_THREADS - 1) / STENCIL_THREADS,
    STENCIL_SHARED = (2 * 3 + 1) * STENCIL_POINTS * STENCIL_THREADS * 8,
    STENCIL_SHARED_LEAST = 4 * STENCIL_MOST_NX * 8
};

struct stencil_data {
    struct stencil_part part;
    uint32_t iterations;
    uint32_t message_a_plane; /* 0: a row goes as one strided message */
    double *arena;            /* FIELDS fields, device memory; in and out change places */
    uint32_t failed;          /* result: 1: no window */
};

#endif
