/*
 * device/cpu/random/race.h - the check of the model's data: the first access of a run that no clock
 * orders after a conflicting one is said, by the names of both tasks.
 */
#ifndef WEFT_DEVICE_CPU_RANDOM_RACE_H
#define WEFT_DEVICE_CPU_RANDOM_RACE_H

#include "device/cpu/random/cells.h"
#include "device/cpu/random/tasks.h"

struct weft_races {
    bool found; /* one, after which nothing is checked */
    void (*handler)(const char *text, void *argument);
    void *argument;
};

/* The current task accesses data, by itself or a reader; recorded as weft_cells_access says. */
void weft_races_check(struct weft_races *races, struct weft_cells *cells,
                      const struct weft_model_tasks *tasks, const void *address, size_t bytes,
                      enum weft_access_kind kind, uint32_t who);

#endif
