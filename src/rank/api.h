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

#include "rank/pieces.h"

#include "rank/block.h" /* last, or nvcc orders the addresses of functions anew */
#include "rank/wait/where.h"

#ifndef __CUDACC__

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

#endif
#endif
