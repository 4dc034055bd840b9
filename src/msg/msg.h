/*
 * msg/msg.h - messages between host programs: the state of a job, and what the files offer each
 * other. README.md says how a message travels.
 *
 * One lock is over all of it. Who waits in a call does rounds himself; while nobody does, the
 * receive task does. So a call takes the lock, does its part, and looks at what has arrived only
 * where it has to wait. Locks that come before it: `progress_lock` (runtime/service/proxy.h). The
 * job's tables are not waited for under it, since who watches waits has them locked.
 */
#ifndef WEFT_MSG_MSG_H
#define WEFT_MSG_MSG_H

#include "base/say.h"
#include "msg/context.h"
#include "msg/transfer.h"
#include "ring/mail.h"
#include "ring/shared.h"
#include "runtime/job/job.h"

/* A message that no receive fits, in one block of memory. Its sender stays within its credit. */
struct weft_unexpected {
    struct weft_kept kept; /* first member: matching points to it */
    struct weft_mail_head head;
    struct weft_mail_text text; /* with the payload, if it fits */
    unsigned char payload[];
};
static_assert(sizeof(struct weft_unexpected) <= 104, "a million of them fit 128 MiB");

/* A frame that waits for room, behind those before it. */
struct weft_outgoing {
    STAILQ_ENTRY(weft_outgoing) link;
    struct weft_mail_head head;
    struct weft_mail_text text;
    const void *payload;            /* NULL: there is none, or it is in text */
    struct weft_transfer *transfer; /* a send that is complete when the frame has gone; or NULL */
};

enum { WEFT_MSG_ROWS = 32 };

/* What this process shares with those that map it; the rings follow, one for each process. */
struct weft_msg_box {
    struct weft_bell watch; /* has a sleeper: senders wake it (far.c); rung: its sleeps so far */
    unsigned char unused[64 - sizeof(struct weft_bell)];
    uint32_t attends; /* 1: a thread of the program waits and looks here; a hint */
    uint32_t not_used[15];
    struct weft_shared_row rows[WEFT_MSG_ROWS]; /* of teams (coll/host/shared.h) */
};
static_assert(sizeof(struct weft_msg_box) % 64 == 0, "the rings begin at a line of their own");

/* The way of frames that this process does not store itself: far.c. */
struct weft_far {
    unsigned char *shadow;             /* copy of the peer's ring; the network reads it */
    uint64_t key, offset;              /* the peer's ring: key of its region, byte offset in it */
    uint32_t units;                    /* size of the peer's ring, in units of 64 bytes */
    uint32_t head, posted, seen;       /* units written to shadow; given to the network; freed */
    const unsigned char *in;           /* ring of this process that the peer writes */
    uint32_t in_units, tail;           /* size of `in` in units; unit of its next frame */
    uint32_t told, told_taken;         /* `tail` and `took`, as the peer was last told */
    bool hears;                        /* frames of the peer have come by the network */
    struct weft_transfer_list written; /* receives that the peer puts into, in order of the PUTs */
};

struct weft_msg_peer {
    /* Frames to the peer: by memory that this process maps (out.ring not NULL), or by `far`. */
    struct weft_mail_end out;
    struct weft_mail_end in;
    struct weft_msg_box *box; /* the peer's box, mapped here; NULL: not mapped */
    struct weft_share share;
    struct weft_bell *bell; /* the bell on which the peer's program sleeps */
    uint32_t woken;         /* box->watch.rung when the peer was last woken */
    bool wakes;             /* the progress task has to send the peer a wake-up */
    struct weft_far far;

    uint32_t eager; /* bytes of the longest message that goes at once */
    uint32_t piece; /* bytes of the longest piece of a larger message */
    uint32_t most;  /* units of payload that the peer may keep of this process */
    uint32_t given; /* units of payload that were sent to the peer */
    uint32_t taken; /* units of `given` that the peer keeps no more, as last known */
    uint32_t took;  /* units of the peer's payload that this process keeps no more */
    bool poor;      /* the log has said that the peer has no room for payload */

    bool reads;      /* this process can read the peer's memory */
    int32_t pid;     /* of the peer, for process_vm_readv and process_vm_writev */
    uint32_t copies; /* receives here that the peer was asked to copy into and has not yet */
    STAILQ_HEAD(, weft_outgoing) outgoing;
};

struct weft_messages {
    struct weft_job *job;
    struct weft_lock lock;
    struct weft_msg_peer *peers; /* by process */
    int *mapped, mapped_count;   /* processes of this node: their frames come by memory */
    struct weft_msg_box *box;
    struct weft_share share;
    uint64_t key;   /* network key of `box` */
    bool exposed;   /* `box` is registered with the network */
    uint64_t nonce; /* others read it to learn whether they can read this process's memory */
    uint32_t keeps; /* units of payload that this process keeps of each other one, at most */

    /* Who looks at what arrives (engine.c). */
    uint32_t attending;   /* threads of the program that wait */
    uint32_t waits, seen; /* waits so far; `waits` at the receive task's last look */
    bool armed, woken;    /* box->watch has a sleeper, the receive task; a notice WAKE came */
    bool active;          /* the receive task looks at intervals and does not arm the watch */
    uint32_t quiet;       /* looks of the receive task in a row since which no thread waited */
    uint32_t reads;       /* messages read from their senders' memory in this round */
    uint32_t vain;        /* times that a thread looked and found nothing */
    bool completed;       /* something that a thread may wait for came since the lock was taken */
    bool posted;          /* the progress task was given something since the lock was taken */

    /* drive: proceeds with `plans`, without the lock; task: the receive task calls. True: anything
     * moved. */
    uint32_t plans; /* collectives of coll/host that are active */
    bool (*drive)(struct weft_job *job, bool task);

    unsigned char *stage; /* WEFT_MSG_STAGES parts (copy.h); NULL: the host reaches the device */
    size_t staged;        /* bytes in part DELIVER that are on their way to the device */
    uint64_t fetched;     /* number of the send whose bytes are in part PIECES; 0: none */
    size_t fetched_at, fetched_bytes; /* offset of those bytes in the send; how many */
    struct weft_contexts contexts;
    struct weft_transfer_table transfers;
    struct weft_transfer_list moving; /* transfers that rounds read, write or send in pieces */
    struct weft_transfer_list puts;   /* sends that far.c has to put */
    uint32_t outgoing;                /* frames that wait for room, of all peers */
    struct weft_rank_proxy posts;     /* requests to the network, without a rank */
    unsigned long long eager, offers, read, granted, shared, put, copied; /* for WEFT_LOG=info */
};

/* The ring in a box into which a process puts its frames; size: of the box's rings. */
static inline struct weft_mail_ring *weft_msg_ring(struct weft_msg_box *box, uint32_t size,
                                                   int process)
{
    return (void *)((unsigned char *)(box + 1) + (size_t)process * weft_mail_ring_bytes(size));
}

/* ---- engine.c -------------------------------------------------------------------------------- */

static inline void weft_msg_lock(struct weft_messages *m)
{
    weft_lock(&m->lock);
}
/* Gives the lock up, wakes who waits for what was completed, and sends what was posted. */
void weft_msg_unlock_all(struct weft_messages *m);
static inline void weft_msg_unlock(struct weft_messages *m)
{
    if (m->completed || m->posted)
        weft_msg_unlock_all(m);
    else
        weft_unlock(&m->lock);
}

/*
 * Looks at all that has arrived and goes on with what is under way. True: anything moved. Lock
 * held. After an error the job fails, and nothing more happens.
 */
bool weft_msg_round(struct weft_messages *m);

/* Sends a frame to a process, unless others wait or room is missing: false. payload: head.count
 * bytes, NULL where they are in text. Lock held. */
bool weft_msg_try(struct weft_messages *m, int process, struct weft_mail_head head,
                  const struct weft_mail_text *text, const void *payload);
/* Sends a frame in its turn. False: it waits for room, and the payload must stay until it has gone;
 * then the send `transfer`, if not NULL, which is QUEUED, goes on. Lock held. */
bool weft_msg_send(struct weft_messages *m, int process, struct weft_mail_head head,
                   const struct weft_mail_text *text, const void *payload,
                   struct weft_transfer *transfer);
/* Removes the frame of a send that is QUEUED: it will not be sent. Lock held. */
void weft_msg_unqueue(struct weft_messages *m, const struct weft_transfer *transfer);
/* Whether a frame to the peer would go at once, by memory, if its ring has room. */
static inline bool weft_msg_is_open(const struct weft_msg_peer *peer)
{
    return peer->out.ring != NULL && STAILQ_EMPTY(&peer->outgoing);
}
/* Random mode: tells the model that buffers of the program, sent into the peer's ring, are read. */
static inline void weft_msg_reuse(const struct weft_msg_peer *peer)
{
    if (WEFT_UNLIKELY(weft_model != NULL) && peer->out.ring != NULL)
        weft_reuse(peer->out.ring, peer->share.bytes);
}
/* Sends frames that waited for room, as far as there is room now. True: any went. Lock held. */
bool weft_msg_flush(struct weft_messages *m, int process);
/* Whether a receiver has room to keep `need` units of payload more, which may then go along. _more:
 * looks again at what the receiver keeps no more, where memory tells it. */
bool weft_msg_may_keep_more(struct weft_messages *m, struct weft_msg_peer *peer, uint32_t need);
static inline bool weft_msg_may_keep(struct weft_messages *m, struct weft_msg_peer *peer,
                                     uint32_t need)
{
    return need == 0 || peer->given - peer->taken + need <= peer->most ||
           weft_msg_may_keep_more(m, peer, need);
}
/* `units` units of payload that came from a process are kept no more; it will learn that. */
void weft_msg_took(struct weft_messages *m, int process, uint32_t units);

/* Has the progress task send a notice WAKE to a peer's receive task, once for each sleep: it sleeps
 * on a bell that others do not reach. locked: the caller holds the lock; else this takes it. */
void weft_msg_wake_task(struct weft_messages *m, struct weft_msg_peer *peer, bool locked);
/*
 * Wakes the program, or the task, of a process to which frames went by memory. after_unlock: right
 * after weft_msg_unlock, which is a fence.
 */
static inline void weft_msg_wake(struct weft_messages *m, struct weft_msg_peer *peer,
                                 bool after_unlock)
{
    if (after_unlock)
        weft_bell_ring_added(peer->bell);
    else
        weft_bell_ring(peer->bell);
    if (WEFT_UNLIKELY(weft_bell_has_sleeper(&peer->box->watch)))
        weft_msg_wake_task(m, peer, !after_unlock);
}

/* Applies a frame that has arrived. False: it is malformed; nothing has happened. Lock held. */
bool weft_msg_take(struct weft_messages *m, int process, struct weft_mail_head head,
                   const struct weft_mail_text *text, const unsigned char *payload);

/* The job fails: memory for `what` is missing. */
void weft_msg_no_memory(struct weft_messages *m, const char *what);
/* Notes the error PROTOCOL, for a frame that is malformed, and returns it. */
weft_status weft_msg_malformed(int process, struct weft_mail_head head,
                               const struct weft_mail_text *text);

/* weft_msg_attend: a thread of the program begins to wait; _leave: it has waited. Lock held. */
void weft_msg_attend(struct weft_messages *m);
void weft_msg_leave(struct weft_messages *m);
/* Does one round for a thread of the program that looks but does not wait. Lock held. */
void weft_msg_glance(struct weft_messages *m);
/* Whether plans are active: they may go on with what has completed. The lock is not needed. */
static inline bool weft_msg_has_plans(const struct weft_messages *m)
{
    return __atomic_load_n(&m->plans, __ATOMIC_RELAXED) != 0;
}
static inline bool weft_msg_drive(struct weft_messages *m, bool task)
{
    return weft_msg_has_plans(m) && m->drive(m->job, task);
}

/* ---- deliver.c ------------------------------------------------------------------------------- */

/* A transfer is complete; threads that wait are woken when the lock is given up. Lock held. */
void weft_msg_complete(struct weft_messages *m, struct weft_transfer *transfer);
/* A receive takes a message that was kept, whose record is freed. Lock held. */
void weft_msg_receive_kept(struct weft_messages *m, struct weft_transfer *transfer,
                           struct weft_unexpected *unexpected);
/* Takes a frame EAGER or OFFER: a receive gets it, or it is kept. False: malformed. Lock held. */
bool weft_msg_take_message(struct weft_messages *m, int process, struct weft_mail_head head,
                           const struct weft_mail_text *text, const unsigned char *payload);

/* ---- rendezvous.c ---------------------------------------------------------------------------- */

/* Sends TAKEN, COPIED or GRANT (kind) to the other side of a transfer. Lock held. */
void weft_msg_answer(struct weft_messages *m, const struct weft_transfer *transfer,
                     enum weft_mail_kind kind);
/* A receive has met an offer: reads its bytes, or asks the sender for them. Lock held. */
void weft_msg_pull(struct weft_messages *m, struct weft_transfer *transfer);
/* Goes on with the next transfer of `moving`, which is not empty. True: bytes moved. Lock held. */
bool weft_msg_move(struct weft_messages *m);
/* weft_msg_recall: asks for the message of a send that is SENT; if it comes back, the send is over,
 * with tag ANY. _take_recall: the other side gives the message back if no receive has met it. */
void weft_msg_recall(struct weft_messages *m, struct weft_transfer *transfer);
void weft_msg_take_recall(struct weft_messages *m, int process, const struct weft_mail_text *text);
/* Take a frame TAKEN (back: RECALLED), COPIED, GRANT, PUT, PIECE. False: malformed. Lock held. */
bool weft_msg_take_taken(struct weft_messages *m, int process, bool back,
                         const struct weft_mail_text *text);
bool weft_msg_take_copied(struct weft_messages *m, int process, const struct weft_mail_text *text);
bool weft_msg_take_grant(struct weft_messages *m, int process, const struct weft_mail_text *text);
bool weft_msg_take_put(struct weft_messages *m, int process, const struct weft_mail_text *text);
bool weft_msg_take_piece(struct weft_messages *m, int process, struct weft_mail_head head,
                         const struct weft_mail_text *text, const unsigned char *payload);

/* ---- far.c ----------------------------------------------------------------------------------- */

/* Writes a frame into the shadow of a peer's ring; the progress task puts it. False: no room. */
bool weft_far_push(struct weft_messages *m, int process, struct weft_mail_head head,
                   const struct weft_mail_text *text, const void *payload);
/* Tells a process what this one has read and keeps no more, if that is much by now. Lock held. */
void weft_far_credit(struct weft_messages *m, int process);
/* Takes a frame CREDIT: what a process has read and keeps no more. False: malformed. Lock held. */
bool weft_far_credited(struct weft_messages *m, int process, const struct weft_mail_text *text);
/* The progress task's round: puts frames from shadows, messages, wake-ups. True: any went. */
bool weft_far_round(struct weft_job *job);
/* Whether the network puts what a receive has met into its buffer; then its sender is sent PUT. */
bool weft_far_ask(struct weft_messages *m, struct weft_transfer *transfer);
/* Applies a notice MESSAGE, in the receive task (weft_notice_apply). context: the job. */
weft_status weft_far_take(void *job, const struct weft_net_delivery *delivery);

/* ---- wait.c ---------------------------------------------------------------------------------- */

/*
 * Blocks, with rounds, until ready(m, what) holds, `seconds` at most (INFINITY: no limit; TIMEOUT).
 * The lock is held before and, if it returns OK, after; else it was given up. number: of the
 * transfer that the watchdog names; 0: none.
 */
weft_status weft_msg_wait(struct weft_messages *m, const char *call,
                          bool (*ready)(struct weft_messages *m, void *what), void *what,
                          uint64_t number, double seconds);
/* Does rounds for as long as an idle worker polls; true: ready(m, what) holds. The thread attends.
 * Lock held, and given up now and then. In random mode it does nothing. */
bool weft_msg_spin(struct weft_messages *m, bool (*ready)(struct weft_messages *m, void *what),
                   void *what, double seconds);

/* For a thread that looked, does not wait and found nothing: plans go on, other threads run, the
 * network is helped. The lock is not held. */
void weft_msg_idle(struct weft_messages *m);

/* ---- explain.c ------------------------------------------------------------------------------- */

/* Closing thread: says which messages were never received, and which operations never completed. */
void weft_msg_leftovers(struct weft_messages *m);

#endif
