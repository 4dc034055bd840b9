/* remote/client/stream.c - streams, events, and the stubs of calls.def. Any thread. */
#include "remote/client/inside.h"

#include <string.h>

/* ---- routes ---------------------------------------------------------------------------------- */

/* Takes a handle into account. False: it belongs elsewhere, or is none. */
static bool take_route(struct client_route *route, uint64_t handle, enum weft_argument kind)
{
    const int process = weft_handle_process(handle), number = weft_handle_device(handle);

    if (weft_handle_kind(handle) != kind || process < 1 || process >= client.links.processes ||
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
    const uint64_t handle = (uint64_t)(uintptr_t)stream;

    if (route->device == NULL)
        return CUDA_ERROR_INVALID_CONTEXT;
    return weft_is_default(handle) || take_route(route, handle, WEFT_STREAM)
               ? CUDA_SUCCESS
               : CUDA_ERROR_INVALID_HANDLE;
}

/* ---- calls of calls.def ---------------------------------------------------------------------- */

struct argument {
    enum weft_argument kind;
    uint64_t word; /* or where its value goes, of so many bytes */
    size_t bytes;
};

/* A stream leads; then an event, which may be of any device of the stream's server. */
static CUresult lead(struct client_route *route, const struct argument *arguments, size_t count)
{
    CUresult result = route->device != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;

    for (size_t i = 0; i < count && result == CUDA_SUCCESS; i++)
        if (arguments[i].kind == WEFT_STREAM) {
            result = client_route_stream(route, (CUstream)arguments[i].word);
            route->fixed = true;
        }
    for (size_t i = 0; i < count && result == CUDA_SUCCESS; i++)
        if (arguments[i].kind == WEFT_EVENT && !take_route(route, arguments[i].word, WEFT_EVENT))
            result = CUDA_ERROR_INVALID_HANDLE;
    return result;
}

static CUresult stub(enum weft_call call, enum weft_class class, const struct argument *arguments,
                     size_t count)
{
    struct client_route route = {client_now(), false};
    struct client_call answer = {0};
    uint64_t words[WEFT_WORDS_MOST] = {0};
    uint32_t asked = 0, taken = 0;
    CUresult result = lead(&route, arguments, count);

    for (size_t i = 0; i < count && result == CUDA_SUCCESS; i++)
        if (arguments[i].kind == WEFT_FUNCTION)
            result = client_function(route.device, (CUfunction)arguments[i].word, &words[asked++]);
        else if (arguments[i].kind < WEFT_OUT)
            words[asked++] = arguments[i].word;
    if (result != CUDA_SUCCESS)
        return result;
    if (class == WEFT_CLASS_POST)
        return client_post(route.device, call, words, asked, NULL, 0);
    result = class == WEFT_CLASS_QUERY
                 ? client_query(route.device, call, words, asked, &answer)
                 : client_call(route.device, call, words, asked, NULL, 0, &answer);
    if (class == WEFT_CLASS_CHANGE)
        client_forget_queries();
    if (result != CUDA_SUCCESS)
        return result;
    if (call == WEFT_CALL_function_set) /* a launch looks at it, and does not wait for its turn */
        client_remember(route.device, WEFT_CALL_function_attribute,
                        (const uint64_t[]){words[1], words[0]}, 2, words[2]);
    if (answer.count < count - asked)
        return CUDA_ERROR_UNKNOWN;
    for (size_t i = 0; i < count; i++)
        if (arguments[i].kind == WEFT_OUT)
            memcpy((void *)arguments[i].word, &answer.words[taken++], arguments[i].bytes);
    return CUDA_SUCCESS;
}

/* As the driver's function takes it. */
#define STAR_IN
#define STAR_STREAM
#define STAR_EVENT
#define STAR_FUNCTION
#define STAR_OUT                   *
#define SIGN(kind, type, name)     , type STAR_##kind name
#define ARGUMENT(kind, type, name) {WEFT_##kind, (uint64_t)name, sizeof(type[1])},

#define WEFT_CALL(name, class, ...)                                                                \
    CUresult client_##name(WEFT_LIST(WEFT_EACH(SIGN, __VA_ARGS__)))                                \
    {                                                                                              \
        const struct argument arguments[] = {WEFT_EACH(ARGUMENT, __VA_ARGS__)};                    \
        return stub(WEFT_CALL_##name, WEFT_CLASS_##class, arguments,                               \
                    sizeof(arguments) / sizeof(arguments[0]));                                     \
    }
#define WEFT_CALL_STUB WEFT_CALL
#define WEFT_CALL_BY_HAND(name, ...)
#include "remote/wire/calls.def"

/* ---- by hand --------------------------------------------------------------------------------- */

CUresult client_stream_attribute(CUstream stream, CUstreamAttrID attribute,
                                 CUstreamAttrValue *value)
{
    struct client_call answer = {.extra = value, .room = sizeof(*value)};
    struct client_route route = {client_now(), false};
    CUresult result = client_route_stream(&route, stream);

    if (result == CUDA_SUCCESS)
        result = CLIENT_CALL(route.device, stream_attribute, &answer, WORD(stream), attribute);
    return result == CUDA_SUCCESS && answer.got != sizeof(*value) ? CUDA_ERROR_UNKNOWN : result;
}

CUresult client_stream_set_attribute(CUstream stream, CUstreamAttrID attribute,
                                     const CUstreamAttrValue *value)
{
    struct client_route route = {client_now(), false};
    const CUresult result = client_route_stream(&route, stream);

    return result == CUDA_SUCCESS
               ? client_post(route.device, WEFT_CALL_stream_set_attribute,
                             CLIENT_WORDS(WORD(stream), attribute), value, sizeof(*value))
               : result;
}

/* An event of another server is a gate: that server opens it when the event has passed. */
CUresult client_stream_wait_event(CUstream stream, CUevent event, unsigned flags)
{
    struct client_route route = {client_now(), false}, other = {NULL, false};
    CUresult result = client_route_stream(&route, stream);
    uint32_t number;

    if (result == CUDA_SUCCESS && flags != 0)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS && !take_route(&other, WORD(event), WEFT_EVENT))
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
