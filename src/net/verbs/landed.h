/*
 * net/verbs/landed.h - completions and acknowledgements become `sent` and `landed`. Progress thread
 * only.
 */
#ifndef WEFT_NET_VERBS_LANDED_H
#define WEFT_NET_VERBS_LANDED_H

#include "net/verbs/state.h"

/*
 * Takes completions. Errors: PEER_LOST (a process does not answer), PROTOCOL (it refused a put),
 * NETWORK.
 */
weft_status weft_verbs_poll_completions(struct weft_net *net, bool *did);

/* Takes what the target has told of: its device writes it into our memory. Errors: PROTOCOL. */
weft_status weft_verbs_read_ack(struct weft_net *net, int process,
                                struct weft_verbs_sender *sender);

/* Reports what is sent and what has landed. */
void weft_verbs_report(struct weft_net *net, struct weft_verbs_sender *sender, bool *did);

#endif
