/*
 * rank/path/queue_none.h - what rank/path/queue.h defines, in a kernel whose file does not include
 * weft/queue.h: nothing of it is called (weft_has_queues).
 */
#ifndef WEFT_RANK_PATH_QUEUE_NONE_H
#define WEFT_RANK_PATH_QUEUE_NONE_H

#include "rank/state.h"

WEFT_COLD void weft_queue_ring_all(weft_self *)
{
}
WEFT_COLD void weft_queue_settle(weft_self *, int)
{
}
WEFT_COLD void weft_queue_await(weft_self *, int, uint64_t)
{
}
WEFT_COLD bool weft_queue_is_done(weft_self *, int, uint64_t)
{
    return true;
}
WEFT_COLD void weft_queue_notify(weft_self *, int, uint32_t, uint32_t)
{
}
WEFT_COLD bool weft_queue_put(weft_self *, weft_win, struct weft_route, int, size_t, const void *,
                              struct weft_shape, int)
{
    return false;
}
WEFT_COLD bool weft_queue_reaches(const weft_self *, const struct weft_route *)
{
    return false;
}
WEFT_COLD bool weft_queue_get(weft_self *, weft_win, const struct weft_route *, int, size_t,
                              unsigned char *, const struct weft_shape *, bool)
{
    return false;
}
WEFT_COLD bool weft_queue_update(weft_self *, weft_win, const struct weft_route *, int, size_t,
                                 const struct weft_change *, bool, void *)
{
    return false;
}

#endif
