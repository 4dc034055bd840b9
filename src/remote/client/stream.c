/* remote/client/stream.c - streams, events, and the calls that calls.def describes whole. */
#include "remote/client/inside.h"

#include <string.h>

/* ---- routes ---------------------------------------------------------------------------------- */

bool client_route(struct client_route *route, uint64_t handle, enum weft_handle_kind kind)
{
    const int process = weft_handle_process(handle), number = weft_handle_device(handle);

    if (weft_handle_kind_of(handle) != kind || process < 1 || process >= client.links.processes ||
        number >= client.server[process].devices)
        return false;
    struct client_device *device = &client.device[client.server[process].first + number];
    if (kind == WEFT_EVENT && route->fixed) /* any device of the stream's server */
        return route->device->process == process;
    if (route->fixed && route->device != device)
        return false;
    route->device = device;
    route->fixed = true;
    return true;
}

CUresult client_route_stream(struct client_route *route, CUstream stream)
{
    const uint64_t handle = (uint64_t)(uintptr_t)stream;

    if (route->device == NULL)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (stream == CU_STREAM_PER_THREAD)
        return CUDA_ERROR_NOT_SUPPORTED;
    return weft_is_default(handle) || client_route(route, handle, WEFT_STREAM)
               ? CUDA_SUCCESS
               : CUDA_ERROR_INVALID_HANDLE;
}

/* ---- calls of calls.def, whole ----------------------------------------------------------------
 */

#define WORD(value) ((uint64_t)(uintptr_t)(value))

/* As the driver's function takes it. */
#define SIGN_IN(type, name)         , type name
#define SIGN_OUT(type, name)        , type *name
#define SIGN_STREAM(type, name)     , type name
#define SIGN_EVENT(type, name)      , type name
#define SIGN_FUNCTION(type, name)   , type name
#define SIGN_NEW_STREAM(type, name) , type *name
#define SIGN(kind, type, name)      SIGN_##kind(type, name)

/* Where it leads: streams first, since an event may be of any device of their server. */
#define LEAD_IN(name)
#define LEAD_OUT(name)
#define LEAD_STREAM(name)                                                                          \
    if (result == CUDA_SUCCESS)                                                                    \
        result = client_route_stream(&route, name);
#define LEAD_EVENT(name)                                                                           \
    if (result == CUDA_SUCCESS && !client_route(&route, WORD(name), WEFT_EVENT))                   \
        result = CUDA_ERROR_INVALID_HANDLE;
#define LEAD_FUNCTION(name)
#define LEAD_NEW_STREAM(name)
#define LEAD(kind, type, name) LEAD_##kind(name)

/* Its word of the request. */
#define PACK_IN(name) words[count++] = (uint64_t)name;
#define PACK_OUT(name)
#define PACK_STREAM(name) words[count++] = WORD(name);
#define PACK_EVENT(name)  words[count++] = WORD(name);
#define PACK_FUNCTION(name)                                                                        \
    if (result == CUDA_SUCCESS)                                                                    \
        result = client_function(route.device, name, &words[count++]);
#define PACK_NEW_STREAM(name)
#define PACK(kind, type, name) PACK_##kind(name)

/* Its word of the answer. */
#define TAKE_IN(type, name)
#define TAKE_OUT(type, name) *name = (type)answer.words[taken++];
#define TAKE_STREAM(type, name)
#define TAKE_EVENT(type, name)
#define TAKE_FUNCTION(type, name)
#define TAKE_NEW_STREAM(type, name) *name = (type)(uintptr_t)answer.words[taken++];
#define TAKE(kind, type, name)      TAKE_##kind(type, name)

#define CALL true
#define POST false
#define WEFT_CALL(name, class, ...)                                                                \
    CUresult client_##name(WEFT_LIST(WEFT_EACH(SIGN, __VA_ARGS__)))                                \
    {                                                                                              \
        struct client_route route = {client_now(), false};                                         \
        struct client_call answer = {0};                                                           \
        uint64_t words[WEFT_ANSWER_WORDS] = {0};                                                   \
        uint32_t count = 0, taken = 0;                                                             \
        CUresult result = route.device != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;        \
        WEFT_EACH(LEAD, __VA_ARGS__)                                                               \
        WEFT_EACH(PACK, __VA_ARGS__)                                                               \
        if (result != CUDA_SUCCESS)                                                                \
            return result;                                                                         \
        if (!class)                                                                                \
            return client_post(route.device, WEFT_CALL_##name, words, count, NULL, 0);             \
        result = client_call(route.device, WEFT_CALL_##name, words, count, NULL, 0, &answer);      \
        if (result != CUDA_SUCCESS)                                                                \
            return result;                                                                         \
        WEFT_EACH(TAKE, __VA_ARGS__)                                                               \
        return taken <= answer.count ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN;                          \
    }
#define WEFT_CALL_BY_HAND(name, words, extra)
#include "remote/wire/calls.def"

/* ---- by hand --------------------------------------------------------------------------------- */

CUresult client_stream_synchronize(CUstream stream)
{
    struct client_route route = {client_now(), false};
    const CUresult result = client_route_stream(&route, stream);

    return result == CUDA_SUCCESS ? client_call(route.device, WEFT_CALL_stream_synchronize,
                                                &(uint64_t){WORD(stream)}, 1, NULL, 0, NULL)
                                  : result;
}

static CUresult call_with(uint64_t handle, enum weft_handle_kind kind, enum weft_call call)
{
    struct client_route route = {client_now(), false};

    return client_route(&route, handle, kind)
               ? client_call(route.device, call, &handle, 1, NULL, 0, NULL)
               : CUDA_ERROR_INVALID_HANDLE;
}

CUresult client_stream_destroy(CUstream stream)
{
    return call_with(WORD(stream), WEFT_STREAM, WEFT_CALL_stream_destroy);
}

CUresult client_event_destroy(CUevent event)
{
    return call_with(WORD(event), WEFT_EVENT, WEFT_CALL_event_destroy);
}

CUresult client_event_synchronize(CUevent event)
{
    return call_with(WORD(event), WEFT_EVENT, WEFT_CALL_event_synchronize);
}

CUresult client_event_create(CUevent *event, unsigned flags)
{
    struct client_call answer = {0};

    if (client_now() == NULL)
        return CUDA_ERROR_INVALID_CONTEXT;
    const CUresult result =
        client_call(client_now(), WEFT_CALL_event_create, &(uint64_t){flags}, 1, NULL, 0, &answer);
    if (result == CUDA_SUCCESS)
        *event = (CUevent)(uintptr_t)answer.words[0];
    return result;
}

CUresult client_event_record(CUevent event, CUstream stream)
{
    const uint64_t words[] = {WORD(event), WORD(stream)};
    struct client_route route = {client_now(), false};
    const CUresult result = client_route_stream(&route, stream);

    if (result != CUDA_SUCCESS)
        return result;
    route.fixed = true; /* the event has to be of the stream's server */
    return client_route(&route, words[0], WEFT_EVENT)
               ? client_post(route.device, WEFT_CALL_event_record, words, 2, NULL, 0)
               : CUDA_ERROR_INVALID_HANDLE;
}

/* An event of another server is a gate: that server opens it when the event has passed. */
CUresult client_stream_wait_event(CUstream stream, CUevent event, unsigned flags)
{
    struct client_route route = {client_now(), false}, other = {NULL, false};
    CUresult result = client_route_stream(&route, stream);
    uint32_t number;

    if (result == CUDA_SUCCESS && flags != 0)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS && !client_route(&other, WORD(event), WEFT_EVENT))
        result = CUDA_ERROR_INVALID_HANDLE;
    if (result != CUDA_SUCCESS)
        return result;
    if (other.device->process == route.device->process) {
        const uint64_t words[] = {WORD(stream), WORD(event)};
        return client_post(route.device, WEFT_CALL_stream_wait_event, words, 2, NULL, 0);
    }
    result = client_number(&(struct client_copy){0}, &number);
    if (result != CUDA_SUCCESS)
        return result;
    const uint64_t signal[] = {number, WORD(event), (uint64_t)route.device->process},
                   gate[] = {number, WORD(stream), UINT64_MAX};
    result = client_post(other.device, WEFT_CALL_signal, signal, 3, NULL, 0);
    return result == CUDA_SUCCESS ? client_post(route.device, WEFT_CALL_gate, gate, 3, NULL, 0)
                                  : result;
}

CUresult client_event_elapsed(float *milliseconds, CUevent from, CUevent to)
{
    struct client_route route = {client_now(), false};
    struct client_call answer = {0};
    const uint64_t words[] = {WORD(from), WORD(to)};

    if (!client_route(&route, words[0], WEFT_EVENT) || !client_route(&route, words[1], WEFT_EVENT))
        return CUDA_ERROR_INVALID_HANDLE;
    const CUresult result =
        client_call(route.device, WEFT_CALL_event_elapsed, words, 2, NULL, 0, &answer);
    if (result == CUDA_SUCCESS)
        memcpy(milliseconds, &answer.words[0], sizeof(*milliseconds));
    return result;
}
