/*
 * compat/mpi/handle.c - handles: number of a slot, kind and generation, so that one that was freed
 * is recognised. Those of the standard are small numbers, which are none of these.
 */
#include "internal.h"

#include <stdlib.h>

enum { CHUNK = 1024, CHUNKS = 1 << 16 };

struct slot {
    void *object;
    uint32_t generation; /* of the handle, or of the next one */
    uint32_t kind;
    uint32_t next; /* of the free ones, 0: none */
};

static struct slot *chunks[CHUNKS];
static uint32_t slots = 1, free_slots; /* slot 0 is never used */
static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

void weftmpi_lock(void)
{
    if (weftmpi.level == MPI_THREAD_MULTIPLE)
        pthread_mutex_lock(&lock);
}

void weftmpi_unlock(void)
{
    if (weftmpi.level == MPI_THREAD_MULTIPLE)
        pthread_mutex_unlock(&lock);
}

static struct slot *slot_at(uint32_t index)
{
    return &chunks[index / CHUNK][index % CHUNK];
}

/* A slot's index; 0: no memory. */
static uint32_t take(void)
{
    uint32_t index = free_slots;

    if (index != 0) {
        free_slots = slot_at(index)->next;
        return index;
    }
    if (slots / CHUNK >= CHUNKS)
        return 0;
    if (chunks[slots / CHUNK] == NULL &&
        (chunks[slots / CHUNK] = calloc(CHUNK, sizeof(struct slot))) == NULL)
        return 0;
    return slots++;
}

uint64_t weftmpi_handle_make(enum weftmpi_kind kind, void *object)
{
    uint64_t handle = 0;

    weftmpi_lock();
    const uint32_t index = take();
    if (index != 0) {
        struct slot *slot = slot_at(index);
        slot->object = object;
        slot->kind = kind;
        if (slot->generation == 0)
            slot->generation = 1;
        handle = (uint64_t)slot->generation << 32 | index << 4 | kind;
    }
    weftmpi_unlock();
    return handle;
}

/* The slot of a handle that is in use; NULL: it is none. */
static struct slot *find(uint64_t handle)
{
    const uint32_t index = (uint32_t)handle >> 4, generation = (uint32_t)(handle >> 32);

    if (generation == 0 || index == 0 || index / CHUNK >= CHUNKS || chunks[index / CHUNK] == NULL)
        return NULL;
    struct slot *slot = slot_at(index);
    return slot->generation == generation && slot->kind == (handle & 15) ? slot : NULL;
}

void weftmpi_handle_drop(uint64_t handle)
{
    weftmpi_lock();
    struct slot *slot = find(handle);
    if (slot != NULL) {
        slot->object = NULL;
        slot->kind = WEFTMPI_NONE;
        slot->generation = slot->generation % INT32_MAX + 1;
        slot->next = free_slots;
        free_slots = (uint32_t)handle >> 4;
    }
    weftmpi_unlock();
}

void *weftmpi_handle_find(enum weftmpi_kind kind, uint64_t handle)
{
    if ((handle & 15) != kind)
        return NULL;
    const struct slot *slot = find(handle);
    return slot == NULL ? NULL : slot->object;
}
