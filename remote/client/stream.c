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

    if (weft_is_default(handle))
        return route->device != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
    return take_route(route, handle, WEFT_STREAM) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

struct client_device *client_device_of(CUarray array)
{
    struct client_route route = {NULL, false};

    return take_route(&route, WORD(array), WEFT_ARRAY) ? route.device : NULL;
}

/* ---- calls of calls.def ---------------------------------------------------------------------- */

enum { GIVEN = 512 }; /* bytes of a request's structs */

struct argument {
    enum weft_argument kind;
    uint64_t word; /* the value, or the address where it is or goes */
    size_t bytes;  /* of the value at that address */
};

/* Finds a call's route. A stream leads, or an array; then an event, which may be of any device of
 * the stream's server. */
static CUresult lead(struct client_route *route, const struct argument *arguments, size_t count)
{
    CUresult result = route->device != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;

    for (size_t i = 0; i < count && result == CUDA_SUCCESS; i++)
        if (arguments[i].kind == WEFT_STREAM) {
            result = client_route_stream(route, (CUstream)arguments[i].word);
            route->fixed = true;
        }
    for (size_t i = 0; i < count && result == CUDA_SUCCESS; i++)
        if ((arguments[i].kind == WEFT_EVENT || arguments[i].kind == WEFT_ARRAY) &&
            !take_route(route, arguments[i].word, arguments[i].kind))
            result = CUDA_ERROR_INVALID_HANDLE;
    return result;
}

static CUresult stub(enum weft_call call, enum weft_class class, const struct argument *arguments,
                     size_t count)
{
    struct client_route route = {client_now(), false};
    struct client_call answer = {0};
    uint64_t words[WEFT_WORDS_MOST] = {0};
    unsigned char given[GIVEN], takes[GIVEN]; /* no memory of the program, under the lock */
    uint32_t asked = 0, bytes = 0, wanted = 0, taken = 0;
    CUresult result = lead(&route, arguments, count);

    for (size_t i = 0; i < count && result == CUDA_SUCCESS; i++) {
        const struct argument *a = &arguments[i];
        wanted += a->kind == WEFT_OUT;
        if (a->kind == WEFT_FUNCTION) {
            result = client_function(route.device, (CUfunction)a->word, &words[asked++]);
        } else if (a->kind < WEFT_OUT) {
            words[asked++] = a->word;
        } else if (a->kind == WEFT_GIVE) {
            memset(given + bytes, 0, a->bytes); /* what NULL stands for */
            if (a->word != 0)
                memcpy(given + bytes, (const void *)a->word, a->bytes);
            bytes += (uint32_t)a->bytes;
        } else if (a->kind == WEFT_TAKE) {
            answer.extra = takes;
            answer.room = (uint32_t)a->bytes;
        }
    }
    if (result != CUDA_SUCCESS)
        return result;
    if (class == WEFT_CLASS_POST || (class == WEFT_CLASS_DATA && wanted == 0))
        return client_post(route.device, call, words, asked, given, bytes);
    result = client_call(route.device, call, words, asked, given, bytes, &answer);
    if (result != CUDA_SUCCESS)
        return result;
    if (call == WEFT_CALL_context_synchronize)
        client_managed_idle(route.device);
    if (call == WEFT_CALL_function_set && /* a launch does not wait until its turn has come */
        words[1] == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)
        __atomic_store_n(&client_function_on(route.device, (CUfunction)arguments[0].word)->shared,
                         (int)words[2], __ATOMIC_RELAXED);
    if (answer.count < wanted || answer.got != answer.room)
        return CUDA_ERROR_UNKNOWN;
    for (size_t i = 0; i < count; i++)
        if (arguments[i].kind == WEFT_OUT)
            memcpy((void *)arguments[i].word, &answer.words[taken++], arguments[i].bytes);
        else if (arguments[i].kind == WEFT_TAKE)
            memcpy((void *)arguments[i].word, takes, arguments[i].bytes);
    const bool tells = wanted == 0 && answer.room == 0 && class != WEFT_CLASS_END;
    return tells ? client_tell(CUDA_SUCCESS) : CUDA_SUCCESS;
}

/* SIGN_ macros: a parameter as the driver's function takes it. */
#define SIGN_IN(type)              type
#define SIGN_STREAM(type)          type
#define SIGN_EVENT(type)           type
#define SIGN_FUNCTION(type)        type
#define SIGN_ARRAY(type)           type
#define SIGN_OUT(type)             type *
#define SIGN_TAKE(type)            type *
#define SIGN_GIVE(type)            const type *
#define SIGN(kind, type, name)     , SIGN_##kind(type) name
#define ARGUMENT(kind, type, name) {WEFT_##kind, (uint64_t)name, sizeof(type[1])},

#define WEFT_CALL(name, class, ...)                                                                \
    CUresult client_##name(WEFT_LIST(WEFT_EACH(SIGN, __VA_ARGS__)))                                \
    {                                                                                              \
        _Static_assert(WEFT_GIVES(__VA_ARGS__) <= GIVEN, "room for its structs");                  \
        const struct argument arguments[] = {WEFT_EACH(ARGUMENT, __VA_ARGS__)};                    \
        return stub(WEFT_CALL_##name, WEFT_CLASS_##class, arguments,                               \
                    sizeof(arguments) / sizeof(arguments[0]));                                     \
    }
#define WEFT_CALL_STUB WEFT_CALL
#define WEFT_CALL_BY_HAND(name, ...)
#include "remote/wire/calls.def"

/* ---- by hand --------------------------------------------------------------------------------- */

CUresult client_stream_synchronize(CUstream stream)
{
    struct client_route route = {client_now(), false};
    const CUresult result = client_route_stream(&route, stream);

    return result == CUDA_SUCCESS ? client_synchronize(route.device, stream) : result;
}

/* Has a stream wait for an event. One of another server is a gate: that server opens it when the
 * event has passed. */
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
