/*
 * net/verbs/queue.h - a send queue: requests are gathered in a batch, and one doorbell rings for
 * all of it. Send side's thread only.
 */
#ifndef WEFT_NET_VERBS_QUEUE_H
#define WEFT_NET_VERBS_QUEUE_H

#include "net/verbs/state.h"

/* A queue for a queue pair, which it owns from then on. Errors: MEMORY (the pair stays yours). */
weft_status weft_verbs_queue_open(struct weft_net *net, uint32_t index, struct ibv_qp *qp,
                                  struct weft_verbs_queue **queue);
void weft_verbs_queue_close(struct weft_verbs_queue *queue);

/*
 * The batch is for this process from now on; what was gathered for another goes out first. False:
 * it cannot yet. (RC: a queue's process never changes.)
 */
bool weft_verbs_queue_turn(struct weft_net *net, struct weft_verbs_queue *queue, int process);

/*
 * The next request of the batch, to be filled; it counts from now on. NULL: the batch is full
 * (ring), or the queue is (wait for completions).
 */
struct weft_verbs_request *weft_verbs_queue_next(struct weft_net *net,
                                                 struct weft_verbs_queue *queue);

/*
 * Rings the doorbell for the batch; while the completion queue might be overrun, the batch stays
 * (call again). Errors: NETWORK.
 */
weft_status weft_verbs_queue_ring(struct weft_net *net, struct weft_verbs_queue *queue);

/*
 * A completion: requests up to its own are complete. Errors: NETWORK (it is for nothing that is
 * under way: a fault of the device).
 */
weft_status weft_verbs_queue_complete(struct weft_net *net, uint64_t id);

/* Whether request number `sequence` is complete. */
static inline bool weft_verbs_reached(uint32_t count, uint32_t sequence)
{
    return (int32_t)(count - sequence) >= 0;
}

#endif
