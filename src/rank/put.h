/*
 * rank/put.h - moving data, and knowing when it has moved.
 *
 * Two ways: straight into the target's memory where this process maps it, else one command to the
 * host. docs/a-put.md follows a put along both.
 */
#ifndef WEFT_RANK_PUT_H
#define WEFT_RANK_PUT_H

#include "rank/path/host_put.h"
#ifdef __CUDACC__
#include "rank/path/channel_cuda.h"
#endif

/*
 * A rank sees its own stores. Random mode, which holds them back, cannot see a kernel's plain
 * loads: what a rank put into its own part of the window is shown to it at once.
 */
WEFT_INLINE void weft_show_own(weft_self *self, weft_win win, const unsigned char *target,
                               const struct weft_shape *shape)
{
#ifndef __CUDACC__
    if (WEFT_UNLIKELY(weft_model != NULL)) {
        const struct weft_state *state = self->state;
        const struct weft_window *window = &state->windows[weft_handle_index(win)];
        const int32_t me = state->comms[weft_handle_index(window->comm)].rank_of_slot[self->slot];
        const uint64_t bytes = (shape->height - 1) * shape->pitch + shape->width;
        if (me >= 0 && target + bytes > window->entry[me].address &&
            target < window->entry[me].address + window->entry[me].bytes)
            weft_used_shared(target, bytes);
    }
#endif
}

/* Whether a put with a notification fits into a channel. */
WEFT_INLINE bool weft_is_eager(const weft_self *self, const struct weft_shape *shape)
{
    return shape->height == 1 && shape->width <= self->eager_bytes && self->eager_bytes != 0;
}

/* Straight into the target's memory. */
WEFT_INLINE void weft_put_direct(weft_self *self, const struct weft_route *to, size_t offset,
                                 const void *source, const struct weft_shape *shape, int tag)
{
    const bool alone = weft_copy_direct(self, to->address + offset, source, shape);

    if (tag < 0) {
        if (weft_leads(self))
            weft_count_nudge(to->exposed);
        return;
    }
    if (!alone)
        weft_sync(self); /* the release below covers what every thread copied */
    if (weft_leads(self))
        weft_notify_direct(self, to, (uint32_t)tag, false, weft_is_eager(self, shape));
}

/* Before a put straight to a pair's target that has a channel, too. The leader. */
WEFT_INLINE void weft_put_beside(weft_self *self, const struct weft_route *to, size_t offset,
                                 const struct weft_shape *shape)
{
    struct weft_out *out = weft_route_out(self, to);
    const uint64_t low = to->home + offset;

    if (out == NULL)
        return;
    weft_out_clear(self, out, low, low + (shape->height - 1) * shape->pitch + shape->width);
    out->dirty = WEFT_OUT_FENCE;
}

/* Through the channel. */
WEFT_INLINE void weft_put_eager(weft_self *self, const struct weft_route *to, size_t offset,
                                const void *source, size_t bytes, int tag)
{
    const struct weft_crew crew = weft_crew_first_warp();
    struct weft_head head = {
        to->home + offset, (uint32_t)bytes, 0, (uint32_t)tag, true, false, false};

    if (crew.lane >= crew.lanes)
        return;
#ifndef __CUDACC__
    weft_used_shared(source, bytes);
#endif
    weft_message_put(self, crew, &self->out[to->way >> 8], head, (const unsigned char *)source);
    if (crew.lane == 0) {
        weft_count_nudge(to->exposed);
        weft_turn(self);
    }
}

WEFT_COLD void weft_fail_bounds(weft_self *self, struct weft_shape shape, size_t offset,
                                uint64_t bytes, int target)
{
    weft_log_arg args[6];
    args[0] = weft_number((int64_t)shape.height);
    args[1] = weft_number((int64_t)shape.width);
    args[2] = weft_number((int64_t)shape.pitch);
    args[3] = weft_number((int64_t)offset);
    args[4] = weft_number((int64_t)bytes);
    args[5] = weft_number(target);
    weft_fail(self, WEFT_ERR_BOUNDS,
              "weft_put: %llu row(s) of %llu bytes, pitch %llu, at offset %llu are not inside "
              "the window of %llu bytes of rank %d",
              6, args);
}

#ifdef __CUDACC__

/*
 * One row to a target whose route is known, on this device or mapped: the same as weft_put_any,
 * with little else on the way. False: it is something else, and nothing has been done.
 */
WEFT_INLINE bool weft_put_usual(weft_self *self, weft_win win, int target, size_t offset,
                                const void *source, const struct weft_shape *shape, int tag)
{
    const uint32_t place = (win ^ (uint32_t)target) % WEFT_ROUTES;
    const struct weft_cached *const there = &((struct weft_cuda_rank *)self)->routes[place];
    const struct weft_cached to = *there;
    const struct weft_cached *const rest = WEFT_KEEP_ROUTE ? &to : there;
    /* The leader's business: it may be changing it, in the call before, when others come here. */
    const uint32_t late = threadIdx.x == 0 ? self->unsettled | self->news : 0;
    const size_t bytes = shape->width;

    if (to.handle != win || to.target != target || offset > to.bytes || bytes > to.bytes - offset ||
        source == NULL || blockDim.x < 32)
        return false;
    if (tag >= 0 && bytes < to.eager) {
        weft_put_short(self, &to, offset, source, bytes, tag);
        return true;
    }
    if (rest->address == NULL || (to.way != WEFT_WAY_HERE && to.way != WEFT_WAY_PEER))
        return false;
    if (WEFT_UNLIKELY(late != 0))
        weft_meet_late(self, rest->process);
    weft_join(self);
    const bool alone = weft_copy_direct(self, rest->address + offset, source, shape);
    if (tag >= 0 && !alone)
        weft_sync(self); /* the release below covers what every thread copied */
    if (threadIdx.x != 0)
        return true;
    if (tag >= 0 && to.way == WEFT_WAY_HERE) {
        weft_count_add_local(rest->exposed, rest->counters + tag, false);
    } else if (tag >= 0) {
        weft_count_add_peer(rest->exposed, rest->counters + tag, false);
        if (weft_is_eager(self, shape))
            weft_out_talked(self, rest->exposed, rest->process, rest->slot);
    }
    weft_turn(self);
    return true;
}

#endif

/* What is not usual, or anything. */
WEFT_HOT void weft_put_somehow(weft_self *self, weft_win win, int target, size_t offset,
                               const void *source, struct weft_shape shape, int tag)
{
    weft_check_stop(self);
    const struct weft_route to = weft_route_window(self, win, target);
    if (WEFT_UNLIKELY(!weft_inside(offset, shape.pitch, shape.width, shape.height, to.bytes) ||
                      shape.height > UINT32_MAX))
        weft_fail_bounds(self, shape, offset, to.bytes, target);
    if (WEFT_UNLIKELY(source == NULL && shape.width != 0))
        weft_fail4(self, WEFT_ERR_ARGUMENT, "weft_put: source is NULL", 0, 0, 0, 0);

    if (to.exposed == NULL || (to.address == NULL && shape.width != 0)) {
        weft_join(self);
        if ((unsigned)weft_thread(self) < weft_crew_first_warp().lanes)
            weft_put_proxied(self, win, to, target, offset, source, shape, tag);
        return;
    }
    const bool eager = tag >= 0 && shape.height == 1 && shape.width < to.eager;
    if (!eager && weft_leads(self))
        weft_put_beside(self, &to, offset, &shape);
    /* All threads: what they wrote to the source is there, and nobody copies too early. */
    weft_meet(self, to.process);
    if (eager) {
        weft_put_eager(self, &to, offset, source, shape.width, tag);
        return;
    }
    weft_put_direct(self, &to, offset, source, &shape, tag);
    if (weft_leads(self))
        weft_turn(self);
    if (weft_is_here(&to))
        weft_show_own(self, win, to.address + offset, &shape);
}

/* Any put. tag < 0: no notification. In a traced job every put comes here, and is recorded. */
WEFT_COLD void weft_put_any(weft_self *self, weft_win win, int target, size_t offset,
                            const void *source, struct weft_shape shape, int tag)
{
    WEFT_IN_SHARED(self);
    if (weft_traced(self))
        weft_trace_enter_put(self, tag, win, target, shape.height * shape.width);
    weft_put_somehow(self, win, target, offset, source, shape, tag);
    weft_trace_leave(self);
}

WEFT_INLINE void weft_put_row(weft_self *self, weft_win win, int target, size_t offset,
                              const void *source, size_t bytes, int tag)
{
    struct weft_shape shape;

    shape.width = shape.pitch = shape.source_pitch = bytes;
    shape.height = 1;
#ifdef __CUDACC__
    if (weft_put_usual(self, win, target, offset, source, &shape, tag))
        return;
#else
    if (!weft_traced(self)) { /* with what is known of the shape here */
        weft_put_somehow(self, win, target, offset, source, shape, tag);
        return;
    }
#endif
    weft_put_any(self, win, target, offset, source, shape, tag);
}

WEFT_FN void weft_put(weft_self *self, weft_win win, int target, size_t offset, const void *source,
                      size_t bytes)
{
    weft_put_row(self, win, target, offset, source, bytes, -1);
}

WEFT_FN void weft_put_notify(weft_self *self, weft_win win, int target, size_t offset,
                             const void *source, size_t bytes, int tag)
{
    weft_check_tag(self, tag, "weft_put_notify: tag %d is not in 0..255");
    weft_put_row(self, win, target, offset, source, bytes, tag);
}

/* An empty put is one row of nothing. Rows that overlap themselves would be ambiguous. */
WEFT_INLINE void weft_put_rows(weft_self *self, weft_win win, int target, size_t offset,
                               size_t pitch, const void *source, size_t source_pitch, size_t width,
                               size_t height, int tag)
{
    struct weft_shape shape;
    const bool empty = width == 0 || height == 0;

    if (!empty && height > 1 && pitch < width)
        weft_fail4(self, WEFT_ERR_ARGUMENT, "weft_put_2d: pitch %llu is less than width %llu",
                   (int64_t)pitch, (int64_t)width, 0, 0);
    shape.width = empty ? 0 : width;
    shape.height = empty ? 1 : height;
    shape.pitch = pitch;
    shape.source_pitch = source_pitch;
    weft_put_any(self, win, target, offset, source, shape, tag);
}

WEFT_FN void weft_put_2d(weft_self *self, weft_win win, int target, size_t offset, size_t pitch,
                         const void *source, size_t source_pitch, size_t width, size_t height)
{
    weft_put_rows(self, win, target, offset, pitch, source, source_pitch, width, height, -1);
}

WEFT_FN void weft_put_2d_notify(weft_self *self, weft_win win, int target, size_t offset,
                                size_t pitch, const void *source, size_t source_pitch, size_t width,
                                size_t height, int tag)
{
    weft_check_tag(self, tag, "weft_put_2d_notify: tag %d is not in 0..255");
    weft_put_rows(self, win, target, offset, pitch, source, source_pitch, width, height, tag);
}

WEFT_FN void weft_fence(weft_self *self)
{
    weft_check_stop(self);
    weft_join(self);
    if (weft_leads(self))
        weft_fence_said(self);
}

/* Some sources may not be reused yet. The leader. */
WEFT_COLD void weft_await_local(weft_self *self)
{
    const uint32_t *word = &self->link->done_local;
    uint32_t rounds = 0, done = weft_load_acquire_u32(word, ORDER_done_local_seen);

    weft_trace_wait(self, WEFT_TRACE_LEFT, WEFT_TRACE_NOBODY, 0);
    while (done != self->sent &&
           weft_wait_round(self, &rounds, WEFT_WAIT_LOCAL, 0, done, self->sent))
        done = weft_load_acquire_u32(word, ORDER_done_local_seen);
    weft_wait_over(self, rounds);
    weft_trace_waited(self);
    self->local_done = done;
}

#ifndef __CUDACC__
/* The sources of puts on the window, and of no other, may be reused. */
static void weft_reuse_sources(const struct weft_window *window)
{
    for (int i = 0; WEFT_UNLIKELY(weft_model != NULL) && i < window->members; i++)
        if (window->entry[i].address != NULL)
            weft_reuse(window->entry[i].address, window->entry[i].bytes);
}
#endif

WEFT_FN void weft_flush_local(weft_self *self, weft_win win)
{
    const struct weft_window *window =
        weft_check_window(self, win, "weft_flush_local: window 0x%x does not exist or was freed");
    if (weft_leads(self) && self->local_done != self->sent)
        weft_await_local(self);
#ifndef __CUDACC__
    weft_reuse_sources(window);
#else
    (void)window;
#endif
    weft_join(self);
}

WEFT_FN void weft_flush(weft_self *self, weft_win win)
{
    const struct weft_window *window =
        weft_check_window(self, win, "weft_flush: window 0x%x does not exist or was freed");
    weft_join(self);
    if (weft_leads(self)) {
        for (int p = 0; self->unsettled != 0 && p < self->state->processes; p++)
            weft_ask_landed(self, p);
        for (int p = 0; self->unsettled != 0 && p < self->state->processes; p++)
            weft_await_landed(self, p);
        for (int i = 0; self->eager_bytes != 0 && i < WEFT_CHANNELS_OUT; i++)
            weft_out_drain(self, &self->out[i]);
        weft_fence_said(self);
    }
#ifndef __CUDACC__
    weft_reuse_sources(window);
#else
    (void)window;
#endif
    weft_join(self);
}

WEFT_FN void *weft_ptr(weft_self *self, weft_win win, int target)
{
    const struct weft_window *window =
        weft_check_window(self, win, "weft_ptr: window 0x%x does not exist or was freed");
    weft_check_rank(self, target, window->members,
                    "weft_ptr: target %d is not one of the window's %d ranks");
    return window->entry[target].address;
}

#endif
