/*
 * rank/route.h - where a target is: found in the tables, checked, and on a GPU kept in shared
 * memory, since each look at the tables is a crossing to the L2 cache. A bad rank, tag or handle is
 * reported with call and numbers, and ends the rank.
 */
#ifndef WEFT_RANK_ROUTE_H
#define WEFT_RANK_ROUTE_H

#include "rank/state.h"

/* Texts name the call; "%d" and the like are filled in by the host. */
WEFT_INLINE void weft_check_rank(weft_self *self, int target, int members, const char *text)
{
    if (WEFT_UNLIKELY(target < 0 || target >= members))
        weft_fail4(self, WEFT_ERR_RANK, text, target, members, 0, 0);
}

WEFT_INLINE void weft_check_tag(weft_self *self, int tag, const char *text)
{
    if (WEFT_UNLIKELY(tag < 0 || tag >= WEFT_TAGS))
        weft_fail4(self, WEFT_ERR_TAG, text, tag, 0, 0, 0);
}

WEFT_INLINE struct weft_comm_entry *weft_check_comm(weft_self *self, weft_comm comm,
                                                    const char *text)
{
    const uint32_t index = weft_handle_index(comm);

    weft_check_stop(self);
    if (WEFT_UNLIKELY(index >= self->state->comms_count || comm == WEFT_COMM_NONE ||
                      self->state->comms[index].handle != comm))
        weft_fail4(self, WEFT_ERR_COMM, text, comm, 0, 0, 0);
    return &self->state->comms[index];
}

WEFT_INLINE struct weft_window *weft_check_window(weft_self *self, weft_win win, const char *text)
{
    const uint32_t index = weft_handle_index(win);

    weft_check_stop(self);
    if (WEFT_UNLIKELY(index >= self->state->windows_count || win == WEFT_WIN_NONE ||
                      self->state->windows[index].handle != win))
        weft_fail4(self, WEFT_ERR_WINDOW, text, win, 0, 0, 0);
    return &self->state->windows[index];
}

/* ---- routes ------------------------------------------------------------------------------- */

/* Where the channel to a rank is, or would be. */
WEFT_INLINE uint32_t weft_out_index(int32_t process, uint32_t slot)
{
    return (slot + 5 * (uint32_t)process) % WEFT_CHANNELS_OUT;
}

WEFT_INLINE uint32_t weft_way_to(const weft_self *self, struct weft_member to,
                                 const struct weft_exposed *exposed)
{
    const uint32_t index = weft_out_index(to.process, to.slot);
    const struct weft_out *out = &self->out[index];

    if (exposed == NULL)
        return WEFT_WAY_HOST;
    if (to.process == self->process)
        return WEFT_WAY_HERE;
    if (out->state == WEFT_OUT_OPEN && out->process == to.process && out->slot == to.slot)
        return WEFT_WAY_CHANNEL | index << 8;
    return WEFT_WAY_PEER;
}

/* The channel of a route, if it has one. */
WEFT_INLINE struct weft_out *weft_route_out(weft_self *self, const struct weft_route *to)
{
    return (to->way & 0xff) == WEFT_WAY_CHANNEL ? &self->out[to->way >> 8] : NULL;
}

/* Addresses below this fit into the head of a message. */
#define WEFT_EAGER_ADDRESSES ((uint64_t)1 << 48)

/* The route to a member: of a window by `entry`, or, if it is NULL, of a communicator. */
WEFT_INLINE struct weft_route weft_route_to(const weft_self *self, struct weft_member to,
                                            const struct weft_window_entry *entry)
{
    const struct weft_state *state = self->state;
    struct weft_route route;

    route.address = entry != NULL ? entry->address : NULL;
    route.bytes = entry != NULL ? entry->bytes : 0;
    route.home = entry != NULL ? entry->home : 0;
    route.process = to.process;
    route.slot = to.slot;
    route.exposed =
        to.process == state->process ? state->exposed : state->process_table[to.process].exposed;
    if (state->hosts_apart && (to.slot == WEFT_HOST_SLOT) != (self->slot == WEFT_HOST_SLOT))
        route.exposed = NULL;
    route.counters =
        route.exposed != NULL ? &route.exposed->counters[weft_count_index(to.slot, 0)] : NULL;
    route.way = weft_way_to(self, to, route.exposed);
    route.eager = 0;
    if (route.address != NULL && (route.way & 0xff) == WEFT_WAY_CHANNEL &&
        route.home + route.bytes <= WEFT_EAGER_ADDRESSES)
        route.eager = self->eager_bytes + 1;
    return route;
}

/* Where a window's or a communicator's routes begin. */
struct weft_targets {
    const struct weft_member *member;
    const struct weft_window_entry *entry; /* NULL: a communicator's */
    int members;
};

/* Who looks for a route, as complaints name it. */
enum weft_seeker {
    WEFT_BY_NOTIFY,
    WEFT_BY_PUT,
    WEFT_BY_GET,
    WEFT_BY_ADD,
    WEFT_BY_SWAP,
    WEFT_BY_COMPARE,
    WEFT_BY_ACCUMULATE
};

/* One of some literals, for weft_fail, which takes no names. */
#define WEFT_NAMED(by, text)                                                                       \
    ((by) == WEFT_BY_PUT       ? "weft_put" text                                                   \
     : (by) == WEFT_BY_GET     ? "weft_get" text                                                   \
     : (by) == WEFT_BY_ADD     ? "weft_fetch_add, weft_add" text                                   \
     : (by) == WEFT_BY_SWAP    ? "weft_swap" text                                                  \
     : (by) == WEFT_BY_COMPARE ? "weft_compare_swap" text                                          \
                               : "weft_accumulate_begin" text)

WEFT_INLINE struct weft_targets weft_targets_of_window(weft_self *self, weft_win win,
                                                       enum weft_seeker by)
{
    const struct weft_window *window =
        weft_check_window(self, win, WEFT_NAMED(by, ": window 0x%x does not exist or was freed"));
    const struct weft_targets all = {window->member, window->entry, window->members};
    return all;
}

WEFT_INLINE struct weft_targets weft_find_window(weft_self *self, weft_win win, int target,
                                                 enum weft_seeker by)
{
    const struct weft_targets all = weft_targets_of_window(self, win, by);
    weft_check_rank(self, target, all.members,
                    WEFT_NAMED(by, ": target %d is not one of the window's %d ranks"));
    return all;
}

WEFT_INLINE struct weft_targets weft_targets_of_comm(weft_self *self, weft_comm comm)
{
    const struct weft_comm_entry *entry =
        weft_check_comm(self, comm, "weft_notify: communicator 0x%x does not exist");
    const struct weft_targets all = {entry->member, NULL, entry->members};
    return all;
}

WEFT_INLINE struct weft_targets weft_find_comm(weft_self *self, weft_comm comm, int target)
{
    const struct weft_targets all = weft_targets_of_comm(self, comm);
    weft_check_rank(self, target, all.members,
                    "weft_notify: target %d is not one of the communicator's %d ranks");
    return all;
}

WEFT_INLINE struct weft_route weft_route_of(const weft_self *self, const struct weft_targets *found,
                                            int target)
{
    return weft_route_to(self, found->member[target],
                         found->entry != NULL ? &found->entry[target] : NULL);
}

#ifdef __CUDACC__

WEFT_INLINE struct weft_cached *weft_route_place(weft_self *self, uint32_t handle, int target)
{
    return &((struct weft_cuda_rank *)self)->routes[(handle ^ (uint32_t)target) % WEFT_ROUTES];
}

WEFT_INLINE void weft_route_keep(struct weft_cached *cached, uint32_t handle, int target,
                                 const struct weft_route *route)
{
    cached->handle = handle;
    cached->target = target;
    cached->route = *route;
}

/*
 * Finds routes and keeps them by handle, or in a traced job by its alias, so that weft_put_cached
 * finds none. All threads look; writes happen only between the two barriers of a miss, so all find
 * the same. A window's routes are forgotten when it is freed; handles are not used again soon. For
 * a rank that goes from one target to the next, each thread finds one of the next targets, which
 * takes the time of one.
 */
WEFT_COLD void weft_route_fill(weft_self *self, uint32_t handle, int target, enum weft_seeker by)
{
    const bool window = by != WEFT_BY_NOTIFY;
    struct weft_cuda_rank *const rank = (struct weft_cuda_rank *)self;

    /* Before any route by a new channel is kept, those that pass it by are forgotten. */
    if (weft_leads(self))
        weft_tell_news(self);
    weft_join(self);
    const struct weft_targets found =
        window ? weft_find_window(self, handle, target, by) : weft_find_comm(self, handle, target);
    int end = target + 1;
    if (rank->missed == handle && rank->missed_end == target)
        end = (target | (WEFT_ROUTES - 1)) + 1;
    if (end > found.members)
        end = found.members;
    for (int t = target + (int)threadIdx.x; t < end; t += (int)blockDim.x) {
        const struct weft_route route = weft_route_of(self, &found, t);
        weft_route_keep(weft_route_place(self, handle, t), handle ^ self->tracer.alias,
                        window ? t : ~t, &route);
    }
    weft_join(self);
    if (weft_leads(self)) { /* read after the next miss's first barrier */
        rank->missed = handle;
        rank->missed_end = end;
    }
}

WEFT_INLINE struct weft_route weft_route_cached(weft_self *self, uint32_t handle, int target,
                                                enum weft_seeker by)
{
    const struct weft_cached *cached = weft_route_place(self, handle, target);
    struct weft_cached found = *cached; /* all of it at once; a hit in nearly every call */

    if (WEFT_UNLIKELY(target < 0 || found.handle != (handle ^ self->tracer.alias) ||
                      found.target != (by != WEFT_BY_NOTIFY ? target : ~target))) {
        weft_route_fill(self, handle, target, by);
        found = *cached;
    }
    return found.route;
}

WEFT_INLINE struct weft_route weft_route_window(weft_self *self, weft_win win, int target,
                                                enum weft_seeker by)
{
    return weft_route_cached(self, win, target, by);
}

WEFT_INLINE struct weft_route weft_route_comm(weft_self *self, weft_comm comm, int target)
{
    return weft_route_cached(self, comm, target, WEFT_BY_NOTIFY);
}

/* The handle is about to be freed. Between two barriers. */
WEFT_INLINE void weft_route_forget(weft_self *self, uint32_t handle)
{
    weft_for (i, WEFT_ROUTES) {
        struct weft_cached *cached = &((struct weft_cuda_rank *)self)->routes[i];
        if (cached->handle == (handle ^ self->tracer.alias))
            weft_cached_clear(cached);
    }
}

#else

static inline struct weft_route weft_route_window(weft_self *self, weft_win win, int target,
                                                  enum weft_seeker by)
{
    const struct weft_targets found = weft_find_window(self, win, target, by);
    return weft_route_of(self, &found, target);
}

static inline struct weft_route weft_route_comm(weft_self *self, weft_comm comm, int target)
{
    const struct weft_targets found = weft_find_comm(self, comm, target);
    return weft_route_of(self, &found, target);
}

static inline void weft_route_forget(weft_self *self, uint32_t handle)
{
    (void)self, (void)handle;
}

#endif

#endif
