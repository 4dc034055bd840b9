/*
 * runtime/watch/monitor.c - the task that reads the control channel and applies what comes, in
 * order.
 */
#include "runtime/job/job.h"

#include "base/say.h"
#include "runtime/watch/watch.h"

#include <stdlib.h>

enum { LOOK_NS = 100000000 }; /* ns between the watchdog's looks */

/* Jobs of this process that are looked after: tools/weft-gdb.py begins here. */
static struct weft_job *weft_watched;
static struct weft_lock watched_lock;

static void monitor_main(void *argument)
{
    struct weft_job *job = argument;
    uint64_t looked = weft_now_ns();

    weft_say_process(job->numbers.process);
    while (__atomic_load_n(&job->stop_monitor, __ATOMIC_ACQUIRE) == 0) {
        struct weft_frame frame;
        const bool due = weft_model != NULL || weft_now_ns() - looked >= LOOK_NS;
        weft_status status =
            weft_control_next(job->control, &frame, due && weft_model == NULL ? 0 : LOOK_NS);
        if (status == WEFT_OK) {
            if (!weft_services_frame(job, &frame))
                weft_job_fail(job, WEFT_ERR_PROTOCOL, "process %d sent a control frame of kind %u",
                              frame.source, frame.kind);
            free(frame.payload);
        } else if (status != WEFT_ERR_TIMEOUT) {
            if (status == WEFT_ERR_MEMORY) /* for a frame: the channel still carries this */
                weft_job_fail(job, status, "process %d: %s", job->numbers.process, weft_err_last());
            weft_job_failed(job, status, "the control channel broke");
            weft_task_yield(true);
        }
        if (due) {
            weft_watchdog_look(job, status == WEFT_ERR_TIMEOUT);
            looked = weft_now_ns();
        }
    }
}

struct weft_job *weft_watched_next(const struct weft_job *job)
{
    return job == NULL ? weft_watched : job->next_watched;
}

int weft_watched_process(void)
{
    weft_lock(&watched_lock);
    const int process = weft_watched != NULL ? weft_watched->numbers.process : -1;
    weft_unlock(&watched_lock);
    return process;
}

weft_status weft_monitor_start(struct weft_job *job)
{
    WEFT_TRY(weft_task_start(&job->monitor, "weft monitor", monitor_main, job));
    job->monitor_runs = true;
    weft_lock(&watched_lock);
    job->next_watched = weft_watched;
    weft_watched = job;
    weft_unlock(&watched_lock);
    return WEFT_OK;
}

void weft_monitor_stop(struct weft_job *job)
{
    if (!job->monitor_runs)
        return;
    weft_lock(&watched_lock);
    for (struct weft_job **at = &weft_watched; *at != NULL; at = &(*at)->next_watched)
        if (*at == job) {
            *at = job->next_watched;
            break;
        }
    weft_unlock(&watched_lock);
    __atomic_store_n(&job->stop_monitor, 1, __ATOMIC_RELEASE);
    weft_control_wake(job->control);
    weft_task_join(&job->monitor);
    job->monitor_runs = false;
}
