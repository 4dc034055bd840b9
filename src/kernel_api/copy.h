/*
 * kernel_api/copy.h - moving bytes into memory that this process maps, by the rank's own threads.
 */
#ifndef WEFT_KERNEL_API_COPY_H
#define WEFT_KERNEL_API_COPY_H

#include "kernel_api/route.h"

/* A put's shape: `height` rows of `width` bytes; one row when it is contiguous. */
struct weft_shape {
    size_t width, height, pitch, source_pitch;
};

#ifdef __CUDACC__

/* Up to so much is copied by one warp, which spares the rank a barrier before the notification. */
enum { WEFT_WARP_BYTES = 1024 };

/* Elements of one size; several loads of a thread are under way at once. */
template <class T>
static __device__ __forceinline__ void weft_copy_items(unsigned char *target,
                                                       const unsigned char *source, size_t count,
                                                       unsigned thread, unsigned threads)
{
    enum { DEEP = 8 };
    T *to = (T *)target;
    const T *from = (const T *)source;
    size_t i = thread;

    for (; i + (DEEP - 1) * (size_t)threads < count; i += DEEP * (size_t)threads) {
        T item[DEEP];
#pragma unroll
        for (int k = 0; k < DEEP; k++)
            item[k] = from[i + k * (size_t)threads];
#pragma unroll
        for (int k = 0; k < DEEP; k++)
            to[i + k * (size_t)threads] = item[k];
    }
    if (i >= count)
        return;
    /* The rest; beyond the end the last one again: loads without a branch do not wait for each
     * other. */
    T item[DEEP];
#pragma unroll
    for (int k = 0; k < DEEP; k++) {
        const size_t at = i + k * (size_t)threads;
        item[k] = from[at < count ? at : count - 1];
    }
#pragma unroll
    for (int k = 0; k < DEEP; k++) {
        const size_t at = i + k * (size_t)threads;
        if (at < count)
            to[at] = item[k];
    }
}

/* The widest items at which target and source are aligned alike; the ends byte by byte. */
WEFT_COLD void weft_copy_row(unsigned char *target, const unsigned char *source, size_t bytes,
                             unsigned thread, unsigned threads)
{
    const uintptr_t apart = (uintptr_t)target ^ (uintptr_t)source;
    const unsigned shift = (apart & 15) == 0 ? 4 : (apart & 7) == 0 ? 3 : (apart & 3) == 0 ? 2 : 0;
    const unsigned size = 1u << shift; /* a division takes some hundred instructions */
    size_t head = (size_t)(-(intptr_t)(uintptr_t)target & (size - 1));

    if (head > bytes)
        head = bytes;
    const size_t items = (bytes - head) >> shift, tail = head + (items << shift);
    for (size_t i = thread; i < head; i += threads)
        target[i] = source[i];
    if (size == 16)
        weft_copy_items<uint4>(target + head, source + head, items, thread, threads);
    else if (size == 8)
        weft_copy_items<uint64_t>(target + head, source + head, items, thread, threads);
    else if (size == 4)
        weft_copy_items<uint32_t>(target + head, source + head, items, thread, threads);
    else
        weft_copy_items<unsigned char>(target + head, source + head, items, thread, threads);
    for (size_t i = tail + thread; i < bytes; i += threads)
        target[i] = source[i];
}

/* The first warp alone: two items a lane at most, where target, source and size are aligned. */
WEFT_INLINE void weft_copy_by_warp(unsigned char *target, const unsigned char *from, size_t bytes)
{
    const unsigned items = (unsigned)(bytes / 16), thread = threadIdx.x, second = thread + 32;
    uint4 item[2];

    if (thread < items)
        item[0] = ((const uint4 *)from)[thread];
    if (second < items)
        item[1] = ((const uint4 *)from)[second];
    if (thread < items)
        ((uint4 *)target)[thread] = item[0];
    if (second < items)
        ((uint4 *)target)[second] = item[1];
    __syncwarp();
}

WEFT_COLD uint64_t weft_load_bytes(const unsigned char *from, size_t bytes)
{
    uint64_t value = 0;

    for (size_t i = 0; i < bytes; i++)
        value |= (uint64_t)from[i] << 8 * i;
    return value;
}

/* One store of one thread. It carries what an earlier weft_fence of this thread ordered. */
static __device__ __forceinline__ void weft_copy_undivided(unsigned char *target,
                                                           const unsigned char *from, size_t bytes)
{
    const bool aligned = ((uintptr_t)from & (bytes - 1)) == 0;
    uint64_t value = 0;

    if (!aligned)
        value = weft_load_bytes(from, bytes);
    else if (bytes == 8)
        value = *(const uint64_t *)from;
    else if (bytes == 4)
        value = *(const uint32_t *)from;
    else
        value = bytes == 2 ? *(const uint16_t *)from : *from;
    if (bytes == 8)
        weft_store_relaxed_u64((uint64_t *)target, value);
    else if (bytes == 4)
        weft_store_relaxed_u32((uint32_t *)target, (uint32_t)value);
    else if (bytes == 2)
        *(volatile uint16_t *)target = (uint16_t)value;
    else
        *(volatile unsigned char *)target = (unsigned char)value;
}

/*
 * Rows of whole items, as one sequence of them: several loads of a thread are under way at once,
 * however short the rows are.
 */
template <class T>
static __device__ __forceinline__ void
weft_copy_rows(unsigned char *target, const unsigned char *from, const struct weft_shape *shape,
               unsigned thread, unsigned threads)
{
    enum { DEEP = 8 };
    const uint32_t items = (uint32_t)(shape->width / sizeof(T));
    const uint32_t count = items * (uint32_t)shape->height;

    for (uint32_t first = thread; first < count; first += DEEP * threads) {
        T item[DEEP];
#pragma unroll
        for (int k = 0; k < DEEP; k++) { /* beyond the end the last one again */
            const uint32_t i = first + k * threads, at = i < count ? i : count - 1;
            item[k] = ((const T *)(from + at / items * shape->source_pitch))[at % items];
        }
#pragma unroll
        for (int k = 0; k < DEEP; k++) {
            const uint32_t i = first + k * threads;
            if (i < count)
                ((T *)(target + i / items * shape->pitch))[i % items] = item[k];
        }
    }
}

/* The widest items of which all rows are made; false: rows are not alike, or too many to count. */
static __device__ __forceinline__ bool weft_copy_even_rows(unsigned char *target,
                                                           const unsigned char *from,
                                                           const struct weft_shape *shape,
                                                           unsigned thread, unsigned threads)
{
    const uintptr_t all =
        (uintptr_t)target | (uintptr_t)from | shape->width | shape->pitch | shape->source_pitch;

    if ((all & 3) != 0 || shape->width > 65536 || shape->height > 65536)
        return false;
    if ((all & 15) == 0)
        weft_copy_rows<uint4>(target, from, shape, thread, threads);
    else if ((all & 7) == 0)
        weft_copy_rows<uint64_t>(target, from, shape, thread, threads);
    else
        weft_copy_rows<uint32_t>(target, from, shape, thread, threads);
    return true;
}

/* Whatever has no shorter way; by all threads. */
WEFT_COLD void weft_copy_any(unsigned char *target, const unsigned char *from,
                             struct weft_shape shape)
{
    const unsigned thread = threadIdx.x, threads = blockDim.x;

    if (shape.height == 1) {
        weft_copy_row(target, from, shape.width, thread, threads);
        return;
    }
    if (weft_copy_even_rows(target, from, &shape, thread, threads))
        return;
    /* Narrow rows: a warp each. Wide ones: all threads together. */
    const unsigned lanes = shape.width < 1024 && threads > 32 ? 32 : threads;
    const unsigned groups = threads / lanes, group = thread / lanes;
    for (size_t row = group; group < groups && row < shape.height; row += groups)
        weft_copy_row(target + row * shape.pitch, from + row * shape.source_pitch, shape.width,
                      thread % lanes, lanes);
}

/*
 * Copies into mapped memory; the same address: nothing to copy. True: the first warp did it alone,
 * and what it stored is ordered before what its first thread does next.
 */
static __device__ __forceinline__ bool weft_copy_direct(weft_self *self, unsigned char *target,
                                                        const void *source,
                                                        const struct weft_shape *shape)
{
    const unsigned char *from = (const unsigned char *)source;

    (void)self;
    if (shape->width == 0 ||
        (target == from && (shape->height == 1 || shape->pitch == shape->source_pitch)))
        return true;
    if (shape->height == 1 && weft_is_small(target, shape->width)) {
        if (threadIdx.x == 0)
            weft_copy_undivided(target, from, shape->width);
        return true;
    }
    if (shape->height == 1 && shape->width <= WEFT_WARP_BYTES && blockDim.x >= 32 &&
        (((uintptr_t)target | (uintptr_t)from | shape->width) & 15) == 0) {
        if (threadIdx.x < 32)
            weft_copy_by_warp(target, from, shape->width);
        return true;
    }
    if (shape->height == 1 && (((uintptr_t)target | (uintptr_t)from | shape->width) & 15) == 0)
        weft_copy_items<uint4>(target, from, shape->width / 16, threadIdx.x, blockDim.x);
    else
        weft_copy_any(target, from, *shape);
    return false;
}

#else

static inline bool weft_copy_direct(weft_self *self, unsigned char *target, const void *source,
                                    const struct weft_shape *shape)
{
    const unsigned char *from = source;

    if (shape->width == 0 ||
        (target == from && (shape->height == 1 || shape->pitch == shape->source_pitch)))
        return true;
    if (self->state->copy != NULL) { /* the host program, and memory that only a device reaches */
        self->state->copy(self->state->copy_context, target, source, shape->width);
        return true;
    }
    if (shape->height == 1 && weft_is_small(target, shape->width)) {
        weft_store_small(target, from, shape->width, ORDER_none);
        return true;
    }
    for (size_t row = 0; row < shape->height; row++) {
        weft_used_shared(from + row * shape->source_pitch, shape->width);
        weft_write_shared(target + row * shape->pitch, from + row * shape->source_pitch,
                          shape->width);
    }
    return true;
}

#endif
#endif
