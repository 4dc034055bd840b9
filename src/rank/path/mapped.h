/*
 * rank/path/mapped.h - the ways to a rank whose window and counter this one maps: of the same
 * process (here), or of another one (peer). No host is on them.
 */
#ifndef WEFT_RANK_PATH_MAPPED_H
#define WEFT_RANK_PATH_MAPPED_H

#include "rank/path/channel.h"

WEFT_INLINE bool weft_way_is_mapped(const struct weft_route *to)
{
    return to->way == WEFT_WAY_HERE || to->way == WEFT_WAY_PEER;
}

/* One more, a release of what the rank did unless relaxed. rest: all but the way of the route.
 * small: it is that of a put that a channel would take. The leader. */
WEFT_HOT void weft_mapped_notify(weft_self *self, uint32_t way, const struct weft_route *rest,
                                 uint32_t tag, bool relaxed, bool small)
{
    struct weft_counter *const counter = rest->counters + tag;

    if (way == WEFT_WAY_HERE) {
        weft_count_add_local(rest->exposed, counter, relaxed);
        return;
    }
    weft_count_add_peer(rest->exposed, counter, relaxed);
    if (small)
        weft_out_talked(self, rest->exposed, rest->process, rest->slot);
}

/* Adds one to a barrier word of the process. fenced: what it stands for has been released. */
WEFT_INLINE void weft_peer_tell(struct weft_exposed *exposed, uint32_t word, bool fenced)
{
    weft_count_add_peer(exposed, &exposed->counters[WEFT_BARRIER_AT + word], fenced);
}

/*
 * Shows a rank its own stores. Random mode, which holds them back, cannot see a kernel's plain
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
