/*
 * window/counter.h - adding to counters and reading them: the only place where their order is
 * decided. "index" is that of a word in struct weft_counters.
 */
#ifndef WEFT_WINDOW_COUNTER_H
#define WEFT_WINDOW_COUNTER_H

#include "window/state.h"

/* One more, from a rank of this process. A release unless relaxed (which carries a fence). */
static inline void weft_count_add_local(struct weft_state *state, uint32_t index, bool relaxed)
{
    if (relaxed)
        weft_add_relaxed_u32(&state->counters.local[index], 1);
    else
        weft_add_release_u32(&state->counters.local[index], 1, ORDER_count_add_local);
    weft_bell_ring_added(&state->exposed->bell);
}

/* One more, from a rank of another process that maps the target's counters. */
static inline void weft_count_add_peer(struct weft_exposed *target, uint32_t index, bool relaxed)
{
    if (relaxed)
        weft_add_relaxed_u32(&target->words[index], 1);
    else
        weft_add_release_u32(&target->words[index], 1, ORDER_count_add_peer);
    weft_bell_ring_added(&target->bell);
}

/* One more, from the receive thread of this process, the only writer of these words. */
static inline void weft_count_add_host(struct weft_state *state, uint32_t index)
{
    uint32_t *word = &state->counters.host[index];
    weft_store_release_u32(word, weft_load_relaxed_u32(word) + 1, ORDER_count_store_host);
    weft_bell_ring(&state->exposed->bell);
}

/*
 * The sum of the three words. An acquire of each: a count of k says that all that came before k
 * notifications is visible, whichever way each of them came. The host word costs a read of host
 * memory on a GPU, so it is left out while nobody can be adding to it.
 */
static inline uint32_t weft_count_read(const struct weft_state *state, uint32_t index)
{
    uint32_t sum = weft_load_acquire_u32(&state->counters.local[index], ORDER_count_read_local);
    sum += weft_load_acquire_u32(&state->counters.peer[index], ORDER_count_read_peer);
    if (weft_load_relaxed_u32(&state->proxied))
        sum += weft_load_acquire_u32(&state->counters.host[index], ORDER_count_read_host);
    return sum;
}

/* The same as a plain look, for the host while nobody adds. */
static inline uint32_t weft_count_read_quiet(const struct weft_state *state, uint32_t index)
{
    return weft_load_relaxed_u32(&state->counters.local[index]) +
           weft_load_relaxed_u32(&state->counters.peer[index]) +
           weft_load_relaxed_u32(&state->counters.host[index]);
}

#endif
