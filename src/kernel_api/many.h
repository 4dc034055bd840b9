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

/* The thread's target, if it has one; `acts`: it is this thread that notifies it. True: not done.
 */
WEFT_COLD bool weft_notify_lane(weft_self *self, weft_comm comm, int target, int tag, bool mine,
                                bool acts)
{
    struct weft_route to;
    const bool known = weft_route_lane(self, comm, target, mine, false, &to);
    const bool left = mine && !(known && weft_is_direct(self, &to));

    if (mine && !left && acts)
        weft_count_direct(&to, tag);
    return left;
}

/* The same for a put that is one store. */
WEFT_COLD bool weft_put_lane(weft_self *self, weft_win win, const weft_put_item *from, bool mine,
                             bool acts)
{
    const weft_put_item item = *from;
    struct weft_route to;
    const bool known = weft_route_lane(self, win, item.target, mine, true, &to);
    const bool left =
        mine &&
        !(known && weft_is_direct(self, &to) && to.address != NULL && item.source != NULL &&
          item.offset <= to.bytes && item.bytes <= to.bytes - item.offset && item.tag >= 0 &&
          item.tag < WEFT_TAGS && weft_is_small(to.address + item.offset, item.bytes));

    if (mine && !left && acts) {
        weft_copy_undivided(to.address + item.offset, (const unsigned char *)item.source,
                            item.bytes);
        weft_count_direct(&to, item.tag);
    }
    return left;
}

/*
 * How a list is dealt out: to the lanes of the first warp, where all warps look at the same and so
 * know what is left without a barrier; or, if it is longer, to all threads, so many in a round.
 */
struct weft_deal {
    int in_round, place; /* of this thread */
    bool few, acts;
};

WEFT_INLINE struct weft_deal weft_deal_of(int count)
{
    struct weft_deal deal;

    deal.few = count <= WEFT_LANES;
    deal.in_round = deal.few ? WEFT_LANES : (int)blockDim.x;
    deal.place = (int)threadIdx.x % deal.in_round;
    deal.acts = !deal.few || threadIdx.x < WEFT_LANES;
    return deal;
}

/* Whether any is left; then whether the one at a place is. All threads learn the same. */
WEFT_INLINE bool weft_any_left(const struct weft_deal *deal, bool left)
{
    return deal->few ? __any_sync(~0u, left) : __syncthreads_or(left);
}

WEFT_INLINE bool weft_left_at(const struct weft_deal *deal, bool left, int place)
{
    return weft_any_left(deal, left && deal->place == place);
}

/* Whether threads do it: whole warps, and nobody who wants each call recorded. */
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
    const struct weft_deal deal = weft_deal_of(count);
    for (int first = 0; weft_by_lanes(self) && first < count; first += deal.in_round) {
        const bool mine = first + deal.place < count;
        weft_join(self); /* the releases cover what every thread did */
        const bool left = weft_notify_lane(self, comm, targets[mine ? first + deal.place : first],
                                           tag, mine, deal.acts);
        if (weft_any_left(&deal, left))
            for (int i = 0; i < deal.in_round; i++)
                if (weft_left_at(&deal, left, i))
                    weft_notify_other(self, comm, targets[first + i], tag, false);
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
    const struct weft_deal deal = weft_deal_of(count);
    for (int first = 0; weft_by_lanes(self) && first < count; first += deal.in_round) {
        const bool mine = first + deal.place < count;
        weft_join(self); /* the sources are there, and the releases cover what every thread did */
        const bool left =
            weft_put_lane(self, win, &items[mine ? first + deal.place : first], mine, deal.acts);
        if (weft_any_left(&deal, left))
            for (int i = 0; i < deal.in_round; i++)
                if (weft_left_at(&deal, left, i))
                    weft_put_notify(self, win, items[first + i].target, items[first + i].offset,
                                    items[first + i].source, items[first + i].bytes,
                                    items[first + i].tag);
    }
    if (weft_by_lanes(self))
        return;
#endif
    for (int i = 0; i < count; i++)
        weft_put_notify(self, win, items[i].target, items[i].offset, items[i].source,
                        items[i].bytes, items[i].tag);
}

#endif
