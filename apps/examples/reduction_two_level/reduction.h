/* What the kernel and the host program of this example share. */
#ifndef REDUCTION_H
#define REDUCTION_H

#include <stdint.h>

struct reduction {
    double *slots;    /* in weft_malloc memory: one for each rank of this device, then ROUNDS */
    int64_t elements; /* 1 + 2 + ... + elements is to be computed */
    int device_tag;   /* of notifications to a leader */
    int round_tag;    /* between leaders: of round 0; each further round has the next */
    double sum;       /* out: at the process of rank 0 */
};

enum { ROUNDS = 20 }; /* enough for 2^20 devices */

#endif
