/*
 * runtime/space/arena.h - hands out ranges of device memory that the host cannot touch: blocks go
 * in, the first free range that is long enough goes out, and what comes back joins its neighbours.
 * One caller at a time.
 */
#ifndef WEFT_RUNTIME_SPACE_ARENA_H
#define WEFT_RUNTIME_SPACE_ARENA_H

#include "weft/types.h"

#include <stdbool.h>
#include <stddef.h>

enum { WEFT_ARENA_UNIT = 64 }; /* ranges begin and end at multiples of it */

struct weft_arena {
    struct weft_range *ranges; /* of all blocks */
    size_t bytes, taken;
};

/* What a range of so many bytes takes; one of no bytes has an address of its own, too. */
static inline size_t weft_arena_size(size_t bytes)
{
    return (bytes / WEFT_ARENA_UNIT + (bytes == 0 || bytes % WEFT_ARENA_UNIT != 0)) *
           WEFT_ARENA_UNIT;
}

/* Adds a block, which stays the caller's to free, after weft_arena_clear. Errors: MEMORY. */
weft_status weft_arena_add(struct weft_arena *arena, void *block, size_t bytes);
/* Forgets all blocks and ranges. */
void weft_arena_clear(struct weft_arena *arena);

/* NULL: no free range is so long. */
void *weft_arena_take(struct weft_arena *arena, size_t bytes);
/* NULL is allowed, and does nothing. */
void weft_arena_give(struct weft_arena *arena, const void *at);

#endif
