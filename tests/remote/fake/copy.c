/* fake/copy.c - copies and fills of the fake driver. Lock held. */
#include "fake/inside.h"

#include <stdlib.h>
#include <string.h>

#pragma GCC diagnostic ignored "-Wunused-parameter" /* prototypes are CUDA's */

/* Enters, finds the stream, and lets a fault of that name happen. The lock is held after it. */
static CUresult enter_stream(struct fake_stream **stream, CUstream handle, const char *name,
                             bool *hang)
{
    CUresult result = fake_enter_stream(stream, handle);

    if (result == CUDA_SUCCESS && (result = fake_fault(name, hang)) != CUDA_SUCCESS)
        (*stream)->device->error = result; /* as an operation that fails: the context is lost */
    return result;
}

/*
 * A copy of rows. What lies in pageable memory is read now; what goes there is there on return, as
 * with the driver. The stream's device must reach what is mapped, unless it is a peer copy.
 */
static CUresult push_copy(CUstream handle, struct fake_op *op, bool peer)
{
    struct fake_stream *stream = NULL;
    bool hang = false;
    CUresult result = enter_stream(&stream, handle, "copy", &hang);
    struct fake_rows *c = &op->copy;
    const void *from = (const void *)c->from, *to = (const void *)c->to;

    if (result != CUDA_SUCCESS || c->width == 0 || c->rows == 0)
        return fake_end(result);
    const size_t from_bytes = (c->rows - 1) * c->from_pitch + c->width,
                 to_bytes = (c->rows - 1) * c->to_pitch + c->width;
    const enum fake_memory source = fake_find(from, from_bytes), target = fake_find(to, to_bytes);
    if (from == NULL || to == NULL || (source == FAKE_NOWHERE && fake_range_at(from) != NULL) ||
        (target == FAKE_NOWHERE && fake_range_at(to) != NULL)) /* over the end of an allocation */
        return fake_end(CUDA_ERROR_INVALID_VALUE);
    if (!peer && (!fake_range_reaches(stream->device, from, from_bytes, false) ||
                  !fake_range_reaches(stream->device, to, to_bytes, false)))
        return fake_end(CUDA_ERROR_INVALID_VALUE);
    if (source == FAKE_NOWHERE && target != FAKE_NOWHERE) {
        op->own = malloc(from_bytes);
        if (op->own == NULL)
            return fake_end(CUDA_ERROR_OUT_OF_MEMORY);
        memcpy(op->own, from, from_bytes);
        c->from = (uint64_t)(uintptr_t)op->own;
    }
    if (hang)
        op->kind = FAKE_HANG;
    result = fake_push(stream, op);
    if (result == CUDA_SUCCESS && target == FAKE_NOWHERE)
        result = fake_drain(stream);
    return fake_end(result);
}

static CUresult copy_plain(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream,
                           bool peer)
{
    struct fake_op op = {.kind = FAKE_COPY,
                         .copy = {.to = to, .from = from, .width = bytes, .rows = 1}};
    return push_copy(stream, &op, peer);
}

CUresult fake_copy_async(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    return copy_plain(to, from, bytes, stream, false);
}

CUresult fake_copy(CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
    CUresult result = fake_copy_async(to, from, bytes, NULL);

    return result == CUDA_SUCCESS ? fake_stream_synchronize(NULL) : result;
}

/* The side that has to be a device's. */
static bool on_device(CUdeviceptr address, size_t bytes)
{
    fake_begin();
    const bool is = bytes == 0 || fake_find((void *)address, bytes) != FAKE_NOWHERE;
    fake_end(CUDA_SUCCESS);
    return is;
}

CUresult fake_copy_peer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
                        CUcontext from_context, size_t bytes, CUstream stream)
{
    return on_device(to, bytes) && on_device(from, bytes)
               ? copy_plain(to, from, bytes, stream, true)
               : CUDA_ERROR_INVALID_VALUE;
}

/* Where a slice of one side begins, and its pitch. */
static bool find_slice(const struct weft_box *box, const struct weft_box_side *side, size_t z,
                       uint64_t *at, uint64_t *pitch)
{
    uint64_t height = side->height;

    *at = side->device;
    *pitch = side->pitch;
    if (side->type == CU_MEMORYTYPE_ARRAY &&
        !fake_array_find(side->array, box, side, at, pitch, &height))
        return false;
    *at += ((side->z + z) * height + side->y) * *pitch + side->x;
    return side->type == CU_MEMORYTYPE_ARRAY || side->type == CU_MEMORYTYPE_UNIFIED;
}

/* A copy of rows for each slice. */
CUresult fake_copy_box(const CUDA_MEMCPY3D *copy, CUstream stream)
{
    CUresult result = CUDA_SUCCESS;
    struct weft_box box;

    memcpy(&box, copy, sizeof(box));
    for (size_t z = 0; z < box.slices && result == CUDA_SUCCESS; z++) {
        struct fake_op op = {.kind = FAKE_COPY, .copy = {.width = box.width, .rows = box.rows}};
        fake_begin();
        const bool good = find_slice(&box, &box.from, z, &op.copy.from, &op.copy.from_pitch) &&
                          find_slice(&box, &box.to, z, &op.copy.to, &op.copy.to_pitch);
        fake_end(CUDA_SUCCESS);
        result = good ? push_copy(stream, &op, false) : CUDA_ERROR_INVALID_VALUE;
    }
    return result;
}

static CUresult push_fill(CUstream handle, const struct fake_op *op)
{
    struct fake_stream *stream = NULL;
    bool hang = false;
    CUresult result = enter_stream(&stream, handle, "fill", &hang);
    const size_t extent =
        op->fill.rows == 0 ? 0 : (op->fill.rows - 1) * op->fill.pitch + op->fill.width;

    if (result == CUDA_SUCCESS && extent != 0 &&
        (fake_find(op->fill.to, extent) == FAKE_NOWHERE ||
         !fake_range_reaches(stream->device, op->fill.to, extent, false)))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS && extent != 0)
        result = fake_push(stream, op);
    return fake_end(result);
}

CUresult fake_fill8_rows(CUdeviceptr to, size_t pitch, unsigned char value, size_t width,
                         size_t rows, CUstream stream)
{
    return push_fill(
        stream,
        &(struct fake_op){
            .kind = FAKE_FILL,
            .fill = {
                .to = (void *)to, .width = width, .rows = rows, .pitch = pitch, .value = value}});
}

CUresult fake_fill8(CUdeviceptr to, unsigned char value, size_t count, CUstream stream)
{
    return fake_fill8_rows(to, count, value, count, 1, stream);
}
