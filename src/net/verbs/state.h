/*
 * net/verbs/state.h - what one process keeps, which of its two threads owns what, and what the
 * files offer each other.
 *
 * send side (progress thread)      queues, their completion queue, senders, slots
 * receive side (receive thread)    shared receive queue, its completion queue, responders with
 *                                  their acknowledgements, the control datagrams, connecting
 *
 * No thread ever waits for a lock of the other (README.md). What they hand over is a peer's
 * `state`, a word that steers them: who stores it releases what it has written, who loads it
 * acquires that.
 */
#ifndef WEFT_NET_VERBS_STATE_H
#define WEFT_NET_VERBS_STATE_H

#include "net/arrive.h"
#include "net/verbs/device.h"
#include "net/verbs/memory.h"
#include "net/verbs/request.h"

enum {
    WEFT_VERBS_BATCH = 16,  /* requests that one doorbell rings for */
    WEFT_VERBS_POLL = 32,   /* completions taken at once: a batch of arrive.h */
    WEFT_VERBS_BATCHES = 4, /* such batches that may wait for the device */
    WEFT_VERBS_ACKS = 32,   /* acknowledgements under way on a connection */
    WEFT_VERBS_QPN_PAGE = 1 << 12,
    WEFT_VERBS_QPN_PAGES = (WEFT_VERBS_QPN_MOST + 1) / WEFT_VERBS_QPN_PAGE
};

/* One send queue. RC: of the connection to a process; DC: one of the pool's initiators. */
struct weft_verbs_queue {
    struct ibv_qp *qp;
    uint32_t index;  /* in net->queues: RC: the process */
    uint32_t depth;  /* requests that the queue holds */
    int process;     /* whom the batch is for; RC: always the same */
    uint32_t made;   /* requests so far, those in the batch included */
    uint32_t posted; /* requests that a doorbell was rung for */
    uint32_t done;   /* requests known to be complete */
    uint32_t fenced; /* requests up to the last read that is complete */
    uint32_t unsignalled;
    bool want_completion; /* the batch's completion releases a source, or shows a fence */
    bool want_fence;      /* its last put has no notice */
    bool want_marker;     /* DC: it has notices */
    uint32_t batched;
    _Alignas(64) unsigned char batch[]; /* weft_verbs_request, net->request_bytes apart */
};

/* A piece of a put, or all of it, from its posting until it has landed. */
struct weft_verbs_piece {
    void *cookie;
    struct ibv_mr *mr;           /* registered for it, or NULL */
    int32_t slot;                /* its copy, or -1 */
    uint32_t sequence;           /* its request's number on the queue */
    uint32_t told;               /* the sender's `told` when it was posted, itself included */
    bool last;                   /* the put's last piece: `sent` and `landed` are due */
    bool sent;                   /* `sent` was called already */
    bool waits;                  /* its source is needed until the request is complete */
    bool notified;               /* it consumes a receive at the target */
    bool empty;                  /* neither data nor notice, and so no request */
    bool complete;               /* DC: on a queue that the sender has left since */
    uint64_t key, offset, bytes; /* for what is said if the target refuses it */
};

/* Puts to one process. Made when the first is. */
struct weft_verbs_sender {
    struct weft_verbs_queue *queue;
    struct weft_net_put put; /* accepted, not all of it posted yet */
    size_t done;             /* bytes of `put` that are posted */
    bool active;
    bool registered; /* the source of `put` is: address and lkey are good */
    uint64_t address;
    uint32_t lkey;
    struct ibv_mr *mr; /* to be released with the source, or NULL */

    uint32_t told, acked; /* receives that we made the target consume; that have taken effect */
    uint32_t message;     /* `told` of the last message */
    uint32_t last;        /* the number of the last request on the queue */
    uint32_t made, released, landed;  /* pieces: posted, those whose source is free, landed */
    struct ibv_ah *ah;                /* DC */
    bool listed;                      /* in net->busy */
    struct weft_verbs_piece pieces[]; /* a ring of net->pieces_most */
};

/* This process's end of another's connection to it. Receive thread. */
struct weft_verbs_responder {
    struct ibv_qp *qp;     /* RC */
    struct ibv_ah *ah;     /* DC */
    uint32_t remote_qpn;   /* RC: the initiator's */
    uint32_t psn;          /* RC: of our first packet */
    uint32_t arrived;      /* receives of its puts that have taken effect */
    uint32_t posted, done; /* acknowledgements: requests, those known to be complete */
    bool owed;             /* listed in net->owed */
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
    uint64_t asked_ns, since_ns; /* when it last asked; when it first asked */
    struct ibv_ah *control;      /* the way of datagrams */
};

/* A put that the target's device refused. The receive side tells the target. */
struct weft_verbs_refusal {
    uint32_t pending; /* 1: filled by the send side, 0: taken. Steers as a peer's state does. */
    int process;
    uint64_t key, offset, bytes;
};

/* What an end has done so far, for tests and for the line that close says at WEFT_LOG=info. */
struct weft_verbs_counts {
    /* by the send side */
    unsigned long long puts, notified; /* accepted; those of them with a notice */
    unsigned long long requests;       /* work requests that carry puts, */
    unsigned long long fences;         /* and reads behind those without a notice, */
    unsigned long long markers;        /* and DC's markers behind notices */
    unsigned long long doorbells, completions;
    /* by the receive side */
    unsigned long long receives; /* of notices and messages */
    unsigned long long acks;     /* work requests that acknowledge */
    unsigned long long refills;  /* times that receives were posted */
    unsigned long long queue_pairs;
};

struct weft_verbs_control_end;
struct weft_verbs_batch;
struct weft_verbs_dc;
struct weft_verbs_dc_ops;

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
    struct weft_verbs_counts counts;

    /* send side */
    struct ibv_cq *send_cq;
    uint32_t send_cq_most, under_way; /* completions that send_cq holds; that were asked for */
    uint32_t sends;                   /* requests that a connection's queue holds */
    uint32_t request_bytes, pieces_most, credit;
    struct weft_verbs_slots slots;
    struct weft_verbs_queue **queues; /* RC: by process, made on demand; DC: the pool */
    uint32_t queues_count;
    int *busy; /* processes with something under way */
    uint32_t busy_count;
    struct ibv_mr *words_mr, *scratch_mr;
    void *words;   /* uint64_t by process, which its device writes; the last is only read */
    void *scratch; /* what fences read into */
    struct weft_verbs_refusal refusal;
    weft_status broken; /* a request has failed: nothing goes out any more */

    /* receive side */
    struct ibv_cq *receive_cq, *ack_cq;
    struct ibv_srq *srq;
    struct ibv_mr *buffers_mr;
    void *buffers;
    uint32_t receives, buffer_bytes,
        refill;                  /* refill: how many consumed receives to post at once */
    struct ibv_recv_wr *refills; /* consumed, not yet posted again */
    struct ibv_sge *refill_sges;
    uint32_t refill_count;
    struct weft_verbs_batch *batches;  /* of receive.c: WEFT_VERBS_BATCHES, by arrive.h */
    int *by_qpn[WEFT_VERBS_QPN_PAGES]; /* process + 1 by queue pair number, in pages; or NULL */
    int *owed;                         /* processes with acknowledgements to send */
    uint32_t owed_count;
    uint32_t ack_cq_most, acks_under_way; /* completions that ack_cq holds; that were asked for */
    struct weft_verbs_control_end *control;
    uint32_t wanted; /* peers in state WANTED: a hint that steers */
    uint32_t connecting;
    uint32_t idle_rounds;
    uint64_t looked_at;  /* when the device's events were last looked at */
    uint64_t down_since; /* since when the port is down; 0: it is up */

    struct weft_verbs_dc *dc; /* NULL: RC */
    const struct weft_verbs_dc_ops *dc_ops;
};

static inline int weft_verbs_at_most(int wanted, int most)
{
    return wanted < most ? wanted : most;
}

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

/*
 * A queue pair in the state INIT; NULL, after an error line, if there is none. Requests complete in
 * `completions`; inline_most: of a request.
 */
struct ibv_qp *weft_verbs_rc_make(struct weft_net *net, struct ibv_cq *completions, uint32_t depth,
                                  uint32_t inline_most);

/* Joins it to its other end: ready to receive and to send. Errors: NETWORK. */
weft_status weft_verbs_rc_join(struct weft_net *net, struct ibv_qp *qp, int process,
                               struct weft_verbs_ends ends);

/* Finds out how much data a request can carry itself, at most `wanted`. */
uint32_t weft_verbs_rc_inline(struct weft_net *net, uint32_t wanted);

/* ---- connect.c: making them. Receive thread only, open and close apart ---- */

/* Puts the number of the datagram queue pair into net->address. */
weft_status weft_verbs_connect_open(struct weft_net *net);
void weft_verbs_connect_close(struct weft_net *net);
/* The way to a process. Errors: NETWORK. */
weft_status weft_verbs_way(struct weft_net *net, int process, struct ibv_ah **ah);

/* The id of completions of the datagram queue pair's requests, which go to _datagram_sent. Its
 * receives go to _datagram. */
#define WEFT_VERBS_DATAGRAM UINT64_MAX
weft_status weft_verbs_datagram(struct weft_net *net, const struct ibv_wc *wc);
void weft_verbs_datagram_sent(struct weft_net *net);

/*
 * Begins connections that the send side asked for, repeats unanswered requests, tells of refusals.
 * Errors: PEER_LOST (no answer within WEFT_CONNECT_S), NETWORK.
 */
weft_status weft_verbs_connect_progress(struct weft_net *net, bool *did);

/* Which process a queue pair that receives is for; -1: none. */
int weft_verbs_process_of(const struct weft_net *net, uint32_t qpn);

/* ---- queue.c: a send queue. Progress thread ---- */

/* A queue for a queue pair, which it owns from then on. Errors: MEMORY (the pair stays yours). */
weft_status weft_verbs_queue_open(struct weft_net *net, uint32_t index, struct ibv_qp *qp,
                                  struct weft_verbs_queue **queue);
void weft_verbs_queue_close(struct weft_verbs_queue *queue);

/*
 * From now on the batch is for this process; what was gathered for another goes out first. False:
 * not yet possible. (RC: a queue's process never changes.)
 */
bool weft_verbs_queue_turn(struct weft_net *net, struct weft_verbs_queue *queue, int process);

/*
 * The batch's next request, which the caller fills; it counts from now on. NULL: the batch is full
 * (ring), or the queue is (wait for completions).
 */
struct weft_verbs_request *weft_verbs_queue_next(struct weft_net *net,
                                                 struct weft_verbs_queue *queue);

/*
 * Rings the doorbell for the batch; while the completion queue might be overrun, the batch stays
 * (call again). Errors: NETWORK.
 */
weft_status weft_verbs_queue_ring(struct weft_net *net, struct weft_verbs_queue *queue);

/* Takes a completion: all requests up to its own are complete. Errors: NETWORK (a device's fault:
 * nothing under way has this id). */
weft_status weft_verbs_queue_complete(struct weft_net *net, uint64_t id);

/* Whether request number `sequence` is complete. */
static inline bool weft_verbs_reached(uint32_t count, uint32_t sequence)
{
    return (int32_t)(count - sequence) >= 0;
}

/* ---- landed.c. Progress thread ---- */

/*
 * Takes completions. Errors: PEER_LOST (a process does not answer), PROTOCOL (it refused a put),
 * NETWORK.
 */
weft_status weft_verbs_poll_completions(struct weft_net *net, bool *did);

/* Takes what the target's device has written into `words` of this process. Errors: PROTOCOL. */
weft_status weft_verbs_read_ack(struct weft_net *net, int process,
                                struct weft_verbs_sender *sender);

/* Reports what is sent and what has landed. */
void weft_verbs_report(struct weft_net *net, struct weft_verbs_sender *sender, bool *did);

/* ---- put.c: puts become requests. Progress thread ---- */

/* net.h: put, and progress of the send side. */
weft_status weft_verbs_put(struct weft_net *net, const struct weft_net_put *put);
weft_status weft_verbs_progress_send(struct weft_net *net, bool *did);

/* Frees a sender, and whatever its puts still hold. */
void weft_verbs_sender_close(struct weft_net *net, struct weft_verbs_sender *sender);

/* ---- receive.c, ack.c. Receive thread, open and close apart ---- */

/* Makes the shared receive queue and fills it. */
weft_status weft_verbs_receive_open(struct weft_net *net);
void weft_verbs_receive_close(struct weft_net *net);

/* A batch has taken effect: acknowledgements are owed, its receives can be posted again. */
weft_status weft_verbs_conclude(struct weft_net *net, uint64_t batch);
/* net.h: progress of the receive side. */
weft_status weft_verbs_progress_receive(struct weft_net *net, bool *did);

/* ack.c: `count` receives of the process's puts have taken effect, which it is owed to hear. */
void weft_verbs_owe(struct weft_net *net, int process, uint32_t count);
/* Sends what is owed, as far as there is room; takes completions of what was sent. */
void weft_verbs_send_acks(struct weft_net *net, bool *did);
void weft_verbs_poll_acks(struct weft_net *net);

#endif
