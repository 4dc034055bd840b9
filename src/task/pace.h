/*
 * task/pace.h - how fast calls run here, and where other places have some: by which a place that is
 * asked decides how many to give. Who has the service.
 */
#ifndef WEFT_TASK_PACE_H
#define WEFT_TASK_PACE_H

#include "task/data.h"

/* A pace of so many calls until now. The half of what it was counts, so that no one time does. */
WEFT_INLINE void weft_task_paced(struct weft_task_pace *pace, uint64_t calls, uint64_t now)
{
    const uint64_t ns = (now - pace->since) / calls + 1, few = ns < UINT32_MAX ? ns : UINT32_MAX;

    pace->ns = pace->ns == 0 ? few : (pace->ns + few) / 2;
    pace->since = now;
}

/* How fast calls run here: looked at while more wait. The leader. */
WEFT_INLINE void weft_task_own_pace(struct weft_task_place *p)
{
    enum { CALLS = 8 };
    const uint64_t ran = weft_load_relaxed_u64(&p->ran);
    const bool busy = (int32_t)weft_load_relaxed_u32(&p->queued) > 0;

    if (busy && p->own.since != 0 && ran - p->own.calls < CALLS)
        return;
    const uint64_t now = weft_port_clock();
    if (busy && p->own.since != 0)
        weft_task_paced(&p->own, ran - p->own.calls, now);
    p->own.since = busy ? now : 0;
    p->own.calls = ran;
}

/* Of n calls that wait here, how many another place should have, so that both places end together;
 * half, while one of their paces is not known. A place that would get none is thought a little
 * faster, so that it is tried again some time. The leader. */
WEFT_INLINE uint64_t weft_task_share(struct weft_task_place *p, int32_t to, uint64_t n)
{
    const uint64_t own = p->own.ns, other = p->pace[to].ns;

    if (own == 0 || other == 0 || n > UINT32_MAX)
        return n / 2 + (n & 1);
    uint64_t share = n * own / (own + other);
    if ((share + 1) * other <= (n - share) * own) /* there one more is done no later than here */
        share++;
    if (share == 0 && n != 0)
        p->pace[to].ns -= other / 64;
    return share;
}

#endif
