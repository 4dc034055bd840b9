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
    bool strangers;     /* strangers send, too, and no packet says where it came from */
    uint32_t immediate; /* bits that go with a write to a window; 0: there are no writes */
    bool silent;        /* writes bring no such bits */
    uint32_t drop;      /* number of the packet that is lost, of all; 0: none is */
    uint32_t packets;   /* packets so far */
    uint32_t broke_at;  /* packets after which connections are said to be broken; 0: never */
};

/* Properties of all ends that are opened from now on. */
extern struct faulty_net faulty_net;
extern const struct weft_transport_ops faulty_net_ops;

#endif
