/*
 * remote/library/stub.h - rows as functions that a program calls. Before it: STATUS, the library's
 * type of results, IS(name), its status of that name, and perhaps STATUSES, the file that lists
 * them; after it: rows.
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

#ifdef STATUSES /* their names, as texts */
static const char *name_of(STATUS status)
{
    switch (status) {
#define X(name)                                                                                    \
    case name:                                                                                     \
        return #name;
#include STATUSES
    }
    return "unknown";
}
#define TEXT(function)                                                                             \
    const char *function(STATUS status)                                                            \
    {                                                                                              \
        return name_of(status);                                                                    \
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
