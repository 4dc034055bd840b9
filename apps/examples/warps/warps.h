/* What the kernel and the host program of this example share. */
#ifndef WARPS_H
#define WARPS_H

#include <stdint.h>

enum { NUMBERS = 256, DIGITS = 10 };

struct warps {
    uint32_t *own;    /* NUMBERS for each rank of this device: what it sends, */
    uint32_t *all;    /* and NUMBERS of every rank: what it has received */
    uint64_t *digits; /* DIGITS words: at rank 0, how many numbers of all ranks end in each */
};

/* The i-th number of a rank. */
#define NUMBER(rank, i) ((uint32_t)(((i)*7919 + (uint64_t)(rank)*104729) % 1009))

#endif
