/*
 * net/ofi/inside.h - the state of the ofi network, and what its files offer each other.
 *
 * One endpoint, a completion queue for each side. `lock` covers every call into libfabric and all
 * of the state but what is marked as one task's own; so the provider need not be thread safe.
 */
#ifndef WEFT_NET_OFI_INSIDE_H
#define WEFT_NET_OFI_INSIDE_H

#include "base/netif.h"
#include "base/task.h"
#include "net/arrive.h"
#include "net/net.h"
#include "net/ofi/bytes.h"

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_rma.h>

/*
 * libfabric, loaded when a job wants it. It brings its providers' libraries with it, and starting
 * them takes tenths of a second, which programs that need no fabric do not pay. All its other calls
 * are inline functions over what these return. X(name). dupinfo of NULL: a new, empty one.
 */
#define WEFT_OFI_LIBRARY(X) X(getinfo) X(freeinfo) X(dupinfo) X(fabric) X(strerror)

struct weft_ofi_library {
#define WEFT_OFI_FIELD(name) __typeof__(&fi_##name) name;
    WEFT_OFI_LIBRARY(WEFT_OFI_FIELD)
#undef WEFT_OFI_FIELD
};

enum {
    WEFT_OFI_WINDOW = 1024,        /* events under way to one target: receipts must come */
    WEFT_OFI_RECEIPT_EVERY = 128,  /* events, */
    WEFT_OFI_RECEIPT_NS = 500000,  /* or so long after the first, or when the task goes to sleep */
    WEFT_OFI_INJECT_MOST = 512,    /* a message copied on the stack, and into the provider */
    WEFT_OFI_MESSAGE_BYTES = 8192, /* the longest message, header included: below what providers
                                 copy  at once (16 KiB for ofi_rxm) */
    WEFT_OFI_PAYLOAD = WEFT_OFI_MESSAGE_BYTES - (int)sizeof(struct weft_ofi_header),
    WEFT_OFI_RECEIVE_BUFFERS = 256, /* of WEFT_OFI_MESSAGE_BYTES, */
    WEFT_OFI_SEND_BUFFERS = 64,
    WEFT_OFI_BATCH = 32, /* completions read at once, */
    WEFT_OFI_BATCHES = 8 /* of which so many batches wait for the device */
};

static_assert(WEFT_OFI_WINDOW < 1 << 15, "16 bits of an event's number tell which it is");

/* What a completion belongs to: the start of whatever libfabric gets as context. */
enum weft_ofi_what { WEFT_OFI_OP, WEFT_OFI_SEND_BUFFER, WEFT_OFI_RECEIVE_BUFFER };
struct weft_ofi_context {
    struct fi_context2 for_provider;
    enum weft_ofi_what what;
};

/* A put, from its acceptance until it has landed; or a piece of a put (dock.c). */
struct weft_ofi_op {
    struct weft_ofi_context context;
    struct weft_ofi_op *next, *made_before;
    void *cookie;
    int process;
    uint32_t event;        /* its last */
    bool issued, sent;     /* all of it; its source may be reused */
    bool message;          /* it travels as messages */
    bool place_known;      /* `at` is where in the target's memory */
    uint64_t key, at, end; /* what it changes: [at, end), offsets where the place is not known */
    uint32_t unsent;       /* pieces */
    struct weft_ofi_op *whole;  /* whose piece it is; NULL: it is none */
    struct weft_ofi_berth head; /* of a piece: what is written before its data */
};

struct weft_ofi_buffer {
    struct weft_ofi_context context;
    struct weft_ofi_buffer *next;
    int process; /* it goes to */
    unsigned char *bytes;
};

/* A region of a peer, once asked for. */
struct weft_ofi_remote {
    uint64_t key;
    bool asked, known;
    struct weft_ofi_place place;
};
enum { WEFT_OFI_REMOTES = 128 }; /* remembered a peer; the oldest is forgotten */

/* What this process has of a peer's dock: a ring, of which both know where the next berth is. */
struct weft_ofi_quay {
    bool asked, known;
    struct weft_ofi_place place;      /* not exposed: there is none */
    uint64_t head, tail;              /* bytes taken so far; of them, free again */
    uint64_t unasked;                 /* bytes since a receipt was asked for */
    struct weft_ofi_op *first, *last; /* pieces under way, oldest first */
};

struct weft_ofi_early;
struct weft_ofi_peer {
    fi_addr_t address;
    uint64_t token;

    /* send side */
    struct weft_net_put current; /* accepted, travels as messages or by the dock, not all sent */
    size_t done;                 /* bytes of it that are */
    bool active, docks;
    struct weft_ofi_quay quay;
    struct weft_ofi_op *first, **last; /* under way, oldest first */
    uint32_t events, received;         /* numbered so far; of them its receipts cover */
    uint32_t messages;                 /* puts under way that travel so, */
    uint32_t loose;                    /* puts that keep no order with writes: weft_ofi_is_loose */
    struct weft_ofi_remote *remotes;   /* NULL, or WEFT_OFI_REMOTES of them */
    uint32_t remotes_next;
    bool ask_receipt;  /* tell it to send one */
    uint64_t lost_at;  /* the connection broke then; 0: it has not */
    char lost_why[80]; /* and so */
    uint32_t stuck_at; /* receipts cover so many, */
    uint64_t stuck_since;

    /* receive side */
    uint32_t expected;            /* the next event; the receive task's own */
    struct weft_ofi_early *early; /* the receive task's own */
    uint32_t applied;             /* = expected, as told to the sender */
    uint32_t told;                /* the last receipt */
    uint64_t owed_since;          /* when the first event came that no receipt covers; 0: none */
    bool wants_receipt;           /* it waits */
    uint32_t behind_at;           /* it had sent more than so many when it said last how many, */
    uint64_t behind_since;        /* and since; 0: it had not */
    bool berthed;                 /* it has a quay, */
    uint64_t berths_at;           /* from here, */
    uint64_t berths_taken; /* and so many bytes of it have been used; the receive task's own */
};

/* What the provider can do; choose.c asks. */
struct weft_ofi_abilities {
    enum weft_ofi_data form; /* WEFT_OFI_NO_DATA: no writes */
    uint32_t spread;         /* events that its data tells apart */
    bool direct;             /* writes reach windows; */
    bool docks;              /* or docks instead */
    bool ordered_writes;     /* of two writes to one place the later one stays, */
    uint64_t ordered_most;   /* up to this size */
    bool local_mr, virtual_addresses, own_keys, bind_mr, data_takes_buffer;
    size_t inject;       /* the longest message it takes at once */
    uint64_t write_from; /* the shortest put that is worth a write */
};

/* A question that could not be answered yet. */
struct weft_ofi_question {
    int process;
    uint64_t key;
};
enum { WEFT_OFI_QUESTIONS = 256 }; /* more are dropped: who asked them goes on with messages */

/* Host memory into which others write what is for the device's. */
struct weft_ofi_dock {
    unsigned char *memory; /* NULL: there is none */
    size_t bytes, quay;    /* of all; of a process that asks */
    uint64_t given;        /* the receive task's own */
    struct fid_mr *mr;
};

struct weft_ofi_watch;
struct weft_ofi_batch;

struct weft_net {
    struct weft_net_open open;
    struct weft_lock lock;
    const struct weft_ofi_library *fi;
    struct fi_info *info;
    struct weft_ofi_abilities can;
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_av *av;
    struct fid_cq *cq[2]; /* by side */
    struct fid_ep *ep;
    bool enabled; /* the endpoint */
    uint64_t token;
    struct weft_ofi_peer *peers;

    struct weft_arrive arrive;

    unsigned char *memory; /* of all buffers */
    struct fid_mr *memory_mr;
    struct weft_ofi_buffer *buffers, *free_sends;
    struct weft_ofi_op *free_ops, *made_ops;
    struct weft_ofi_dock dock;

    unsigned long long writes, docked, messages; /* puts so far, by the way they took */
    uint32_t outstanding;                        /* send completions that will come */
    uint32_t flying;                             /* puts and gets not landed */
    uint32_t lost;                               /* peers to which the connection broke */
    bool stuck;                                  /* the provider had no room: drive it */
    uint32_t idle_rounds;                        /* of the send side */
    uint32_t owing;                              /* peers to which a receipt is owed */
    struct weft_ofi_question questions[WEFT_OFI_QUESTIONS];
    uint32_t questions_count;
    bool warned_stranger;           /* the receive task's own, */
    struct weft_ofi_batch *batches; /* and this: WEFT_OFI_BATCHES of completions, by arrive.h */
    struct weft_bell bells[2];      /* by side */
    struct weft_ofi_watch *watch;   /* NULL: nothing to sleep on, the receive task polls */
};

/* Whether a write that comes after this put could get there first: it is messages, or long. */
static inline bool weft_ofi_is_loose(const struct weft_net *net, const struct weft_ofi_op *op)
{
    return op->at != op->end && (op->message || op->end - op->at > net->can.ordered_most);
}

/* ---- choose.c: which provider, which interface, what it can do ---- */

/* Errors: CONFIG, NETWORK: none does. */
weft_status weft_ofi_choose(struct weft_net *net);

/* ---- where.c ---- */

/*
 * The address that this process should use: WEFT_INTERFACE's, else the one towards the root. False:
 * none is known. A WEFT_INTERFACE that is no address or interface here is left to the provider's
 * own names.
 */
bool weft_ofi_local_address(const struct weft_net_open *open, union weft_address *address);
bool weft_ofi_same_host_address(const struct sockaddr *a, const struct sockaddr *b);

/* ---- memory.c: registered memory, here and there. Lock held, except in the table's functions */

weft_status weft_ofi_reg(struct weft_net *net, void *base, size_t bytes, bool own, uint64_t *key);
/* Registers memory with the provider; the key is heeded where that lets us. 0, or its error. */
int weft_ofi_register(struct weft_net *net, void *base, size_t bytes, uint64_t access,
                      uint64_t wanted_key, struct fid_mr **mr);
/* A key for that, which a stranger does not guess. False: no random numbers. */
bool weft_ofi_secret_key(const struct weft_net *net, uint64_t *key);
void weft_ofi_dereg(struct weft_net *net, uint64_t key);
void weft_ofi_where(struct weft_net *net, uint64_t key, uint64_t place[2]);
void weft_ofi_memory_close(struct weft_net *net);
/* A process asks for the region of a key. */
void weft_ofi_describe(struct weft_net *net, uint64_t key, struct weft_ofi_place *place);
/* The local descriptor of memory that libfabric reads or writes. False: it is not registered. */
bool weft_ofi_descriptor(struct weft_net *net, const void *base, size_t bytes, void **descriptor);
/* What is known of a peer's region; asked for if it was never. NULL: nothing yet. */
const struct weft_ofi_place *weft_ofi_remote(struct weft_net *net, int process, uint64_t key);
void weft_ofi_remote_told(struct weft_net *net, int process, uint64_t key,
                          const struct weft_ofi_place *place);

/* ---- send.c: puts. Lock held, except in the table's functions ---- */

weft_status weft_ofi_put(struct weft_net *net, const struct weft_net_put *put);
weft_status weft_ofi_flush(struct weft_net *net, int process);
/* For a put, or a piece of it. NULL: no memory. */
struct weft_ofi_op *weft_ofi_new_op(struct weft_net *net, const struct weft_net_put *put);
void weft_ofi_free_op(struct weft_net *net, struct weft_ofi_op *op);
void weft_ofi_close_ops(struct weft_net *net);

/* ---- progress.c: what becomes of them. Lock held, except in progress ---- */

weft_status weft_ofi_progress_send(struct weft_net *net, bool *did);
/* A receipt came. False: it cannot be. */
bool weft_ofi_received(struct weft_net *net, int process, uint32_t receipt);

/* ---- message.c: sending messages. Lock held ---- */

/* False: no room now. */
bool weft_ofi_send(struct weft_net *net, int process, struct weft_ofi_header *header,
                   const void *data, size_t bytes);
/* As much as goes of the put that travels as messages to this peer. */
weft_status weft_ofi_pump(struct weft_net *net, int process, bool *did);

/* The end of a put that was sent in parts: `event` was the last. */
void weft_ofi_all_issued(struct weft_net *net, struct weft_ofi_peer *peer, uint32_t event);
/* A header went: the receipt in it, and what it asks for. */
void weft_ofi_told(struct weft_net *net, struct weft_ofi_peer *peer,
                   const struct weft_ofi_header *header);
/* Whether libfabric took a message or a write. Notes what else became of it. */
bool weft_ofi_taken(struct weft_net *net, int process, ssize_t result);

/* ---- lost.c: broken connections. Lock held ---- */

/* A connection broke; err is libfabric's. */
void weft_ofi_lost(struct weft_net *net, int process, int err);
/* The error that a broken connection has become, if the job was not told in time. */
weft_status weft_ofi_lost_long(struct weft_net *net, int process);
/* Events so far of which nothing is left to be sent. */
uint32_t weft_ofi_sent(const struct weft_ofi_peer *peer);
/* A round of the send side that found nothing: targets are told what they may have lost. */
void weft_ofi_tell_sent(struct weft_net *net);
/* A process says how many events it has sent. Errors: PEER_LOST: some are lost. */
weft_status weft_ofi_told_sent(struct weft_net *net, int process, uint32_t events);

/* ---- dock.c: long puts for memory that writes do not reach. Lock held, but for the last two  */

/* Errors: SYSTEM. */
weft_status weft_ofi_dock_open(struct weft_net *net);
/* When the endpoint is closed, and the dock's mr. */
void weft_ofi_dock_close(struct weft_net *net);
/* Whether this put shall go by the dock. Asks for a quay of it, if that was never done. */
bool weft_ofi_docks(struct weft_net *net, const struct weft_net_put *put);
/* As much as goes of the put that does. */
weft_status weft_ofi_pump_docked(struct weft_net *net, int process, bool *did);
/* Berths whose data has landed are free again. */
void weft_ofi_berths_free(struct weft_net *net, struct weft_ofi_peer *peer);
/* A process asks for its quay; it learns of it. */
void weft_ofi_dock_describe(struct weft_net *net, int process, struct weft_ofi_place *place);
void weft_ofi_dock_told(struct weft_net *net, int process, const struct weft_ofi_place *place);
/* The receive task's: what a process has written, by its event. Errors: PROTOCOL. */
weft_status weft_ofi_undock(struct weft_net *net, const struct weft_ofi_arrival *arrival,
                            struct weft_ofi_message *message);

/* ---- receive.c ---- */

/* Answers a batch whose data is there. */
weft_status weft_ofi_conclude(struct weft_net *net, uint64_t batch);
weft_status weft_ofi_progress_receive(struct weft_net *net, bool *did);
/* 0, or libfabric's error. Lock held. */
ssize_t weft_ofi_post_receive(struct weft_net *net, struct weft_ofi_buffer *buffer);
void weft_ofi_receive_close(struct weft_net *net);

/* ---- answer.c: what goes back to senders. Lock held ---- */

/* What a message says besides its event. Errors: PROTOCOL. */
weft_status weft_ofi_hear(struct weft_net *net, const struct weft_ofi_message *m);
/* Events of a process up to this one have been applied: a receipt is owed. */
void weft_ofi_owe(struct weft_net *net, int process, uint32_t applied, uint64_t now);
/* Those that are due; or all. */
void weft_ofi_send_receipts(struct weft_net *net, uint64_t now, bool all);
/* Questions that could not be answered before. */
void weft_ofi_answer_again(struct weft_net *net);

/* ---- watch.c: a thread that sleeps on the completion queues and rings the tasks' bells ---- */

/* net->watch stays NULL if the provider cannot. Errors: MEMORY, SYSTEM. */
weft_status weft_ofi_watch_open(struct weft_net *net);
void weft_ofi_watch_close(struct weft_net *net);
struct weft_bell *weft_ofi_bell(struct weft_net *net, enum weft_net_side side);
/* The side's task found nothing: if it is about to sleep, watch for it. Lock not held. */
void weft_ofi_watch(struct weft_net *net, enum weft_net_side side);
bool weft_ofi_about_to_sleep(struct weft_net *net, enum weft_net_side side);

/* The text of one of libfabric's error codes. */
const char *weft_ofi_error(long code);

#endif
