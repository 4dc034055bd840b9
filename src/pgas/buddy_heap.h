/*
 * pgas/buddy_heap.h - what only a host does with the allocator of buddy.h: it makes one, and counts
 * what is free.
 */
#ifndef WEFT_PGAS_BUDDY_HEAP_H
#define WEFT_PGAS_BUDDY_HEAP_H

#include "pgas/buddy.h"

struct weft_buddy_numbers {
    uint64_t free, largest; /* free bytes; bytes of the largest run of one word */
    uint64_t blocks;        /* runs of free units */
};

/* Shapes a heap of `bytes` bytes; returns how many words it needs. */
static inline uint64_t weft_buddy_shape(struct weft_buddy *b, uint64_t bytes, uint32_t least_log2)
{
    uint64_t all = 0, words;

    memset(b, 0, sizeof(*b));
    b->least_log2 = least_log2;
    b->bytes = bytes >> least_log2 << least_log2;
    do {
        const uint64_t covered = WEFT_BUDDY_UNITS * weft_buddy_unit(b, b->levels);
        words = b->bytes == 0 ? 1 : (b->bytes + covered - 1) / covered;
        b->words[b->levels++] = (uint32_t)words;
        all += words;
    } while (words > 1 && b->levels < WEFT_BUDDY_LEVELS);
    return all;
}

/* Places its words at `memory`, as who uses the heap sees it. */
static inline void weft_buddy_place(struct weft_buddy *b, uint64_t *memory)
{
    for (uint32_t l = 0; l < b->levels; l++) {
        b->word[l] = memory;
        memory += b->words[l];
    }
}

/* Fills in the words at `memory` as they are at first: what lies beyond the heap stays taken. */
static inline void weft_buddy_fill(const struct weft_buddy *b, uint64_t *memory)
{
    uint64_t *level[WEFT_BUDDY_LEVELS], rest = b->bytes, index = 0;

    for (uint32_t l = 0; l < b->levels; l++) {
        level[l] = memory;
        memory += b->words[l];
        for (uint32_t w = 0; w < b->words[l]; w++)
            level[l][w] = WEFT_BUDDY_CLOSED;
    }
    for (uint32_t l = b->levels; l-- > 0;) {
        const uint64_t full = rest / weft_buddy_unit(b, l);
        const uint64_t taken = full < WEFT_BUDDY_UNITS ? UINT32_MAX << full & UINT32_MAX : 0;
        level[l][index] = taken | taken << 32; /* the unit after the full ones goes on below */
        rest -= full * weft_buddy_unit(b, l);
        if (rest == 0)
            break;
        index = index * WEFT_BUDDY_UNITS + full;
    }
}

/* Counts what is free now. Others may take and give meanwhile: then it is a glimpse. */
static inline void weft_buddy_count(struct weft_buddy *b, struct weft_buddy_numbers *n)
{
    weft_buddy_tidy(b);
    memset(n, 0, sizeof(*n));
    for (uint32_t l = 0; l < b->levels; l++)
        for (uint32_t w = 0; w < b->words[l]; w++) {
            const uint64_t word = weft_load_relaxed_u64(&b->word[l][w]);
            uint64_t run = 0;
            for (uint32_t i = 0; i < WEFT_BUDDY_UNITS; i++) {
                run = weft_buddy_taken(word, i) ? 0 : run + weft_buddy_unit(b, l);
                n->blocks += run == weft_buddy_unit(b, l);
                n->free += run != 0 ? weft_buddy_unit(b, l) : 0;
                n->largest = run > n->largest ? run : n->largest;
            }
        }
}

#endif
