/*
 * remote/session/array.c - arrays, and the textures and surfaces over them. The driver makes them,
 * and checks what lies within an array; sizes, addresses and handles are checked here. Session's
 * thread only.
 */
#include "remote/session/inside.h"

enum {
    FLAGS = CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_SURFACE_LDST | CUDA_ARRAY3D_CUBEMAP |
            CUDA_ARRAY3D_TEXTURE_GATHER
};

/* ---- arrays ---------------------------------------------------------------------------------- */

/* Returns for how many units an array counts; 0: there are no such arrays. */
static uint64_t units_of(const CUDA_ARRAY3D_DESCRIPTOR *shape)
{
    const uint64_t bytes = weft_texel_bytes(shape->Format, shape->NumChannels);

    if (shape->Width > SESSION_SIDE_MOST || shape->Height > SESSION_SIDE_MOST ||
        shape->Depth > SESSION_SIDE_MOST || (shape->Flags & ~(unsigned)FLAGS) != 0)
        return 0;
    return (shape->Width * (shape->Height != 0 ? shape->Height : 1) *
                (shape->Depth != 0 ? shape->Depth : 1) * bytes +
            SESSION_ARRAY_UNIT - 1) /
           SESSION_ARRAY_UNIT;
}

SESSION_DO(array_create)
{
    const struct weft_session_arena *arena = &session->device[record->device].arena;
    const uint64_t units = units_of(&call->shape);
    CUarray made = NULL;

    if (units == 0 || units > (arena->share - arena->used) / SESSION_ARRAY_UNIT)
        return units == 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = session->table->array_create(&made, &call->shape);
    call->array =
        (CUarray)session_name(session, WEFT_ARRAY, record->device, made, (uint32_t)units, &result);
    return (int)result;
}

/* Destroys an array, once the device is idle. */
static CUresult destroy_now(struct weft_session *session, struct session_wait *wait,
                            CUresult result)
{
    struct weft_place *place = weft_handles_find(&session->handles, WEFT_ARRAY, wait->value);
    const CUresult dropped =
        place != NULL ? session_drop(session, place) : CUDA_ERROR_INVALID_HANDLE;

    return result != CUDA_SUCCESS ? result : dropped;
}

SESSION_DO(array_destroy)
{
    return session_wait_device(session, record->device, record->lane, destroy_now,
                               weft_record_words(record)[0]);
}

CUarray session_array(const struct weft_session *session, int device, CUarray handle)
{
    const struct weft_place *place =
        weft_handles_find(&session->handles, WEFT_ARRAY, (uint64_t)(uintptr_t)handle);

    return place != NULL && place->device == device ? place->object : NULL;
}

/* ---- textures and surfaces ------------------------------------------------------------------- */

/* Checks what a texture is to read, and has the driver's own array in it. */
static bool take_resource(const struct weft_session *session, int device, CUDA_RESOURCE_DESC *r)
{
    const uint64_t bytes =
        weft_texel_bytes(r->res.pitch2D.format, r->res.pitch2D.numChannels); /* as in linear */

    if (r->flags != 0)
        return false;
    switch (r->resType) {
    case CU_RESOURCE_TYPE_ARRAY:
        r->res.array.hArray = session_array(session, device, r->res.array.hArray);
        return r->res.array.hArray != NULL;
    case CU_RESOURCE_TYPE_LINEAR:
    case CU_RESOURCE_TYPE_PITCH2D: /* the end may lie behind an allocation, as the driver allows */
        return bytes != 0 && session_device_of(session, r->res.linear.devPtr, bytes) == device;
    default:
        return false;
    }
}

/* Ends a texture or surface. The program knows it by the driver's number, which its kernels need:
 * that is looked for. */
static CUresult end(struct weft_session *session, int device, enum weft_argument kind,
                    uint64_t number)
{
    for (uint32_t i = 0; i < session->handles.count; i++) {
        struct weft_place *place = &session->handles.places[i];
        if (place->kind == kind && place->device == device &&
            (uint64_t)(uintptr_t)place->object == number)
            return session_drop(session, place);
    }
    return CUDA_ERROR_INVALID_VALUE;
}

#define OF_RESOURCE(name, kind, ...)                                                               \
    SESSION_DO(name##_create)                                                                      \
    {                                                                                              \
        if (!take_resource(session, record->device, &call->resource))                              \
            return CUDA_ERROR_INVALID_VALUE;                                                       \
        CUresult result = session->table->name##_create(&call->name, &call->resource __VA_ARGS__); \
        session_name(session, kind, record->device, (void *)call->name, 0, &result);               \
        return (int)result;                                                                        \
    }                                                                                              \
    SESSION_DO(name##_destroy)                                                                     \
    {                                                                                              \
        return (int)end(session, record->device, kind, call->name);                                \
    }
OF_RESOURCE(texture, WEFT_TEXTURE, , &call->how,
            call->view.format != 0 || call->view.width != 0 ? &call->view : NULL)
OF_RESOURCE(surface, WEFT_SURFACE)
