/*
 * gda/shared.h - a queue to which several ranks of a process post. Each has an end of its own
 * (weft_gda_queue), which names the same slots and completions; what moves for all of them is here.
 *
 * A rank reserves slots by adding to a counter, waits until they are free, writes its request,
 * waits until all slots before its own are written, and says that its own are (`ready`). Whoever
 * rings tells the NIC of all that is ready. Waiting for room lasts only as long as the NIC does:
 * each quarter of the slots has a request that asks for a completion, and whoever waits rings and
 * polls.
 *
 * The ranks of one process: words here are atomic among them only.
 */
#ifndef WEFT_GDA_SHARED_H
#define WEFT_GDA_SHARED_H

#include "gda/queue.h"

struct weft_gda_shared {
    uint64_t ready;    /* all slots before this one are written */
    uint64_t done;     /* all requests before this slot are complete */
    uint64_t taking;   /* 1: a rank takes completions */
    uint64_t rung;     /* slot that the NIC was last told, by whoever rings */
    uint32_t reserved; /* the next slot that nobody has; the low bits */
    uint32_t pending;  /* calls of weft_gda_shared_ring that nobody has heard yet */
    uint32_t syndrome; /* of the request that failed; 0: none did */
    uint32_t failed;   /* index of the request that failed */
    uint64_t unused[2];
};

static_assert(sizeof(struct weft_gda_shared) == 64, "a line");

/* Reserves the next slots for this rank: queue->posted becomes their first. */
WEFT_INLINE void weft_gda_reserve(struct weft_gda_queue *queue, uint32_t slots)
{
    struct weft_gda_shared *const shared = queue->shared;
    const uint64_t done = weft_load_relaxed_u64(&shared->done); /* never beyond them */
    const uint32_t at = weft_add_returning_u32(&shared->reserved, slots);
    const bool unrung = queue->rung != queue->posted;

    queue->posted = done + (uint32_t)(at - (uint32_t)done);
    if (!unrung)
        queue->rung = queue->posted;
}

/* Whether the reserved slots are free: an acquire. */
WEFT_INLINE bool weft_gda_is_free(const struct weft_gda_queue *queue, uint32_t slots)
{
    return queue->posted + slots -
               weft_load_acquire_u64(&queue->shared->done, ORDER_nic_free_seen) <=
           queue->slots;
}

/* Whether a request in the next slots is the one of its quarter that asks for a completion. */
WEFT_INLINE bool weft_gda_crosses(const struct weft_gda_queue *queue, uint32_t slots)
{
    return ((queue->posted ^ (queue->posted + slots)) & ~(uint64_t)(queue->slots / 4 - 1)) != 0;
}

/* Whether all slots before this rank's are written: an acquire. Then it is its turn to publish. */
WEFT_INLINE bool weft_gda_is_turn(const struct weft_gda_queue *queue)
{
    return weft_load_acquire_u64(&queue->shared->ready, ORDER_nic_slot_seen) == queue->posted;
}
/* Says that what this rank has written is ready. */
WEFT_INLINE void weft_gda_publish(struct weft_gda_queue *queue)
{
    weft_store_release_device_u64(&queue->shared->ready, queue->posted, ORDER_nic_slot);
}

/* Whether the NIC was told of all that is ready, as far as a look can say. */
WEFT_INLINE bool weft_gda_is_told(const struct weft_gda_queue *queue)
{
    return weft_load_relaxed_u64(&queue->shared->ready) ==
           weft_load_relaxed_u64(&queue->shared->rung);
}

/* Has the NIC told of all that is ready, by this rank or by one that rings already. */
WEFT_INLINE void weft_gda_shared_ring(const struct weft_gda_queue *queue)
{
    struct weft_gda_shared *const shared = queue->shared;
    uint32_t heard = 1;

    if (weft_add_both_u32(&shared->pending, 1, ORDER_nic_slot_seen, ORDER_nic_slot) != 0)
        return;
    while (heard != 0) { /* what was ready when they called is ready now */
        const uint64_t ready = weft_load_acquire_u64(&shared->ready, ORDER_nic_slot_seen);
        if (ready != weft_load_relaxed_u64(&shared->rung)) {
            weft_gda_tell_nic(queue, ready);
            weft_store_relaxed_u64(&shared->rung, ready);
        }
        heard =
            weft_add_both_u32(&shared->pending, 0u - heard, ORDER_nic_slot_seen, ORDER_nic_slot) -
            heard;
    }
}

/* Takes a completion, if one is there. Only the rank that has `taking` calls it. */
WEFT_INLINE void weft_gda_shared_take(const struct weft_gda_queue *queue)
{
    struct weft_gda_shared *const shared = queue->shared;
    const uint64_t done = weft_load_relaxed_u64(&shared->done);
    struct weft_gda_seen seen;

    weft_gda_look(queue, &seen);
    const uint32_t ahead = (seen.index + 1 - (uint32_t)done) & 0xffff;
    if (seen.syndrome != 0) {
        weft_store_relaxed_u32(&shared->failed, seen.index);
        weft_store_release_u32(&shared->syndrome, seen.syndrome, ORDER_nic_free);
        return;
    }
    if (!seen.there || ahead == 0 || ahead > queue->slots)
        return; /* it stays until the next one */
    weft_polled();
    weft_store_release_device_u64(&shared->done, done + ahead, ORDER_nic_free);
}

/* Takes a completion, if one is there. False: a request failed; queue->syndrome and queue->failed
 * say how and which. A WRITE's completion, which frees slots, does not say that it is visible: so
 * queue->done goes on only to slots that the rank asked for, each when it is complete. The next of
 * them is queue->next_done; in between the rank may ask for more. */
WEFT_INLINE bool weft_gda_shared_poll(struct weft_gda_queue *queue)
{
    struct weft_gda_shared *const shared = queue->shared;

    if (weft_load_relaxed_u64(&shared->taking) == 0 &&
        weft_swap_both_device_u64(&shared->taking, 0, 1, ORDER_nic_free_seen, ORDER_nic_free) ==
            0) {
        weft_gda_shared_take(queue);
        weft_store_release_device_u64(&shared->taking, 0, ORDER_nic_free);
    }
    queue->syndrome = weft_load_acquire_u32(&shared->syndrome, ORDER_nic_free_seen);
    if (queue->syndrome != 0) {
        queue->failed = weft_load_relaxed_u32(&shared->failed);
        return false;
    }
    const uint64_t done = weft_load_acquire_u64(&shared->done, ORDER_nic_free_seen);
    if ((int64_t)(done - queue->asked) >= 0)
        queue->next_done = queue->asked;
    if ((int64_t)(done - queue->next_done) >= 0) {
        queue->done = queue->next_done;
        queue->next_done = queue->asked;
    }
    return true;
}

#endif
