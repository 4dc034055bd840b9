/*
 * rank/exchange.h - what a rank's collectives (coll/) know of a communicator: also who frees one
 * asks.
 */
#ifndef WEFT_RANK_EXCHANGE_H
#define WEFT_RANK_EXCHANGE_H

#include "abi/coll.h"
#include "rank/state.h"

/* Finds what this rank's collectives (coll/) know of a communicator. */
WEFT_INLINE struct weft_coll_known *weft_coll_known_of(const weft_self *self, weft_comm comm)
{
    unsigned char *const own = self->exchange + (uint64_t)(self->slot - 1) * self->exchange_bytes;
    return (struct weft_coll_known *)(void *)own + weft_handle_index(comm);
}

/* Whether they have a window: one of an earlier run is gone. */
WEFT_INLINE bool weft_coll_has_window(const weft_self *self, const struct weft_coll_known *known,
                                      weft_comm comm)
{
    return known->comm == comm && known->win != WEFT_WIN_NONE &&
           self->state->windows[weft_handle_index(known->win)].handle == known->win;
}

#endif
