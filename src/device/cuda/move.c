/*
 * device/cuda/move.c - copies, stores and marks: each stream of the table is a stream of CUDA,
 * which does them in order. Whoever gives a stream something to do holds the device's lock: while a
 * kernel is being launched nobody does (cuda_device.c).
 */
#include "device/cuda/cuda_device.h"

#include "base/say.h"

#include <string.h>

enum { MOST_PITCH = 1 << 30 }; /* of a rectangle: devices allow up to 2^31 - 1 */

/* Comes before anything else that is done on a stream. Makes the context current, too. */
static CUresult begin_on(struct weft_device *d, enum weft_device_stream stream)
{
    const bool settled =
        stream != WEFT_STREAM_RECEIVE || weft_cuda_lot_settle(d) == WEFT_OK; /* it says why not */

    weft_lock(&d->giving);
    return settled ? d->driver->context_use(d->context) : CUDA_ERROR_UNKNOWN;
}

static weft_status end(struct weft_device *d, CUresult result, const char *what)
{
    weft_unlock(&d->giving);
    return weft_cuda_error(result, what);
}

CUresult weft_cuda_write_word(struct weft_device *d, enum weft_device_stream stream,
                              CUdeviceptr target, const void *source, size_t bytes)
{
    uint32_t half;
    uint64_t word;

    if (bytes == 4) {
        memcpy(&half, source, 4);
        return d->driver->stream_write(d->streams[stream], target, half, 0);
    }
    memcpy(&word, source, 8);
    return d->driver->stream_write_wide(d->streams[stream], target, word, 0);
}

/* Has the stream itself store a word or two of the host's: undivided, and quicker than the copy
 * engine. Only the receive stream's sources are known to be host memory. */
static weft_status store_words(struct weft_device *d, enum weft_device_stream stream,
                               CUdeviceptr target, const unsigned char *source, size_t bytes)
{
    CUresult result = begin_on(d, stream);

    for (size_t at = 0; at < bytes && result == CUDA_SUCCESS; at += 8)
        result = weft_cuda_write_word(d, stream, target + at, source + at, bytes == 4 ? 4 : 8);
    return end(d, result, "storing");
}

/* Copies in halves what the driver refuses: memory of the host's that begins in what is registered
 * with it and ends beyond, whoever registered it. What it refuses for another reason ends with one
 * byte. */
static CUresult copy_parts(struct weft_device *d, enum weft_device_stream stream,
                           unsigned char *target, const unsigned char *source, size_t bytes)
{
    const size_t half = bytes / 2;
    CUresult result = begin_on(d, stream);

    if (result == CUDA_SUCCESS)
        result = d->driver->copy_async((CUdeviceptr)(uintptr_t)target,
                                       (CUdeviceptr)(uintptr_t)source, bytes, d->streams[stream]);
    weft_unlock(&d->giving);
    if (result != CUDA_ERROR_INVALID_VALUE || half == 0)
        return result;
    result = copy_parts(d, stream, target, source, half);
    return result == CUDA_SUCCESS
               ? copy_parts(d, stream, target + half, source + half, bytes - half)
               : result;
}

weft_status weft_cuda_copy(struct weft_device *d, enum weft_device_stream stream, void *target,
                           const void *source, size_t bytes)
{
    const uintptr_t to = (uintptr_t)target;

    if (bytes == 0 ||
        (stream == WEFT_STREAM_RECEIVE && weft_cuda_lot_take(d, to, source, bytes, 0)))
        return WEFT_OK;
    if (stream == WEFT_STREAM_RECEIVE &&
        ((bytes == 4 && to % 4 == 0) || ((bytes == 8 || bytes == 16) && to % 8 == 0)))
        return store_words(d, stream, to, source, bytes);
    const CUresult result = copy_parts(d, stream, target, source, bytes);
    if (result != CUDA_SUCCESS) /* the first parts may be under way, in memory that is given up */
        d->driver->stream_wait(d->streams[stream]);
    return weft_cuda_error(result, "copying");
}

weft_status weft_cuda_fill(struct weft_device *d, enum weft_device_stream stream, uint32_t *target,
                           uint32_t value, size_t words)
{
    CUresult result = begin_on(d, stream);

    if (result == CUDA_SUCCESS)
        result = d->driver->fill((CUdeviceptr)(uintptr_t)target, value, words, d->streams[stream]);
    return end(d, result, "filling");
}

weft_status weft_cuda_store(struct weft_device *d, enum weft_device_stream stream, uint32_t *word,
                            uint32_t value, uint32_t group)
{
    if (stream == WEFT_STREAM_RECEIVE &&
        weft_cuda_lot_take(d, (uintptr_t)word, &value, sizeof(value), group))
        return WEFT_OK;
    return store_words(d, stream, (CUdeviceptr)(uintptr_t)word, (const unsigned char *)&value,
                       sizeof(value));
}

weft_status weft_cuda_wait(struct weft_device *d, enum weft_device_stream stream)
{
    weft_status status = end(d, begin_on(d, stream), "copying");

    if (status == WEFT_OK)
        status = weft_cuda_error(d->driver->stream_wait(d->streams[stream]), "copying");
    if (status == WEFT_OK && stream == WEFT_STREAM_RECEIVE)
        d->filling.by_stream = d->filling.unmarked = false;
    return status;
}

weft_status weft_cuda_gather(struct weft_device *d, enum weft_device_stream stream, void *target,
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
        return weft_cuda_copy(d, stream, target, source, width * rows);
    CUresult result = begin_on(d, stream);
    if (result == CUDA_SUCCESS)
        result = pitch <= MOST_PITCH ? d->driver->copy_rows(&rectangle, d->streams[stream])
                                     : CUDA_ERROR_INVALID_VALUE;
    weft_unlock(&d->giving);
    if (result != CUDA_ERROR_INVALID_VALUE)
        return weft_cuda_error(result, "copying rows");
    for (size_t r = 0; r < rows; r++) /* of which it may refuse some, too */
        WEFT_TRY(weft_cuda_copy(d, stream, (unsigned char *)target + r * width,
                                (const unsigned char *)source + r * pitch, width));
    return WEFT_OK;
}

/* Sets a mark, which is an event; one that is used again stands for the later mark, whose coming
 * says that the earlier one has been passed, too. */
weft_status weft_cuda_mark(struct weft_device *d, enum weft_device_stream stream, uint64_t *mark)
{
    bool event = true;

    *mark = d->marks_count[stream]++;
    if (stream == WEFT_STREAM_RECEIVE) {
        const weft_status status = weft_cuda_lot_mark(d, *mark, &event);
        if (status != WEFT_OK || !event)
            return status;
    }
    CUresult result = begin_on(d, stream);
    if (result == CUDA_SUCCESS)
        result =
            d->driver->event_record(d->marks[stream][*mark % WEFT_CUDA_MARKS], d->streams[stream]);
    if (stream == WEFT_STREAM_RECEIVE)
        d->filling.unmarked = false;
    return end(d, result, "marking a stream");
}

weft_status weft_cuda_passed(struct weft_device *d, enum weft_device_stream stream, uint64_t mark,
                             bool *passed)
{
    *passed = mark < d->marks_passed[stream];
    if (*passed) /* the driver takes 2.5 us to say so, H200 */
        return WEFT_OK;
    if (stream == WEFT_STREAM_RECEIVE) {
        const bool event = d->filling.marks[mark % WEFT_CUDA_MARKS].event;
        const weft_status status = weft_cuda_lot_passed(d, mark, passed);
        if (status == WEFT_OK && *passed && !event)
            d->marks_passed[stream] = mark + 1;
        if (status != WEFT_OK || !*passed || !event)
            return status;
    }
    d->driver->context_use(d->context);
    const CUresult result = d->driver->event_query(d->marks[stream][mark % WEFT_CUDA_MARKS]);
    *passed = result == CUDA_SUCCESS;
    if (*passed)
        d->marks_passed[stream] = mark + 1;
    return result == CUDA_ERROR_NOT_READY ? WEFT_OK : weft_cuda_error(result, "copying");
}

/* Does what streams do most, but for batches of stores and copies of rectangles. */
static weft_status use_lane(struct weft_device *d, enum weft_device_stream stream, uint32_t *there,
                            void *here, size_t bytes)
{
    uint64_t mark;
    weft_status status = weft_cuda_fill(d, stream, there, 0, bytes / 4);

    if (status == WEFT_OK)
        status = weft_cuda_store(d, stream, there, 1, 0);
    if (status == WEFT_OK)
        status = weft_cuda_copy(d, stream, here, there, bytes);
    if (status == WEFT_OK)
        status = weft_cuda_copy(d, stream, there, here, bytes);
    if (status == WEFT_OK)
        status = weft_cuda_mark(d, stream, &mark);
    if (status == WEFT_OK)
        status = weft_cuda_wait(d, stream);
    return status;
}

weft_status weft_cuda_use_streams(struct weft_device *d)
{
    enum { BYTES = 4096 };
    struct weft_share handle;
    uint32_t *there = weft_cuda_alloc(d, BYTES, &handle);
    void *here = weft_cuda_host_alloc(d, BYTES);
    weft_status status =
        there != NULL && here != NULL ? WEFT_OK : WEFT_ERR_MEMORY; /* they say why */
    struct weft_share pooled;
    void *more = weft_cuda_alloc_running(d, BYTES, &pooled); /* the pool's first use */

    for (int stream = 0; stream < WEFT_STREAMS && status == WEFT_OK; stream++)
        status = use_lane(d, stream, there, here, BYTES);
    if (here != NULL)
        weft_cuda_host_free(d, here);
    if (there != NULL)
        weft_cuda_free(d, there, &handle);
    if (more != NULL)
        weft_cuda_free(d, more, &pooled);
    return status;
}
