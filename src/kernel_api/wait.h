/*
 * kernel_api/wait.h - waiting, and all that a rank does while it waits.
 *
 * Every wait in the library is one of these loops. Each round that finds nothing looks whether the
 * job has ended and lets other ranks run; what the rank waits for stands in *self->waiting, where
 * the watchdog reads it.
 *
 * On a GPU one thread of the rank, its leader, waits for all, and the others meet it in weft_join.
 * When the job has failed, the leader's wait returns false; it goes to the next weft_join, and
 * there the whole rank ends. On the CPU device a rank is one thread, which ends at once.
 */
#ifndef WEFT_KERNEL_API_WAIT_H
#define WEFT_KERNEL_API_WAIT_H

#include "window/counter.h"
#ifdef __CUDACC__
#include "kernel_api/rank_cuda.h"
#endif

/* The thread that acts for the rank. */
WEFT_INLINE bool weft_leads(const weft_self *self)
{
    return weft_thread(self) == 0;
}

/* For the watchdog: plain words that it may read at any moment. */
WEFT_INLINE void weft_tell(weft_self *self, enum weft_wait_kind kind, uint64_t a, uint64_t have,
                           uint64_t need)
{
    struct weft_waiting *w = self->waiting;
    weft_tell_u64(&w->a, a);
    weft_tell_u64(&w->have, have);
    weft_tell_u64(&w->need, need);
    weft_tell_u32(&w->kind, kind);
}

#ifdef __CUDACC__

enum { WEFT_LOOK_ROUNDS = 2048 }; /* polls between two looks at host memory: about a millisecond */

/* Ends the calling threads if the rank's job has failed. A barrier of all threads of the rank. */
WEFT_INLINE void weft_join(weft_self *self)
{
    __syncthreads();
    if (WEFT_UNLIKELY(*(volatile uint32_t *)&self->stopped))
        asm volatile("exit;");
}

/*
 * The same, and true for all threads if some earlier put through the host may not have landed. Any
 * thread may have read an old word: what counts is the leader's, which wrote it.
 */
WEFT_INLINE bool weft_join_pending(weft_self *self)
{
    if (!WEFT_UNLIKELY(__syncthreads_or(*(volatile uint64_t *)&self->unsettled != 0)))
        return false;
    if (*(volatile uint32_t *)&self->stopped)
        asm volatile("exit;");
    return true;
}

/* Now and then: has the job failed? */
WEFT_INLINE bool weft_look_stop(weft_self *self)
{
    if (WEFT_UNLIKELY(weft_load_relaxed_u32(&self->state->signals->stop) != 0))
        *(volatile uint32_t *)&self->stopped = 1;
    return *(volatile uint32_t *)&self->stopped != 0;
}

/* At the start of every call: ranks that only send look now and then (weft_turn). */
WEFT_INLINE void weft_check_stop(weft_self *self)
{
    (void)self;
}

/* The leader's, after operations that do not wait. */
WEFT_INLINE void weft_turn(weft_self *self)
{
    if (WEFT_UNLIKELY(++self->port.turn % WEFT_LOOK_ROUNDS == 0))
        weft_look_stop(self);
}

WEFT_COLD bool weft_wait_long(weft_self *self, enum weft_wait_kind kind, uint64_t a, uint64_t have,
                              uint64_t need)
{
    weft_tell(self, kind, a, have, need);
    return !weft_look_stop(self);
}

/* A round of a wait that found nothing, the *rounds-th. False: wait no longer, the rank ends. */
WEFT_INLINE bool weft_wait_round(weft_self *self, uint32_t *rounds, enum weft_wait_kind kind,
                                 uint64_t a, uint64_t have, uint64_t need)
{
    if (!WEFT_UNLIKELY(++*rounds % WEFT_LOOK_ROUNDS == 0))
        return true;
    return weft_wait_long(self, kind, a, have, need);
}

/* The end of a wait that had so many rounds. */
WEFT_INLINE void weft_wait_over(weft_self *self, uint32_t rounds)
{
    if (WEFT_UNLIKELY(rounds >= WEFT_LOOK_ROUNDS)) {
        weft_tell_u32(&self->waiting->kind, WEFT_WAIT_NONE);
        weft_tell_u32(&self->waiting->episode, ++self->port.episode);
    }
}

#else

static inline void weft_join(weft_self *self)
{
    (void)self;
}

static inline bool weft_join_pending(weft_self *self)
{
    return self->unsettled != 0;
}

/*
 * A rank whose job has failed does not go on. At the start of every call, and in every wait. The
 * acquire pairs with the release of `stop` (weft_services_are_quiet): the services have read this
 * rank's sources before its stack, or the host program's buffer, is used for something else.
 */
static inline void weft_check_stop(weft_self *self)
{
    const uint32_t *stop = &self->state->signals->stop;

    if (WEFT_UNLIKELY(__atomic_load_n(stop, __ATOMIC_RELAXED) != 0) &&
        __atomic_load_n(stop, __ATOMIC_ACQUIRE) != 0)
        weft_port_end(&self->port);
}

/* By operations that do not wait: others get their turn. */
static inline void weft_turn(weft_self *self)
{
    weft_port_turn(&self->port);
}

static inline bool weft_wait_round(weft_self *self, uint32_t *rounds, enum weft_wait_kind kind,
                                   uint64_t a, uint64_t have, uint64_t need)
{
    ++*rounds;
    weft_tell(self, kind, a, have, need);
    weft_check_stop(self);
    weft_port_wait(&self->port);
    return true;
}

static inline void weft_wait_over(weft_self *self, uint32_t rounds)
{
    if (rounds == 0)
        return;
    weft_tell_u32(&self->waiting->kind, WEFT_WAIT_NONE);
    weft_tell_u32(&self->waiting->episode, self->waiting->episode + 1);
    weft_port_waited(&self->port);
}

#endif

/*
 * Blocks until the counter at `index` is at least `need` beyond `consumed`; wraps. kind and a say
 * what for. Acquires all that the counted notifications released. The leader only.
 */
WEFT_INLINE void weft_wait_count(weft_self *self, uint32_t index, uint32_t consumed, uint32_t need,
                                 enum weft_wait_kind kind, uint64_t a)
{
    uint32_t rounds = 0, have = weft_count_read(self, index) - consumed;

    while (have < need && weft_wait_round(self, &rounds, kind, a, have, need))
        have = weft_count_read(self, index) - consumed;
    weft_polled();
    weft_wait_over(self, rounds);
}

#endif
