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

/* Memory, or the end of the process: the model cannot go on without. */
void *weft_random_memory(size_t bytes);

/* With one user: one that knows nothing yet, and a copy. */
struct weft_clock *weft_clock_new(uint32_t length);
struct weft_clock *weft_clock_copy(const uint32_t *stamps, uint32_t length);

/* One more user, and one less; NULL, the clock that knows nothing, has none to count. */
struct weft_clock *weft_clock_share(struct weft_clock *clock);
void weft_clock_drop(struct weft_clock *clock);

/* Raises stamps to the clock's. True if any of them rose. */
bool weft_clock_join(uint32_t *stamps, const struct weft_clock *clock);

/* The join of both; takes over the caller's use of clock. */
struct weft_clock *weft_clock_merge(struct weft_clock *clock, struct weft_clock *more);

#endif
