/*
 * rank/near.h - barriers and updates, with their short ways on a GPU, compiled into the kernel: a
 * barrier that is remembered; a word whose route is kept, on this device or mapped. Each tests, in
 * few steps, whether it is that; whatever is not, or is wrong, goes far (rank/far.h), where all of
 * it is done and said. In a traced job routes and meetings have other names, so all of it is far.
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

/* Whether the kept route is that of a window's rank, and so many bytes there are mapped. */
WEFT_INLINE bool weft_near_reaches(const struct weft_cached *kept, weft_win win, int target,
                                   size_t offset, size_t bytes)
{
    return kept->handle == win && kept->target == target && offset <= kept->route.bytes &&
           bytes <= kept->route.bytes - offset;
}

/* ---- barriers -----------------------------------------------------------------------------------
 */

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

/* ---- updates -----------------------------------------------------------------------------------
 */

/* Whether this rank loads and updates memory of the route itself. */
WEFT_INLINE bool weft_near_loads(const weft_self *self, const struct weft_route *to)
{
    return to->address != NULL &&
           (to->way == WEFT_WAY_HERE || (to->way == WEFT_WAY_PEER && !weft_has_queues(self)));
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
