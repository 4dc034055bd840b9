/*
 * rank/near.h - the calls that matter most, and their short ways on a GPU, compiled into the
 * kernel: to a target whose route is kept, on this device or mapped; a wait by the leader alone; a
 * barrier that is remembered. Each tests, in few steps, whether it is that; whatever is not, or is
 * wrong, goes far (rank/far.h), where all of it is done and said. In a traced job routes and
 * meetings have other names, so that all of it is far.
 *
 * A way returns false where nothing has been done.
 */
#ifndef WEFT_RANK_NEAR_H
#define WEFT_RANK_NEAR_H

#include "rank/barrier.h"
#include "rank/get.h"
#include "rank/notify.h"
#include "rank/put.h"
#include "rank/self.h"
#include "rank/update.h"
#include "rank/wait/call.h"

#ifdef __CUDACC__

/* As weft_join, weft_turn, and weft_path_meet. */
WEFT_INLINE void weft_near_join(weft_self *self)
{
    __syncthreads();
    if (WEFT_UNLIKELY(*(volatile uint32_t *)&self->stopped))
        weft_far(self, weft_attend_to)(self);
}

/* Whether it is so for any thread. */
WEFT_INLINE bool weft_near_join_any(weft_self *self, bool value)
{
    const bool any = __syncthreads_or(value) != 0;

    if (WEFT_UNLIKELY(*(volatile uint32_t *)&self->stopped))
        weft_far(self, weft_attend_to)(self);
    return any;
}

WEFT_INLINE void weft_near_turn(weft_self *self)
{
    if (WEFT_UNLIKELY(++self->port.turn % WEFT_LOOK_ROUNDS == 0))
        weft_far(self, weft_look_stop)(self);
}

WEFT_INLINE void weft_near_meet(weft_self *self, int process)
{
    if (threadIdx.x == 0 && WEFT_UNLIKELY((self->unsettled | self->news) != 0))
        weft_far(self, weft_path_meet_late)(self, process);
    weft_near_join(self);
}

/* As weft_wait_round and weft_wait_over. */
WEFT_INLINE bool weft_near_round(weft_self *self, uint32_t *rounds, enum weft_wait_kind kind,
                                 uint64_t a, uint64_t have, uint64_t need)
{
    if (!WEFT_UNLIKELY(++*rounds % WEFT_SERVE_ROUNDS == 0))
        return true;
    return weft_far(self, weft_wait_long)(self, *rounds, kind, a, have, need);
}

WEFT_INLINE void weft_near_over(weft_self *self, uint32_t rounds)
{
    weft_polled();
    if (WEFT_UNLIKELY(rounds >= WEFT_LOOK_ROUNDS))
        weft_far(self, weft_wait_told_over)(self);
}

/* Longer gets go far, where plain loads come after a fence: of those more are under way at once. */
enum { WEFT_NEAR_GET = 32768 };

/* Whether the kept route is that of a window's rank, and so many bytes there are mapped. */
WEFT_INLINE bool weft_near_reaches(const struct weft_cached *kept, weft_win win, int target,
                                   size_t offset, size_t bytes)
{
    return kept->handle == win && kept->target == target && offset <= kept->route.bytes &&
           bytes <= kept->route.bytes - offset;
}

/* ---- puts and notifications --------------------------------------------------------------------
 */

/*
 * One row. True: the first warp, or thread, did it alone, and what it stored is ordered before what
 * its first thread does next.
 */
WEFT_INLINE bool weft_near_copy(weft_self *self, unsigned char *target, const unsigned char *from,
                                size_t bytes)
{
    const bool wide = (((uintptr_t)target | (uintptr_t)from | bytes) & 15) == 0;

    if (bytes == 0 || target == from)
        return true;
    if (weft_is_small(target, bytes) && ((uintptr_t)from & (bytes - 1)) == 0) {
        if (threadIdx.x == 0)
            weft_copy_undivided(target, from, bytes);
        return true;
    }
    if (wide && bytes <= WEFT_WARP_BYTES) {
        if (threadIdx.x < 32)
            weft_copy_by_warp(target, from, bytes);
        return true;
    }
    if (wide)
        weft_far(self, weft_copy_wide)(target, from, bytes / 16);
    else
        weft_far(self, weft_copy_row)(target, from, bytes, threadIdx.x, blockDim.x);
    return false;
}

/* Whether it goes by a channel. */
WEFT_INLINE bool weft_near_channel(uint32_t way)
{
    return (way & 0xff) == WEFT_WAY_CHANNEL;
}

/* As weft_channel_clear: before bytes of a window go by another way than its channel, if there is
 * one. The leader. */
WEFT_INLINE void weft_near_clear(weft_self *self, uint32_t way, uint64_t low, uint64_t bytes)
{
    struct weft_out *const out = &self->out[way >> 8];

    if (!weft_near_channel(way))
        return;
    if (WEFT_UNLIKELY(weft_out_overlaps(out, low, low + bytes)))
        weft_far(self, weft_out_await)(self, out, out->data_end);
    out->dirty = WEFT_OUT_FENCE;
}

/* One more for the target. small: with a put that a channel would take. The leader. */
WEFT_INLINE void weft_near_count(weft_self *self, uint32_t way, const struct weft_route *to,
                                 uint32_t tag, bool relaxed, bool small)
{
    if (way == WEFT_WAY_HERE) {
        weft_here_notify(to, tag, relaxed);
    } else if (way == WEFT_WAY_PEER) {
        weft_count_add_peer(to->exposed, to->counters + tag, relaxed);
        if (small)
            weft_far(self, weft_out_talked)(self, to->exposed, to->process, to->slot);
    } else if (!weft_far(self, weft_channel_notify_hot)(self, way, tag, relaxed)) {
        weft_far(self, weft_channel_notify_far)(self, to, tag, relaxed);
    }
    weft_near_turn(self);
}

/* One row; tag < 0: without a notification. */
WEFT_INLINE bool weft_near_put(weft_self *self, weft_win win, int target, size_t offset,
                               const void *source, size_t bytes, int tag)
{
    const struct weft_cached *const kept = weft_route_place(self, win, target);
    const struct weft_route *const to = &kept->route;
    const uint32_t way = to->way;
    const bool eager = tag >= 0 && bytes < to->eager;
    /* The leader's business: it may be changing it, in the call before, when others come here. */
    const uint32_t late = threadIdx.x == 0 ? self->unsettled | self->news : 0;

    if (!weft_near_reaches(kept, win, target, offset, bytes) || source == NULL || blockDim.x < 32 ||
        to->address == NULL || !(weft_way_is_mapped(to) || weft_near_channel(way)))
        return false;
    if (eager) {
        const uint64_t home = to->home + offset;
        weft_near_join(self); /* what all threads wrote to the source is there */
        if (!weft_far(self, weft_channel_put_hot)(self, way, home, source, bytes, tag))
            weft_far(self, weft_channel_put_far)(self, way, home, source, bytes, tag);
        if (threadIdx.x == 0)
            weft_near_turn(self);
        return true;
    }
    if (threadIdx.x == 0)
        weft_near_clear(self, way, to->home + offset, bytes);
    if (WEFT_UNLIKELY(late != 0))
        weft_far(self, weft_path_meet_late)(self, to->process);
    weft_near_join(self);
    if (!weft_near_copy(self, to->address + offset, (const unsigned char *)source, bytes) &&
        tag >= 0)
        __syncthreads(); /* the release below covers what every thread copied */
    if (threadIdx.x != 0)
        return true;
    if (tag < 0)
        weft_near_turn(self);
    else
        weft_near_count(self, way, to, (uint32_t)tag, false,
                        bytes <= self->eager_bytes && self->eager_bytes != 0);
    return true;
}

WEFT_INLINE bool weft_near_notify(weft_self *self, weft_comm comm, int target, int tag,
                                  bool relaxed)
{
    const struct weft_cached *const kept = weft_route_place(self, comm, target);
    const struct weft_route *const to = &kept->route;
    const uint32_t way = to->way;
    const uint32_t unsettled = threadIdx.x == 0 ? self->unsettled : 0; /* as there */

    if (kept->handle != comm || kept->target != ~target || target < 0 ||
        !(weft_way_is_mapped(to) || weft_near_channel(way)) || (uint32_t)tag >= WEFT_TAGS)
        return false;
    if (!relaxed)
        weft_near_join(self); /* the release covers what every thread did */
    if (threadIdx.x != 0)
        return true;
    if (WEFT_UNLIKELY(unsettled != 0))
        weft_far(self, weft_settle)(self, to->process);
    weft_near_count(self, way, to, (uint32_t)tag, relaxed, false);
    return true;
}

/* ---- waits and barriers ------------------------------------------------------------------------
 */

/* By the leader, where nothing has to be served meanwhile; or by the first warp, for what usually
 * comes where there are channels. */
WEFT_INLINE bool weft_near_wait(weft_self *self, int tag, uint32_t need)
{
    const uint32_t waits = self->waits;

    if (waits == WEFT_WAITS_BY_WARP && (uint32_t)tag < WEFT_TAGS) {
        const bool left =
            threadIdx.x < 32 && !weft_far(self, weft_wait_hot)(self, (uint32_t)tag, need);
        return !weft_near_join_any(self, left);
    }
    if (waits != WEFT_WAITS_NEAR || (uint32_t)tag >= WEFT_TAGS)
        return false;
    if (threadIdx.x == 0) {
        const uint32_t index = weft_count_index(self->slot, (uint32_t)tag);
        const uint32_t consumed = self->consumed[tag];
        uint32_t rounds = 0, have;
        do
            have = weft_count_read(self, index) - consumed;
        while (have < need &&
               weft_near_round(self, &rounds, WEFT_WAIT_TAG, (uint32_t)tag, have, need));
        weft_near_over(self, rounds);
        self->consumed[tag] = consumed + need;
    }
    weft_near_join(self);
    return true;
}

/* As weft_barrier_tell_all. The leader. */
WEFT_INLINE void weft_near_tell_all(weft_self *self, const struct weft_meeting *meeting,
                                    uint32_t word)
{
    const struct weft_comm_entry *const entry = &self->state->comms[meeting->index];
    const bool fenced = self->unsettled == 0 && entry->leaders > 2;

    if (fenced)
        weft_fence_release(ORDER_count_add_peer);
    for (int32_t i = 0; i < entry->leaders; i++) {
        struct weft_exposed *const exposed = self->state->process_table[entry->leader[i]].exposed;
        if (i == entry->leader_index)
            continue;
        if (exposed != NULL && self->unsettled == 0)
            weft_peer_tell(exposed, word, fenced);
        else
            weft_far(self, weft_path_tell)(self, entry->leader[i], word, fenced);
    }
}

/* As weft_barrier_meet and weft_barrier_await, between few processes. The leader. */
WEFT_INLINE void weft_near_meet_all(weft_self *self, struct weft_meeting *meeting,
                                    enum weft_wait_kind as)
{
    const struct weft_state *const state = self->state;
    const uint32_t word = meeting->index * WEFT_BARRIER_WORDS + WEFT_BARRIER_ARRIVE;
    const uint32_t done = ++meeting->done, others = meeting->leaders - 1;
    const uint32_t want_here = state->start_here + done * meeting->here;
    const uint32_t want_others = state->start_others + done * others;
    const bool last = weft_count_arrive(self, WEFT_BARRIER_AT + word) == want_here;
    uint32_t rounds = 0;

    self->barriers[meeting->index] = done;
    if (last && others != 0)
        weft_near_tell_all(self, meeting, word);
    if (last && others == 0)
        return;
    for (;;) {
        const struct weft_counted now = weft_count_read_parts(self, WEFT_BARRIER_AT + word);
        if (((int32_t)(now.here - want_here) >= 0 && (int32_t)(now.others - want_others) >= 0) ||
            !weft_near_round(self, &rounds, as, meeting->comm, now.others, want_others))
            break;
    }
    weft_near_over(self, rounds);
}

WEFT_INLINE bool weft_near_barrier(weft_self *self, weft_comm comm, enum weft_wait_kind as)
{
    struct weft_meeting *const meeting = &self->meeting[comm % WEFT_MEETINGS];

    if (meeting->comm != comm || comm == WEFT_COMM_NONE || meeting->leaders > WEFT_BARRIER_FEW)
        return false;
    weft_near_join(self);
    if (threadIdx.x == 0)
        weft_near_meet_all(self, meeting, as);
    weft_near_join(self);
    return true;
}

/* ---- gets and updates --------------------------------------------------------------------------
 */

/* Whether this rank loads and updates memory of the route itself. */
WEFT_INLINE bool weft_near_loads(const weft_self *self, const struct weft_route *to)
{
    return to->address != NULL &&
           (to->way == WEFT_WAY_HERE ||
            (!weft_has_queues(self) && (to->way == WEFT_WAY_PEER || weft_near_channel(to->way))));
}

/* One row of whole words of 4, 8 or 16 bytes, undivided; each load passes by the L1 cache. */
WEFT_INLINE bool weft_near_get(weft_self *self, weft_win win, int from, size_t offset, void *to,
                               size_t bytes)
{
    const struct weft_cached *const kept = weft_route_place(self, win, from);
    const struct weft_route *const route = &kept->route;
    const unsigned char *const at = route->address + offset;
    const uintptr_t all = (uintptr_t)to | (uintptr_t)at | bytes;

    if (!weft_near_reaches(kept, win, from, offset, bytes) || !weft_near_loads(self, route) ||
        to == NULL || (all & 3) != 0 || bytes > WEFT_NEAR_GET)
        return false;
    if (threadIdx.x == 0)
        weft_near_clear(self, route->way, route->home + offset, bytes);
    weft_near_meet(self, route->process); /* what the other threads have put there */
    weft_load_row(to, at, bytes);
    if (threadIdx.x == 0)
        weft_near_turn(self);
    weft_near_join(self);
    return true;
}

/* *old: what the word was. */
WEFT_INLINE bool weft_near_update(weft_self *self, weft_win win, int target, size_t offset,
                                  struct weft_change change, bool relaxed, uint64_t *old)
{
    const struct weft_cached *const kept = weft_route_place(self, win, target);
    const struct weft_route *const to = &kept->route;
    const uint32_t size = weft_type_bytes(change.type);

    if (!weft_near_reaches(kept, win, target, offset, size) || !weft_near_loads(self, to) ||
        ((to->home + offset) & (size - 1)) != 0)
        return false;
    if (relaxed)
        __syncthreads(); /* all have what the update before brought */
    else
        weft_near_meet(self, to->process);
    if (threadIdx.x == 0) {
        weft_near_clear(self, to->way, to->home + offset, size);
        void *const word = to->address + offset;
        self->fetched = relaxed ? weft_update_relaxed(word, &change) : weft_update(word, &change);
        weft_near_turn(self);
    }
    weft_near_join(self);
    *old = self->fetched; /* the next update begins with a barrier, before it changes that */
    return true;
}

#endif

/* ---- the calls ---------------------------------------------------------------------------------
 */

WEFT_FN int weft_size(weft_self *self, weft_comm comm)
{
    return weft_far(self, weft_size_far)(self, comm);
}

/* The built-in ones without a look at the tables: kernels ask for them everywhere. */
WEFT_FN int weft_rank(weft_self *self, weft_comm comm)
{
    if (comm == WEFT_COMM_WORLD)
        return self->rank;
    if (comm == WEFT_COMM_DEVICE)
        return (int)self->slot - 1;
    return weft_far(self, weft_rank_far)(self, comm);
}

WEFT_FN int weft_processes(weft_self *self)
{
    return self->state->processes;
}

WEFT_FN int weft_process(weft_self *self)
{
    return self->process;
}

WEFT_FN weft_status weft_failure(weft_self *self)
{
    return self->failure;
}

WEFT_FN void weft_put(weft_self *self, weft_win win, int target, size_t offset, const void *source,
                      size_t bytes)
{
    WEFT_TOGETHER(self, weft_put(self, win, target, offset, source, bytes), win, target, offset,
                  source, bytes)
    WEFT_NEAR(weft_near_put(self, win, target, offset, source, bytes, -1))
    weft_far(self, weft_put_far)(self, win, target, offset, source, bytes, WEFT_NO_TAG);
}

WEFT_FN void weft_put_notify(weft_self *self, weft_win win, int target, size_t offset,
                             const void *source, size_t bytes, int tag)
{
    WEFT_TOGETHER(self, weft_put_notify(self, win, target, offset, source, bytes, tag), win, target,
                  offset, source, bytes, tag)
    WEFT_NEAR((uint32_t)tag < WEFT_TAGS &&
              weft_near_put(self, win, target, offset, source, bytes, tag))
    weft_far(self, weft_put_far)(self, win, target, offset, source, bytes, tag);
}

WEFT_FN void weft_notify(weft_self *self, weft_comm comm, int target, int tag)
{
    WEFT_TOGETHER(self, weft_notify(self, comm, target, tag), comm, target, tag)
    WEFT_NEAR(weft_near_notify(self, comm, target, tag, false))
    weft_far(self, weft_notify_far)(self, comm, target, tag, false);
}

WEFT_FN void weft_notify_relaxed(weft_self *self, weft_comm comm, int target, int tag)
{
    WEFT_TOGETHER(self, weft_notify_relaxed(self, comm, target, tag), comm, target, tag)
    WEFT_NEAR(weft_near_notify(self, comm, target, tag, true))
    weft_far(self, weft_notify_far)(self, comm, target, tag, true);
}

WEFT_FN void weft_wait(weft_self *self, int tag, uint32_t count)
{
    WEFT_TOGETHER(self, weft_wait(self, tag, count), tag, count)
    WEFT_NEAR(weft_near_wait(self, tag, count))
    weft_far(self, weft_wait_far)(self, tag, count);
}

WEFT_FN void weft_barrier(weft_self *self, weft_comm comm)
{
    WEFT_TOGETHER(self, weft_barrier(self, comm), comm)
    WEFT_NEAR(weft_near_barrier(self, comm, WEFT_WAIT_BARRIER))
    weft_far(self, weft_barrier_far)(self, comm, WEFT_WAIT_BARRIER);
}

WEFT_FN void weft_enter(weft_self *self)
{
    WEFT_TOGETHER(self, weft_enter(self), 0)
    weft_far(self, weft_barrier_far)(self, WEFT_COMM_WORLD, WEFT_WAIT_ENTER);
}

WEFT_FN void weft_leave(weft_self *self)
{
    WEFT_TOGETHER(self, weft_leave(self), 0)
    weft_far(self, weft_barrier_far)(self, WEFT_COMM_WORLD, WEFT_WAIT_LEAVE);
}

WEFT_FN void weft_get(weft_self *self, weft_win win, int from, size_t offset, void *to,
                      size_t bytes)
{
    WEFT_TOGETHER(self, weft_get(self, win, from, offset, to, bytes), win, from, offset, to, bytes)
    WEFT_NEAR(weft_near_get(self, win, from, offset, to, bytes))
    weft_far(self, weft_get_far)(self, win, from, offset, to, bytes);
}

WEFT_FN weft_op weft_get_begin(weft_self *self, weft_win win, int from, size_t offset, void *to,
                               size_t bytes)
{
    WEFT_TOGETHER_FOR(weft_op, self, weft_get_begin(self, win, from, offset, to, bytes), win, from,
                      offset, to, bytes)
#ifdef __CUDACC__
    if (weft_near_get(self, win, from, offset, to, bytes))
        return weft_op_done();
#endif
    return weft_far(self, weft_get_begin_far)(self, win, from, offset, to, bytes);
}

WEFT_INLINE uint64_t weft_update_call(weft_self *self, weft_win win, int target, size_t offset,
                                      uint32_t how, uint32_t type, uint64_t value,
                                      uint64_t expected, bool relaxed)
{
#ifdef __CUDACC__
    uint64_t old;

    if (weft_near_update(self, win, target, offset, weft_change(how, type, value, expected),
                         relaxed, &old))
        return old;
#endif
    return weft_far(self, weft_update_far)(self, win, target, offset, how, type, value, expected,
                                           relaxed);
}

#define WEFT_UPDATE_CALLS(word, suffix, type, relaxed)                                             \
    WEFT_FN word weft_fetch_add##suffix(weft_self *self, weft_win win, int target, size_t offset,  \
                                        word value)                                                \
    {                                                                                              \
        WEFT_TOGETHER_FOR(word, self, weft_fetch_add##suffix(self, win, target, offset, value),    \
                          win, target, offset, value)                                              \
        return (word)weft_update_call(self, win, target, offset, WEFT_SUM, type, value, 0,         \
                                      relaxed);                                                    \
    }                                                                                              \
    WEFT_FN word weft_swap##suffix(weft_self *self, weft_win win, int target, size_t offset,       \
                                   word value)                                                     \
    {                                                                                              \
        WEFT_TOGETHER_FOR(word, self, weft_swap##suffix(self, win, target, offset, value), win,    \
                          target, offset, value)                                                   \
        return (word)weft_update_call(self, win, target, offset, WEFT_REPLACE, type, value, 0,     \
                                      relaxed);                                                    \
    }                                                                                              \
    WEFT_FN word weft_compare_swap##suffix(weft_self *self, weft_win win, int target,              \
                                           size_t offset, word expected, word desired)             \
    {                                                                                              \
        WEFT_TOGETHER_FOR(word, self,                                                              \
                          weft_compare_swap##suffix(self, win, target, offset, expected, desired), \
                          win, target, offset, expected, desired)                                  \
        return (word)weft_update_call(self, win, target, offset, WEFT_COMPARE, type, desired,      \
                                      expected, relaxed);                                          \
    }
WEFT_UPDATE_CALLS(uint64_t, , WEFT_U64, false)
WEFT_UPDATE_CALLS(uint32_t, _u32, WEFT_U32, false)
WEFT_UPDATE_CALLS(uint64_t, _relaxed, WEFT_U64, true)
WEFT_UPDATE_CALLS(uint32_t, _u32_relaxed, WEFT_U32, true)
#undef WEFT_UPDATE_CALLS

#endif
