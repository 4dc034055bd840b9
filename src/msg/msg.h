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
    struct weft_kept kept; /* first: matching knows it by that */
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
    struct weft_bell watch; /* nobody looks: who sends has to wake it (far.c). rung: times so far */
    unsigned char unused[64 - sizeof(struct weft_bell)];
    uint32_t attends; /* 1: a thread of the program waits, and looks; a hint */
    uint32_t not_used[15];
    struct weft_shared_row rows[WEFT_MSG_ROWS]; /* of the layer above */
};
static_assert(sizeof(struct weft_msg_box) % 64 == 0, "the rings begin at a line of their own");

/* The way of frames that this process does not store itself: far.c. */
struct weft_far {
    unsigned char *shadow;             /* what is in the ring over there */
    uint64_t key, offset;              /* that ring, to the network */
    uint32_t units;                    /* of 64 bytes, in both directions: */
    uint32_t head, posted, seen;       /* written to the shadow; given to the network; free again */
    const unsigned char *in;           /* the ring here, */
    uint32_t in_units, tail;           /* its size; the next frame there */
    uint32_t told, told_taken;         /* what the other side knows of `tail` and `took` */
    bool hears;                        /* frames came this way */
    struct weft_transfer_list written; /* receives that are put into, in the order of their PUTs */
};

struct weft_msg_peer {
    /* Frames to it, by memory that this process maps (out.ring not NULL), or far. */
    struct weft_mail_end out;
    struct weft_mail_end in;
    struct weft_msg_box *box; /* its own, mapped; NULL: it is not */
    struct weft_share share;
    struct weft_bell *bell; /* on which its program sleeps */
    uint32_t woken;         /* box->watch.rung when it was woken at last */
    bool wakes;             /* a wake-up is for the progress task to send */
    struct weft_far far;

    uint32_t eager; /* most bytes of a message that goes at once */
    uint32_t piece; /* and of a piece */
    uint32_t most;  /* units of payload that it may keep, */
    uint32_t given; /* that were sent to it, */
    uint32_t taken; /* and that it keeps no more, as far as is known */
    uint32_t took;  /* the same of what it has sent here */
    bool poor;      /* it was said that it keeps no more payload */

    bool reads;      /* this process can read its memory */
    int32_t pid;     /* by which it is read and written */
    uint32_t copies; /* receives of this process that it was asked to copy into, and has not */
    STAILQ_HEAD(, weft_outgoing) outgoing;
};

struct weft_messages {
    struct weft_job *job;
    struct weft_lock lock;
    struct weft_msg_peer *peers; /* by process */
    int *mapped, mapped_count;   /* those that send by memory */
    struct weft_msg_box *box;
    struct weft_share share;
    uint64_t key;   /* of the box, to the network; */
    bool exposed;   /* it is given to it */
    uint64_t nonce; /* by which another finds out whether it reads this process's memory */
    uint32_t keeps; /* units of payload that it keeps of each other process */

    /* Who looks at what arrives (engine.c). */
    uint32_t attending;   /* threads of the program that wait */
    uint32_t waits, seen; /* waits so far; when the receive task looked last */
    bool armed, woken;    /* box->watch has this process as a sleeper; it was woken */
    bool active;          /* the receive task looks often, */
    uint32_t quiet;       /* and so often in a row there were no waits since its last look */
    uint32_t reads;       /* messages that were read where they lay, in this round */
    uint32_t vain;        /* times that a thread looked and found nothing */
    bool completed;       /* since the lock was taken, something that a thread may wait for */
    bool posted;          /* since then, something that the progress task sends */

    /* Of a layer above: what goes on when messages complete; drive: without the lock; task: the
     * receive task does. True: anything moved. */
    uint32_t plans; /* how many */
    bool (*drive)(struct weft_job *job, bool task);

    unsigned char *stage; /* copy.h: WEFT_MSG_STAGES parts */
    size_t staged;        /* bytes of the last part that are on their way to the device */
    uint64_t fetched;     /* the send whose next bytes are in a part; 0: none */
    size_t fetched_at, fetched_bytes; /* which bytes of it */
    struct weft_contexts contexts;
    struct weft_transfer_table transfers;
    struct weft_transfer_list moving; /* in pieces, read or sent: rounds go on with them */
    struct weft_transfer_list puts;   /* sends that far.c puts */
    uint32_t outgoing;                /* frames that wait for room, in all */
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
/* Wakes who waits for what was completed, and sends what was posted. */
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

/*
 * Sends a frame, if it can go now. payload: head.count bytes, NULL where they are in text. Lock
 * held.
 */
bool weft_msg_try(struct weft_messages *m, int process, struct weft_mail_head head,
                  const struct weft_mail_text *text, const void *payload);
/*
 * Sends a frame in its turn. False: it waits for room, and the payload stays until then; of a send
 * that is QUEUED `transfer` then goes on. Lock held.
 */
bool weft_msg_send(struct weft_messages *m, int process, struct weft_mail_head head,
                   const struct weft_mail_text *text, const void *payload,
                   struct weft_transfer *transfer);
/* The frame of a send that is QUEUED does not go. Lock held. */
void weft_msg_unqueue(struct weft_messages *m, const struct weft_transfer *transfer);
/* Whether it would go at once, by memory. */
static inline bool weft_msg_is_open(const struct weft_msg_peer *peer)
{
    return peer->out.ring != NULL && STAILQ_EMPTY(&peer->outgoing);
}
/* Random mode: what went from buffers of the program into the peer's ring is read now. */
static inline void weft_msg_reuse(const struct weft_msg_peer *peer)
{
    if (WEFT_UNLIKELY(weft_model != NULL) && peer->out.ring != NULL)
        weft_reuse(peer->out.ring, peer->share.bytes);
}
/* Frames that waited, as far as there is room now. */
bool weft_msg_flush(struct weft_messages *m, int process);
/* Whether so many units of payload may go along: their receiver has room to keep them. more: it is
 * asked what it keeps no more. */
bool weft_msg_may_keep_more(struct weft_messages *m, struct weft_msg_peer *peer, uint32_t need);
static inline bool weft_msg_may_keep(struct weft_messages *m, struct weft_msg_peer *peer,
                                     uint32_t need)
{
    return need == 0 || peer->given - peer->taken + need <= peer->most ||
           weft_msg_may_keep_more(m, peer, need);
}
/* So many units of payload that came from a process are kept no more. */
void weft_msg_took(struct weft_messages *m, int process, uint32_t units);

/* The receiver's task sleeps on a bell that others do not reach: a notice wakes it. */
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

/* A frame that has arrived takes effect. False: it cannot be; nothing has happened. Lock held. */
bool weft_msg_take(struct weft_messages *m, int process, struct weft_mail_head head,
                   const struct weft_mail_text *text, const unsigned char *payload);

/* The job fails: memory for `what` is missing. */
void weft_msg_no_memory(struct weft_messages *m, const char *what);
/* PROTOCOL, said: a frame cannot be. */
weft_status weft_msg_malformed(int process, struct weft_mail_head head,
                               const struct weft_mail_text *text);

/* A thread of the program begins to wait, or has waited. Lock held. */
void weft_msg_attend(struct weft_messages *m);
void weft_msg_leave(struct weft_messages *m);
/* A thread that does not wait looks once. Lock held. */
void weft_msg_glance(struct weft_messages *m);
/* What has completed may let plans go on. Lock free. */
static inline bool weft_msg_has_plans(const struct weft_messages *m)
{
    return __atomic_load_n(&m->plans, __ATOMIC_RELAXED) != 0;
}
static inline bool weft_msg_drive(struct weft_messages *m, bool task)
{
    return weft_msg_has_plans(m) && m->drive(m->job, task);
}

/* ---- deliver.c ------------------------------------------------------------------------------- */

/* It is over; who waits is woken when the lock is given up. */
void weft_msg_complete(struct weft_messages *m, struct weft_transfer *transfer);
/* A receive has met a message that was kept: takes it, and the record is free. */
void weft_msg_receive_kept(struct weft_messages *m, struct weft_transfer *transfer,
                           struct weft_unexpected *unexpected);
/* The frames; false: they are malformed. */
bool weft_msg_take_message(struct weft_messages *m, int process, struct weft_mail_head head,
                           const struct weft_mail_text *text, const unsigned char *payload);

/* ---- rendezvous.c ---------------------------------------------------------------------------- */

/* Tells the sender of what a receive has met. */
void weft_msg_answer(struct weft_messages *m, const struct weft_transfer *transfer,
                     enum weft_mail_kind kind);
/* A receive has met an offer: reads it, or asks for it. */
void weft_msg_pull(struct weft_messages *m, struct weft_transfer *transfer);
/* Goes on with what is read or sent in pieces. True: anything moved. */
bool weft_msg_move(struct weft_messages *m);
/* Asks for the message of a send that is SENT. If it comes back, the send is over, with tag ANY. */
void weft_msg_recall(struct weft_messages *m, struct weft_transfer *transfer);
void weft_msg_take_recall(struct weft_messages *m, int process, const struct weft_mail_text *text);
/* back: it was recalled. */
bool weft_msg_take_taken(struct weft_messages *m, int process, bool back,
                         const struct weft_mail_text *text);
bool weft_msg_take_copied(struct weft_messages *m, int process, const struct weft_mail_text *text);
bool weft_msg_take_grant(struct weft_messages *m, int process, const struct weft_mail_text *text);
bool weft_msg_take_put(struct weft_messages *m, int process, const struct weft_mail_text *text);
bool weft_msg_take_piece(struct weft_messages *m, int process, struct weft_mail_head head,
                         const struct weft_mail_text *text, const unsigned char *payload);

/* ---- far.c ----------------------------------------------------------------------------------- */

/* As weft_mail_push. */
bool weft_far_push(struct weft_messages *m, int process, struct weft_mail_head head,
                   const struct weft_mail_text *text, const void *payload);
/* Tells the other side of room that it has again, if it is time to. */
void weft_far_credit(struct weft_messages *m, int process);
/* A process says how much it has taken. False: it cannot be. */
bool weft_far_credited(struct weft_messages *m, int process, const struct weft_mail_text *text);
/* The progress task's round: frames that were written to shadows, wake-ups. */
bool weft_far_round(struct weft_job *job);
/* Whether a receive of what process `peer` offers can be put into; then PUT goes to it. */
bool weft_far_ask(struct weft_messages *m, struct weft_transfer *transfer);
/* The notice MESSAGE. */
weft_status weft_far_take(void *job, const struct weft_net_delivery *delivery);

/* ---- wait.c ---------------------------------------------------------------------------------- */

/*
 * Waits, with rounds, until ready(m, what) holds, so many seconds at most (INFINITY: for ever;
 * TIMEOUT). The lock is held before and, if it returns OK, after; else it is free. number: of the
 * transfer that the watchdog names; 0: none.
 */
weft_status weft_msg_wait(struct weft_messages *m, const char *call,
                          bool (*ready)(struct weft_messages *m, void *what), void *what,
                          uint64_t number, double seconds);
/*
 * Looks, for a while. Others have the lock now and then. True: it is ready. The thread attends; in
 * random mode nobody looks.
 */
bool weft_msg_spin(struct weft_messages *m, bool (*ready)(struct weft_messages *m, void *what),
                   void *what, double seconds);

/*
 * A thread that does not wait found nothing: plans go on, others run, the network is helped. Lock
 * free.
 */
void weft_msg_idle(struct weft_messages *m);

/* ---- explain.c ------------------------------------------------------------------------------- */

/* At the end: what was never received, and never completed. */
void weft_msg_leftovers(struct weft_messages *m);

#endif
