/*
 * rank/barrier.h - barriers: the ranks of a process count themselves in one word; the last of
 * them tells the other processes; everybody polls.
 *
 * Between few processes each tells all others, in the same counter: `local` of the ARRIVE word
 * counts the ranks here, `peer` and `host` the other processes, and one look at it sees both. One
 * crossing after the last delivery everybody is free. Between many, the last ranks meet by
 * dissemination and release their own (Hensgen, Finkel, Manber, "Two algorithms for barrier
 * synchronization", 1988). In round k process i tells i + 2^k and waits for i - 2^k; there are
 * ceil(log2 n) rounds.
 *
 * All words only grow while the communicator lives: what to wait for follows from the number of its
 * barriers, so ranks that are ahead, in the next barrier already, do no harm. When it is freed the
 * host sets them back (runtime/space/tables.h): nobody counts in them any more.
 *
 * Order: an delivery releases what the rank did; the last one acquires all before it and releases
 * them to the other processes (cumulativity); who sees the counts full acquires all of it.
 */
#ifndef WEFT_RANK_BARRIER_H
#define WEFT_RANK_BARRIER_H

#include "rank/path/dispatch.h"
#include "rank/together.h"

enum { WEFT_BARRIER_FEW = 8 }; /* processes that tell each other one by one, at most */

/* Blocks until both parts of a barrier word are at least so far beyond their start; wraps. as: what
 * the wait is to be called. The leader, as all helpers of weft_barrier. */
WEFT_INLINE void weft_barrier_await(weft_self *self, weft_comm comm, uint32_t word, uint32_t here,
                                    uint32_t others, enum weft_wait_kind as)
{
    const struct weft_state *state = self->state;
    const uint32_t want_here = state->start_here + here;
    const uint32_t want_others = state->start_others + others;
    uint32_t rounds = 0;

    for (;;) {
        const struct weft_counted now = weft_count_read_parts(self, WEFT_BARRIER_AT + word);
        if ((int32_t)(now.here - want_here) >= 0 && (int32_t)(now.others - want_others) >= 0)
            break;
        if (!weft_wait_round(self, &rounds, as, comm, now.others, want_others))
            break;
    }
    weft_polled();
    weft_wait_over(self, rounds);
}

/* Many processes: their last ranks meet, and each releases those of its own process. */
WEFT_COLD void weft_barrier_many(weft_self *self, const struct weft_meeting *meeting, bool last,
                                 enum weft_wait_kind as)
{
    const struct weft_comm_entry *entry = &self->state->comms[meeting->index];
    const int32_t leaders = entry->leaders;
    const uint32_t words = meeting->index * WEFT_BARRIER_WORDS, done = meeting->done;
    uint32_t word = words + WEFT_BARRIER_ROUND;

    if (!last) {
        weft_barrier_await(self, meeting->comm, words + WEFT_BARRIER_RELEASE, done, 0, as);
        return;
    }
    for (int32_t distance = 1; distance < leaders; distance *= 2, word++) {
        weft_path_tell(self, entry->leader[(entry->leader_index + distance) % leaders], word,
                       false);
        weft_barrier_await(self, meeting->comm, word, 0, done, as);
    }
    struct weft_exposed *here = self->state->exposed;
    weft_count_add_local(here, &here->counters[WEFT_BARRIER_AT + words + WEFT_BARRIER_RELEASE],
                         false);
}

/* Few: the last rank tells every other process. */
WEFT_INLINE void weft_barrier_tell_all(weft_self *self, const struct weft_meeting *meeting,
                                       uint32_t word)
{
    const struct weft_comm_entry *entry = &self->state->comms[meeting->index];
#ifdef __CUDACC__
    const bool fenced = self->unsettled == 0 && entry->leaders > 2;
    if (fenced) /* one for all: each release would wait for the add before it */
        weft_fence_release(ORDER_count_add_peer);
#else
    const bool fenced = false;
#endif

    for (int32_t i = 0; i < entry->leaders; i++)
        if (i != entry->leader_index)
            weft_path_tell(self, entry->leader[i], word, fenced);
}

WEFT_INLINE void weft_barrier_meet(weft_self *self, struct weft_meeting *meeting,
                                   enum weft_wait_kind as)
{
    const uint32_t arrive = meeting->index * WEFT_BARRIER_WORDS + WEFT_BARRIER_ARRIVE;
    const uint32_t done = ++meeting->done, here = done * meeting->here;
    const bool last =
        weft_count_arrive(self, WEFT_BARRIER_AT + arrive) == self->state->start_here + here;

    self->barriers[meeting->index] = done;
    if (meeting->leaders > WEFT_BARRIER_FEW) {
        weft_barrier_many(self, meeting, last, as);
        return;
    }
    if (last && meeting->leaders > 1)
        weft_barrier_tell_all(self, meeting, arrive);
    if (!last || meeting->leaders > 1)
        weft_barrier_await(self, meeting->comm, arrive, here, done * (meeting->leaders - 1), as);
}

/* Looks the communicator up and remembers what a barrier needs of it; in a traced job under its
 * alias. All threads. */
WEFT_COLD void weft_barrier_look_up(weft_self *self, struct weft_meeting *meeting, weft_comm comm)
{
    const struct weft_comm_entry *entry = weft_check_member(self, comm, "weft_barrier");

    weft_join(self);
    if (weft_leads(self)) {
        meeting->index = weft_handle_index(comm);
        meeting->here = (uint32_t)entry->members_here;
        meeting->leaders = (uint32_t)entry->leaders;
        meeting->done = self->barriers[weft_handle_index(comm)];
        meeting->comm = comm ^ self->tracer.alias;
    }
    weft_join(self);
}

/* Looks up another communicator. True: the job is traced, and the barrier is over. */
WEFT_COLD bool weft_barrier_other(weft_self *self, struct weft_meeting *meeting, weft_comm comm,
                                  enum weft_wait_kind as)
{
    WEFT_IN_SHARED(self);
    weft_trace_enter(self, WEFT_TRACE_BARRIER, -1, comm);

    if (meeting->comm != (comm ^ self->tracer.alias) || comm == WEFT_COMM_NONE)
        weft_barrier_look_up(self, meeting, comm);
    if (!weft_traced(self))
        return false;
    weft_join(self);
    if (weft_leads(self))
        weft_barrier_meet(self, meeting, as);
    weft_join(self);
    weft_trace_leave(self);
    return true;
}

WEFT_INLINE void weft_barrier_as(weft_self *self, weft_comm comm, enum weft_wait_kind as)
{
    struct weft_meeting *const meeting = &self->meeting[comm % WEFT_MEETINGS];

    weft_check_stop(self);
    if (WEFT_UNLIKELY(meeting->comm != comm || comm == WEFT_COMM_NONE) &&
        weft_barrier_other(self, meeting, comm, as))
        return;
    weft_join(self);
    if (weft_leads(self))
        weft_barrier_meet(self, meeting, as);
    weft_join(self);
}

WEFT_FN void weft_barrier(weft_self *self, weft_comm comm)
{
    WEFT_TOGETHER_ALL(weft_barrier, self, comm)
    weft_barrier_as(self, comm, WEFT_WAIT_BARRIER);
}

WEFT_FN void weft_begin(weft_self *self, void *shared)
{
    WEFT_TOGETHER(self, weft_begin(self, shared), 0)
    if (shared != NULL) /* on a GPU the kernel knows where it is */
        self->shared = shared;
    if (weft_traced(self))
        weft_trace_moment(self, WEFT_TRACE_RUN_BEGIN);
}

/*
 * Ends the kernel's channels: tells the targets of this rank's channels, and serves its own until
 * their senders have said the same. So whatever was sent is delivered, whether or not a rank ever
 * waits for it.
 */
WEFT_INLINE void weft_end_channels(weft_self *self)
{
    weft_join(self);
    if (!weft_leads(self))
        return;
    for (uint32_t i = 0; i < WEFT_CHANNELS_OUT; i++)
        if (self->out[i].state == WEFT_OUT_ASKED || self->out[i].state == WEFT_OUT_OPEN) {
            weft_message_notice(self, &self->out[i], 0, false, true);
            weft_count_nudge(self->state->process_table[self->out[i].process].exposed);
        }
    weft_serve_now_and_then(self);
    for (uint32_t i = 0; i < self->ins; i++) {
        uint32_t rounds = 0;
        while (!self->in[i].bye && weft_wait_round(self, &rounds, WEFT_WAIT_EAGER,
                                                   (uint64_t)self->process, self->in[i].tail, 0))
            weft_serve(self);
        weft_wait_over(self, rounds);
    }
}

WEFT_FN void weft_end(weft_self *self)
{
    WEFT_TOGETHER(self, weft_end(self), 0)
    if (self->eager_bytes != 0)
        weft_end_channels(self);
    if (weft_traced(self))
        weft_trace_moment(self, WEFT_TRACE_RUN_END);
    if (weft_leads(self)) {
        weft_batch_send(self);
        weft_tell_u32(&self->waiting->kind, WEFT_WAIT_NO_MORE);
    }
}

WEFT_FN void weft_enter(weft_self *self)
{
    WEFT_TOGETHER(self, weft_enter(self), 0)
    weft_barrier_as(self, WEFT_COMM_WORLD, WEFT_WAIT_ENTER);
}

WEFT_FN void weft_leave(weft_self *self)
{
    WEFT_TOGETHER(self, weft_leave(self), 0)
    weft_barrier_as(self, WEFT_COMM_WORLD, WEFT_WAIT_LEAVE);
}

#endif
