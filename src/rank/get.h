/*
 * rank/get.h - fetching another rank's memory: mapped memory is loaded by all threads, any other is
 * asked of its owner, who puts it here.
 */
#ifndef WEFT_RANK_GET_H
#define WEFT_RANK_GET_H

#include "rank/op.h"

#ifdef __CUDACC__

/* Longer gets have plain loads after a fence: of those more are under way at once. */
enum { WEFT_LOADS_MOST = 8192 };

/* Whether a row consists of words of 4 bytes, which are aligned at both ends. */
WEFT_INLINE bool weft_loads_row(const void *to, const void *from, size_t bytes)
{
    return (((uintptr_t)to | (uintptr_t)from | bytes) & 3) == 0 && bytes - 1 < WEFT_LOADS_MOST;
}

/* Four at once; beyond the end the first one again, as in weft_copy_last. */
template <class T>
static __device__ __forceinline__ void weft_load_items(void *to, const void *from, size_t count,
                                                       unsigned thread, unsigned threads)
{
    for (size_t i = thread; i < count; i += 4 * (size_t)threads) {
        T item[4];
        WEFT_UNROLL
        for (int k = 0; k < 4; k++) {
            const size_t at = i + k * threads;
            item[k] = weft_load_relaxed((const T *)from + (at < count ? at : i));
        }
        WEFT_UNROLL
        for (int k = 0; k < 4; k++)
            if (i + k * threads < count)
                ((T *)to)[i + k * threads] = item[k];
    }
}

/*
 * Loads a row that weft_loads_row allows, by all of so many threads. Each load passes by the L1
 * cache, where what others have stored may be old. One word is undivided, as others update it.
 */
WEFT_INLINE void weft_load_row(void *to, const void *from, size_t bytes, unsigned thread,
                               unsigned threads)
{
    const uintptr_t all = (uintptr_t)to | (uintptr_t)from | bytes;

    if (bytes == 8 && (all & 7) == 0) {
        if (thread == 0)
            *(uint64_t *)to = weft_load_relaxed((const uint64_t *)from);
    } else if ((all & 15) == 0) {
        weft_load_items<uint4>(to, from, bytes / 16, thread, threads);
    } else if ((all & 7) == 0) {
        weft_load_items<uint64_t>(to, from, bytes / 8, thread, threads);
    } else {
        weft_load_items<uint32_t>(to, from, bytes / 4, thread, threads);
    }
}

#endif

/* Fetches from mapped memory. All threads; a barrier shows what another thread has fetched. */
WEFT_INLINE void weft_fetch_mapped(weft_self *self, unsigned char *to, const unsigned char *from,
                                   const struct weft_shape *shape)
{
    const size_t bytes = shape->width;
#ifdef __CUDACC__
    if (!weft_alone(self) && shape->height == 1 && weft_loads_row(to, from, bytes)) {
        weft_load_row(to, from, bytes, threadIdx.x, blockDim.x);
        return;
    }
    weft_fence_acquire(); /* what the L1 cache has may be old */
    weft_copy_direct(self, to, from, shape);
#else
    const bool word = shape->height == 1 && (bytes == 4 || bytes == 8) &&
                      (((uintptr_t)to | (uintptr_t)from) & (bytes - 1)) == 0;
    if (self->state->copy != NULL) { /* the host program, and memory that only a device reaches */
        for (size_t row = 0; row < shape->height; row++)
            self->state->copy(self->state->copy_context, to + row * shape->pitch,
                              from + row * shape->source_pitch, bytes);
        return;
    }
    if (word) { /* undivided, as others update it */
        const uint64_t value = bytes == 8
                                   ? weft_load_relaxed_u64((const uint64_t *)(const void *)from)
                                   : weft_load_relaxed_u32((const uint32_t *)(const void *)from);
        const uint32_t half = (uint32_t)value;
        memcpy(to, bytes == 8 ? (const void *)&value : &half, bytes);
        return;
    }
    for (size_t row = 0; row < shape->height; row++)
        weft_read_shared(to + row * shape->pitch, from + row * shape->source_pitch, bytes);
#endif
}

/*
 * Makes any get: shape.pitch is that of `to`, source_pitch that of the window. now: wait until it
 * is there. tag >= 0: notify this rank when it is. All threads.
 */
WEFT_COLD weft_op weft_get_any(weft_self *self, weft_win win, int from, size_t offset, void *to,
                               struct weft_shape shape, int tag, bool now, const char *call)
{
    WEFT_IN_SHARED(self);
    weft_check_stop(self);
    const struct weft_route route = weft_route_window(self, win, from, call);
    const bool to_link = now && shape.height == 1 && (shape.width == 4 || shape.width == 8);
    weft_op op = weft_op_done();

    if (!weft_inside(offset, shape.source_pitch, shape.width, shape.height, route.bytes) ||
        shape.height > UINT32_MAX)
        weft_fail_bounds(self, call, shape.height, shape.width, shape.source_pitch, offset,
                         route.bytes, from);
    if ((to == NULL || weft_is_private(self, to)) && shape.width != 0)
        weft_fail_memory(self, call, to);
    if (weft_has_queues(self) && tag < 0 && weft_queue_reaches(self, &route)) {
        weft_join(self);
        if (weft_queue_get(self, win, &route, from, offset, (unsigned char *)to, &shape, now)) {
            if (!now)
                op = weft_op_of(self, route.process, WEFT_OP_QUEUE);
            weft_join(self);
            return op;
        }
    }
    if (route.address != NULL || shape.width == 0) {
        if (weft_leads(self))
            weft_channel_clear(self, &route, route.home + offset,
                               weft_shape_span(&shape, shape.source_pitch));
        weft_path_meet(self, route.process);
        if (shape.width != 0)
            weft_fetch_mapped(self, (unsigned char *)to, route.address + offset, &shape);
        weft_join(self);
        if (tag >= 0 && weft_leads(self))
            weft_count_add_local(self->state->exposed,
                                 &self->counters[weft_count_index(self->slot, (uint32_t)tag)],
                                 false);
        if (weft_leads(self))
            weft_turn(self);
        return op;
    }
    weft_join(self);
    if (weft_leads(self)) {
        struct weft_command command = {0};
        command.flags = tag >= 0 ? WEFT_COMMAND_NOTIFY : 0;
        command.tag = weft_ask_tag(WEFT_ASK_GET, WEFT_U64, to_link, tag);
        command.object = win;
        command.target = (uint32_t)from;
        command.height = (uint32_t)shape.height;
        command.offset = offset;
        command.source = (uint64_t)(uintptr_t)to;
        command.source_pitch = shape.pitch;
        command.width = shape.width;
        command.pitch = shape.source_pitch;
        weft_ask_owner(self, &route, &command, NULL, 0);
        if (to_link) {
            const uint64_t value = weft_ask_result(self, route.process);
            memcpy(to, &value, shape.width);
        } else if (now) {
            weft_ask_await(self, route.process, self->asked[route.process]);
        }
    }
    if (!now)
        op = weft_op_of(self, route.process, WEFT_OP_ASK);
    weft_join(self);
    return op;
}

#ifdef __CUDACC__

/* Gets a short row of mapped memory, whose route is known. False: nothing has been done. */
WEFT_INLINE bool weft_get_cached(weft_self *self, weft_win win, int from, size_t offset, void *to,
                                 size_t bytes)
{
    const struct weft_cached *const found = weft_route_place(self, win, from);
    const struct weft_route *const route = &found->route;
    const unsigned char *const at = route->address + offset;

    if (!weft_route_reaches(self, found, win, from, offset, bytes) || to == NULL ||
        !weft_loads_row(to, at, bytes))
        return false;
    if (route->way == WEFT_WAY_HERE) {
        weft_join(self); /* what the other threads have put there */
    } else {
        if (weft_leads(self))
            weft_channel_clear(self, route, route->home + offset, bytes);
        weft_path_meet(self, route->process);
    }
    weft_load_row(to, at, bytes, threadIdx.x, blockDim.x);
    if (threadIdx.x == 0)
        weft_turn(self);
    weft_join(self);
    return true;
}

#endif

WEFT_FN void weft_get(weft_self *self, weft_win win, int from, size_t offset, void *to,
                      size_t bytes)
{
    WEFT_TOGETHER_ALL(weft_get, self, win, from, offset, to, bytes)
#ifdef __CUDACC__
    if (weft_get_cached(self, win, from, offset, to, bytes))
        return;
#endif
    weft_get_any(self, win, from, offset, to, weft_one_row(bytes), -1, true, "weft_get");
}

WEFT_FN weft_op weft_get_begin(weft_self *self, weft_win win, int from, size_t offset, void *to,
                               size_t bytes)
{
    WEFT_TOGETHER_ALL_FOR(weft_op, weft_get_begin, self, win, from, offset, to, bytes)
    return weft_get_any(self, win, from, offset, to, weft_one_row(bytes), -1, false,
                        "weft_get_begin");
}

WEFT_FN void weft_get_notify(weft_self *self, weft_win win, int from, size_t offset, void *to,
                             size_t bytes, int tag)
{
    WEFT_TOGETHER_ALL(weft_get_notify, self, win, from, offset, to, bytes, tag)
    weft_check_tag(self, tag, "weft_get_notify");
    weft_get_any(self, win, from, offset, to, weft_one_row(bytes), tag, false, "weft_get_notify");
}

WEFT_FN weft_op weft_get_2d_begin(weft_self *self, weft_win win, int from, size_t offset,
                                  size_t pitch, void *to, size_t to_pitch, size_t width,
                                  size_t height)
{
    WEFT_TOGETHER_ALL_FOR(weft_op, weft_get_2d_begin, self, win, from, offset, pitch, to, to_pitch,
                          width, height)
    const bool empty = width == 0 || height == 0;
    const struct weft_shape shape = {.width = empty ? 0 : width,
                                     .height = empty ? 1 : height,
                                     .pitch = to_pitch,
                                     .source_pitch = pitch};

    if (!empty && height > 1 && (pitch < width || to_pitch < width))
        weft_fail4(self, WEFT_ERR_ARGUMENT,
                   "weft_get_2d_begin: pitch %llu or %llu is less than width %llu", (int64_t)pitch,
                   (int64_t)to_pitch, (int64_t)width, 0);
    return weft_get_any(self, win, from, offset, to, shape, -1, false, "weft_get_2d_begin");
}

#endif
