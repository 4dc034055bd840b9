/*
 * net/verbs/memory.h - what the device may read and write: windows and buffers.
 *
 * A window's place (net/transport.h) is the device's own key (32 bits), how far its start is behind
 * a multiple of 2 MiB (21), and a generation (10), which with the offset makes the address under
 * which the device knows it. So the target's device alone judges a write: it refuses one outside
 * the window, and one whose place belongs to memory that is registered no more, even if it has
 * given the same 32 bits to other memory since. What the device cannot write has no place.
 *
 * Sources that lie in registered memory are read where they are; others are packed. They are not
 * registered for it: to pin pages and let go of them takes about as long as to copy them. And kept
 * registered the device would go on reading the old pages if the program returns memory to the
 * system and gets others at the same address.
 */
#ifndef WEFT_NET_VERBS_MEMORY_H
#define WEFT_NET_VERBS_MEMORY_H

#include "net/transport.h"

#include <infiniband/verbs.h>

/* Closes what may not be there by ibv_destroy_qp or the like. */
#define WEFT_VERBS_CLOSE(close, thing) ((void)((thing) != NULL ? close(thing) : 0))

/* Memory that the device knows, at an address of its own. */
struct weft_verbs_region {
    struct ibv_mr *mr;
    uintptr_t base;
    uint64_t address;
};

/* reg and dereg of transport.h; mr: a region. place[0] 0, and mr NULL: the device cannot map the
 * memory, and a warning says so. Errors: MEMORY. */
weft_status weft_verbs_reg(struct weft_transport *t, void *base, size_t bytes, uint64_t place[2],
                           void **mr);
void weft_verbs_dereg(struct weft_transport *t, void *mr);

/* Returns the key that a write to a place has to ask for. */
static inline uint32_t weft_verbs_place_rkey(uint64_t place)
{
    return (uint32_t)place;
}
static inline uint64_t weft_verbs_place_base(uint64_t place)
{
    const uint64_t generation = place >> 32 & 0x3ff, start = place >> 42 & 0x1fffff;
    return generation << 48 | start;
}

uint64_t weft_verbs_locked_limit(void);

#endif
