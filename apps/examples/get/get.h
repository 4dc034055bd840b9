/* What the kernel and the host program of this example share. */
#ifndef GET_H
#define GET_H

#include <stdint.h>

enum { KEYS = 100 }; /* that each rank inserts */

/* A place of the table; key 0: it is free. */
struct cell {
    uint64_t key, value;
};

struct get {
    struct cell *cells; /* `places` for each rank of this device: its part of the table */
    struct cell *found; /* one for each rank of this device; at last: what was wrong */
    uint64_t *count;    /* how many keys there are, at rank 0 */
    uint64_t places;
};

#endif
