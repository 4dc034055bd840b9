/*
 * support/faulty_net.h - a transport in one address space that does the worst that a transport may
 * (net/transport.h): packets are late, overtake each other and are of any size, room is refused,
 * SENT comes late, and strangers' bytes come in between. All is drawn from a seed.
 */
#ifndef WEFT_TESTS_FAULTY_NET_H
#define WEFT_TESTS_FAULTY_NET_H

#include "net/transport.h"

struct faulty_net {
    uint32_t seed;
    bool ordered, acknowledges, one_thread;
    bool strangers;     /* and no packet says where it came from */
    uint32_t immediate; /* bits that go with writes to windows; 0: it has no writes, */
    bool silent;        /* or they bring none */
    uint32_t drop;      /* the packet with that number, of all; 0: none is lost */
    uint32_t packets;   /* so far */
    uint32_t broke_at;  /* after so many, connections are said to be broken; 0: never */
};

/* What all ends opened from now on are. */
extern struct faulty_net faulty_net;
extern const struct weft_transport_ops faulty_net_ops;

#endif
