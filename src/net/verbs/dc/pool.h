/*
 * net/verbs/dc/pool.h - which initiator serves a destination. Pure.
 *
 * An initiator connects itself to whom its next request is for, which costs time when that is
 * another than before. So a destination goes back to the initiator that served it last, as long as
 * that one has served nobody else since; otherwise the next in turn takes it. While requests to a
 * destination are under way it must not change: two initiators keep no order between them.
 * (The rule is that of dCUDA's network manager, after Subramoni et al., "Designing MPI library with
 * dynamic connected transport of InfiniBand".)
 */
#ifndef WEFT_NET_VERBS_DC_POOL_H
#define WEFT_NET_VERBS_DC_POOL_H

#include <stdbool.h>
#include <stdint.h>

enum { WEFT_VERBS_INITIATORS = 10 };

struct weft_verbs_pool {
    uint32_t next;
    int last[WEFT_VERBS_INITIATORS]; /* the destination that each served last; -1: none */
};

static inline void weft_verbs_pool_init(struct weft_verbs_pool *pool)
{
    pool->next = 0;
    for (uint32_t i = 0; i < WEFT_VERBS_INITIATORS; i++)
        pool->last[i] = -1;
}

/*
 * The initiator for a destination's next request. current: the one that served it last, -1: none
 * did; busy: requests to it are under way there.
 */
static inline uint32_t weft_verbs_pool_choose(struct weft_verbs_pool *pool, int destination,
                                              int current, bool busy)
{
    uint32_t chosen = (uint32_t)current;

    if (current < 0 || (!busy && pool->last[current] != destination)) {
        chosen = pool->next;
        pool->next = (pool->next + 1) % WEFT_VERBS_INITIATORS;
    }
    pool->last[chosen] = destination;
    return chosen;
}

#endif
