/*
 * kernel_api/put.h - moving data, and knowing when it has moved.
 *
 * Two ways: straight into the target's memory where this process maps it, else one command to the
 * host. docs/a-put.md follows a put along both.
 */
#ifndef WEFT_KERNEL_API_PUT_H
#define WEFT_KERNEL_API_PUT_H

#include "kernel_api/notify.h"

/* A put's shape: `height` rows of `width` bytes; one row when it is contiguous. */
struct weft_shape {
    size_t width, height, pitch, source_pitch;
};

/* Copies into mapped memory. The same address: nothing to copy. */
static inline void weft_copy_direct(weft_self *self, unsigned char *target, const void *source,
                                    const struct weft_shape *shape)
{
    const unsigned char *from = (const unsigned char *)source;

    if (target == from && (shape->height == 1 || shape->pitch == shape->source_pitch))
        return;
    if (shape->height == 1 && weft_is_small(target, shape->width)) {
        if (weft_thread(self) == 0)
            weft_store_small(target, from, shape->width, ORDER_none);
        return;
    }
    for (size_t row = 0; row < shape->height; row++) {
        weft_used_shared(from + row * shape->source_pitch, shape->width);
        weft_write_shared(target + row * shape->pitch, from + row * shape->source_pitch,
                          shape->width);
    }
}

/*
 * A rank sees its own stores. Random mode, which holds them back, cannot see a kernel's plain
 * loads: what a rank put into its own part of the window is shown to it at once.
 */
static inline void weft_show_own(weft_self *self, const struct weft_window *window,
                                 const unsigned char *target, const struct weft_shape *shape)
{
    if (WEFT_UNLIKELY(weft_model != NULL)) {
        const int32_t me =
            self->state->comms[weft_handle_index(window->comm)].rank_of_slot[self->slot];
        const uint64_t bytes = (shape->height - 1) * shape->pitch + shape->width;
        if (me >= 0 && target + bytes > window->entry[me].address &&
            target < window->entry[me].address + window->entry[me].bytes)
            weft_used_shared(target, bytes);
    }
}

/* One command to the host; small contiguous payloads travel inside it. */
static inline void weft_put_proxied(weft_self *self, weft_win win, int process, int target,
                                    size_t offset, const void *source,
                                    const struct weft_shape *shape, int tag)
{
    const bool fits =
        shape->height == 1 && shape->width != 0 && shape->width <= self->state->inline_bytes;
    struct weft_command command = {0};

    command.kind = WEFT_COMMAND_PUT;
    command.flags =
        (uint8_t)((tag >= 0 ? WEFT_COMMAND_NOTIFY : 0) | (fits ? WEFT_COMMAND_INLINE : 0));
    command.tag = (uint16_t)(tag >= 0 ? tag : 0);
    command.object = win;
    command.target = (uint32_t)target;
    command.height = (uint32_t)shape->height;
    command.offset = offset;
    command.source = (uint64_t)(uintptr_t)source;
    command.width = shape->width;
    command.pitch = shape->pitch;
    command.source_pitch = shape->source_pitch;
    weft_post_put(self, process, &command, source, fits ? (uint32_t)shape->width : 0);
}

/* All puts come here. tag < 0: no notification. */
static inline void weft_put_any(weft_self *self, weft_win win, int target, size_t offset,
                                const void *source, const struct weft_shape *shape, int tag)
{
    const struct weft_window *window =
        weft_check_window(self, win, "weft_put: window 0x%x does not exist or was freed");
    weft_check_rank(self, target, window->members,
                    "weft_put: target %d is not one of the window's %d ranks");
    const struct weft_member to = window->member[target];
    const struct weft_window_entry *entry = &window->entry[target];
    if (!weft_inside(offset, shape->pitch, shape->width, shape->height, entry->bytes) ||
        shape->height > UINT32_MAX) {
        weft_log_arg args[6];
        args[0] = weft_number((int64_t)shape->height);
        args[1] = weft_number((int64_t)shape->width);
        args[2] = weft_number((int64_t)shape->pitch);
        args[3] = weft_number((int64_t)offset);
        args[4] = weft_number((int64_t)entry->bytes);
        args[5] = weft_number(target);
        weft_fail(self, WEFT_ERR_BOUNDS,
                  "weft_put: %llu row(s) of %llu bytes, pitch %llu, at offset %llu are not inside "
                  "the window of %llu bytes of rank %d",
                  6, args);
    }
    if (source == NULL && shape->width != 0)
        weft_fail4(self, WEFT_ERR_ARGUMENT, "weft_put: source is NULL", 0, 0, 0, 0);
    weft_sync(self);
    weft_port_turn(&self->port);

    if (weft_is_direct(self, to.process) && (entry->address != NULL || shape->width == 0)) {
        if (to.process != self->state->process)
            weft_settle(self, to.process);
        if (shape->width != 0)
            weft_copy_direct(self, entry->address + offset, source, shape);
        if (to.process == self->state->process)
            weft_show_own(self, window, entry->address + offset, shape);
        weft_sync(self);
        if (tag >= 0)
            weft_notify_direct(self, to.process, weft_count_index(to.slot, (uint32_t)tag), false);
        else
            weft_bell_nudge(to.process == self->state->process
                                ? &self->state->exposed->bell
                                : &self->state->process_table[to.process].exposed->bell);
    } else {
        weft_put_proxied(self, win, to.process, target, offset, source, shape, tag);
    }
}

static inline void weft_put_row(weft_self *self, weft_win win, int target, size_t offset,
                                const void *source, size_t bytes, int tag)
{
    struct weft_shape shape;

    shape.width = shape.pitch = shape.source_pitch = bytes;
    shape.height = 1;
    weft_put_any(self, win, target, offset, source, &shape, tag);
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
static inline void weft_put_rows(weft_self *self, weft_win win, int target, size_t offset,
                                 size_t pitch, const void *source, size_t source_pitch,
                                 size_t width, size_t height, int tag)
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
    weft_put_any(self, win, target, offset, source, &shape, tag);
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
    weft_sync(self);
    weft_fence_release(ORDER_fence);
}

WEFT_FN void weft_flush_local(weft_self *self, weft_win win)
{
    weft_check_window(self, win, "weft_flush_local: window 0x%x does not exist or was freed");
    uint32_t done = weft_load_acquire_u32(&self->link->done_local, ORDER_done_local_seen);
    if (done != self->sent) {
        do {
            weft_wait_round(self, WEFT_WAIT_LOCAL, 0, done, self->sent);
            done = weft_load_acquire_u32(&self->link->done_local, ORDER_done_local_seen);
        } while (done != self->sent);
        weft_wait_over(self);
    }
    weft_sync(self);
}

WEFT_FN void weft_flush(weft_self *self, weft_win win)
{
    weft_check_window(self, win, "weft_flush: window 0x%x does not exist or was freed");
    weft_sync(self);
    for (int p = 0; p < self->state->processes; p++)
        weft_settle(self, p);
    weft_fence_release(ORDER_fence);
    weft_sync(self);
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
