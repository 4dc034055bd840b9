/*
 * kernel_api/many.h - several targets in one call. On a GPU a lane of the first warp does what the
 * leader does for one target, so that the releases wait together and not one after the other.
 *
 * Only what is reached directly and without a channel goes so; the rest, and whatever is wrong,
 * goes by the calls for one target. Every warp finds the same rest, since routes and channels do
 * not change between two barriers of the block.
 */
#ifndef WEFT_KERNEL_API_MANY_H
#define WEFT_KERNEL_API_MANY_H

#include "kernel_api/put.h"

#ifdef __CUDACC__

enum { WEFT_LANES = 32 };

/*
 * Where the lane's target is, by the cache or by the tables; false: there is no such rank. A handle
 * that does not exist ends all threads of the rank: none waits for others in a warp.
 */
WEFT_INLINE bool weft_route_lane(weft_self *self, uint32_t handle, int target, bool mine,
                                 bool window, struct weft_route *to)
{
    const struct weft_cached kept = *weft_route_place(self, handle, target);
    const bool hit = kept.handle == handle && kept.target == (window ? target : ~target);
    struct weft_targets found = {NULL, NULL, 0};

    to->address = kept.address;
    to->bytes = kept.bytes;
    to->exposed = kept.exposed;
    to->counters = kept.counters;
    to->way = kept.way;
    if (!__any_sync(~0u, mine && !hit))
        return true;
    if (window)
        found = weft_targets_of_window(self, handle);
    else
        found = weft_targets_of_comm(self, handle);
    if (mine && !hit && target >= 0 && target < found.members)
        *to = weft_route_of(self, &found, target);
    return hit || (target >= 0 && target < found.members);
}

WEFT_INLINE bool weft_is_direct(const weft_self *self, const struct weft_route *to)
{
    return (to->way == WEFT_WAY_HERE || to->way == WEFT_WAY_PEER) &&
           *(volatile const uint32_t *)&self->unsettled == 0;
}

WEFT_INLINE void weft_count_direct(const struct weft_route *to, int tag)
{
    if (to->way == WEFT_WAY_HERE)
        weft_count_add_local(to->exposed, to->counters + tag, false);
    else
        weft_count_add_peer(to->exposed, to->counters + tag, false);
}

/* Notifies up to 32 targets; returns, by lane, those that are left. */
WEFT_COLD unsigned weft_notify_lanes(weft_self *self, weft_comm comm, const int *targets, int count,
                                     int tag)
{
    const int lane = (int)(threadIdx.x % WEFT_LANES), target = targets[lane < count ? lane : 0];
    struct weft_route to;
    const bool mine = lane < count, known = weft_route_lane(self, comm, target, mine, false, &to);
    const bool left = mine && !(known && weft_is_direct(self, &to));

    if (mine && !left && threadIdx.x < WEFT_LANES)
        weft_count_direct(&to, tag);
    return __ballot_sync(~0u, left);
}

/* The same for puts that are one store. */
WEFT_COLD unsigned weft_put_lanes(weft_self *self, weft_win win, const weft_put_item *items,
                                  int count)
{
    const int lane = (int)(threadIdx.x % WEFT_LANES);
    const bool mine = lane < count;
    const weft_put_item item = items[mine ? lane : 0];
    struct weft_route to;
    const bool known = weft_route_lane(self, win, item.target, mine, true, &to);
    const bool left =
        mine &&
        !(known && weft_is_direct(self, &to) && to.address != NULL && item.source != NULL &&
          item.offset <= to.bytes && item.bytes <= to.bytes - item.offset && item.tag >= 0 &&
          item.tag < WEFT_TAGS && weft_is_small(to.address + item.offset, item.bytes));

    if (mine && !left && threadIdx.x < WEFT_LANES) {
        weft_copy_undivided(to.address + item.offset, (const unsigned char *)item.source,
                            item.bytes);
        weft_count_direct(&to, item.tag);
    }
    return __ballot_sync(~0u, left);
}

/* Whether lanes do it: a whole first warp, and nobody who wants each call recorded. */
WEFT_INLINE bool weft_by_lanes(const weft_self *self)
{
    return !weft_traced(self) && blockDim.x % WEFT_LANES == 0;
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
    weft_check_stop(self);
    weft_check_tag(self, tag, "weft_notify_many: tag %d is not in 0..255");
    weft_check_many(self, targets, count, "weft_notify_many: %d targets, at address 0x%llx");
#ifdef __CUDACC__
    for (int first = 0; weft_by_lanes(self) && first < count; first += WEFT_LANES) {
        const int some = count - first < WEFT_LANES ? count - first : WEFT_LANES;
        weft_join(self); /* the releases cover what every thread did */
        unsigned left = weft_notify_lanes(self, comm, targets + first, some, tag);
        for (; left != 0; left &= left - 1)
            weft_notify_other(self, comm, targets[first + __ffs((int)left) - 1], tag, false);
    }
    if (weft_by_lanes(self))
        return;
#endif
    for (int i = 0; i < count; i++)
        weft_notify_other(self, comm, targets[i], tag, false);
}

WEFT_FN void weft_put_notify_many(weft_self *self, weft_win win, const weft_put_item *items,
                                  int count)
{
    weft_check_stop(self);
    weft_check_many(self, items, count, "weft_put_notify_many: %d puts, at address 0x%llx");
#ifdef __CUDACC__
    for (int first = 0; weft_by_lanes(self) && first < count; first += WEFT_LANES) {
        const int some = count - first < WEFT_LANES ? count - first : WEFT_LANES;
        weft_join(self); /* the sources are there, and the releases cover what every thread did */
        unsigned left = weft_put_lanes(self, win, items + first, some);
        for (; left != 0; left &= left - 1) {
            const weft_put_item item = items[first + __ffs((int)left) - 1];
            weft_put_notify(self, win, item.target, item.offset, item.source, item.bytes, item.tag);
        }
    }
    if (weft_by_lanes(self))
        return;
#endif
    for (int i = 0; i < count; i++)
        weft_put_notify(self, win, items[i].target, items[i].offset, items[i].source,
                        items[i].bytes, items[i].tag);
}

#endif
