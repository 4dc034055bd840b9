/*
 * compat/mpi/handle.c - objects and their handles: number of a slot, kind and generation, so that
 * one that was freed is recognised. Those of the standard are small numbers, which are none of
 * these.
 */
#include "request.h"

#include <stdio.h>

static const struct {
    const char *text; /* what a wrong handle is */
    int error_class;
    void (*end)(void *object); /* what an object holds is let go; NULL: nothing */
} kinds[] = {
    [WEFTMPI_COMM] = {"no communicator, or it was freed", MPI_ERR_COMM, weftmpi_comm_end},
    [WEFTMPI_GROUP] = {"no group, or it was freed", MPI_ERR_GROUP, NULL},
    [WEFTMPI_TYPE] = {"no datatype, or it was freed", MPI_ERR_TYPE, weftmpi_type_end},
    [WEFTMPI_OP] = {"no operation, or it was freed", MPI_ERR_OP, NULL},
    [WEFTMPI_INFO] = {"no info object, or it was freed", MPI_ERR_INFO, weftmpi_info_end},
    [WEFTMPI_ERRHANDLER] = {"no error handler, or it was freed", MPI_ERR_ARG, NULL},
    [WEFTMPI_REQUEST] = {"no request, or it was freed", MPI_ERR_REQUEST, weftmpi_request_end},
    [WEFTMPI_MESSAGE] = {"no message, or it was received", MPI_ERR_REQUEST, NULL},
    [WEFTMPI_WIN] = {"no window, or it was freed", MPI_ERR_WIN, weftmpi_win_end},
    [WEFTMPI_KEYVAL] = {"no keyval", MPI_ERR_KEYVAL, NULL},
    [WEFTMPI_TOPOLOGY] = {"no topology", MPI_ERR_TOPOLOGY, NULL},
};

#define STANDARD(first, objects)                                                                   \
    {                                                                                              \
        first, sizeof(objects) / sizeof((objects)[0]), sizeof((objects)[0]), objects               \
    }
const struct weftmpi_standard weftmpi_standard[] = {
    [WEFTMPI_COMM] = STANDARD(WEFTMPI_FIRST_COMM, weftmpi_comms),
    [WEFTMPI_GROUP] = STANDARD(0x109, weftmpi_groups),
    [WEFTMPI_TYPE] = STANDARD(WEFTMPI_FIRST_TYPE, weftmpi_types),
    [WEFTMPI_OP] = STANDARD(0x20, weftmpi_ops),
    [WEFTMPI_INFO] = STANDARD(0x131, weftmpi_infos),
    [WEFTMPI_ERRHANDLER] = STANDARD(0x141, weftmpi_errhandlers),
    [WEFTMPI_REQUEST] = STANDARD(0x180, weftmpi_requests),
    [WEFTMPI_WIN] = {0}, /* the last kind */
};

/* ---- memory, which is there, or the job ends ------------------------------------------------- */

static void *there(void *memory, size_t bytes)
{
    char text[64];

    if (memory == NULL) {
        snprintf(text, sizeof(text), "%s: no memory for %zu bytes", weftmpi_call.name, bytes);
        weftmpi_end_job(MPI_ERR_NO_MEM, text);
    }
    return memory;
}

void *weftmpi_zeros(size_t bytes)
{
    return there(calloc(1, bytes + 1), bytes);
}

void *weftmpi_room(void *before, size_t bytes)
{
    return there(realloc(before, bytes + 1), bytes);
}

/* ---- slots ----------------------------------------------------------------------------------- */

enum { FIRST = 0x400 >> 4 /* below it a number of Fortran is one of the standard's */ };

struct weftmpi_slot *weftmpi_chunks[WEFTMPI_CHUNKS];
static uint32_t slots = FIRST, free_slots;
pthread_mutex_t weftmpi_mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

static struct weftmpi_slot *slot_at(uint32_t index)
{
    return &weftmpi_chunks[index / WEFTMPI_CHUNK][index % WEFTMPI_CHUNK];
}

static uint32_t take(void)
{
    uint32_t index = free_slots;

    if (index != 0) {
        free_slots = slot_at(index)->next;
        return index;
    }
    if (slots / WEFTMPI_CHUNK >= WEFTMPI_CHUNKS)
        weftmpi_end_job(MPI_ERR_OTHER, "more objects than handles");
    struct weftmpi_slot **const chunk = &weftmpi_chunks[slots / WEFTMPI_CHUNK];
    if (*chunk == NULL)
        *chunk = weftmpi_zeros(WEFTMPI_CHUNK * sizeof(**chunk));
    return slots++;
}

/* ---- objects --------------------------------------------------------------------------------- */

struct weftmpi_request *weftmpi_idle_requests;

void weftmpi_unmake(void *made)
{
    struct weftmpi_object *object = made;
    void *const handle = object->handle;
    const uint32_t number = (uint32_t)(uintptr_t)handle;
    LOCKED;

    if ((number & 15) != WEFTMPI_REQUEST || slot_at(number >> 4)->object != object) {
        free(object);
        return;
    }
    memset(made, 0, sizeof(struct weftmpi_request));
    object->handle = handle;
    weftmpi_set_aside(made);
}

static void *make_new(enum weftmpi_kind kind, size_t bytes)
{
    struct weftmpi_object *object = weftmpi_zeros(bytes);
    const uint32_t index = take();
    struct weftmpi_slot *slot = slot_at(index);
    slot->object = object;
    object->handle = (void *)((uintptr_t)slot->generation << 32 | index << 4 | kind);
    if (slot->generation == 0)
        object->handle = weftmpi_next_handle(object->handle);
    object->references = 1;
    return object;
}

void *weftmpi_make(enum weftmpi_kind kind, size_t bytes)
{
    LOCKED;
    struct weftmpi_request *request = weftmpi_idle_requests;
    if (kind != WEFTMPI_REQUEST || request == NULL)
        return make_new(kind, bytes);
    weftmpi_idle_requests = request->next;
    request->object.references = 1;
    return request;
}

int weftmpi_give(void *object, void *handle)
{
    if (handle == NULL)
        weftmpi_leave(object);
    TRY(PLACES(handle));
    memcpy(handle, &((struct weftmpi_object *)object)->handle, sizeof(void *));
    return MPI_SUCCESS;
}

void weftmpi_drop(void *handle)
{
    LOCKED;
    if (weftmpi_find_made((uintptr_t)handle & 15, handle) != NULL) {
        struct weftmpi_slot *slot = slot_at((uint32_t)(uintptr_t)handle >> 4);
        slot->object = NULL;
        slot->generation = (uint32_t)((uintptr_t)weftmpi_next_handle(handle) >> 32);
        slot->next = free_slots;
        free_slots = (uint32_t)(uintptr_t)handle >> 4;
    }
}

int weftmpi_no_object(enum weftmpi_kind kind)
{
    return weftmpi_fail(kinds[kind].error_class, "%s", kinds[kind].text);
}

void weftmpi_release(void *object)
{
    struct weftmpi_object *left = object;
    const enum weftmpi_kind kind = (uintptr_t)left->handle & 15;

    /* Who has the only reference is alone with it. */
    if (__atomic_load_n(&left->references, __ATOMIC_ACQUIRE) != 1 &&
        __atomic_sub_fetch(&left->references, 1, __ATOMIC_ACQ_REL) != 0)
        return;
    if (kind != WEFTMPI_REQUEST) /* which keeps its slot */
        weftmpi_drop(left->handle);
    if (kinds[kind].end != NULL)
        kinds[kind].end(object);
    weftmpi_leave(left->errhandler);
    weftmpi_leave(left->info);
    weftmpi_unmake(left);
}

/* ---- Fortran's: of the standard their numbers, else slot and kind ---------------------------- */

MPI_Fint weftmpi_to_fortran(const void *handle)
{
    return (MPI_Fint)(uint32_t)(uintptr_t)handle;
}

/* Returns the handle that is in the slot now; none: one that no call takes. */
void *weftmpi_from_fortran(MPI_Fint number)
{
    void *const handle = (void *)(uintptr_t)(uint32_t)number;
    LOCKED;
    const uint32_t index = (uint32_t)number >> 4;

    if (number < 0x400 || weftmpi_chunks[index / WEFTMPI_CHUNK] == NULL ||
        slot_at(index)->object == NULL)
        return handle;
    return slot_at(index)->object->handle;
}

#define WEFT_MPI_FUNCTION(name, parameters)
/* Defines functions that link, and say that they are not there. A definition without names of
 * parameters would be C23's: the names are not used. */
#define WEFT_MPI_REFUSED(function, parameters)                                                     \
    API(function, parameters)                                                                      \
    {                                                                                              \
        OPEN_IN;                                                                                   \
        weftmpi_call.name = NULL;                                                                  \
        return weftmpi_fail(MPI_ERR_UNSUPPORTED_OPERATION,                                         \
                            "%s is not supported by this library (docs/mpi.md)", __func__);        \
    }
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
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include <mpi_functions.def>
