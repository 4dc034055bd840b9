/*
 * rank/thread.h - updates of words by one thread (weft/warp.h).
 */
#ifndef WEFT_RANK_THREAD_H
#define WEFT_RANK_THREAD_H

#include "rank/wait/warp.h"

WEFT_INLINE uint64_t weft_update_by_thread(weft_self *self, weft_win win, int target, size_t offset,
                                           struct weft_change change, const char *call)
{
    uint64_t old = 0;

#ifdef __CUDACC__
    if (WEFT_UNLIKELY(weft_has_stopped(self)))
        weft_exit(self);
    const struct weft_cached *const kept = weft_route_place(self, win, target);
    const struct weft_route to = weft_is_kept(kept, win, target)
                                     ? kept->route
                                     : weft_route_find(self, win, target, true, call);
    if (weft_warp_reaches(self, &to, offset, 8) && ((to.home + offset) & 7) == 0) {
        old = weft_update_relaxed(to.address + offset, &change);
        weft_warp_turn(self);
        return old;
    }
#endif
    if (weft_alone_begin(self)) {
        old = weft_far(self, weft_update_any)(self, win, target, offset, change, WEFT_RELAXED, NULL,
                                              NULL, call);
        weft_alone_end(self);
    }
    return old;
}

#define WEFT_THREAD_CALL(name, how, value, expected, parameters, ...)                              \
    WEFT_FN uint64_t name parameters                                                               \
    {                                                                                              \
        WEFT_TOGETHER_LANES_FOR(uint64_t, 1, self, name(self, __VA_ARGS__), __VA_ARGS__)           \
        return weft_update_by_thread(self, win, target, offset,                                    \
                                     weft_change(how, WEFT_U64, value, expected), #name);          \
    }
WEFT_THREAD_CALL(weft_fetch_add_thread, WEFT_SUM, value, 0,
                 (weft_self * self, weft_win win, int target, size_t offset, uint64_t value), win,
                 target, offset, value)
WEFT_THREAD_CALL(weft_swap_thread, WEFT_REPLACE, value, 0,
                 (weft_self * self, weft_win win, int target, size_t offset, uint64_t value), win,
                 target, offset, value)
WEFT_THREAD_CALL(weft_compare_swap_thread, WEFT_COMPARE, desired, expected,
                 (weft_self * self, weft_win win, int target, size_t offset, uint64_t expected,
                  uint64_t desired),
                 win, target, offset, expected, desired)
#undef WEFT_THREAD_CALL

#endif
