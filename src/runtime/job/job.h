/*
 * runtime/job/job.h - a job as its process sees it, and what the files of runtime/ offer each
 * other. Which task owns what: runtime/README.md.
 */
#ifndef WEFT_RUNTIME_JOB_JOB_H
#define WEFT_RUNTIME_JOB_JOB_H

#include "base/config.h"
#include "base/fork.h"
#include "base/say.h"
#include "base/task.h"
#include "boot/control.h"
#include "device/device.h"
#include "runtime/kernel/ranks.h"
#include "runtime/service/proxy.h"
#include "runtime/service/service.h"
#include "runtime/space/space.h"
#include "weft/weft.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { WEFT_NAME_BYTES = 80, WEFT_TEXT_BYTES = 512, WEFT_ERROR_BYTES = 1024 };

/* Kinds of control frames. */
enum weft_frame_kind {
    WEFT_FRAME_EXCHANGE = 1, /* a call's bytes: exchange.c */
    WEFT_FRAME_ABORT,        /* an error: failure.c */
    WEFT_FRAME_SEGMENT,      /* new device memory: memory.c */
    WEFT_FRAME_SEGMENT_FREE,
    WEFT_FRAME_COLLECTIVE, /* a collective's contributions: collective.c */
    WEFT_FRAME_EXPOSE,     /* memory announced: exposure.c */
    WEFT_FRAME_UNEXPOSE,
    WEFT_FRAME_SITE /* where a process is: site.c; before all others */
};

/* Another process of the job, or this one. */
struct weft_process {
    char name[WEFT_NAME_BYTES]; /* "process 2 (pid 123 on host)"; monitor: with the table lock */
    int node, device;           /* numbers of its host and of its device in the job */
    weft_kind kind;             /* kind of its device */
    bool mapped; /* 1: this process maps its weft_malloc memory, where that is possible */
    struct weft_share exposed_share;
    struct weft_segment {
        struct weft_share share;
        void *address;      /* where this process maps it; NULL: it does not, or it was freed */
        const char *reason; /* why this process could not map it */
        uint64_t key;
        uint32_t serial; /* number of the owner's weft_malloc: an address may come again */
        uint32_t begin;  /* offset of what weft_malloc returned; of this process's own segments */
    } * segments;
    uint32_t segments_count;
};

struct weft_ccl;
struct weft_exchange_slot;
struct weft_messages;
struct weft_pgas;
struct weft_tasks;
struct weft_teams;
struct weft_queues;
struct weft_trace;

struct weft_job {
    struct weft_config config;
    weft_numbers numbers;
    struct weft_control *control;
    struct weft_kept *kept; /* memory freed with the job: state.c */
    const struct weft_device_ops *device_ops;
    struct weft_device *device;
    struct weft_process *processes;
    uint32_t number;        /* number of the job among those that this process has opened */
    bool one_address_space; /* processes are threads of this one */
    bool random;            /* random mode has been joined: random.c */
    bool together;          /* processes of one node may map each other's memory: site.h */
    uint32_t forks;         /* weft_forks when the job was opened */
    bool threads;           /* any thread of the program may make host calls; else `thread` alone */
    pthread_t thread;       /* the thread that opened the job */
    int thread_id;          /* the system's number of the thread that opened the job */
    struct weft_lock host_lock;              /* lock of the host program's rank, if `threads` */
    const struct weft_port_call *collective; /* call of the program that is under way; NULL: none */
    struct weft_job *next_left;              /* next of the jobs that were left: open.c */
    struct weft_job *next_watched;           /* next job of this process: watch/monitor.c */

    struct weft_proxy proxy;
    struct weft_ranks ranks;
    struct weft_space space;

    struct weft_task monitor;
    bool monitor_runs;
    uint32_t stop_monitor;
    struct weft_exchange_slot *exchange; /* by process: exchange.c */
    struct weft_lock exchange_lock;
    struct weft_bell exchange_bell; /* also rung when the job fails */
    int parted; /* processes whose weft_exchange_last has come; by the monitor */

    struct weft_lock failure_lock;
    bool own_said;    /* 1: this process has logged the error that it has broadcast */
    uint32_t failing; /* this process told of an error: services stop, and it tells no other */
    int32_t lost;     /* the first process that was lost, + 1; 0: none */
    uint32_t failed;  /* a weft_status: the job's first error in the control channel's order */
    char error[WEFT_ERROR_BYTES];
    uint32_t refused; /* a weft_status: the first error of a call that the job survived */

    bool tags_taken[WEFT_TAGS]; /* tags that parts of the program have taken: tags.c */

    struct weft_watch *watch;                 /* by slot: watchdog.c */
    uint64_t looked_at, watch_ns, watch_step; /* watchdog.c: last look; its clock; last step */
    uint64_t failed_since; /* watchdog.c: when it saw that the job has failed; 0: not yet */
    bool end_told;         /* watchdog.c: it has said that the kernel of a failed job goes on */
    /* watchdog.c: looks at which a failed job had a service left, or random mode was quiet. */
    uint32_t stuck_looks;
    struct weft_printer *printer;
    struct weft_trace *trace;       /* trace/timeline.h; NULL: there is none */
    struct weft_queues *queues;     /* gda/queues.h; NULL: ranks drive none */
    struct weft_messages *messages; /* state of the layer msg */
    struct weft_pgas *pgas;         /* state of the layer pgas; NULL: it is not open */
    struct weft_tasks *tasks;       /* state of the layer task; NULL: tasks have not begun */
    struct weft_ccl *ccls;          /* open ccls of the layer ccl; under the table lock */
    struct weft_teams *teams;       /* state of coll/host */
};

/* Notes that a call of the program failed while the job goes on: weft_close returns it, unless the
 * job had failed before. Returns status. */
static inline weft_status weft_refuse(struct weft_job *job, weft_status status)
{
    uint32_t none = WEFT_OK;

    if (__atomic_load_n(&job->failed, __ATOMIC_RELAXED) == WEFT_OK)
        __atomic_compare_exchange_n(&job->refused, &none, (uint32_t)status, false, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED);
    return status;
}

/* Refuses as weft_refuse, and logs the error. */
#define weft_refused(job, status, ...) weft_refuse((job), weft_err((status), __VA_ARGS__))

/* Copies between any memories, on the caller's stream; done when it returns. */
static inline weft_status weft_job_copy(struct weft_job *job, void *target, const void *source,
                                        size_t bytes)
{
    WEFT_TRY(job->device_ops->copy(job->device, WEFT_STREAM_CALLER, target, source, bytes));
    return job->device_ops->wait(job->device, WEFT_STREAM_CALLER);
}

/* Memory that is freed at the end of the block. */
#define WEFT_FREED __attribute__((cleanup(weft_free_block)))
static inline void weft_free_block(void *place)
{
    void *memory;

    memcpy(&memory, place, sizeof(memory));
    free(memory);
}

/* Frees what the device's host_alloc gave; NULL is ignored. */
static inline void weft_job_host_free(struct weft_job *job, void *memory)
{
    if (memory != NULL)
        job->device_ops->host_free(job->device, memory);
}

/* Whether a kernel runs, or has run and weft_finish has not ended. Any thread. */
static inline bool weft_job_started(const struct weft_job *job)
{
    return __atomic_load_n(&job->ranks.started, __ATOMIC_ACQUIRE);
}

static inline uint32_t weft_job_slots(const struct weft_job *job)
{
    return __atomic_load_n(&job->ranks.slots, __ATOMIC_ACQUIRE);
}

/* ---- failure.c ---- */

/*
 * Ends the job in error on all processes; the text is one line. Any task; does not block: the
 * caller goes on until the job has failed. Only the first call of a process counts.
 */
void weft_job_fail(struct weft_job *job, weft_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Waits, after weft_job_fail, for the error that all processes agree on, and its text. */
weft_status weft_job_agree_failure(struct weft_job *job);
/* Fails the job: this process cannot do what the text says, for the reason that was said last. */
#define weft_job_cannot(job, status, format, ...)                                                  \
    weft_job_fail((job), (status), "process %d cannot " format ": %s", (job)->numbers.process,     \
                  ##__VA_ARGS__, weft_err_last())
/* Notes that the job has failed: an abort frame arrived, or a process was lost. Monitor only. */
void weft_job_failed(struct weft_job *job, weft_status status, const char *text);
static inline weft_status weft_job_status(const struct weft_job *job)
{
    return (weft_status)__atomic_load_n(&job->failed, __ATOMIC_ACQUIRE);
}

/* Whether an error has ended the job, or will. */
static inline bool weft_job_is_failing(const struct weft_job *job)
{
    return __atomic_load_n(&job->failing, __ATOMIC_RELAXED) != 0 || weft_job_status(job) != WEFT_OK;
}

/*
 * Whether there is a job that this process itself opened, and not its parent. Any thread. `call` is
 * the call that the error names. Errors: ARGUMENT, STATE.
 */
weft_status weft_job_owned(const struct weft_job *job, const char *call);
/* Whether weft_job_ready finds nothing wrong, at a glance: no for the receive task, too. */
static inline bool weft_job_is_ready(const struct weft_job *job)
{
    return job != NULL && job->forks == weft_forks &&
           (job->threads || pthread_equal(pthread_self(), job->thread)) &&
           weft_job_status(job) == WEFT_OK;
}
weft_status weft_job_check(struct weft_job *job, const char *call); /* weft_job_ready's slow part */
/*
 * Checks as weft_job_owned, and that the calling thread may make host calls of the job (the receive
 * task may, those that wait for nothing), and that the job has not failed. Errors: the job's, too.
 */
static inline weft_status weft_job_ready(struct weft_job *job, const char *call)
{
    return weft_job_is_ready(job) ? WEFT_OK : weft_job_check(job, call);
}
/* Checks as weft_job_ready, and that no kernel runs. */
weft_status weft_job_idle(struct weft_job *job, const char *call);

/* ---- state.c ---- */

/* Allocates zeroed memory, which is freed with the job. NULL: there is none, said. By who opens the
 * job; later within rounds of the progress task. */
void *weft_job_keep(struct weft_job *job, size_t count, size_t bytes);
void weft_job_free_kept(struct weft_job *job);

/* Make counters, tables and lists; the host program's rank, and the communicator of all of them. */
weft_status weft_state_open(struct weft_job *job);
weft_status weft_state_open_host(struct weft_job *job);
/* Frees what they made, however far they came. */
void weft_state_close(struct weft_job *job);

/* ---- meet.c ---- */

/* Meets all processes: the last step of opening before the services start. Collective, blocking. */
weft_status weft_meet(struct weft_job *job);

/* ---- random.c: for random mode's one thread; where there is none, these do nothing ---- */

/*
 * Begins random mode when a job opens, if its configuration says so and it has not begun. A race
 * fails all jobs that are open then, since it does not tell whose memory it was in.
 */
weft_status weft_random_join(weft_job *job);

void weft_random_leave(weft_job *job); /* the job begins to close */
void weft_random_left(void); /* the job has nothing left; random mode ends with the last job */

#endif
