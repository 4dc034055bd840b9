/*
 * remote/wire/calls.h - numbers of the calls (calls.def), and handles.
 */
#ifndef WEFT_REMOTE_WIRE_CALLS_H
#define WEFT_REMOTE_WIRE_CALLS_H

#include "base/share.h"
#include "remote/table/known.h"

#include <stdbool.h>
#include <stdint.h>

enum weft_call {
    WEFT_CALL_SKIP, /* link/ring.h */
#define WEFT_CALL(name, ...)         WEFT_CALL_##name,
#define WEFT_CALL_BY_HAND(name, ...) WEFT_CALL_##name,
#include "remote/wire/calls.def"
    WEFT_CALLS,
    WEFT_CALL_answer = WEFT_CALLS, /* to the program: its error, in the upper half one of a call
                                    * that nobody waited for, then the call's words */
    WEFT_CALL_output               /* to the program: 1 or 2, and behind it what kernels printed */
};

enum weft_class {
    WEFT_CLASS_CALL,    /* the thread waits for the answer */
    WEFT_CLASS_ASK,     /* a CALL that finds out whether something is done: it is never held */
    WEFT_CLASS_ALL,     /* a CALL that comes after all that its device was given */
    WEFT_CLASS_POST,    /* the thread does not wait; an error comes with a later answer */
    WEFT_CLASS_DATA,    /* a POST, or an END where the thread waits; bytes may follow the words */
    WEFT_CLASS_LIBRARY, /* DATA that comes after all of this class that its device was given */
    WEFT_CLASS_FACT,    /* a CALL that comes after nothing that its stream was given */
    WEFT_CLASS_CHANGE,  /* an END; calls of its function keep their order before and after it */
    WEFT_CLASS_END,     /* a CALL that is answered at once where it is held */
    WEFT_CLASS_BEFORE,  /* a CALL that needs no context of its device */
    WEFT_CLASS_GATE     /* a POST that others wait for: a wrong handle ends the session */
};

/* What an argument is. Handles carry their kind. */
enum weft_argument {
    WEFT_HANDLE_NONE,
    WEFT_STREAM,
    WEFT_EVENT,
    WEFT_FUNCTION,
    WEFT_LIBRARY,
    WEFT_OBJECT, /* what a library of CUDA made */
    WEFT_ARRAY,
    WEFT_TEXTURE,
    WEFT_SURFACE,
    WEFT_IN,
    WEFT_OUT, /* a word of the answer */
    WEFT_GIVE,
    WEFT_TAKE
};

/* Expands macro(kind, type, name) for each argument of a line of calls.def. */
#define WEFT_EACH(macro, ...) __VA_OPT__(WEFT_SCAN(WEFT_EACH_(macro, __VA_ARGS__)))
#define WEFT_EACH_(macro, first, ...)                                                              \
    macro first __VA_OPT__(WEFT_AGAIN WEFT_NOTHING(macro, __VA_ARGS__))
#define WEFT_AGAIN() WEFT_EACH_
#define WEFT_NOTHING ()
/* Scans as often as a line may have arguments: up to 36 times. */
#define WEFT_SCAN(...)   WEFT_SCAN_3(WEFT_SCAN_3(WEFT_SCAN_3(WEFT_SCAN_3(__VA_ARGS__))))
#define WEFT_SCAN_3(...) WEFT_SCAN_2(WEFT_SCAN_2(WEFT_SCAN_2(__VA_ARGS__)))
#define WEFT_SCAN_2(...) WEFT_SCAN_1(WEFT_SCAN_1(WEFT_SCAN_1(__VA_ARGS__)))
#define WEFT_SCAN_1(...) __VA_ARGS__

/* Makes a list of arguments that begin with a comma each: the first, empty one is dropped. */
#define WEFT_LIST_(first, ...) __VA_ARGS__
#define WEFT_LIST(...)         WEFT_LIST_(__VA_ARGS__)

/* Counts the words that the request of a line of calls.def has. */
#define WEFT_COUNT(kind, type, name) +(WEFT_##kind < WEFT_OUT)
#define WEFT_WORDS(...)              (0 WEFT_EACH(WEFT_COUNT, __VA_ARGS__))

/* Counts the bytes of structs that stand behind a request's words. */
#define WEFT_GIVE_BYTES(kind, type, name) +(WEFT_##kind == WEFT_GIVE ? sizeof(type) : 0)
#define WEFT_GIVES(...)                   (0 WEFT_EACH(WEFT_GIVE_BYTES, __VA_ARGS__))

/* The most of one record. */
enum {
    WEFT_COPY_INSIDE = 64 << 10, /* bytes of a copy that travel inside a record */
    WEFT_PARAMETERS = 32764,     /* bytes of a launch's parameters, CUDA's own limit */
    WEFT_WORDS_MOST = 8,         /* words of a request, or of an answer */
    WEFT_IMAGE_PIECE = 64 << 10,
    WEFT_OUTPUT_PIECE = 8 << 10,
    WEFT_NAME_MOST = 4096 /* bytes of a kernel's name */
};

/* Makes a handle: the session's process, device, kind, generation, place in the session's table.
 * Never 0, 1 or 2, which are CUDA's names of the default streams. */
static inline uint64_t weft_handle(int process, int device, enum weft_argument kind,
                                   uint32_t generation, uint32_t place)
{
    return (uint64_t)process << 56 | (uint64_t)device << 52 | (uint64_t)kind << 48 |
           (uint64_t)(generation & 0xffff) << 32 | place;
}
static inline int weft_handle_process(uint64_t handle)
{
    return (int)(handle >> 56);
}
static inline int weft_handle_device(uint64_t handle)
{
    return (int)(handle >> 52 & 15);
}
static inline enum weft_argument weft_handle_kind(uint64_t handle)
{
    return (enum weft_argument)(handle >> 48 & 15);
}

/* What a session says of a kernel, behind its handle: how its parameters are laid out. */
enum { WEFT_KERNEL_PARAMETERS = 1024 };
struct weft_parameter {
    uint32_t offset, bytes;
};

/* Whether a stream is one by which CUDA names the default one. */
static inline bool weft_is_default(uint64_t stream)
{
    return stream <= 1;
}

#endif
