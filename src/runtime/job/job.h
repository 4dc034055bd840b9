/*
 * runtime/job/job.h - a job as its process sees it, and what the files of runtime/ offer each
 * other. Which task owns what: runtime/README.md.
 */
#ifndef WEFT_RUNTIME_JOB_JOB_H
#define WEFT_RUNTIME_JOB_JOB_H

#include "base/config.h"
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

struct weft_exchange_slot;
struct weft_trace;

struct weft_job {
    struct weft_config config;
    weft_numbers numbers;
    struct weft_control *control;
    const struct weft_device_ops *device_ops;
    struct weft_device *device;
    struct weft_process *processes;
    bool one_address_space;       /* processes are threads of this one */
    uint32_t forks;               /* weft_forks when it was opened */
    struct weft_job *next_left;   /* open.c */
    struct weft_job *next_random; /* random.c */

    struct weft_services services;
    struct weft_proxy proxy;
    struct weft_ranks ranks;
    struct weft_space space;

    struct weft_task monitor;
    bool monitor_runs;
    uint32_t stop_monitor;
    struct weft_exchange_slot *exchange; /* exchange.c; by process */
    struct weft_lock exchange_lock;
    struct weft_bell exchange_bell; /* also rung when the job fails */

    struct weft_lock failure_lock;
    bool own_said;    /* what this process tells of was said here where it was found */
    uint32_t failing; /* this process has told of an error: the services stop, nobody tells again */
    uint32_t failed; /* a weft_status: the first error of the job, in the control channel's order */
    char error[WEFT_ERROR_BYTES];
    weft_status refused; /* the first error of a call that the job survived; host program only */

    struct weft_watch *watch; /* watchdog.c; by slot */
    uint64_t failed_since;    /* watchdog.c: when it saw that the job has failed; 0: not */
    bool end_told;            /* and that its kernel goes on was said; */
    uint32_t stuck_looks;     /* how often it saw then that a service has not ended */
    struct weft_printer *printer;
    struct weft_trace *trace; /* trace/timeline.h; NULL: there is none */
};

/* A call of the program's fails and the job goes on: weft_close will say so, unless the job had
 * failed before. Its value is status. */
static inline weft_status weft_refuse(struct weft_job *job, weft_status status)
{
    if (job->refused == WEFT_OK && __atomic_load_n(&job->failed, __ATOMIC_RELAXED) == WEFT_OK)
        job->refused = status;
    return status;
}

/* The same of an error that it says. */
#define weft_refused(job, status, ...) weft_refuse((job), weft_err((status), __VA_ARGS__))

/* For the caller, between any memories; done when it returns. */
static inline weft_status weft_job_copy(struct weft_job *job, void *target, const void *source,
                                        size_t bytes)
{
    const weft_status status =
        job->device_ops->copy(job->device, WEFT_STREAM_CALLER, target, source, bytes);
    return status == WEFT_OK ? job->device_ops->wait(job->device, WEFT_STREAM_CALLER) : status;
}

/* What the device's host_alloc gave; NULL: nothing. */
static inline void weft_job_host_free(struct weft_job *job, void *memory)
{
    if (memory != NULL)
        job->device_ops->host_free(job->device, memory);
}

static inline uint32_t weft_job_slots(const struct weft_job *job)
{
    return __atomic_load_n(&job->ranks.slots, __ATOMIC_ACQUIRE);
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
extern const struct weft_service weft_failure_service;
static inline weft_status weft_job_status(const struct weft_job *job)
{
    return (weft_status)__atomic_load_n(&job->failed, __ATOMIC_ACQUIRE);
}

/* Whether there is an error that will end the job, or has. */
static inline bool weft_job_is_failing(const struct weft_job *job)
{
    return __atomic_load_n(&job->failing, __ATOMIC_RELAXED) != 0 || weft_job_status(job) != WEFT_OK;
}

/*
 * Whether there is a job, and this process is the one that opened it, not a child of that. Any
 * thread. `call` is what the error speaks of. Errors: ARGUMENT, STATE.
 */
weft_status weft_job_owned(const struct weft_job *job, const char *call);
/* And whether it may be made now: the job has not failed, and no kernel runs. Also its error. */
weft_status weft_job_idle(struct weft_job *job, const char *call);

/* ---- meet.c ---- */

/* Collective, blocking; the last step of opening before the services start. */
weft_status weft_meet(struct weft_job *job);

/* ---- random.c: for random mode's one thread; where there is none, these do nothing ---- */

/*
 * The job opens: begins random mode if its configuration says so, unless weft_local_job or a job
 * before has. A race fails all jobs that are open then: it does not tell whose memory it was in.
 */
weft_status weft_random_join(weft_job *job);

/* The job begins to close; and has nothing left: with the last one random mode ends. */
void weft_random_leave(weft_job *job);
void weft_random_left(void);

/* The open job after this one; NULL: after none. */
weft_job *weft_random_next(const weft_job *job);

#endif
