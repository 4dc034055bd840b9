/*
 * spmv/kernel.h - what the host program and weft's kernel share.
 */
#ifndef SPMV_KERNEL_H
#define SPMV_KERNEL_H

#include "spmv.h"

enum { SPMV_THREADS = 256 };

struct spmv_data {
    struct spmv_grid grid;
    struct spmv_block block;
    struct spmv_layout layout;
    char *arena;
    size_t b[2];              /* where b lies in it, by the parity of the product */
    const uint32_t *x_cut;    /* where the ranks' slices of x begin in the block, and its rows */
    const uint32_t *long_cut; /* the same for their long rows in the list */
    uint32_t iterations;
    uint32_t no_window; /* result */
};

#endif
