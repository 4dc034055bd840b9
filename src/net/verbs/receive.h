/*
 * net/verbs/receive.h - the receive side: notices and messages, receives to replace those consumed,
 * acknowledgements. Receive thread only, open and close apart.
 */
#ifndef WEFT_NET_VERBS_RECEIVE_H
#define WEFT_NET_VERBS_RECEIVE_H

#include "net/verbs/state.h"

/* Makes the shared receive queue and fills it. */
weft_status weft_verbs_receive_open(struct weft_net *net);
void weft_verbs_receive_close(struct weft_net *net);

/* A batch has taken effect: acknowledgements are owed, its receives can be posted again. */
weft_status weft_verbs_conclude(struct weft_net *net, uint64_t batch);
/* net.h: progress of the receive side. */
weft_status weft_verbs_progress_receive(struct weft_net *net, bool *did);

/* ack.c: `count` receives of the process's puts have taken effect: it is owed to say so; */
void weft_verbs_owe(struct weft_net *net, int process, uint32_t count);
/* what is owed goes out, as far as there is room; what has gone out is looked after. */
void weft_verbs_send_acks(struct weft_net *net, bool *did);
void weft_verbs_poll_acks(struct weft_net *net);

/* port.c: the device's events; and whether its port has been down for too long: PEER_LOST. */
void weft_verbs_look_around(struct weft_net *net);
weft_status weft_verbs_look_at_port(const struct weft_net *net);

#endif
