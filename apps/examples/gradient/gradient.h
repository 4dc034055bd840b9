/* What the kernel and the host program of this example share. */
#ifndef GRADIENT_H
#define GRADIENT_H

#include <stdint.h>

enum { PARAMETERS = 1001, MOST_RANKS = 4 };

struct gradient {
    uint16_t *sums, *own; /* PARAMETERS for each rank of this device, in BF16 */
};

#endif
