/*
 * rank/route.h - where a target is: found in the tables, checked, and on a GPU kept in shared
 * memory, since each look at the tables is a crossing to the L2 cache. A bad rank, tag or handle is
 * reported with call and numbers, and ends the rank.
 */
#ifndef WEFT_RANK_ROUTE_H
#define WEFT_RANK_ROUTE_H

#include "rank/fail.h"
#include "rank/wait/wait.h"

/* Checks a rank of a window. call: the call that was made, here and below. */
WEFT_INLINE void weft_check_rank(weft_self *self, int target, int members, const char *call)
{
    if (WEFT_UNLIKELY(target < 0 || target >= members))
        weft_fail_in(self, WEFT_ERR_RANK, call, "%s: target %d is not one of the window's %d ranks",
                     target, members, 0, 0);
}

/* Says what is wrong with a communicator. text: "%s: ", the call, and "%s", the communicator. */
WEFT_COLD void weft_fail_comm(weft_self *self, const char *call, const char *text, weft_comm comm)
{
    const weft_log_arg args[] = {weft_name(call), weft_value(comm, WEFT_LOG_COMM)};
    weft_fail(self, WEFT_ERR_COMM, text, 2, args);
}

/* Says that a target is none of a communicator's ranks. */
WEFT_COLD void weft_fail_target(weft_self *self, const char *call, int target, int members,
                                weft_comm comm)
{
    const weft_log_arg args[] = {weft_name(call), weft_number(target), weft_number(members),
                                 weft_value(comm, WEFT_LOG_COMM)};
    weft_fail(self, WEFT_ERR_RANK, "%s: target %d is not one of the %d ranks of %s", 4, args);
}

WEFT_INLINE void weft_check_tag(weft_self *self, int tag, const char *call)
{
    if (WEFT_UNLIKELY(tag < 0 || tag >= WEFT_TAGS))
        weft_fail_in(self, WEFT_ERR_TAG, call, "%s: tag %d is not in 0..255", tag, 0, 0, 0);
}

/* Bytes, or rows, that are not inside the window of that rank. */
WEFT_COLD void weft_fail_bounds(weft_self *self, const char *call, uint64_t rows, uint64_t width,
                                uint64_t pitch, uint64_t offset, uint64_t window, int rank)
{
    const weft_log_arg args[] = {weft_name(call),
                                 weft_number((int64_t)rows),
                                 weft_number((int64_t)width),
                                 weft_number((int64_t)pitch),
                                 weft_number((int64_t)offset),
                                 weft_number((int64_t)window),
                                 weft_number(rank)};

    if (rows == 1)
        weft_fail_in(self, WEFT_ERR_BOUNDS, call,
                     "%s: %llu bytes at offset %llu are not inside the window of %llu bytes of "
                     "rank %d",
                     (int64_t)width, (int64_t)offset, (int64_t)window, rank);
    weft_fail(self, WEFT_ERR_BOUNDS,
              "%s: %llu rows of %llu bytes, pitch %llu, at offset %llu are not inside the window "
              "of %llu bytes of rank %d",
              7, args);
}

WEFT_HOT struct weft_comm_entry *weft_check_comm(weft_self *self, weft_comm comm, const char *call)
{
    const uint32_t index = weft_handle_index(comm);

    weft_check_stop(self);
    if (WEFT_UNLIKELY(index >= self->state->comms_count || comm == WEFT_COMM_NONE ||
                      self->state->comms[index].handle != comm))
        weft_fail_comm(self, call, "%s: %s does not exist", comm);
    return &self->state->comms[index];
}

WEFT_INLINE const struct weft_comm_entry *weft_check_member(weft_self *self, weft_comm comm,
                                                            const char *call)
{
    const struct weft_comm_entry *entry = weft_check_comm(self, comm, call);
    if (entry->rank_of_slot[self->slot] < 0)
        weft_fail_comm(self, call, "%s: %s lacks the caller", comm);
    return entry;
}

WEFT_HOT struct weft_window *weft_check_window(weft_self *self, weft_win win, const char *call)
{
    const uint32_t index = weft_handle_index(win);

    weft_check_stop(self);
    if (WEFT_UNLIKELY(index >= self->state->windows_count || win == WEFT_WIN_NONE ||
                      self->state->windows[index].handle != win))
        weft_fail_in(self, WEFT_ERR_WINDOW, call, "%s: window 0x%x does not exist or was freed",
                     win, 0, 0, 0);
    return &self->state->windows[index];
}

/* ---- routes ------------------------------------------------------------------------------- */

/* Index of the place where the channel to a rank is, or would be. */
WEFT_INLINE uint32_t weft_out_index(int32_t process, uint32_t slot)
{
    return (slot + 5 * (uint32_t)process) % WEFT_CHANNELS_OUT;
}

/* Whether this rank has a queue for what it does not map of that rank's process. */
WEFT_INLINE bool weft_is_queued(const weft_self *self, int32_t process, uint32_t slot)
{
    return weft_has_queues(self) && slot != WEFT_HOST_SLOT &&
           self->state->process_table[process].queued != 0;
}

WEFT_HOT uint32_t weft_way_to(const weft_self *self, struct weft_member to,
                              const struct weft_exposed *exposed)
{
    const uint32_t index = weft_out_index(to.process, to.slot);
    const struct weft_out *out = &self->out[index];

    if (exposed == NULL)
        return weft_is_queued(self, to.process, to.slot) ? WEFT_WAY_QUEUE : WEFT_WAY_HOST;
    if (to.process == self->process)
        return WEFT_WAY_HERE;
    if (out->state == WEFT_OUT_OPEN && out->process == to.process && out->slot == to.slot)
        return WEFT_WAY_CHANNEL | index << 8;
    return WEFT_WAY_PEER;
}

/* Finds the channel of a route, if it has one. */
WEFT_INLINE struct weft_out *weft_route_out(weft_self *self, const struct weft_route *to)
{
    return (to->way & 0xff) == WEFT_WAY_CHANNEL ? &self->out[to->way >> 8] : NULL;
}

/* Addresses below this fit into the head of a message. */
#define WEFT_EAGER_ADDRESSES ((uint64_t)1 << 48)

/* Whether a member of this process has no counter in common with this rank, or is reached by a
 * queue. */
WEFT_INLINE bool weft_is_apart(const weft_self *self, struct weft_member to)
{
    const struct weft_state *state = self->state;

    if (state->hosts_apart && (to.slot == WEFT_HOST_SLOT) != (self->slot == WEFT_HOST_SLOT))
        return true;
    return state->own_queued && to.process == self->process &&
           weft_is_queued(self, to.process, to.slot);
}

/* Where a window's or a communicator's routes begin. */
struct weft_targets {
    const struct weft_member *member;
    const struct weft_window_entry *entry; /* NULL: a communicator's routes */
    int members;
};

WEFT_HOT struct weft_targets weft_targets_of_window(weft_self *self, weft_win win, const char *call)
{
    const struct weft_window *window = weft_check_window(self, win, call);
    const struct weft_targets all = {
        .member = window->member, .entry = window->entry, .members = window->members};
    return all;
}

WEFT_HOT struct weft_targets weft_find_window(weft_self *self, weft_win win, int target,
                                              const char *call)
{
    const struct weft_targets all = weft_targets_of_window(self, win, call);
    weft_check_rank(self, target, all.members, call);
    return all;
}

WEFT_HOT struct weft_targets weft_targets_of_comm(weft_self *self, weft_comm comm, const char *call)
{
    const struct weft_comm_entry *entry = weft_check_comm(self, comm, call);
    const struct weft_targets all = {.member = entry->member, .members = entry->members};
    return all;
}

WEFT_HOT struct weft_targets weft_find_comm(weft_self *self, weft_comm comm, int target,
                                            const char *call)
{
    const struct weft_targets all = weft_targets_of_comm(self, comm, call);
    if (WEFT_UNLIKELY(target < 0 || target >= all.members))
        weft_fail_target(self, call, target, all.members, comm);
    return all;
}

/* Makes the route to one of the targets. */
WEFT_HOT struct weft_route weft_route_of(const weft_self *self, const struct weft_targets *found,
                                         int target)
{
    const struct weft_state *state = self->state;
    const struct weft_member to = found->member[target];
    const struct weft_window_entry *const entry =
        found->entry != NULL ? &found->entry[target] : NULL;
    struct weft_route route;

    route.address = entry != NULL ? entry->address : NULL;
    route.bytes = entry != NULL ? entry->bytes : 0;
    route.home = entry != NULL ? entry->home : 0;
    route.process = to.process;
    route.slot = to.slot;
    route.exposed =
        to.process == state->process ? state->exposed : state->process_table[to.process].exposed;
    if ((state->hosts_apart | state->own_queued) != 0 && weft_is_apart(self, to))
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

/* Finds the route to a rank of a window, or of a communicator, by the tables. */
WEFT_HOT struct weft_route weft_route_find(weft_self *self, uint32_t handle, int target,
                                           bool window, const char *call)
{
    const struct weft_targets found = window ? weft_find_window(self, handle, target, call)
                                             : weft_find_comm(self, handle, target, call);
    return weft_route_of(self, &found, target);
}

#ifdef __CUDACC__

WEFT_INLINE struct weft_cached *weft_route_place(weft_self *self, uint32_t handle, int target)
{
    return &((struct weft_cuda_rank *)self)->routes[(handle ^ (uint32_t)target) % WEFT_ROUTES];
}

/* Whether a route is to a window's rank, and this rank loads so many bytes there itself. */
WEFT_INLINE bool weft_route_reaches(const weft_self *self, const struct weft_cached *cached,
                                    weft_win win, int target, size_t offset, size_t bytes)
{
    const struct weft_route *const to = &cached->route;

    return cached->handle == win && cached->target == target && offset <= to->bytes &&
           bytes <= to->bytes - offset && to->address != NULL &&
           (to->way == WEFT_WAY_HERE || !weft_has_queues(self));
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
WEFT_COLD void weft_route_fill(weft_self *self, uint32_t handle, int target, bool window,
                               const char *call)
{
    struct weft_cuda_rank *const rank = (struct weft_cuda_rank *)self;

    /* Before any route by a new channel is kept, those that pass it by are forgotten. */
    if (weft_leads(self))
        weft_tell_news(self);
    weft_join(self);
    const struct weft_targets found = window ? weft_find_window(self, handle, target, call)
                                             : weft_find_comm(self, handle, target, call);
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
                                                bool window, const char *call)
{
    const struct weft_cached *cached = weft_route_place(self, handle, target);
    struct weft_cached found = *cached; /* all of it at once; a hit in nearly every call */

    if (weft_alone(self)) /* other threads may look at what is kept */
        return weft_route_find(self, handle, target, window, call);
    if (WEFT_UNLIKELY(target < 0 || found.handle != (handle ^ self->tracer.alias) ||
                      found.target != (window ? target : ~target))) {
        weft_route_fill(self, handle, target, window, call);
        found = *cached;
    }
    return found.route;
}

/* Forgets routes of a handle that is about to be freed. Between two barriers. */
WEFT_INLINE void weft_route_forget(weft_self *self, uint32_t handle)
{
    weft_for (i, WEFT_ROUTES) {
        struct weft_cached *cached = &((struct weft_cuda_rank *)self)->routes[i];
        if (cached->handle == (handle ^ self->tracer.alias))
            weft_cached_clear(cached);
    }
    weft_scopes_clear(self);
}

#else

#define weft_route_cached               weft_route_find
#define weft_route_forget(self, handle) ((void)(self))

#endif

#define weft_route_window(self, win, target, call) weft_route_cached(self, win, target, true, call)
#define weft_route_comm(self, comm, target, call)  weft_route_cached(self, comm, target, false, call)

#endif
