/*
 * rank/wait/call.h - the calls that wait: for notifications, and for a value.
 */
#ifndef WEFT_RANK_WAIT_CALL_H
#define WEFT_RANK_WAIT_CALL_H

#include "rank/route.h"
#include "rank/together.h"
#ifdef __CUDACC__
#include "rank/wait/wait_cuda.h"
#endif

/* Waits, by the leader for all. */
WEFT_INLINE void weft_wait_led(weft_self *self, uint32_t tag, uint32_t count, const bool nic)
{
    if (weft_leads(self)) {
        weft_wait_tag(self, tag, count, nic);
        self->consumed[tag] += count;
    }
    weft_join(self);
}

#ifdef __CUDACC__

/* Waits, by the first warp for all. */
WEFT_INLINE void weft_wait_warped(weft_self *self, uint32_t tag, uint32_t count)
{
    do {
        if (threadIdx.x < 32)
            weft_wait_by_warp(self, tag, count);
        __syncthreads();
    } while (WEFT_UNLIKELY(weft_attend(self)));
}

/* Waits as weft_wait, in a traced job. */
WEFT_COLD void weft_wait_traced(weft_self *self, uint32_t tag, uint32_t count, uint32_t by)
{
    WEFT_IN_SHARED(self);
    if (weft_leads(self))
        weft_trace_open_event(self, WEFT_TRACE_WAIT, WEFT_TRACE_CALL, (int)tag, WEFT_TRACE_NOBODY,
                              WEFT_TRACE_ANYRANK, count);
    if (by == WEFT_WAITS_BY_WARP)
        weft_wait_warped(self, tag, count);
    else
        weft_wait_led(self, tag, count, WEFT_QUEUES && by == WEFT_WAITS_BY_NIC);
    if (weft_leads(self))
        weft_trace_close_single(self);
}

/* Apart, so that waits of jobs without queues stay as they are. */
WEFT_COLD void weft_wait_nic(weft_self *self, uint32_t tag, uint32_t count)
{
    weft_wait_led(self, tag, count, true);
}

#endif

WEFT_FN void weft_wait(weft_self *self, int tag, uint32_t count)
{
    WEFT_TOGETHER_ALL(weft_wait, self, tag, count)
    weft_check_stop(self);
    weft_check_tag(self, tag, "weft_wait");
#ifdef __CUDACC__
    const uint32_t waits = self->waits;
    if (waits == WEFT_WAITS_ALONE)
        weft_wait_led(self, (uint32_t)tag, count, false);
    else if (waits == WEFT_WAITS_BY_WARP)
        weft_wait_warped(self, (uint32_t)tag, count);
    else if (WEFT_QUEUES && waits == WEFT_WAITS_BY_NIC)
        weft_wait_nic(self, (uint32_t)tag, count);
    else
        weft_far(self, weft_wait_traced)(self, (uint32_t)tag, count, waits & ~WEFT_WAITS_TRACED);
#else
    weft_trace_enter(self, WEFT_TRACE_WAIT, tag, count);
    weft_wait_led(self, (uint32_t)tag, count, false);
    weft_trace_leave(self);
#endif
}

WEFT_FN int weft_test(weft_self *self, int tag, uint32_t count)
{
    WEFT_TOGETHER_ALL_FOR(int, weft_test, self, tag, count)
    bool there = false;

    weft_check_stop(self);
    weft_check_tag(self, tag, "weft_test");
#ifdef __CUDACC__
    if (self->eager_bytes != 0)
        weft_serve_seen(self);
    if (weft_leads(self)) {
        const uint32_t index = weft_count_index(self->slot, (uint32_t)tag);
        const bool nic =
            (self->waits | WEFT_WAITS_TRACED) == (WEFT_WAITS_BY_NIC | WEFT_WAITS_TRACED);
        there = weft_count_read_with(self, index, nic) - self->consumed[tag] >= count;
        weft_polled();
        if (there) {
            self->consumed[tag] += count;
        } else {
            weft_batch_send(self);
            weft_turn(self);
        }
    }
    there = __syncthreads_or(there) != 0;
    weft_attend(self);
#else
    if (self->eager_bytes != 0)
        weft_serve_now_and_then(self);
    const uint32_t index = weft_count_index(self->slot, (uint32_t)tag);
    there = weft_count_read(self, index) - self->consumed[tag] >= count;
    if (there) {
        self->consumed[tag] += count;
        weft_port_waited(&self->port);
    } else {
        weft_batch_send(self);
        weft_port_poll(&self->port); /* loops around weft_test must let others run */
    }
#endif
    return there;
}

WEFT_INLINE bool weft_compares(uint64_t value, weft_compare how, uint64_t with)
{
    return how == WEFT_EQ   ? value == with
           : how == WEFT_NE ? value != with
           : how == WEFT_GT ? value > with
           : how == WEFT_GE ? value >= with
           : how == WEFT_LT ? value < with
                            : how == WEFT_LE && value <= with;
}

WEFT_INLINE uint64_t weft_watch(const void *address, bool wide)
{
    return wide ? weft_poll_u64((const uint64_t *)address, ORDER_watch)
                : weft_poll_u32((const uint32_t *)address, ORDER_watch);
}

/* Watches for a value that was not there at once, but `there`. The leader. */
WEFT_COLD void weft_wait_watch(weft_self *self, const void *address, bool wide, weft_compare how,
                               uint64_t value, uint64_t there)
{
    uint32_t rounds = 0;

    weft_trace_enter(self, WEFT_TRACE_WAIT_UNTIL, -1, value);
    weft_count_watch(self, 1);
    while (
        !weft_compares(there, how, value) &&
        weft_wait_round(self, &rounds, WEFT_WAIT_UNTIL, (uint64_t)(uintptr_t)address, there, value))
        there = weft_watch(address, wide);
    weft_count_watch(self, -1);
    weft_wait_over(self, rounds);
    weft_trace_leave(self);
}

WEFT_INLINE void weft_wait_value(weft_self *self, const void *address, bool wide, weft_compare how,
                                 uint64_t value)
{
    weft_check_stop(self);
    if (WEFT_UNLIKELY(address == NULL || ((uintptr_t)address & (wide ? 7 : 3)) != 0 ||
                      how < WEFT_EQ || how > WEFT_LE))
        weft_fail_in(self, WEFT_ERR_ARGUMENT, wide ? "weft_wait_until" : "weft_wait_until_u32",
                     "%s: address 0x%llx is not aligned to %d bytes, or comparison %d is none",
                     (int64_t)(uintptr_t)address, wide ? 8 : 4, how, 0);
    if (weft_leads(self)) {
        const uint64_t there = weft_watch(address, wide);
        if (!weft_compares(there, how, value))
            weft_wait_watch(self, address, wide, how, value, there);
        weft_polled();
    }
    if (self->eager_bytes != 0)
        weft_serve_seen(self); /* what the writer had fenced before it */
    weft_join(self);
}

WEFT_FN void weft_wait_until(weft_self *self, const uint64_t *address, weft_compare how,
                             uint64_t value)
{
    WEFT_TOGETHER_ALL(weft_wait_until, self, address, how, value)
    weft_wait_value(self, address, true, how, value);
}

WEFT_FN void weft_wait_until_u32(weft_self *self, const uint32_t *address, weft_compare how,
                                 uint32_t value)
{
    WEFT_TOGETHER_ALL(weft_wait_until_u32, self, address, how, value)
    weft_wait_value(self, address, false, how, value);
}

#endif
