/* runtime/space/arena.c - see the header. */
#include "runtime/space/arena.h"

#include "base/say.h"

#include <stdlib.h>

struct weft_range {
    struct weft_range *next; /* within a block: the one that begins where this one ends */
    unsigned char *at;
    size_t bytes;
    bool taken, last; /* last: of its block */
};

weft_status weft_arena_add(struct weft_arena *arena, void *block, size_t bytes)
{
    struct weft_range *range = malloc(sizeof(*range));

    if (range == NULL)
        return weft_err(WEFT_ERR_MEMORY, "no memory to manage %zu bytes", bytes);
    *range = (struct weft_range){.next = arena->ranges, .at = block, .bytes = bytes, .last = true};
    arena->ranges = range;
    arena->bytes += bytes;
    return WEFT_OK;
}

void weft_arena_clear(struct weft_arena *arena)
{
    while (arena->ranges != NULL) {
        struct weft_range *range = arena->ranges;
        arena->ranges = range->next;
        free(range);
    }
    *arena = (struct weft_arena){0};
}

void *weft_arena_take(struct weft_arena *arena, size_t bytes)
{
    const size_t size = weft_arena_size(bytes);
    struct weft_range *range = arena->ranges;

    while (range != NULL && (range->taken || range->bytes < size))
        range = range->next;
    if (range == NULL)
        return NULL;
    struct weft_range *rest = range->bytes > size ? malloc(sizeof(*rest)) : NULL;
    if (rest != NULL) { /* else the range is taken as a whole */
        *rest = *range;
        rest->at += size;
        rest->bytes -= size;
        range->next = rest;
        range->bytes = size;
        range->last = false;
    }
    range->taken = true;
    arena->taken += range->bytes;
    return range->at;
}

/* Joins a range with the next one, if both are free and one block's. */
static void join(struct weft_range *range)
{
    struct weft_range *next = range->next;

    if (range->taken || range->last || next->taken)
        return;
    range->bytes += next->bytes;
    range->next = next->next;
    range->last = next->last;
    free(next);
}

void weft_arena_give(struct weft_arena *arena, const void *at)
{
    struct weft_range *before = NULL, *range = arena->ranges;

    for (; range != NULL && range->at != at; range = range->next)
        before = range;
    if (range == NULL)
        return;
    range->taken = false;
    arena->taken -= range->bytes;
    join(range);
    if (before != NULL)
        join(before);
}
