/*
 * window/state.h - what a kernel sees of its process (weft_state) and of itself (weft_self).
 *
 * Who writes what: the host fills weft_state before the launch and, while the kernel runs, only
 * the tables (before the reply that announces them), the host counters and `stop`. A weft_self
 * belongs to its rank, but for the link, which the host writes and the rank reads.
 *
 * Counters: each (slot, tag) has three words, since adds of different agents must not share one:
 * `local` is added to by ranks of this process, `peer` by ranks of processes that map it, `host`
 * is stored by this process's receive thread alone. The count is their sum; it wraps.
 */
#ifndef WEFT_WINDOW_STATE_H
#define WEFT_WINDOW_STATE_H

#include "base/atomic.h"
#include "base/task.h"
#include "device/port.h"
#include "queue/command_ring.h"
#include "weft/device.h"
#include "window/table.h"
#include "wire/notice.h"

/* Three words a counter, for the tags of every slot and for the barriers of every communicator. */
struct weft_counters {
    uint32_t *local;
    uint32_t *peer; /* in memory that other processes map */
    uint32_t *host;
};

/* What other processes of the host map of this one: bell, then the `peer` words. */
struct weft_exposed {
    struct weft_bell bell; /* its ranks' and its host program's */
    uint32_t pad[14];
    uint32_t words[];
};

struct weft_process_entry {
    int32_t first_rank, ranks;
    struct weft_exposed *exposed; /* mapped; NULL: reach it through the host proxy */
};

struct weft_state {
    int32_t process, processes, ranks; /* ranks of the whole job */
    struct weft_process_entry *process_table;
    struct weft_exposed *exposed;  /* this process's own */
    struct weft_counters counters; /* first the tags of all slots, then the barrier words */
    uint32_t *barrier_consumed;    /* by communicator's leader; same indexes from 0 */
    struct weft_window *windows;
    uint32_t windows_count; /* length of the table */
    struct weft_comm_entry *comms;
    uint32_t comms_count;
    uint32_t inline_bytes;
    uint32_t proxied; /* non-zero: someone may reach this process through its host counters */
    uint32_t stop;    /* non-zero: the job has failed, ranks must end */
    struct weft_bell *command_bell; /* of the progress thread */
    double *intervals;              /* timers */
    uint32_t intervals_most, intervals_count;
    uint64_t timer_started;
};

/* What the host writes for one rank. */
struct weft_link {
    uint32_t credit;     /* of its command ring */
    uint32_t done_local; /* puts whose source may be reused */
    uint32_t reply;      /* collectives answered; after the answer */
    struct weft_answer {
        uint32_t value; /* a handle */
        uint32_t status;
    } answer;
    uint32_t done_remote[]; /* puts and notices landed, by target process */
};

/* For the watchdog only: what a rank waits for. Orders nothing; read while it is written. */
enum weft_wait_kind {
    WEFT_WAIT_NONE,
    WEFT_WAIT_TAG,     /* a: tag, have, need */
    WEFT_WAIT_UNTIL,   /* a: address, have: value there, need: value wanted */
    WEFT_WAIT_BARRIER, /* a: communicator */
    WEFT_WAIT_SPACE,   /* room in the command ring */
    WEFT_WAIT_LOCAL,   /* flush_local */
    WEFT_WAIT_REMOTE,  /* a: process */
    WEFT_WAIT_REPLY,   /* a: weft_collective_op */
    WEFT_WAIT_PROCESS  /* host program only; a: process, need: weft_exchange_op */
};

struct weft_waiting {
    uint32_t kind;
    uint32_t episode; /* one more for each wait */
    uint64_t a, have, need;
};

struct weft_self {
    struct weft_port port; /* first: device/ knows a rank by it */
    struct weft_state *state;
    struct weft_link *link;
    uint32_t slot;
    int32_t rank; /* in the world; -1: the host program */
    struct weft_command_producer commands;
    uint32_t sent;      /* commands whose source matters to flush_local */
    uint32_t *sent_to;  /* commands, by target process */
    uint32_t replies;   /* collectives asked for */
    uint32_t *settled;  /* last done_remote seen, by process */
    uint32_t *barriers; /* done, by communicator index */
    uint32_t consumed[WEFT_TAGS];
    weft_status failure; /* of the last collective */
    struct weft_waiting waiting;
};

/* Index of the first barrier word: communicator c has WEFT_BARRIER_WORDS from c times that on. */
#define WEFT_BARRIER_AT (WEFT_SLOTS * WEFT_TAGS)

/* Index of a tag's counter of a slot; the same in every process. */
static inline uint32_t weft_count_index(uint32_t slot, uint32_t tag)
{
    return slot * WEFT_TAGS + tag;
}

#endif
