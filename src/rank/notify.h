/*
 * rank/notify.h - one more notification for a rank, by the fastest way that keeps the order.
 */
#ifndef WEFT_RANK_NOTIFY_H
#define WEFT_RANK_NOTIFY_H

#include "rank/parts.h"

#ifndef __CUDACC__

/* To a rank that is mapped, in a job that is not traced. */
WEFT_HOT bool weft_notify_mapped(weft_self *self, weft_comm comm, int target, int tag, bool relaxed,
                                 const char *call)
{
    if (weft_traced(self))
        return false;
    const struct weft_route to = weft_route_comm(self, comm, target, call);
    if (!weft_way_is_mapped(&to) || WEFT_UNLIKELY(self->unsettled != 0))
        return false;
    weft_path_notify_mapped(self, to.way, &to, (uint32_t)tag, relaxed, false);
    weft_turn(self);
    return true;
}

#endif

/* Any; in a traced job it is recorded. */
WEFT_COLD void weft_notify_recorded(weft_self *self, weft_comm comm, int target, int tag,
                                    bool relaxed, const char *call)
{
    WEFT_IN_SHARED(self);
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

WEFT_FAR_HALF void weft_notify_far(weft_self *self, weft_comm comm, int target, int tag,
                                   bool relaxed)
{
    const char *const call = relaxed ? "weft_notify_relaxed" : "weft_notify";

    weft_check_stop(self);
    weft_check_tag(self, tag, call);
#ifndef __CUDACC__
    if (weft_notify_mapped(self, comm, target, tag, relaxed, call))
        return;
#endif
    weft_notify_recorded(self, comm, target, tag, relaxed, call);
}

#endif
