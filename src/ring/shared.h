/*
 * ring/shared.h - what a member of a team gives to one step of a collective: a part, in memory of
 * its own that the others map. Only its owner writes it. A row has as many parts as a member may be
 * ahead of the others; steps run freely and wrap.
 *
 * A part's first word, stored last, has the step and a tag. Who has stored step s has read all
 * parts of the steps before it. So an owner writes step s over step s - WEFT_SHARED_PARTS once all
 * others have posted the step behind that one. Of larger parts there are only two.
 */
#ifndef WEFT_RING_SHARED_H
#define WEFT_RING_SHARED_H

#include "order/atomic.h"

#include <assert.h>

enum {
    WEFT_SHARED_BESIDE = 1024, /* bytes of a part that lies behind its words, at most */
    WEFT_SHARED_MOST = 65536,  /* bytes of any part, at most: a block for each member */
    WEFT_SHARED_PARTS = 8,     /* parts of a row; a power of two */
    WEFT_SHARED_LARGE = 2,     /* large parts of a row */
    WEFT_SHARED_FIRST = 48     /* bytes of data in the line of a part's words */
};

struct weft_shared_part {
    uint64_t post;   /* 0: none yet; else bit 63, the tag, and the step in the lower half */
    uint32_t bytes;  /* bytes of the call that the step belongs to */
    uint32_t before; /* hash of the tags of all steps before */
    unsigned char data[WEFT_SHARED_FIRST + WEFT_SHARED_BESIDE];
};
static_assert(sizeof(struct weft_shared_part) % 64 == 0, "a part begins at a line of its own");

struct weft_shared_row {
    uint32_t left; /* step up to which its owner has read all parts; then it reads no more */
    uint32_t unused[15];
    struct weft_shared_part part[WEFT_SHARED_PARTS];
    unsigned char large[WEFT_SHARED_LARGE][WEFT_SHARED_MOST];
};

static inline uint64_t weft_shared_word(uint32_t step, int tag)
{
    return (uint64_t)1 << 63 | (uint64_t)(uint32_t)tag << 32 | step;
}

static inline int weft_shared_tag(uint64_t word)
{
    return (int)(word >> 32 & 0x7fffffff);
}

/* Where a step's bytes are, of which a member has at most so many. */
static inline const unsigned char *weft_shared_data(const struct weft_shared_row *row,
                                                    uint32_t step, size_t most)
{
    return most <= WEFT_SHARED_BESIDE ? row->part[step % WEFT_SHARED_PARTS].data
                                      : row->large[step % WEFT_SHARED_LARGE];
}

/* What an owner gives to a step. */
struct weft_shared_given {
    const void *data;
    size_t bytes, most; /* bytes of the owner; at most, of any member */
    size_t own_at, own; /* block of a large part that no other member reads: offset and bytes */
    uint32_t before, of_call; /* `before` of the part; `bytes` of the part */
};

/*
 * Posts a step's part, by its owner. The words' line is written last: others look at it, and would
 * take it away between two stores.
 */
static inline void weft_shared_post(struct weft_shared_row *row, uint32_t step, int tag,
                                    const struct weft_shared_given *given)
{
    struct weft_shared_part *part = &row->part[step % WEFT_SHARED_PARTS];
    unsigned char *const data = (unsigned char *)weft_shared_data(row, step, given->most);
    const uint32_t head[2] = {given->of_call, given->before};
    const size_t first = data != part->data                 ? 0
                         : given->bytes < WEFT_SHARED_FIRST ? given->bytes
                                                            : WEFT_SHARED_FIRST;

    size_t at = first;

    if (data != part->data && given->own != 0) {
        weft_write_shared(data, given->data, given->own_at);
        at = given->own_at + given->own;
    }
    if (given->bytes != at)
        weft_write_shared(data + at, (const unsigned char *)given->data + at, given->bytes - at);
    weft_write_shared(&part->bytes, head, sizeof(head));
    if (first != 0)
        weft_write_shared(data, given->data, first);
    weft_store_release_u64(&part->post, weft_shared_word(step, tag), ORDER_shared_post);
}

/* Loads what was stored last where the step's part is, by another member. */
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
