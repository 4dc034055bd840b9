/*
 * runtime/job/failure.c - one error ends the job on every process, and every process returns the
 * same. And whether a call may be made at all. Any task; failure_lock guards the error.
 *
 * Whoever detects an error broadcasts it; the first abort frame in the control channel's order is
 * the job's error, on all processes, the sender included.
 */
#include "runtime/job/job.h"

#include "base/fork.h"
#include "base/say.h"
#include "runtime/watch/watch.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct abort_frame {
    uint32_t status;
    char text[WEFT_ERROR_BYTES];
};

/*
 * Ranks end at their next call or round once `stop` is set. That must not be before the services
 * have stopped: they read sources and write windows that may lie on a rank's stack.
 */
void weft_services_are_quiet(struct weft_job *job)
{
    __atomic_store_n(&job->space.state.signals->stop, 1, __ATOMIC_RELEASE);
    weft_bell_ring(&job->space.state.exposed->bell);
}

/* Errors of a rank begin with its name (weft_slot_name). It says where it was when it ends. */
static void accuse(struct weft_job *job, const char *text)
{
    int rank;

    if (sscanf(text, "rank %d", &rank) == 1 && job->space.state.signals != NULL &&
        rank >= job->numbers.first_rank && rank - job->numbers.first_rank < job->numbers.ranks_here)
        job->space.state.signals->accused = (uint32_t)(rank - job->numbers.first_rank + 1);
}

static void failed(struct weft_job *job, weft_status status, const char *text,
                   enum weft_level level)
{
    weft_lock(&job->failure_lock);
    if (weft_job_status(job) == WEFT_OK) {
        snprintf(job->error, sizeof(job->error), "%s: %s", weft_status_name(status), text);
        weft_say(level, "%s", job->error);
        accuse(job, text);
        __atomic_store_n(&job->failed, (uint32_t)status, __ATOMIC_RELEASE);
    }
    struct weft_bell *const command = job->proxy.command_bell;
    struct weft_bell *const receive = job->proxy.receive_bell;
    weft_unlock(&job->failure_lock);
    weft_bell_ring(&job->exchange_bell);
    if (command != NULL) {
        weft_bell_ring(command);
        weft_bell_ring(receive);
    }
    weft_bell_ring(&job->proxy.parked_bell);
}

void weft_job_failed(struct weft_job *job, weft_status status, const char *text)
{
    failed(job, status, text, WEFT_SAY_ERROR);
}

/* Level at which this process says the error that it broadcast itself: once is enough. */
static enum weft_level own_level(const struct weft_job *job)
{
    return __atomic_load_n(&job->own_said, __ATOMIC_ACQUIRE) ? WEFT_SAY_INFO : WEFT_SAY_ERROR;
}

void weft_job_fail(struct weft_job *job, weft_status status, const char *format, ...)
{
    struct abort_frame frame = {.status = (uint32_t)status};
    va_list list;

    if (weft_job_status(job) != WEFT_OK ||
        __atomic_exchange_n(&job->failing, 1, __ATOMIC_RELAXED) != 0)
        return;
    va_start(list, format);
    weft_format(frame.text, sizeof(frame.text), format, list);
    va_end(list);
    __atomic_store_n(&job->own_said, weft_err_was_said(frame.text), __ATOMIC_RELEASE);
    if (weft_control_send(job->control, WEFT_FRAME_ABORT, &frame,
                          offsetof(struct abort_frame, text) + strlen(frame.text) + 1) != WEFT_OK)
        failed(job, status, frame.text, own_level(job)); /* nobody left to agree with */
}

weft_status weft_job_agree_failure(struct weft_job *job)
{
    while (weft_job_status(job) == WEFT_OK)
        weft_task_yield(true);
    return weft_job_status(job);
}

/* Takes a frame: a process was lost, or one ends the job. */
static void failure_frame(struct weft_job *job, const struct weft_frame *frame)
{
    struct abort_frame abort = {0};
    char text[WEFT_NAME_BYTES + 80];

    /* Process 0 ends without those that are late to close (boot/hub.c): they miss nothing then. */
    if (frame->kind == WEFT_FRAME_LOST && job->parted == job->numbers.processes)
        return;
    if (frame->kind == WEFT_FRAME_LOST) {
        weft_lock(&job->space.tables);
        snprintf(text, sizeof(text),
                 "%s was lost: killed, out of reach, or ended without weft_close",
                 job->processes[frame->source].name);
        weft_unlock(&job->space.tables);
        if (job->lost == 0)
            __atomic_store_n(&job->lost, frame->source + 1, __ATOMIC_RELEASE);
        weft_job_failed(job, WEFT_ERR_PEER_LOST, text);
        return;
    }

    if (frame->bytes < sizeof(abort.status) || frame->bytes > sizeof(abort)) {
        weft_job_failed(job, WEFT_ERR_PROTOCOL, "malformed abort frame");
        return;
    }
    memcpy(&abort, frame->payload, frame->bytes);
    abort.text[sizeof(abort.text) - 1] = 0;
    if (abort.status == WEFT_OK || abort.status >= WEFT_STATUS_COUNT)
        abort.status = WEFT_ERR_PROTOCOL;
    if ((abort.status == WEFT_ERR_TIMEOUT || abort.status == WEFT_ERR_DEADLOCK) &&
        weft_job_status(job) == WEFT_OK)
        weft_watchdog_tell(job); /* whoever it was that waited too long, others are the reason */
    failed(job, (weft_status)abort.status, abort.text,
           frame->source == job->numbers.process ? own_level(job) : WEFT_SAY_ERROR);
}

int weft_lost(const weft_job *job)
{
    return job == NULL ? -1 : __atomic_load_n(&job->lost, __ATOMIC_ACQUIRE) - 1;
}

const struct weft_service weft_failure_service = {
    .owns[WEFT_OWNS_FRAMES] = WEFT_KIND(WEFT_FRAME_LOST) | WEFT_KIND(WEFT_FRAME_ABORT),
    .frame = failure_frame,
};

weft_status weft_job_owned(const struct weft_job *job, const char *call)
{
    if (job == NULL)
        return weft_err(WEFT_ERR_ARGUMENT, "%s: job is NULL", call);
    if (job->forks != weft_forks)
        return weft_err(WEFT_ERR_STATE,
                        "%s: this process was forked while the job was open, which its parent "
                        "alone may use",
                        call);
    return WEFT_OK;
}

weft_status weft_job_check(struct weft_job *job, const char *call)
{
    WEFT_TRY(weft_job_owned(job, call));
    if (!job->threads && !pthread_equal(pthread_self(), job->thread) &&
        !pthread_equal(pthread_self(), job->proxy.receive.thread))
        return weft_refused(job, WEFT_ERR_STATE,
                            "%s: called by thread %d; thread %d has opened the job for itself "
                            "alone (weft_open_threads)",
                            call, gettid(), job->thread_id);
    return weft_job_status(job);
}

weft_status weft_job_idle(struct weft_job *job, const char *call)
{
    WEFT_TRY(weft_job_ready(job, call));
    return weft_job_started(job) ? weft_refused(job, WEFT_ERR_STATE, "%s: a kernel runs", call)
                                 : WEFT_OK;
}

void weft_abort(weft_job *job, const char *reason)
{
    if (weft_job_owned(job, "weft_abort") != WEFT_OK)
        return;
    weft_job_fail(job, WEFT_ERR_USER, "process %d: %s", job->numbers.process,
                  reason != NULL ? reason : "it gave no reason");
}

const char *weft_error(const weft_job *job)
{
    return job != NULL && weft_job_status(job) != WEFT_OK ? job->error : weft_err_last();
}
