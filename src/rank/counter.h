/*
 * rank/counter.h - adding to counters and reading them: the only place where their order is
 * decided. "index" is that of a counter in weft_exposed.
 */
#ifndef WEFT_RANK_COUNTER_H
#define WEFT_RANK_COUNTER_H

#include "rank/state.h"

/* Reads what a NIC has counted; index < nic_counts. An acquire, together with weft_polled. */
WEFT_INLINE uint32_t weft_count_read_nic(const weft_self *self, uint32_t index)
{
    return (uint32_t)weft_poll_u64(&self->state->nic[index], ORDER_nic_count_read);
}

/* What is in a counter: of ranks of this process, and of all others. */
struct weft_counted {
    uint32_t here, others;
};

#ifdef __CUDACC__

/* Adds one, by a rank of this process. A release unless relaxed (which carries a fence). */
WEFT_INLINE void weft_count_add_local(struct weft_exposed *here, struct weft_counter *counter,
                                      bool relaxed)
{
    (void)here;
    if (relaxed)
        weft_add_relaxed_device_u32(&counter->local, 1);
    else
        weft_add_release_device_u32(&counter->local, 1, ORDER_count_add_local);
}

/* Adds one, by a rank of another process that maps the target's counters. */
WEFT_INLINE void weft_count_add_peer(struct weft_exposed *target, struct weft_counter *counter,
                                     bool relaxed)
{
    (void)target;
    if (relaxed)
        weft_add_relaxed_u32(&counter->peer, 1);
    else
        weft_add_release_u32(&counter->peer, 1, ORDER_count_add_peer);
}

/* Adds one as weft_count_add_local, and acquires those before; returns how many there are now. */
WEFT_INLINE uint32_t weft_count_arrive(weft_self *self, uint32_t index)
{
    return weft_add_both_device_u32(&self->counters[index].local, 1) + 1;
}

/* Reads all three words in one crossing; an acquire of each, together with weft_polled. */
WEFT_INLINE struct weft_counted weft_count_read_parts(const weft_self *self, uint32_t index)
{
    const uint4 words = weft_poll_four(&self->counters[index].peer);
    struct weft_counted counted;
    counted.here = words.y;
    counted.others = words.x + words.z;
    return counted;
}

/* Nobody on this device sleeps. */
#define weft_count_nudge(target)         ((void)(target))
#define weft_count_shown(target)         ((void)(target))
#define weft_count_watch(self, watchers) ((void)(self))

#else

WEFT_HOT void weft_count_add(struct weft_exposed *target, uint32_t *word, bool relaxed,
                             enum weft_order label)
{
    if (relaxed)
        weft_add_relaxed_u32(word, 1);
    else
        weft_add_release_u32(word, 1, label);
    weft_bell_ring_added(&target->bell);
}

#define weft_count_add_local(here, counter, relaxed)                                               \
    weft_count_add(here, &(counter)->local, relaxed, ORDER_count_add_local)
#define weft_count_add_peer(target, counter, relaxed)                                              \
    weft_count_add(target, &(counter)->peer, relaxed, ORDER_count_add_peer)

static inline uint32_t weft_count_arrive(weft_self *self, uint32_t index)
{
    const uint32_t before = weft_add_both_u32(&self->counters[index].local, 1,
                                              ORDER_count_read_local, ORDER_count_add_local);
    weft_bell_ring_added(&self->state->exposed->bell);
    return before + 1;
}

/*
 * An acquire of each word: a count of k says that all that came before k notifications is visible,
 * whichever way each of them came. The host word is left out while nobody can be adding to it.
 */
WEFT_HOT struct weft_counted weft_count_read_parts(const weft_self *self, uint32_t index)
{
    const struct weft_counter *counter = &self->counters[index];
    struct weft_counted counted;

    counted.here = weft_poll_u32(&counter->local, ORDER_count_read_local);
    counted.others = weft_poll_u32(&counter->peer, ORDER_count_read_peer);
    if (weft_load_relaxed_u32(&self->state->signals->proxied) || self->state->hosts_apart) {
        counted.others += weft_poll_u32(&counter->host, ORDER_count_read_host);
        if (WEFT_UNLIKELY(index < self->state->nic_counts))
            counted.others += weft_count_read_nic(self, index);
    }
    return counted;
}

/* Something that ranks of the process may poll has changed. */
WEFT_HOT void weft_count_nudge(struct weft_exposed *target)
{
    weft_bell_nudge(&target->bell);
}

/* Shows a put to who waits for a value alone. As a nudge it has no fence: who begins to wait at
 * this very moment may be missed, and looks again within a millisecond. */
WEFT_HOT void weft_count_shown(struct weft_exposed *target)
{
    if (WEFT_UNLIKELY(__atomic_load_n(&target->watchers, __ATOMIC_RELAXED) != 0))
        weft_bell_nudge(&target->bell);
}

/* Counts so many more of this process's ranks that wait for a value. */
static inline void weft_count_watch(const weft_self *self, int watchers)
{
    __atomic_fetch_add(&self->state->exposed->watchers, (uint32_t)watchers, __ATOMIC_RELAXED);
}

/* Adds one, by the receive thread of this process, the only writer of these words. It rings the
 * bell afterwards. */
static inline void weft_count_add_host(struct weft_exposed *exposed, uint32_t index)
{
    uint32_t *word = &exposed->counters[index].host;
    weft_store_release_u32(word, weft_load_relaxed_u32(word) + 1, ORDER_count_store_host);
}

/* Sums up a counter by a plain look, for the host while nobody adds. */
static inline uint32_t weft_count_read_quiet(const struct weft_counter *counter)
{
    return weft_load_relaxed_u32(&counter->local) + weft_load_relaxed_u32(&counter->peer) +
           weft_load_relaxed_u32(&counter->host);
}

#endif

/* Returns the count, the sum of the three words. An acquire, together with weft_polled. */
WEFT_INLINE uint32_t weft_count_read(const weft_self *self, uint32_t index)
{
    const struct weft_counted counted = weft_count_read_parts(self, index);
    return counted.here + counted.others;
}

/* Returns the count, on a GPU with what NICs have counted, if `nic`. */
WEFT_INLINE uint32_t weft_count_read_with(const weft_self *self, uint32_t index, const bool nic)
{
    return weft_count_read(self, index) + (nic ? weft_count_read_nic(self, index) : 0);
}

#endif
