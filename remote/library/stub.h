/*
 * remote/library/stub.h - rows as functions that a program calls. Before it: STATUS, the library's
 * type of results, and IS(name), its status of that name; after it: rows.
 */
#include "remote/cudart/library.h"
#include "remote/rows/row.h"

static STATUS status_of(cudaError_t error)
{
    switch (error) {
    case cudaSuccess:
        return IS(SUCCESS);
    case cudaErrorInvalidResourceHandle:
    case cudaErrorNoDevice:
    case cudaErrorInitializationError:
        return IS(NOT_INITIALIZED);
    case cudaErrorInvalidValue:
        return IS(INVALID_VALUE);
    case cudaErrorMemoryAllocation:
        return IS(ALLOC_FAILED);
    case cudaErrorNotSupported:
        return IS(NOT_SUPPORTED);
    default:
        return IS(EXECUTION_FAILED);
    }
}

/* The stream of a handle, which is known here. */
#define SET_STREAM(type, set)                                                                      \
    STATUS set(type handle, cudaStream_t stream)                                                   \
    {                                                                                              \
        return status_of(__cudaWeftStream((uint64_t)(uintptr_t)handle, &stream, 1));               \
    }
#define GET_STREAM(type, get)                                                                      \
    STATUS get(type handle, cudaStream_t *stream)                                                  \
    {                                                                                              \
        return stream == NULL                                                                      \
                   ? IS(INVALID_VALUE)                                                             \
                   : status_of(__cudaWeftStream((uint64_t)(uintptr_t)handle, stream, 0));          \
    }

/* Names of statuses as texts, where their list is included (lists/). */
#define X(name)                                                                                    \
    case name:                                                                                     \
        return #name;

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
