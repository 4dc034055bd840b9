/* What the kernel and the host program of this example share. */
#ifndef REDUCTION_H
#define REDUCTION_H

#include <stdint.h>

enum { ROUNDS = 20 }; /* enough for 2^20 ranks */

struct reduction {
    double *slots;    /* ROUNDS for each rank of this device, in weft_malloc memory */
    int64_t elements; /* 1 + 2 + ... + elements is to be computed */
    double sum;       /* out: at the process of rank 0 */
};

#endif
