/*
 * rank/state.h - what a kernel sees of its process (weft_state) and of itself (weft_self).
 *
 * Who writes what: the host fills weft_state before the launch and, while the kernel runs, only
 * the tables (before the reply that announces them), the host counters and the signals. A weft_self
 * belongs to its rank, but for the link, which the host writes and the rank reads.
 *
 * Where it lies: on the CPU device all of it is plain memory, and the job's own weft_state is the
 * kernel's. On a GPU the kernel sees an image of weft_state in device memory
 * (runtime/space/image.h) and keeps its weft_self in shared memory while it runs; what lasts of it,
 * links, rings and signals are host memory.
 *
 * Counters: each (slot, tag) has three words, since adds of different agents must not share one:
 * `local` is added to by ranks of this process, `peer` by ranks of processes that map it, `host`
 * is stored by this process's host alone. The count is their sum; it wraps. At its end a GPU's rank
 * takes what it consumed from `local`: what is left in a count then, nobody waited for.
 */
#ifndef WEFT_RANK_STATE_H
#define WEFT_RANK_STATE_H

#include "abi/ask.h"
#include "abi/channel.h"
#include "abi/notice.h"
#include "abi/trace.h"
#include "abi/window.h"
#include "base/task.h"
#include "device/port.h"
#include "gda/queue.h"
#include "order/atomic.h"
#include "ring/command.h"
#include "ring/lines.h"
#include "weft/device.h"

/* Side by side, so that a GPU reads all three at once. */
struct weft_counter {
    uint32_t peer, local, host, unused;
};

/*
 * What other processes of the host map of this one: its bell, then the counters: first the tags of
 * all slots, then the barrier words, then the channel area (abi/channel.h). A process that
 * drives a GPU has two of them: one in device memory for its ranks, one in host memory for its host
 * program, without channels.
 */
struct weft_exposed {
    struct weft_bell bell;   /* its ranks' and its host program's */
    uint32_t channels_taken; /* of the pool, by senders of other processes */
    uint32_t watchers;       /* its ranks that wait for a value: puts wake them (CPU device) */
    uint32_t unused[12];
    struct weft_counter counters[];
};

static_assert(sizeof(struct weft_counter) == 16, "a counter is one load of a GPU");
static_assert(sizeof(struct weft_exposed) == 64, "the counters begin at a line of their own");

struct weft_process_entry {
    int32_t first_rank, ranks;
    struct weft_exposed *exposed; /* mapped; NULL: its ranks are reached by queues or by the host */
    uint64_t queued;              /* not 0: by queues of the ranks */
};

/* A rank's ring of logs: how far it has written, and its host has read. */
enum { WEFT_LOG_LINES = 32 };
struct weft_said {
    uint32_t lines; /* a hint for the host, which looks at the ring where they differ */
    uint32_t heard; /* the ring's credit */
};

/* Host memory that ranks look at now and then. */
struct weft_signals {
    uint32_t stop;            /* the job has failed, ranks must end */
    uint32_t proxied;         /* someone may reach this process through its host counters */
    uint32_t accused, unused; /* the slot that the job's error names; 0: none here */
    uint64_t clock;           /* in a traced run: the device's clock when its first rank began */
    struct weft_said said[WEFT_SLOTS];
};

struct weft_state {
    int32_t process, processes, ranks; /* ranks of the whole job */
    uint32_t inline_bytes;
    uint32_t tells_when_asked; /* the network's cap: flushes send WEFT_COMMAND_FLUSH */
    uint32_t eager_bytes;      /* largest payload that goes through a channel */
    uint32_t eager_after;      /* a pair gets one when it has talked so often */
    uint32_t channels;         /* in the pool of each process; 0: none */
    uint32_t channel_start;    /* where rings begin to count their lines */
    uint64_t channels_at;      /* the channel area, in each weft_exposed */
    struct weft_process_entry *process_table;
    struct weft_exposed *exposed; /* this process's own */
    struct weft_signals *signals;
    uint32_t hosts_apart; /* ranks have other counters than host programs: both go by the host */
    uint32_t own_queued;  /* ranks of this process reach each other by queues */
    uint32_t start_here, start_others; /* first values of a barrier's words: local; peer + host */
    struct weft_window *windows;
    struct weft_comm_entry *comms;
    uint32_t windows_count, comms_count; /* lengths of the tables */
    struct weft_bell *command_bell;      /* of the progress thread */
    double *intervals;                   /* what the timers measured */
    uint32_t intervals_most;

    /*
     * What NICs have counted for this process's ranks, by slot and tag as in `exposed`; each adds
     * to a word by itself, so no rank and no host may store there. Memory that the NIC knows.
     */
    uint32_t nic_counts; /* so many words; 0: no rank drives a queue */
    uint64_t *nic;
    const struct weft_gda_keys *nic_keys;

    /*
     * How the host program's own puts and gets move data, and how it updates a word, where only a
     * device reaches the memory. update returns the old value; NULL: that cannot be done. copy
     * NULL: the host program can load and store device memory.
     */
    void (*copy)(void *context, void *target, const void *source, size_t bytes);
    uint64_t (*update)(void *context, void *address, const struct weft_change *change);
    void *copy_context;
};

/* The host's answer to a collective. */
struct weft_answer {
    uint32_t value; /* a handle */
    uint32_t status;
};

/* What the host writes for one rank. */
struct weft_link {
    uint32_t credit;     /* of its command ring */
    uint32_t done_local; /* puts whose source may be reused */
    uint32_t delivered;  /* puts and notices delivered, in all; only the host reads it */
    uint32_t reply;      /* collectives answered; stored after `answer` */
    struct weft_answer answer;
    uint32_t answers;   /* asks answered, in all; only the host reads it */
    uint32_t results;   /* asks answered by `result`; only the host reads it */
    uint64_t result[2]; /* the halves of an old value, each below the number of the answer */
    /*
     * By target process: puts and notices delivered. Behind them, by process: asks answered, and
     * asks taken, which only the host reads.
     */
    uint32_t done_remote[];
};

/* For the watchdog only: what a rank waits for. Orders nothing; read while it is written. */
enum weft_wait_kind {
    WEFT_WAIT_NONE,
    WEFT_WAIT_TAG,     /* a: tag, have, need */
    WEFT_WAIT_UNTIL,   /* a: address, have: value there, need: value wanted */
    WEFT_WAIT_BARRIER, /* a: communicator; have, need: words from other processes, wrapping */
    WEFT_WAIT_ENTER,   /* as BARRIER, in weft_enter */
    WEFT_WAIT_LEAVE,   /* as BARRIER, in weft_leave */
    WEFT_WAIT_SPACE,   /* a: 0: room in the command ring; 1: in that of logs */
    WEFT_WAIT_LOCAL,   /* flush_local */
    WEFT_WAIT_REMOTE,  /* a: process */
    WEFT_WAIT_EAGER,   /* a: process at the other end of a channel; have, need: lines */
    WEFT_WAIT_ANSWER,  /* a: process; have, need: answers */
    WEFT_WAIT_REPLY,   /* a: weft_collective_op, have: communicator */
    WEFT_WAIT_PROCESS, /* host program only; a: process, need: weft_exchange_op */
    WEFT_WAIT_EXPOSED, /* host program only; a: process, need: number */
    WEFT_WAIT_QUEUE,   /* a: process; have: slots under way, need: wanted; 0: all are awaited */
    WEFT_WAIT_MESSAGE, /* host program only; a: a number of msg/transfer.h; have: the only process
                          that can end it, + 1; 0: several can */
    WEFT_WAIT_COLUMN,  /* a: head of a call (abi/ccl.h), have: member, need: number of the call */
    WEFT_WAIT_TASKS,   /* a: slot, maker, body of a task; have: tasks that are away; need: the
                          place that has it */
    WEFT_WAIT_RECORD,  /* a: recorded task, the one that it waits for; have, need: its epochs */
    WEFT_WAIT_NO_MORE, /* the rank has ended its kernel */
    WEFT_WAIT_STOPPED, /* the job has failed, and the rank was ended outside of a wait */
    WEFT_WAIT_WHERE    /* a: address of the first word; have, need: words */
};

struct weft_waiting {
    uint32_t kind;
    uint32_t episode; /* one more for each wait */
    uint64_t a, have, need;
    uint64_t work;  /* as weft_self.work */
    uint32_t looks; /* one more each time that the wait is told, after it looked */
};

/*
 * The way of notices, and of puts to mapped memory. HOST: through the host. HERE, PEER: by counters
 * of this process, or of another. CHANNEL: bits 8 and up are the index in weft_self.out. QUEUE: by
 * a queue of this rank.
 */
enum weft_way { WEFT_WAY_HOST, WEFT_WAY_HERE, WEFT_WAY_PEER, WEFT_WAY_CHANNEL, WEFT_WAY_QUEUE };

/* Where a target is. What a short put reads comes first. */
struct weft_route {
    uint32_t way;
    uint32_t eager; /* notified puts of fewer bytes than this go through its channel */
    uint64_t bytes; /* of the target's window */
    uint64_t home;  /* the window's address where the target is */
    struct weft_counter *counters; /* of the target's tags */
    unsigned char *address;        /* of the target's window; NULL: not mapped */
    struct weft_exposed *exposed;  /* of the target's process; NULL: tell it through the host */
    int32_t process;
    uint32_t slot;
};

/* How many meetings a rank remembers: programs go from one communicator to another. */
enum { WEFT_MEETINGS = 4 };

/* Who waits for a rank's notifications on a GPU: its leader, or, for channels, its first warp. */
enum weft_waits {
    WEFT_WAITS_ALONE,
    WEFT_WAITS_BY_WARP,
    WEFT_WAITS_BY_NIC,    /* its leader, who looks at the NIC's counts, too */
    WEFT_WAITS_TRACED = 4 /* a flag beside one of these: the wait is recorded */
};

/* What a barrier needs of its communicator. comm: WEFT_COMM_NONE: look it up; in a traced job it is
 * the alias (rank/trace/trace.h). */
struct weft_meeting {
    weft_comm comm;
    uint32_t index, here, leaders, done; /* members here, processes, barriers */
};

struct weft_self {
    struct weft_port port; /* first: device/ knows a rank by it */
    struct weft_state *state;
    struct weft_counter *counters; /* this process's */
    struct weft_link *link;
    struct weft_waiting *waiting; /* host memory */
    unsigned char *exchange;      /* all ranks' memory for collectives (abi/coll.h), or NULL */
    uint64_t exchange_bytes;      /* of each rank there */
    void *shared;                 /* weft_shared; CPU device only */
    size_t shared_bytes;          /* of weft_shared; CPU device only */
    uint32_t slot;
    int32_t rank;          /* in the world; -1: the host program */
    int32_t process;       /* of the job */
    uint32_t eager_bytes;  /* largest payload for channels; 0: there are none */
    uint32_t inline_bytes; /* as in weft_state */
    uint32_t stored;       /* whether it ever stored to a process that is told through the host */
    uint32_t waits;        /* on a GPU: weft_waits */
    /* All threads may read the fields above at any time: only `waits` changes in a launch. */
    struct weft_command_producer commands, logs;
    uint32_t batches;    /* begun, and not ended */
    uint32_t held;       /* commands of a batch that the host was not told of */
    uint32_t unrung;     /* queues with requests that their NIC was not told of */
    uint32_t stopped;    /* on a GPU: the leader tells the others to end (rank/wait/wait.h) */
    uint32_t news;       /* on a GPU: what the leader tells the others at the next barrier */
    uint32_t unsettled;  /* how many differ: of sent_to and settled, asked and answered; and how
                            many queues have something under way */
    uint32_t sent;       /* commands whose source matters to flush_local */
    uint32_t local_done; /* how many of `sent` are known to be done */
    uint32_t asks;       /* answers asked for, in all */
    uint32_t results;    /* how many asks were for the link */
    uint64_t fetched;    /* what the last of these results brought */
    uint8_t op_stamp;    /* in a weft_op: of the job and the rank */
    uint64_t *sent_to;   /* commands, by target process; the lower half is compared with settled */
    uint64_t *asked;     /* asks, by process */
    uint64_t *answered;  /* asks that are known to be answered, by process */
    uint32_t *settled;   /* last done_remote seen, by process */
    struct weft_gda_queue *queues; /* by process; NULL: the rank drives none */
    uint32_t replies;              /* collectives asked for */
    uint32_t result;               /* of the last collective */
    uint64_t work;                 /* what weft_fail names: of the layer task; 0: nothing */
    weft_status failure;           /* why the last collective failed */
    uint32_t *barriers;            /* barriers done, by communicator index */
    uint32_t none;                 /* on a GPU: the count of a tag of which nothing has come */
    uint32_t intervals_count;
    struct weft_tracer tracer; /* its timeline */
    /* All above lasts from run to run. All below begins as zeros, and `consumed` as `none`. */
    struct weft_meeting meeting[WEFT_MEETINGS]; /* by the handle, modulo WEFT_MEETINGS */
    uint32_t ins, boxed; /* channels into this rank; entries of its box seen */
    uint32_t hot;        /* the channel whose next message is expected */
    uint32_t deep;       /* how many lines behind the head of that message are read with it */
    uint32_t owes;       /* messages were taken, and no fence has acquired them since */
    uint32_t looks;      /* waits so far; now and then one looks for new channels */
    struct weft_in in[WEFT_CHANNELS_IN];
    struct weft_out out[WEFT_CHANNELS_OUT];
    uint64_t timer_started;
    uint32_t consumed[WEFT_TAGS]; /* notifications, less those of channels */
};

/* A kernel and the library must have the same. It tells apart states of another size, and those of
 * which another part lasts. */
enum { WEFT_SELF_LAYOUT = sizeof(weft_self) + offsetof(weft_self, meeting) };

/* Index of the first barrier word. Communicator c has WEFT_BARRIER_WORDS of them, in order of c. */
#define WEFT_BARRIER_AT (WEFT_SLOTS * WEFT_TAGS)

/* Index of a tag's counter of a slot; the same in every process. */
WEFT_INLINE uint32_t weft_count_index(uint32_t slot, uint32_t tag)
{
    return slot * WEFT_TAGS + tag;
}

WEFT_INLINE uint32_t *weft_link_answered(const weft_self *self, int process)
{
    return &self->link->done_remote[self->state->processes + process];
}

WEFT_INLINE unsigned char *weft_channel_area(const struct weft_state *state,
                                             struct weft_exposed *exposed)
{
    return (unsigned char *)exposed + state->channels_at;
}

#ifdef __CUDACC__
#include "rank/state_cuda.h"
#else
#define weft_far(self, function) function
#define weft_alone(self)         ((void)(self), false)
#define weft_has_queues(self)    ((self)->queues != NULL)
#endif

#endif
