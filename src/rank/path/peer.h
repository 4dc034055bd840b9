/*
 * rank/path/peer.h - the way to a rank of another process that this one maps: its window and its
 * counter, without the host.
 */
#ifndef WEFT_RANK_PATH_PEER_H
#define WEFT_RANK_PATH_PEER_H

#include "rank/path/channel.h"

/* One more, a release of what the rank did unless relaxed. small: it is that of a put that a
 * channel would take. The leader. */
WEFT_HOT void weft_peer_notify(weft_self *self, const struct weft_route *to, uint32_t tag,
                               bool relaxed, bool small)
{
    weft_count_add_peer(to->exposed, to->counters + tag, relaxed);
    if (small)
        weft_out_talked(self, to->exposed, to->process, to->slot);
}

/* One more in a barrier word of the process. fenced: what it stands for has been released. */
WEFT_INLINE void weft_peer_tell(struct weft_exposed *exposed, uint32_t word, bool fenced)
{
    weft_count_add_peer(exposed, &exposed->counters[WEFT_BARRIER_AT + word], fenced);
}

#endif
