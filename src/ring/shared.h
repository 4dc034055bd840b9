/*
 * ring/shared.h - what a member of a team gives to one step of a collective: a part, in memory of
 * its own that the others map. Only its owner writes it. A row has as many parts as a member may be
 * ahead of the others; steps run freely and wrap.
 *
 * A part's first word, stored last, has the step and a tag. Who has stored step s has read all
 * parts of the steps before it. So an owner writes step s over step s - WEFT_SHARED_PARTS once all
 * others have posted the step behind that one.
 */
#ifndef WEFT_RING_SHARED_H
#define WEFT_RING_SHARED_H

#include "order/atomic.h"

#include <assert.h>

enum {
    WEFT_SHARED_MOST = 1024, /* bytes of a part */
    WEFT_SHARED_PARTS = 8    /* of a row; a power of two */
};

struct weft_shared_part {
    uint64_t post; /* 0: none yet; else bit 63, the tag, and the step in the lower half */
    uint32_t bytes;
    uint32_t before; /* what came of the tags of the steps before */
    unsigned char data[WEFT_SHARED_MOST + 48];
};
static_assert(sizeof(struct weft_shared_part) % 64 == 0, "a part begins at a line of its own");

struct weft_shared_row {
    uint32_t left; /* its owner has read all parts up to this step, and reads no more */
    uint32_t unused[15];
    struct weft_shared_part part[WEFT_SHARED_PARTS];
};

static inline uint64_t weft_shared_word(uint32_t step, int tag)
{
    return (uint64_t)1 << 63 | (uint64_t)(uint32_t)tag << 32 | step;
}

static inline int weft_shared_tag(uint64_t word)
{
    return (int)(word >> 32 & 0x7fffffff);
}

/* Its owner: bytes at data are its part of a step. */
static inline void weft_shared_post(struct weft_shared_row *row, uint32_t step, int tag,
                                    uint32_t before, const void *data, uint32_t bytes)
{
    struct weft_shared_part *part = &row->part[step % WEFT_SHARED_PARTS];
    const uint32_t head[2] = {bytes, before};

    weft_write_shared(&part->bytes, head, sizeof(head));
    if (bytes != 0)
        weft_write_shared(part->data, data, bytes);
    weft_store_release_u64(&part->post, weft_shared_word(step, tag), ORDER_shared_post);
}

/* The others: the word that was stored last where the step's part is. */
static inline uint64_t weft_shared_look(const struct weft_shared_row *row, uint32_t step)
{
    return weft_load_acquire_u64(&row->part[step % WEFT_SHARED_PARTS].post, ORDER_shared_seen);
}

/* Whether that step, or one behind it, is posted there. */
static inline bool weft_shared_reached(uint64_t word, uint32_t step)
{
    return word >> 63 != 0 && (int32_t)((uint32_t)word - step) >= 0;
}

#endif
