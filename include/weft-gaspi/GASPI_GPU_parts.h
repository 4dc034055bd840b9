/*
 * GASPI_GPU_parts.h - what the procedures of GASPI_GPU_device.h are made of: words and clocks of
 * the device, the block's table, places of segments, and what is under way. No program calls them.
 */
#ifndef GASPI_GPU_PARTS_H
#define GASPI_GPU_PARTS_H

#include <GASPI.h>
#include <GASPI_GPU_table.h>
#include <weft/device.h>

#include <stdbool.h>

#ifdef __CUDACC__
#define GPU_GASPI_FN static __device__ inline __attribute__((unused))
#else
#define GPU_GASPI_FN static inline __attribute__((unused))
#endif

enum {
    GPU_GASPI_LIST = 32,    /* elements of a list at most */
    GPU_GASPI_ROUNDS = 1000 /* looks for a notification before a wait that may sleep */
};

/*
 * Where the block finds its table. A program of GASPI is one process of weft, and all ranks of it
 * that the CPU device runs store the same.
 */
#ifdef __CUDACC__
GPU_GASPI_FN struct gpu_gaspi_table **gpu_gaspi_here(void)
{
    __shared__ struct gpu_gaspi_table *table;
    return &table;
}
GPU_GASPI_FN void gpu_gaspi_set_table(struct gpu_gaspi_table *table)
{
    *gpu_gaspi_here() = table;
}
GPU_GASPI_FN struct gpu_gaspi_table *gpu_gaspi_table_of(void)
{
    return *gpu_gaspi_here();
}
#else
static struct gpu_gaspi_table *gpu_gaspi_here;
GPU_GASPI_FN void gpu_gaspi_set_table(struct gpu_gaspi_table *table)
{
    __atomic_store_n(&gpu_gaspi_here, table, __ATOMIC_RELAXED);
}
GPU_GASPI_FN struct gpu_gaspi_table *gpu_gaspi_table_of(void)
{
    return __atomic_load_n(&gpu_gaspi_here, __ATOMIC_RELAXED);
}
#endif

/* A word that other processes write, or the clock: read by one thread. */
#ifdef __CUDACC__
GPU_GASPI_FN uint32_t gpu_gaspi_look(const uint32_t *word)
{
    uint32_t value;
    asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
    return value;
}
GPU_GASPI_FN uint32_t gpu_gaspi_acquire(const uint32_t *word)
{
    uint32_t value;
    asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
    return value;
}
GPU_GASPI_FN uint32_t gpu_gaspi_exchange(uint32_t *word)
{
    return atomicExch_system(word, 0);
}
GPU_GASPI_FN void gpu_gaspi_least(uint32_t *least, uint32_t value)
{
    atomicMin(least, value);
}
GPU_GASPI_FN uint64_t gpu_gaspi_now(void)
{
    uint64_t now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
}
#else
GPU_GASPI_FN uint32_t gpu_gaspi_look(const uint32_t *word)
{
    return __atomic_load_n(word, __ATOMIC_RELAXED);
}
GPU_GASPI_FN uint32_t gpu_gaspi_acquire(const uint32_t *word)
{
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}
GPU_GASPI_FN uint32_t gpu_gaspi_exchange(uint32_t *word)
{
    return __atomic_exchange_n(word, 0, __ATOMIC_ACQ_REL);
}
GPU_GASPI_FN void gpu_gaspi_least(uint32_t *least, uint32_t value)
{
    if (value < *least) /* threads of a rank of the CPU device run one at a time */
        *least = value;
}
GPU_GASPI_FN uint64_t gpu_gaspi_now(void)
{
    gaspi_cycles_t now = 0;
    gaspi_time_ticks(&now);
    return now;
}
#endif

/* When a limit is reached, in nanoseconds; UINT64_MAX: never. Of the leader. */
GPU_GASPI_FN uint64_t gpu_gaspi_until(gaspi_timeout_t timeout_ms)
{
    if (timeout_ms >= UINT64_MAX / 2000000u)
        return UINT64_MAX;
    return timeout_ms == GASPI_TEST ? 0 : gpu_gaspi_now() + timeout_ms * 1000000u;
}

GPU_GASPI_FN int gpu_gaspi_block(weft_self *self)
{
    return weft_rank(self, WEFT_COMM_DEVICE);
}

/* What thread 0 has found, told to all. */
GPU_GASPI_FN uint32_t gpu_gaspi_tell(weft_self *self, uint32_t value)
{
    WEFT_SHARED(uint32_t, told, 1);
    weft_sync(self);
    if (weft_thread(self) == 0)
        *told = value;
    weft_sync(self);
    return *told;
}

/* Whether the limit is reached, by the clock of thread 0. */
GPU_GASPI_FN bool gpu_gaspi_late(weft_self *self, uint64_t until)
{
    return until != UINT64_MAX && gpu_gaspi_tell(self, gpu_gaspi_now() >= until) != 0;
}

GPU_GASPI_FN gaspi_return_t gpu_gaspi_find(gaspi_rank_t rank, gaspi_segment_id_t segment,
                                           struct gpu_gaspi_place *place)
{
    const struct gpu_gaspi_table *table = gpu_gaspi_table_of();

    if (rank >= table->ranks)
        return GASPI_ERR_INV_RANK;
    if (segment >= table->segments)
        return GASPI_ERR_INV_SEG;
    *place = table->places[(size_t)rank * (size_t)table->segments + segment];
    return place->bytes != 0 ? GASPI_SUCCESS : GASPI_ERR_INV_SEG;
}

GPU_GASPI_FN bool gpu_gaspi_inside(uint64_t all, uint64_t offset, uint64_t bytes)
{
    return offset <= all && bytes <= all - offset;
}

/* The operations that stand for all of the block to a rank: one of writes, one of reads. */
GPU_GASPI_FN void gpu_gaspi_remember(weft_self *self, int rank, int read, weft_op op)
{
    const struct gpu_gaspi_table *table = gpu_gaspi_table_of();
    weft_op *const newest =
        &table->newest[((size_t)gpu_gaspi_block(self) * (size_t)table->ranks + (size_t)rank) * 2 +
                       (size_t)read];
    const weft_op before = *newest;

    if (op.sequence == 0)
        return;
    if (before.sequence != 0 && before.kind != op.kind) /* it does not stand for that one */
        weft_op_wait(self, before, WEFT_LOCAL);
    weft_sync(self);
    if (weft_thread(self) == 0)
        *newest = op;
    weft_sync(self);
}

#endif
