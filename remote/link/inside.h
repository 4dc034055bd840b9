/* remote/link/inside.h - what opening and using a link share. */
#ifndef WEFT_REMOTE_LINK_INSIDE_H
#define WEFT_REMOTE_LINK_INSIDE_H

#include "remote/link/links.h"

/* An inbox has one part a peer: a ring, and a word in which the peer tells how far it is. */
enum { LINK_WORD = WEFT_RING_BYTES, LINK_PART = WEFT_RING_BYTES + 4096 };

/* The program and each session have rings; sessions have none between them. */
static inline bool link_has_ring(const struct weft_record_links *links, int peer)
{
    return (links->process == 0) != (peer == 0);
}

/* What the network's events and notices do. */
void link_sent(void *context, void *cookie);
void link_delivered(void *context, void *cookie);
weft_status link_records(void *context, const struct weft_net_delivery *delivery);
weft_status link_copy(void *context, const struct weft_net_delivery *delivery);

#endif
