/*
 * gda/queue.h - a queue that a rank drives: requests (gda/wqe.h) in a ring of slots, a doorbell,
 * completions. Its NIC reads the slots when the doorbell record says that they are there, and
 * executes the requests in order.
 *
 * One thread of one rank posts and polls; where ranks share a queue, gda/shared.h. Indexes count
 * slots and run free. What the NIC has read may be overwritten when a later completion says so:
 * each completion stands for all before it.
 *
 * Completions lie in one place, which each overwrites ("collapsed"): the last one says all.
 */
#ifndef WEFT_GDA_QUEUE_H
#define WEFT_GDA_QUEUE_H

#include "gda/wqe.h"
#include "order/atomic.h"
#include "weft/types.h"

#include <stddef.h>

enum { WEFT_GDA_KEYS = 64 };

struct weft_gda_shared;

struct weft_gda_queue {
    uint64_t *wqe;      /* the slots */
    unsigned char *cqe; /* the last completion */
    uint32_t *record;   /* the doorbell record: [1] is the next slot */
    uint64_t *doorbell;
    uint64_t sink;       /* 64 bytes of this rank's for what it fetches, known by sink_lkey */
    uint64_t counts;     /* the NIC's counters of the target process, known by counts_rkey */
    uint32_t qpn, slots; /* slots: a power of two */
    uint32_t counts_rkey, sink_lkey;

    uint64_t posted, rung; /* slot after the last request; slot that the NIC was last told */
    uint64_t done;         /* all requests before this slot are complete */
    uint64_t asked;        /* the slot after the last request that has a completion */
    uint64_t next_done;    /* of a shared queue: becomes `done` when all before it is complete */
    uint32_t syndrome;     /* of the request that failed; 0: none did */
    uint32_t failed;       /* index of the request that failed */
    uint32_t dirty;        /* the rank counts it among what is unsettled */
    uint32_t unused;
    struct weft_gda_shared *shared; /* NULL: no other rank posts to it */
};

static_assert(sizeof(struct weft_gda_queue) == 128, "a constant and a moving line");
static_assert(offsetof(struct weft_gda_queue, posted) == 64, "the moving line");

/* Memory that the NIC reads and writes for ranks of this process, in order of addresses. */
struct weft_gda_keys {
    uint32_t count, unused;
    struct weft_gda_key {
        uint64_t begin, end;
        uint32_t lkey, unused;
    } key[WEFT_GDA_KEYS];
};

/* Returns the key of [address, address + bytes); 0: not all of it is known. */
WEFT_INLINE uint32_t weft_gda_key_of(const struct weft_gda_keys *keys, uint64_t address,
                                     uint64_t bytes)
{
    uint32_t low = 0, high = keys->count;

    while (low < high) { /* the first that ends behind it */
        const uint32_t middle = (low + high) / 2;
        if (keys->key[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low < keys->count && keys->key[low].begin <= address &&
                   bytes <= keys->key[low].end - address
               ? keys->key[low].lkey
               : 0;
}

/* Returns what names memory of another process: the lower half of a network's key, which no other
 * memory of the process has at a time. 0: nothing does. */
WEFT_INLINE uint32_t weft_gda_rkey(uint64_t key)
{
    return (uint32_t)key + 1;
}

/* Returns what a syndrome is to a job. */
WEFT_INLINE weft_status weft_gda_status(uint32_t syndrome)
{
    return syndrome == WEFT_MLX5_RETRIES ? WEFT_ERR_PEER_LOST
           : syndrome == WEFT_MLX5_LOCAL_OPERATION || syndrome == WEFT_MLX5_REMOTE_ACCESS
               ? WEFT_ERR_PROTOCOL
               : WEFT_ERR_NETWORK;
}

/* ---- posting --------------------------------------------------------------------------------- */

/* Whether there is room for a request of so many slots, and one more that asks for a completion. */
WEFT_INLINE bool weft_gda_has_room(const struct weft_gda_queue *queue, uint32_t slots)
{
    return queue->posted - queue->done + slots < queue->slots;
}

/* Whether a completion is due, so that the ring is never full of requests that have none. */
WEFT_INLINE bool weft_gda_is_due(const struct weft_gda_queue *queue)
{
    return queue->shared == NULL && queue->posted - queue->asked >= queue->slots / 4;
}

/* Writes a request into the next slots, of which there is room. */
WEFT_INLINE void weft_gda_write(struct weft_gda_queue *queue, const struct weft_wqe *wqe)
{
    for (uint32_t i = 0; i < wqe->slots; i++) {
        uint64_t *const to =
            queue->wqe + ((queue->posted + i) & (queue->slots - 1)) * (WEFT_MLX5_SLOT / 8);
#ifdef __CUDACC__
        WEFT_UNROLL
        for (uint32_t k = 0; k < WEFT_MLX5_SLOT / 16; k++) {
            const ulonglong2 pair = {wqe->word[8 * i + 2 * k], wqe->word[8 * i + 2 * k + 1]};
            ((ulonglong2 *)to)[k] = pair;
        }
#else
        weft_write_shared(to, &wqe->word[8 * i], WEFT_MLX5_SLOT);
#endif
    }
}

/* Counts a written request as posted. complete: it asks for a completion, in one slot. */
WEFT_INLINE void weft_gda_wrote(struct weft_gda_queue *queue, uint32_t slots, bool complete)
{
    queue->posted += slots;
    if (complete)
        queue->asked = queue->posted;
}

WEFT_INLINE void weft_gda_post(struct weft_gda_queue *queue, const struct weft_wqe *wqe,
                               bool complete)
{
    weft_gda_write(queue, wqe);
    weft_gda_wrote(queue, wqe->slots, complete);
}

/* Tells the NIC of all before this slot; a release of what the thread did or acquired. */
WEFT_INLINE void weft_gda_tell_nic(const struct weft_gda_queue *queue, uint64_t next)
{
    weft_store_release_u32(&queue->record[1], weft_be32((uint32_t)(next & 0xffff)), ORDER_nic_wqe);
    weft_store_release_u64(queue->doorbell, weft_mlx5_doorbell(next, queue->qpn), ORDER_nic_ring);
}

/* Tells the NIC of all that was posted. */
WEFT_INLINE void weft_gda_ring(struct weft_gda_queue *queue)
{
    weft_gda_tell_nic(queue, queue->posted);
    queue->rung = queue->posted;
}

/* ---- completions ----------------------------------------------------------------------------- */

WEFT_INLINE uint32_t weft_gda_cqe_kind(uint32_t last)
{
    return last >> 28;
}

/* What lies where a completion will be. */
struct weft_gda_seen {
    bool there;
    uint32_t index;    /* of its request, 16 bits */
    uint32_t syndrome; /* not 0: it failed */
};

/* Looks whether a completion is there: an acquire, together with weft_polled. An error is never
 * "not yet". */
WEFT_INLINE void weft_gda_look(const struct weft_gda_queue *queue, struct weft_gda_seen *seen)
{
    const unsigned char *const cqe = queue->cqe;
    const uint32_t last = weft_poll_u32((const uint32_t *)(const void *)(cqe + WEFT_MLX5_CQE_LAST),
                                        ORDER_nic_cqe_seen);
    const uint32_t kind = weft_gda_cqe_kind(last);

    seen->there = kind != WEFT_MLX5_CQE_INVALID;
    seen->index = weft_be32(last) >> 16;
    seen->syndrome = 0;
    if (seen->there && (kind == WEFT_MLX5_CQE_ERROR || kind == WEFT_MLX5_CQE_RESPONSE_ERROR)) {
        weft_polled(); /* the syndrome was written before */
        const uint32_t word =
            weft_load_relaxed_u32((const uint32_t *)(const void *)(cqe + WEFT_MLX5_CQE_SYNDROME));
        seen->syndrome = word >> 24 != 0 ? word >> 24 : 0xff;
    }
}

/*
 * Takes a completion, if one is there. False: a request failed; queue->syndrome and queue->failed
 * say how and which.
 */
WEFT_INLINE bool weft_gda_poll(struct weft_gda_queue *queue)
{
    struct weft_gda_seen seen;

    if (queue->syndrome != 0)
        return false;
    weft_gda_look(queue, &seen);
    if (seen.syndrome != 0) {
        queue->failed = seen.index;
        queue->syndrome = seen.syndrome;
        return false;
    }
    if (!seen.there)
        return true;
    /* Of the last 2^16 slots before `posted` the one with these low bits. */
    const uint64_t behind = (uint64_t)(((uint32_t)queue->posted - seen.index - 1) & 0xffff);
    const uint64_t done = queue->posted - behind;
    if ((int64_t)(done - queue->done) > 0)
        queue->done = done;
    return true;
}

#endif
