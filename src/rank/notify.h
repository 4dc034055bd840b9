/*
 * rank/notify.h - one more notification for a rank, by the fastest path that keeps the order,
 * and consuming them.
 */
#ifndef WEFT_RANK_NOTIFY_H
#define WEFT_RANK_NOTIFY_H

#include "rank/path/channel.h"
#include "rank/wait/letter.h"

/*
 * One more for a rank of a process that is reached without the host. All earlier puts of this rank
 * to it that went through the host have landed first (weft_settle). small: it is that of a put that
 * a channel would take. The leader.
 */
WEFT_INLINE void weft_notify_direct(weft_self *self, const struct weft_route *to, uint32_t tag,
                                    bool relaxed, bool small)
{
    struct weft_counter *counter = to->counters + tag;

    if (weft_is_here(to)) {
        weft_count_add_local(to->exposed, counter, relaxed);
    } else if (to->way == WEFT_WAY_PEER) {
        weft_count_add_peer(to->exposed, counter, relaxed);
        if (small)
            weft_out_talked(self, to->exposed, to->process, to->slot);
    } else {
        weft_message_notice(self, weft_route_out(self, to), tag, true, !relaxed);
        weft_count_nudge(to->exposed);
    }
}

/* The leader. */
WEFT_COLD void weft_notify_proxied(weft_self *self, int process, weft_comm comm, int target,
                                   int tag)
{
    struct weft_command command = {0};

    command.kind = WEFT_COMMAND_COUNT;
    command.tag = (uint16_t)tag;
    command.object = comm;
    command.target = (uint32_t)target;
    weft_post_put(self, process, &command, NULL, 0, true);
}

#ifdef __CUDACC__

/* HERE or PEER. */
WEFT_INLINE void weft_notify_mapped(uint32_t way, struct weft_exposed *exposed,
                                    struct weft_counter *counter, bool relaxed)
{
    if (way == WEFT_WAY_HERE)
        weft_count_add_local(exposed, counter, relaxed);
    else
        weft_count_add_peer(exposed, counter, relaxed);
}

/* To a rank whose route is known, without a channel: as weft_put_usual. */
WEFT_INLINE bool weft_notify_usual(weft_self *self, weft_comm comm, int target, int tag,
                                   bool relaxed)
{
    const uint32_t place = (comm ^ (uint32_t)target) % WEFT_ROUTES;
    const struct weft_cached *const there = &((struct weft_cuda_rank *)self)->routes[place];
    const struct weft_cached to = *there;
    const struct weft_cached *const rest = WEFT_KEEP_ROUTE ? &to : there;
    const uint32_t unsettled = threadIdx.x == 0 ? self->unsettled : 0; /* as there */

    if (to.handle != comm || to.target != ~target || target < 0 ||
        (to.way != WEFT_WAY_HERE && to.way != WEFT_WAY_PEER))
        return false;
    if (!relaxed)
        weft_join(self); /* the release covers what every thread did */
    if (threadIdx.x != 0)
        return true;
    if (WEFT_UNLIKELY(unsettled != 0))
        weft_settle(self, rest->process);
    weft_notify_mapped(to.way, rest->exposed, rest->counters + tag, relaxed);
    weft_turn(self);
    return true;
}

/* The same in a traced job; what the leader waits for first is recorded by itself. */
WEFT_INLINE bool weft_notify_recorded(weft_self *self, weft_comm comm, int target, int tag,
                                      bool relaxed)
{
    const struct weft_cached to = *weft_route_place(self, comm, target);
    const uint32_t unsettled = threadIdx.x == 0 ? self->unsettled : 0;

    if (!weft_traced(self) || to.handle != (comm ^ WEFT_TRACE_ALIAS) || to.target != ~target ||
        target < 0 || (to.way != WEFT_WAY_HERE && to.way != WEFT_WAY_PEER))
        return false;
    if (!relaxed)
        weft_join(self);
    if (threadIdx.x != 0)
        return true;
    if (WEFT_UNLIKELY(unsettled != 0))
        weft_settle(self, to.process);
    struct weft_trace_event event;
    event.process = to.process;
    event.slot = to.slot;
    event.amount = 0;
    event.what = weft_trace_what(WEFT_TRACE_NOTIFY, tag, 0);
    event.begin = weft_trace_now(self);
    weft_notify_mapped(to.way, to.exposed, to.counters + tag, relaxed);
    weft_turn(self);
    weft_trace_single(self, &event);
    return true;
}

#endif

WEFT_INLINE void weft_notify_somehow(weft_self *self, const struct weft_route *to, weft_comm comm,
                                     int target, int tag, bool relaxed)
{
    if (!relaxed)
        weft_join(self); /* the release covers what every thread did */
    if (!weft_leads(self))
        return;
    if (to->way == WEFT_WAY_HOST) {
        weft_notify_proxied(self, to->process, comm, target, tag);
    } else {
        if (WEFT_UNLIKELY(self->unsettled != 0))
            weft_settle(self, to->process);
        weft_notify_direct(self, to, (uint32_t)tag, relaxed, false);
    }
    weft_turn(self);
}

/* One that is not usual; in a traced job any, and it is recorded. */
WEFT_COLD void weft_notify_other(weft_self *self, weft_comm comm, int target, int tag, bool relaxed)
{
    WEFT_IN_SHARED(self);
#ifdef __CUDACC__
    if (weft_notify_recorded(self, comm, target, tag, relaxed))
        return;
#endif
    const struct weft_route to = weft_route_comm(self, comm, target);
    const bool recorded = weft_traced(self) && weft_leads(self);

    if (recorded)
        weft_trace_open_event(self, WEFT_TRACE_NOTIFY, WEFT_TRACE_CALL, tag, to.process, to.slot,
                              0);
    weft_notify_somehow(self, &to, comm, target, tag, relaxed);
    if (recorded)
        weft_trace_close_event(self, WEFT_TRACE_CALL);
}

WEFT_INLINE void weft_notify_any(weft_self *self, weft_comm comm, int target, int tag, bool relaxed)
{
    weft_check_stop(self);
    weft_check_tag(self, tag, "weft_notify: tag %d is not in 0..255");
#ifdef __CUDACC__
    if (weft_notify_usual(self, comm, target, tag, relaxed))
        return;
#endif
    weft_notify_other(self, comm, target, tag, relaxed);
}

WEFT_FN void weft_notify(weft_self *self, weft_comm comm, int target, int tag)
{
    weft_notify_any(self, comm, target, tag, false);
}

WEFT_FN void weft_notify_relaxed(weft_self *self, weft_comm comm, int target, int tag)
{
    weft_notify_any(self, comm, target, tag, true);
}

/* The leader waits for all. */
WEFT_INLINE void weft_wait_led(weft_self *self, uint32_t tag, uint32_t count)
{
    if (weft_leads(self)) {
        weft_wait_tag(self, tag, count);
        self->consumed[tag] += count;
    }
    weft_join(self);
}

#ifdef __CUDACC__

/* The first warp does. */
WEFT_INLINE void weft_wait_warped(weft_self *self, uint32_t tag, uint32_t count)
{
    do {
        if (threadIdx.x < 32)
            weft_wait_by_warp(self, tag, count);
        __syncthreads();
    } while (WEFT_UNLIKELY(weft_attend(self)));
}

/* The leader. */
WEFT_INLINE void weft_trace_open_wait(weft_self *self, uint32_t tag, uint32_t count)
{
    weft_trace_open_event(self, WEFT_TRACE_WAIT, WEFT_TRACE_CALL, (int)tag, WEFT_TRACE_NOBODY,
                          WEFT_TRACE_ANYRANK, count);
}

/* In a function of its own, which is so small that nothing of it is kept in memory. */
WEFT_COLD void weft_wait_led_traced(weft_self *self, uint32_t tag, uint32_t count)
{
    WEFT_IN_SHARED(self);
    if (weft_leads(self))
        weft_trace_open_wait(self, tag, count);
    weft_wait_led(self, tag, count);
    if (weft_leads(self))
        weft_trace_close_single(self);
}

WEFT_COLD void weft_wait_traced(weft_self *self, uint32_t tag, uint32_t count, uint32_t waits)
{
    WEFT_IN_SHARED(self);
    if (weft_leads(self))
        weft_trace_open_wait(self, tag, count);
    if (waits == (WEFT_WAITS_TRACED | WEFT_WAITS_BY_WARP))
        weft_wait_warped(self, tag, count);
    else
        weft_wait_by_letter(self, tag, count);
    if (weft_leads(self))
        weft_trace_close_single(self);
}

WEFT_FN void weft_wait(weft_self *self, int tag, uint32_t count)
{
    weft_check_tag(self, tag, "weft_wait: tag %d is not in 0..255");
    const uint32_t waits = self->waits;
    if (waits == WEFT_WAITS_BY_WARP)
        weft_wait_warped(self, (uint32_t)tag, count);
    else if (waits == WEFT_WAITS_ALONE)
        weft_wait_led(self, (uint32_t)tag, count);
    else if (waits == WEFT_WAITS_BY_LETTER)
        weft_wait_by_letter(self, (uint32_t)tag, count);
    else if (waits == (WEFT_WAITS_TRACED | WEFT_WAITS_ALONE))
        weft_wait_led_traced(self, (uint32_t)tag, count);
    else
        weft_wait_traced(self, (uint32_t)tag, count, waits);
}

#else

void weft_wait(weft_self *self, int tag, uint32_t count)
{
    weft_check_stop(self);
    weft_check_tag(self, tag, "weft_wait: tag %d is not in 0..255");
    weft_trace_enter(self, WEFT_TRACE_WAIT, tag, count);
    if (WEFT_UNLIKELY(self->letters != NULL))
        weft_wait_by_letter(self, (uint32_t)tag, count);
    else
        weft_wait_led(self, (uint32_t)tag, count);
    weft_trace_leave(self);
}

#endif

#ifdef __CUDACC__

WEFT_FN int weft_test(weft_self *self, int tag, uint32_t count)
{
    bool there = false;

    weft_check_tag(self, tag, "weft_test: tag %d is not in 0..255");
    if (self->eager_bytes != 0)
        weft_serve_seen(self);
    if (weft_leads(self)) {
        const uint32_t index = weft_count_index(self->slot, (uint32_t)tag);
        there = weft_count_read(self, index) - self->consumed[tag] >= count;
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
    weft_check_stop(self);
    weft_check_tag(self, tag, "weft_test: tag %d is not in 0..255");
    if (self->eager_bytes != 0)
        weft_serve_now_and_then(self);
    const uint32_t index = weft_count_index(self->slot, (uint32_t)tag);
    const bool there = weft_count_read(self, index) - self->consumed[tag] >= count;
    if (there) {
        self->consumed[tag] += count;
        weft_port_waited(&self->port);
    } else {
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

    while (
        !weft_compares(there, how, value) &&
        weft_wait_round(self, &rounds, WEFT_WAIT_UNTIL, (uint64_t)(uintptr_t)address, there, value))
        there = weft_watch(address, wide);
    weft_wait_over(self, rounds);
}

WEFT_COLD void weft_wait_watch_traced(weft_self *self, const void *address, bool wide,
                                      weft_compare how, uint64_t value)
{
    weft_trace_enter(self, WEFT_TRACE_WAIT_UNTIL, -1, value);
    weft_wait_watch(self, address, wide, how, value, weft_watch(address, wide));
    weft_trace_leave(self);
}

WEFT_INLINE void weft_wait_value(weft_self *self, const void *address, bool wide, weft_compare how,
                                 uint64_t value)
{
    weft_check_stop(self);
    if (WEFT_UNLIKELY(address == NULL || ((uintptr_t)address & (wide ? 7 : 3)) != 0 ||
                      how < WEFT_EQ || how > WEFT_LE))
        weft_fail4(
            self, WEFT_ERR_ARGUMENT,
            "weft_wait_until: address 0x%llx is not aligned to %d bytes, or comparison %d is none",
            (int64_t)(uintptr_t)address, wide ? 8 : 4, how, 0);
    if (weft_leads(self)) {
        const uint64_t there = weft_watch(address, wide);
        if (!weft_compares(there, how, value)) {
            if (weft_traced(self))
                weft_wait_watch_traced(self, address, wide, how, value);
            else
                weft_wait_watch(self, address, wide, how, value, there);
        }
        weft_polled();
    }
    if (self->eager_bytes != 0)
        weft_serve_seen(self); /* what the writer had fenced before it */
    weft_join(self);
}

WEFT_FN void weft_wait_until(weft_self *self, const uint64_t *address, weft_compare how,
                             uint64_t value)
{
    weft_wait_value(self, address, true, how, value);
}

WEFT_FN void weft_wait_until_u32(weft_self *self, const uint32_t *address, weft_compare how,
                                 uint32_t value)
{
    weft_wait_value(self, address, false, how, value);
}

#endif
