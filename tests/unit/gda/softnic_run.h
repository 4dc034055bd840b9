/*
 * softnic_run.h - a rank's end of a queue and the software NIC's, in one thread; the NIC of the
 * host, or the kernel that is one, on an emulated warp.
 */
#ifndef WEFT_TESTS_SOFTNIC_RUN_H
#define WEFT_TESTS_SOFTNIC_RUN_H

#include "base/task.h"
#include "gda/softnic/engine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/warp.h"

/* What nvcc has. */
#define __global__
#define __shared__                       static
#define __launch_bounds__(threads, each) /* nothing */
#define __syncthreads()                  __syncwarp()
static struct {
    unsigned x;
} blockIdx, gridDim = {1}, blockDim = {LANES};
#include "gda/softnic/block.cu"

enum { DEPTH = 16, QPN = 7, KEY = 0x300, BYTES = 256 };

/* A queue with both ends. */
static struct bench {
    _Alignas(64) unsigned char wqe[DEPTH * WEFT_MLX5_SLOT], cqe[DEPTH * WEFT_MLX5_CQE_BYTES];
    uint32_t record[2];
    uint64_t doorbell;
    _Alignas(8) unsigned char memory[BYTES];
    struct weft_bell bell;
    struct weft_gda_keys keys;
    struct weft_softnic nic;
    struct weft_softnic_queue there;
    struct weft_gda_queue here;
    struct weft_nic block;
    struct weft_nic_queue block_there;
    _Alignas(8) unsigned char report[sizeof(struct weft_nic_report) + sizeof(uint64_t)];
} b;
static bool by_block; /* which of the two serves */

static inline struct weft_nic_report *report(void)
{
    return (struct weft_nic_report *)(void *)b.report;
}

static inline void open_bench(uint64_t start)
{
    const uint64_t memory = (uint64_t)(uintptr_t)b.memory;

    weft_softnic_close(&b.there);
    memset(&b, 0, sizeof(b));
    memset(b.cqe, 0xff, sizeof(b.cqe));
    b.record[1] = weft_be32((uint32_t)(start & 0xffff));
    b.doorbell = weft_mlx5_doorbell(start, QPN);
    b.keys = (struct weft_gda_keys){.count = 1,
                                    .key = {{.begin = memory, .end = memory + BYTES, .lkey = KEY}}};
    b.nic = (struct weft_softnic){.keys = &b.keys, .bell = &b.bell};
    b.there = (struct weft_softnic_queue){.nic = &b.nic,
                                          .wire = &weft_softnic_loop,
                                          .wqe = b.wqe,
                                          .cqe = b.cqe,
                                          .record = b.record,
                                          .doorbell = &b.doorbell,
                                          .qpn = QPN,
                                          .slots = DEPTH};
    b.here = (struct weft_gda_queue){.wqe = (uint64_t *)(void *)b.wqe,
                                     .cqe = b.cqe,
                                     .record = b.record,
                                     .doorbell = &b.doorbell,
                                     .sink = memory,
                                     .sink_lkey = KEY,
                                     .qpn = QPN,
                                     .slots = DEPTH,
                                     .posted = start,
                                     .rung = start,
                                     .done = start,
                                     .asked = start};
    assert_true(weft_softnic_open(&b.there, start));
    b.block_there = (struct weft_nic_queue){.wqe = b.here.wqe,
                                            .cqe = b.cqe,
                                            .record = b.record,
                                            .doorbell = &b.doorbell,
                                            .qpn = QPN,
                                            .slots = DEPTH,
                                            .fetched = start,
                                            .failed = report()->failed};
    b.block = (struct weft_nic){
        .queues = &b.block_there, .keys = &b.keys, .report = report(), .count = 1};
}

static inline struct weft_gda_remote at(size_t offset)
{
    return (struct weft_gda_remote){(uint64_t)(uintptr_t)b.memory + offset, KEY};
}

static inline struct weft_gda_local part(size_t offset, uint32_t bytes)
{
    return (struct weft_gda_local){(uint64_t)(uintptr_t)b.memory + offset, bytes, KEY};
}

/* Told to leave, it does what there is first. */
static inline void run_block(void)
{
    static struct weft_beside_control control = {.leave = {{.word = 1}}};
    weft_nic_block(&b.block, &control, 1);
}

/* The NIC does all that it can; the rank hears of it. False: a request failed. */
static inline bool serve(void)
{
    if (by_block)
        run_warp(run_block);
    while (!by_block && weft_softnic_round(&b.there))
        continue;
    for (int i = 0; i < DEPTH; i++)
        if (!weft_gda_poll(&b.here))
            return false;
    return true;
}

static inline bool ring_and_serve(void)
{
    weft_gda_ring(&b.here);
    return serve();
}

/* Requests, each with a completion: of words at 8 here, or between here and there. */
static inline void post_atomic(uint32_t opcode, uint64_t value, uint64_t expected, size_t old_to)
{
    struct weft_wqe wqe;

    weft_wqe_atomic(&wqe, opcode, b.here.posted, QPN, at(8), value, expected, part(old_to, 8),
                    true);
    weft_gda_post(&b.here, &wqe, true);
}

static inline void post_move(uint32_t opcode, size_t remote, size_t local, uint32_t bytes)
{
    struct weft_wqe wqe;

    weft_wqe_move(&wqe, opcode, b.here.posted, QPN, at(remote), part(local, bytes), true);
    weft_gda_post(&b.here, &wqe, true);
}

static inline void post_nothing(void)
{
    struct weft_wqe wqe;

    weft_wqe_control(&wqe, WEFT_MLX5_NOP, b.here.posted, QPN, 1, true);
    weft_gda_post(&b.here, &wqe, true);
}

static inline uint64_t word_at(size_t offset)
{
    uint64_t word;

    memcpy(&word, b.memory + offset, sizeof(word));
    return word;
}

static inline int turn_block(void **unused) /* before and after a test */
{
    (void)unused;
    by_block = !by_block;
    (by_block ? open_warp : close_warp)();
    return 0;
}

#define BY_BLOCK(test)                                                                             \
    {                                                                                              \
        "block: " #test, test, turn_block, turn_block, NULL                                        \
    }

static inline int close_bench(void **unused) /* after all tests */
{
    (void)unused;
    weft_softnic_close(&b.there);
    return 0;
}

#endif
