/* What the kernel and the host program of this example share. */
#ifndef FILTER_H
#define FILTER_H

#include <stdint.h>

enum { NUMBERS = 1000, LIMIT = 600, DIGITS = 10 };

/* What a rank has found. */
struct found {
    uint64_t where; /* the largest number first stands there, */
    uint32_t largest, kept;
    uint32_t number[NUMBERS]; /* the `kept` numbers below LIMIT, in their order */
};

struct filter {
    struct found *found;     /* one for each rank of this device */
    uint32_t digits[DIGITS]; /* how many numbers end in each, on this device */
};

/* The i-th number of a rank. */
#define NUMBER(rank, i) ((uint32_t)(((i)*7919 + (uint64_t)(rank)*104729) % 1009))

#endif
