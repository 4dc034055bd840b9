/*
 * stencil/kernel.h - what the host program and weft's kernel share.
 */
#ifndef STENCIL_KERNEL_H
#define STENCIL_KERNEL_H

#include "stencil.h"

/* Fields, one after the other in the arena that all ranks of a process expose as their window. */
enum stencil_fields { FIELD_IN, FIELD_OUT, FIELD_LAP, FIELD_FLY, FIELDS };

/* Doubles in a rank's shared memory: two rows of 128 points in 26 planes, three ranks on an H200.
 */
enum { STENCIL_SHARED = 2 * 128 * 26 };

struct stencil_data {
    struct stencil_part part;
    uint32_t iterations;
    uint32_t message_a_plane; /* 0: a row goes as one strided message */
    double *arena;            /* FIELDS fields, device memory; in and out change places */
    uint32_t failed;          /* result: 1: no window */
};

#endif
