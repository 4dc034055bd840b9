/* What the kernel and the host program of this example share. */
#ifndef BUCKETS_H
#define BUCKETS_H

#include <stddef.h>
#include <stdint.h>

enum { NUMBERS = 500, ARRAYS = 4 };

struct buckets {
    uint32_t *sorted;    /* NUMBERS for each rank of this device, by bucket */
    uint32_t *received;  /* NUMBERS for each rank of the job, for each of this device */
    size_t *arrays;      /* ARRAYS, of a number for each rank of the job, for each of this device */
    uint64_t *sums;      /* 2 for each rank of this device */
    uint64_t got, wrong; /* out: how many numbers came to all ranks, and to a wrong one */
};

#endif
