/*
 * runtime/kernel/ranks.h - the prepared kernel, its ranks, and what they say.
 */
#ifndef WEFT_RUNTIME_KERNEL_RANKS_H
#define WEFT_RUNTIME_KERNEL_RANKS_H

#include "device/device.h"
#include "rank/state.h"

struct weft_job;
struct weft_image;

/* The prepared kernel and its ranks. */
struct weft_ranks {
    const weft_kernel *kernel;
    size_t shared_most;  /* bytes that weft_limit_shared leaves a rank, */
    size_t shared_bytes; /* and what a rank of the kernel was prepared with, at most */
    bool queues;         /* they drive queues (runtime/gda/queues.h) */
    bool serves;         /* the device does what others ask of its memory while it runs */
    void *user;          /* device memory for the kernel's user data */
    struct weft_share user_share;
    unsigned char *exchange; /* weft_malloc'ed: for collectives (abi/coll.h), if it has some; */
    size_t exchange_bytes;   /* of each rank */

    /* The run: from weft_start (or weft_run) until weft_finish has ended. */
    bool launching;        /* a thread is about to start one */
    bool started, running; /* there is one; its kernel has not ended on this device */
    bool in_task;          /* weft_finish has to join the task */
    struct weft_task task;
    struct weft_launch launch;
    void *user_from; /* the program's user data: copied back at the end */
    size_t user_bytes;
    double ms;

    struct weft_image *image; /* space/image.h; NULL: ranks see the host's tables themselves */
    weft_self **selves;       /* by slot; 0: the host program */
    uint32_t slots;           /* in use: they exist and stay */
    weft_self *states; /* host_alloc: of all ranks but the host program's; then staged user data */
    unsigned char *rank_rings; /* host_alloc: rings of these ranks */
    unsigned char *host_rings; /* the host program's */
};

/* ---- run.c, prepare.c ---- */

/*
 * Waits until all is delivered, and all is answered, that the ranks and the host program asked of
 * the host, or until the job has failed. Caller only.
 */
void weft_settle_ranks(struct weft_job *job);

/* The ranks of the prepared kernel go, if there is one. */
void weft_ranks_free(struct weft_job *job);

/* ---- rank.c: the host's part of a rank ---- */

/* Zeroed memory that a rank needs beside its state, of the device's host_alloc. */
size_t weft_rank_bytes(const struct weft_job *job);

/* Makes the rank of a slot: its state in self, its ring and link in memory. */
void weft_rank_make(struct weft_job *job, uint32_t slot, weft_self *self, unsigned char *memory);
/* Forgets what earlier runs left: notifications, barriers, waits. */
void weft_rank_reset(struct weft_job *job, uint32_t slot);
/* How many notifications a rank has not consumed, by these counters. As read while nobody counts.
 */
uint32_t weft_rank_left(const struct weft_job *job, const struct weft_counter *counters,
                        uint32_t slot, uint32_t tag);
/* After a run: says how many notifications ranks have not consumed, if any; then they are lost. */
void weft_ranks_left(struct weft_job *job);
/* Whether all that the rank asked of its host has been done. */
bool weft_rank_quiet(const struct weft_job *job, uint32_t slot);

/* ---- service/text.c, printer.c ---- */

/* Formats a packed log record: format, values, their text. out is always terminated. */
void weft_log_format(char *out, size_t bytes, const unsigned char *payload, uint32_t text_bytes,
                     uint32_t payload_bytes, uint32_t args);
/* "rank 3" or "host of process 1". */
struct weft_name {
    char text[40];
};
struct weft_name weft_slot_name(const struct weft_job *job, uint32_t slot);

weft_status weft_printer_open(struct weft_job *job);
/* Prints what is left. WEFT_ERR_SYSTEM, said: something could not be printed. */
weft_status weft_printer_close(struct weft_job *job);
/*
 * Has a line that a rank logged printed on standard output, at once. False: there is no room for it
 * now; command_bell rings when there is. Progress task only; does not block.
 */
bool weft_device_log(struct weft_job *job, const char *who, const char *text);
/* The last line found no room, and there is none yet. */
bool weft_printer_full(const struct weft_job *job);
/*
 * Waits until all lines are printed, so many nanoseconds at most; once the job has failed, only
 * while standard output takes any.
 */
void weft_printer_drain(struct weft_job *job, uint64_t most_ns);

#endif
