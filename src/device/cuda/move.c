/*
 * device/cuda/move.c - copies, stores and marks: each lane is a stream, which does them in order.
 */
#include "device/cuda/cuda_device.h"

#include <string.h>

/*
 * A word or two of the host's, as stores by the stream itself: undivided, and quicker than the copy
 * engine. Only the receive lane's sources are known to be host memory.
 */
static weft_status write_words(struct weft_device *d, enum weft_lane lane, CUdeviceptr target,
                               const unsigned char *source, size_t bytes)
{
    CUresult result = CUDA_SUCCESS;

    for (size_t at = 0; at < bytes && result == CUDA_SUCCESS; at += bytes == 4 ? 4 : 8) {
        uint64_t value = 0;
        memcpy(&value, source + at, bytes == 4 ? 4 : 8);
        result = bytes == 4 ? d->driver->stream_write(d->lanes[lane], target, (uint32_t)value, 0)
                            : d->driver->stream_write_wide(d->lanes[lane], target + at, value, 0);
    }
    return weft_cuda_error(result, "storing");
}

weft_status weft_cuda_copy(struct weft_device *d, enum weft_lane lane, void *target,
                           const void *source, size_t bytes)
{
    const uintptr_t to = (uintptr_t)target;

    if (bytes == 0)
        return WEFT_OK;
    d->driver->context_use(d->context);
    if (lane == WEFT_LANE_RECEIVE &&
        ((bytes == 4 && to % 4 == 0) || ((bytes == 8 || bytes == 16) && to % 8 == 0)))
        return write_words(d, lane, (CUdeviceptr)to, source, bytes);
    return weft_cuda_error(d->driver->copy_async((CUdeviceptr)(uintptr_t)target,
                                                 (CUdeviceptr)(uintptr_t)source, bytes,
                                                 d->lanes[lane]),
                           "copying");
}

weft_status weft_cuda_fill(struct weft_device *d, enum weft_lane lane, uint32_t *target,
                           uint32_t value, size_t words)
{
    d->driver->context_use(d->context);
    return weft_cuda_error(
        d->driver->fill((CUdeviceptr)(uintptr_t)target, value, words, d->lanes[lane]), "filling");
}

weft_status weft_cuda_store(struct weft_device *d, enum weft_lane lane, uint32_t *word,
                            uint32_t value)
{
    d->driver->context_use(d->context);
    return weft_cuda_error(
        d->driver->stream_write(d->lanes[lane], (CUdeviceptr)(uintptr_t)word, value, 0), "storing");
}

weft_status weft_cuda_wait(struct weft_device *d, enum weft_lane lane)
{
    d->driver->context_use(d->context);
    return weft_cuda_error(d->driver->stream_wait(d->lanes[lane]), "copying");
}

weft_status weft_cuda_gather(struct weft_device *d, enum weft_lane lane, void *target,
                             const void *source, size_t pitch, size_t width, size_t rows)
{
    const CUDA_MEMCPY2D rectangle = {.srcMemoryType = CU_MEMORYTYPE_UNIFIED,
                                     .srcDevice = (CUdeviceptr)(uintptr_t)source,
                                     .srcPitch = pitch,
                                     .dstMemoryType = CU_MEMORYTYPE_UNIFIED,
                                     .dstDevice = (CUdeviceptr)(uintptr_t)target,
                                     .dstPitch = width,
                                     .WidthInBytes = width,
                                     .Height = rows};

    if (pitch == width)
        return weft_cuda_copy(d, lane, target, source, width * rows);
    d->driver->context_use(d->context);
    return weft_cuda_error(d->driver->copy_rows(&rectangle, d->lanes[lane]), "copying rows");
}

/*
 * A mark is an event; one that is used again stands for the later mark, whose coming says that the
 * earlier one has been passed, too.
 */
weft_status weft_cuda_mark(struct weft_device *d, enum weft_lane lane, uint64_t *mark)
{
    *mark = d->marks_count[lane]++;
    d->driver->context_use(d->context);
    return weft_cuda_error(
        d->driver->event_record(d->marks[lane][*mark % WEFT_CUDA_MARKS], d->lanes[lane]),
        "marking a stream");
}

weft_status weft_cuda_passed(struct weft_device *d, enum weft_lane lane, uint64_t mark,
                             bool *passed)
{
    d->driver->context_use(d->context);
    const CUresult result = d->driver->event_query(d->marks[lane][mark % WEFT_CUDA_MARKS]);
    *passed = result == CUDA_SUCCESS;
    return result == CUDA_ERROR_NOT_READY ? WEFT_OK : weft_cuda_error(result, "copying");
}

const char *weft_cuda_pin(struct weft_device *d, void *memory, size_t bytes)
{
    const char *reason = NULL;

    d->driver->context_use(d->context);
    const CUresult result = d->driver->host_register(
        memory, bytes, CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP);
    if (result != CUDA_SUCCESS && d->driver->get_error(result, &reason) != CUDA_SUCCESS)
        reason = "unknown error";
    return reason;
}

/* What could not be pinned is refused here, too, which changes nothing. */
void weft_cuda_unpin(struct weft_device *d, void *memory)
{
    d->driver->context_use(d->context);
    d->driver->host_unregister(memory);
}
