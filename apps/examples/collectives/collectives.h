/* What the kernel and the host program of this example share. */
#ifndef COLLECTIVES_H
#define COLLECTIVES_H

#include <stdint.h>

struct collectives {
    double *sums;          /* 2 for each rank of this device */
    int64_t elements;      /* 1, 2, ... elements are the numbers */
    double mean, variance; /* out: at the process of rank 0 */
};

#endif
