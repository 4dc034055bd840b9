/*
 * task/place.h - the memory of a place: what its ranks share, what other places write, and what its
 * host program and its ranks tell each other.
 *
 * A task is a record in a slot. Each rank has slots of its own, which it alone takes; whoever ends
 * the task gives the slot back. A slot's number goes round: queue, rank, and back. Who has the
 * number has the record to itself, but for `left` and `next`.
 *
 * The mailbox is the one part that other places reach, a window of host programs. Its layout is the
 * same everywhere. Each word there has one writer at a time, so puts of 8 bytes are all it takes.
 */
#ifndef WEFT_TASK_PLACE_H
#define WEFT_TASK_PLACE_H

#include "order/atomic.h"
#include "rank/path/dispatch.h"
#include "rank/together.h"
#include "weft/task.h"
#ifdef __CUDACC__
#include "rank/api.h"
#endif

enum {
    WEFT_TASK_GRANT = 32,    /* tasks that one answer brings, at most */
    WEFT_TASK_AWAY = 256,    /* tasks of a place at another one, at most */
    WEFT_TASK_ENTRIES = 256, /* entries of the ring from the host program */
    WEFT_TASK_STATES = 4096  /* tasks of a host program that it may ask about */
};
#define WEFT_TASK_MOST_BYTES ((uint64_t)1 << 48) /* bytes of a piece of data, at most */

/*
 * Recorded tasks, in device memory. A step is what a rank does at a time: calls of one task, of
 * each epoch. Steps are read by all and written by none; words grow.
 */
struct weft_task_step {
    uint64_t first, end;  /* calls of the task that the step runs */
    uint32_t task, body;  /* index of the task's word; its body */
    uint32_t steps;       /* steps of the task in an epoch */
    uint32_t edge, edges; /* index of the first edge, and number of words that it waits for */
    uint32_t part, parts; /* index and number of its pieces of data */
    uint32_t scratch;     /* bit i: part i lies in the rank's scratch memory */
    uint32_t arguments;   /* offset of its arguments */
    uint32_t tell, tells; /* index and number of places that wait for the task */
    uint32_t far;         /* 1: other places wait for it, or it is a copy */
};
struct weft_task_word {
    uint64_t done; /* epochs that the task has finished; the place that runs it adds, everywhere */
    uint64_t left; /* steps left in this epoch, where there are several */
    uint64_t unused[6];
};
static_assert(sizeof(struct weft_task_step) == 64 && sizeof(struct weft_task_word) == 64, "lines");
struct weft_task_part {
    uint64_t address, pitch;
};
/* Arguments of a step that copies: where the first part goes. It has this body, and no calls. */
struct weft_task_copy {
    weft_win win;
    int32_t place;
    uint64_t offset, pitch, bytes, rows;
};
#define WEFT_TASK_COPY   0xffu
#define WEFT_TASK_BEFORE (1u << 31) /* bit of an edge: it is a task of the epoch before */
struct weft_task_tables {
    struct weft_task_word *word;
    const struct weft_task_step *step;
    const uint32_t *edge;
    const struct weft_task_part *part;
    const int32_t *tell;
    unsigned char *arguments;
    uint64_t steps;
    weft_win win; /* window of words and copies of all places */
};

/* Epochs of recorded tasks that run. */
struct weft_task_run {
    struct weft_task_tables tables;
    uint64_t base, total;   /* number of the first epoch; steps of all epochs */
    uint32_t number, timed; /* number of the run; 1: bodies are timed */
};
/* A ticket: the run's number, 24 bits of it, and a count that reaches this when none is left. */
#define WEFT_TASK_OVER ((uint64_t)1 << 39)

struct weft_task_record {
    uint64_t first; /* first call that has not begun; it may be beyond `end` */
    uint64_t left;  /* calls that are not over, and tickets of a task with many calls */
    uint32_t next;  /* next record in a list: slot + 1 */
    uint32_t taker; /* place that has taken the task, + 1 */
    /* The rest stays as it is: */
    uint32_t body, flags, priority;
    uint32_t books; /* index of the books that count it (struct weft_task_mail) */
    uint64_t end;
    int32_t home;              /* place in whose books it is */
    uint32_t home_slot;        /* slot of its record there */
    uint32_t parent;           /* slot + 1 of the task of which it is some calls; 0: none */
    uint32_t host, generation; /* the host program's name for it: number + 1, 0: none; generation */
    uint32_t many;             /* 0: one call; 1: many; 2: many that have begun, by tickets */
    uint32_t by;               /* slot at its place of who made it: WEFT_HOST_SLOT or a rank's */
    uint32_t datas;
    unsigned char arguments[WEFT_TASK_ARGUMENTS] __attribute__((aligned(16)));
    weft_task_data_desc data[WEFT_TASK_DATA];
} __attribute__((aligned(64)));
static_assert(sizeof(struct weft_task_record) == 512, "a record is eight lines");

/* A queue that any rank puts into and takes from: never full, for it has a cell for each slot, and
 * for as many tickets beyond a task's first as there are ranks. */
struct weft_task_ring {
    uint64_t head, unused[7], tail, unused_too[7];
    uint64_t *cell; /* entries: turn << 32 | slot */
};

/* A rank of the place. */
struct weft_task_rank {
    uint64_t deque, unused[7];      /* tag << 32 | bottom << 16 | top, of `cell` */
    uint32_t freed, unused_too[15]; /* slots that others gave back, as a list: slot + 1 */
    uint32_t free;                  /* slots that are free, as a list: slot + 1 */
    uint32_t seed;
    uint64_t word[2]; /* words that it puts or gets */
    uint64_t executed, taken, bytes;
    /* Not yet told to the place, of a run: steps; those that had to wait; ns of bodies. */
    uint64_t stepped, waited, busy;
    uint32_t kept;    /* slot + 1 of a task of whose calls it has begun some; 0: none */
    uint32_t brief;   /* tasks that it may run before it looks at the clock again */
    uint64_t looked;  /* time when it last looked at the clock */
    uint32_t spawned; /* tasks of one that writes copies, until they are back: slot + 1, a list */
    uint32_t began;   /* 1: its lists of slots are made; they stay when the kernel pauses */
    uint32_t *cell;   /* cells of the deque, `slots` of them */
    unsigned char *scratch;
} __attribute__((aligned(64)));

struct weft_task_books {
    uint64_t created, completed; /* tasks of this place since the beginning */
};

/* A mailbox: what other places write and read. The rest follows, by the functions below. Tasks that
 * come while a phase ends are in the books of the next one, and do not delay its end. */
struct weft_task_mail {
    struct weft_task_books books[2]; /* by phases in turns */
    uint64_t finished;               /* phase that is over; by place 0 */
    uint64_t granted;                /* ask << 32 | tasks; by the place that was asked */
    uint64_t unused[2];
    struct weft_task_record grant[WEFT_TASK_GRANT];
    uint64_t word[]; /* by place: asked, load, report; then returns; then cancelled tasks */
};

/* What the host program asks of its ranks. */
enum weft_task_what {
    WEFT_TASK_WHAT_CREATE, /* a: bytes of its record */
    WEFT_TASK_WHAT_RUN,    /* a: number; epochs of recorded tasks: tables, base, total */
    WEFT_TASK_WHAT_CLOSE,  /* a: phase: no more tasks come in it */
    WEFT_TASK_WHAT_STOP    /* ranks end; what follows is for those of the next kernel */
};
struct weft_task_entry {
    uint32_t turn; /* turn of the ring in which it was written; stored last */
    uint32_t what, a, timed;
    uint64_t tables, base, total;
    uint64_t unused_too[3];
    struct weft_task_record record;
};
static_assert(sizeof(struct weft_task_entry) == 64 + sizeof(struct weft_task_record), "one line");

/* Host memory that the host program and its ranks reach. */
struct weft_task_host {
    uint32_t heard, unused[15];        /* entries that ranks have read */
    uint32_t finished, unused_too[15]; /* phase that is over */
    uint32_t ran, unused_also[11];     /* number of the run that is over */
    uint64_t waited, busy;             /* steps that had to wait, and ns of bodies; in all runs */
    struct weft_task_entry entry[WEFT_TASK_ENTRIES];
    uint32_t state[WEFT_TASK_STATES]; /* by number of a task: generation << 8 | weft_task_status */
};

/* Names a task for the watchdog: plain words that it may read at any moment. */
struct weft_task_named {
    uint32_t body, by, slot, at; /* fields of its record; at: the place that has taken it */
};

/* What a place knows of another one. By its service, but for `sent`. */
struct weft_task_peer {
    uint64_t answered;       /* number of its last ask that was answered */
    uint64_t returned, sent; /* returns that have come from it; that were sent to it */
    uint64_t vain, again; /* load at which it gave nothing; time from which it may be asked again */
    uint64_t report_seen; /* its last report; at place 0 */
    uint32_t away;        /* tasks of this place that it has */
    struct weft_task_named last; /* last task of this place that it has taken */
};

struct weft_task_place {
    int32_t me, places;
    uint32_t ranks, slots; /* slots of each rank: a power of two */
    uint32_t ring_mask;
    uint32_t bodies, kinds; /* bodies of the list; bit p: place p drives a GPU, of the first 32 */
    uint32_t barred;        /* flag of tasks that do not run here: WEFT_TASK_CPU_ONLY or GPU_ONLY */
    uint64_t scratch;       /* bytes of each rank's scratch memory */
    weft_win win;
    uint32_t stealing;
    struct weft_task_mail *mail;
    struct weft_task_host *host;
    struct weft_task_record *record;
    struct weft_task_rank *rank;
    struct weft_task_peer *peer; /* by place */
    struct weft_task_ring ready[WEFT_TASK_PRIORITIES];
    uint32_t queued;  /* tasks that wait to run, or tickets of those with many calls */
    uint32_t tickets; /* tickets of tasks whose calls have begun */
    uint32_t gone;    /* tasks of this place that other places have */
    uint32_t gone_to; /* place that has tasks of this one; by the service */
    uint32_t stop;
    uint64_t ticket __attribute__((aligned(64))); /* ticket counter of recorded tasks */
    uint64_t over __attribute__((aligned(64))), waited,
        busy;         /* steps over in the run; ever: steps that had to wait; ns of bodies */
    uint32_t waiting; /* ranks that wait in a step */
    struct weft_task_run run;         /* by the service, while no ticket is left */
    struct weft_task_record recorded; /* record that bodies of recorded tasks have */
    uint32_t lock, unused[15];        /* lock of the service */
    /* By the rank that has the lock: */
    uint64_t heard;         /* entries of the host program that it has read */
    uint64_t served;        /* time of the last service */
    uint64_t told;          /* load that other places know */
    uint64_t ask;           /* number of the last ask */
    uint64_t reported;      /* last report to place 0 */
    uint64_t backoff;       /* ns until a place that gave nothing is asked again */
    uint64_t given;         /* tasks given to other places */
    uint32_t untried;       /* 1: reports have come since they were added up; at place 0 */
    int32_t asking;         /* place that is asked; -1: none */
    uint32_t accepted;      /* tasks accepted of the answer that is there */
    uint32_t closed, phase; /* phase that the host program closed last; that is over */
};

/* Bytes of a record with its task's data: a multiple of 16, often less than half of the record. */
WEFT_INLINE uint32_t weft_task_record_bytes(uint32_t datas)
{
    return (uint32_t)(offsetof(struct weft_task_record, data) +
                      datas * sizeof(weft_task_data_desc) + 15) &
           ~15u;
}

/* The books of tasks that come after a phase was closed; those of that phase are the others. Phases
 * are 1 to an even number, and then 1 again. */
enum { WEFT_TASK_PHASES = 0xfffe };
WEFT_INLINE uint32_t weft_task_books_after(uint32_t closed)
{
    return closed & 1;
}

/* Offset of a word of the mailbox. */
WEFT_INLINE uint64_t weft_task_mail_at(uint64_t index)
{
    return sizeof(struct weft_task_mail) + 8 * index;
}
enum weft_task_row { WEFT_TASK_ASKED, WEFT_TASK_LOAD, WEFT_TASK_REPORT, WEFT_TASK_ROWS };
/* Index of what place `of` writes into others' mailboxes, or into place 0's. */
WEFT_INLINE uint64_t weft_task_row(int32_t places, enum weft_task_row row, int32_t of)
{
    return (uint64_t)row * (uint64_t)places + (uint64_t)of;
}
/* Index of the i-th return from place `of`. */
WEFT_INLINE uint64_t weft_task_return(int32_t places, int32_t of, uint64_t i)
{
    return (uint64_t)WEFT_TASK_ROWS * (uint64_t)places + (uint64_t)of * WEFT_TASK_AWAY +
           i % WEFT_TASK_AWAY;
}
/* Index of the generation of a host program's task that was cancelled. */
WEFT_INLINE uint64_t weft_task_cancel_at(int32_t places, uint32_t number)
{
    return (uint64_t)(WEFT_TASK_ROWS + WEFT_TASK_AWAY) * (uint64_t)places + number;
}
WEFT_INLINE uint64_t weft_task_mail_bytes(int32_t places)
{
    return weft_task_mail_at(weft_task_cancel_at(places, WEFT_TASK_STATES));
}

/* Updates that order the ranks of a place. A compare and swap; whether it was done. */
WEFT_INLINE bool weft_task_swap32(uint32_t *word, uint32_t expected, uint32_t value)
{
    const struct weft_change change = {
        .value = value, .expected = expected, .how = WEFT_COMPARE, .type = WEFT_U32};
    return (uint32_t)weft_update_device(word, &change) == expected;
}
WEFT_INLINE bool weft_task_swap64(uint64_t *word, uint64_t expected, uint64_t value)
{
    const struct weft_change change = {
        .value = value, .expected = expected, .how = WEFT_COMPARE, .type = WEFT_U64};
    return weft_update_device(word, &change) == expected;
}
WEFT_INLINE uint32_t weft_task_exchange(uint32_t *word, uint32_t value)
{
    const struct weft_change change = {.value = value, .how = WEFT_REPLACE, .type = WEFT_U32};
    return (uint32_t)weft_update_device(word, &change);
}
/* Returns the old value, as the next one. */
WEFT_INLINE uint32_t weft_task_add32(uint32_t *word, uint32_t value)
{
    const struct weft_change change = {.value = value, .how = WEFT_SUM, .type = WEFT_U32};
    return (uint32_t)weft_update_device(word, &change);
}
WEFT_INLINE uint64_t weft_task_add64(uint64_t *word, uint64_t value)
{
    const struct weft_change change = {.value = value, .how = WEFT_SUM, .type = WEFT_U64};
    return weft_update_device(word, &change);
}

/* Ranks that wait in a step look again, if they sleep. */
WEFT_INLINE void weft_task_wake_steps(weft_self *self, const struct weft_task_place *p)
{
#ifdef __CUDACC__
    (void)self, (void)p;
#else
    if (p->ranks > 1)
        weft_bell_ring_for(&self->state->exposed->bell, &p->waiting);
#endif
}

/* Ranks of this place, and its host program, that sleep look again. */
WEFT_INLINE void weft_task_wake(weft_self *self)
{
#ifdef __CUDACC__
    (void)self;
#else
    weft_bell_ring(&self->state->exposed->bell);
#endif
}

/* Rows, and bytes, of a piece of data. */
WEFT_INLINE uint64_t weft_task_rows(const weft_task_data_desc *data)
{
    return data->rows > 1 ? data->rows : 1;
}
WEFT_INLINE uint64_t weft_task_bytes(const weft_task_data_desc *data)
{
    return weft_task_rows(data) * data->bytes;
}

#endif
