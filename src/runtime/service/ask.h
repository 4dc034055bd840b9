/*
 * runtime/service/ask.h - what ranks ask of memory that they may not reach themselves (abi/ask.h).
 *
 * The asking process (ask.c) makes a request of a rank's command, like a put: it goes to the
 * network in its turn, in one ask or, where the answer has to come through the mailbox, in several.
 * A long answer does not: its memory is lent to the network until it is there. When the last ask
 * has been answered, the receive task tells the rank.
 *
 * The owner (answer.c) changes its memory at once when an ask arrives, so that what comes behind it
 * finds it changed. What it sends back is a request of its own, without a rank.
 */
#ifndef WEFT_RUNTIME_SERVICE_ASK_H
#define WEFT_RUNTIME_SERVICE_ASK_H

#include "abi/ask.h"
#include "runtime/job/job.h"

/* An ask of this process that is under way. The progress task fills it in; the receive task reads
 * it when it is answered. */
struct weft_asked {
    struct weft_softnic_work *queued; /* request of a rank's queue; NULL: a rank asks itself */
    uint32_t slot;
    void *to; /* where the answer's bytes go from the mailbox; NULL: nowhere */
    uint32_t bytes;
    int32_t tag; /* tag to notify, -1: none */
    bool to_link, last;
    bool lent;                             /* ask.reply_key: of memory lent for it alone */
    struct weft_ask ask;                   /* the ask as it is sent */
    unsigned char operands[WEFT_ASK_ROOM]; /* operands sent behind the ask */
};

/* An ask of another process, kept as it came, since its sender may write there again. */
struct weft_answering {
    struct weft_ask ask;
    uint32_t place;
    bool fetched;  /* 1: what a get wants is in the mailbox already */
    uint64_t mark; /* mark behind what the device has to get before */
};

/* What a request of a rank's ask has besides. */
struct weft_asking {
    struct weft_ask ask;  /* ask of the next piece */
    bool to_link, direct; /* answer goes to the rank's link; or to memory that is exposed */
    bool lent;            /* 1: memory was registered for the answer alone */
    int32_t tag;          /* tag to notify, -1: none */
};

/* Prepares asks before the network is opened; registers the notices ASK and ANSWER. */
weft_status weft_asks_open(struct weft_job *job);
/* Exposes the mailbox; *key goes to the others. Errors: those of the network's reg. */
weft_status weft_asks_expose(struct weft_job *job, uint64_t *key);
static inline size_t weft_asks_bytes(const struct weft_job *job)
{
    return (size_t)job->numbers.processes * WEFT_ASKS * sizeof(struct weft_post);
}

/* Finds where the answer can be put without the mailbox: in memory that the network knows. Other
 * memory of a long get is lent to it until the get is answered (weft_net_lend: the program may use
 * a buffer again as soon as the job has failed). The request is made but for that. Table lock held.
 */
void weft_ask_find_reply(struct weft_job *job, struct weft_request *request);
/* Sends what is left of a request that asks. True: all of it is sent. Progress task only. */
bool weft_ask_issue(struct weft_job *job, struct weft_request *request);

/* answer.c */
/* Updates reals of 16 bits of device memory, which no errand takes: by swaps of the words around
 * them. bytes: at most WEFT_ASK_ROOM. False: the device failed. */
bool weft_answer_halves(struct weft_job *job, unsigned char *memory, struct weft_change change,
                        const unsigned char *operands, uint64_t bytes);
weft_status weft_answer_take(void *job, const struct weft_net_delivery *delivery);

#endif
