/*
 * compat/mpi/handle.c - objects and their handles: number of a slot, kind and generation, so that
 * one that was freed is recognised. Those of the standard are small numbers, which are none of
 * these.
 */
#include "request.h"

#include <stdlib.h>

/* Objects of the standard: the handle of the first, and the rest in a row. */
#define STANDARD(first, objects)                                                                   \
    first, sizeof(objects) / sizeof((objects)[0]), sizeof((objects)[0]), objects

static const struct {
    const char *text; /* of a handle that is none */
    int error_class;
    void (*end)(void *object); /* what an object holds is let go; NULL: nothing */
    uintptr_t first;
    size_t count, bytes;
    void *objects;
} kinds[] = {
    [WEFTMPI_COMM] = {"no communicator, or it was freed", MPI_ERR_COMM, weftmpi_comm_end,
                      STANDARD(0x101, weftmpi_comms)},
    [WEFTMPI_GROUP] = {"no group, or it was freed", MPI_ERR_GROUP, NULL,
                       STANDARD(0x109, weftmpi_groups)},
    [WEFTMPI_TYPE] = {"no datatype, or it was freed", MPI_ERR_TYPE, weftmpi_type_end,
                      STANDARD(0x200, weftmpi_types)},
    [WEFTMPI_OP] = {"no operation, or it was freed", MPI_ERR_OP, NULL, STANDARD(0x20, weftmpi_ops)},
    [WEFTMPI_INFO] = {"no info object, or it was freed", MPI_ERR_INFO, weftmpi_info_end,
                      STANDARD(0x131, weftmpi_infos)},
    [WEFTMPI_ERRHANDLER] = {"no error handler, or it was freed", MPI_ERR_ARG, NULL,
                            STANDARD(0x141, weftmpi_errhandlers)},
    [WEFTMPI_REQUEST] = {"no request, or it was freed", MPI_ERR_REQUEST, weftmpi_request_end,
                         STANDARD(0x180, weftmpi_requests)},
    [WEFTMPI_MESSAGE] = {.text = "no message, or it was received", .error_class = MPI_ERR_REQUEST},
    [WEFTMPI_TOPOLOGY] = {.text = "no topology", .error_class = MPI_ERR_TOPOLOGY},
};

/* ---- slots ----------------------------------------------------------------------------------- */

enum { CHUNK = 1024, CHUNKS = 1 << 16 };

struct slot {
    struct weftmpi_object *object;
    uint32_t generation; /* of the handle, or of the next one */
    uint32_t next;       /* of the free ones, 0: none */
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

/* The slot of a handle that is in use; NULL: it is none. */
static struct slot *find(const void *handle)
{
    const uint32_t index = (uint32_t)(uintptr_t)handle >> 4;

    if (index / CHUNK >= CHUNKS || chunks[index / CHUNK] == NULL)
        return NULL;
    struct slot *slot = slot_at(index);
    return slot->object != NULL && slot->generation == (uintptr_t)handle >> 32 ? slot : NULL;
}

/* ---- objects --------------------------------------------------------------------------------- */

void *weftmpi_make(enum weftmpi_kind kind, size_t bytes)
{
    struct weftmpi_object *object = calloc(1, bytes);

    weftmpi_lock();
    const uint32_t index = object == NULL ? 0 : take();
    if (index != 0) {
        struct slot *slot = slot_at(index);
        slot->object = object;
        if (slot->generation == 0)
            slot->generation = 1;
        object->handle = (void *)((uintptr_t)slot->generation << 32 | index << 4 | kind);
        object->references = 1;
    }
    weftmpi_unlock();
    if (index == 0)
        free(object);
    return index == 0 ? NULL : object;
}

void weftmpi_drop(void *handle)
{
    LOCKED;
    struct slot *slot = find(handle);
    if (slot != NULL) {
        slot->object = NULL;
        slot->generation = slot->generation % INT32_MAX + 1;
        slot->next = free_slots;
        free_slots = (uint32_t)(uintptr_t)handle >> 4;
    }
}

static bool is_standard(const void *handle)
{
    return (uintptr_t)handle >> 32 == 0;
}

void *weftmpi_find(enum weftmpi_kind kind, const void *handle)
{
    const uintptr_t number = (uintptr_t)handle, i = number - kinds[kind].first;

    if (is_standard(handle)) {
        struct weftmpi_object *object =
            (void *)((char *)kinds[kind].objects + i * kinds[kind].bytes);
        return i < kinds[kind].count && object->references != 0 ? object : NULL;
    }
    const struct slot *slot = (number & 15) == kind ? find(handle) : NULL;
    return slot != NULL && slot->object->handle == handle ? slot->object : NULL;
}

int weftmpi_no_object(struct weftmpi_comm *comm, const char *call, enum weftmpi_kind kind)
{
    return weftmpi_fail(comm, call, kinds[kind].error_class, "%s", kinds[kind].text);
}

void *weftmpi_hold(void *object)
{
    struct weftmpi_object *held = object;

    if (held != NULL && !is_standard(held->handle))
        __atomic_add_fetch(&held->references, 1, __ATOMIC_RELAXED);
    return object;
}

void weftmpi_leave(void *object)
{
    struct weftmpi_object *left = object;

    if (left == NULL || is_standard(left->handle) ||
        __atomic_sub_fetch(&left->references, 1, __ATOMIC_ACQ_REL) != 0)
        return;
    const enum weftmpi_kind kind = (uintptr_t)left->handle & 15;
    weftmpi_drop(left->handle);
    if (kinds[kind].end != NULL)
        kinds[kind].end(object);
    free(object);
}
