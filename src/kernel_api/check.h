/*
 * kernel_api/check.h - handles, ranks, tags and ranges, checked at the boundary. A bad one is
 * reported with call and numbers and ends the rank.
 */
#ifndef WEFT_KERNEL_API_CHECK_H
#define WEFT_KERNEL_API_CHECK_H

#include "kernel_api/proxy.h"

/* Calls by name, for messages. One text a call: "%d" and the like are filled in by the host. */
static inline struct weft_comm_entry *weft_check_comm(weft_self *self, weft_comm comm,
                                                      const char *text)
{
    const uint32_t index = weft_handle_index(comm);

    weft_check_stop(self);
    if (index >= self->state->comms_count || comm == WEFT_COMM_NONE ||
        self->state->comms[index].handle != comm)
        weft_fail4(self, WEFT_ERR_COMM, text, comm, 0, 0, 0);
    return &self->state->comms[index];
}

static inline struct weft_window *weft_check_window(weft_self *self, weft_win win, const char *text)
{
    const uint32_t index = weft_handle_index(win);

    weft_check_stop(self);
    if (index >= self->state->windows_count || win == WEFT_WIN_NONE ||
        self->state->windows[index].handle != win)
        weft_fail4(self, WEFT_ERR_WINDOW, text, win, 0, 0, 0);
    return &self->state->windows[index];
}

static inline void weft_check_rank(weft_self *self, int target, int members, const char *text)
{
    if (target < 0 || target >= members)
        weft_fail4(self, WEFT_ERR_RANK, text, target, members, 0, 0);
}

static inline void weft_check_tag(weft_self *self, int tag, const char *text)
{
    if (tag < 0 || tag >= WEFT_TAGS)
        weft_fail4(self, WEFT_ERR_TAG, text, tag, 0, 0, 0);
}

#endif
