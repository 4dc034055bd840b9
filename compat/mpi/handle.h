/*
 * compat/mpi/handle.h - what every function is made with: its definition, the handles and objects
 * that it is given, the lock, and errors.
 */
#ifndef WEFTMPI_HANDLE_H
#define WEFTMPI_HANDLE_H

#include "../common.h"

#include <mpi.h>

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Defines MPI_<name>, which a tool may put its own before, and PMPI_<name>. */
#define API(name, parameters)                                                                      \
    extern __typeof__(MPI_##name) PMPI_##name __attribute__((alias("MPI_" #name)));                \
    __attribute__((weak)) int MPI_##name parameters
/* Defines the function MPI_<as> of this file under another name. */
#define SAME(name, as)                                                                             \
    extern __typeof__(MPI_##name) PMPI_##name __attribute__((alias("MPI_" #as)));                  \
    extern __typeof__(MPI_##name) MPI_##name __attribute__((weak, alias("MPI_" #as)));
/* Defines both forms of a function: `of` gets the end of its names, and the types of counts and
 * addresses. */
#define TWINS(of) of(, int, MPI_Aint) of(_c, MPI_Count, MPI_Count)
/* Defines a function that is an expression, its error. */
#define CALL(name, parameters, expression)                                                         \
    API(name, parameters)                                                                          \
    {                                                                                              \
        ENTER;                                                                                     \
        return expression;                                                                         \
    }
/* Defines a function that is an expression of an object, which IN finds by `handle`, and calls
 * `of`. */
#define ON(name, IN, parameters, expression)                                                       \
    API(name, parameters)                                                                          \
    {                                                                                              \
        IN(of, handle);                                                                            \
        return expression;                                                                         \
    }
/* Defines a function that asks an object, which IN finds, for a number. */
#define ASK(name, IN, type, number, answer)                                                        \
    API(name, (type handle, number * told))                                                        \
    {                                                                                              \
        OUT(told);                                                                                 \
        IN(of, handle);                                                                            \
        *told = answer;                                                                            \
        return MPI_SUCCESS;                                                                        \
    }

/* Defines a function that tells a number, after a check. */
#define TELL(name, parameters, check, told, answer)                                                \
    API(name, parameters)                                                                          \
    {                                                                                              \
        OUT(told);                                                                                 \
        TRY(check);                                                                                \
        *told = answer;                                                                            \
        return MPI_SUCCESS;                                                                        \
    }

/* Defines a function that gives an object's handle back, after a check. The object stays as long as
 * it is referred to, and `found` by its handle, if that is what refers to it: that of a persistent
 * request. */
#define GIVE_BACK(name, IN, type, none, found, check)                                              \
    API(name, (type * handle))                                                                     \
    {                                                                                              \
        OUT(handle);                                                                               \
        IN(of, *handle);                                                                           \
        TRY(check);                                                                                \
        TRY(weftmpi_attributes_delete(&of->object));                                               \
        if (!(found))                                                                              \
            weftmpi_drop(*handle);                                                                 \
        weftmpi_leave(of);                                                                         \
        *handle = none;                                                                            \
        return MPI_SUCCESS;                                                                        \
    }

/* Defines the two functions that set and get the name of an object, which IN finds. */
#define NAMES(kind, IN, type)                                                                      \
    API(kind##_set_name, (type handle, const char *name))                                          \
    {                                                                                              \
        OUT(name);                                                                                 \
        IN(of, handle);                                                                            \
        LOCKED;                                                                                    \
        snprintf(of->name, sizeof(of->name), "%s", name);                                          \
        of->unnamed = false;                                                                       \
        return MPI_SUCCESS;                                                                        \
    }                                                                                              \
    API(kind##_get_name, (type handle, char *name, int *length))                                   \
    {                                                                                              \
        OUT(name, length);                                                                         \
        IN(of, handle);                                                                            \
        LOCKED;                                                                                    \
        *length = snprintf(name, MPI_MAX_OBJECT_NAME, "%s", of->unnamed ? "" : of->name);          \
        return MPI_SUCCESS;                                                                        \
    }

/* ---- start.c --------------------------------------------------------------------------------- */

extern struct weftmpi_state {
    weft_job *job;
    int level; /* of threads */
    bool begun, ended;
    pthread_t main_thread;
} weftmpi;

/* ---- handle.c -------------------------------------------------------------------------------- */

/*
 * Allocate memory of the library: zeros, or what was there before (NULL: nothing) with other room;
 * free() is for it. Where there is none the job ends: the other members of a collective would wait
 * for one that got none.
 */
void *weftmpi_zeros(size_t bytes);
void *weftmpi_room(void *before, size_t bytes);

enum weftmpi_kind {
    WEFTMPI_NONE,
    WEFTMPI_COMM,
    WEFTMPI_GROUP,
    WEFTMPI_TYPE,
    WEFTMPI_OP,
    WEFTMPI_INFO,
    WEFTMPI_ERRHANDLER,
    WEFTMPI_REQUEST,
    WEFTMPI_MESSAGE,
    WEFTMPI_TOPOLOGY,
    WEFTMPI_KEYVAL,
    WEFTMPI_WIN
};

struct weftmpi_comm;
struct weftmpi_errhandler;
struct weftmpi_info;
struct weftmpi_attribute; /* attribute.c */

/* The begin of every object. */
struct weftmpi_object {
    void *handle;
    int references;                        /* of the standard's, which stay: whether it is there */
    struct weftmpi_errhandler *errhandler; /* of communicators and windows */
    struct weftmpi_attribute *attributes;  /* of communicators, windows and datatypes */
    struct weftmpi_info *info;             /* of communicators and windows; NULL: no keys */
};

/* Makes an object, zero but for its handle and one reference. Any thread. */
void *weftmpi_make(enum weftmpi_kind kind, size_t bytes);
/* Gives the program the handle of a new object, whose reference it takes. Returns MPI_SUCCESS. */
int weftmpi_give(void *object, void *handle);
/* Frees an object's memory, or keeps it for the next request: it was let go, or nobody knows it
 * yet. */
void weftmpi_unmake(void *object);
/* Objects of the standard, in a row from that handle on, are not counted. */
extern const struct weftmpi_standard {
    uintptr_t first;
    size_t count, bytes;
    void *objects;
} weftmpi_standard[];
static inline bool weftmpi_is_standard(const void *handle)
{
    return (uintptr_t)handle >> 32 == 0;
}
static inline bool weftmpi_is_counted(const void *object)
{
    return object != NULL && !weftmpi_is_standard(((const struct weftmpi_object *)object)->handle);
}
/* Deletes an object's attributes, by the callbacks of their keyvals, whose errors it raises. */
int weftmpi_attributes_delete(struct weftmpi_object *object);
/* _hold adds a reference, and returns the object; _leave drops one: with the last the object is
 * gone. Neither does anything with NULL. */
static inline void *weftmpi_hold(void *object)
{
    if (weftmpi_is_counted(object))
        __atomic_add_fetch(&((struct weftmpi_object *)object)->references, 1, __ATOMIC_RELAXED);
    return object;
}
void weftmpi_release(void *object);
static inline void weftmpi_leave(void *object)
{
    if (weftmpi_is_counted(object))
        weftmpi_release(object);
}
/* HELD, before a pointer: lets the object go at the end of the block. */
#define HELD __attribute__((cleanup(weftmpi_leave_block)))
static inline void weftmpi_leave_block(void *place)
{
    void *object;

    memcpy(&object, place, sizeof(object));
    weftmpi_leave(object);
}
/* Makes a handle none from now on. The object stays as long as it is referred to. */
void weftmpi_drop(void *handle);
/* A handle is the number of a slot, its kind in 4 bits below, and the slot's generation above. */
struct weftmpi_slot {
    struct weftmpi_object *object;
    uint32_t generation; /* of the next handle, once it is free */
    uint32_t next;       /* the next free slot; 0: none */
};
enum { WEFTMPI_CHUNK = 1 << 10, WEFTMPI_CHUNKS = 1 << 18 /* all that 28 bits number */ };
extern struct weftmpi_slot *weftmpi_chunks[WEFTMPI_CHUNKS];
/* Finds the object of a handle; NULL: no handle of that kind, or one that was dropped. */
static inline void *weftmpi_find_made(enum weftmpi_kind kind, const void *handle)
{
    const uint32_t index = (uint32_t)(uintptr_t)handle >> 4;
    const struct weftmpi_slot *chunk = weftmpi_chunks[index / WEFTMPI_CHUNK];
    struct weftmpi_object *object = chunk == NULL ? NULL : chunk[index % WEFTMPI_CHUNK].object;

    return object != NULL && object->handle == handle && ((uintptr_t)handle & 15) == kind &&
                   __atomic_load_n(&object->references, __ATOMIC_RELAXED) != 0
               ? object
               : NULL;
}
static inline void *weftmpi_find(enum weftmpi_kind kind, const void *handle)
{
    const struct weftmpi_standard *of = &weftmpi_standard[kind];
    const uintptr_t i = (uintptr_t)handle - of->first;

    if (!weftmpi_is_standard(handle))
        return weftmpi_find_made(kind, handle);
    struct weftmpi_object *object = (void *)((char *)of->objects + i * of->bytes);
    return i < of->count && object->references != 0 ? object : NULL;
}
/* Returns the handle of the next object in a handle's slot. */
static inline void *weftmpi_next_handle(const void *handle)
{
    const uintptr_t generation = (uintptr_t)handle >> 32, number = (uint32_t)(uintptr_t)handle;

    return (void *)((generation == INT32_MAX ? 1 : generation + 1) << 32 | number);
}
int weftmpi_no_object(enum weftmpi_kind kind);
/* Turn a handle into a number, and a number into its handle, which may be none. */
MPI_Fint weftmpi_to_fortran(const void *handle);
void *weftmpi_from_fortran(MPI_Fint number);
/* OBJECT_IN: the object of a handle: declares it. */
#define OBJECT_IN(name, type, kind, handle)                                                        \
    struct weftmpi_##type *const name = weftmpi_find(kind, handle);                                \
    if ((name) == NULL)                                                                            \
    return weftmpi_no_object(kind)

/* The library's lock, which does nothing unless threads may call together. Recursive. */
extern pthread_mutex_t weftmpi_mutex;
static inline void weftmpi_lock(void)
{
    if (weftmpi.level == MPI_THREAD_MULTIPLE)
        pthread_mutex_lock(&weftmpi_mutex);
}
static inline void weftmpi_unlock(void)
{
    if (weftmpi.level == MPI_THREAD_MULTIPLE)
        pthread_mutex_unlock(&weftmpi_mutex);
}
/* Holds the lock until the end of the block. */
#define LOCKED                                                                                     \
    __attribute__((cleanup(weftmpi_unlock_block), unused)) const bool locked =                     \
        (weftmpi_lock(), true)
static inline void weftmpi_unlock_block(const bool *locked)
{
    (void)locked;
    weftmpi_unlock();
}

/* ---- error.c --------------------------------------------------------------------------------- */

/*
 * The function of MPI that this thread is in, for texts (NULL: for none), and the object whose
 * handler gets its errors: a communicator or window. Without one, or a handler, it is
 * MPI_COMM_WORLD's.
 */
struct weftmpi_call {
    const char *name;
    void *on;
};
extern _Thread_local struct weftmpi_call weftmpi_call
    __attribute__((visibility("hidden"), tls_model("initial-exec")));
/* Begins a function of MPI: what takes its arguments, OUT and all that end in _IN, does so. */
#define ENTER (weftmpi_call = (struct weftmpi_call){.name = __func__})
/* Keeps the call for the end of a block in which the program, or another function of MPI, is
 * called. */
#define CALLS_BACK                                                                                 \
    __attribute__((cleanup(weftmpi_call_again), unused)) const struct weftmpi_call call_now =      \
        weftmpi_call
static inline void weftmpi_call_again(const struct weftmpi_call *call)
{
    weftmpi_call = *call;
}

/*
 * Raises an error of the call: "name: text" is said, and ends the job, or the handler is called.
 * Returns the class.
 */
int weftmpi_fail(int error_class, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Says the text, and ends the job. */
void weftmpi_end_job(int error_class, const char *text) __attribute__((noreturn));
/* Ends this process, whose job has failed or was never opened. */
void weftmpi_exit(int code) __attribute__((noreturn));
/* Raises the error of a status that a call of weft returned, which has said why. Returns the
 * class. */
int weftmpi_raise(weft_status status);
static inline int weftmpi_failed(weft_status status)
{
    return status == WEFT_OK ? MPI_SUCCESS : weftmpi_raise(status);
}
/* Raises an error of a status, as one of the call that began the operation before. */
int weftmpi_failed_in(struct weftmpi_call call, weft_status status);

/* ---- checks: each raises the error and returns its class, or MPI_SUCCESS --------------------- */

/* Checks that `holds`, else raises an error of that class, with that text. */
#define HOLDS(holds, ...) ((holds) ? MPI_SUCCESS : weftmpi_fail(__VA_ARGS__))
int weftmpi_check_rank(int rank, int size);
int weftmpi_not_open(void);
static inline int weftmpi_is_open(void)
{
    return weftmpi.begun && !weftmpi.ended ? MPI_SUCCESS : weftmpi_not_open();
}
#define OPEN_IN TRY((ENTER, weftmpi_is_open()))
/* Raises that there is no place for a result: MPI_COMM_WORLD's error, looked at before any
 * object. */
int weftmpi_no_place(void);
#define PLACES(...)             (ALL_THERE(__VA_ARGS__) ? MPI_SUCCESS : weftmpi_no_place())
#define OUT(...)                TRY((ENTER, PLACES(__VA_ARGS__)))
#define INTO(place, expression) (PLACES(place) == MPI_SUCCESS ? (expression) : MPI_ERR_ARG)
/* Checks that so many numbers, or handles, are where the program says. */
#define LISTED(count, list)                                                                        \
    HOLDS((list) != NULL || (count) <= 0, MPI_ERR_ARG, "%lld at NULL", (long long)(count))

#endif
