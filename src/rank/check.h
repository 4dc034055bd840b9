/*
 * rank/check.h - ranks and tags, checked at the boundary; a bad one is reported with call and
 * numbers and ends the rank. Handles are checked where they are looked up (route.h).
 */
#ifndef WEFT_RANK_CHECK_H
#define WEFT_RANK_CHECK_H

#include "rank/path/host.h"

/* Texts name the call; "%d" and the like are filled in by the host. */
WEFT_INLINE void weft_check_rank(weft_self *self, int target, int members, const char *text)
{
    if (WEFT_UNLIKELY(target < 0 || target >= members))
        weft_fail4(self, WEFT_ERR_RANK, text, target, members, 0, 0);
}

WEFT_INLINE void weft_check_tag(weft_self *self, int tag, const char *text)
{
    if (WEFT_UNLIKELY(tag < 0 || tag >= WEFT_TAGS))
        weft_fail4(self, WEFT_ERR_TAG, text, tag, 0, 0, 0);
}

/* Kernels have no part in WEFT_COMM_HOST and its windows: the tables of GPUs lack them. */
WEFT_INLINE bool weft_is_members(const weft_self *self, weft_comm comm)
{
#ifdef __CUDACC__
    (void)self, (void)comm;
    return true;
#else
    return comm != WEFT_COMM_HOST || self->slot == WEFT_HOST_SLOT;
#endif
}

WEFT_INLINE struct weft_comm_entry *weft_check_comm(weft_self *self, weft_comm comm,
                                                    const char *text)
{
    const uint32_t index = weft_handle_index(comm);

    weft_check_stop(self);
    if (WEFT_UNLIKELY(index >= self->state->comms_count || comm == WEFT_COMM_NONE ||
                      self->state->comms[index].handle != comm || !weft_is_members(self, comm)))
        weft_fail4(self, WEFT_ERR_COMM, text, comm, 0, 0, 0);
    return &self->state->comms[index];
}

WEFT_INLINE struct weft_window *weft_check_window(weft_self *self, weft_win win, const char *text)
{
    const uint32_t index = weft_handle_index(win);

    weft_check_stop(self);
    if (WEFT_UNLIKELY(index >= self->state->windows_count || win == WEFT_WIN_NONE ||
                      self->state->windows[index].handle != win ||
                      !weft_is_members(self, self->state->windows[index].comm)))
        weft_fail4(self, WEFT_ERR_WINDOW, text, win, 0, 0, 0);
    return &self->state->windows[index];
}

#endif
