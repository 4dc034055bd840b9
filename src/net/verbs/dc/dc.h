/*
 * net/verbs/dc/dc.h - dynamically connected transport, of NVIDIA's mlx5 devices: a process has one
 * target for the puts of all others, one for acknowledgements, a pool of initiators for its own
 * puts, and one more for its acknowledgements. What it holds is the same however large the job is.
 */
#ifndef WEFT_NET_VERBS_DC_DC_H
#define WEFT_NET_VERBS_DC_DC_H

#include "net/verbs/state.h"

/* Why the device has no DC; NULL: it has. */
const char *weft_verbs_dc_missing(const struct weft_verbs_device *device);

/* Makes all of it, net->queues and net->dc; puts the targets' numbers into net->address. */
weft_status weft_verbs_dc_open(struct weft_net *net);

/* In net->dc_ops, for who finds net->dc. */
struct weft_verbs_dc_ops {
    void (*close)(struct weft_net *net);
    /* Send side: gives the sender the queue of its next put. */
    void (*choose)(struct weft_net *net, int process);
    /* Send side: posts the queue's batch; an errno. */
    int (*post)(struct weft_net *net, struct weft_verbs_queue *queue);
    /* Receive side: the peer has a responder from now on; posts an acknowledgement; an errno. */
    weft_status (*responder)(struct weft_net *net, int process);
    int (*ack)(struct weft_net *net, int process, const struct ibv_send_wr *wr);
};

#endif
