/* What the kernel and the host program of this example share. */
#ifndef HOST_AND_KERNEL_H
#define HOST_AND_KERNEL_H

#include <stdint.h>

#include <weft/types.h>

enum {
    REQUESTS = 10000, /* of all ranks */
    RANKS = 8,        /* of a process, at most */
    REPLY = RANKS     /* tag of a reply; a request's is the number of its rank, on its device */
};

/* A process's part of the window: requests of the process before it, replies to its own ranks. */
struct box {
    uint64_t request[RANKS], reply[RANKS];
};

struct asking {
    weft_win boxes;  /* of the host programs */
    struct box *box; /* this process's part */
    uint64_t *asked; /* a word for each rank, from which it puts */
    uint64_t *wrong; /* how many replies were wrong, one for each rank */
};

#endif
