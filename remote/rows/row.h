/*
 * remote/rows/row.h - a function of a library as a row: ROW(name, arguments...). An argument is
 * (kind, type of the parameter, name), of some kinds (kind, type, name, bytes).
 *
 *   IN       a value: a number, an enumerator
 *   DEVICE   a pointer into the program's device memory, or NULL
 *   OBJECT   what NEW made
 *   DROP     an object that ends
 *   NEW      where the function writes the object that it makes, of so many bytes
 *   GIVE     so many bytes of the host that it reads
 *   TAKE     so many bytes of the host that it writes
 *   BOTH     so many bytes of the host that it reads, and writes, also where it fails
 *   SCALAR, RESULT, UPDATE  the same, on the host or on the device
 *   STREAM   the stream of this call alone
 *   SET_STREAM, GET_STREAM  that of the object's later calls, which the program knows: it sends
 *            nothing
 *   MODE     a value: whether managed memory of the object's later SCALAR, RESULT and UPDATE means
 *            the device's
 *   TYPE     a value that the program's name of the object made here has in its upper half
 *
 * The first OBJECT's stream orders the call. A call that gives nothing back is not waited for.
 */
#ifndef WEFT_REMOTE_ROWS_ROW_H
#define WEFT_REMOTE_ROWS_ROW_H

#include "remote/link/ring.h"
#include "remote/wire/calls.h"

#include <stdbool.h>
#include <stdint.h>

enum weft_row_kind {
    WEFT_ROW_IN,
    WEFT_ROW_DEVICE,
    WEFT_ROW_OBJECT,
    WEFT_ROW_NEW,
    WEFT_ROW_DROP,
    WEFT_ROW_GIVE,
    WEFT_ROW_TAKE,
    WEFT_ROW_BOTH,
    WEFT_ROW_SCALAR,
    WEFT_ROW_RESULT,
    WEFT_ROW_UPDATE,
    WEFT_ROW_STREAM,
    WEFT_ROW_SET_STREAM,
    WEFT_ROW_GET_STREAM,
    WEFT_ROW_MODE,
    WEFT_ROW_TYPE
};

/* Whether a function reads memory of that kind, and whether it writes it. One that does both writes
 * also where it fails. */
static inline bool weft_row_gives(enum weft_row_kind kind)
{
    return kind != WEFT_ROW_TAKE && kind != WEFT_ROW_RESULT;
}
static inline bool weft_row_takes(enum weft_row_kind kind)
{
    return kind != WEFT_ROW_GIVE && kind != WEFT_ROW_SCALAR;
}

/* An argument as a stub has it. */
struct weft_row_argument {
    enum weft_row_kind kind;
    uint32_t size;     /* bytes of the parameter */
    const void *value; /* where the parameter is */
    uint64_t bytes;    /* of the memory at the parameter, or of what NEW makes */
};

/* How it travels: a word each; NEW and streams have none. Host memory is this word, and what is
 * read of it stands behind all words, each at a multiple of WEFT_RECORD_UNIT, as what is written in
 * the answer. */
enum { WEFT_ROW_INSIDE = 1, WEFT_ROW_TAKES = 8 << 10 /* bytes */ };

static inline uint64_t weft_row_room(uint64_t bytes)
{
    return (bytes + WEFT_RECORD_UNIT - 1) / WEFT_RECORD_UNIT * WEFT_RECORD_UNIT;
}

enum weft_library {
    WEFT_LIBRARY_cublas,
    WEFT_LIBRARY_cusolver,
    WEFT_LIBRARY_cufft,
    WEFT_LIBRARY_curand,
    WEFT_LIBRARY_cusparse,
    WEFT_LIBRARY_cublasLt,
    WEFT_LIBRARIES
};

/* Numbers of a library's rows, whichever other ones a build has. */
enum { WEFT_ROWS_EACH = 1024, WEFT_ROWS = WEFT_LIBRARIES * WEFT_ROWS_EACH };
enum weft_row {
#define LIBRARY(name, ...) WEFT_ROWS_before_##name = WEFT_LIBRARY_##name * WEFT_ROWS_EACH - 1,
#define ROW(...)           ROW_(__VA_ARGS__)
#define ROW_(name, ...)    WEFT_ROW_##name,
#include "remote/rows/all.def"
};

#endif
