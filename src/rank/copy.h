/*
 * rank/copy.h - moving bytes into memory that this process maps, by the rank's own threads.
 */
#ifndef WEFT_RANK_COPY_H
#define WEFT_RANK_COPY_H

#include "rank/wait/mailbox.h"

/* A put's shape: `height` rows of `width` bytes; one row when it is contiguous. */
struct weft_shape {
    size_t width, height, pitch, source_pitch;
};

WEFT_INLINE struct weft_shape weft_one_row(size_t bytes)
{
    const struct weft_shape shape = {
        .width = bytes, .height = 1, .pitch = bytes, .source_pitch = bytes};
    return shape;
}

/* Bytes of a shape, from the first to the last, on the side that has this pitch. */
WEFT_INLINE uint64_t weft_shape_span(const struct weft_shape *shape, size_t pitch)
{
    return (shape->height - 1) * pitch + shape->width;
}

#ifdef __CUDACC__

/* Up to so much is copied by one warp, which spares the rank a barrier before the notification. */
enum { WEFT_WARP_BYTES = 1024 };

/* Items of a thread whose loads are under way at once. */
enum { WEFT_COPY_DEEP = 8 };

/*
 * Copies the last items of a thread, `threads` apart; left: from the first, which is there, to the
 * end of all. Beyond the end it loads the last item again, the same for all threads: loads without
 * a branch do not wait for each other. Each instruction before them is latency of the put.
 */
template <class T>
static __device__ __forceinline__ void weft_copy_last(T *to, const T *from, uint32_t left,
                                                      uint32_t threads)
{
    T item[WEFT_COPY_DEEP];

    WEFT_UNROLL
    for (uint32_t k = 0; k < WEFT_COPY_DEEP; k++)
        item[k] = from[min(k * threads, left - 1)];
    WEFT_UNROLL
    for (uint32_t k = 0; k < WEFT_COPY_DEEP; k++)
        if (k * threads < left)
            to[k * threads] = item[k];
}

template <class T>
static __device__ __forceinline__ const T *weft_copy_load(T *item, const T *from, uint32_t threads)
{
    WEFT_UNROLL
    for (int k = 0; k < WEFT_COPY_DEEP; k++, from += threads)
        item[k] = *from;
    return from;
}

template <class T>
static __device__ __forceinline__ T *weft_copy_store(T *to, const T *item, uint32_t threads)
{
    WEFT_UNROLL
    for (int k = 0; k < WEFT_COPY_DEEP; k++, to += threads)
        *to = item[k];
    return to;
}

/*
 * Copies elements of one size. Several loads of a thread are under way at once. If there are
 * registers for it, the next ones are, too, while these are stored; but only of 8 bytes or more,
 * since smaller ones are rare and the code is large.
 */
template <class T>
static __device__ __forceinline__ void weft_copy_items(unsigned char *target,
                                                       const unsigned char *source, size_t count,
                                                       unsigned thread, unsigned threads)
{
    const size_t step = WEFT_COPY_DEEP * (size_t)threads;
    T *to = (T *)target + thread;
    const T *from = (const T *)source + thread;
    size_t left = count;

    if (WEFT_COPY_LARGE && sizeof(T) >= 8 && left >= 2 * step) {
        /* In turns: a move from one to the other would wait for the load. */
        T one[WEFT_COPY_DEEP], two[WEFT_COPY_DEEP];
        from = weft_copy_load(one, from, threads);
        for (; left >= 3 * step; left -= 2 * step) {
            from = weft_copy_load(two, from, threads);
            to = weft_copy_store(to, one, threads);
            from = weft_copy_load(one, from, threads);
            to = weft_copy_store(to, two, threads);
        }
        left -= step;
        if (left >= step) {
            from = weft_copy_load(two, from, threads);
            to = weft_copy_store(to, one, threads);
            to = weft_copy_store(to, two, threads);
            left -= step;
        } else {
            to = weft_copy_store(to, one, threads);
        }
    }
    for (; left >= step; left -= step) {
        T item[WEFT_COPY_DEEP];
        from = weft_copy_load(item, from, threads);
        to = weft_copy_store(to, item, threads);
    }
    if (thread < left)
        weft_copy_last(to, from, (uint32_t)left - thread, threads);
}

/* Copies by the widest items for which both are aligned alike; the ends byte by byte. */
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

/* Copies with few registers. As a function of its own it would save some, for each thread. */
WEFT_INLINE void weft_copy_wide_few(unsigned char *target, const unsigned char *from, size_t items)
{
    _Pragma("unroll 1") for (size_t i = threadIdx.x; i < items; i += 4 * (size_t)blockDim.x)
    {
        uint4 item[4];
        WEFT_UNROLL
        for (uint32_t k = 0; k < 4; k++) /* beyond the end the first one again */
            item[k] = ((const uint4 *)from)[i + k * blockDim.x < items ? i + k * blockDim.x : i];
        WEFT_UNROLL
        for (uint32_t k = 0; k < 4; k++)
            if (i + k * blockDim.x < items)
                ((uint4 *)target)[i + k * blockDim.x] = item[k];
    }
}

/* Copies by all threads, where target and source are aligned. */
WEFT_INLINE void weft_copy_wide(unsigned char *target, const unsigned char *from, size_t items)
{
    if (WEFT_COPY_LARGE)
        weft_copy_items<uint4>(target, from, items, threadIdx.x, blockDim.x);
    else
        weft_copy_wide_few(target, from, items);
}

/* Copies by one warp: two items a lane at most, where target, source and size are aligned. */
WEFT_INLINE void weft_copy_by_warp(unsigned char *target, const unsigned char *from, size_t bytes,
                                   unsigned thread)
{
    const unsigned items = (unsigned)(bytes / 16), second = thread + 32;
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
    weft_store_undivided(target, value, bytes);
}

/*
 * Rows of whole items, as one sequence of them: several loads of a thread are under way at once,
 * however short the rows are. A division takes as long as some twenty other instructions, so a
 * thread does two, and finds its next place by additions.
 */
template <class T>
static __device__ __forceinline__ void
weft_copy_rows(unsigned char *target, const unsigned char *from, const struct weft_shape *shape,
               unsigned thread, unsigned threads)
{
    const uint32_t items = (uint32_t)(shape->width / sizeof(T));
    const uint32_t count = items * (uint32_t)shape->height;
    const uint32_t down = threads / items, right = threads - down * items;
    uint32_t row = thread / items, column = thread - row * items;

    for (uint32_t first = thread; first < count; first += WEFT_COPY_DEEP * threads) {
        T item[WEFT_COPY_DEEP], *to[WEFT_COPY_DEEP];
        WEFT_UNROLL
        for (uint32_t k = 0; k < WEFT_COPY_DEEP; k++) { /* beyond the end the first of all */
            const bool some = first + k * threads < count;
            const uint32_t r = some ? row : 0, c = some ? column : 0;
            item[k] = ((const T *)(from + r * shape->source_pitch))[c];
            to[k] = (T *)(target + r * shape->pitch) + c;
            const bool ends = column + right >= items;
            row += down + ends;
            column += right - (ends ? items : 0);
        }
        WEFT_UNROLL
        for (uint32_t k = 0; k < WEFT_COPY_DEEP; k++)
            if (first + k * threads < count)
                *to[k] = item[k];
    }
}

/* Copies rows by the widest items of which all are made; false: they are not alike, or too many. */
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

/* Copies a row by one thread of a rank, or one lane of a warp. */
WEFT_INLINE void weft_copy_lane(unsigned char *target, const unsigned char *from, size_t bytes,
                                unsigned lane, unsigned lanes)
{
    if (!weft_is_small(target, bytes))
        weft_copy_row(target, from, bytes, lane, lanes);
    else if (lane == 0)
        weft_copy_undivided(target, from, bytes);
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
    const bool row = shape->height == 1;
    const bool wide = row && (((uintptr_t)target | (uintptr_t)from | shape->width) & 15) == 0;

    if (weft_alone(self)) {
        for (size_t row = 0; row < shape->height; row++)
            weft_copy_lane(target + row * shape->pitch, from + row * shape->source_pitch,
                           shape->width, 0, 1);
        return true;
    }
    /* First, with the fewest steps before its loads. */
    if (wide && shape->width > WEFT_WARP_BYTES && target != from) {
        weft_copy_wide(target, from, shape->width / sizeof(uint4));
        return false;
    }
    if (shape->width == 0 || (target == from && (row || shape->pitch == shape->source_pitch)))
        return true;
    if (row && weft_is_small(target, shape->width)) {
        if (threadIdx.x == 0)
            weft_copy_undivided(target, from, shape->width);
        return true;
    }
    if (wide && blockDim.x >= 32) {
        if (threadIdx.x < 32)
            weft_copy_by_warp(target, from, shape->width, threadIdx.x);
        return true;
    }
    weft_copy_any(target, from, *shape);
    return false;
}

WEFT_INLINE void weft_copy_by_crew(weft_self *self, struct weft_crew crew, unsigned char *target,
                                   const void *source, const struct weft_shape *shape)
{
    (void)self;
    for (size_t row = 0; row < shape->height; row++)
        weft_copy_row(target + row * shape->pitch,
                      (const unsigned char *)source + row * shape->source_pitch, shape->width,
                      crew.lane, crew.lanes);
}

#else

/* Rows, and where the host program cannot reach the memory, but a device does. */
WEFT_COLD void weft_copy_rows(weft_self *self, unsigned char *target, const unsigned char *from,
                              struct weft_shape shape)
{
    for (size_t row = 0; row < shape.height; row++) {
        if (self->state->copy != NULL) {
            self->state->copy(self->state->copy_context, target, from, shape.width);
        } else {
            weft_sent_shared(NULL, from, shape.width);
            weft_put_shared(target, from, shape.width);
        }
        target += shape.pitch;
        from += shape.source_pitch;
    }
}

WEFT_HOT bool weft_copy_direct(weft_self *self, unsigned char *target, const void *source,
                               const struct weft_shape *shape)
{
    const unsigned char *from = source;
    const bool row = shape->height == 1;

    if (shape->width == 0 || (target == from && (row || shape->pitch == shape->source_pitch)))
        return true;
    if (!row || WEFT_UNLIKELY(self->state->copy != NULL)) {
        weft_copy_rows(self, target, from, *shape);
    } else if (weft_is_small(target, shape->width)) {
        weft_put_small(target, from, shape->width);
    } else {
        weft_sent_shared(NULL, from, shape->width);
        weft_put_shared(target, from, shape->width);
    }
    return true;
}

static inline void weft_copy_by_crew(weft_self *self, struct weft_crew crew, unsigned char *target,
                                     const void *source, const struct weft_shape *shape)
{
    (void)crew;
    weft_copy_direct(self, target, source, shape);
}

#endif
#endif
