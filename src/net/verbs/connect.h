/*
 * net/verbs/connect.h - reliable connections, made when the first put to a process is issued, and
 * the datagrams that make them. Receive thread only, open and close apart.
 *
 * Every process has one datagram queue pair; its number is in the address that all exchange at the
 * start. Nothing else is needed then: no listening socket, no second network whose interface would
 * have to be chosen, and what a job holds grows only with the pairs that really talk. A request is
 * said again until it is answered, and answering twice does no harm.
 */
#ifndef WEFT_NET_VERBS_CONNECT_H
#define WEFT_NET_VERBS_CONNECT_H

#include "net/verbs/state.h"

weft_status weft_verbs_connect_open(struct weft_net *net);
void weft_verbs_connect_close(struct weft_net *net);

/* Number of the datagram queue pair. Its receives go to _datagram; a request of its own that has
 * completed has this number, and goes to _sent. */
#define WEFT_VERBS_DATAGRAM UINT64_MAX
uint32_t weft_verbs_datagram_qpn(const struct weft_net *net);
weft_status weft_verbs_datagram(struct weft_net *net, const struct ibv_wc *wc);
void weft_verbs_datagram_sent(struct weft_net *net);

/*
 * Begins what the send side asked for, says again what was not answered, tells of refused puts.
 * Errors: PEER_LOST (no answer within WEFT_CONNECT_S), NETWORK.
 */
weft_status weft_verbs_connect_progress(struct weft_net *net, bool *did);

/* Which process a queue pair that receives is for; -1: none. */
int weft_verbs_process_of(const struct weft_net *net, uint32_t qpn);

#endif
