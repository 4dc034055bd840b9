/*
 * rank/api.h - the device API's code. For GPUs weft/device.h includes it, so that all
 * of it is compiled into each kernel; for the CPU device it is compiled once, in api.c.
 */
#ifndef WEFT_RANK_API_H
#define WEFT_RANK_API_H

#include "rank/barrier.h"
#include "rank/collective.h"
#include "rank/get.h"
#include "rank/notify.h"
#include "rank/put.h"
#include "rank/self.h"
#include "rank/update.h"
#include "rank/wait/call.h"

#include "rank/many.h" /* by the calls for one target */

#ifdef __CUDACC__

/* The threads of the caller's warp, by name: its leader may come out of the call before later. */
WEFT_INLINE unsigned weft_warp_mask(void)
{
    const unsigned threads = blockDim.x - threadIdx.x / 32 * 32;
    return threads < 32 ? (1u << threads) - 1 : ~0u;
}

/* Down the lanes of each warp, then over the warps: the same order in every run. */
WEFT_FN double weft_block_sum(weft_self *self, double value)
{
    double *sums = ((struct weft_cuda_rank *)self)->sums;
    const unsigned lane = threadIdx.x % 32, warps = (blockDim.x + 31) / 32;

    for (unsigned step = 16; step > 0; step /= 2) {
        const double other = __shfl_down_sync(weft_warp_mask(), value, step);
        if (lane + step < 32 && threadIdx.x + step < blockDim.x)
            value += other;
    }
    if (lane == 0)
        sums[threadIdx.x / 32] = value;
    __syncthreads();
    double sum = 0;
    for (unsigned w = 0; w < warps; w++)
        sum += sums[w];
    __syncthreads(); /* the next sum may begin */
    return sum;
}

WEFT_FN double weft_lane_sum(weft_self *self, double value, int lanes)
{
    (void)self;
    for (int step = lanes / 2; step > 0; step /= 2)
        value += __shfl_xor_sync(weft_warp_mask(), value, step);
    return value;
}

#else

void *weft_shared(const weft_self *self)
{
    return self->shared;
}

size_t weft_shared_bytes(const weft_self *self)
{
    return self->shared_bytes;
}

void *weft_share(weft_self *self, const void *key, size_t bytes)
{
    void *memory = weft_team_share(self->port.team, key, bytes);

    if (memory == NULL)
        weft_fail4(self, WEFT_ERR_MEMORY, "WEFT_SHARED: no %llu bytes", (int64_t)bytes, 0, 0, 0);
    return memory;
}

void weft_sync_threads(const weft_self *self)
{
    struct weft_call call = {.name = "weft_sync"};

    if (weft_together((weft_self *)(uintptr_t)self, &call)) /* a meeting changes no rank */
        weft_team_made(self->port.team);
}

/* Over each group of `lanes` threads, or all (0). */
static double weft_sum_threads(weft_self *self, const char *name, double value, int lanes)
{
    double sum = value;
    struct weft_call call = {.name = name,
                             .arguments = "lanes",
                             .count = 1,
                             .value = (const uint64_t[]){(uint64_t)lanes},
                             .addend = value,
                             .sum = &sum};
    const int threads = weft_threads(self);

    if (threads == 1 || !weft_together(self, &call))
        return sum;
    if (!weft_team_sum(self->port.team, lanes))
        weft_fail4(self, WEFT_ERR_ARGUMENT, "weft_lane_sum: %d lanes do not divide %d threads",
                   lanes, threads, 0, 0);
    weft_team_made(self->port.team);
    return sum;
}

double weft_lane_sum(weft_self *self, double value, int lanes)
{
    return weft_sum_threads(self, __func__, value, lanes);
}

double weft_block_sum(weft_self *self, double value)
{
    return weft_sum_threads(self, __func__, value, 0);
}

#endif
#endif
