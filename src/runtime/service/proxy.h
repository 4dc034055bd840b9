/*
 * runtime/service/proxy.h - the host as the proxy of its ranks: commands become puts, what arrives
 * is counted. Progress and receive are two tasks; proxy.h says what each may call.
 */
#ifndef WEFT_RUNTIME_SERVICE_PROXY_H
#define WEFT_RUNTIME_SERVICE_PROXY_H

#include "base/task.h"
#include "net/net.h"
#include "rank/state.h"
#include "ring/command.h"

#include "runtime/service/service.h"

struct weft_job;
struct weft_stage;
struct weft_softnic_work;

/* Head of a record of a pool, in a list of idle ones of one size; they go with the job. */
struct weft_pooled {
    struct weft_pooled *next;
};

/* What the network was given for a command: the cookie of its puts. */
struct weft_part {
    struct weft_part *next;
    struct weft_request *request;

    /* Of a part that went through host memory: */
    unsigned char *memory; /* NULL: the command's puts are all one part, request->whole */
    size_t room;
    uint64_t row, from;           /* part's begin in the rectangle: row, byte */
    uint64_t rows, width;         /* rows of the part, and bytes of each */
    uint64_t issued;              /* rows that the network has accepted */
    uint64_t mark;                /* mark of the copy from the device */
    bool there;                   /* 1: the copy from the device is done */
    uint64_t unsent, undelivered; /* puts not sent; not delivered; one more until all are issued */
};

/* A command that becomes puts: what is left of it, and the rank to tell when they are done. */
struct weft_request {
    struct weft_request *next;
    uint32_t slot;

    struct weft_net_put put; /* all but source and bytes; its offset is that of the first row */
    const unsigned char *source;
    uint64_t rows, width, pitch, source_pitch;
    uint64_t row, done; /* next row to issue, or to fetch; bytes of it that are issued */

    bool staged;           /* 1: the host fetches the data before the network can have it */
    uint64_t piece;        /* staged: bytes fetched at once */
    uint32_t depth, parts; /* staged: parts at once; those that hold host memory now */
    struct weft_part *first, *last; /* under way to the host, or waiting for the network */

    struct weft_asking *asking;        /* NULL: a put; else an ask (ask.h) */
    struct weft_softnic_work *queued;  /* NULL: not of a rank's queue (gda/softnic/engine.h) */
    struct weft_request *next_counted; /* next in the list of its proxy */
    uint32_t holders;                  /* who keeps it: the proxy, and who waits for its delivery */

    struct weft_part whole;
    /* Puts not sent; not delivered. If staged: parts to fetch. One more while not all are begun. */
    uint64_t unsent, undelivered;
    unsigned char *payload; /* room for inline data, or NULL */
};

/* The host's end of one rank's rings. */
struct weft_rank_proxy {
    struct weft_command_consumer commands, logs; /* logs: text.c */
    struct weft_request *first, *last; /* requests from the ring that the network has not all of */
    uint32_t waiting;
    /* Requests that done_local will count, in the ring's order; later ones may be done first. */
    struct weft_request *first_counted, *last_counted;
};

/* What ranks ask of each other's memory: ask.h. */
struct weft_asks {
    struct weft_post *posts;        /* mailbox: WEFT_ASKS places for each process; NULL: none */
    uint64_t key, *keys;            /* network key of this mailbox; by process: of the others' */
    struct weft_asked *asked;       /* by process and place */
    uint32_t *begun, *ended;        /* by process: asks sent; asks answered, in their order */
    struct weft_answering *waiting; /* asks of others, a ring of as many as there are places */
    uint64_t come, ready,
        taken; /* asks in the ring: arrived; whose memory is there; taken by the progress task */
    struct weft_rank_proxy answers; /* proxy of requests without a rank */
};

/* What moves data for ranks that reach others through the host. */
struct weft_proxy {
    struct weft_net *net;
    struct weft_net_caps caps; /* capabilities of the network, when it is open */
    bool net_keeps_memory;     /* the network's dereg or close has said that memory has to stay */
    struct weft_notice_kinds kinds; /* by kind: who applies the notices */
    struct weft_deliveries {        /* delivery.c */
        bool unmarked;              /* 1: the device's stream has something behind its last mark */
        bool busy;                  /* 1: the last mark has not been seen passed */
        uint64_t mark;              /* last mark of the device's stream */
        bool counted; /* 1: the host's memory counts more, and nobody was woken for it yet */
        struct weft_net_device device; /* what the network asks of the device */
    } deliveries;
    uint32_t flush_all; /* the main thread waits until all is delivered: flush */

    struct weft_rank_proxy *of_ranks; /* by slot */
    struct weft_asks asks;
    struct weft_pooled *requests[2], *parts; /* pools, [1]: with a payload; pool of parts */
    struct weft_stage *stage;    /* net/staging.h; NULL: the network reads all sources itself */
    unsigned char *stage_memory; /* memory of `stage`; the network's own (caps.stage), if any */

    struct weft_task progress, receive;
    uint32_t services_run; /* how many of the two tasks run */
    uint64_t spin_ns;      /* ns that an idle service looks on before it sleeps */
    uint32_t stop_services;
    uint32_t services_busy;            /* how many of the two tasks have not ended */
    struct weft_lock progress_lock[2]; /* by side: held by who does a round */
    uint64_t helped;                   /* time at which workers last did rounds for the services */
    uint32_t computed, left;           /* times that workers computed for long; that they left */
    uint32_t watched;                  /* 1: the receive task looks whether workers still help */
    uint64_t look_ns; /* ns that the receive task sleeps, at most; 0: any. Set in its rounds */
    struct weft_bell parked_bell;  /* bell on which the services sleep while workers help */
    struct weft_bell own_bells[2]; /* bells by side, where the network has none to share */
    struct weft_bell *command_bell, *receive_bell;
};

/* ---- network.c ---- */

/*
 * Opens the network that all processes agree on; the nodes are known. Collective, blocking.
 * Errors: CONFIG, the network's own, and the job's failure.
 */
weft_status weft_network_open(struct weft_job *job);

/* ---- proxy.c, request.c, issue.c, progress.c, text.c ---- */

/* Fails the job: a rank sent what no rank sends. */
void weft_command_wrong(struct weft_job *job, uint32_t slot, const struct weft_command *command);
/* Takes what it can from one rank's ring; true if it did anything. Progress task only. */
bool weft_proxy_serve(struct weft_job *job, uint32_t slot);
/* Has the network tell soon when what was handed on for a process is delivered. Non-blocking. */
void weft_flush_process(struct weft_job *job, int process);
void weft_request_sent(void *job, void *part);
void weft_request_delivered(void *job, void *part);
/* Bytes of host memory for puts whose source the network cannot read; 0: there is none. */
size_t weft_requests_stage_bytes(const struct weft_job *job);
/* Prepares requests before the services start. Errors: MEMORY. */
weft_status weft_requests_open(struct weft_job *job);
void weft_requests_close(struct weft_job *job);

/* Bytes of room for a payload. */
size_t weft_request_room(const struct weft_job *job);
/* Makes a request of that rank, with nothing handed on; NULL: the job has failed. */
struct weft_request *weft_request_make(struct weft_job *job, uint32_t slot, bool with_payload);
void weft_request_free(struct weft_job *job, struct weft_request *request);

/* Notes that the source may be reused; the rank counts it when all before it may. */
void weft_request_source_done(struct weft_job *job, struct weft_request *request);
/* Notes that one more of its puts is delivered. The request may be gone after this. */
void weft_request_target_done(struct weft_job *job, struct weft_request *request);
/* Takes a record of that pool's size; NULL: no memory. */
void *weft_pool_take(struct weft_job *job, struct weft_pooled **pool, size_t bytes);

/* The slot of a request that is no rank's. */
#define WEFT_NO_SLOT UINT32_MAX
/* Finds how the network may read a source that is memory of windows, not in the request. */
void weft_request_from_memory(struct weft_job *job, struct weft_request *request);
/* Adds a request, which goes to the network when those before it have. */
void weft_requests_add(struct weft_job *job, struct weft_rank_proxy *proxy,
                       struct weft_request *request);
/*
 * Hands one more put to the network, counted in both. Not OK: not accepted, nor counted. FULL: look
 * again later; STAGE: from host memory; else the job has failed.
 */
weft_status weft_request_hand_over(struct weft_job *job, const struct weft_net_put *put,
                                   uint64_t *unsent, uint64_t *undelivered);

/*
 * Begins copies for the rank's next requests, and hands on to the network what is there, both in
 * order. True: it did anything, or a copy may be under way, which rings no bell: look again.
 */
bool weft_requests_proceed(struct weft_job *job, struct weft_rank_proxy *proxy);

/*
 * ---- delivery.c: how what arrives gets to ranks ----
 *
 * By the device's receive stream, which does things in order. Where the host stores to device
 * memory itself, its own stores take the place of the stream. On the receive side, one thread at a
 * time.
 */

/* Registers the notices COUNT and BARRIER, before the network is opened. */
void weft_delivery_open(struct weft_job *job);

/*
 * For answers (ask.h). bool: false, the device failed. copy: for the rank in `slot`, or the host
 * program, whose memory may be unknown to the device. store: a word of the host's, after all that
 * was copied. count: one more of a tag, after the same. mark and reached: as weft_net_device's
 * mark and settled; always there on a device without a stream.
 */
bool weft_delivery_copy(struct weft_job *job, uint32_t slot, void *target, const void *source,
                        size_t bytes);
bool weft_delivery_store(struct weft_job *job, uint32_t *word, uint32_t value);
bool weft_delivery_count(struct weft_job *job, uint32_t slot, uint32_t tag);
void weft_delivery_arrived(void *job); /* wakes who waits for what was counted, once for all */
bool weft_delivery_settle(void *job);  /* waits for all that has come so far */
bool weft_delivery_mark(void *job, uint64_t *mark);
bool weft_delivery_reached(void *job, uint64_t mark, bool *there);

/* ---- progress.c ---- */

/* Starts and stops the progress and receive tasks. */
weft_status weft_services_start(struct weft_job *job);
void weft_services_stop(struct weft_job *job);
/* What weft_launch wants of the services: threads that run ranks do their work. */
void weft_services_posted(void *job, int rank);
bool weft_services_help(void *job, uint64_t now);
/* Does a module's round now, since it has something to send; or leaves it to who is at it. */
void weft_services_send(struct weft_job *job, weft_service_round *round);
/* Looks at the network once, for a side; errors fail the job. By who holds the side's lock. */
bool weft_services_drive(struct weft_job *job, enum weft_net_side side);
void weft_services_leave(void *job);

/* Lets ranks end: both services have seen that the job failed, and touch nothing any more. */
void weft_services_are_quiet(struct weft_job *job);

#endif
