/*
 * rank/path/dispatch.h - where a put, a notification, a flush and a barrier's notice take their
 * way: here, to a peer, by a channel, or by the proxy. Nobody else asks which way it is.
 */
#ifndef WEFT_RANK_PATH_DISPATCH_H
#define WEFT_RANK_PATH_DISPATCH_H

#include "rank/path/ask.h"
#include "rank/path/mapped.h"
#include "rank/path/queue.h"

/* ---- order between the ways ----------------------------------------------------------------- */

WEFT_COLD void weft_path_meet_late(weft_self *self, int process)
{
    weft_tell_news(self);
    if (self->unsettled != 0)
        weft_settle(self, process);
}

/*
 * Makes the barrier before something goes to a process by another way than the host: what all
 * threads did before the call comes before it, and so does what went through the host.
 */
WEFT_INLINE void weft_path_meet(weft_self *self, int process)
{
    if (weft_leads(self) && WEFT_UNLIKELY((self->unsettled | self->news) != 0))
        weft_path_meet_late(self, process);
    weft_join(self);
}

/* Waits until all that this rank put anywhere is visible there. The leader. */
WEFT_INLINE void weft_path_flush(weft_self *self)
{
    for (int p = 0; self->unsettled != 0 && p < self->state->processes; p++)
        weft_proxy_ask(self, p);
    for (int p = 0; self->unsettled != 0 && p < self->state->processes; p++)
        weft_settle(self, p);
    for (int i = 0; self->eager_bytes != 0 && i < WEFT_CHANNELS_OUT; i++)
        weft_out_drain(self, &self->out[i]);
    weft_channel_fence(self);
}

/* ---- notices -------------------------------------------------------------------------------- */

/* Adds a notification, by any way, after all that went another. The leader. */
WEFT_INLINE void weft_path_notify(weft_self *self, const struct weft_route *to, weft_comm comm,
                                  int target, int tag, bool relaxed)
{
    if (to->way == WEFT_WAY_HOST) {
        weft_proxy_count(self, to->process, WEFT_COMMAND_COUNT, comm, target, tag, 0);
    } else if (weft_has_queues(self) && to->exposed == NULL) {
        weft_queue_notify(self, to->process, to->slot, (uint32_t)tag);
    } else {
        if (WEFT_UNLIKELY(self->unsettled != 0))
            weft_settle(self, to->process);
        if (weft_way_is_mapped(to))
            weft_mapped_notify(self, to->way, to, (uint32_t)tag, relaxed, false);
        else
            weft_channel_notify(self, to, (uint32_t)tag, relaxed);
    }
    weft_turn(self);
}

/* Tells a process that this one has come to a barrier. fenced: what it stands for is released. The
 * leader. */
WEFT_INLINE void weft_path_tell(weft_self *self, int process, uint32_t word, bool fenced)
{
    struct weft_exposed *exposed = self->state->process_table[process].exposed;

    if (exposed != NULL) {
        if (WEFT_UNLIKELY(self->unsettled != 0))
            weft_settle(self, process);
        weft_peer_tell(exposed, word, fenced);
    } else {
        if (weft_has_queues(self))
            weft_queue_settle(self, process);
        weft_proxy_count(self, process, WEFT_COMMAND_BARRIER, WEFT_COMM_NONE, process, 0, word);
    }
}

/* ---- puts ----------------------------------------------------------------------------------- */

/*
 * Puts straight into the target's memory, and notifies if tag >= 0. rest: all but the way of the
 * route. channel: the route has one, for the notification. All threads, which have met.
 */
WEFT_HOT void weft_path_put_mapped(weft_self *self, const struct weft_route *to,
                                   const struct weft_route *rest, size_t offset, const void *source,
                                   const struct weft_shape *shape, int tag, const bool channel)
{
    /* Of a put of no bytes the address may be NULL. */
    unsigned char *const there = (unsigned char *)((uintptr_t)rest->address + offset);
    const bool alone = weft_copy_direct(self, there, source, shape);

    if (tag >= 0 && !alone)
        weft_block_sync(self); /* the release below covers what every thread copied */
#ifdef __CUDACC__
    /* Two spellings of one question, after the compiler: bench/bandwidth.cu takes 12 registers more
     * with the second, the stencil spills 400 bytes more with the first. */
    if (WEFT_COPY_LARGE && !WEFT_WARPS ? threadIdx.x != 0 : !weft_leads(self))
        return;
#endif
    if (tag < 0)
        weft_count_shown(rest->exposed);
    else if (channel)
        weft_channel_notify(self, rest, (uint32_t)tag, false);
    else
        weft_mapped_notify(self, to->way, rest, (uint32_t)tag, false,
                           shape->height == 1 && shape->width <= self->eager_bytes &&
                               self->eager_bytes != 0);
    weft_turn(self);
}

/*
 * Puts to a rank or the host program of this process, where the two have no counter in common: by
 * the queue; or this rank moves the data, and the notification comes behind them. All threads.
 */
WEFT_COLD void weft_path_put_apart(weft_self *self, weft_win win, struct weft_route to, int target,
                                   size_t offset, const void *source, struct weft_shape shape,
                                   int tag)
{
    const struct weft_shape nothing = {.height = 1};
    const bool queued = weft_has_queues(self) && to.way == WEFT_WAY_QUEUE;

    weft_join(self);
    if (queued && weft_queue_put(self, win, to, target, offset, source, shape, tag))
        return;
    weft_path_meet(self, to.process);
    weft_copy_direct(self, to.address + offset, source, &shape);
    weft_join(self);
    if (!weft_leads(self))
        return;
    if (tag < 0)
        weft_count_nudge(self->state->exposed);
    else if (queued)
        weft_queue_notify(self, to.process, to.slot, (uint32_t)tag);
    else
        weft_proxy_put(self, win, to, target, offset, NULL, nothing, tag);
    weft_turn(self);
}

/* Makes a put that has been checked, by its way. All threads. */
WEFT_INLINE void weft_path_put(weft_self *self, weft_win win, const struct weft_route *to,
                               int target, size_t offset, const void *source,
                               const struct weft_shape *shape, int tag)
{
    const bool eager = tag >= 0 && shape->height == 1 && shape->width < to->eager;

    if (to->exposed == NULL && to->process == self->process) {
        weft_far(self, weft_path_put_apart)(self, win, *to, target, offset, source, *shape, tag);
        return;
    }
    if (to->exposed == NULL || (to->address == NULL && shape->width != 0)) {
        weft_join(self);
        if (WEFT_UNLIKELY(weft_has_queues(self)) &&
            weft_queue_put(self, win, *to, target, offset, source, *shape, tag))
            return;
        const struct weft_crew crew = weft_crew_first_warp(self);
        if (crew.lane >= crew.lanes)
            return;
        /* A GPU's rank stores itself what does not fit into a command, for a process on a CPU. */
        if (to->exposed == NULL && to->address != NULL &&
            (shape->height > 1 || (shape->width > 8 && shape->width > self->inline_bytes)))
            weft_far(self, weft_proxy_store)(self, win, to->process, target, to->address + offset,
                                             source, *shape, tag);
        else
            weft_far(self, weft_proxy_put)(self, win, *to, target, offset, source, *shape, tag);
        return;
    }
    if (!eager && weft_leads(self))
        weft_channel_clear(self, to, to->home + offset, weft_shape_span(shape, shape->pitch));
    /* All threads: what they wrote to the source is there, and nobody copies too early. */
    weft_path_meet(self, to->process);
    if (eager) {
        weft_channel_put(self, to, offset, source, shape->width, tag);
        return;
    }
    weft_path_put_mapped(self, to, to, offset, source, shape, tag, !weft_way_is_mapped(to));
    if (to->way == WEFT_WAY_HERE)
        weft_here_show(self, win, (unsigned char *)((uintptr_t)to->address + offset),
                       weft_shape_span(shape, shape->pitch));
}

#endif
