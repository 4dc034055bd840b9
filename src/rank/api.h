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
    weft_self *rank = (weft_self *)(uintptr_t)self; /* a meeting is no change of the rank */
    struct weft_call call = {.name = "weft_sync"};

    if (self->port.meets != NULL && weft_arrive_at(rank, &call))
        weft_team_made(&rank->port);
}

/* The sum over each group of `lanes` threads, which all have come with their addends. */
static void weft_team_sums(weft_self *self, int lanes)
{
    for (int first = 0; first < weft_strand.threads; first += lanes) {
        double sum = 0;
        for (int t = first; t < first + lanes; t++)
            sum += weft_team_call(self->port.team, t)->addend;
        for (int t = first; t < first + lanes; t++)
            *(double *)weft_team_call(self->port.team, t)->sum = sum;
    }
}

double weft_lane_sum(weft_self *self, double value, int lanes)
{
    double sum = value; /* 1 divides the one thread */

    if (WEFT_UNLIKELY(self->port.meets != NULL)) {
        struct weft_call call = {.name = __func__,
                                 .arguments = "lanes",
                                 .count = 1,
                                 .value = {(uint64_t)lanes},
                                 .addend = value,
                                 .sum = &sum};
        if (weft_arrive_at(self, &call)) {
            if (lanes < 1 || weft_strand.threads % lanes != 0)
                weft_fail4(self, WEFT_ERR_ARGUMENT,
                           "weft_lane_sum: %d lanes do not divide %d threads", lanes,
                           weft_strand.threads, 0, 0);
            weft_team_sums(self, lanes);
            weft_team_made(&self->port);
        }
    }
    return sum;
}

double weft_block_sum(weft_self *self, double value)
{
    double sum = value;

    if (WEFT_UNLIKELY(self->port.meets != NULL)) {
        struct weft_call call = {.name = __func__, .addend = value, .sum = &sum};
        if (weft_arrive_at(self, &call)) {
            weft_team_sums(self, weft_strand.threads);
            weft_team_made(&self->port);
        }
    }
    return sum;
}

#endif
#endif
