/*
 * net/verbs/memory.h - what the device may read and write: windows, sources, and buffers to copy
 * through.
 *
 * A window's key says where it is and who writes it. Written by the device: the device's own key
 * (32 bits), how far the window's start is behind a multiple of 2 MiB (21), and a generation (10),
 * which with the offset makes the address under which the device knows it. So the target's device
 * alone judges a put: it refuses one outside the window, and one whose key belongs to memory that
 * is registered no more, even if it has given the same 32 bits to other memory since.
 * By message: the top bit, and a key of net/arrive.h. The receiver copies the data itself.
 *
 * Sources that lie in registered memory are read where they are. Others are copied into a slot of
 * registered memory or, above WEFT_VERBS_COPY, registered while the put lasts. They are not kept
 * registered longer: if the program returns memory to the system and gets other pages at the same
 * address, the device would go on reading the old ones, and nothing tells us.
 */
#ifndef WEFT_NET_VERBS_MEMORY_H
#define WEFT_NET_VERBS_MEMORY_H

#include "net/arrive.h"

#include <infiniband/verbs.h>

#define WEFT_VERBS_BY_MESSAGE (1ull << 63)

/* ibv_destroy_qp and its like, for what may not be there. */
#define WEFT_VERBS_CLOSE(close, thing) ((void)((thing) != NULL ? close(thing) : 0))

struct weft_verbs_device;

struct weft_verbs_memory {
    const struct weft_verbs_device *device;
    struct ibv_pd *pd;
    struct weft_arrive *arrive; /* all that is exposed: bounds, and landing of messages */
    bool dmabuf;                /* GPU memory is given to the device by dma-buf, if there is one */
    bool by_message;            /* windows are memory that is not the host's */
    int access;                 /* of others, besides writes: IBV_ACCESS_... */
    uint32_t dmabufs;           /* ever registered: the device writes some of it all the same */
    uint32_t generation;
};

/* Both any thread. A device that cannot map the memory gets it by message, and a warning says so.
 */
weft_status weft_verbs_memory_add(struct weft_verbs_memory *memory, void *base, size_t bytes,
                                  bool own, uint64_t *key);
void weft_verbs_memory_drop(struct weft_verbs_memory *memory, uint64_t key);
void weft_verbs_memory_free(struct weft_verbs_memory *memory);

/* What a put to a key that the device writes has to ask for. */
static inline uint32_t weft_verbs_key_rkey(uint64_t key)
{
    return (uint32_t)key;
}
static inline uint64_t weft_verbs_key_base(uint64_t key)
{
    const uint64_t generation = key >> 32 & 0x3ff, start = key >> 42 & 0x1fffff;
    return generation << 48 | start;
}

/* The key by which net/arrive.h knows the window; one that it does not, if there is no window. */
uint64_t weft_verbs_memory_region(struct weft_verbs_memory *memory, uint64_t key);

/* Where the device reads registered memory. False: it is not registered, or not all of it. */
bool weft_verbs_memory_find(struct weft_verbs_memory *memory, const void *source, size_t bytes,
                            uint64_t *address, uint32_t *lkey);

/* Slots of registered memory, for the send side's thread. */
struct weft_verbs_slots {
    struct ibv_mr *mr;
    unsigned char *memory;
    int32_t *free;
    uint32_t count, bytes, left;
};

weft_status weft_verbs_slots_open(struct weft_verbs_slots *slots, struct ibv_pd *pd, uint32_t count,
                                  uint32_t bytes);
void weft_verbs_slots_close(struct weft_verbs_slots *slots);

static inline unsigned char *weft_verbs_slot(const struct weft_verbs_slots *slots, int32_t slot)
{
    return slots->memory + (size_t)slot * slots->bytes;
}

/* Registered, page-aligned, zeroed memory; NULL, after an error line, if there is none. */
struct ibv_mr *weft_verbs_alloc(struct ibv_pd *pd, size_t bytes, int access, void **memory);
void weft_verbs_release(struct ibv_mr *mr, void *memory);

#endif
