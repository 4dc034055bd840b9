/*
 * runtime/gda/queues.h - queues that the ranks of a job drive, and the software NIC that serves
 * them; see gda/queue.h and rank/path/queue.h.
 */
#ifndef WEFT_RUNTIME_GDA_QUEUES_H
#define WEFT_RUNTIME_GDA_QUEUES_H

#include "gda/softnic/block.h"
#include "gda/softnic/engine.h"
#include "runtime/job/job.h"

enum { WEFT_QUEUES_LKEY = 0x200 }; /* local key of counts and sinks */

/* How a NIC finds memory of a process. */
struct weft_queue_region {
    uint64_t key, base; /* network key; address in the process at which the region begins */
};

struct weft_queue_peer {
    uint64_t counts;                   /* address of the NIC's counters in the peer */
    uint64_t key;                      /* network key of the NIC's counters in the peer */
    struct weft_queue_region *regions; /* by rkey, in ascending order */
    uint32_t regions_count;
};

/* The wire's part of a queue. */
struct weft_queue_wire {
    struct weft_job *job;
    struct weft_rank_proxy proxy; /* proxy of requests without a rank */
    bool unflushed;               /* something was handed on since the network was last flushed */
};

struct weft_queues {
    struct weft_softnic nic;
    struct weft_softnic_far far;
    struct weft_gda_keys keys;     /* keys of the NIC; ranks have a copy */
    struct weft_queue_peer *peers; /* by process; under the table lock */

    /* Of the prepared kernel. */
    unsigned char *counts; /* weft_malloc'ed: nic_counts words, then 64 bytes a slot */
    size_t counts_bytes;
    struct weft_softnic_queue
        *list; /* by queue to a process, and process; of the device's NIC: no `works` */
    struct weft_queue_wire *wires;
    uint32_t count;
    unsigned char *there; /* device memory: ranks' ends of queues, their keys, what is placed so */
    struct weft_share there_share;
    unsigned char *host;   /* the device's host_alloc: doorbells, and what is placed there */
    uint64_t failed_since; /* time at which a queue was seen to have failed; 0: none has */

    /* The NIC on the device; NULL and zero where there is none: */
    unsigned char *nic_there; /* device memory: the NIC's ends of queues, and doorbells */
    struct weft_share nic_share;
    struct weft_nic_report *nic_report;
    struct weft_beside beside;
};

/* Says, by weft_open when the network is open, whether this process's ranks drive queues. Errors:
 * CONFIG, MEMORY. */
weft_status weft_queues_open(struct weft_job *job);
void weft_queues_close(struct weft_job *job);

/* How many words NICs count in, for ranks of this process; 0: they drive no queues. */
uint32_t weft_queues_words(const struct weft_job *job);

/* Allocates what NICs count of so many ranks. First in weft_prepare, collective. */
weft_status weft_queues_meet(struct weft_job *job, int ranks);
/* Number of a rank's queues to each process; the rank in slot s has number (s - 1) modulo that. */
int weft_queues_each(const struct weft_job *job);
/* Makes the queues of all ranks, then, while no service runs (make.c). */
weft_status weft_queues_make(struct weft_job *job);
void weft_queues_free(struct weft_job *job);
/* Whether a NIC on the device serves queues to this process; blocks for so many queues, 0: as many
 * as there can be. */
bool weft_nic_wanted(const struct weft_job *job);
int weft_nic_blocks(int queues);
/* Sets a rank's end of its queues. */
void weft_queues_place(struct weft_job *job, weft_self *self);
/* Prepares a run: nothing is counted; keys are of the memory that there is now. */
weft_status weft_queues_reset(struct weft_job *job);
/* Whether all that ranks posted is complete. */
bool weft_queues_quiet(const struct weft_job *job);

/* Notes that a process exposes memory under a key; it begins at `base` there. Table lock held. */
void weft_queues_region(struct weft_job *job, int process, uint64_t key, uint64_t base);
/* Finds a region by rkey. False: there is none. Takes the table lock. */
bool weft_queues_find(struct weft_job *job, int process, uint32_t rkey,
                      struct weft_queue_region *region);

/* ---- wire.c ---- */

extern const struct weft_softnic_wire weft_queues_wire;

#endif
