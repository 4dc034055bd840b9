/*
 * net/peer/inside.h - the state of the peer layer, and what its files offer each other.
 *
 * Who touches what. The send lock covers what is marked "send": the progress task takes it to put
 * and to report, the receive task to acknowledge, and to send at all where one thread makes all
 * calls of the transport. "Receive" is the receive task's own. What goes from one to the other is a
 * word with a label.
 */
#ifndef WEFT_NET_PEER_INSIDE_H
#define WEFT_NET_PEER_INSIDE_H

#include "net/peer/packet.h"
#include "net/transport.h"
#include "order/atomic.h"

#include <string.h>

enum {
    WEFT_PEER_WINDOW = 64,     /* packets to a process that are not acknowledged; a power of two */
    WEFT_PEER_EVENTS = 64,     /* events taken at once */
    WEFT_PEER_DELIVERED = 256, /* packets not concluded; a power of two >= EVENTS + WINDOW */
    WEFT_PEER_BATCHES = 8,     /* batches that wait for the device: a mark for each takes time */
    WEFT_PEER_ACK_EVERY = 32,  /* packets after which an acknowledgement goes */
    WEFT_PEER_ACK_NS = 500000, /* ns until an acknowledgement goes, at most */
    WEFT_PEER_WAITING = 16     /* puts accepted for the receive task to send */
};

/* How long a put's source is needed. COPIED, READ: no longer. STAGED: until delivery. WRITTEN:
 * until the transport has read it, for a write or for packets. */
enum weft_peer_source {
    WEFT_SOURCE_COPIED,
    WEFT_SOURCE_STAGED,
    WEFT_SOURCE_WRITTEN,
    WEFT_SOURCE_READ
};

/* A put, from its acceptance until it is delivered. */
struct weft_peer_put {
    struct weft_net_put put;
    uint32_t last;     /* number of the packet or write with its last byte */
    uint32_t gathered; /* packets that are not SENT, and whose data is read from its source */
    bool written;      /* it went by a write, and not by packets */
    enum weft_peer_source source;
};

/* Puts to a process: a ring that grows. Delivered < sent < packed < accepted. */
struct weft_peer_puts {
    struct weft_peer_put *ring;
    uint32_t capacity; /* a power of two */
    uint32_t delivered, sent, packed, accepted;
};

/* A packet, or what a write says, that came before its turn. */
struct weft_peer_early {
    bool used, written;         /* there is one; it is a write, else a packet */
    const unsigned char *bytes; /* of a packet */
    size_t length;
    uint64_t handle; /* of a write: its notice */
};

/* What others need to find a process; behind it is the transport's own address. */
struct weft_peer_address {
    uint64_t token;              /* packet.h */
    uint32_t packet;             /* bytes of the longest packet that it takes */
    char alike[WEFT_PEER_ALIKE]; /* caps.alike */
};
static_assert(sizeof(struct weft_peer_address) == WEFT_PEER_ADDRESS, "no padding");

struct weft_peer {
    uint64_t token;  /* the peer's */
    uint32_t packet; /* bytes of the longest packet that is built for it */
    uint32_t takes;  /* bytes of the longest packet that it takes */

    /* send */
    uint32_t held;   /* how many of caps.buffers it has */
    uint32_t writes; /* how many of caps.write_count it has */
    struct weft_peer_puts puts;
    size_t done;           /* bytes of the next put that are packed */
    struct {               /* a packet that is being built */
        unsigned char *at; /* NULL: none */
        size_t room, used;
        uint32_t entries;
        const void *data;  /* what its last entry gathers */
        size_t data_bytes; /* 0: nothing */
        bool sealed;       /* it is whole, and the transport had no room for it */
    } open;
    uint32_t number;      /* number of the next packet */
    uint32_t acked;       /* number behind the last packet that is acknowledged */
    uint32_t on_way;      /* packets whose SENT, writes whose READ has not come */
    bool asks;            /* the next packet asks for an acknowledgement */
    uint32_t asked_at;    /* the number after the packet that asked last */
    bool busy;            /* it is in net->busy */
    uint64_t lost_at;     /* when the connection broke; 0: it has not */
    char lost_why[80];    /* the transport's words for it */
    uint32_t stuck_at;    /* `acked` at the last look */
    uint64_t stuck_since; /* since when `acked` has not changed; 0: nothing is under way */

    /* receive */
    uint32_t expected;             /* the next packet's number */
    struct weft_peer_early *early; /* NULL, or WEFT_PEER_WINDOW of them, by number */
    bool asked;                    /* the peer waits for an acknowledgement */
    uint64_t owed_since;           /* since when an acknowledgement is owed; 0: none is */
    uint32_t behind_at;    /* `delivered` when the peer last said how many packets it has sent */
    uint64_t behind_since; /* since when packets are missing at `behind_at`; 0: none are */

    /* from receive to send: labels ring_credit and ring_space */
    uint32_t delivered;    /* number behind the last of the peer's packets that is delivered */
    uint32_t acknowledged; /* number behind the last packet that the peer has acknowledged */
    /* from send to receive, for checks alone */
    uint32_t made;     /* copy of `number` */
    uint32_t last_ack; /* `delivered` as the peer was last told */
};

/* Memory that others may put into. A key is its place in the list and its generation. */
struct weft_peer_region {
    unsigned char *base;
    size_t bytes;
    uint32_t generation; /* 31 bits: keys of memory that is gone are recognised */
    bool used, own;      /* own: the host stores there itself */
    void *mr;            /* the transport's registration of it; NULL: none */
    uint64_t place[2];   /* what the others need to write there */
};

/* Packets and writes, so many in all, whose data is on its way to a device. */
struct weft_peer_batch {
    uint64_t mark;
    uint32_t count;
};

struct weft_net {
    struct weft_net_open open;
    const struct weft_transport_ops *ops;
    struct weft_transport *transport;
    struct weft_transport_caps caps;
    uint64_t token;
    bool later; /* a device fetches what arrives */
    struct weft_peer *peers;
    struct {
        struct weft_lock lock;
        struct weft_peer_region *list;
        uint32_t count;
        uint32_t found; /* index of the region last found by its place */
    } regions;

    struct weft_lock send;
    uint32_t *idle; /* buffers of the transport that no peer has */
    uint32_t idle_count;
    uint64_t *gathers; /* by buffer: 2^32 and the index of the put that its packet gathers; or 0 */
    uint32_t writes;   /* writes under way, to all processes */
    int *busy;         /* processes with puts that are not delivered */
    uint32_t busy_count;
    uint32_t turn;   /* index in `busy` at which the last round began */
    uint32_t on_way; /* sum of all peers' on_way */
    uint64_t puts, packets;
    uint32_t lost;        /* processes to which the connection broke */
    uint32_t idle_rounds; /* rounds in which the send side did not sleep (lost.c) */

    /* receive */
    struct {
        uint64_t handle;
        int process;
        bool written;             /* a write: there is no packet to release */
    } taken[WEFT_PEER_DELIVERED]; /* delivered, not concluded: a ring */
    uint32_t taken_count, concluded;
    struct {
        struct weft_peer_batch of[WEFT_PEER_BATCHES]; /* a FIFO */
        uint32_t first, waiting;
    } batches;
    bool unmarked;  /* something was delivered since the last mark */
    uint32_t owing; /* processes to which an acknowledgement is owed */
    bool warned;    /* the log has told of a packet of another job */
    struct weft_entry entries[WEFT_PACKET_ENTRIES];
};

/* ---- send.c: who has the send lock ----------------------------------------------------------- */

/* Whether both tasks send: only then is there anything to lock. */
static inline bool weft_peer_shares(const struct weft_net *net)
{
    return !net->caps.acknowledges || net->caps.one_thread;
}
static inline void weft_peer_lock(struct weft_net *net)
{
    if (weft_peer_shares(net))
        weft_lock(&net->send);
}
static inline void weft_peer_unlock(struct weft_net *net)
{
    if (weft_peer_shares(net))
        weft_unlock(&net->send);
}

/* Whether a process has all the packets and writes that may be under way. */
static inline bool weft_peer_is_full(const struct weft_net *net, const struct weft_peer *peer)
{
    return !net->caps.acknowledges && peer->number - peer->acked >= WEFT_PEER_WINDOW;
}

/* Has the next packet ask for an acknowledgement, once for what is under way now. */
static inline void weft_peer_ask(struct weft_peer *peer)
{
    peer->asks |= peer->asked_at != peer->number;
}

/* Takes what the transport says of sending (events.c). */
weft_status weft_peer_take_events(struct weft_net *net, bool *did);
/* Takes what the transport says of sending, and sends what can be sent now. */
weft_status weft_peer_drive(struct weft_net *net, bool *did);
/* Sends a packet at once, with all that every head says; an empty one if none is being built.
 * *went: it was made. */
weft_status weft_peer_send_head(struct weft_net *net, int process, bool *went);
weft_status weft_peer_progress_send(struct weft_net *net, bool *did);

/* ---- append.c: who has the send lock --------------------------------------------------------- */

/* Stores to a packet, whose memory is others' where it is built where they read it. */
static inline void weft_peer_store(const struct weft_net *net, unsigned char *to, const void *from,
                                   size_t bytes)
{
    if (net->caps.shared)
        weft_write_shared(to, from, bytes);
    else
        memcpy(to, from, bytes);
}

/* Adds the next part of a put, of which `done` bytes of `all` are packed, as an entry of the open
 * packet. Returns how many bytes it took; *full: none fits. */
size_t weft_peer_append(const struct weft_net *net, struct weft_peer *peer,
                        const struct weft_net_put *put, size_t done, size_t all, bool staged,
                        bool *full);
/* Has the transport gather the next part of a put where it lies, as the last entry of the open
 * packet. Returns how many bytes; 0: none, it is to be copied. */
size_t weft_peer_gather(const struct weft_net *net, struct weft_peer *peer,
                        const struct weft_net_put *put, size_t done);

/* ---- write.c: who has the send lock ---------------------------------------------------------- */

enum weft_peer_way { WEFT_WAY_PACKED, WEFT_WAY_WRITTEN, WEFT_WAY_WAITS };

/* Writes the next put, if that is better than to pack it, and possible. *way: what became of it. */
weft_status weft_peer_write(struct weft_net *net, int process, struct weft_peer_put *next,
                            enum weft_peer_way *way);
/* Whether a put from device memory can be written at all; any other cannot be taken. */
bool weft_peer_reads(struct weft_net *net, const struct weft_net_put *put);
/* Whether the immediates of writes bring the notices, too. */
bool weft_peer_brings_notice(const struct weft_net *net);
/* Returns the number of a write by its immediate, where `expected` is next; *notice: its notice. */
uint32_t weft_peer_number_of(const struct weft_net *net, uint64_t immediate, uint32_t expected,
                             uint32_t *notice);

/* ---- deliver.c: the receive task, but for weft_peer_find ------------------------------------- */

/* Finds the key's region, if so many bytes from offset on lie in it; else NULL. The caller holds
 * the lock of regions. */
struct weft_peer_region *weft_peer_find(struct weft_net *net, uint64_t key, uint64_t offset,
                                        size_t bytes);
/*
 * Delivers data, then its notice; either may be missing (bytes 0, notice 0). The data has to stay
 * until it is concluded. Errors: PROTOCOL: key or bounds are wrong, and nothing was written, or the
 * notice is; DEVICE.
 */
weft_status weft_peer_deliver(struct weft_net *net, int process, uint64_t key, uint64_t offset,
                              const void *data, size_t bytes, uint32_t notice);
/* Delivers a packet, whose entries are in net->entries. If that fails it is not taken: its sender
 * must not believe that it was delivered. */
weft_status weft_peer_deliver_packet(struct weft_net *net, const struct weft_packet *packet,
                                     uint64_t handle);
/* Takes a write, whose data is there, as delivered, and its notice. */
weft_status weft_peer_deliver_written(struct weft_net *net, int process, uint32_t notice);

/* Ends a batch, which is concluded at once if nothing is on its way to a device. */
weft_status weft_peer_batch_end(struct weft_net *net);
/* Concludes batches whose data is there. *did is set while any wait, since nothing rings then. */
weft_status weft_peer_settle(struct weft_net *net, bool *did);

/* ---- receive.c: the receive task ------------------------------------------------------------- */

weft_status weft_peer_progress_receive(struct weft_net *net, bool *did);
/* Notes that an acknowledgement is owed to the process. */
void weft_peer_owe(struct weft_net *net, struct weft_peer *peer);
weft_status weft_peer_malformed(const struct weft_net *net, int process, const char *wrong);

/* ---- lost.c ---------------------------------------------------------------------------------- */

/* _ring wakes who sleeps on a side's bell, if there is one; _sleeps: whether its thread sleeps. */
void weft_peer_ring(const struct weft_net *net, enum weft_net_side side);
bool weft_peer_sleeps(const struct weft_net *net, enum weft_net_side side);

/* Notes that the connection to a process broke. The caller holds the send lock. */
void weft_peer_lose(struct weft_net *net, int process, const char *why);
/* Says now and then how many packets were sent, if none is acknowledged. The caller holds the send
 * lock. PEER_LOST: a connection broke too long ago. */
weft_status weft_peer_ask_again(struct weft_net *net);
/* The receive task has heard that a process has sent `packets` of them. PEER_LOST: one is missing
 * for too long. */
weft_status weft_peer_check_missing(struct weft_net *net, int process, uint32_t packets);

#endif
