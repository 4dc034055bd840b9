/*
 * remote/library/stub.c - one of CUDA's libraries as functions that a program calls. Compiled for
 * each: OF is its name, ROWS the file of its rows, and where its statuses have names, STATUSES the
 * file that lists them, NAME and TEXT the functions that say them. Any thread.
 */
#include "remote/rows/vendor.h"

/* Returns the bytes of a factor of cuBLASLt: its descriptor's number has the type in its upper half
 * (WEFT_ROW_TYPE). */
#define LT_BYTES weft_bytes_of((cudaDataType)((uintptr_t)desc >> 32))

#include "remote/cudart/library.h"
#include "remote/rows/row.h"

/* What a library's functions return. */
#define LIBRARY(name, shared, handle, setter, missing, invalid, stale, memory, refused, failed)    \
    typedef __typeof__(setter((handle)0, NULL)) name##_status;                                     \
    enum {                                                                                         \
        name##_INVALID = invalid,                                                                  \
        name##_STALE = stale,                                                                      \
        name##_MEMORY = memory,                                                                    \
        name##_REFUSED = refused,                                                                  \
        name##_FAILED = failed                                                                     \
    };
#include "remote/rows/all.def"
#define PASTE_(name, what) name##_##what
#define PASTE(name, what)  PASTE_(name, what)
#define STATUS             PASTE(OF, status)

static STATUS status_of(cudaError_t error)
{
    switch (error) {
    case cudaSuccess:
        return (STATUS)0;
    case cudaErrorInvalidResourceHandle:
    case cudaErrorNoDevice:
    case cudaErrorInitializationError:
        return (STATUS)PASTE(OF, STALE);
    case cudaErrorInvalidValue:
        return (STATUS)PASTE(OF, INVALID);
    case cudaErrorMemoryAllocation:
        return (STATUS)PASTE(OF, MEMORY);
    case cudaErrorNotSupported:
        return (STATUS)PASTE(OF, REFUSED);
    default:
        return (STATUS)PASTE(OF, FAILED);
    }
}

#ifdef STATUSES
const char *NAME(STATUS status)
{
    switch (status) {
#define X(name)                                                                                    \
    case name:                                                                                     \
        return #name;
#include STATUSES
    }
    return "unknown";
}
const char *TEXT(STATUS status)
{
    return NAME(status);
}
#endif

#define SIGN(kind, type, name, ...) , type name
#define ARGUMENT(kind_, type, name, ...)                                                           \
    {.kind = WEFT_ROW_##kind_,                                                                     \
     .value = &name,                                                                               \
     .size = sizeof(name) __VA_OPT__(, .bytes = __VA_ARGS__)},

#define ROW(...) ROW_(__VA_ARGS__)
#define ROW_(function_name, ...)                                                                   \
    STATUS function_name(WEFT_LIST(WEFT_EACH(SIGN, __VA_ARGS__)))                                  \
    {                                                                                              \
        const struct weft_row_argument arguments[] = {WEFT_EACH(ARGUMENT, __VA_ARGS__)};           \
        int status = 0;                                                                            \
        const cudaError_t error =                                                                  \
            __cudaWeftLibrary(WEFT_ROW_##function_name, arguments,                                 \
                              sizeof(arguments) / sizeof(arguments[0]), &status);                  \
        return error == cudaSuccess ? (STATUS)status : status_of(error);                           \
    }
#include ROWS
