/*
 * net/verbs/state.h - what one process keeps, and which of its two threads owns what.
 *
 * send side (progress thread)      queues, their completion queue, senders, slots
 * receive side (receive thread)    shared receive queue, its completion queue, responders with
 *                                  their acknowledgements, the control datagrams, connecting
 *
 * A connection is made in one direction: the initiator's end carries its puts and belongs to its
 * progress thread, the responder's end carries acknowledgements and belongs to the other's receive
 * thread. So no thread ever waits for a lock of the other, and two processes that put to each
 * other have two connections. What the threads hand over is a peer's `state`, a word that steers
 * them: who stores it releases what it has written, who loads it acquires that.
 */
#ifndef WEFT_NET_VERBS_STATE_H
#define WEFT_NET_VERBS_STATE_H

#include "net/arrive.h"
#include "net/verbs/device.h"
#include "net/verbs/memory.h"
#include "net/verbs/request.h"
#include "net/verbs/verbs.h"

enum {
    WEFT_VERBS_BATCH = 16,  /* requests that one doorbell rings for */
    WEFT_VERBS_POLL = 32,   /* completions taken at once, */
    WEFT_VERBS_BATCHES = 4, /* of which so many batches wait for the device */
    WEFT_VERBS_ACKS = 32    /* acknowledgements under way on a connection */
};

/* One send queue. RC: of the connection to a process; DC: one of the pool's initiators. */
struct weft_verbs_queue {
    struct ibv_qp *qp;
    uint32_t index;  /* in net->queues: RC: the process */
    uint32_t depth;  /* requests that the queue holds */
    int process;     /* whom the batch is for; RC: always the same */
    uint32_t made;   /* requests so far, those in the batch included */
    uint32_t posted; /* those behind a doorbell, */
    uint32_t done;   /* and those known to be complete */
    uint32_t fenced; /* up to the last read that is complete */
    uint32_t unsignalled;
    bool want_completion; /* a source is released, or a fence seen, by the batch's completion */
    bool want_fence;      /* its last put has no notice */
    bool want_marker;     /* DC: it has notices */
    uint32_t batched;
    unsigned char *batch; /* weft_verbs_request, net->request_bytes apart */
};

/* A piece of a put, or all of it, from its posting until it has landed. */
struct weft_verbs_piece {
    void *cookie;
    struct ibv_mr *mr;           /* registered for it, or NULL */
    int32_t slot;                /* its copy, or -1 */
    uint32_t sequence;           /* its request's number on the queue */
    uint32_t told;               /* receives that the target had been told of, itself included */
    bool last;                   /* of the put: `sent` and `landed` are due */
    bool sent;                   /* the first was called already */
    bool waits;                  /* its source is needed until the request is complete */
    bool notified;               /* it consumes a receive at the target */
    bool empty;                  /* there is no request: neither data nor notice */
    bool complete;               /* DC: on a queue that the sender has left since */
    uint64_t key, offset, bytes; /* for what is said if the target refuses it */
};

/* Puts to one process. Made when the first is. */
struct weft_verbs_sender {
    struct weft_verbs_queue *queue;
    struct weft_net_put put; /* accepted, not all of it posted yet */
    size_t done;             /* bytes of it that are */
    bool active;
    bool registered; /* its source: address and lkey are good, */
    uint64_t address;
    uint32_t lkey;
    struct ibv_mr *mr; /* and this is to be released with it, or NULL */

    uint32_t told, acked; /* receives: that we made the target consume, that have taken effect */
    uint32_t message;     /* `told` of the last message */
    uint32_t last;        /* number of its last request on the queue */
    struct weft_verbs_piece *pieces; /* a ring of net->pieces_most */
    uint32_t made, released, landed; /* pieces: posted, those whose source is free, landed */
    struct ibv_ah *ah;               /* DC */
    bool listed;                     /* in net->busy */
};

/* The other end of another's connection to us. Receive thread. */
struct weft_verbs_responder {
    struct ibv_qp *qp;     /* RC */
    struct ibv_ah *ah;     /* DC */
    uint32_t remote_qpn;   /* RC: the initiator's */
    uint32_t psn;          /* RC: of our first packet */
    uint32_t arrived;      /* receives of its puts that have taken effect */
    uint32_t posted, done; /* acknowledgements: requests, those known to be complete */
    bool owed;             /* it is in net->owed */
    bool dead;
};

enum weft_verbs_peer_state {
    WEFT_VERBS_IDLE,
    WEFT_VERBS_WANTED,     /* the send side has asked the receive side to connect */
    WEFT_VERBS_CONNECTING, /* a request is under way */
    WEFT_VERBS_READY,
    WEFT_VERBS_FAILED
};

struct weft_verbs_peer {
    struct weft_verbs_address address;
    bool known;                             /* the address is good */
    uint32_t state;                         /* weft_verbs_peer_state: see above */
    struct weft_verbs_sender *sender;       /* send side, from READY on */
    struct weft_verbs_responder *responder; /* receive side */
    /* while the connection is made: receive side */
    struct ibv_qp *qp;
    uint32_t psn;
    uint64_t asked_ns, since_ns; /* the last request, the first */
    struct ibv_ah *control;      /* way of datagrams */
};

/* A put that the target's device refused: told to the target by the receive side. */
struct weft_verbs_refusal {
    uint32_t pending; /* 1: filled by the send side, 0: taken. Steers as a peer's state does. */
    int process;
    uint64_t key, offset, bytes;
};

struct weft_verbs_control_end;
struct weft_verbs_batch;
struct weft_verbs_dc;

struct weft_net {
    struct weft_net_open open;
    struct weft_verbs_device device;
    struct ibv_pd *pd;
    struct weft_arrive arrive;
    struct weft_verbs_memory memory;
    struct weft_verbs_peer *peers;
    struct weft_verbs_address address; /* this process's */
    uint32_t start;                    /* of all counts */
    uint32_t inline_most;              /* data that a request carries itself */
    bool words_by_message;             /* see put.c */
    struct weft_verbs_counts counts;

    /* send side */
    struct ibv_cq *send_cq;
    uint32_t send_cq_most, under_way; /* completions that it holds, that have been asked for */
    uint32_t sends;                   /* requests that a connection's queue holds */
    uint32_t request_bytes, pieces_most, credit;
    struct weft_verbs_slots slots;
    struct weft_verbs_queue **queues; /* RC: by process, made on demand; DC: the pool */
    uint32_t queues_count;
    int *busy; /* processes with something under way */
    uint32_t busy_count;
    struct ibv_mr *words_mr, *scratch_mr;
    void *words;   /* uint64_t, by process: written by their devices; the last is read only */
    void *scratch; /* what fences read into */
    struct weft_verbs_refusal refusal;
    weft_status broken; /* a request has failed: nothing goes out any more */

    /* receive side */
    struct ibv_cq *receive_cq, *ack_cq;
    struct ibv_srq *srq;
    struct ibv_mr *buffers_mr;
    void *buffers;
    uint32_t receives, buffer_bytes, refill; /* refill: post receives when so many are consumed */
    struct ibv_recv_wr *refills;             /* consumed, not yet posted again */
    struct ibv_sge *refill_sges;
    uint32_t refill_count;
    struct weft_verbs_batch *batches; /* of receive.c: WEFT_VERBS_BATCHES, by arrive.h */
    uint64_t *by_qpn;                 /* a hash table: queue pair number, process + 1 */
    uint32_t by_qpn_size, by_qpn_count;
    int *owed; /* processes with acknowledgements to send */
    uint32_t owed_count;
    uint32_t ack_cq_most, acks_under_way; /* completions that it holds, asked for */
    struct weft_verbs_control_end *control;
    uint32_t wanted; /* peers in state WANTED: a hint that steers */
    uint32_t connecting;
    uint32_t idle_rounds;
    uint64_t looked_at;  /* by the clock; the device's events */
    uint64_t down_since; /* the port; 0: it is up */

    struct weft_verbs_dc *dc; /* NULL: RC */
};

static inline struct weft_verbs_request *
weft_verbs_batch_at(const struct weft_net *net, const struct weft_verbs_queue *c, uint32_t i)
{
    return (struct weft_verbs_request *)(void *)(c->batch + (size_t)i * net->request_bytes);
}

static inline uint32_t weft_verbs_state_of(const struct weft_verbs_peer *peer)
{
    return __atomic_load_n(&peer->state, __ATOMIC_ACQUIRE);
}
static inline void weft_verbs_set_state(struct weft_verbs_peer *peer,
                                        enum weft_verbs_peer_state state)
{
    __atomic_store_n(&peer->state, (uint32_t)state, __ATOMIC_RELEASE);
}

#endif
