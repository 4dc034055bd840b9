/* remote/session/device.c - a device, its streams and events. Session's thread only. */
#include "base/say.h"
#include "remote/session/inside.h"

#include <stdlib.h>
#include <string.h>

/* What a program on another host cannot have. */
static const bool refused[WEFT_ATTRIBUTES] = {
    [CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS] = true,
    [CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS] = true,
    [CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES] = true,
    [CU_DEVICE_ATTRIBUTE_DIRECT_MANAGED_MEM_ACCESS_FROM_HOST] = true,
    [CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM] = true,
    [CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED] = true,
    [CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED] = true,
    [CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES] = true,
    [CU_DEVICE_ATTRIBUTE_SPARSE_CUDA_ARRAY_SUPPORTED] = true,
    [CU_DEVICE_ATTRIBUTE_DEFERRED_MAPPING_CUDA_ARRAY_SUPPORTED] = true,
    [CU_DEVICE_ATTRIBUTE_TIMELINE_SEMAPHORE_INTEROP_SUPPORTED] = true};

SESSION_DO(facts)
{
    const struct weft_cuda_table *table = session->table;
    const struct session_device *device = &session->device[record->device];
    struct weft_facts *facts = &call->facts;
    int can = 0;
    size_t total = 0;

    CUresult result = table->device_name(facts->name, sizeof(facts->name), device->ordinal);
    if (result == CUDA_SUCCESS)
        result = table->device_uuid((CUuuid *)(void *)facts->uuid, device->ordinal);
    if (result == CUDA_SUCCESS)
        result = table->device_total(&total, device->ordinal);
    if (result == CUDA_SUCCESS)
        result = table->device_pci(facts->pci, sizeof(facts->pci), device->ordinal);
    if (result == CUDA_SUCCESS)
        result = table->driver_version(&facts->driver);
    for (int i = 1; i < WEFT_ATTRIBUTES && i < CU_DEVICE_ATTRIBUTE_MAX; i++) {
        int value = 0; /* an attribute that this driver does not know */
        if (!refused[i])
            (void)table->device_attribute(&value, (CUdevice_attribute)i, device->ordinal);
        facts->attributes[i] = value;
    }
    for (int other = 0; other < session->count; other++)
        if (other != record->device &&
            table->peer_can(&can, device->ordinal, session->device[other].ordinal) ==
                CUDA_SUCCESS &&
            can)
            facts->peers |= 1ull << other;
    const uint64_t limit = session->limits->memory;
    facts->memory = limit != 0 && limit < total ? limit : total;
    facts->devices = session->count;
    return (int)result;
}

/* Enables a peer for variables, which the driver has mapped itself: memory of the arena is
 * reach.c's. */
SESSION_DO(peer_enable)
{
    if (call->peer >= (uint64_t)session->count || call->on > 1)
        return SESSION_WRONG;
    CUresult result = session_use(session, (int)call->peer); /* it has a context */
    if (result == CUDA_SUCCESS)
        result = session_use(session, record->device);
    if (result != CUDA_SUCCESS)
        return (int)result;
    const CUcontext peer = session->device[call->peer].context;
    return (int)(call->on != 0 ? session->table->peer_enable(peer, 0)
                               : session->table->peer_disable(peer));
}

/* Resets a function's limit, as in a new context, which it is to the program: other limits are
 * hints, and stay. */
static void forget_limit(struct weft_session *session, CUfunction function)
{
    enum { ANYWAY = 48 << 10 }; /* bytes of shared memory that a block may have */
    int own = 0;

    if (session->table->function_attribute(&own, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function) ==
        CUDA_SUCCESS)
        session->table->function_set(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                     ANYWAY - own);
}

/* Resets a device, which is idle: what the program made and set there goes. */
static CUresult reset_now(struct weft_session *session, struct session_wait *wait, CUresult result)
{
    struct weft_session_arena *arena = &session->device[wait->device].arena;

    session_use(session, wait->device);
    for (uint32_t i = 0; i < session->handles.count; i++) {
        struct weft_place *place = &session->handles.places[i];
        if (place->device == wait->device &&
            (place->kind == WEFT_STREAM || place->kind == WEFT_EVENT || place->kind >= WEFT_ARRAY))
            session_drop(session, place);
        if (place->device == wait->device && place->kind == WEFT_FUNCTION)
            forget_limit(session, ((const struct session_kernel *)place->object)->function);
    }
    while (arena->blocks.count > 0 &&
           weft_arena_free(arena, arena->blocks.list[0].at) == CUDA_SUCCESS)
        continue;
    return result;
}

SESSION_DO(reset)
{
    return session_wait_device(session, record->device, record->lane, reset_now, 0);
}

/* ---- waiting --------------------------------------------------------------------------------- */

SESSION_DO(context_synchronize)
{
    return session_wait_device(session, record->device, record->lane, NULL, 0);
}

SESSION_DO(stream_synchronize)
{
    return session_wait_stream(session, record->device, record->lane, call->stream, NULL, 0);
}

SESSION_DO(event_synchronize)
{
    return session_wait_event(session, call->event->device, record->lane, call->event->object, NULL,
                              0);
}

#define CREATE(name, KIND, type, ...)                                                              \
    SESSION_DO(name##_create)                                                                      \
    {                                                                                              \
        type made = NULL;                                                                          \
        CUresult result = session->table->name##_create(&made, __VA_ARGS__);                       \
        call->name =                                                                               \
            (type)session_name(session, KIND, record->device, made, call->flags, &result);         \
        return (int)result;                                                                        \
    }
CREATE(stream, WEFT_STREAM, CUstream, call->flags, call->priority)
CREATE(event, WEFT_EVENT, CUevent, call->flags)

/* Records an event. Who waits for it waits for its last record. Where somebody does, the next one
 * goes to another event of the driver's. */
SESSION_DO(event_record)
{
    struct weft_place *place = call->event;

    if (session_event_waited(session, place->object, false)) {
        CUevent next = NULL;
        const CUresult result = session->table->event_create(&next, place->flags);
        if (result != CUDA_SUCCESS)
            return result;
        session_event_destroy(session, place->object);
        place->object = next;
    }
    return session->table->event_record(place->object, call->stream);
}

SESSION_DO(stream_wait_event)
{
    return session->table->stream_wait_event(call->stream, call->event->object, 0);
}

SESSION_DO(stream_destroy)
{
    struct weft_place *place =
        weft_handles_find(&session->handles, WEFT_STREAM, weft_record_words(record)[0]);

    return place != NULL ? session_drop(session, place)
                         : CUDA_ERROR_INVALID_HANDLE; /* a default one */
}

SESSION_DO(event_destroy)
{
    return session_drop(session, call->event);
}

SESSION_DO(bye)
{
    session->ends = true;
    return CUDA_SUCCESS;
}
