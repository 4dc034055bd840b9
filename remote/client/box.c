/*
 * remote/client/box.c - copies of rows and boxes, also from and to arrays. Any thread.
 *
 * An array's device copies from and to it, in its own memory and streams. What lies elsewhere goes
 * by way of memory that is allocated there for this copy, row behind row.
 */
#include "remote/client/inside.h"

#include <string.h>

static bool is_array(const struct weft_box_side *side)
{
    return side->type == CU_MEMORYTYPE_ARRAY;
}

/* Copies a box between memory, slice by slice. */
static CUresult copy_slices(const struct weft_box *box, CUstream stream)
{
    static const uint64_t most = 1ull << 48;
    const struct weft_box_side *to = &box->to, *from = &box->from;
    struct weft_box slice = *box;
    CUresult result = CUDA_SUCCESS;

    if (box->rows > 1 && (to->pitch < box->width || from->pitch < box->width ||
                          box->rows > most / (to->pitch | from->pitch)))
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t z = 0; z < box->slices && result == CUDA_SUCCESS; z++) {
        result = client_copy_slice(&slice, stream, false);
        slice.to.device += to->height * to->pitch;
        slice.from.device += from->height * from->pitch;
    }
    return result;
}

static CUresult by_way(const struct weft_box *box, struct client_device *device, CUstream stream)
{
    const bool to_array = is_array(&box->to);
    struct weft_box first = *box, second = *box;
    uint64_t bytes;

    if (__builtin_mul_overflow(box->width, box->rows, &bytes) ||
        __builtin_mul_overflow(bytes, box->slices, &bytes))
        return CUDA_ERROR_INVALID_VALUE;
    first.to = (struct weft_box_side){
        .type = CU_MEMORYTYPE_UNIFIED, .pitch = box->width, .height = box->rows};
    CUresult result = client_alloc_on(device, &first.to.device, bytes);
    if (result != CUDA_SUCCESS)
        return result;
    second.from = first.to;
    result = to_array ? copy_slices(&first, stream) : client_copy_near(device, &first, stream);
    if (result == CUDA_SUCCESS)
        result =
            to_array ? client_copy_near(device, &second, stream) : copy_slices(&second, stream);
    const CUresult freed = client_free_async(first.to.device, stream);
    return result == CUDA_SUCCESS ? freed : result;
}

static bool is_on(const struct weft_box_side *side, const struct client_device *device)
{
    struct client_device *there;

    if (is_array(side))
        return client_device_of(side->array) == device;
    client_find(side->device, 1, &there); /* its session looks at all of it */
    return there == device;
}

/* Copies a box. A side in memory begins at its address; its x, y and z are not used. */
CUresult client_copy_box(const CUDA_MEMCPY3D *copy, CUstream stream)
{
    struct client_route route = {client_now(), false};
    struct weft_box box;
    CUresult result = client_route_stream(&route, stream);

    memcpy(&box, copy, sizeof(box));
    if (result != CUDA_SUCCESS || box.width == 0 || box.rows == 0 || box.slices == 0)
        return result;
    if (!is_array(&box.from) && !is_array(&box.to))
        return copy_slices(&box, stream);
    const bool from = is_on(&box.from, route.device), to = is_on(&box.to, route.device);
    if ((is_array(&box.from) && !from) || (is_array(&box.to) && !to))
        return CUDA_ERROR_INVALID_HANDLE; /* an array of another device */
    if (!from || !to)
        return by_way(&box, route.device, stream);
    result = client_give(route.device, box.to.device, box.from.device);
    if (result == CUDA_SUCCESS)
        result = client_copy_near(route.device, &box, stream);
    client_given();
    return result;
}
