/*
 * compat/mpi/handle.c - objects and their handles: number of a slot, kind and generation, so that
 * one that was freed is recognised. Those of the standard are small numbers, which are none of
 * these.
 */
#include "request.h"

#include <stdlib.h>
#include <string.h>

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
    [WEFTMPI_WIN] = {.text = "no window, or it was freed",
                     .error_class = MPI_ERR_WIN,
                     .end = weftmpi_win_end},
    [WEFTMPI_KEYVAL] = {.text = "no keyval", .error_class = MPI_ERR_KEYVAL},
    [WEFTMPI_TOPOLOGY] = {.text = "no topology", .error_class = MPI_ERR_TOPOLOGY},
};

/* ---- slots ----------------------------------------------------------------------------------- */

enum {
    CHUNK = 1024,
    CHUNKS = 1 << 16,
    FIRST = 0x400 >> 4 /* below it a number of Fortran is one of the standard's */
};

struct slot {
    struct weftmpi_object *object;
    uint32_t generation; /* of the handle, or of the next one */
    uint32_t next;       /* of the free ones, 0: none */
};

static struct slot *chunks[CHUNKS];
static uint32_t slots = FIRST, free_slots;
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

/* Memory of requests that are over, by their errhandlers: most programs make many. */
static struct weftmpi_object *idle_requests;

/* Zeroed memory; NULL: there is none. Locked. */
static struct weftmpi_object *take_memory(enum weftmpi_kind kind, size_t bytes)
{
    struct weftmpi_object *object = kind == WEFTMPI_REQUEST ? idle_requests : NULL;

    if (object == NULL)
        return calloc(1, bytes);
    idle_requests = (void *)object->errhandler;
    return memset(object, 0, bytes);
}

static void give_memory(enum weftmpi_kind kind, struct weftmpi_object *object)
{
    if (kind != WEFTMPI_REQUEST) {
        free(object);
        return;
    }
    LOCKED;
    object->errhandler = (void *)idle_requests;
    idle_requests = object;
}

void *weftmpi_make(enum weftmpi_kind kind, size_t bytes)
{
    weftmpi_lock();
    struct weftmpi_object *object = take_memory(kind, bytes);
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

int weftmpi_give(const char *call, void *object, void *handle)
{
    if (object == NULL || handle == NULL) {
        weftmpi_leave(object);
        return object == NULL ? weftmpi_no_memory(NULL, call) : weftmpi_place_in(call, handle);
    }
    memcpy(handle, &((struct weftmpi_object *)object)->handle, sizeof(void *));
    return MPI_SUCCESS;
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

int weftmpi_no_object(void *on, const char *call, enum weftmpi_kind kind)
{
    return weftmpi_fail(on, call, kinds[kind].error_class, "%s", kinds[kind].text);
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
    weftmpi_leave(left->errhandler);
    weftmpi_leave(left->info);
    give_memory(kind, object);
}

/* ---- Fortran's: of the standard their numbers, else slot and kind ---------------------------- */

MPI_Fint weftmpi_to_fortran(const void *handle)
{
    return (MPI_Fint)(uint32_t)(uintptr_t)handle;
}

/* The handle that is in the slot now; none: one that no call takes. */
void *weftmpi_from_fortran(MPI_Fint number)
{
    void *const handle = (void *)(uintptr_t)(uint32_t)number;
    LOCKED;
    const uint32_t index = (uint32_t)number >> 4;

    if (number <= 0 || number < 0x400 || index / CHUNK >= CHUNKS || chunks[index / CHUNK] == NULL ||
        slot_at(index)->object == NULL)
        return handle;
    return (void *)((uintptr_t)slot_at(index)->generation << 32 | (uint32_t)number);
}

#define WEFT_MPI_FUNCTION(name, parameters)
#define WEFT_MPI_REFUSED(name, parameters)
#define WEFT_MPI_HANDLE(kind, type)                                                                \
    extern __typeof__(MPI_##kind##_c2f) PMPI_##kind##_c2f                                          \
        __attribute__((alias("MPI_" #kind "_c2f")));                                               \
    extern __typeof__(MPI_##kind##_f2c) PMPI_##kind##_f2c                                          \
        __attribute__((alias("MPI_" #kind "_f2c")));                                               \
    __attribute__((weak)) MPI_Fint MPI_##kind##_c2f(type handle)                                   \
    {                                                                                              \
        return weftmpi_to_fortran(handle);                                                         \
    }                                                                                              \
    __attribute__((weak)) type MPI_##kind##_f2c(MPI_Fint number)                                   \
    {                                                                                              \
        return weftmpi_from_fortran(number);                                                       \
    }
#include <mpi_functions.def>
