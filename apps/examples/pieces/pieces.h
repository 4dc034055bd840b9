/* What the kernel and the host program of this example share. */
#ifndef PIECES_H
#define PIECES_H

#include <stdint.h>

enum { SIDE = 12, CORNERS = 8, MOST_RANKS = 256, LARGE = 900 };

/* A rank's window, its cube, and what else it sends from. */
struct part {
    double face[SIDE * SIDE], corner[CORNERS];
    uint64_t report[MOST_RANKS]; /* at rank 0; 0: not there yet */
    uint32_t large, unused;
    double cube[SIDE * SIDE * SIDE];
    uint64_t mine;
    unsigned char status[MOST_RANKS];
};

struct pieces {
    struct part *parts; /* one for each rank of this device */
    uint64_t sum;       /* out: of the reports, at the process of rank 0 */
};

#endif
