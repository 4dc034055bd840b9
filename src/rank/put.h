/*
 * rank/put.h - moving data, and knowing when it has moved.
 *
 * A put whose route is known, on a GPU, takes a short way (cached); any other is checked first, and
 * in a traced job recorded around that. path/dispatch.h has the ways, docs/a-put.md follows a put
 * along each.
 */
#ifndef WEFT_RANK_PUT_H
#define WEFT_RANK_PUT_H

#include "rank/op.h"

#ifdef __CUDACC__
#include "rank/path/channel_cuda.h"

/*
 * Puts one row to a target whose route is known, on this device or mapped, as weft_put_checked,
 * with little else on the way. False: it is something else, and nothing has been done.
 */
WEFT_INLINE bool weft_put_cached(weft_self *self, weft_win win, int target, size_t offset,
                                 const void *source, const struct weft_shape *shape, int tag)
{
    const uint32_t place = (win ^ (uint32_t)target) % WEFT_ROUTES;
    const struct weft_cached *const there = &((struct weft_cuda_rank *)self)->routes[place];
    const struct weft_cached found = *there;
    const struct weft_route *const to = &found.route;
    const struct weft_route *const rest = WEFT_KEEP_ROUTE ? to : &there->route;
    /* The leader's business: it may be changing it, in the call before, when others come here. */
    const uint32_t late = threadIdx.x == 0 ? self->unsettled | self->news : 0;
    const size_t bytes = shape->width;

    if (found.handle != win || found.target != target || offset > to->bytes ||
        bytes > to->bytes - offset || source == NULL || blockDim.x < 32)
        return false;
    if (tag >= 0 && bytes < to->eager) {
        weft_channel_put_short(self, to, offset, source, bytes, tag);
        return true;
    }
    if (rest->address == NULL || !weft_way_is_mapped(to))
        return false;
    if (WEFT_UNLIKELY(late != 0))
        weft_path_meet_late(self, rest->process);
    weft_join(self);
    weft_path_put_mapped(self, to, rest, offset, source, shape, tag, false);
    return true;
}

#else

/* Puts to mapped memory in a job that is not traced. What is wrong returns false, too: the long way
 * says it. */
WEFT_HOT bool weft_put_mapped(weft_self *self, weft_win win, int target, size_t offset,
                              const void *source, const struct weft_shape *shape, int tag,
                              const char *call)
{
    if (weft_traced(self))
        return false;
    const struct weft_route to = weft_route_window(self, win, target, call);
    if (WEFT_UNLIKELY(!weft_way_is_mapped(&to) || to.address == NULL || offset > to.bytes ||
                      shape->width > to.bytes - offset || source == NULL ||
                      weft_is_private(self, source) || (self->unsettled | self->news) != 0))
        return false;
    weft_path_put_mapped(self, &to, &to, offset, source, shape, tag, false);
    if (to.way == WEFT_WAY_HERE)
        weft_here_show(self, win, to.address + offset, shape->width);
    return true;
}

#endif

/* Makes any put, and says what is wrong with it. tag < 0: no notification. */
WEFT_HOT void weft_put_checked(weft_self *self, weft_win win, int target, size_t offset,
                               const void *source, struct weft_shape shape, int tag,
                               const char *call)
{
    weft_check_stop(self);
    const struct weft_route to = weft_route_window(self, win, target, call);
    if (WEFT_UNLIKELY(!weft_inside(offset, shape.pitch, shape.width, shape.height, to.bytes) ||
                      shape.height > UINT32_MAX))
        weft_fail_bounds(self, call, shape.height, shape.width, shape.pitch, offset, to.bytes,
                         target);
    if (WEFT_UNLIKELY((source == NULL || weft_is_private(self, source)) && shape.width != 0))
        weft_fail_memory(self, call, source);
    weft_path_put(self, win, &to, target, offset, source, &shape, tag);
}

/* Records the beginning of a put. All threads. */
WEFT_COLD void weft_trace_enter_put(weft_self *self, int tag, weft_win win, int target,
                                    uint64_t bytes, const char *call)
{
    WEFT_IN_SHARED(self);
    const struct weft_route to = weft_route_window(self, win, target, call);

    if (weft_leads(self))
        weft_trace_open_event(self, WEFT_TRACE_PUT, WEFT_TRACE_CALL, tag, to.process, to.slot,
                              bytes);
}

/* Puts as weft_put_checked, recorded where the job is traced: then every put comes here. */
WEFT_COLD void weft_put_recorded(weft_self *self, weft_win win, int target, size_t offset,
                                 const void *source, struct weft_shape shape, int tag,
                                 const char *call)
{
    WEFT_IN_SHARED(self);
    if (weft_traced(self))
        weft_far(self, weft_trace_enter_put)(self, tag, win, target, shape.height * shape.width,
                                             call);
    weft_put_checked(self, win, target, offset, source, shape, tag, call);
    weft_trace_leave(self);
}

WEFT_HOT void weft_put_row(weft_self *self, weft_win win, int target, size_t offset,
                           const void *source, size_t bytes, int tag, const char *call)
{
    struct weft_shape shape;

    shape.width = shape.pitch = shape.source_pitch = bytes;
    shape.height = 1;
#ifdef __CUDACC__
    if (weft_put_cached(self, win, target, offset, source, &shape, tag))
        return;
#else
    if (weft_put_mapped(self, win, target, offset, source, &shape, tag, call))
        return;
#endif
    weft_put_recorded(self, win, target, offset, source, shape, tag, call);
}

WEFT_FN void weft_put(weft_self *self, weft_win win, int target, size_t offset, const void *source,
                      size_t bytes)
{
    WEFT_TOGETHER_ALL(weft_put, self, win, target, offset, source, bytes)
    weft_put_row(self, win, target, offset, source, bytes, -1, "weft_put");
}

WEFT_FN void weft_put_notify(weft_self *self, weft_win win, int target, size_t offset,
                             const void *source, size_t bytes, int tag)
{
    WEFT_TOGETHER_ALL(weft_put_notify, self, win, target, offset, source, bytes, tag)
    weft_check_tag(self, tag, "weft_put_notify");
    weft_put_row(self, win, target, offset, source, bytes, tag, "weft_put_notify");
}

/* Puts rows; an empty put is one of nothing. Rows that overlap themselves would be ambiguous. */
WEFT_INLINE void weft_put_rows(weft_self *self, weft_win win, int target, size_t offset,
                               size_t pitch, const void *source, size_t source_pitch, size_t width,
                               size_t height, int tag, const char *call)
{
    struct weft_shape shape;
    const bool empty = width == 0 || height == 0;

    if (!empty && height > 1 && pitch < width)
        weft_fail_in(self, WEFT_ERR_ARGUMENT, call, "%s: pitch %llu is less than width %llu",
                     (int64_t)pitch, (int64_t)width, 0, 0);
    shape.width = empty ? 0 : width;
    shape.height = empty ? 1 : height;
    shape.pitch = pitch;
    shape.source_pitch = source_pitch;
    weft_put_recorded(self, win, target, offset, source, shape, tag, call);
}

WEFT_FN void weft_put_2d(weft_self *self, weft_win win, int target, size_t offset, size_t pitch,
                         const void *source, size_t source_pitch, size_t width, size_t height)
{
    WEFT_TOGETHER_ALL(weft_put_2d, self, win, target, offset, pitch, source, source_pitch, width,
                      height)
    weft_put_rows(self, win, target, offset, pitch, source, source_pitch, width, height, -1,
                  "weft_put_2d");
}

WEFT_FN void weft_put_2d_notify(weft_self *self, weft_win win, int target, size_t offset,
                                size_t pitch, const void *source, size_t source_pitch, size_t width,
                                size_t height, int tag)
{
    WEFT_TOGETHER_ALL(weft_put_2d_notify, self, win, target, offset, pitch, source, source_pitch,
                      width, height, tag)
    weft_check_tag(self, tag, "weft_put_2d_notify");
    weft_put_rows(self, win, target, offset, pitch, source, source_pitch, width, height, tag,
                  "weft_put_2d_notify");
}

WEFT_FN weft_op weft_put_begin(weft_self *self, weft_win win, int target, size_t offset,
                               const void *source, size_t bytes)
{
    WEFT_TOGETHER_ALL_FOR(weft_op, weft_put_begin, self, win, target, offset, source, bytes)
    weft_check_stop(self);
    const struct weft_route to = weft_route_window(self, win, target, "weft_put_begin");

    weft_put_row(self, win, target, offset, source, bytes, -1, "weft_put_begin");
    if (to.exposed != NULL && (to.address != NULL || bytes == 0))
        return weft_op_done();
    weft_join(self); /* the leader has posted, by the host or by the queue: all before is at rest */
    const bool queued =
        weft_has_queues(self) && self->settled[to.process] == (uint32_t)self->sent_to[to.process];
    return weft_op_of(self, to.process, queued ? WEFT_OP_QUEUE : WEFT_OP_PUT);
}

WEFT_FN void weft_fence(weft_self *self)
{
    WEFT_TOGETHER(self, weft_fence(self), 0)
    weft_check_stop(self);
    weft_join(self);
    if (weft_leads(self))
        weft_channel_fence(self);
}

/* Lets sources of puts on the window, and of no other, be reused. */
WEFT_INLINE void weft_reuse_sources(const struct weft_window *window)
{
#ifndef __CUDACC__
    for (int i = 0; WEFT_UNLIKELY(weft_model != NULL) && i < window->members; i++)
        if (window->entry[i].address != NULL)
            weft_reuse(window->entry[i].address, window->entry[i].bytes);
#else
    (void)window;
#endif
}

WEFT_FN void weft_flush_local(weft_self *self, weft_win win)
{
    WEFT_TOGETHER_ALL(weft_flush_local, self, win)
    const struct weft_window *window = weft_check_window(self, win, "weft_flush_local");
    if (weft_leads(self) && self->local_done != self->sent)
        self->local_done = weft_await(self, &self->link->done_local, ORDER_done_local_seen,
                                      self->sent, WEFT_WAIT_LOCAL, WEFT_TRACE_NOBODY);
    if (weft_leads(self))
        weft_ask_flush(self);
    weft_reuse_sources(window);
    weft_join(self);
}

WEFT_FN void weft_flush(weft_self *self, weft_win win)
{
    WEFT_TOGETHER_ALL(weft_flush, self, win)
    const struct weft_window *window = weft_check_window(self, win, "weft_flush");
    weft_join(self);
    if (weft_leads(self))
        weft_path_flush(self);
    weft_reuse_sources(window);
    weft_join(self);
}

WEFT_FN void *weft_ptr(weft_self *self, weft_win win, int target)
{
    const struct weft_window *window = weft_check_window(self, win, "weft_ptr");
    weft_check_rank(self, target, window->members, "weft_ptr");
    return window->entry[target].address;
}

#endif
