/*
 * rank/warp.h - what weft/warp.h promises: calls by one warp of a rank, or one thread.
 *
 * On a GPU the near way is a warp's own: a route that is found without a barrier, a copy by its
 * lanes, and a release by its first. It touches no state of the rank. All else is the rank's own
 * way, by one thread that is the whole rank meanwhile (weft_alone_begin), one at a time. No call of
 * all threads is made at the same time: both its ends are barriers, in a file with weft/warp.h
 * (together.h). On the CPU device the last thread of the warp to come makes the rank's call.
 */
#ifndef WEFT_RANK_WARP_H
#define WEFT_RANK_WARP_H

#include "rank/api.h"
#include "weft/warp.h"

enum { WEFT_WARP_THREADS = 32 };

#ifdef __CUDACC__

/* So many threads of the caller's warp are in its call; which of them this is. */
WEFT_INLINE unsigned weft_lanes(void)
{
    return (unsigned)__popc(weft_warp_mask());
}

WEFT_INLINE unsigned weft_lane(void)
{
    return threadIdx.x % WEFT_WARP_THREADS;
}

/* What one lane did to memory, all see after. Ends them if the job has failed. */
WEFT_INLINE void weft_warp_meet(weft_self *self)
{
    __syncwarp(weft_warp_mask());
    if (WEFT_UNLIKELY(__any_sync(weft_warp_mask(), weft_has_stopped(self))))
        weft_exit(self);
}

/* Whether the rank has something to do first, or channels that not all know of. All lanes. */
WEFT_INLINE bool weft_warp_is_late(const weft_self *self)
{
    const volatile weft_self *const now = self;
    return __any_sync(weft_warp_mask(), (now->unsettled | now->news) != 0) != 0;
}

/* One thread of the warp, after an operation: how many there were before it. */
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
    return cached->handle == handle && cached->target == target;
}

/* The route to a target; its number is checked. late: those that are kept may be old. All lanes. */
WEFT_INLINE struct weft_route weft_warp_route(weft_self *self, uint32_t handle, int target,
                                              bool window, bool late, const char *call)
{
    struct weft_cached *const own =
        &((struct weft_cuda_rank *)self)->scopes.kept[threadIdx.x / WEFT_WARP_THREADS];
    const struct weft_cached *const ranks = weft_route_place(self, handle, target);
    const int number = window ? target : ~target;

    if (target >= 0 && !late && weft_is_kept(ranks, handle, number))
        return ranks->route;
    if (target >= 0 && !late && weft_is_kept(own, handle, number))
        return own->route;
    const struct weft_route to = weft_route_find(self, handle, target, window, call);
    __syncwarp(weft_warp_mask()); /* all have looked */
    if (weft_lane() == 0 && !late)
        weft_route_keep(own, handle, number, &to);
    __syncwarp(weft_warp_mask());
    return to;
}

/* Before something goes straight to a target, or by its channel: what went another way is there,
 * and nothing in the channel is for the same place. All lanes. */
WEFT_INLINE void weft_warp_make_way(weft_self *self, const struct weft_route *to, uint64_t low,
                                    uint64_t bytes, bool late)
{
    if (!WEFT_UNLIKELY(late || !weft_way_is_mapped(to)))
        return;
    if (weft_lane() == 0 && weft_alone_begin(self)) {
        weft_channel_clear(self, to, low, bytes);
        if (self->unsettled != 0)
            weft_settle(self, to->process);
        weft_alone_end(self);
    }
    weft_warp_meet(self);
}

/* Whether this rank reaches those bytes of the target's window by loads and stores, in a job that
 * is not traced, and tells it without the host. */
WEFT_INLINE bool weft_warp_reaches(const weft_self *self, const struct weft_route *to,
                                   size_t offset, size_t bytes)
{
    return !weft_traced(self) && to->exposed != NULL && to->address != NULL &&
           offset <= to->bytes && bytes <= to->bytes - offset;
}

/*
 * The notification behind what all lanes did, and have met for; tag < 0: none, but what the channel
 * brings next comes after it: another warp may have fenced the channel meanwhile. The first lane.
 */
WEFT_INLINE void weft_warp_tell(weft_self *self, const struct weft_route *to, int tag)
{
    if (weft_way_is_mapped(to) && tag >= 0)
        weft_mapped_notify(self, to->way, to, (uint32_t)tag, false, false);
    if (weft_way_is_mapped(to) || !weft_alone_begin(self))
        return;
    if (tag >= 0)
        weft_channel_notify(self, to, (uint32_t)tag, false);
    else
        weft_route_out(self, to)->dirty = WEFT_OUT_FENCE;
    weft_alone_end(self);
}

WEFT_INLINE void weft_put_by_lanes(weft_self *self, weft_win win, int target, size_t offset,
                                   const void *source, size_t bytes, int tag, const char *call)
{
    weft_warp_meet(self); /* the source is there */
    const bool late = weft_warp_is_late(self);
    const struct weft_route to = weft_warp_route(self, win, target, true, late, call);
    unsigned char *const there = (unsigned char *)((uintptr_t)to.address + offset);
    const unsigned char *const from = (const unsigned char *)source;

    if (!weft_warp_reaches(self, &to, offset, bytes) || source == NULL ||
        (tag >= 0 && bytes < to.eager)) {
        if (weft_lane() == 0 && weft_alone_begin(self)) { /* which says what is wrong, too */
            weft_put_recorded(self, win, target, offset, source, weft_one_row(bytes), tag, call);
            weft_alone_end(self);
        }
        return;
    }
    weft_warp_make_way(self, &to, to.home + offset, bytes, late);
    if ((((uintptr_t)there | (uintptr_t)from | bytes) & 15) == 0 && bytes <= WEFT_WARP_BYTES &&
        weft_lanes() == WEFT_WARP_THREADS)
        weft_copy_by_warp(there, from, bytes, weft_lane());
    else if (there != from)
        weft_copy_lane(there, from, bytes, weft_lane(), weft_lanes());
    __syncwarp(weft_warp_mask()); /* the release covers what every lane copied */
    if (weft_lane() == 0) {
        weft_warp_tell(self, &to, tag);
        weft_warp_turn(self);
    }
}

WEFT_INLINE void weft_notify_by_lanes(weft_self *self, weft_comm comm, int target, int tag)
{
    weft_warp_meet(self); /* the release covers what every lane did */
    const bool late = weft_warp_is_late(self);
    const struct weft_route to =
        weft_warp_route(self, comm, target, false, late, "weft_notify_warp");
    const bool near = !weft_traced(self) && to.exposed != NULL;

    if (near)
        weft_warp_make_way(self, &to, 0, 0, late);
    if (weft_lane() != 0)
        return;
    if (near) {
        weft_warp_tell(self, &to, tag);
    } else if (weft_alone_begin(self)) {
        weft_notify_recorded(self, comm, target, tag, false, "weft_notify_warp");
        weft_alone_end(self);
    }
    weft_warp_turn(self);
}

/* Four at once; beyond the end the first one again, as in weft_load_items. */
template <class T>
static __device__ __forceinline__ void weft_load_by_lanes(void *to, const void *from, size_t bytes)
{
    const size_t lanes = weft_lanes(), count = bytes / sizeof(T);

    for (size_t i = weft_lane(); i < count; i += 4 * lanes) {
        T item[4];
        WEFT_UNROLL
        for (int k = 0; k < 4; k++)
            item[k] =
                weft_load_relaxed((const T *)from + (i + k * lanes < count ? i + k * lanes : i));
        WEFT_UNROLL
        for (int k = 0; k < 4; k++)
            if (i + k * lanes < count)
                ((T *)to)[i + k * lanes] = item[k];
    }
}

/* From mapped memory, past the L1 cache, where what others have stored may be old. */
WEFT_INLINE void weft_load_warp(void *to, const unsigned char *from, size_t bytes)
{
    const uintptr_t all = (uintptr_t)to | (uintptr_t)from | bytes;

    if (!weft_loads_row(to, from, bytes)) {
        weft_fence_acquire();
        weft_copy_row((unsigned char *)to, from, bytes, weft_lane(), weft_lanes());
    } else if ((all & 15) == 0) {
        weft_load_by_lanes<uint4>(to, from, bytes);
    } else if ((all & 7) == 0) {
        weft_load_by_lanes<uint64_t>(to, from, bytes);
    } else {
        weft_load_by_lanes<uint32_t>(to, from, bytes);
    }
}

WEFT_INLINE void weft_get_by_lanes(weft_self *self, weft_win win, int from, size_t offset, void *to,
                                   size_t bytes)
{
    weft_warp_meet(self); /* what the other lanes have put there */
    const bool late = weft_warp_is_late(self);
    const struct weft_route route = weft_warp_route(self, win, from, true, late, "weft_get_warp");
    const unsigned char *const at = (const unsigned char *)((uintptr_t)route.address + offset);

    if (!weft_warp_reaches(self, &route, offset, bytes) || to == NULL) {
        if (weft_lane() == 0 && weft_alone_begin(self)) {
            weft_get_any(self, win, from, offset, to, weft_one_row(bytes), -1, true,
                         "weft_get_warp");
            weft_alone_end(self);
        }
    } else {
        weft_warp_make_way(self, &route, route.home + offset, bytes, late);
        weft_load_warp(to, at, bytes);
        if (weft_lane() == 0)
            weft_warp_turn(self);
    }
    weft_warp_meet(self);
}

#else

/* By the thread that makes the call for its warp. */
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

/* ---- waiting --------------------------------------------------------------------------------- */

/* Takes what channels have brought, if there are some. One thread of the warp, at every look. */
WEFT_INLINE void weft_warp_serve(weft_self *self)
{
#ifdef __CUDACC__
    const bool all = weft_warp_turn(self) % WEFT_LOOK_WAITS == 0;
#else
    const bool all = true;
#endif
    const bool some = *(const volatile uint32_t *)&self->ins != 0;

    if (self->eager_bytes == 0 || !(all || some) || !weft_alone_begin(self))
        return;
    if (all)
        weft_serve_now_and_then(self);
    else
        weft_serve(self);
    weft_alone_end(self);
}

#ifdef __CUDACC__
/* What a batch holds back leaves before a warp comes again. One thread of the warp. */
WEFT_INLINE void weft_warp_send(weft_self *self)
{
    if (weft_has_queues(self) && *(const volatile uint32_t *)&self->unrung != 0 &&
        weft_alone_begin(self)) {
        weft_batch_send(self);
        weft_alone_end(self);
    }
}
#endif

/*
 * Consumes the notifications, if they are there; *have: how many are. Another warp may have taken
 * some that came after the look: then this is negative. One thread of the warp.
 */
WEFT_INLINE bool weft_warp_consume(weft_self *self, uint32_t tag, uint32_t count, uint32_t *have)
{
    volatile uint32_t *const consumed = &self->consumed[tag];

    weft_warp_serve(self);
    const bool nic = WEFT_QUEUES && (self->waits & ~WEFT_WAITS_TRACED) == WEFT_WAITS_BY_NIC;
    const uint32_t all = weft_count_read_with(self, weft_count_index(self->slot, tag), nic);
    *have = all - *consumed;
    if ((int32_t)(*have - count) < 0 || !weft_alone_begin(self))
        return false;
    *have = all - *consumed;
    const bool there = (int32_t)(*have - count) >= 0;
    if (there)
        *consumed += count;
    weft_alone_end(self);
    weft_polled();
    return there;
}

/* A round of a wait that found nothing. False: the job has failed. One thread of the warp. */
WEFT_INLINE bool weft_warp_round(weft_self *self, uint32_t *rounds, uint32_t tag, uint32_t have,
                                 uint32_t need)
{
#ifdef __CUDACC__
    if (++*rounds % WEFT_SERVE_ROUNDS == 0 && weft_alone_begin(self)) {
        weft_wait_long(self, *rounds, WEFT_WAIT_TAG, tag, have, need);
        weft_alone_end(self);
    }
    return !weft_has_stopped(self);
#else
    if (!weft_warp_pass(self, true))
        return weft_wait_round(self, rounds, WEFT_WAIT_TAG, tag, have, need);
    ++*rounds;
    weft_tell(self, WEFT_WAIT_TAG, tag, have, need);
    weft_check_stop(self);
    return true;
#endif
}

WEFT_FN void weft_wait_warp(weft_self *self, int tag, uint32_t count)
{
    WEFT_TOGETHER_LANES(WEFT_WARP_THREADS, self, weft_wait_warp(self, tag, count), tag, count)
    weft_check_tag(self, tag, "weft_wait_warp");
    weft_warp_meet(self);
    if (weft_lane() == 0) {
        uint32_t rounds = 0, have = 0;
        while (!weft_warp_consume(self, (uint32_t)tag, count, &have) &&
               weft_warp_round(self, &rounds, (uint32_t)tag, have, count))
            continue;
        if (rounds != 0 && weft_alone_begin(self)) {
            weft_wait_over(self, rounds);
            weft_alone_end(self);
        }
    }
    weft_warp_meet(self);
}

WEFT_FN int weft_test_warp(weft_self *self, int tag, uint32_t count)
{
    WEFT_TOGETHER_LANES_FOR(int, WEFT_WARP_THREADS, self, weft_test_warp(self, tag, count), tag,
                            count)
    weft_check_tag(self, tag, "weft_test_warp");
    weft_warp_meet(self);
    uint32_t have = 0;
    bool there = weft_lane() == 0 && weft_warp_consume(self, (uint32_t)tag, count, &have);
#ifdef __CUDACC__
    if (!there && weft_lane() == 0)
        weft_warp_send(self);
    there = __any_sync(weft_warp_mask(), there) != 0;
#else
    if (there)
        weft_port_waited(&self->port);
    else if (!weft_warp_pass(self, false))
        weft_port_poll(&self->port); /* loops around it must let others run */
#endif
    weft_warp_meet(self);
    return there;
}

#endif
