/* What the kernel and the host program of this example share. */
#ifndef RING_H
#define RING_H

#include <stdint.h>

struct ring {
    uint64_t *tokens; /* two for each rank of this device: received, and to send */
    int32_t laps;
    uint64_t result; /* out: the token after the last lap, at the process of rank 0 */
};

#endif
