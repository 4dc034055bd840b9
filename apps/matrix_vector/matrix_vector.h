/*
 * What kernel and host program share. Process 0 has the vectors, process 1 multiplies them: rank i
 * of each is the other's partner, and vectors go in batches. A vector is 32 floats.
 */
#ifndef MATRIX_VECTOR_H
#define MATRIX_VECTOR_H

#include <weft/types.h>

#include <stdint.h>

enum {
    ROWS = 32,
    KINDS = 4096, /* vectors repeat after so many */
    SLOTS = 2,    /* batches of a rank under way: one is sent while another is multiplied */
    TAG_BATCH = 1,
    TAG_PRODUCTS = 2
};

struct multiplying {
    uint64_t vectors, batch; /* in all; in a batch */
    int launches;            /* 1: a kernel for each batch, of which these ranks each take a part */
    uint64_t first;          /* of that batch; and how many */
    uint64_t count;
    int verify;
    const float *matrix;   /* by columns, so that a row's neighbours lie side by side */
    const float *kinds;    /* KINDS vectors */
    const float *expected; /* their products */
    float *inbox;          /* of each rank SLOTS batches: what comes */
    float *outbox;         /* of each rank SLOTS batches: what is sent */
    uint64_t *wrong;       /* products, by rank */
};

#endif
