/*
 * net/verbs/wire.h - what processes tell each other over RDMA, as bytes: the address, the control
 * datagrams that make connections, and the head of a put that travels as a message. All of it is
 * hostile until one of the parsers here has said that it is whole; they touch nothing but their
 * arguments, so that a fuzzer can call them.
 */
#ifndef WEFT_NET_VERBS_WIRE_H
#define WEFT_NET_VERBS_WIRE_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WEFT_VERBS_MAGIC = 0x77766272, WEFT_VERBS_QPN_MOST = 0xffffff };

enum weft_verbs_transport { WEFT_VERBS_RC = 1, WEFT_VERBS_DC = 2 };

/* What every process says of itself at the start. Travels over the job's control channel. */
struct weft_verbs_address {
    uint32_t magic;
    uint32_t buffer;   /* bytes of a receive: the most that a message may have, with its head */
    uint32_t receives; /* of the shared receive queue */
    uint32_t control;  /* number of the datagram queue pair */
    uint64_t token;    /* every datagram to this process carries it: strangers do not know it */
    uint64_t words;    /* where acknowledgements go, */
    uint32_t words_key;
    uint32_t sequence;        /* the first of all counts: for tests of their wrap */
    uint32_t dct_data;        /* DC: the target of puts, */
    uint32_t dct_control;     /* and of acknowledgements */
    uint16_t lid;             /* 0 on Ethernet */
    uint8_t transport;        /* weft_verbs_transport */
    uint8_t mtu;              /* enum ibv_mtu */
    uint8_t ethernet;         /* 0 or 1; both ends must be alike */
    uint8_t words_atomically; /* 1: its device writes aligned words undivided */
    uint8_t unused[2];
    unsigned char gid[16];
};
static_assert(sizeof(struct weft_verbs_address) == 72, "the same on both sides, no padding");

/*
 * An acknowledgement: how many receives of the other's puts have taken effect. The complement tells
 * a whole word from one that is being written: a device that is software may write it byte by byte,
 * but in one direction, so that a mixture of two words does not agree with itself.
 */
static inline uint64_t weft_verbs_ack(uint32_t count)
{
    return (uint64_t)~count << 32 | count;
}
static inline bool weft_verbs_ack_whole(uint64_t word)
{
    return (uint32_t)(word >> 32) == ~(uint32_t)word;
}

/* Control datagrams. */
enum weft_verbs_control_kind {
    WEFT_VERBS_REQUEST = 1, /* make a queue pair for this one of mine; said again until answered */
    WEFT_VERBS_REPLY,       /* made; this is it */
    WEFT_VERBS_REFUSED      /* your device refused this put of mine */
};

struct weft_verbs_control {
    uint32_t kind;
    uint32_t process; /* who says so */
    uint64_t token;   /* of the process that it is said to */
    uint32_t qpn;     /* the sender's queue pair */
    uint32_t to_qpn;  /* reply: the requester's, as the request had it */
    uint32_t psn;     /* the sender's first packet */
    uint32_t unused;
    uint64_t key, offset, bytes; /* refused: what was put */
};
static_assert(sizeof(struct weft_verbs_control) == 56, "the same on both sides, no padding");

/* The head of a put that travels as a message: its data follows. */
enum weft_verbs_message_kind {
    WEFT_VERBS_PUT = 1,
    WEFT_VERBS_MARKER /* DC: all notices up to `sequence` are before it */
};

struct weft_verbs_message {
    uint32_t kind;
    uint32_t process; /* who sends it */
    uint32_t bytes;   /* of data behind this head */
    uint32_t notice;  /* 0: none */
    uint64_t key, offset;
    uint32_t sequence; /* marker: receives that the sender has told of */
    uint32_t unused;
};
static_assert(sizeof(struct weft_verbs_message) == 40, "the same on both sides, no padding");

/* Each: a text that says what is wrong with the bytes, or NULL and *out is good to use. */
const char *weft_verbs_parse_address(const void *bytes, size_t count,
                                     struct weft_verbs_address *out);
const char *weft_verbs_parse_control(const void *bytes, size_t count, uint32_t processes,
                                     uint64_t token, struct weft_verbs_control *out);
const char *weft_verbs_parse_message(const void *bytes, size_t count, uint32_t processes,
                                     struct weft_verbs_message *out);

#endif
