/*
 * abi/coll.h - the memory that ranks have for collectives, as other ranks see it: two cells for
 * each communicator, in which a rank says what it calls and with what, and room for pieces.
 *
 * The host allocates it for kernels that include weft/coll.h, zeroed. Everything in it is written
 * by its rank alone. Barriers of the communicator order who writes and who reads (coll/call.h).
 */
#ifndef WEFT_ABI_COLL_H
#define WEFT_ABI_COLL_H

#include "order/inline.h"
#include "weft/types.h"

#include <assert.h>

enum { WEFT_COLL_CELL = 256, WEFT_COLL_DATA = 208 };

/* What a rank calls. All fields but the padding are the same on all ranks. */
struct weft_coll_call {
    uint32_t barriers; /* barriers of the communicator that this rank had done before */
    uint8_t what, type, operation, unused;
    int32_t root;
    uint32_t unused2;
    uint64_t count;
};

struct weft_coll_cell {
    struct weft_coll_call call;
    unsigned char *source, *target; /* addresses, for ranks of the same process */
    uint64_t unused;
    unsigned char data[WEFT_COLL_DATA]; /* copy of the source, if it is small */
};

static_assert(sizeof(struct weft_coll_cell) == WEFT_COLL_CELL, "cells of all ranks are alike");

/* What a rank knows of a communicator of several processes. */
struct weft_coll_known {
    uint32_t comm;   /* handle of the communicator */
    uint32_t win;    /* window over this memory of all members; stale: there is none */
    uint32_t mapped; /* 1: every member maps this memory of every other */
    uint32_t unused;
};

/* Where things lie in a rank's memory: what it knows, cells, pieces. */
WEFT_INLINE uint64_t weft_coll_cells_at(uint32_t comms)
{
    return ((uint64_t)comms * sizeof(struct weft_coll_known) + 255) / 256 * 256;
}
WEFT_INLINE uint64_t weft_coll_pieces_at(uint32_t comms)
{
    return weft_coll_cells_at(comms) + (uint64_t)comms * 2 * WEFT_COLL_CELL;
}

#endif
