/* remote/table/fake/copy.c - copies and fills of the fake driver. */
#include "remote/table/fake/range.h"

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
    const size_t rows = op->copy.rows,
                 from = rows == 0 ? 0 : (rows - 1) * op->copy.from_pitch + op->copy.bytes,
                 to = rows == 0 ? 0 : (rows - 1) * op->copy.to_pitch + op->copy.bytes;

    if (result != CUDA_SUCCESS || op->copy.bytes == 0 || rows == 0)
        return fake_end(result);
    const enum fake_memory source = fake_find(op->copy.from, from, NULL),
                           target = fake_find(op->copy.to, to, NULL);
    if (op->copy.from == NULL || op->copy.to == NULL ||
        (source == FAKE_NOWHERE && fake_range_at(op->copy.from) != NULL) ||
        (target == FAKE_NOWHERE && fake_range_at(op->copy.to) != NULL))
        return fake_end(
            CUDA_ERROR_INVALID_VALUE); /* no address, or over the end of an allocation */
    if (!peer && (!fake_range_reaches(stream->device, op->copy.from, from, false) ||
                  !fake_range_reaches(stream->device, op->copy.to, to, false)))
        return fake_end(CUDA_ERROR_INVALID_VALUE);
    if (source == FAKE_NOWHERE && target != FAKE_NOWHERE) {
        op->own = malloc(from);
        if (op->own == NULL)
            return fake_end(CUDA_ERROR_OUT_OF_MEMORY);
        memcpy(op->own, op->copy.from, from);
        op->copy.from = op->own;
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
    struct fake_op op = {
        .kind = FAKE_COPY,
        .copy = {.to = (void *)to, .from = (void *)from, .bytes = bytes, .rows = 1}};
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
    const bool is = bytes == 0 || fake_find((void *)address, bytes, NULL) != FAKE_NOWHERE;
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

static unsigned char *side(CUmemorytype type, void *host, CUdeviceptr device, size_t x, size_t y,
                           size_t pitch)
{
    unsigned char *base = type == CU_MEMORYTYPE_HOST ? host : (unsigned char *)device;

    return base + y * pitch + x;
}

CUresult fake_copy_rows(const CUDA_MEMCPY2D *c, CUstream stream)
{
    struct fake_op op = {.kind = FAKE_COPY};

    if (c->srcMemoryType == CU_MEMORYTYPE_ARRAY || c->dstMemoryType == CU_MEMORYTYPE_ARRAY)
        return CUDA_ERROR_NOT_SUPPORTED;
    op.copy.to =
        side(c->dstMemoryType, c->dstHost, c->dstDevice, c->dstXInBytes, c->dstY, c->dstPitch);
    op.copy.from = side(c->srcMemoryType, (void *)c->srcHost, c->srcDevice, c->srcXInBytes, c->srcY,
                        c->srcPitch);
    op.copy.bytes = c->WidthInBytes;
    op.copy.rows = c->Height;
    op.copy.to_pitch = c->dstPitch;
    op.copy.from_pitch = c->srcPitch;
    if (c->Height > 1 && (c->dstPitch < c->WidthInBytes || c->srcPitch < c->WidthInBytes))
        return CUDA_ERROR_INVALID_VALUE;
    return push_copy(stream, &op, false);
}

static CUresult push_fill(CUstream handle, const struct fake_op *op)
{
    struct fake_stream *stream = NULL;
    bool hang = false;
    CUresult result = enter_stream(&stream, handle, "fill", &hang);
    const size_t extent =
        op->fill.rows == 0 ? 0 : (op->fill.rows - 1) * op->fill.pitch + op->fill.width;

    if (result == CUDA_SUCCESS && extent != 0 &&
        (fake_find(op->fill.to, extent, NULL) == FAKE_NOWHERE ||
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
