/*
 * rank/notify.h - one more notification for a rank, by the fastest way that keeps the order.
 */
#ifndef WEFT_RANK_NOTIFY_H
#define WEFT_RANK_NOTIFY_H

#include "rank/path/dispatch.h"
#include "rank/together.h"

#ifdef __CUDACC__

/*
 * Notifies a rank whose route is known, without a channel, as weft_put_cached puts. recorded: in a
 * traced job, where the route has its alias; what the leader waits for first is recorded by itself.
 */
WEFT_INLINE bool weft_notify_cached(weft_self *self, weft_comm comm, int target, int tag,
                                    bool relaxed, const bool recorded)
{
    const struct weft_cached *const there = weft_route_place(self, comm, target);
    const struct weft_cached found = *there;
    const struct weft_route *const to = &found.route;
    const struct weft_route *const rest = WEFT_KEEP_ROUTE || recorded ? to : &there->route;
    const uint32_t unsettled = threadIdx.x == 0 ? self->unsettled : 0; /* as there */
    struct weft_trace_event event;

    if ((recorded && (!weft_traced(self) || weft_alone(self))) ||
        found.handle != (recorded ? comm ^ WEFT_TRACE_ALIAS : comm) || found.target != ~target ||
        target < 0 || !weft_way_is_mapped(to))
        return false;
    if (!relaxed)
        weft_join(self); /* the release covers what every thread did */
    if (threadIdx.x != 0)
        return true;
    if (WEFT_UNLIKELY(unsettled != 0))
        weft_settle(self, rest->process);
    if (recorded) {
        event.process = to->process;
        event.slot = to->slot;
        event.amount = 0;
        event.what = weft_trace_what(WEFT_TRACE_NOTIFY, tag, 0);
        event.begin = weft_trace_now(self);
    }
    weft_mapped_notify(self, to->way, rest, (uint32_t)tag, relaxed, false);
    weft_turn(self);
    if (recorded)
        weft_trace_single(self, &event);
    return true;
}

#else

/* Notifies a mapped rank in a job that is not traced; false: it is something else. */
WEFT_HOT bool weft_notify_mapped(weft_self *self, weft_comm comm, int target, int tag, bool relaxed,
                                 const char *call)
{
    if (weft_traced(self))
        return false;
    const struct weft_route to = weft_route_comm(self, comm, target, call);
    if (!weft_way_is_mapped(&to) || WEFT_UNLIKELY(self->unsettled != 0))
        return false;
    weft_mapped_notify(self, to.way, &to, (uint32_t)tag, relaxed, false);
    weft_turn(self);
    return true;
}

#endif

/* Notifies any rank; in a traced job it is recorded. */
WEFT_COLD void weft_notify_recorded(weft_self *self, weft_comm comm, int target, int tag,
                                    bool relaxed, const char *call)
{
    WEFT_IN_SHARED(self);
#ifdef __CUDACC__
    if (weft_notify_cached(self, comm, target, tag, relaxed, true))
        return;
#endif
    const struct weft_route to = weft_route_comm(self, comm, target, call);
    const bool recorded = weft_traced(self) && weft_leads(self);

    if (recorded)
        weft_trace_open_event(self, WEFT_TRACE_NOTIFY, WEFT_TRACE_CALL, tag, to.process, to.slot,
                              0);
    if (!relaxed)
        weft_join(self); /* the release covers what every thread did */
    if (weft_leads(self))
        weft_path_notify(self, &to, comm, target, tag, relaxed);
    if (recorded)
        weft_trace_close_event(self, WEFT_TRACE_CALL);
}

WEFT_HOT void weft_notify_any(weft_self *self, weft_comm comm, int target, int tag, bool relaxed,
                              const char *call)
{
    weft_check_stop(self);
    weft_check_tag(self, tag, call);
#ifdef __CUDACC__
    if (weft_notify_cached(self, comm, target, tag, relaxed, false))
        return;
#else
    if (weft_notify_mapped(self, comm, target, tag, relaxed, call))
        return;
#endif
    weft_notify_recorded(self, comm, target, tag, relaxed, call);
}

WEFT_FN void weft_notify(weft_self *self, weft_comm comm, int target, int tag)
{
    WEFT_TOGETHER_ALL(weft_notify, self, comm, target, tag)
    weft_notify_any(self, comm, target, tag, false, "weft_notify");
}

WEFT_FN void weft_notify_relaxed(weft_self *self, weft_comm comm, int target, int tag)
{
    WEFT_TOGETHER_ALL(weft_notify_relaxed, self, comm, target, tag)
    weft_notify_any(self, comm, target, tag, true, "weft_notify_relaxed");
}

#endif
