/*
 * runtime/space/left.h - after a run the device looks in the counters of its ranks: are there
 * notifications that nobody waited for? The host counts itself which they are, and how many.
 */
#ifndef WEFT_RUNTIME_SPACE_LEFT_H
#define WEFT_RUNTIME_SPACE_LEFT_H

#include "rank/state.h"

/* In host memory: what the device has found. */
struct weft_seen {
    uint32_t some;                  /* not 0: notifications are left */
    uint32_t taken;                 /* eager channels that senders have taken from the pool */
    struct weft_counter counters[]; /* of all slots, where the host copied them to count */
};

struct weft_left {
    const struct weft_exposed *exposed;
    struct weft_seen *seen;
    uint32_t none; /* the count of a tag of which nothing is left */
};

/* Looks at one of the ranks' counters. It runs when all that counts is done; the host reads what it
 * has found when the stream has ended. */
WEFT_INLINE void weft_left_at(const struct weft_left *left, uint32_t index)
{
    if (index == 0)
        left->seen->taken = left->exposed->channels_taken;
    const struct weft_counter counter = left->exposed->counters[WEFT_TAGS + index];
    if (counter.peer + counter.local + counter.host != left->none)
        left->seen->some = 1;
}

#endif
