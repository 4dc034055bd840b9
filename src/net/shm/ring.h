/*
 * net/shm/ring.h - single producer, single consumer: cells of one size in memory that two processes
 * of a host share. What a process makes known of its rings.
 *
 * The producer builds a packet in the next cell and publishes its index after that (ring_publish);
 * the consumer gives cells back in their order (ring_credit). Indexes count cells, run freely and
 * wrap at 2^32. Each side checks what it reads of the other's against the ring: the other process
 * may be broken.
 */
#ifndef WEFT_NET_SHM_RING_H
#define WEFT_NET_SHM_RING_H

#include "base/share.h"
#include "base/task.h"

#include <assert.h>

enum { WEFT_SHM_CELLS = 4 }; /* some are written while others are read */

/* The shared part; the cells follow. All zero, or both indexes set, before anyone uses it. */
struct weft_shm_ring {
    uint32_t published;             /* by the producer: packets so far */
    uint32_t bytes[WEFT_SHM_CELLS]; /* by the producer: length of the packet in each cell */
    uint32_t pad0[15 - WEFT_SHM_CELLS];
    uint32_t credit; /* by the consumer: packets given back so far */
    uint32_t pad1[15];
    unsigned char cells[];
};
static_assert(offsetof(struct weft_shm_ring, credit) == 64, "each side has a line of its own");
static_assert(sizeof(struct weft_shm_ring) == 128, "the cells begin at a line of their own");

/* The start of a receiver's shared memory; its rings follow, one a sender. */
struct weft_shm_inbox {
    struct weft_bell bells[2]; /* by side: its receive thread's, its progress thread's */
    unsigned char pad[64 - 2 * sizeof(struct weft_bell)];
};
static_assert(sizeof(struct weft_shm_inbox) == 64, "the rings behind it begin at a line");

/* What a process makes known of itself. Travels as its bytes. */
struct weft_shm_address {
    struct weft_share inbox, stage; /* stage.bytes 0: it has none */
    uint64_t ring_size;             /* bytes of all cells of each ring of the inbox */
};
static_assert(sizeof(struct weft_shm_address) == 2 * sizeof(struct weft_share) + 8, "no padding");

#endif
