/*
 * net/verbs/dc/dc.h - dynamically connected transport, of NVIDIA's mlx5 devices: a process has one
 * target for all others, and a fixed number of initiators. What it holds is the same however large
 * the job is. Requests to a destination always go through the same initiator, so their order is
 * kept. An initiator connects itself anew, which takes time, when its next request is for another
 * destination.
 */
#ifndef WEFT_NET_VERBS_DC_DC_H
#define WEFT_NET_VERBS_DC_DC_H

#include "net/verbs/state.h"

enum { WEFT_VERBS_INITIATORS = 10 };

/* Returns why the device has no DC; NULL: it has. */
const char *weft_verbs_dc_missing(const struct weft_verbs_device *device);

/* Makes all that DC needs, in t->dc and the peers' queues, and puts the target's number into
 * t->address. */
weft_status weft_verbs_dc_open(struct weft_transport *t);

/* In t->dc_ops, for who finds t->dc. */
struct weft_verbs_dc_ops {
    void (*close)(struct weft_transport *t);
    /* Posts a request to the peer; returns an errno. The caller has the send lock. */
    int (*post)(struct ibv_qp *initiator, const struct weft_verbs_peer *to,
                const struct ibv_send_wr *wr);
};

#endif
