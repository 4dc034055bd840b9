/*
 * gda/softnic/block.h - the software NIC as a kernel of the device itself: it reads doorbells and
 * requests where ranks write them, as a NIC does by DMA, executes requests between memories that
 * the device reaches, and writes completions. A warp serves a queue, or several by turns; in C a
 * thread is a warp of one lane (tests).
 *
 * What a request may do is the host engine's (request.h). This NIC goes by the doorbell alone, and
 * executes at once: each request has taken effect before the next one begins.
 */
#ifndef WEFT_GDA_SOFTNIC_BLOCK_H
#define WEFT_GDA_SOFTNIC_BLOCK_H

#include "device/cuda/block/lanes.h"
#include "gda/softnic/request.h"

#if !defined(__CUDACC__) && !defined(__shfl_sync) /* nor a warp that a test emulates */
#define __shfl_sync(mask, value, lane) (value)
#define __syncwarp()                   ((void)0)
enum { WEFT_NIC_LANES = 1 };
#else
enum { WEFT_NIC_LANES = 32 };
#endif

enum {
    WEFT_NIC_QUEUES = 8, /* queues of a thread block, with a warp each */
    WEFT_NIC_SLOTS = 8,  /* slots fetched at once */
    WEFT_NIC_WORDS = WEFT_NIC_SLOTS * WEFT_MLX5_SLOT / 8
};

/* This NIC's end of a queue. In device memory; between runs the host's. */
struct weft_nic_queue {
    const uint64_t *wqe; /* wqe to slots: as in gda/queue.h */
    unsigned char *cqe;
    const uint32_t *record;
    const uint64_t *doorbell;
    uint32_t qpn, slots;
    uint64_t fetched;  /* slots fetched so far */
    uint64_t *failed;  /* this queue's word in the report */
    uint32_t syndrome; /* of the request that ended the queue; 0: none did */
    uint32_t unused;
};

/* For the host, which looks while a kernel runs; in its memory. */
struct weft_nic_report {
    uint32_t failures; /* not 0: see failed[] */
    uint32_t unused;
    uint64_t failed[]; /* of each queue: index << 32 | syndrome */
};

struct weft_nic {
    struct weft_nic_queue *queues;
    const struct weft_gda_keys *keys; /* they stay as they are during a run */
    struct weft_nic_report *report;
    uint64_t count;
};

/* Gives all lanes the value that lane 0 has. */
WEFT_INLINE uint64_t weft_nic_first(uint64_t value)
{
    return __shfl_sync(0xffffffffu, value, 0);
}

/* Writes a completion behind all that the warp did. Lane 0 calls it. */
WEFT_INLINE void weft_nic_write_cqe(const struct weft_nic_queue *queue, uint32_t kind,
                                    uint64_t index, uint32_t syndrome)
{
    uint32_t *const word = (uint32_t *)(void *)queue->cqe;

    if (syndrome != 0)
        weft_store_relaxed_u32(&word[WEFT_MLX5_CQE_SYNDROME / 4], syndrome << 24);
    weft_store_release_u32(&word[WEFT_MLX5_CQE_LAST / 4],
                           weft_mlx5_cqe_last((uint32_t)index & 0xffff, kind), ORDER_nic_cqe);
}

/* Fails the request at `index`, which ends the queue. Lane 0 calls it. */
WEFT_INLINE void weft_nic_fail(const struct weft_nic *nic, struct weft_nic_queue *queue,
                               uint64_t index, uint32_t syndrome)
{
    queue->syndrome = syndrome;
    weft_nic_write_cqe(queue, WEFT_MLX5_CQE_ERROR, index, syndrome);
    weft_store_relaxed_u64(queue->failed, (index & 0xffff) << 32 | syndrome);
    weft_store_release_u32(&nic->report->failures, 1, ORDER_nic_cqe);
}

/* Writes a WRITE's inline bytes, which only the warp has. All lanes call it. */
WEFT_INLINE void weft_nic_write_inline(const struct weft_softnic_request *request, uint32_t lane)
{
    const uint32_t size = weft_block_element(request->remote | request->bytes);

    for (uint32_t at = lane * size; at < request->bytes; at += WEFT_NIC_LANES * size) {
        uint64_t value = 0;
        for (uint32_t b = 0; b < size; b++)
            value |= (uint64_t)request->inside[at + b] << 8 * b;
        weft_block_put(request->remote + at, value, size);
    }
}

/* Does an atomic, undivided, behind all that the warp did. Lane 0 calls it. */
WEFT_INLINE void weft_nic_update(const struct weft_softnic_request *request)
{
    const struct weft_change change = weft_softnic_change(request);
    const uint32_t size = weft_block_element(request->address);
#ifdef __CUDACC__
    weft_fence_release(ORDER_update); /* what follows waits for the old value */
    const uint64_t old = weft_update_relaxed((void *)request->remote, &change);
#else
    const uint64_t old = weft_update((void *)(uintptr_t)request->remote, &change);
#endif

    for (uint32_t at = 0; at < 8; at += size)
        weft_block_put(request->address + at, old >> 8 * at, size);
}

/* Executes a request. Returns 0, or the syndrome of one of which nothing was done. All lanes call
 * it. */
WEFT_INLINE uint32_t weft_nic_execute(const struct weft_nic *nic,
                                      const struct weft_softnic_request *request, uint32_t lane)
{
    uint32_t syndrome = weft_softnic_check(nic->keys, request);

    if (syndrome != 0 || request->opcode == WEFT_MLX5_NOP)
        return syndrome;
    syndrome = weft_softnic_check_here(nic->keys, request);
    if (syndrome != 0)
        return syndrome;
    if (request->inside != NULL)
        weft_nic_write_inline(request, lane);
    else if (request->opcode == WEFT_MLX5_WRITE)
        weft_block_move(lane, WEFT_NIC_LANES, request->remote, request->address, request->bytes);
    else if (request->opcode == WEFT_MLX5_READ)
        weft_block_move(lane, WEFT_NIC_LANES, request->address, request->remote, request->bytes);
    else if (lane == 0)
        weft_nic_update(request);
    __syncwarp();
    return 0;
}

/* Serves the requests in `words`, of `some` slots; `more`: there are others behind them. Returns
 * how many slots it has done with; *syndrome: of the request there, which is wrong, or 0. All lanes
 * call it. */
WEFT_INLINE uint32_t weft_nic_serve(const struct weft_nic *nic, const struct weft_nic_queue *queue,
                                    const uint64_t *words, uint32_t some, bool more, uint32_t lane,
                                    uint32_t *syndrome)
{
    struct weft_softnic_request request;
    const uint64_t fetched = queue->fetched;
    uint64_t last = 0;
    bool unsaid = false; /* completions overwrite each other: the last one says it all */
    uint32_t at = 0;

    *syndrome = 0;
    while (at < some) {
        const uint64_t *const first = words + at * (WEFT_MLX5_SLOT / 8);
        const uint32_t slots = weft_softnic_slots(first[0]);
        if (slots > some - at && more)
            break; /* the next fetch brings all of it */
        *syndrome = slots == 0 || slots > some - at
                        ? (uint32_t)WEFT_MLX5_LOCAL_OPERATION
                        : weft_softnic_parse(first, queue->qpn, fetched + at, &request);
        if (*syndrome == 0)
            *syndrome = weft_nic_execute(nic, &request, lane);
        if (*syndrome != 0)
            break;
        if (request.complete) {
            last = fetched + at;
            unsaid = true;
        }
        at += slots;
    }
    if (unsaid && lane == 0)
        weft_nic_write_cqe(queue, WEFT_MLX5_CQE_REQUEST, last, 0);
    return at;
}

/* Serves a queue once. words: room for WEFT_NIC_WORDS that the lanes share. False: there is nothing
 * to do. All lanes call it, of one warp at a time. */
WEFT_INLINE bool weft_nic_turn(const struct weft_nic *nic, struct weft_nic_queue *queue,
                               uint64_t *words, uint32_t lane)
{
    const uint64_t rung =
        weft_nic_first(lane == 0 ? weft_poll_u64(queue->doorbell, ORDER_nic_rung) : 0);
    const uint64_t fetched = queue->fetched;
    const uint32_t ready = ((weft_softnic_first(rung) >> 8) - (uint32_t)fetched) & 0xffff;
    const uint32_t some = ready < WEFT_NIC_SLOTS ? ready : WEFT_NIC_SLOTS;
    uint32_t syndrome, record = 0, done;

    if (ready == 0 || queue->syndrome != 0)
        return false;
    weft_polled();
    __syncwarp();
    if (lane == 0)
        record = weft_load_relaxed_u32(&queue->record[1]);
    for (uint32_t i = lane; i < some * (WEFT_MLX5_SLOT / 8); i += WEFT_NIC_LANES)
        words[i] = weft_load_relaxed_u64(&queue->wqe[(fetched * (WEFT_MLX5_SLOT / 8) + i) &
                                                     (queue->slots * (WEFT_MLX5_SLOT / 8) - 1)]);
    record = weft_be32((uint32_t)weft_nic_first(record)) & 0xffff;
    __syncwarp();
    if (ready > queue->slots || !weft_softnic_rung_right(queue->qpn, rung, record)) {
        syndrome = WEFT_MLX5_LOCAL_OPERATION;
        done = 0;
    } else {
        done = weft_nic_serve(nic, queue, words, some, ready > some, lane, &syndrome);
    }
    __syncwarp();
    if (lane == 0) {
        queue->fetched = fetched + done;
        if (syndrome != 0)
            weft_nic_fail(nic, queue, fetched + done, syndrome);
    }
    __syncwarp();
    return true;
}

#endif
