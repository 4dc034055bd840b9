/*
 * net/verbs/state.h - what one process keeps, which of its threads owns what, and what the files
 * offer each other.
 *
 * send      who has the peer layer's send lock: queues, their completions, slots
 * receive   the receive task: the shared receive queue, its completions, connecting
 *
 * What they hand over is a peer's `wanted` and `ready`, words that steer them: who stores one
 * releases what it has written, who loads it acquires that.
 */
#ifndef WEFT_NET_VERBS_STATE_H
#define WEFT_NET_VERBS_STATE_H

#include "net/transport.h"
#include "net/verbs/device.h"
#include "net/verbs/memory.h"

enum {
    WEFT_VERBS_POLL = 32, /* completions taken at once */
    WEFT_VERBS_TEXT = 160,
    WEFT_VERBS_PACKETS = 256,  /* packets under way, to all processes */
    WEFT_VERBS_WRITES = 256,   /* writes under way; each has a completion */
    WEFT_VERBS_DATAGRAMS = 32, /* datagrams under way */
    WEFT_VERBS_LONGEST = 8192  /* bytes of a packet, and of a receive */
};

/* A send queue: RC: of the connection to a process; DC: one of the pool's initiators. Send. */
struct weft_verbs_queue {
    struct ibv_qp *qp;
    uint32_t under_way; /* requests */
};

struct weft_verbs_peer {
    struct weft_verbs_address address;
    uint32_t wanted; /* the send side wants to send there */
    uint32_t ready;  /* the send side can send there: `own.qp` or `way` is set */

    /* send */
    struct weft_verbs_queue own;    /* RC: its queue, which the receive side has until `ready` */
    struct weft_verbs_queue *queue; /* RC: &own; DC: an initiator's */

    /* receive */
    struct ibv_ah *way;  /* for datagrams; DC: for requests */
    uint32_t remote_qpn; /* RC: the peer's queue pair, to which `own` is joined; 0: none */
    uint64_t asked_ns;   /* when this process last asked the peer to connect; 0: never */
    uint64_t since_ns;   /* when this process first asked; 0: never */
};

/* What an end has done so far, for tests. */
struct weft_verbs_counts {
    unsigned long long requests;              /* by the send side */
    unsigned long long receives, queue_pairs; /* by the receive side */
};

struct weft_verbs_dc;
struct weft_verbs_dc_ops;

struct weft_transport {
    struct weft_net_open open;
    struct weft_verbs_device device;
    struct ibv_pd *pd;
    bool dmabuf;         /* GPU memory is given to the device by dma-buf, if there is one */
    uint32_t generation; /* of the next place */
    struct weft_verbs_peer *peers;
    struct weft_verbs_address address; /* this process's */
    uint32_t inline_most;              /* bytes of data that a request carries itself, at most */
    struct weft_verbs_counts counts;

    /* Registered: buffers of WEFT_VERBS_LONGEST bytes for receives, then one for datagrams, then
     * those in which packets are built. */
    unsigned char *memory;
    struct ibv_mr *mr;

    /* send */
    struct ibv_cq *send_cq;
    uint32_t sends; /* requests that a queue holds, at most */
    char send_text[WEFT_VERBS_TEXT];

    /* receive */
    struct ibv_cq *receive_cq;
    struct ibv_srq *srq;
    uint32_t receives;  /* buffers posted to `srq` */
    weft_status broken; /* not OK: receives could not be posted again */
    int *by_qpn;        /* RC: hash table of process + 1 by queue pair number; 0: free */
    uint32_t by_qpn_mask;
    struct { /* the datagram queue pair */
        struct ibv_qp *qp;
        uint32_t next, under_way;
    } control;
    uint32_t wanted;    /* how many peers the send side has wanted */
    uint32_t connected; /* how many peers are ready */
    uint32_t idle_rounds;
    uint64_t looked_at;  /* when the device's events were last read */
    uint64_t down_since; /* since when its port is down; 0: it is up */
    char receive_text[WEFT_VERBS_TEXT];

    struct weft_verbs_dc *dc; /* NULL: RC */
    const struct weft_verbs_dc_ops *dc_ops;
};

static inline unsigned char *weft_verbs_buffer(const struct weft_transport *t, uint64_t i)
{
    return t->memory + i * WEFT_VERBS_LONGEST;
}

static inline int weft_verbs_at_most(int wanted, int most)
{
    return wanted < most ? wanted : most;
}

/* Read and write `wanted` and `ready`, which say what one thread has done for another. */
static inline uint32_t weft_verbs_look(const uint32_t *word)
{
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}
static inline void weft_verbs_tell(uint32_t *word, uint32_t value)
{
    __atomic_store_n(word, value, __ATOMIC_RELEASE);
}

/* ---- connect.c: reliable connections. Receive ---- */

enum {
    WEFT_VERBS_RNR_FOR_EVER = 7, /* a target that has no receive now is slow, not gone */
    WEFT_VERBS_RETRIES = 6,      /* a silent target is gone; soft-RoCE takes 7 for "for ever" */
    WEFT_VERBS_RNR_DELAY = 12    /* 0.64 ms until a target that had no receive is asked again */
};

/* Returns for how long a request waits for its target in all. */
static inline uint64_t weft_verbs_retries_ns(int timeout)
{
    return (uint64_t)(WEFT_VERBS_RETRIES + 1) << (timeout + 12);
}

weft_status weft_verbs_table_open(struct weft_transport *t);
/* Returns whose connection a queue pair is; -1: nobody's, as with DC. */
int weft_verbs_process(const struct weft_transport *t, uint32_t qpn);

/* Returns after how long (4.096 us * 2^this) a packet is sent again, so that all repetitions
 * together last WEFT_SILENCE_S; or WEFT_VERBS_TIMEOUT, if it is set. */
int weft_verbs_timeout(const struct weft_config *config);
/* Returns how many bytes of data a request can carry itself. */
uint32_t weft_verbs_rc_inline(struct weft_transport *t);

/* Puts the number of the datagram queue pair into t->address. */
weft_status weft_verbs_connect_open(struct weft_transport *t);
/* Finds the way to a process, once. Errors: NETWORK. */
weft_status weft_verbs_way(struct weft_transport *t, int process);

/* weft_verbs_datagram takes a completion of the datagram queue pair: of a request with this id,
 * else of a receive. */
#define WEFT_VERBS_DATAGRAM UINT64_MAX
weft_status weft_verbs_datagram(struct weft_transport *t, const struct ibv_wc *wc);
/* Begins connections that the send side wants, repeats unanswered requests. Errors: PEER_LOST (no
 * answer within WEFT_CONNECT_S), NETWORK. */
weft_status weft_verbs_connect_progress(struct weft_transport *t);

/* ---- send.c. Send ---- */

/* commit, write and poll[SEND] of transport.h. */
weft_status weft_verbs_commit(struct weft_transport *t, int process, unsigned char *packet,
                              size_t bytes);
weft_status weft_verbs_write(struct weft_transport *t, const struct weft_transport_write *write);
int weft_verbs_poll_send(struct weft_transport *t, struct weft_transport_event *events, int most);

/* ---- receive.c. Receive ---- */

/* Makes the shared receive queue and fills it. */
weft_status weft_verbs_receive_open(struct weft_transport *t);

/* poll[RECEIVE] and release of transport.h. */
int weft_verbs_poll_receive(struct weft_transport *t, struct weft_transport_event *events,
                            int most);
void weft_verbs_give_back(struct weft_transport *t, int process, uint64_t packet);

#endif
