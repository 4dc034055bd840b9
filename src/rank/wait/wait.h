/*
 * rank/wait/wait.h - waiting, and all that a rank does while it waits.
 *
 * Every wait in the library is one of these loops. Each round that finds nothing looks whether the
 * job has ended and lets other ranks run; what the rank waits for stands in *self->waiting, where
 * the watchdog reads it.
 *
 * On a GPU one thread of the rank, its leader, waits for all, and the others meet it in weft_join.
 * When the job has failed, the leader's wait returns false; it goes to the next weft_join, and
 * there the whole rank ends. On the CPU device a rank is one thread, which ends at once.
 */
#ifndef WEFT_RANK_WAIT_WAIT_H
#define WEFT_RANK_WAIT_WAIT_H

#include "rank/counter.h"
#include "rank/path/bell.h"
#include "rank/trace/trace.h"
#include "rank/wait/mailbox.h"
#ifndef __CUDACC__
#include "device/cpu/where.h"
#endif

/* The thread that acts for the rank: of the CPU device the one that a call has (together.h). */
WEFT_INLINE bool weft_leads(const weft_self *self)
{
#ifdef __CUDACC__
    return weft_alone(self) || weft_thread(self) == 0;
#else
    (void)self;
    return true;
#endif
}

/* Makes a barrier of a GPU's threads of the rank, and nothing else (weft_join). */
WEFT_INLINE void weft_block_sync(const weft_self *self)
{
    (void)self;
#ifdef __CUDACC__
    if (!weft_alone(self))
        weft_sync(self);
#endif
}

/* Stores another number to a word of the watchdog's. A GPU does not read it: it is host memory. */
WEFT_INLINE void weft_tell_next(weft_self *self, uint32_t *word)
{
#ifdef __CUDACC__
    weft_tell_u32(word, ++self->port.told);
#else
    (void)self;
    weft_tell_u32(word, __atomic_load_n(word, __ATOMIC_RELAXED) + 1);
#endif
}

/* Tells the watchdog what the rank waits for: plain words that it may read at any moment. */
WEFT_INLINE void weft_tell(weft_self *self, enum weft_wait_kind kind, uint64_t a, uint64_t have,
                           uint64_t need)
{
    struct weft_waiting *w = self->waiting;
    weft_tell_u64(&w->a, a);
    weft_tell_u64(&w->have, have);
    weft_tell_u64(&w->need, need);
    weft_tell_u64(&w->work, self->work);
    weft_tell_u32(&w->kind, kind);
    weft_tell_next(self, &w->looks);
}

WEFT_COLD void weft_wait_told_over(weft_self *self)
{
    weft_tell_u32(&self->waiting->kind, WEFT_WAIT_NONE);
    weft_tell_next(self, &self->waiting->episode);
}

/* Tells that the rank ends, since its job has failed: a wait of its stays, if not yet over. */
WEFT_INLINE void weft_tell_stopped(weft_self *self)
{
    if (self->waiting->kind == WEFT_WAIT_NONE)
        weft_tell_u32(&self->waiting->kind, WEFT_WAIT_STOPPED);
}

#ifdef __CUDACC__

enum { WEFT_LOOK_ROUNDS = 2048 }; /* polls between two looks at host memory: about a millisecond */

/* What the leader tells its rank in self->stopped. AGAIN: a wait (weft_wait) is not over. */
enum { WEFT_STOPPED = 1, WEFT_ROUTES_STALE = 2, WEFT_AGAIN = 4 };

/* Ends the thread, since its job has failed; before that the leader stores what it is in the middle
 * of. (On the CPU device the host sees to it.) */
WEFT_COLD void weft_exit(weft_self *self)
{
    if (threadIdx.x == 0)
        weft_tell_stopped(self);
    if (weft_traced(self) && threadIdx.x == 0) {
        weft_trace_abandon(&self->tracer);
        weft_trace_moment(self, WEFT_TRACE_CLOCK);
        weft_trace_publish(&self->tracer);
    }
    asm volatile("exit;");
    __builtin_unreachable();
}

/* Forgets all routes. All threads, between two barriers. */
WEFT_INLINE void weft_routes_clear(weft_self *self)
{
    weft_for (i, WEFT_ROUTES)
        weft_cached_clear(&((struct weft_cuda_rank *)self)->routes[i]);
    weft_scopes_clear(self);
}

/* Ends the rank if its job has failed; forgets routes that have changed. After a barrier. */
WEFT_COLD bool weft_attend_to(weft_self *self)
{
    const uint32_t told = *(volatile uint32_t *)&self->stopped;

    if ((told & WEFT_STOPPED) != 0)
        weft_exit(self);
    __syncthreads(); /* all have seen why they are here */
    if ((told & WEFT_ROUTES_STALE) != 0)
        weft_routes_clear(self);
    if (threadIdx.x == 0)
        atomicAnd(&self->stopped, ~(uint32_t)(WEFT_ROUTES_STALE | WEFT_AGAIN));
    __syncthreads();
    return (told & WEFT_AGAIN) != 0;
}

/* Whether the leader knows that the job has failed. */
WEFT_INLINE bool weft_has_stopped(const weft_self *self)
{
    return (*(const volatile uint32_t *)&self->stopped & WEFT_STOPPED) != 0;
}

/* Whether a wait goes on. */
WEFT_INLINE bool weft_attend(weft_self *self)
{
    return WEFT_UNLIKELY(*(volatile uint32_t *)&self->stopped) && weft_attend_to(self);
}

/* Makes a barrier of all threads of the rank, where it learns what its leader has to say. */
WEFT_INLINE void weft_join(weft_self *self)
{
    if (weft_alone(self))
        return;
    __syncthreads();
    weft_attend(self);
}

/* Keeps it for later that routes are stale: others may be about to look what to attend to. */
WEFT_INLINE void weft_routes_stale(weft_self *self)
{
    self->news = WEFT_ROUTES_STALE;
}

/*
 * Tells the rank something at the next barrier. Every thread has looked at `stopped` some cycles
 * after the last one; not to be seen by a late one, the leader waits microseconds. It is rare.
 */
WEFT_COLD void weft_tell_rank(weft_self *self, uint32_t what)
{
    __nanosleep(4000);
    atomicOr(&self->stopped, what);
}

/* Once a channel. */
WEFT_INLINE void weft_tell_news(weft_self *self)
{
    if (self->news != 0)
        weft_tell_rank(self, self->news);
    self->news = 0;
}

/*
 * Makes the calling thread its rank until weft_alone_end: weft_leads, weft_join and what else
 * stands for the rank's threads then mean it alone. False: the job has failed. Without weft/warp.h
 * nothing is done.
 */
WEFT_INLINE bool weft_alone_begin(weft_self *self)
{
#if WEFT_WARPS
    struct weft_scopes *const scopes = &((struct weft_cuda_rank *)self)->scopes;

    while (atomicCAS(&scopes->lock, 0, 1) != 0)
        if (weft_has_stopped(self))
            return false;
    __threadfence_block();
    *(volatile unsigned *)&scopes->alone = threadIdx.x + 1;
#endif
    return true;
}

WEFT_INLINE void weft_alone_end(weft_self *self)
{
#if WEFT_WARPS
    struct weft_scopes *const scopes = &((struct weft_cuda_rank *)self)->scopes;

    *(volatile unsigned *)&scopes->alone = 0;
    __threadfence_block();
    atomicExch(&scopes->lock, 0);
#endif
}

/* Now and then: has the job failed? */
WEFT_COLD bool weft_look_stop(weft_self *self)
{
    if (WEFT_UNLIKELY(weft_load_relaxed_u32(&self->state->signals->stop) != 0))
        atomicOr(&self->stopped, (uint32_t)WEFT_STOPPED);
    return weft_has_stopped(self);
}

/* Checks at the start of every call; ranks that only send look now and then (weft_turn). */
WEFT_INLINE void weft_check_stop(weft_self *self)
{
}

/* Looks now and then, after operations that do not wait. The leader. */
WEFT_INLINE void weft_turn(weft_self *self)
{
    if (WEFT_UNLIKELY(++self->port.turn % WEFT_LOOK_ROUNDS == 0))
        weft_look_stop(self);
}

WEFT_COLD bool weft_wait_long(weft_self *self, uint32_t rounds, enum weft_wait_kind kind,
                              uint64_t a, uint64_t have, uint64_t need)
{
    weft_serve_now_and_then(self);
    weft_batch_send(self);
    if (rounds % WEFT_LOOK_ROUNDS != 0)
        return true;
    weft_tell(self, kind, a, have, need);
    return !weft_look_stop(self);
}

/* Makes a round of a wait, the *rounds-th that found nothing. False: the rank ends. */
WEFT_INLINE bool weft_wait_round(weft_self *self, uint32_t *rounds, enum weft_wait_kind kind,
                                 uint64_t a, uint64_t have, uint64_t need)
{
    if (!WEFT_UNLIKELY(++*rounds % WEFT_SERVE_ROUNDS == 0))
        return true;
    return weft_wait_long(self, *rounds, kind, a, have, need);
}

/* Ends a wait that had so many rounds. */
WEFT_INLINE void weft_wait_over(weft_self *self, uint32_t rounds)
{
    if (WEFT_UNLIKELY(rounds >= WEFT_LOOK_ROUNDS))
        weft_wait_told_over(self);
}

#else

/* One thread runs at a time; routes are looked up each time; when the job has failed its calls do
 * not return (weft_check_stop). */
#define weft_join(self)         ((void)(self))
#define weft_alone_begin(self)  ((void)(self), true)
#define weft_alone_end(self)    ((void)(self))
#define weft_tell_news(self)    ((void)(self))
#define weft_routes_stale(self) ((void)(self))
#define weft_has_stopped(self)  ((void)(self), false)

/*
 * Ends a rank whose job has failed: at the start of every call, and in every wait. The acquire
 * pairs with the release of `stop` (weft_services_are_quiet): the services have read this rank's
 * sources before its stack, or the host program's buffer, is used for something else.
 */
static __attribute__((noinline, cold, unused)) void weft_stop(weft_self *self)
{
    if (__atomic_load_n(&self->state->signals->stop, __ATOMIC_ACQUIRE) == 0)
        return;
    if (!self->port.host)
        weft_tell_stopped(self);
    if (self->state->signals->accused == (uint32_t)self->slot && !self->port.host)
        weft_where_say(NULL);
    weft_port_end(&self->port);
}
WEFT_HOT void weft_check_stop(weft_self *self)
{
    if (WEFT_UNLIKELY(__atomic_load_n(&self->state->signals->stop, __ATOMIC_RELAXED) != 0))
        weft_stop(self);
}

/* Lets others have their turn, after operations that do not wait. */
WEFT_HOT void weft_turn(weft_self *self)
{
    weft_port_turn(&self->port);
}

WEFT_HOT bool weft_wait_round(weft_self *self, uint32_t *rounds, enum weft_wait_kind kind,
                              uint64_t a, uint64_t have, uint64_t need)
{
    ++*rounds;
    weft_tell(self, kind, a, have, need);
    weft_check_stop(self);
    weft_batch_send(self);
    weft_serve_now_and_then(self);
    weft_port_wait(&self->port);
    return true;
}

static inline void weft_wait_over(weft_self *self, uint32_t rounds)
{
    if (rounds == 0)
        return;
    weft_wait_told_over(self);
    weft_port_waited(&self->port);
}

#endif

/*
 * Blocks until a word that others store is at `need` or beyond; both wrap. An acquire, by the
 * label. Returns what is there; less: the job has failed. kind, process: what the watchdog and a
 * trace say of it.
 */
WEFT_INLINE uint32_t weft_await(weft_self *self, const uint32_t *word, enum weft_order label,
                                uint32_t need, enum weft_wait_kind kind, int process)
{
    uint32_t rounds = 0, there = weft_load_acquire_u32(word, label);

    weft_trace_wait(self,
                    kind == WEFT_WAIT_LOCAL   ? WEFT_TRACE_LEFT
                    : kind == WEFT_WAIT_EAGER ? WEFT_TRACE_TAKEN
                                              : WEFT_TRACE_DELIVERED,
                    process, 0);
    while ((int32_t)(there - need) < 0 &&
           weft_wait_round(self, &rounds, kind, (uint64_t)process, there, need))
        there = weft_load_acquire_u32(word, label);
    weft_wait_over(self, rounds);
    weft_trace_waited(self);
    return there;
}

/*
 * Blocks until `need` notifications of a tag are there. Acquires all that they released. nic: on a
 * GPU, NICs may count, too. The leader.
 */
WEFT_INLINE void weft_wait_tag(weft_self *self, uint32_t tag, uint32_t need, const bool nic)
{
    const uint32_t index = weft_count_index(self->slot, tag);
    uint32_t rounds = 0;

    if (WEFT_UNLIKELY(++self->looks % 64 == 0))
        weft_serve_now_and_then(self); /* also by a rank that never has to wait */
    uint32_t have = weft_count_read_with(self, index, nic) - self->consumed[tag];
    while (have < need) {
        weft_serve(self);
        have = weft_count_read_with(self, index, nic) - self->consumed[tag];
        if (have >= need || !weft_wait_round(self, &rounds, WEFT_WAIT_TAG, tag, have, need))
            break;
    }
    weft_polled();
    weft_wait_over(self, rounds);
}

#endif
