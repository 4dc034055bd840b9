/* net/verbs/put.h - the send side: puts become requests. Progress thread only. */
#ifndef WEFT_NET_VERBS_PUT_H
#define WEFT_NET_VERBS_PUT_H

#include "net/verbs/state.h"

/* net.h: put, and progress of the send side. */
weft_status weft_verbs_put(struct weft_net *net, const struct weft_net_put *put);
weft_status weft_verbs_progress_send(struct weft_net *net, bool *did);

/* Frees a sender, and whatever its puts still hold. */
void weft_verbs_sender_close(struct weft_net *net, struct weft_verbs_sender *sender);

#endif
