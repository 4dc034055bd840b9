/* device/cpu/random/held.c - see the header. */
#include "device/cpu/random/held.h"

#include <stdlib.h>
#include <string.h>

struct weft_held {
    TAILQ_ENTRY(weft_held) in_queue;
    LIST_ENTRY(weft_held) in_slot;
    struct weft_held_queue *queue;
    struct weft_store store; /* source: bytes[], unless it is late */
    uint32_t stamp;
    unsigned char bytes[];
};

void weft_held_queue_init(struct weft_held_queue *queue, uint32_t task)
{
    TAILQ_INIT(&queue->stores);
    queue->count = 0;
    queue->task = task;
}

void weft_store_apply(struct weft_cells *cells, const struct weft_store *store)
{
    memmove(store->target, store->source, store->bytes);
    if (store->atomic)
        weft_cells_set(cells, store->target, (int)store->bytes, store->clock);
    else
        weft_cells_plain(cells, store->target, store->bytes);
}

static void take_source(struct weft_held *held)
{
    memcpy(held->bytes, held->store.source, held->store.bytes);
    held->store.source = held->bytes;
    held->store.late = false;
}

void weft_held_add(struct weft_holding *holding, struct weft_held_queue *queue,
                   const struct weft_store *store, uint32_t stamp, uint64_t due)
{
    struct weft_held *held = weft_random_memory(sizeof(*held) + store->bytes);

    held->queue = queue;
    held->stamp = stamp;
    held->store = *store;
    if (!store->late)
        take_source(held);
    weft_clock_share(store->clock);
    if (queue->count++ == 0)
        LIST_INSERT_HEAD(&holding->queues, queue, link);
    TAILQ_INSERT_TAIL(&queue->stores, held, in_queue);
    LIST_INSERT_HEAD(&holding->slot[due % WEFT_HELD_CALLS], held, in_slot);
    holding->count++;
}

static void arrive(struct weft_holding *holding, struct weft_held *held)
{
    struct weft_held_queue *queue = held->queue;

    TAILQ_REMOVE(&queue->stores, held, in_queue);
    LIST_REMOVE(held, in_slot);
    if (--queue->count == 0)
        LIST_REMOVE(queue, link);
    holding->count--;
    holding->arrived++;
    weft_store_apply(holding->cells, &held->store);
    weft_clock_drop(held->store.clock);
    free(held);
}

void weft_held_due(struct weft_holding *holding, uint64_t call)
{
    struct weft_held *held;

    while ((held = LIST_FIRST(&holding->slot[call % WEFT_HELD_CALLS])) != NULL)
        arrive(holding, held);
}

void weft_held_until(struct weft_holding *holding, struct weft_held_queue *queue, uint32_t stamp)
{
    struct weft_held *held;

    while ((held = TAILQ_FIRST(&queue->stores)) != NULL &&
           held->stamp <= stamp) /* NOLINT(clang-analyzer-unix.Malloc): arrive took it out first */
        arrive(holding, held);
}

static bool meet(const void *a, size_t a_bytes, const void *b, size_t b_bytes)
{
    return (uintptr_t)a < (uintptr_t)b + b_bytes && (uintptr_t)b < (uintptr_t)a + a_bytes;
}

void weft_held_overlap(struct weft_holding *holding, struct weft_held_queue *queue,
                       const void *address, size_t bytes)
{
    struct weft_held *held = TAILQ_FIRST(&queue->stores);

    while (held != NULL) {
        struct weft_held *next = TAILQ_NEXT(held, in_queue);
        if (meet(held->store.target, held->store.bytes, address, bytes))
            arrive(holding, held);
        held = next;
    }
}

void weft_held_forget(struct weft_holding *holding, const void *address, size_t bytes)
{
    struct weft_held_queue *queue = LIST_FIRST(&holding->queues);

    while (queue != NULL) {
        struct weft_held_queue *next = LIST_NEXT(queue, link);
        weft_held_sources(queue, NULL, SIZE_MAX);
        weft_held_overlap(holding, queue, address, bytes);
        queue = next;
    }
}

void weft_held_sources(struct weft_held_queue *queue, const void *target, size_t bytes)
{
    struct weft_held *held;

    TAILQ_FOREACH (held, &queue->stores, in_queue) {
        if (held->store.late && meet(held->store.target, held->store.bytes, target, bytes))
            take_source(held);
    }
}

void weft_held_before(struct weft_holding *holding, const uint32_t *stamps, uint32_t self,
                      uint32_t own)
{
    struct weft_held_queue *queue = LIST_FIRST(&holding->queues);

    while (queue != NULL) {
        struct weft_held_queue *next = LIST_NEXT(queue, link);
        weft_held_until(holding, queue, queue->task == self ? own : stamps[queue->task]);
        queue = next;
    }
}
