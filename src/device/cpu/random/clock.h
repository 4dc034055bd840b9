/*
 * device/cpu/random/clock.h - vector clocks: how far a task knows what each task has done.
 *
 * A task's own clock is an array of stamps, one for each task. What it releases is a copy: shared
 * by all words and held-back stores that carry it, counted, and never changed while shared.
 */
#ifndef WEFT_DEVICE_CPU_RANDOM_CLOCK_H
#define WEFT_DEVICE_CPU_RANDOM_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct weft_clock {
    uint32_t users;
    uint32_t length; /* stamps beyond are 0 */
    uint32_t stamp[];
};

/* Allocates zeroed memory; without it the process ends, since the model cannot go on. */
void *weft_random_memory(size_t bytes);

/* Make clocks with one user: one that knows nothing yet, and a copy of stamps. */
struct weft_clock *weft_clock_new(uint32_t length);
struct weft_clock *weft_clock_copy(const uint32_t *stamps, uint32_t length);

/* Add a user, and drop one. NULL, the clock that knows nothing, has no users to count. */
struct weft_clock *weft_clock_share(struct weft_clock *clock);
void weft_clock_drop(struct weft_clock *clock);

/* Raises stamps to the clock's. True if any of them rose. */
bool weft_clock_join(uint32_t *stamps, const struct weft_clock *clock);

/* Returns the join of both, with one use for the caller, whose use of `clock` it takes over. */
struct weft_clock *weft_clock_merge(struct weft_clock *clock, struct weft_clock *more);

#endif
