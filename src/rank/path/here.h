/*
 * rank/path/here.h - the way to a rank of the same process: its window and its counter are memory
 * of this device.
 */
#ifndef WEFT_RANK_PATH_HERE_H
#define WEFT_RANK_PATH_HERE_H

#include "rank/counter.h"

/* One more, a release of what the rank did unless relaxed. The leader. */
WEFT_HOT void weft_here_notify(const struct weft_route *to, uint32_t tag, bool relaxed)
{
    weft_count_add_local(to->exposed, to->counters + tag, relaxed);
}

/*
 * A rank sees its own stores. Random mode, which holds them back, cannot see a kernel's plain
 * loads: what a rank put into its own part of the window is shown to it at once.
 */
WEFT_INLINE void weft_here_show(weft_self *self, weft_win win, const unsigned char *target,
                                uint64_t bytes)
{
#ifndef __CUDACC__
    if (WEFT_UNLIKELY(weft_model != NULL)) {
        const struct weft_state *state = self->state;
        const struct weft_window *window = &state->windows[weft_handle_index(win)];
        const int32_t me = state->comms[weft_handle_index(window->comm)].rank_of_slot[self->slot];
        if (me >= 0 && me < window->members && target + bytes > window->entry[me].address &&
            target < window->entry[me].address + window->entry[me].bytes)
            weft_used_shared(target, bytes);
    }
#endif
}

#endif
