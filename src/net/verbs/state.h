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
    WEFT_VERBS_SLOTS = 128,    /* packets that are built or sent */
    WEFT_VERBS_LONGEST = 8192, /* bytes of a packet, and of a receive */
    WEFT_VERBS_QPN_PAGE = 1 << 12,
    WEFT_VERBS_QPN_PAGES = (WEFT_VERBS_QPN_MOST + 1) / WEFT_VERBS_QPN_PAGE
};

/* A request that a device was given, until it is complete. */
struct weft_verbs_item {
    enum { WEFT_VERBS_PACKET, WEFT_VERBS_WRITTEN, WEFT_VERBS_PART } kind; /* part: tells nothing */
    int process;
    unsigned char *slot;           /* to be given back; NULL: none */
    uint64_t cookie;               /* of a write; */
    uint64_t place, offset, bytes; /* what is said if it fails */
};

/* A send queue. RC: of the connection to a process; DC: one of the pool's initiators. */
struct weft_verbs_queue {
    struct ibv_qp *qp;
    uint32_t index;       /* RC: the process */
    uint32_t depth;       /* requests that it holds */
    uint32_t mask;        /* of items */
    uint32_t made, done;  /* requests: posted; known to be complete, and told */
    uint32_t reserved;    /* places for packets that are being built */
    uint32_t unsignalled; /* since the last that asked for a completion */
    bool broken;
    struct weft_verbs_item items[];
};

struct weft_verbs_peer {
    struct weft_verbs_address address;
    bool known;      /* the address is good */
    uint32_t wanted; /* the send side wants to send there */
    uint32_t ready;  /* it can, and `queue` or `way` is there */

    /* send */
    struct weft_verbs_queue *queue; /* RC: receive, until it is ready */
    unsigned char *open;            /* the packet that is being built, in a slot; NULL: none */
    uint32_t last;                  /* DC: requests on the queue up to its last */

    /* receive */
    struct ibv_ah *way;  /* of datagrams; DC: of requests */
    uint32_t psn;        /* of our first packet */
    uint32_t remote_qpn; /* the other end, to which the queue is joined; 0: to none */
    uint64_t asked_ns;   /* when it asked last to be connected; 0: never */
    uint64_t since_ns;   /* when it asked first */
};

/* What an end has done so far, for tests and for the line that close says at WEFT_LOG=info. */
struct weft_verbs_counts {
    unsigned long long requests, inlined, completions; /* by the send side */
    unsigned long long receives, refills, queue_pairs; /* by the receive side */
};

/* The datagram queue pair (connect.c). */
struct weft_verbs_control_end {
    struct ibv_qp *qp;
    struct ibv_mr *mr;
    unsigned char *memory; /* for receives, then for what is sent */
    uint32_t next, under_way;
    uint64_t last_ns; /* when the peers were last looked at */
};

struct weft_verbs_dc;
struct weft_verbs_dc_ops;

struct weft_transport {
    struct weft_net_open open;
    struct weft_verbs_device device;
    struct ibv_pd *pd;
    bool dmabuf;         /* GPU memory is given to the device by dma-buf, if there is one */
    uint32_t generation; /* of places */
    struct weft_verbs_peer *peers;
    struct weft_verbs_address address; /* this process's */
    uint32_t start;                    /* of all counts */
    uint32_t inline_most;              /* data that a request carries itself */
    struct weft_verbs_counts counts;

    /* send */
    struct ibv_cq *send_cq;
    uint32_t send_cq_most, under_way; /* completions that it holds; that may come */
    uint32_t sends;                   /* requests that a queue holds */
    struct {
        struct ibv_mr *mr;
        void *memory;
        unsigned char *free[WEFT_VERBS_SLOTS]; /* `left` of them */
        uint32_t left;
    } slots;
    struct weft_verbs_queue **queues; /* RC: by process, made on demand; DC: the pool */
    uint32_t queues_count;
    char send_text[WEFT_VERBS_TEXT];

    /* receive */
    struct ibv_cq *receive_cq;
    struct ibv_srq *srq;
    struct ibv_mr *buffers_mr;
    void *buffers;
    uint32_t receives, refill;   /* how many consumed receives are posted at once */
    struct ibv_recv_wr *refills; /* consumed, not yet posted again */
    struct ibv_sge *refill_sges;
    uint32_t refill_count;
    weft_status broken;                /* they could not be */
    int *by_qpn[WEFT_VERBS_QPN_PAGES]; /* process + 1 by queue pair number, in pages; or NULL */
    struct weft_verbs_control_end control;
    uint32_t wanted; /* how often the send side has wanted a peer; a hint that steers */
    uint32_t heard;  /* how often the receive side has seen that */
    uint32_t connecting;
    uint32_t idle_rounds;
    uint64_t looked_at;  /* when the device's events were last looked at */
    uint64_t down_since; /* since when the port is down; 0: it is up, or all know */
    char receive_text[WEFT_VERBS_TEXT];

    struct weft_verbs_dc *dc; /* NULL: RC */
    const struct weft_verbs_dc_ops *dc_ops;
};

static inline int weft_verbs_at_most(int wanted, int most)
{
    return wanted < most ? wanted : most;
}

/* Both ends of `wanted` and `ready`. */
static inline uint32_t weft_verbs_look(const uint32_t *word)
{
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}
static inline void weft_verbs_tell(uint32_t *word, uint32_t value)
{
    __atomic_store_n(word, value, __ATOMIC_RELEASE);
}

/* ---- rc.c: queue pairs of reliable connections ---- */

enum {
    WEFT_VERBS_RNR_FOR_EVER = 7, /* a target that has no receive now is slow, not gone */
    WEFT_VERBS_RETRIES = 6,      /* one that does not answer is; soft-RoCE takes 7 for "for ever" */
    WEFT_VERBS_RNR_DELAY = 12    /* 0.64 ms until a target that had no receive is asked again */
};

/* How long a request waits for its target in all. */
static inline uint64_t weft_verbs_retries_ns(int timeout)
{
    return (uint64_t)(WEFT_VERBS_RETRIES + 1) << (timeout + 12);
}

/* A queue pair in the state INIT; NULL, after an error line, if there is none. */
struct ibv_qp *weft_verbs_rc_make(struct weft_transport *t);
/* Finds out how much data a request can carry itself, at most `wanted`. */
uint32_t weft_verbs_rc_inline(struct weft_transport *t);

/* ---- connect.c: making them. Receive ---- */

/* Puts the number of the datagram queue pair into t->address. */
weft_status weft_verbs_connect_open(struct weft_transport *t);
void weft_verbs_connect_close(struct weft_transport *t);
/* The way to a process. Errors: NETWORK. */
weft_status weft_verbs_way(struct weft_transport *t, int process, struct ibv_ah **ah);

/* A completion of the datagram queue pair: of a request with this id, else of a receive. */
#define WEFT_VERBS_DATAGRAM UINT64_MAX
weft_status weft_verbs_datagram(struct weft_transport *t, const struct ibv_wc *wc);
/* Begins connections that the send side wants, repeats unanswered requests. Errors: PEER_LOST (no
 * answer within WEFT_CONNECT_S), NETWORK. */
weft_status weft_verbs_connect_progress(struct weft_transport *t);
/* Which process a queue pair that receives is for; -1: none. */
int weft_verbs_process_of(const struct weft_transport *t, uint32_t qpn);

/* ---- send.c. Send ---- */

/* A queue for a queue pair, which it owns from then on. Errors: MEMORY (the pair stays yours). */
weft_status weft_verbs_queue_open(const struct weft_transport *t, uint32_t index, struct ibv_qp *qp,
                                  struct weft_verbs_queue **queue);
void weft_verbs_queue_close(struct weft_verbs_queue *queue);

/* transport.h */
unsigned char *weft_verbs_begin(struct weft_transport *t, int process, size_t *room);
weft_status weft_verbs_commit(struct weft_transport *t, int process, size_t bytes);
weft_status weft_verbs_write(struct weft_transport *t, const struct weft_transport_write *write);
int weft_verbs_poll_send(struct weft_transport *t, struct weft_transport_event *events, int most);

/* ---- receive.c. Receive ---- */

/* Makes the shared receive queue and fills it. */
weft_status weft_verbs_receive_open(struct weft_transport *t);
void weft_verbs_receive_close(struct weft_transport *t);

/* transport.h */
int weft_verbs_poll_receive(struct weft_transport *t, struct weft_transport_event *events,
                            int most);
void weft_verbs_give_back(struct weft_transport *t, int process, uint64_t packet);

#endif
