/*
 * runtime/space/left.h - what a device looks for after a run, in the counters of its ranks: whether
 * there are notifications that nobody waited for. Which, and how many, the host counts itself.
 */
#ifndef WEFT_RUNTIME_SPACE_LEFT_H
#define WEFT_RUNTIME_SPACE_LEFT_H

#include "rank/state.h"

/* Host memory. */
struct weft_seen {
    uint32_t some;  /* some are left */
    uint32_t taken; /* eager channels */
    uint32_t unused[2];
    struct weft_counter counters[]; /* of all slots, where the host copied them to count */
};

struct weft_left {
    const struct weft_exposed *exposed;
    struct weft_seen *seen;
    uint32_t counters; /* of ranks */
    uint32_t none;     /* what is in one of which nothing is left */
};

/* Looks at one of the counters. By a stream behind all that counts, whose end shows what is seen.
 */
WEFT_INLINE void weft_left_at(const struct weft_left *left, uint32_t index)
{
    if (index == 0)
        left->seen->taken = left->exposed->channels_taken;
    if (index >= left->counters)
        return;
    const struct weft_counter counter = left->exposed->counters[WEFT_TAGS + index];
    if (counter.peer + counter.local + counter.host != left->none)
        left->seen->some = 1;
}

#endif
