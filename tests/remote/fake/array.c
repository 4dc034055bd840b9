/*
 * fake/array.c - arrays, in memory of the device, and textures and surfaces. Textures are read
 * element by element: there is no filter and no border. Lock held.
 */
#include "fake/inside.h"

#include <stdlib.h>
#include <string.h>

#pragma GCC diagnostic ignored "-Wunused-parameter" /* prototypes are CUDA's */

enum { MOST = 1 << 17 };

struct array {
    struct array *next;
    CUDA_ARRAY3D_DESCRIPTOR shape;
    struct fake_device *device;
    void *memory;
    size_t bytes; /* of an element */
};

struct object { /* a texture, or a surface */
    struct object *next;
    struct fake_device *device;
    uint64_t at, pitch, width, height, depth, bytes; /* of an element; the rest in elements */
    bool surface;
};

static struct array *arrays;
static struct object *objects;

static uint64_t or_one(uint64_t number)
{
    return number != 0 ? number : 1;
}

static struct array *array_of(CUarray handle)
{
    struct array *a = arrays;

    while (a != NULL && a != (struct array *)(void *)handle)
        a = a->next;
    return a;
}

static CUresult create(struct fake_device *device, CUarray *handle,
                       const CUDA_ARRAY3D_DESCRIPTOR *shape)
{
    const size_t bytes = weft_texel_bytes(shape->Format, shape->NumChannels);
    struct array *a = calloc(1, sizeof(*a));

    if (bytes == 0 || shape->Width == 0 || shape->Width > MOST || shape->Height > MOST ||
        shape->Depth > MOST || a == NULL) {
        free(a);
        return CUDA_ERROR_INVALID_VALUE;
    }
    *a = (struct array){.next = arrays, .shape = *shape, .device = device, .bytes = bytes};
    const CUresult result = fake_alloc_global(
        device, shape->Width * or_one(shape->Height) * or_one(shape->Depth) * bytes, &a->memory);
    if (result == CUDA_SUCCESS) {
        arrays = a;
        *handle = (CUarray)(void *)a;
    } else {
        free(a);
    }
    return result;
}

static void drop(struct array **at)
{
    struct array *a = *at;

    *at = a->next;
    free(a);
}

static CUresult destroy(struct fake_device *device, CUarray handle)
{
    struct array **at = &arrays;

    while (*at != NULL && *at != (struct array *)(void *)handle)
        at = &(*at)->next;
    if (*at == NULL)
        return CUDA_ERROR_INVALID_HANDLE;
    const CUresult result = fake_drain_device((*at)->device);
    fake_release((*at)->memory);
    drop(at);
    return result;
}

FAKE_CALL(array_create, (CUarray * array, const CUDA_ARRAY3D_DESCRIPTOR *shape),
          create(device, array, shape))
FAKE_CALL(array_destroy, (CUarray array), destroy(device, array))

bool fake_array_find(CUarray handle, const struct weft_box *box, const struct weft_box_side *side,
                     uint64_t *at, uint64_t *pitch, uint64_t *height)
{
    const struct array *a = array_of(handle);

    if (a == NULL || side->x > a->shape.Width * a->bytes ||
        box->width > a->shape.Width * a->bytes - side->x || side->y > or_one(a->shape.Height) ||
        box->rows > or_one(a->shape.Height) - side->y || side->z > or_one(a->shape.Depth) ||
        box->slices > or_one(a->shape.Depth) - side->z)
        return false;
    *at = (uint64_t)(uintptr_t)a->memory;
    *pitch = a->shape.Width * a->bytes;
    *height = or_one(a->shape.Height);
    return true;
}

/* ---- textures and surfaces ------------------------------------------------------------------- */

static CUresult make(struct fake_device *device, unsigned long long *number,
                     const CUDA_RESOURCE_DESC *r, bool surface)
{
    struct object *o = calloc(1, sizeof(*o));
    const struct array *a =
        r->resType == CU_RESOURCE_TYPE_ARRAY ? array_of(r->res.array.hArray) : NULL;

    if (o == NULL || (a == NULL && (surface || r->resType == CU_RESOURCE_TYPE_ARRAY)) ||
        (a != NULL &&
         (a->device != device || (surface && (a->shape.Flags & CUDA_ARRAY3D_SURFACE_LDST) == 0)))) {
        free(o);
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (a != NULL) {
        *o = (struct object){.at = (uint64_t)(uintptr_t)a->memory,
                             .pitch = a->shape.Width * a->bytes,
                             .width = a->shape.Width,
                             .height = or_one(a->shape.Height),
                             .depth = or_one(a->shape.Depth),
                             .bytes = a->bytes};
    } else {
        const size_t bytes = weft_texel_bytes(r->res.pitch2D.format, r->res.pitch2D.numChannels);
        const bool rows = r->resType == CU_RESOURCE_TYPE_PITCH2D;
        if (bytes == 0 || fake_find((void *)r->res.pitch2D.devPtr, bytes) != FAKE_DEVICE) {
            free(o);
            return CUDA_ERROR_INVALID_VALUE;
        }
        *o = (struct object){.at = r->res.pitch2D.devPtr,
                             .pitch = rows ? r->res.pitch2D.pitchInBytes : 0,
                             .width =
                                 rows ? r->res.pitch2D.width : r->res.linear.sizeInBytes / bytes,
                             .height = rows ? r->res.pitch2D.height : 1,
                             .depth = 1,
                             .bytes = bytes};
    }
    o->device = device;
    o->surface = surface;
    o->next = objects;
    objects = o;
    *number = (unsigned long long)(uintptr_t)o;
    return CUDA_SUCCESS;
}

static CUresult end(uint64_t number, bool surface)
{
    struct object **at = &objects;

    while (*at != NULL && (uint64_t)(uintptr_t)*at != number)
        at = &(*at)->next;
    struct object *o = *at;
    if (o == NULL || o->surface != surface)
        return CUDA_ERROR_INVALID_VALUE;
    *at = o->next;
    free(o);
    return CUDA_SUCCESS;
}

FAKE_CALL(texture_create,
          (CUtexObject * texture, const CUDA_RESOURCE_DESC *resource, const CUDA_TEXTURE_DESC *how,
           const CUDA_RESOURCE_VIEW_DESC *view),
          make(device, texture, resource, false))
FAKE_CALL(texture_destroy, (CUtexObject texture), end(texture, false))
FAKE_CALL(surface_create, (CUsurfObject * surface, const CUDA_RESOURCE_DESC *resource),
          make(device, surface, resource, true))
FAKE_CALL(surface_destroy, (CUsurfObject surface), end(surface, true))

void *fake_texel(uint64_t number, size_t x, size_t y, size_t z)
{
    void *found = NULL;

    weft_lock(&fake.lock);
    for (const struct object *o = objects; o != NULL; o = o->next)
        if ((uint64_t)(uintptr_t)o == number && x < o->width && y < o->height && z < o->depth)
            found = (void *)(uintptr_t)(o->at + (z * o->height + y) * o->pitch + x * o->bytes);
    weft_unlock(&fake.lock);
    return found;
}

void fake_reset_arrays(struct fake_device *device)
{
    for (struct object **at = &objects, *o; (o = *at) != NULL;)
        if (o->device == device) {
            *at = o->next;
            free(o);
        } else {
            at = &o->next;
        }
    for (struct array **at = &arrays; *at != NULL;)
        if ((*at)->device == device) /* its memory goes with the device's */
            drop(at);
        else
            at = &(*at)->next;
}
