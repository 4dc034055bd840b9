/* host/region.c - regions that the host program names. Program's thread. */
#include "host/host.h"

#include "rank/trace/trace.h"

static weft_status mark(weft_job *job, const char *call, enum weft_trace_kind kind,
                        const char *name)
{
    struct weft_port_call port_call = {.deadline = 0};
    weft_status status;
    weft_self *self = weft_host_enter(job, call, &port_call, &status);

    if (self == NULL)
        return status;
    if (weft_traced(self)) /* the program has one thread then */
        weft_trace_region(self, kind, name);
    return weft_host_leave(job, WEFT_OK);
}

weft_status weft_host_region_begin(weft_job *job, const char *name)
{
    return mark(job, "weft_host_region_begin", WEFT_TRACE_REGION, name);
}

weft_status weft_host_region_end(weft_job *job)
{
    return mark(job, "weft_host_region_end", WEFT_TRACE_REGION_END, "");
}
