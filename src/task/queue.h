/*
 * task/queue.h - where slots are: free, in a rank's deque, or in a ring of the place.
 *
 * The deque is one word, tag, bottom and top, that owner and thieves change by compare and swap:
 * the owner at the bottom, thieves at the top. What the owner takes back changes the tag, so that a
 * thief who has read a cell takes it only if nobody has used it for another slot since.
 */
#ifndef WEFT_TASK_QUEUE_H
#define WEFT_TASK_QUEUE_H

#include "task/place.h"

/* ---- slots that are free --------------------------------------------------------------------- */

/* Takes a free slot: slot + 1; 0: there is none. The last one is for tasks of other places, which
 * wait for nothing: so that places whose tasks wait for each other do not fill up. Its leader. */
WEFT_INLINE uint32_t weft_task_slot_take(struct weft_task_place *p, struct weft_task_rank *r,
                                         bool last)
{
    if (r->free == 0 && weft_load_relaxed_u32(&r->freed) != 0)
        r->free = weft_task_exchange(&r->freed, 0);
    const uint32_t slot = r->free;
    if (slot == 0)
        return 0;
    uint32_t *const next = &p->record[slot - 1].next;
    if (!last && weft_load_relaxed_u32(next) == 0 && weft_load_relaxed_u32(&r->freed) != 0)
        weft_store_relaxed_u32(next, weft_task_exchange(&r->freed, 0));
    if (!last && weft_load_relaxed_u32(next) == 0)
        return 0;
    r->free = weft_load_relaxed_u32(next);
    return slot;
}

/* Onto its rank's list, which the rank takes as a whole. Any leader of the place. */
WEFT_INLINE void weft_task_slot_give(struct weft_task_place *p, uint32_t slot)
{
    uint32_t *const list = &p->rank[slot / p->slots].freed;
    uint32_t first;

    do {
        first = weft_load_relaxed_u32(list);
        weft_store_relaxed_u32(&p->record[slot].next, first);
    } while (!weft_task_swap32(list, first, slot + 1));
}

/* ---- a rank's deque -------------------------------------------------------------------------- */

WEFT_INLINE uint32_t weft_task_deque_count(uint64_t deque)
{
    return (((uint32_t)deque >> 16) - ((uint32_t)deque & 0xffff)) & 0xffff;
}
WEFT_INLINE uint64_t weft_task_deque(uint64_t tag, uint32_t bottom, uint32_t top)
{
    return tag << 32 | (uint64_t)(bottom & 0xffff) << 16 | (top & 0xffff);
}

/* Pushes a slot. By the rank's leader. False: it is full. */
WEFT_INLINE bool weft_task_push(struct weft_task_place *p, struct weft_task_rank *r, uint32_t slot)
{
    for (;;) {
        const uint64_t d = weft_load_relaxed_u64(&r->deque);
        const uint32_t bottom = (uint32_t)d >> 16;
        if (weft_task_deque_count(d) >= p->slots)
            return false;
        weft_store_relaxed_u32(&r->cell[bottom & (p->slots - 1)], slot);
        if (weft_task_swap64(&r->deque, d, weft_task_deque(d >> 32, bottom + 1, (uint32_t)d)))
            return true;
    }
}

/* Takes the newest slot: slot + 1; 0: the deque is empty. By its leader. */
WEFT_INLINE uint32_t weft_task_pop(struct weft_task_place *p, struct weft_task_rank *r)
{
    for (;;) {
        const uint64_t d = weft_load_relaxed_u64(&r->deque);
        const uint32_t bottom = ((uint32_t)d >> 16) - 1;
        if (weft_task_deque_count(d) == 0)
            return 0;
        const uint32_t slot = weft_load_relaxed_u32(&r->cell[bottom & (p->slots - 1)]);
        if (weft_task_swap64(&r->deque, d, weft_task_deque((d >> 32) + 1, bottom, (uint32_t)d)))
            return slot + 1;
    }
}

/* Takes the oldest slot: slot + 1; 0: the deque is empty. Any leader of the place. */
WEFT_INLINE uint32_t weft_task_rob(struct weft_task_place *p, struct weft_task_rank *r)
{
    for (;;) {
        const uint64_t d = weft_load_acquire_u64(&r->deque, ORDER_task_take);
        if (weft_task_deque_count(d) == 0)
            return 0;
        const uint32_t slot = weft_load_relaxed_u32(&r->cell[d & (p->slots - 1)]);
        if (weft_task_swap64(&r->deque, d,
                             weft_task_deque(d >> 32, (uint32_t)d >> 16, (uint32_t)d + 1)))
            return slot + 1;
    }
}

/* ---- a ring of the place --------------------------------------------------------------------- */

/* Cell `at` of those that were added to `tail` gets its slot. */
WEFT_INLINE void weft_task_ring_set(struct weft_task_place *p, struct weft_task_ring *ring,
                                    uint64_t at, uint32_t slot)
{
    const uint32_t turn = (uint32_t)(at / (p->ring_mask + 1) + 1);

    weft_store_release_device_u64(&ring->cell[at & p->ring_mask], (uint64_t)turn << 32 | slot,
                                  ORDER_task_give);
}

/* Takes the oldest slot: slot + 1; 0: the ring is empty. */
WEFT_INLINE uint32_t weft_task_ring_take(struct weft_task_place *p, struct weft_task_ring *ring)
{
    for (;;) {
        const uint64_t at = weft_load_relaxed_u64(&ring->head);
        const uint64_t cell =
            weft_load_acquire_u64(&ring->cell[at & p->ring_mask], ORDER_task_take);
        if ((uint32_t)(cell >> 32) != (uint32_t)(at / (p->ring_mask + 1) + 1)) {
            if (weft_load_relaxed_u64(&ring->head) == at)
                return 0;
        } else if (weft_task_swap64(&ring->head, at, at + 1)) {
            return (uint32_t)cell + 1;
        }
    }
}

WEFT_INLINE bool weft_task_ring_empty(const struct weft_task_ring *ring)
{
    return weft_load_relaxed_u64(&ring->head) == weft_load_relaxed_u64(&ring->tail);
}

/* ---- tasks that can run ---------------------------------------------------------------------- */

/* Load is added here, and subtracted in weft_task_find. r: whose deque it may go to; NULL:
 * nobody's, so that all ranks do not take one task after the other from one. A leader of the place.
 */
WEFT_INLINE void weft_task_ready(weft_self *self, struct weft_task_place *p,
                                 struct weft_task_rank *r, uint32_t slot)
{
    const struct weft_task_record *const record = &p->record[slot];
    const uint32_t priority = record->priority;

    weft_add_relaxed_u32(&p->queued, 1);
    if (r == NULL || priority != 1 || record->many || !weft_task_push(p, r, slot))
        weft_task_ring_set(p, &p->ready[priority], weft_task_add64(&p->ready[priority].tail, 1),
                           slot);
    weft_task_wake(self);
}

/* Finds a slot to run next: slot + 1; 0: this place has none. The leader. */
WEFT_INLINE uint32_t weft_task_find(struct weft_task_place *p, struct weft_task_rank *r)
{
    enum { LOOKS = 16 }; /* looks at other ranks, from a random one on */
    uint32_t slot = weft_task_ring_take(p, &p->ready[0]);

    if (slot == 0)
        slot = weft_task_pop(p, r);
    for (uint32_t i = 1; slot == 0 && i < WEFT_TASK_PRIORITIES; i++)
        slot = weft_task_ring_take(p, &p->ready[i]);
    r->seed = r->seed * 1664525u + 1013904223u;
    for (uint32_t i = 0; slot == 0 && i < LOOKS && i < p->ranks; i++)
        slot = weft_task_rob(p, &p->rank[((r->seed >> 8) + i) % p->ranks]);
    if (slot != 0)
        weft_add_relaxed_u32(&p->queued, UINT32_MAX);
    return slot;
}

#endif
