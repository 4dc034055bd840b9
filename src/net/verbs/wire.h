/*
 * net/verbs/wire.h - what processes tell each other over RDMA besides packets, as bytes: the
 * address, and the datagrams that make connections. All of it is hostile until one of the parsers
 * here has said that it is whole; they touch nothing but their arguments, so that a fuzzer can call
 * them.
 */
#ifndef WEFT_NET_VERBS_WIRE_H
#define WEFT_NET_VERBS_WIRE_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WEFT_VERBS_QPN_MOST = 0xffffff };

/* What every process says of itself at the start. Travels over the job's control channel. */
struct weft_verbs_address {
    uint64_t token;   /* every datagram to this process carries it: strangers do not know it */
    uint32_t control; /* number of the datagram queue pair */
    uint32_t target;  /* DC: of the target of requests; RC: 0 */
    unsigned char gid[16];
    uint16_t lid; /* 0 on Ethernet */
    uint8_t mtu;  /* enum ibv_mtu */
    uint8_t unused[5];
};
static_assert(sizeof(struct weft_verbs_address) == 40, "the same on both sides, no padding");

/* Control datagrams. */
enum weft_verbs_control_kind {
    WEFT_VERBS_REQUEST = 1, /* join yours to this queue pair of mine; said until answered */
    WEFT_VERBS_REPLY        /* this queue pair of mine is joined to yours */
};

struct weft_verbs_control {
    uint64_t token; /* the receiver's */
    uint32_t kind;
    uint32_t process; /* the sender */
    uint32_t qpn;     /* number of the sender's queue pair */
    uint32_t psn;     /* number of the sender's first packet */
};
static_assert(sizeof(struct weft_verbs_control) == 24, "the same on both sides, no padding");

/* Copies an address to *out. False: drivers may not expect what is in it. */
bool weft_verbs_parse_address(const void *bytes, struct weft_verbs_address *out);
/* Parses a datagram. Returns what is wrong with the bytes, or NULL: *out is good to use. */
const char *weft_verbs_parse_control(const void *bytes, size_t count, uint32_t processes,
                                     uint64_t token, struct weft_verbs_control *out);

#endif
