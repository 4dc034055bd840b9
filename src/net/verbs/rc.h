/* net/verbs/rc.h - queue pairs of reliable connections, and of datagrams. */
#ifndef WEFT_NET_VERBS_RC_H
#define WEFT_NET_VERBS_RC_H

#include "net/verbs/state.h"

enum {
    WEFT_VERBS_RNR_FOR_EVER = 7, /* a target that has no receive now is slow, not gone */
    WEFT_VERBS_RETRIES = 6,      /* one that does not answer is; soft-RoCE takes 7 for "for ever" */
    WEFT_VERBS_RNR_DELAY = 12    /* 0.64 ms until a target that had no receive is asked again */
};

/*
 * A queue pair in the state INIT; NULL, after an error line, if there is none. Requests complete in
 * `completions`; inline_most: of a request.
 */
struct ibv_qp *weft_verbs_rc_make(struct weft_net *net, struct ibv_cq *completions, uint32_t depth,
                                  uint32_t inline_most);

/* Joins it to its other end: ready to receive and to send. Errors: NETWORK. */
weft_status weft_verbs_rc_join(struct weft_net *net, struct ibv_qp *qp, int process, uint32_t psn,
                               uint32_t remote_qpn, uint32_t remote_psn);

/* Finds out how much data a request can carry itself, at most `wanted`. */
uint32_t weft_verbs_rc_inline(struct weft_net *net, uint32_t wanted);

#endif
