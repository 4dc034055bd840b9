/*
 * rank/many.h - several targets in one call. On a GPU each thread does for one target what
 * the leader does otherwise, so that the releases wait together and not one after the other. What
 * is longer than one store is copied before, by all threads.
 *
 * Only what is reached directly and without a channel goes so; the rest, and whatever is wrong,
 * goes by the calls for one target. A round lies between two barriers of the block: what it goes
 * by, routes, channels and `unsettled`, is changed by the leader in other calls only, and nobody is
 * in another call before all know what is left. In a traced job each thread records its own: the
 * first has the time of them all, the others are moments at its end.
 */
#ifndef WEFT_RANK_MANY_H
#define WEFT_RANK_MANY_H

#include "rank/notify.h"
#include "rank/put.h"

WEFT_INLINE void weft_many_put_one(weft_self *self, weft_win win, const weft_put_item *item)
{
    weft_check_tag(self, item->tag, "weft_put_notify_many");
    weft_put_row(self, win, item->target, item->offset, item->source, item->bytes, item->tag,
                 "weft_put_notify_many");
}

#ifdef __CUDACC__

enum { WEFT_WARP = 32 };

/* What is left to do for a lane's target: all of it, or to remember the route. */
enum weft_lane_rest { WEFT_LANE_DONE, WEFT_LANE_LEFT, WEFT_LANE_KEEP };

/*
 * Finds the lane's target, by the cache or by the tables; false: there is no such rank. A handle
 * that does not exist ends all threads of the rank: none waits for others in a warp. *keep: there
 * is an empty place for the route. What is in a place stays there: to drive it out costs more than
 * to look up this one, and targets of one call, or of two in turns, would do it each time.
 */
WEFT_INLINE bool weft_route_lane(weft_self *self, uint32_t handle, int target, bool mine,
                                 bool window, struct weft_route *to, bool *keep)
{
    const struct weft_cached kept = *weft_route_place(self, handle, target);
    /* Routes of communicators are kept under negative numbers, which are no rank of a window. */
    const bool hit = target >= 0 && kept.handle == (handle ^ self->tracer.alias) &&
                     kept.target == (window ? target : ~target);
    struct weft_targets found = {.members = 0};

    *to = kept.route;
    *keep = mine && weft_cached_is_clear(&kept);
    if (!__any_sync(~0u, mine && !hit))
        return true;
    if (window)
        found = weft_targets_of_window(self, handle, "weft_put_notify_many");
    else
        found = weft_targets_of_comm(self, handle, "weft_notify_many");
    if (mine && !hit && target >= 0 && target < found.members)
        *to = weft_route_of(self, &found, target);
    return hit || (target >= 0 && target < found.members);
}

WEFT_INLINE bool weft_is_direct(const weft_self *self, const struct weft_route *to)
{
    return weft_way_is_mapped(to) && *(volatile const uint32_t *)&self->unsettled == 0;
}

/* Whether an item can be stored here and now, its route being this. */
WEFT_INLINE bool weft_item_goes(const weft_self *self, const struct weft_route *to,
                                const weft_put_item *item)
{
    return weft_is_direct(self, to) && to->address != NULL && item->source != NULL &&
           item->offset <= to->bytes && item->bytes <= to->bytes - item->offset && item->tag >= 0 &&
           item->tag < WEFT_TAGS;
}

/* Numbers for a round are taken. The leader, when all threads have seen the first. */
WEFT_INLINE void weft_trace_lanes_took(weft_self *self, uint32_t count)
{
    const uint64_t before = self->tracer.count;

    self->tracer.count = before + count;
    weft_trace_counted(self, self->tracer.every, before, before + count);
}

/*
 * Records, by whole warps, what each thread did for its target, if it has one of the round's
 * `count`; that is nothing, if it is left. Where one warp did all, it takes the numbers here, else
 * when all have met.
 */
WEFT_INLINE void weft_trace_lanes(weft_self *self, enum weft_trace_kind kind, int tag,
                                  const struct weft_route *to, uint64_t bytes, uint32_t count,
                                  uint64_t begin, bool left)
{
    struct weft_tracer *const tracer = &self->tracer;
    const uint64_t before = tracer->count;
    struct weft_trace_event event;

    event.end = weft_trace_now(self);
    event.begin = weft_leads(self) ? begin : event.end;
    event.process = to->process;
    event.slot = to->slot;
    event.amount = (uint32_t)bytes;
    event.what = left ? 0 : weft_trace_what(kind, tag, bytes);
    if (threadIdx.x < count)
        weft_trace_store(tracer->log, tracer->most, before + threadIdx.x, before + count, &event);
    if (count > WEFT_WARP)
        return;
    __syncwarp();
    if (weft_leads(self))
        weft_trace_lanes_took(self, count);
}

/* Ends a round of so many targets: a barrier of all. Whether there is a rest for anyone. */
WEFT_INLINE bool weft_lanes_end(weft_self *self, uint32_t count, enum weft_lane_rest rest)
{
    if (weft_leads(self))
        weft_turn(self);
    const bool some = __syncthreads_or(rest != WEFT_LANE_DONE) != 0;

    if (count > WEFT_WARP && weft_leads(self) && weft_traced(self))
        weft_trace_lanes_took(self, count); /* before the rank ends, if its job has failed */
    weft_attend(self);
    return some;
}

/* Notifies, by whole warps, the thread's target, if it has one of the round's `count`. */
WEFT_COLD enum weft_lane_rest weft_many_notify(weft_self *self, weft_comm comm, int target, int tag,
                                               uint32_t count)
{
    WEFT_IN_SHARED(self);
    const bool mine = threadIdx.x < count;
    struct weft_route to;
    bool keep;

    const bool known = weft_route_lane(self, comm, target, mine, false, &to, &keep);
    const bool left = mine && !(known && weft_is_direct(self, &to));
    const uint64_t begin = weft_traced(self) ? weft_trace_now(self) : 0;
    if (mine && !left)
        weft_mapped_notify(self, to.way, &to, (uint32_t)tag, false, false);
    if (weft_traced(self))
        weft_trace_lanes(self, WEFT_TRACE_NOTIFY, tag, &to, 0, count, begin, left);
    return left ? WEFT_LANE_LEFT : keep ? WEFT_LANE_KEEP : WEFT_LANE_DONE;
}

/* Puts as weft_many_notify notifies, where each put is one store. */
WEFT_COLD enum weft_lane_rest weft_many_put_word(weft_self *self, weft_win win,
                                                 const weft_put_item *from, uint32_t count)
{
    WEFT_IN_SHARED(self);
    const bool mine = threadIdx.x < count;
    const weft_put_item item = *from;
    struct weft_route to;
    bool keep;

    const bool known = weft_route_lane(self, win, item.target, mine, true, &to, &keep);
    const bool left = mine && !(known && weft_item_goes(self, &to, &item) &&
                                weft_is_small(to.address + item.offset, item.bytes));
    const uint64_t begin = weft_traced(self) ? weft_trace_now(self) : 0;
    if (mine && !left) {
        weft_copy_undivided(to.address + item.offset, (const unsigned char *)item.source,
                            item.bytes);
        weft_mapped_notify(self, to.way, &to, (uint32_t)item.tag, false, false);
    }
    if (weft_traced(self))
        weft_trace_lanes(self, WEFT_TRACE_PUT, item.tag, &to, item.bytes, count, begin, left);
    return left ? WEFT_LANE_LEFT : keep ? WEFT_LANE_KEEP : WEFT_LANE_DONE;
}

/*
 * Puts a round with longer ones, at most as many as a warp has lanes: all threads copy when the
 * first warp has found the routes, and before it releases.
 */
WEFT_COLD enum weft_lane_rest weft_many_put(weft_self *self, weft_win win,
                                            const weft_put_item *items, uint32_t count)
{
    WEFT_IN_SHARED(self);
    __shared__ unsigned char *targets[WEFT_WARP];
    const bool mine = threadIdx.x < count;
    const weft_put_item item = items[mine ? threadIdx.x : 0];
    struct weft_route to;
    bool goes = false, keep = false;
    const uint64_t begin = weft_traced(self) ? weft_trace_now(self) : 0;

    if (threadIdx.x < WEFT_WARP)
        goes = weft_route_lane(self, win, item.target, mine, true, &to, &keep) && mine &&
               weft_item_goes(self, &to, &item);
    if (mine)
        targets[threadIdx.x] = goes ? to.address + item.offset : NULL;
    weft_join(self);
    for (uint32_t i = 0; i < count; i++) {
        const struct weft_shape shape = weft_one_row(items[i].bytes);
        if (targets[i] != NULL)
            weft_copy_direct(self, targets[i], items[i].source, &shape);
    }
    weft_join(self); /* the releases cover what every thread copied */
    if (goes)
        weft_mapped_notify(self, to.way, &to, (uint32_t)item.tag, false, false);
    if (weft_traced(self) && threadIdx.x < WEFT_WARP)
        weft_trace_lanes(self, WEFT_TRACE_PUT, item.tag, &to, item.bytes, count, begin, !goes);
    return mine && !goes ? WEFT_LANE_LEFT : keep ? WEFT_LANE_KEEP : WEFT_LANE_DONE;
}

/* Notifies the rest of a round, one target after the other, by all threads. */
WEFT_COLD void weft_many_notify_rest(weft_self *self, weft_comm comm, const int *targets,
                                     uint32_t count, int tag, enum weft_lane_rest rest)
{
    for (uint32_t i = 0; i < count; i++) {
        const bool mine = i == threadIdx.x;
        if (__syncthreads_or(rest == WEFT_LANE_LEFT && mine))
            weft_notify_recorded(self, comm, targets[i], tag, false, "weft_notify_many");
        else if (__syncthreads_or(rest == WEFT_LANE_KEEP && mine))
            weft_route_comm(self, comm, targets[i], "weft_notify_many");
    }
}

WEFT_COLD void weft_many_put_rest(weft_self *self, weft_win win, const weft_put_item *items,
                                  uint32_t count, enum weft_lane_rest rest)
{
    for (uint32_t i = 0; i < count; i++) {
        const bool mine = i == threadIdx.x;
        if (__syncthreads_or(rest == WEFT_LANE_LEFT && mine))
            weft_many_put_one(self, win, &items[i]);
        else if (__syncthreads_or(rest == WEFT_LANE_KEEP && mine))
            weft_route_window(self, win, items[i].target, "weft_put_notify_many");
    }
}

/* Whether threads do it: whole warps. */
WEFT_INLINE bool weft_by_lanes(void)
{
    return blockDim.x % WEFT_WARP == 0;
}

/* Targets of a round that begins with the first-th. */
WEFT_INLINE uint32_t weft_lanes_of(int count, int first)
{
    const uint32_t rest = (uint32_t)(count - first);
    return rest < blockDim.x ? rest : blockDim.x;
}

#endif

WEFT_INLINE void weft_check_many(weft_self *self, const void *list, int count, const char *text)
{
    if (WEFT_UNLIKELY(count < 0 || (list == NULL && count > 0)))
        weft_fail4(self, WEFT_ERR_ARGUMENT, text, count, (int64_t)(uintptr_t)list, 0, 0);
}

WEFT_FN void weft_notify_many(weft_self *self, weft_comm comm, const int *targets, int count,
                              int tag)
{
    WEFT_TOGETHER_LIST(self, weft_notify_many(self, comm, targets, count, tag), targets, targets,
                       count, comm, count, tag)
    weft_check_stop(self);
    weft_check_tag(self, tag, "weft_notify_many");
    weft_check_many(self, targets, count, "weft_notify_many: %d targets, at address 0x%llx");
#ifdef __CUDACC__
    const int threads = (int)blockDim.x, me = (int)threadIdx.x;
    for (int first = 0; weft_by_lanes() && first < count; first += threads) {
        const uint32_t here = weft_lanes_of(count, first);
        const int mine = first + ((uint32_t)me < here ? me : 0);
        weft_join(self); /* the releases cover what every thread did */
        enum weft_lane_rest rest = WEFT_LANE_DONE;
        if ((uint32_t)(me - me % WEFT_WARP) < here) /* a warp with nothing to do waits */
            rest = weft_many_notify(self, comm, targets[mine], tag, here);
        if (WEFT_UNLIKELY(weft_lanes_end(self, here, rest)))
            weft_many_notify_rest(self, comm, targets + first, here, tag, rest);
    }
    if (weft_by_lanes())
        return;
#endif
    for (int i = 0; i < count; i++)
        weft_notify_recorded(self, comm, targets[i], tag, false, "weft_notify_many");
}

WEFT_FN void weft_put_notify_many(weft_self *self, weft_win win, const weft_put_item *items,
                                  int count)
{
    WEFT_TOGETHER_LIST(self, weft_put_notify_many(self, win, items, count), items, items, count,
                       win, count)
    weft_check_stop(self);
    weft_check_many(self, items, count, "weft_put_notify_many: %d puts, at address 0x%llx");
#ifdef __CUDACC__
    const int me = (int)threadIdx.x;
    uint32_t here = 0;
    for (int first = 0; weft_by_lanes() && first < count; first += (int)here) {
        enum weft_lane_rest rest = WEFT_LANE_DONE;
        here = weft_lanes_of(count, first);
        const int mine = first + ((uint32_t)me < here ? me : 0);
        weft_join(self); /* the sources are there, and the releases cover what every thread did */
        const bool longer = __syncthreads_or(items[mine].bytes > sizeof(uint64_t)) != 0;
        weft_attend(self);
        if (longer) {
            here = here < WEFT_WARP ? here : (uint32_t)WEFT_WARP;
            rest = weft_many_put(self, win, items + first, here);
        } else if ((uint32_t)(me - me % WEFT_WARP) < here) {
            rest = weft_many_put_word(self, win, &items[mine], here);
        }
        if (WEFT_UNLIKELY(weft_lanes_end(self, here, rest)))
            weft_many_put_rest(self, win, items + first, here, rest);
    }
    if (weft_by_lanes())
        return;
#endif
    for (int i = 0; i < count; i++)
        weft_many_put_one(self, win, &items[i]);
}

#endif
