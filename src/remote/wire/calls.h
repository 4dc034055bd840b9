/*
 * remote/wire/calls.h - numbers of the calls (calls.def), and handles.
 */
#ifndef WEFT_REMOTE_WIRE_CALLS_H
#define WEFT_REMOTE_WIRE_CALLS_H

#include "remote/table/known.h"

#include <stdbool.h>
#include <stdint.h>

enum weft_call {
    WEFT_CALL_SKIP, /* link/ring.h */
#define WEFT_CALL(name, class, ...)           WEFT_CALL_##name,
#define WEFT_CALL_BY_HAND(name, words, extra) WEFT_CALL_##name,
#include "remote/wire/calls.def"
    WEFT_CALLS
};

/* For each parameter of a line of calls.def: macro(kind, type, name). */
#define WEFT_EACH_1(macro, p)                         macro p
#define WEFT_EACH_2(macro, p, ...)                    macro p WEFT_EACH_1(macro, __VA_ARGS__)
#define WEFT_EACH_3(macro, p, ...)                    macro p WEFT_EACH_2(macro, __VA_ARGS__)
#define WEFT_EACH_4(macro, p, ...)                    macro p WEFT_EACH_3(macro, __VA_ARGS__)
#define WEFT_EACH_5(macro, p, ...)                    macro p WEFT_EACH_4(macro, __VA_ARGS__)
#define WEFT_EACH_PICK(p1, p2, p3, p4, p5, each, ...) each
#define WEFT_EACH(macro, ...)                                                                      \
    WEFT_EACH_PICK(__VA_ARGS__, WEFT_EACH_5, WEFT_EACH_4, WEFT_EACH_3, WEFT_EACH_2, WEFT_EACH_1, ) \
    (macro, __VA_ARGS__)

/* Arguments that begin with a comma each, as a list: the first, empty one is dropped. */
#define WEFT_LIST_(first, ...) __VA_ARGS__
#define WEFT_LIST(...)         WEFT_LIST_(__VA_ARGS__)

/* How many words the request of such a line has. */
#define WEFT_COUNT_IN +1
#define WEFT_COUNT_OUT
#define WEFT_COUNT_STREAM   +1
#define WEFT_COUNT_EVENT    +1
#define WEFT_COUNT_FUNCTION +1
#define WEFT_COUNT_NEW
#define WEFT_COUNT(kind, type, name) WEFT_COUNT_##kind
#define WEFT_WORDS(...)              (0 WEFT_EACH(WEFT_COUNT, __VA_ARGS__))

/* The most of one record. */
enum {
    WEFT_COPY_INSIDE = 64 << 10, /* bytes of a copy that travel inside a record */
    WEFT_PARAMETERS = 32764,     /* bytes of a launch's parameters, CUDA's own limit */
    WEFT_ANSWER_WORDS = 8,
    WEFT_IMAGE_PIECE = 64 << 10,
    WEFT_NAME_MOST = 4096 /* of a kernel */
};

/*
 * A handle: the session's process, device, kind, generation, place in the session's table. Never 0,
 * 1 or 2, which are CUDA's names of the default streams.
 */
enum weft_handle_kind { WEFT_HANDLE_NONE, WEFT_STREAM, WEFT_EVENT, WEFT_FUNCTION, WEFT_LIBRARY };

static inline uint64_t weft_handle(int process, int device, enum weft_handle_kind kind,
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
static inline enum weft_handle_kind weft_handle_kind_of(uint64_t handle)
{
    return (enum weft_handle_kind)(handle >> 48 & 15);
}

/* What a session says of a kernel, behind its handle: how its parameters are laid out. */
enum { WEFT_KERNEL_PARAMETERS = 1024 };
struct weft_parameter {
    uint32_t offset, bytes;
};

/* A stream as CUDA names the default one. */
static inline bool weft_is_default(uint64_t stream)
{
    return stream <= 1;
}

#endif
