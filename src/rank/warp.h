/*
 * rank/warp.h - what weft/warp.h promises: calls by one warp of a rank, or one thread. Those that
 * wait are in wait/warp.h.
 *
 * On a GPU the near way is a warp's own: its first lane finds the route, the lanes copy, the first
 * releases. What is one store is the first lane's alone. It touches no state of the rank. All else
 * is the rank's own way, by one thread that is the whole rank meanwhile (weft_alone_begin), one at
 * a time. No call of all threads is made at the same time: both its ends are barriers, in a file
 * with weft/warp.h (together.h). On the CPU device the last thread of the warp to come makes the
 * rank's call.
 *
 * ~0u names the lanes of any warp: for the hardware those that a warp does not have, as one that is
 * not full, have ended. A mask that is computed takes each vote and barrier some ten operations.
 */
#ifndef WEFT_RANK_WARP_H
#define WEFT_RANK_WARP_H

#include "rank/api.h"
#include "weft/warp.h"

enum { WEFT_WARP_THREADS = 32 };

#ifdef __CUDACC__

/* Give the number of threads of the caller's warp; which of them this is. */
WEFT_INLINE unsigned weft_lanes(void)
{
    return min(blockDim.x - threadIdx.x / WEFT_WARP_THREADS * WEFT_WARP_THREADS, 32u);
}

WEFT_INLINE unsigned weft_lane(void)
{
    return threadIdx.x % WEFT_WARP_THREADS;
}

/* Shows all lanes what one did to memory. Ends those who know that the job has failed: lanes that
 * have ended are waited for by none. */
WEFT_INLINE void weft_warp_meet(weft_self *self)
{
    __syncwarp();
    if (WEFT_UNLIKELY(weft_has_stopped(self)))
        weft_exit(self);
}

/* One thread of the warp, for an operation: how many there were before it. */
WEFT_INLINE uint32_t weft_warp_turn(weft_self *self)
{
    struct weft_scopes *const scopes = &((struct weft_cuda_rank *)self)->scopes;
    const uint32_t turn = atomicAdd(&scopes->turns[threadIdx.x / WEFT_WARP_THREADS], 1u);

    if (WEFT_UNLIKELY(turn % WEFT_LOOK_ROUNDS == WEFT_LOOK_ROUNDS - 1))
        weft_look_stop(self);
    return turn;
}

WEFT_INLINE bool weft_is_kept(const struct weft_cached *cached, uint32_t handle, int target)
{
    return (cached->handle == handle) & (cached->target == target);
}

/* Finds the route that the first lane found last: in a traced job by its alias; none is straight.
 * */
WEFT_INLINE struct weft_cached *weft_warp_kept(weft_self *self)
{
    return &((struct weft_cuda_rank *)self)->scopes.kept[threadIdx.x / WEFT_WARP_THREADS];
}

/* Whether a route is the one to a target, by memory that is mapped, and nothing went another way.
 * Without a branch: each takes as long as several operations. The first lane. */
WEFT_INLINE bool weft_warp_is_straight(const weft_self *self, const struct weft_cached *found,
                                       uint32_t handle, int target)
{
    const volatile weft_self *const now = self;
    return weft_is_kept(found, handle, target) & (found->route.way - WEFT_WAY_HERE < 2u) &
           (now->unsettled == 0);
}

/* Finds the route to a target, whose number is checked. The first lane; for the others it is there
 * when they have met it. */
WEFT_INLINE const struct weft_route *weft_warp_route(weft_self *self, uint32_t handle, int target,
                                                     bool window, const char *call)
{
    struct weft_cached *const kept = weft_warp_kept(self);
    const uint32_t name = handle ^ self->tracer.alias;
    const int number = window ? target : ~target;

    if (target < 0 || !weft_is_kept(kept, name, number)) {
        const struct weft_route to = weft_route_find(self, handle, target, window, call);
        weft_route_keep(kept, name, number, &to);
    }
    return &kept->route;
}

/* Makes way for what goes straight to a target, or by its channel: what went another way is there,
 * and nothing in the channel is for the same place. The first lane. */
WEFT_INLINE void weft_warp_make_way(weft_self *self, const struct weft_route *to, uint64_t low,
                                    uint64_t bytes)
{
    if (!weft_alone_begin(self))
        return;
    weft_channel_clear(self, to, low, bytes);
    if (self->unsettled != 0)
        weft_settle(self, to->process);
    weft_alone_end(self);
}

/* Whether this rank reaches those bytes of the target's window by loads and stores, in a job that
 * is not traced, and tells it without the host. */
WEFT_INLINE bool weft_warp_reaches(const weft_self *self, const struct weft_route *to,
                                   size_t offset, size_t bytes)
{
    return !weft_traced(self) && to->exposed != NULL && to->address != NULL &&
           offset <= to->bytes && bytes <= to->bytes - offset;
}

/* Notifies through a channel; tag < 0: none, but what the channel brings next comes after what was
 * put beside it: another warp may have fenced the channel meanwhile. The first lane. */
WEFT_COLD void weft_warp_tell_channel(weft_self *self, const struct weft_route *to, int tag)
{
    if (!weft_alone_begin(self))
        return;
    if (tag >= 0)
        weft_channel_notify(self, to, (uint32_t)tag, false);
    else
        weft_route_out(self, to)->dirty = WEFT_OUT_FENCE;
    weft_alone_end(self);
}

/* Notifies, if tag >= 0, behind what all lanes did, and have met for. The first lane. */
WEFT_INLINE void weft_warp_tell(weft_self *self, const struct weft_route *to, int tag)
{
    weft_warp_turn(self); /* while the stores are on their way */
    if (WEFT_UNLIKELY(!weft_way_is_mapped(to)))
        weft_warp_tell_channel(self, to, tag);
    else if (tag >= 0)
        weft_mapped_notify(self, to->way, to, (uint32_t)tag, false, false);
}

/* Makes a put that is no more than a store. The first lane. */
WEFT_INLINE void weft_warp_put_word(weft_self *self, const struct weft_route *to, size_t offset,
                                    const void *source, size_t bytes, int tag)
{
    unsigned char *const there = (unsigned char *)((uintptr_t)to->address + offset);

    if (there != source)
        weft_copy_lane(there, (const unsigned char *)source, bytes, 0, 1);
    weft_warp_tell(self, to, tag);
}

/* Makes a put that is not straight: by the channel, or as the rank's, which says what is wrong.
 * True: the lanes are to copy. The first lane. */
WEFT_COLD bool weft_warp_put_other(weft_self *self, weft_win win, int target, size_t offset,
                                   const void *source, size_t bytes, int tag, const char *call)
{
    const struct weft_route *const to = weft_warp_route(self, win, target, true, call);
    const bool near = weft_warp_reaches(self, to, offset, bytes) && source != NULL;
    const bool channel = near && tag >= 0 && bytes < to->eager;

    if (near && !channel) {
        weft_warp_make_way(self, to, to->home + offset, bytes);
        if (bytes <= sizeof(uint64_t))
            weft_warp_put_word(self, to, offset, source, bytes, tag);
        return true;
    }
    if (!weft_alone_begin(self))
        return false;
    if (channel && self->unsettled != 0)
        weft_settle(self, to->process);
    if (channel)
        weft_channel_put(self, to, offset, source, bytes, tag);
    else
        weft_put_recorded(self, win, target, offset, source, weft_one_row(bytes), tag, call);
    weft_alone_end(self);
    return false;
}

WEFT_INLINE void weft_put_by_lanes(weft_self *self, weft_win win, int target, size_t offset,
                                   const void *source, size_t bytes, int tag, const char *call)
{
    const struct weft_cached *const kept = weft_warp_kept(self);
    const unsigned char *const from = (const unsigned char *)source;
    bool copies = false;

    weft_warp_meet(self); /* the source is there */
    if (weft_lane() == 0) {
        const struct weft_cached found = *kept; /* all of it at once */
        copies = weft_warp_is_straight(self, &found, win, target) & (found.route.address != NULL) &
                 (offset <= found.route.bytes) & (bytes <= found.route.bytes - offset) &
                 (source != NULL);
        if (WEFT_UNLIKELY(!copies))
            copies = weft_warp_put_other(self, win, target, offset, source, bytes, tag, call);
        else if (bytes <= sizeof(uint64_t))
            weft_warp_put_word(self, &found.route, offset, source, bytes, tag);
    }
    if (bytes <= sizeof(uint64_t))
        return;
    __syncwarp(); /* the route is there */
    if (!__any_sync(~0u, copies))
        return;
    unsigned char *const there = kept->route.address + offset;
    if ((((uintptr_t)there | (uintptr_t)from | bytes) & 15) == 0 && bytes <= WEFT_WARP_BYTES &&
        weft_lanes() == WEFT_WARP_THREADS)
        weft_copy_by_warp(there, from, bytes, weft_lane());
    else if (there != from)
        weft_copy_row(there, from, bytes, weft_lane(), weft_lanes());
    __syncwarp(); /* the release covers what every lane copied */
    if (weft_lane() == 0)
        weft_warp_tell(self, &kept->route, tag);
}

WEFT_COLD void weft_warp_notify_other(weft_self *self, weft_comm comm, int target, int tag)
{
    const struct weft_route *const to =
        weft_warp_route(self, comm, target, false, "weft_notify_warp");

    if (!weft_traced(self) && to->exposed != NULL) {
        weft_warp_make_way(self, to, 0, 0);
        weft_warp_tell(self, to, tag);
    } else if (weft_alone_begin(self)) {
        weft_notify_recorded(self, comm, target, tag, false, "weft_notify_warp");
        weft_alone_end(self);
    }
}

WEFT_INLINE void weft_notify_by_lanes(weft_self *self, weft_comm comm, int target, int tag)
{
    weft_warp_meet(self); /* the release covers what every lane did */
    if (weft_lane() != 0)
        return;
    const struct weft_cached found = *weft_warp_kept(self);
    if (weft_warp_is_straight(self, &found, comm, ~target) & (target >= 0))
        weft_warp_tell(self, &found.route, tag);
    else
        weft_warp_notify_other(self, comm, target, tag);
}

/* Prepares a get, by the first lane. True: the lanes load. False: the rank has got it. */
WEFT_INLINE bool weft_get_by_lane(weft_self *self, weft_win win, int from, size_t offset, void *to,
                                  size_t bytes)
{
    const struct weft_route *const route = weft_warp_route(self, win, from, true, "weft_get_warp");
    const bool near = weft_warp_reaches(self, route, offset, bytes) && to != NULL;

    if (near) {
        if (self->unsettled != 0 || !weft_way_is_mapped(route))
            weft_warp_make_way(self, route, route->home + offset, bytes);
        weft_warp_turn(self);
    } else if (weft_alone_begin(self)) {
        weft_get_any(self, win, from, offset, to, weft_one_row(bytes), -1, true, "weft_get_warp");
        weft_alone_end(self);
    }
    return near;
}

WEFT_INLINE void weft_get_by_lanes(weft_self *self, weft_win win, int from, size_t offset, void *to,
                                   size_t bytes)
{
    weft_warp_meet(self); /* what the other lanes have put there */
    const bool loads = weft_lane() == 0 && weft_get_by_lane(self, win, from, offset, to, bytes);
    __syncwarp(); /* the route is there */
    const unsigned char *const at = weft_warp_kept(self)->route.address + offset;
    const bool near = __any_sync(~0u, loads) != 0;
    if (near && weft_loads_row(to, at, bytes)) {
        weft_load_row(to, at, bytes, weft_lane(), weft_lanes());
    } else if (near) {
        weft_fence_acquire(); /* what the L1 cache has may be old */
        weft_copy_row((unsigned char *)to, at, bytes, weft_lane(), weft_lanes());
    }
    weft_warp_meet(self);
}

#else

/* The lanes' calls, by the thread that makes the call for its warp. */
#define weft_lane()          0
#define weft_warp_meet(self) weft_check_stop(self)
#define weft_put_by_lanes    weft_put_row
#define weft_notify_by_lanes(self, comm, target, tag)                                              \
    weft_notify_any(self, comm, target, tag, false, __func__)
#define weft_get_by_lanes(self, win, from, offset, to, bytes)                                      \
    weft_get_any(self, win, from, offset, to, weft_one_row(bytes), -1, true, __func__)

/* Lets other threads of the rank run. waits: this one can do nothing else. False: none can. */
static inline bool weft_warp_pass(weft_self *self, bool waits)
{
    weft_batch_send(self);
    return self->port.team != NULL && weft_team_pass(self->port.team, waits);
}

#endif

WEFT_FN void weft_put_warp(weft_self *self, weft_win win, int target, size_t offset,
                           const void *source, size_t bytes)
{
    WEFT_TOGETHER_LANES(WEFT_WARP_THREADS, self,
                        weft_put_warp(self, win, target, offset, source, bytes), win, target,
                        offset, source, bytes)
    weft_put_by_lanes(self, win, target, offset, source, bytes, -1, "weft_put_warp");
}

WEFT_FN void weft_put_notify_warp(weft_self *self, weft_win win, int target, size_t offset,
                                  const void *source, size_t bytes, int tag)
{
    WEFT_TOGETHER_LANES(WEFT_WARP_THREADS, self,
                        weft_put_notify_warp(self, win, target, offset, source, bytes, tag), win,
                        target, offset, source, bytes, tag)
    weft_check_tag(self, tag, "weft_put_notify_warp");
    weft_put_by_lanes(self, win, target, offset, source, bytes, tag, "weft_put_notify_warp");
}

WEFT_FN void weft_notify_warp(weft_self *self, weft_comm comm, int target, int tag)
{
    WEFT_TOGETHER_LANES(WEFT_WARP_THREADS, self, weft_notify_warp(self, comm, target, tag), comm,
                        target, tag)
    weft_check_tag(self, tag, "weft_notify_warp");
    weft_notify_by_lanes(self, comm, target, tag);
}

WEFT_FN void weft_get_warp(weft_self *self, weft_win win, int from, size_t offset, void *to,
                           size_t bytes)
{
    WEFT_TOGETHER_LANES(WEFT_WARP_THREADS, self, weft_get_warp(self, win, from, offset, to, bytes),
                        win, from, offset, to, bytes)
    weft_get_by_lanes(self, win, from, offset, to, bytes);
}

#endif
