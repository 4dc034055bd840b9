/*
 * rank/wait/call.h - the calls that wait: for notifications, and for a value.
 */
#ifndef WEFT_RANK_WAIT_CALL_H
#define WEFT_RANK_WAIT_CALL_H

#include "rank/parts.h"

#ifdef __CUDACC__

/* By more than the leader: the first warp, where there are channels, or what letters need. */
WEFT_INLINE bool weft_wait_by_crew(weft_self *self, uint32_t tag, uint32_t count)
{
    const uint32_t waits = self->waits;

    if (waits == WEFT_WAITS_BY_LETTER)
        weft_wait_by_letter(self, tag, count);
    if (waits != WEFT_WAITS_BY_WARP)
        return waits == WEFT_WAITS_BY_LETTER;
    do {
        if (threadIdx.x < 32)
            weft_wait_by_warp(self, tag, count);
        __syncthreads();
    } while (WEFT_UNLIKELY(weft_attend(self)));
    return true;
}

#else

static inline bool weft_wait_by_crew(weft_self *self, uint32_t tag, uint32_t count)
{
    if (WEFT_UNLIKELY(self->letters != NULL))
        weft_wait_by_letter(self, tag, count);
    return self->letters != NULL;
}

#endif

WEFT_FAR_HALF void weft_wait_far(weft_self *self, int tag, uint32_t count)
{
    WEFT_IN_SHARED(self);
    weft_check_stop(self);
    weft_check_tag(self, tag, "weft_wait");
    weft_trace_enter(self, WEFT_TRACE_WAIT, tag, count);
    if (!weft_wait_by_crew(self, (uint32_t)tag, count)) {
        if (weft_leads(self)) {
            weft_wait_tag(self, (uint32_t)tag, count);
            self->consumed[tag] += count;
        }
        weft_join(self);
    }
    weft_trace_leave(self);
}

#ifdef __CUDACC__

WEFT_FAR_FN(int, weft_test, (weft_self * self, int tag, uint32_t count), (self, tag, count))
{
    WEFT_TOGETHER_FOR(int, self, weft_test(self, tag, count), tag, count)
    bool there = false;

    weft_check_tag(self, tag, "weft_test");
    if (self->eager_bytes != 0)
        weft_serve_seen(self);
    if (weft_leads(self)) {
        const uint32_t index = weft_count_index(self->slot, (uint32_t)tag);
        there = weft_count_read_all(self, index) - self->consumed[tag] >= count;
        weft_polled();
        if (there)
            self->consumed[tag] += count;
        else
            weft_turn(self);
    }
    there = __syncthreads_or(there) != 0;
    weft_attend(self);
    return there;
}

#else

int weft_test(weft_self *self, int tag, uint32_t count)
{
    WEFT_TOGETHER_FOR(int, self, weft_test(self, tag, count), tag, count)
    weft_check_stop(self);
    weft_check_tag(self, tag, "weft_test");
    if (self->eager_bytes != 0)
        weft_serve_now_and_then(self);
    const uint32_t index = weft_count_index(self->slot, (uint32_t)tag);
    const bool there = weft_count_read(self, index) - self->consumed[tag] >= count;
    if (there) {
        self->consumed[tag] += count;
        weft_port_waited(&self->port);
    } else {
        weft_batch_send(self);
        weft_port_poll(&self->port); /* loops around weft_test must let others run */
    }
    return there;
}

#endif

WEFT_INLINE bool weft_compares(uint64_t value, weft_compare how, uint64_t with)
{
    switch (how) {
    case WEFT_EQ:
        return value == with;
    case WEFT_NE:
        return value != with;
    case WEFT_GT:
        return value > with;
    case WEFT_GE:
        return value >= with;
    case WEFT_LT:
        return value < with;
    case WEFT_LE:
        return value <= with;
    }
    return false;
}

WEFT_INLINE uint64_t weft_watch(const void *address, bool wide)
{
    return wide ? weft_poll_u64((const uint64_t *)address, ORDER_watch)
                : weft_poll_u32((const uint32_t *)address, ORDER_watch);
}

/* It was not there at once, but `there`. The leader. */
WEFT_INLINE void weft_wait_watch(weft_self *self, const void *address, bool wide, weft_compare how,
                                 uint64_t value, uint64_t there)
{
    uint32_t rounds = 0;

    weft_count_watch(self, 1);
    while (
        !weft_compares(there, how, value) &&
        weft_wait_round(self, &rounds, WEFT_WAIT_UNTIL, (uint64_t)(uintptr_t)address, there, value))
        there = weft_watch(address, wide);
    weft_count_watch(self, -1);
    weft_wait_over(self, rounds);
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
        if (!weft_compares(there, how, value)) {
            weft_trace_enter(self, WEFT_TRACE_WAIT_UNTIL, -1, value);
            weft_wait_watch(self, address, wide, how, value, there);
            weft_trace_leave(self);
        }
        weft_polled();
    }
    if (self->eager_bytes != 0)
        weft_serve_seen(self); /* what the writer had fenced before it */
    weft_join(self);
}

WEFT_FAR_FN(void, weft_wait_until,
            (weft_self * self, const uint64_t *address, weft_compare how, uint64_t value),
            (self, address, how, value))
{
    WEFT_TOGETHER(self, weft_wait_until(self, address, how, value), address, how, value)
    weft_wait_value(self, address, true, how, value);
}

WEFT_FAR_FN(void, weft_wait_until_u32,
            (weft_self * self, const uint32_t *address, weft_compare how, uint32_t value),
            (self, address, how, value))
{
    WEFT_TOGETHER(self, weft_wait_until_u32(self, address, how, value), address, how, value)
    weft_wait_value(self, address, false, how, value);
}

#endif
