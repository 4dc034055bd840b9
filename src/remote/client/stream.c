/* remote/client/stream.c - streams, events, and the calls that calls.def describes whole. */
#include "remote/client/inside.h"

#include <string.h>

/* ---- routes ---------------------------------------------------------------------------------- */

/* Takes a handle into account. False: it belongs elsewhere, or is none. */
static bool take(struct client_route *route, uint64_t handle, enum weft_handle_kind kind)
{
    const int process = weft_handle_process(handle), number = weft_handle_device(handle);

    if (weft_handle_kind_of(handle) != kind || process < 1 || process >= client.links.processes ||
        number >= client.server[process].devices)
        return false;
    struct client_device *device = &client.device[client.server[process].first + number];
    if (kind == WEFT_EVENT && route->fixed) /* any device of the stream's server */
        return route->device->known.process == process;
    if (route->fixed && route->device != device)
        return false;
    route->device = device;
    route->fixed = true;
    return true;
}

CUresult client_route_stream(struct client_route *route, CUstream stream)
{
    static unsigned said;
    const uint64_t handle = (uint64_t)(uintptr_t)stream;

    if (route->device == NULL)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (stream == CU_STREAM_PER_THREAD)
        return client_refuse(&said, "cudaStreamPerThread is not supported on remote GPUs "
                                    "(docs/remote.md#per-thread-default-stream)");
    return weft_is_default(handle) || take(route, handle, WEFT_STREAM) ? CUDA_SUCCESS
                                                                       : CUDA_ERROR_INVALID_HANDLE;
}

/* ---- calls of calls.def, whole ----------------------------------------------------------------
 */

/* As the driver's function takes it. */
#define SIGN_IN(type, name)       , type name
#define SIGN_OUT(type, name)      , type *name
#define SIGN_STREAM(type, name)   , type name
#define SIGN_EVENT(type, name)    , type name
#define SIGN_FUNCTION(type, name) , type name
#define SIGN_NEW(type, name)      , type *name
#define SIGN(kind, type, name)    SIGN_##kind(type, name)

/* Where it leads: a stream, then an event, which may be of any device of the stream's server. */
#define LEAD_IN(name)
#define LEAD_OUT(name)
#define LEAD_STREAM(name)                                                                          \
    if (result == CUDA_SUCCESS)                                                                    \
        result = client_route_stream(&route, name);                                                \
    route.fixed = true;
#define LEAD_EVENT(name)
#define LEAD_FUNCTION(name)
#define LEAD_NEW(name)
#define LEAD(kind, type, name) LEAD_##kind(name)
#define THEN_IN(name)
#define THEN_OUT(name)
#define THEN_STREAM(name)
#define THEN_EVENT(name)                                                                           \
    if (result == CUDA_SUCCESS && !take(&route, WORD(name), WEFT_EVENT))                           \
        result = CUDA_ERROR_INVALID_HANDLE;
#define THEN_FUNCTION(name)
#define THEN_NEW(name)
#define THEN(kind, type, name) THEN_##kind(name)

/* Its word of the request. */
#define PACK_IN(name) words[count++] = (uint64_t)name;
#define PACK_OUT(name)
#define PACK_STREAM(name) words[count++] = WORD(name);
#define PACK_EVENT(name)  words[count++] = WORD(name);
#define PACK_FUNCTION(name)                                                                        \
    if (result == CUDA_SUCCESS)                                                                    \
        result = client_function(route.device, name, &words[count++]);
#define PACK_NEW(name)
#define PACK(kind, type, name) PACK_##kind(name)

/* Its word of the answer. */
#define TAKE_IN(type, name)
#define TAKE_OUT(type, name) *name = (type)answer.words[taken++];
#define TAKE_STREAM(type, name)
#define TAKE_EVENT(type, name)
#define TAKE_FUNCTION(type, name)
#define TAKE_NEW(type, name)   *name = (type)(uintptr_t)answer.words[taken++];
#define TAKE(kind, type, name) TAKE_##kind(type, name)

enum { POST, CALL, QUERY, CHANGE };
#define WEFT_CALL(name, class, ...)                                                                \
    CUresult client_##name(WEFT_LIST(WEFT_EACH(SIGN, __VA_ARGS__)))                                \
    {                                                                                              \
        struct client_route route = {client_now(), false};                                         \
        struct client_call answer = {0};                                                           \
        uint64_t words[WEFT_ANSWER_WORDS] = {0};                                                   \
        uint32_t count = 0, taken = 0;                                                             \
        CUresult result = route.device != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;        \
        WEFT_EACH(LEAD, __VA_ARGS__)                                                               \
        WEFT_EACH(THEN, __VA_ARGS__)                                                               \
        WEFT_EACH(PACK, __VA_ARGS__)                                                               \
        if (result != CUDA_SUCCESS)                                                                \
            return result;                                                                         \
        if ((class) == POST)                                                                       \
            return client_post(route.device, WEFT_CALL_##name, words, count, NULL, 0);             \
        if ((class) == QUERY)                                                                      \
            result = client_query(route.device, WEFT_CALL_##name, words, count, &answer);          \
        else                                                                                       \
            result = client_call(route.device, WEFT_CALL_##name, words, count, NULL, 0, &answer);  \
        if ((class) == CHANGE)                                                                     \
            client_forget_queries();                                                               \
        if (result != CUDA_SUCCESS)                                                                \
            return result;                                                                         \
        WEFT_EACH(TAKE, __VA_ARGS__)                                                               \
        return taken <= answer.count ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN;                          \
    }
#define WEFT_CALL_STUB WEFT_CALL
#define WEFT_CALL_BY_HAND(name, words, extra)
#include "remote/wire/calls.def"

/* ---- by hand --------------------------------------------------------------------------------- */

/* An event of another server is a gate: that server opens it when the event has passed. */
CUresult client_stream_wait_event(CUstream stream, CUevent event, unsigned flags)
{
    struct client_route route = {client_now(), false}, other = {NULL, false};
    CUresult result = client_route_stream(&route, stream);
    uint32_t number;

    if (result == CUDA_SUCCESS && flags != 0)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS && !take(&other, WORD(event), WEFT_EVENT))
        result = CUDA_ERROR_INVALID_HANDLE;
    if (result != CUDA_SUCCESS)
        return result;
    if (other.device->known.process == route.device->known.process)
        return CLIENT_POST(route.device, stream_wait_event, WORD(stream), WORD(event));
    result = client_number(&(struct client_copy){0}, &number);
    if (result == CUDA_SUCCESS)
        result = CLIENT_POST(other.device, signal, number, WORD(event),
                             (uint64_t)route.device->known.process);
    return result == CUDA_SUCCESS
               ? CLIENT_POST(route.device, gate, number, WORD(stream), UINT64_MAX)
               : result;
}

CUresult client_event_elapsed(float *milliseconds, CUevent from, CUevent to)
{
    struct client_route route = {client_now(), false};
    struct client_call answer = {0};

    if (!take(&route, WORD(from), WEFT_EVENT) || !take(&route, WORD(to), WEFT_EVENT))
        return CUDA_ERROR_INVALID_HANDLE;
    const CUresult result = CLIENT_CALL(route.device, event_elapsed, &answer, WORD(from), WORD(to));
    if (result == CUDA_SUCCESS)
        memcpy(milliseconds, &answer.words[0], sizeof(*milliseconds));
    return result;
}
