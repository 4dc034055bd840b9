/*
 * rank/path/queue_post.h - a rank's end of its queues: posting, ringing, waiting. What goes
 * by them is rank/path/queue.h's. All of this is the leader's.
 */
#ifndef WEFT_RANK_PATH_QUEUE_POST_H
#define WEFT_RANK_PATH_QUEUE_POST_H

#include "gda/shared.h"
#include "rank/path/proxy.h"

enum { WEFT_QUEUE_BATCH = 32 }; /* slots that a batch leaves without a doorbell, at most */

/*
 * Offsets in the sink, which all queues of the rank share: first what a call waits for; then, where
 * nobody looks, old values that nobody wants, and what a flush reads.
 */
enum { WEFT_SINK_WANTED = 48, WEFT_SINK_OLD = WEFT_SINK_WANTED, WEFT_SINK_LAST = 56 };

/* ---- ringing and waiting --------------------------------------------------------------------- */

/* Rings for a NIC that is a task of the host. */
WEFT_INLINE void weft_queue_bell(const weft_self *self)
{
#ifdef __CUDACC__
    (void)self;
#else
    weft_bell_ring(self->state->command_bell);
#endif
}

WEFT_COLD void weft_queue_ring(weft_self *self, struct weft_gda_queue *queue)
{
    if (queue->rung == queue->posted)
        return;
    if (queue->shared != NULL)
        weft_gda_shared_ring(queue);
    else
        weft_gda_tell_nic(queue, queue->posted);
    queue->rung = queue->posted;
    self->unrung--;
    weft_queue_bell(self);
}

WEFT_COLD void weft_queue_ring_all(weft_self *self)
{
    for (int p = 0; self->unrung != 0 && p < self->state->processes; p++)
        weft_queue_ring(self, &self->queues[p]);
}

/* Notes what has completed. An error ends the rank. */
WEFT_COLD void weft_queue_poll(weft_self *self, struct weft_gda_queue *queue, int process)
{
    if (queue->shared != NULL ? weft_gda_shared_poll(queue) : weft_gda_poll(queue))
        return;
    weft_fail4(self, weft_gda_status(queue->syndrome),
               "queue %d to process %d: the request at index %d failed with syndrome 0x%x",
               (int64_t)queue->qpn, process, (int64_t)queue->failed, (int64_t)queue->syndrome);
}

/* Waits for a round. False: the rank is about to end. */
WEFT_INLINE bool weft_queue_wait(weft_self *self, const struct weft_gda_queue *queue, int process,
                                 uint32_t *rounds, uint32_t slots)
{
    return weft_wait_round(self, rounds, WEFT_WAIT_QUEUE, (uint64_t)process,
                           queue->posted - queue->done, slots);
}

/* ---- posting --------------------------------------------------------------------------------- */

/* Notes that what was written into the next slots is posted. wanted: its completion says that all
 * before it is visible. */
WEFT_INLINE void weft_queue_wrote(weft_self *self, struct weft_gda_queue *queue, uint32_t slots,
                                  bool wanted)
{
    self->unrung += queue->rung == queue->posted;
    self->unsettled += queue->dirty == 0;
    queue->dirty = 1;
    weft_gda_wrote(queue, slots, wanted);
}

/*
 * Makes a READ behind all that was posted, which says by its completion that all is visible. Writes
 * have no completion of their own, which would say only that the NIC has them.
 */
WEFT_INLINE void weft_queue_last(const struct weft_gda_queue *queue, struct weft_wqe *wqe)
{
    const struct weft_gda_remote from = {queue->counts, queue->counts_rkey};
    const struct weft_gda_local to = {
        .address = queue->sink + WEFT_SINK_LAST, .bytes = 8, .lkey = queue->sink_lkey};

    weft_wqe_move(wqe, WEFT_MLX5_READ, queue->posted, queue->qpn, from, to, true);
}

/* Has all that was posted to a queue of this rank alone complete. One slot is left for it. */
WEFT_INLINE void weft_queue_ask_own(weft_self *self, struct weft_gda_queue *queue)
{
    struct weft_wqe wqe;

    if (queue->asked == queue->posted)
        return;
    weft_queue_last(queue, &wqe);
    weft_gda_write(queue, &wqe);
    weft_queue_wrote(self, queue, wqe.slots, true);
}

/* Has slots become free. */
WEFT_COLD void weft_queue_press(weft_self *self, struct weft_gda_queue *queue)
{
    if (queue->shared == NULL) {
        weft_queue_ask_own(self, queue);
        weft_queue_ring(self, queue);
    } else if (!weft_gda_is_told(queue)) {
        weft_gda_shared_ring(queue);
        weft_queue_bell(self);
    }
}

WEFT_INLINE bool weft_queue_has_room(const struct weft_gda_queue *queue, uint32_t slots)
{
    return queue->shared != NULL ? weft_gda_is_free(queue, slots) : weft_gda_has_room(queue, slots);
}

/*
 * Posts a request, in slots that it waits for, and gives it its number. wanted: as in
 * weft_queue_wrote; in a shared queue it may get a completion all the same. False: the rank is
 * about to end. (One function: where calls are within calls, each kernel pays for all of them with
 * registers.)
 */
WEFT_COLD bool weft_queue_post(weft_self *self, int process, struct weft_wqe *wqe, bool wanted)
{
    struct weft_gda_queue *const queue = &self->queues[process];
    uint32_t rounds = 0;

    if (queue->shared != NULL)
        weft_gda_reserve(queue, wqe->slots);
    while (!weft_queue_has_room(queue, wqe->slots)) {
        weft_queue_press(self, queue);
        weft_queue_poll(self, queue, process);
        if (!weft_queue_has_room(queue, wqe->slots) &&
            !weft_queue_wait(self, queue, process, &rounds, wqe->slots))
            return false;
    }
    weft_polled();
    weft_wqe_number(wqe, queue->posted,
                    wanted || (queue->shared != NULL && weft_gda_crosses(queue, wqe->slots)));
    weft_gda_write(queue, wqe);
    while (queue->shared != NULL && !weft_gda_is_turn(queue)) /* waiting rings what is posted */
        if (!weft_queue_wait(self, queue, process, &rounds, 0))
            return false;
    weft_wait_over(self, rounds);
    weft_queue_wrote(self, queue, wqe->slots, wanted);
    if (queue->shared != NULL)
        weft_gda_publish(queue);
    return true;
}

/* Has all that was posted to the process complete. */
WEFT_INLINE void weft_queue_ask(weft_self *self, int process)
{
    struct weft_gda_queue *const queue = &self->queues[process];
    struct weft_wqe wqe;

    if (queue->shared == NULL) {
        weft_queue_ask_own(self, queue);
    } else if (queue->asked != queue->posted) {
        weft_queue_last(queue, &wqe);
        weft_queue_post(self, process, &wqe, true);
    }
}

/* Waits until all requests before slot `number` are complete. */
WEFT_COLD void weft_queue_await(weft_self *self, int process, uint64_t number)
{
    struct weft_gda_queue *const queue = &self->queues[process];
    uint32_t rounds = 0;

    if ((int64_t)(queue->asked - number) < 0)
        weft_queue_ask(self, process);
    weft_queue_ring(self, queue);
    weft_trace_wait(self, WEFT_TRACE_DELIVERED, process, 0);
    while ((int64_t)(queue->done - number) < 0) {
        weft_queue_poll(self, queue, process);
        if ((int64_t)(queue->done - number) < 0 &&
            !weft_queue_wait(self, queue, process, &rounds, 0))
            break;
    }
    weft_polled();
    weft_wait_over(self, rounds);
    weft_trace_waited(self);
    if (queue->done == queue->posted && queue->dirty != 0) {
        queue->dirty = 0;
        self->unsettled--;
    }
    weft_channel_fence(self); /* as in weft_proxy_await */
}

/* Whether all requests before slot `number` are complete; has a completion made for them. */
WEFT_COLD bool weft_queue_is_done(weft_self *self, int process, uint64_t number)
{
    struct weft_gda_queue *const queue = &self->queues[process];

    if ((int64_t)(queue->asked - number) < 0)
        weft_queue_ask(self, process);
    weft_queue_ring(self, queue);
    if ((int64_t)(queue->done - number) < 0)
        weft_queue_poll(self, queue, process);
    weft_polled();
    return (int64_t)(queue->done - number) >= 0;
}

/* Waits before anything goes to the process another way, and for a flush. */
WEFT_COLD void weft_queue_settle(weft_self *self, int process)
{
    if (self->queues[process].dirty != 0)
        weft_queue_await(self, process, self->queues[process].posted);
}

/* Waits before anything goes to it by the queue: what went through the host is delivered. */
WEFT_COLD void weft_queue_enter(weft_self *self, int process)
{
    if (self->settled[process] != (uint32_t)self->sent_to[process] ||
        self->asked[process] != self->answered[process])
        weft_settle(self, process);
}

/* Ends a call that has posted all: the NIC is told, at once or with others of a batch. */
WEFT_INLINE void weft_queue_posted(weft_self *self, int process)
{
    struct weft_gda_queue *const queue = &self->queues[process];

    if (weft_gda_is_due(queue))
        weft_queue_ask(self, process);
    if (self->batches == 0 || queue->posted - queue->rung >= WEFT_QUEUE_BATCH)
        weft_queue_ring(self, queue);
    weft_turn(self);
}

#endif
