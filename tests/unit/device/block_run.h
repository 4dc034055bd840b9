/*
 * The service block of a GPU (device/cuda/block/) without a GPU: its kernel on an emulated warp,
 * and what the host gives it. Stores may be held back, and then arrive in any order that the
 * kernel's fences and releases allow.
 */
#ifndef WEFT_TESTS_BLOCK_RUN_H
#define WEFT_TESTS_BLOCK_RUN_H

#include "abi/errand.h"
#include "device/port.h"
#include "order/atomic.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "support/warp.h"

/* What nvcc and order/atomic_cuda.h have. */
#define __global__
#define __launch_bounds__(threads)
#define __shared__      static
#define __syncthreads() meet("block", 0)
static const struct {
    unsigned x;
} blockDim = {LANES};
#define weft_update_relaxed(word, change) weft_update(word, change)
#define weft_fence_release(order)         ((void)(order))
#define weft_fence_release_device(order)  fence(order)
#define weft_polled()                     ((void)0)
#define weft_port_ticks()                 now
static uint64_t now; /* the clock of the GPU */
#include "ring/command.h"

/* ---- stores that arrive late -----------------------------------------------------------------
 */

static struct held {
    void *to;
    uint64_t value;
    uint32_t bytes, lane;
    uint32_t fences;        /* of its lane, before it */
    uint64_t number;        /* of all stores */
    uint64_t covered, knew; /* other lanes' stores before these: by its last fence; known to it */
    bool release;
} held[64];
static uint32_t held_count, fences[LANES];
static uint64_t stores, met_at, covered[LANES]; /* met_at: stores at the last barrier of the warp */
static bool holds;                              /* else they arrive at once */
static enum weft_order weakened;                /* orders nothing */
static void (*arrived)(void);

static void fence(enum weft_order order)
{
    if (order == weakened)
        return;
    fences[threadIdx.x]++;
    covered[threadIdx.x] = met_at;
}

/* Whether `before`, which was stored earlier, arrives earlier. */
static bool precedes(const struct held *before, const struct held *store)
{
    const bool own = before->lane == store->lane;

    return before->to == store->to || before->number < store->covered ||
           (own && before->fences != store->fences) ||
           (store->release && (own || before->number < store->knew));
}

static void arrive_any(void)
{
    uint32_t at = any_below(held_count);

    for (uint32_t i = 0; i < at; i++)
        if (precedes(&held[i], &held[at])) {
            at = i;
            i = UINT32_MAX; /* the next is 0 */
        }
    memcpy(held[at].to, &held[at].value, held[at].bytes);
    memmove(&held[at], &held[at + 1], (--held_count - at) * sizeof(held[0]));
    arrived();
}

static void hold(void *to, uint64_t value, uint32_t bytes, bool release)
{
    if (!holds) {
        memcpy(to, &value, bytes);
        return;
    }
    if (held_count == sizeof(held) / sizeof(held[0]))
        arrive_any();
    held[held_count++] = (struct held){.to = to,
                                       .value = value,
                                       .bytes = bytes,
                                       .lane = threadIdx.x,
                                       .fences = fences[threadIdx.x],
                                       .number = stores++,
                                       .covered = covered[threadIdx.x],
                                       .knew = met_at,
                                       .release = release};
}

#define weft_store_relaxed_u64(word, value)        hold(word, value, 8, false)
#define weft_store_relaxed_u32(word, value)        hold(word, value, 4, false)
#define weft_store_release_u64(word, value, order) hold(word, value, 8, (order) != weakened)
#include "device/cuda/block/block.cu"

static struct weft_block_control control;
static struct weft_command_producer errands;
static uint32_t next;
static struct weft_lot lot;

/* Both rings are empty, with the next errand at that index. */
static void open_rings(uint32_t start)
{
    uint32_t credit;

    weft_command_ring_init(control.errand, WEFT_BLOCK_DEPTH, start, &credit);
    weft_command_ring_init(control.answer, WEFT_BLOCK_DEPTH, start, &credit);
    errands = (struct weft_command_producer){
        .lines = control.errand, .depth = WEFT_BLOCK_DEPTH, .head = start};
    next = start;
}

static void lease_block(void)
{
    weft_block(&control, next, 20, 78);
}

#endif
