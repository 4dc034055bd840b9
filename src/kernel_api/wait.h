/*
 * kernel_api/wait.h - waiting, and all that a rank does while it waits.
 *
 * Every wait in the library is one of these loops. Each round that finds nothing looks whether the
 * job has ended (then it does not return) and lets other ranks run; what the rank waits for stands
 * in self->waiting, where the watchdog reads it.
 */
#ifndef WEFT_KERNEL_API_WAIT_H
#define WEFT_KERNEL_API_WAIT_H

#include "window/counter.h"

/*
 * A rank whose job has failed does not go on. At the start of every call, and in every wait. The
 * acquire pairs with the release of `stop` (weft_services_are_quiet): the services have read this
 * rank's sources before its stack, or the host program's buffer, is used for something else.
 */
static inline void weft_check_stop(weft_self *self)
{
    const uint32_t *stop = &self->state->stop;

    if (WEFT_UNLIKELY(__atomic_load_n(stop, __ATOMIC_RELAXED) != 0) &&
        __atomic_load_n(stop, __ATOMIC_ACQUIRE) != 0)
        weft_port_end(&self->port);
}

/* For the watchdog: plain words that it may read at any moment. */
static inline void weft_tell(weft_self *self, enum weft_wait_kind kind, uint64_t a, uint64_t have,
                             uint64_t need)
{
    struct weft_waiting *w = &self->waiting;
    __atomic_store_n(&w->a, a, __ATOMIC_RELAXED);
    __atomic_store_n(&w->have, have, __ATOMIC_RELAXED);
    __atomic_store_n(&w->need, need, __ATOMIC_RELAXED);
    __atomic_store_n(&w->kind, kind, __ATOMIC_RELAXED);
}

/* One round of a wait that found nothing. */
static inline void weft_wait_round(weft_self *self, enum weft_wait_kind kind, uint64_t a,
                                   uint64_t have, uint64_t need)
{
    weft_tell(self, kind, a, have, need);
    weft_check_stop(self);
    weft_port_wait(&self->port);
}

/* The end of a wait that had at least one such round. */
static inline void weft_wait_over(weft_self *self)
{
    __atomic_store_n(&self->waiting.kind, WEFT_WAIT_NONE, __ATOMIC_RELAXED);
    __atomic_store_n(&self->waiting.episode, self->waiting.episode + 1, __ATOMIC_RELAXED);
    weft_port_waited(&self->port);
}

/*
 * Blocks until the counter at `index` is at least `need` beyond `consumed`; wraps. kind and a say
 * what for. Acquires all that the counted notifications released.
 */
static inline void weft_wait_count(weft_self *self, uint32_t index, uint32_t consumed,
                                   uint32_t need, enum weft_wait_kind kind, uint64_t a)
{
    uint32_t have = weft_count_read(self->state, index) - consumed;
    if (have >= need)
        return;
    do {
        weft_wait_round(self, kind, a, have, need);
        have = weft_count_read(self->state, index) - consumed;
    } while (have < need);
    weft_wait_over(self);
}

#endif
