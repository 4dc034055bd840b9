/* What the kernel and the host program of this example share. */
#ifndef WARPS_H
#define WARPS_H

#include <stdint.h>

enum { NUMBERS = 256, DIGITS = 10 };

struct warps {
    uint32_t *own;    /* what each rank of this device sends: NUMBERS */
    uint32_t *all;    /* what it has received of every rank: NUMBERS of each */
    uint64_t *digits; /* DIGITS words: at rank 0, how many numbers of all ranks end in each */
};

/* The i-th number of a rank. */
#define NUMBER(rank, i) ((uint32_t)(((i)*7919 + (uint64_t)(rank)*104729) % 1009))

#endif
