/*
 * device/cpu/random/held.h - stores that a task has made and memory has not seen yet.
 *
 * Each task has a queue of them, in the order of their stamps, so that all up to a stamp can be
 * made to arrive; each also lies in the slot of a wheel, whose turn is its due call, so that each
 * arrives in the end. No two stores in one queue overlap: the caller makes the older one arrive.
 */
#ifndef WEFT_DEVICE_CPU_RANDOM_HELD_H
#define WEFT_DEVICE_CPU_RANDOM_HELD_H

#include "device/cpu/random/cells.h"

#include <sys/queue.h>

enum { WEFT_HELD_CALLS = 16384 /* the wheel: no store is held longer */, WEFT_HELD_MOST = 64 };

struct weft_held;

struct weft_held_queue {
    TAILQ_HEAD(weft_held_list, weft_held) stores; /* oldest first */
    LIST_ENTRY(weft_held_queue) link;             /* among the queues that are not empty */
    uint32_t count, task;
};

struct weft_holding {
    LIST_HEAD(weft_held_slot, weft_held) slot[WEFT_HELD_CALLS];
    LIST_HEAD(weft_held_queues, weft_held_queue) queues;
    struct weft_cells *cells; /* these learn what arrives */
    uint64_t count;           /* stores held now */
    uint64_t arrived;         /* stores that have arrived so far */
};

void weft_held_queue_init(struct weft_held_queue *queue, uint32_t task);

/* A store of an atomic word, with the clock it carries; or (clock unused) of plain bytes. */
struct weft_store {
    void *target;
    const void *source; /* copied at once unless `late` */
    bool late;          /* copied when the store arrives, or by weft_held_sources before */
    size_t bytes;
    bool atomic;
    struct weft_clock *clock;
};

/* Makes a store take effect now. */
void weft_store_apply(struct weft_cells *cells, const struct weft_store *store);

/* Holds a store back until its due call, which is less than WEFT_HELD_CALLS away. */
void weft_held_add(struct weft_holding *holding, struct weft_held_queue *queue,
                   const struct weft_store *store, uint32_t stamp, uint64_t due);

/* Of the stores of one queue that go into a range, copies the sources that are not copied yet. */
void weft_held_sources(struct weft_held_queue *queue, const void *target, size_t bytes);

/* Makes the stores arrive that are due at this call. It is called for every call of the model. */
void weft_held_due(struct weft_holding *holding, uint64_t call);
/* Makes the stores of one queue arrive, up to a stamp. */
void weft_held_until(struct weft_holding *holding, struct weft_held_queue *queue, uint32_t stamp);
/* Makes the stores of one queue arrive that overlap a range. */
void weft_held_overlap(struct weft_holding *holding, struct weft_held_queue *queue,
                       const void *address, size_t bytes);
/* Makes the stores arrive that lie in memory about to go; no source is read there later. */
void weft_held_forget(struct weft_holding *holding, const void *address, size_t bytes);
/* Makes stores arrive that happened before, by these stamps; of task `self`, up to own. */
void weft_held_before(struct weft_holding *holding, const uint32_t *stamps, uint32_t self,
                      uint32_t own);

#endif
