/*
 * runtime/job/job.h - a job as its process sees it, and what the files of runtime/ offer each
 * other.
 *
 * Tasks and what they own:
 *   caller     the program's thread: weft_* calls, and the host program's rank (slot 0)
 *   progress   block_manager.c: takes commands from every rank's ring, drives the send side
 *   receive    progress.c: drives the receive side, counts what arrives
 *   monitor    monitor.c: reads the control channel, applies what it orders, watches for stalls
 *   printer    printer.c: prints what ranks log
 *   workers    device/: run the ranks
 */
#ifndef WEFT_RUNTIME_JOB_JOB_H
#define WEFT_RUNTIME_JOB_JOB_H

#include "base/config.h"
#include "base/say.h"
#include "base/task.h"
#include "boot/control.h"
#include "device/device.h"
#include "net/net.h"
#include "rank/state.h"
#include "weft/weft.h"

#include <stdbool.h>

enum { WEFT_NAME_BYTES = 80, WEFT_TEXT_BYTES = 512, WEFT_ERROR_BYTES = 1024 };

/* Kinds of control frames. */
enum weft_frame_kind {
    WEFT_FRAME_EXCHANGE = 1, /* exchange.c */
    WEFT_FRAME_ABORT,        /* failure.c */
    WEFT_FRAME_SEGMENT,      /* memory.c: new device memory */
    WEFT_FRAME_SEGMENT_FREE,
    WEFT_FRAME_COLLECTIVE /* collective.c */
};

/* Another process of the job, or this one. */
struct weft_process {
    char name[WEFT_NAME_BYTES]; /* "process 2 (pid 123 on host)"; monitor: with the table lock */
    int node, device;           /* of the job */
    struct weft_share exposed_share;
    struct weft_segment {
        struct weft_share share;
        void *address;      /* where this process maps it; NULL: it does not, or freed */
        const char *reason; /* why it could not map it */
        uint64_t key;
    } * segments;
    uint32_t segments_count;
};

/* Memory that the program registered, or that a window registered for itself. */
struct weft_region {
    unsigned char *base; /* NULL: free */
    size_t bytes;
    uint64_t key;
    weft_comm claim; /* registered for a window that this communicator is creating, */
    weft_win owner;  /* or for this window; neither: by the program */
};

/* What the network was given for a command: the cookie of its puts. */
struct weft_part {
    struct weft_part *next;
    struct weft_request *request;

    /* Of a part that went through host memory: */
    unsigned char *memory; /* NULL: the command's puts are all one part, request->whole */
    size_t room;
    uint64_t row, from;        /* where in the rectangle it begins, */
    uint64_t rows, width;      /* and how much of it it is */
    uint64_t issued;           /* rows that the network has accepted */
    uint64_t mark;             /* of the copy from the device */
    bool there;                /* it is done */
    uint64_t unsent, unlanded; /* rows; one more while not all are issued */
    struct weft_part *next_made;
};

/* A command that becomes puts: what is left of it, and which rank to tell when they are done. */
struct weft_request {
    struct weft_request *next, *next_made;
    uint32_t slot;

    struct weft_net_put put; /* but for source and bytes; its offset is that of the first row */
    const unsigned char *source;
    uint64_t rows, width, pitch, source_pitch;
    uint64_t row, done; /* the next row to issue, or to fetch, and its bytes that are */

    bool staged;                    /* the host fetches the data before the network can have it: */
    uint64_t piece;                 /* so much at once, */
    uint32_t depth, parts;          /* in so many parts at once: that hold host memory now */
    struct weft_part *first, *last; /* under way to the host, or waiting for the network */

    struct weft_part whole;
    /* Puts; of a staged request `unsent` are parts to fetch. One more while not all are begun. */
    uint64_t unsent, unlanded;
    unsigned char *payload; /* room for inline data, or NULL */
};

/* The host's end of one rank's command ring. */
struct weft_manager {
    struct weft_command_consumer commands;
    struct weft_request *first, *last; /* taken from the ring, and not all with the network */
    uint32_t waiting;
};

struct weft_exchange_slot;
struct weft_gathering;
struct weft_image;
struct weft_trace;
struct weft_stage;
struct weft_landing;

struct weft_job {
    struct weft_config config;
    struct weft_control *control;
    const struct weft_device_ops *device_ops;
    struct weft_device *device;
    const struct weft_net_ops *net_ops;
    uint32_t landing;      /* the main thread waits until all has landed: flush */
    bool net_reads_device; /* some puts, if it is asked: net.h */
    struct weft_net *net;
    bool net_lingers;           /* said within its dereg or close: memory has to stay */
    struct weft_job *next_left; /* open.c */
    weft_numbers numbers;
    struct weft_process *processes;
    bool one_address_space;       /* processes are threads of this one */
    struct weft_job *next_random; /* random_jobs.c */
    uint32_t forks;               /* call.c: which process opened it */

    struct weft_state state;
    struct weft_share exposed_share;
    struct weft_image *image;      /* image.c; NULL: ranks see `state` itself */
    struct weft_landing *landings; /* landing.c; NULL: what arrives is stored by the network */
    uint32_t letter_bytes;         /* largest payload of letters to this process's ranks */
    bool shares_device;            /* with another process of the job */
    weft_self **selves;            /* by slot; 0: the host program */
    size_t self_bytes;
    struct weft_manager *managers;         /* by slot */
    uint32_t slots;                        /* in use: they exist and stay */
    struct weft_request *free_requests[2]; /* idle ones, without and with room for a payload */
    struct weft_request *made_requests;    /* all there are */
    struct weft_part *free_parts, *made_parts;
    struct weft_stage *stage; /* staging.c; NULL: the network reads all sources itself */
    unsigned char *stage_memory, *net_stage; /* the latter the network's own; NULL: it has none */
    struct weft_lock tables; /* over state's tables, regions and segments, on the host's side */
    struct weft_region *regions;
    uint32_t regions_count;

    struct weft_task progress, receive, monitor;
    bool services_run, monitor_runs;
    uint64_t spin_ns; /* of an idle service, before it sleeps */
    uint32_t stop_services, stop_monitor;
    uint32_t services_busy;        /* how many of the two have not ended */
    struct weft_lock duty[2];      /* by side: held by who does a round of that service */
    uint64_t helped;               /* when workers last did rounds for the services */
    uint32_t computed, left;       /* times that they had not for long; that one stopped */
    uint32_t watched;              /* the receive task looks whether they do */
    struct weft_bell parked_bell;  /* the services, meanwhile */
    struct weft_bell own_bells[2]; /* by side, where the network has none to share */
    struct weft_bell *command_bell, *receive_bell;

    struct weft_exchange_slot *exchange; /* exchange.c; by process */
    struct weft_lock exchange_lock;
    struct weft_bell exchange_bell;    /* also rung when the job fails */
    struct weft_gathering *gatherings; /* collective.c; by communicator index */
    char no_window[WEFT_SAY_LINE]; /* why the last could not be made: whole when it is answered */

    struct weft_lock failure_lock;
    bool own_said;    /* what this process tells of was said here where it was found */
    uint32_t failing; /* this process has told of an error: the services stop, nobody tells again */
    uint32_t failed; /* a weft_status: the first error of the job, in the control channel's order */
    char error[WEFT_ERROR_BYTES];
    weft_status refused; /* the first error of a call that the job survived; host program only */

    const weft_kernel *kernel;
    size_t shared_most;  /* bytes that weft_limit_shared leaves a rank, */
    size_t shared_bytes; /* and what a rank of the kernel was prepared with, at most */
    bool running;        /* a kernel */
    void *user;          /* device memory for the kernel's user data */
    struct weft_share user_share;
    unsigned char *rank_memory; /* states of all ranks but the host program's, self_bytes apart, */
    unsigned char *rank_rings;  /* and the rest of them; both the device's host_alloc */
    unsigned char *host_rings;  /* the host program's */
    struct weft_watch *watch;   /* watchdog.c; by slot */
    uint64_t failed_since;      /* watchdog.c: when it saw that the job has failed; 0: not */
    bool end_told;              /* and that its kernel goes on was said; */
    uint32_t stuck_looks;       /* how often it saw then that a service has not ended */
    struct weft_printer *printer;
    struct weft_trace *trace; /* trace.c; NULL: there is none */
};

/* A call of the program's fails and the job goes on: weft_close will say so, unless the job had
 * failed before. Its value is status. */
static inline weft_status weft_refuse(struct weft_job *job, weft_status status)
{
    if (job->refused == WEFT_OK && __atomic_load_n(&job->failed, __ATOMIC_RELAXED) == WEFT_OK)
        job->refused = status;
    return status;
}

static inline uint32_t weft_job_slots(const struct weft_job *job)
{
    return __atomic_load_n(&job->slots, __ATOMIC_ACQUIRE);
}

/* How many counters ranks have, and barriers: the layout of what a process exposes. */
static inline size_t weft_job_counters(const struct weft_job *job)
{
    return WEFT_BARRIER_AT + (size_t)job->state.comms_count * WEFT_BARRIER_WORDS;
}

/* ---- failure.c ---- */

/*
 * Ends the job in error on all processes; text is one line. Any task; does not block: the caller
 * goes on until the job has failed. Only the first call of a process counts.
 */
void weft_job_fail(struct weft_job *job, weft_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* What arrives of it: an abort frame, or the loss of a process. Monitor only. */
void weft_job_failed(struct weft_job *job, weft_status status, const char *text);
/* Both services have seen that the job failed, and touch nothing any more: ranks may end. */
void weft_services_are_quiet(struct weft_job *job);
void weft_failure_frame(struct weft_job *job, const struct weft_frame *frame);
static inline weft_status weft_job_status(const struct weft_job *job)
{
    return (weft_status)__atomic_load_n(&job->failed, __ATOMIC_ACQUIRE);
}

/* Whether there is an error that will end the job, or has. */
static inline bool weft_job_is_failing(const struct weft_job *job)
{
    return __atomic_load_n(&job->failing, __ATOMIC_RELAXED) != 0 || weft_job_status(job) != WEFT_OK;
}

/* ---- meet.c ---- */

/* Collective, blocking; the last step of opening before the services start. */
weft_status weft_meet(struct weft_job *job);

/* ---- network.c ---- */

/*
 * Opens the network that all processes agree on; the nodes are known. Collective, blocking.
 * Errors: CONFIG, the network's own, and the job's failure.
 */
weft_status weft_network_open(struct weft_job *job);

/* ---- memory.c ---- */

/* What a window's base is: a device segment, a registered region, or neither. */
struct weft_place {
    uint32_t segment; /* WEFT_NO_SEGMENT: not memory that others can map */
    uint64_t segment_offset;
    uint64_t key, key_offset;
};
#define WEFT_NO_SEGMENT UINT32_MAX

/* Finds [base, base + bytes), or registers it for a window of `comm`. Table lock held. */
weft_status weft_memory_place(struct weft_job *job, weft_comm comm, void *base, size_t bytes,
                              struct weft_place *place);
/* The window that comm was creating has this handle, or none: it failed. Table lock held. */
void weft_memory_adopt(struct weft_job *job, weft_comm comm, weft_win win);
/* The window is gone, and what was registered for it. Table lock held. */
void weft_memory_release(struct weft_job *job, weft_win win);
/*
 * Where this process maps a range of another's segment; NULL: it is reached through the host. Fails
 * the job if it should be mapped and is not. Table lock held.
 */
void *weft_memory_mapped(struct weft_job *job, int process, uint32_t segment, uint64_t offset,
                         uint64_t bytes);
void weft_memory_frame(struct weft_job *job, const struct weft_frame *frame);
void weft_memory_close(struct weft_job *job);

/* ---- collective.c ---- */

weft_status weft_collective_open(struct weft_job *job);
void weft_collective_close(struct weft_job *job);
/* "weft_win_create" and the like; "weft_?": it is none. */
const char *weft_collective_name(uint64_t op);
/* A rank asks for a collective. Progress task only. */
void weft_collective_ask(struct weft_job *job, uint32_t slot, const struct weft_command *command);
void weft_collective_frame(struct weft_job *job, const struct weft_frame *frame);
/* Frees what a finished run left behind. Monitor only, at one point of the control channel. */
void weft_collective_sweep(struct weft_job *job);

/* ---- block_manager.c, request.c, progress.c ---- */

/* Takes what it can from one rank's ring; true if it did anything. Progress task only. */
bool weft_manager_serve(struct weft_job *job, uint32_t slot);
/* Non-blocking: what was handed on for that process is told soon when it has landed. */
void weft_flush_process(struct weft_job *job, int process);
void weft_request_sent(void *job, void *part);
void weft_request_landed(void *job, void *part);
/* The host memory through which puts go whose source the network cannot read; 0: there are none. */
size_t weft_requests_stage_bytes(const struct weft_job *job);
weft_status weft_requests_open(struct weft_job *job);
void weft_requests_close(struct weft_job *job);

/* Starts and stops the progress and receive tasks. */
weft_status weft_services_start(struct weft_job *job);
void weft_services_stop(struct weft_job *job);
/* What weft_launch wants of the services: threads that run ranks do their work. */
void weft_services_posted(void *job, int rank);
bool weft_services_help(void *job, uint64_t now);
void weft_services_leave(void *job);
bool weft_notice_arrived(void *job, int process, uint32_t notice);
/* Memory from which a network lands data (landing.h). Caller only. */
bool weft_pin_for_device(void *job, void *memory, size_t bytes);
void weft_unpin_for_device(void *job, void *memory);
/* Whether a network's device may write device memory, and how: net.h, dmabuf and reached. */
bool weft_has_dmabuf(const struct weft_job *job);
int weft_dmabuf_of_device(void *job, void *base, size_t bytes, uint64_t *offset);
bool weft_reached_device(void *job);

/* ---- monitor.c, watchdog.c, waiting_text.c, device_log.c, printer.c ---- */

weft_status weft_monitor_start(struct weft_job *job);
void weft_monitor_stop(struct weft_job *job);

weft_status weft_watchdog_open(struct weft_job *job);
/* Looks at every wait; reports those that last too long. Monitor only. */
void weft_watchdog_look(struct weft_job *job);
/* Says who waits for what in this process: the job is about to end by a timeout. Monitor only. */
void weft_watchdog_tell(struct weft_job *job);
/* "in weft_wait for tag 3: ...": of a slot that waits. The job's tables are locked. */
void weft_waiting_text(const struct weft_job *job, uint32_t slot, char *text, size_t bytes);
/* "WEFT_COMM_WORLD" or "communicator 0x10006". */
void weft_comm_name(weft_comm comm, char *name, size_t bytes);

/* Formats a packed log record (text, then arguments). out is always terminated. */
void weft_log_format(char *out, size_t bytes, const unsigned char *payload, uint32_t text_bytes,
                     uint32_t payload_bytes, uint32_t args);
/* "rank 3" or "host of process 1". */
void weft_slot_name(const struct weft_job *job, uint32_t slot, char *name, size_t bytes);

weft_status weft_printer_open(struct weft_job *job);
/* Prints what is left, and ends the task. WEFT_ERR_SYSTEM, said: something could not be printed. */
weft_status weft_printer_close(struct weft_job *job);
/*
 * Has a line that a rank logged printed on standard output, at once. False: there is no room for
 * it now; command_bell rings when there is. Progress task only; does not block.
 */
bool weft_device_log(struct weft_job *job, const char *who, const char *text);
/* Waits until all lines are printed; once the job has failed, only while someone takes them. */
void weft_printer_drain(struct weft_job *job);

/* ---- trace.c: timelines, if the job has WEFT_TRACE; else these do nothing ---- */

/* Opens the file, and sets the clocks. Collective, blocking; before there are ranks. */
weft_status weft_trace_open(struct weft_job *job);
/* Room for what the ranks of a kernel do. Table lock held. */
weft_status weft_trace_prepare(struct weft_job *job);
/* Before the ranks' states go: what their logs held has been written. Table lock held. */
void weft_trace_free_ranks(struct weft_job *job);
/* Gives a rank its log. */
void weft_trace_place(struct weft_job *job, weft_self *self);
/* A kernel is about to be launched (fills in launch->clock), or has ended. */
void weft_trace_launch(struct weft_job *job, struct weft_launch *launch);
void weft_trace_ran(struct weft_job *job);
/*
 * Appends what ranks did to the file, and forgets it: before there are others, and last by
 * weft_close, with what the services did. No kernel runs. Caller only. Errors: SYSTEM, DEVICE; the
 * first one ends the writing, and is returned again when it is the last time.
 */
weft_status weft_trace_write(struct weft_job *job, bool last);
void weft_trace_close(struct weft_job *job);
/* A round of a service that did something, from `begin` on; or what the network did. Its duty held.
 */
void weft_trace_round(struct weft_job *job, enum weft_net_side side, uint64_t begin);
void weft_trace_net(struct weft_job *job, enum weft_net_side side, int process, uint32_t notice,
                    uint64_t bytes);

/* ---- run.c ---- */

/*
 * Waits until all has landed, and all is answered, that the ranks of the slots from first_slot on
 * asked of the host, or until the job has failed. Caller only.
 */
void weft_settle_ranks(struct weft_job *job, uint32_t first_slot);

/* ---- open.c ---- */

/* Bytes of a weft_exposed: with the channel area, if it is that of ranks. */
size_t weft_exposed_bytes(const struct weft_state *state, size_t counters, bool of_ranks);

/* ---- rank.c: the host's part of a rank ---- */

/* Zeroed memory that a rank needs beside its state, of the device's host_alloc. */
size_t weft_rank_bytes(const struct weft_job *job);

/* Makes the rank of a slot: its state in self, its ring and link in memory. */
void weft_rank_make(struct weft_job *job, uint32_t slot, weft_self *self, unsigned char *memory);
/* Forgets what earlier runs left: notifications, barriers, waits. */
void weft_rank_reset(struct weft_job *job, uint32_t slot);
/* After a run: says at WEFT_LOG=info which notifications ranks left; not what lies on a GPU. */
void weft_ranks_left(const struct weft_job *job);
/* Whether all that the rank asked of its host has been done. */
bool weft_rank_quiet(const struct weft_job *job, uint32_t slot);

#endif
