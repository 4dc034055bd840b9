/*
 * runtime/job/open.c - opening and closing a job: configuration, the device, the tasks, the other
 * processes and the network to them (meet.c); then all of it in reverse.
 */
#include "runtime/job/job.h"

#include "base/fork.h"
#include "base/say.h"
#include "boot/local.h"
#include "runtime/gda/queues.h"
#include "runtime/job/exchange.h"
#include "runtime/job/site.h"
#include "runtime/service/ask.h"
#include "runtime/space/image.h"
#include "runtime/trace/timeline.h"
#include "runtime/watch/watch.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const uint64_t TOLD_WITHIN_NS = 2000000000; /* ns: an error comes back to its sender */

/*
 * Makes the steps in which one process may fail while the others go on: an error is the job's then,
 * which every process says once (tell_why).
 */
static weft_status open_together(struct weft_job *job)
{
    const enum weft_level before = weft_err_level(WEFT_SAY_INFO);
    weft_status status = weft_meet(job);

    for (int i = 0; weft_services[i] != NULL && status == WEFT_OK; i++)
        if (weft_services[i]->meet != NULL)
            status = weft_services[i]->meet(job);
    if (status == WEFT_OK)
        status = weft_trace_open(job);
    if (status == WEFT_OK)
        status = weft_services_start(job);
    weft_err_level(before);
    return status;
}

static weft_status open_services(struct weft_job *job)
{
    weft_status status = WEFT_OK;

    for (int i = 0; weft_services[i] != NULL && status == WEFT_OK; i++)
        if (weft_services[i]->open != NULL)
            status = weft_services[i]->open(job);
    return status;
}

static void close_services(struct weft_job *job)
{
    int count = 0;

    while (weft_services[count] != NULL)
        count++;
    while (count-- > 0)
        if (weft_services[count]->close != NULL)
            weft_services[count]->close(job);
}

static weft_status open_steps(struct weft_job *job)
{
    static weft_status (*const steps[])(struct weft_job *) = {
        weft_state_open,   open_services,      weft_watchdog_open, weft_state_open_host,
        weft_printer_open, weft_monitor_start, open_together};
    int turn = 0;

    WEFT_TRY(weft_random_join(job));
    WEFT_TRY(weft_control_join(&job->control, &job->config));
    job->proxy.command_bell = &job->proxy.own_bells[WEFT_NET_SEND]; /* until the network is open */
    job->proxy.receive_bell = &job->proxy.own_bells[WEFT_NET_RECEIVE];
    job->one_address_space = job->control->local;
    job->numbers.process = job->control->process;
    job->numbers.processes = job->control->processes;
    if (!weft_local_here())
        weft_say_process_of_all(job->numbers.process);
    job->processes = weft_job_keep(job, (size_t)job->numbers.processes, sizeof(*job->processes));
    if (job->processes == NULL)
        return WEFT_ERR_MEMORY;
    for (int p = 0; p < job->numbers.processes; p++)
        snprintf(job->processes[p].name, WEFT_NAME_BYTES, "process %d", p);
    job->device_ops = weft_device_choose(&job->config, weft_local_here());
    if (job->device_ops == NULL)
        return WEFT_ERR_CONFIG;
    WEFT_TRY(weft_site_meet(job, &turn));
    WEFT_TRY(job->device_ops->open(&job->device, &job->config, turn, job->one_address_space));
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
        WEFT_TRY(steps[i](job));
    return WEFT_OK;
}

/*
 * Jobs whose network was left unfinished: the program may call the library under it again, which
 * then reads and writes what the network was given. So all of that stays until the process ends.
 */
static struct weft_job *left;
static struct weft_lock left_lock;

static void leave_behind(struct weft_job *job)
{
    weft_say(WEFT_SAY_WARN,
             "network %s: messages were left unfinished, so this job's memory stays until the "
             "process ends; memory that the program registered, or put from, must not be unmapped",
             weft_net_name(job->proxy.net));
    weft_lock(&left_lock);
    job->next_left = left;
    left = job;
    weft_unlock(&left_lock);
}

/* Waits, where the network asks for it, until all have stopped sending: then it may be closed. */
static void stop_together(struct weft_job *job)
{
    if (weft_job_status(job) != WEFT_OK || weft_exchange_last(job) != WEFT_EXCHANGE_STOPPED)
        return;
    weft_services_stop(job);
    weft_exchange(job, WEFT_EXCHANGE_STOPPED, NULL, 0, NULL);
}

/* True: its memory may go. */
static bool close_network(struct weft_job *job)
{
    if (job->proxy.net == NULL)
        return true;
    __atomic_store_n(&job->proxy.net_keeps_memory, false, __ATOMIC_RELAXED);
    weft_net_close(job->proxy.net);
    return !__atomic_load_n(&job->proxy.net_keeps_memory, __ATOMIC_RELAXED);
}

/* Frees whatever open_steps made, however far it came. The status: of what ranks have logged. */
static weft_status release(struct weft_job *job, bool orderly)
{
    weft_random_leave(job);
    weft_services_stop(job);
    const weft_status printed = weft_printer_close(job);
    weft_monitor_stop(job);
    if (job->control != NULL)
        weft_control_close(job->control, orderly);
    if (!close_network(job)) {
        leave_behind(job);
        return printed;
    }
    close_services(job);
    weft_trace_close(job);
    weft_state_close(job);
    if (job->device != NULL)
        job->device_ops->close(job->device);
    weft_job_free_kept(job);
    if (!weft_local_here())
        weft_say_process_of_all(weft_watched_process());
    free(job);
    weft_random_left();
    return printed;
}

/*
 * Ends the others, too: they learn why, or, if not even that can be told, that this process is
 * gone. True: they do.
 */
static bool tell_why(struct weft_job *job, weft_status status)
{
    if (!job->monitor_runs)
        return false; /* it was said */
    weft_job_fail(job, status, "process %d could not open the job: %s", job->numbers.process,
                  weft_err_last());
    const uint64_t deadline = weft_now_ns() + TOLD_WITHIN_NS;
    while (weft_job_status(job) == WEFT_OK && weft_now_ns() < deadline)
        weft_task_yield(true);
    if (weft_job_status(job) != WEFT_OK)
        return true;
    weft_say(WEFT_SAY_ERROR, "%s: %s", weft_status_name(status), weft_err_last());
    return false;
}

/*
 * None of weft's descriptors may become a standard stream that the program was started without:
 * what it prints would be written there. Such a stream cannot be written.
 */
static void fill_standard_streams(void)
{
    int fd;

    do
        fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0)
        close(fd);
}

weft_status weft_open(weft_job **job, int *argc, char **argv)
{
    return weft_open_threads(job, argc, argv, WEFT_THREAD_SINGLE);
}

weft_status weft_open_threads(weft_job **job, int *argc, char **argv, weft_thread_level level)
{
    if (job == NULL)
        return weft_err(WEFT_ERR_ARGUMENT, "weft_open: job is NULL");
    *job = NULL;
    if (level != WEFT_THREAD_SINGLE && level != WEFT_THREAD_MULTIPLE)
        return weft_err(WEFT_ERR_ARGUMENT, "weft_open_threads: level %d", (int)level);
    fill_standard_streams();
    weft_job *j = calloc(1, sizeof(*j));
    if (j == NULL)
        return weft_err(WEFT_ERR_MEMORY, "no %zu bytes for a job", sizeof(*j));
    weft_status status = weft_config_load(&j->config, argc, argv);
    if (status != WEFT_OK) {
        free(j);
        return status;
    }
    weft_say_level((enum weft_level)j->config.log);
    j->ranks.shared_most = SIZE_MAX;
    j->forks = weft_forks;
    j->thread = pthread_self();
    j->thread_id = gettid();
    j->threads = level == WEFT_THREAD_MULTIPLE;
    static uint32_t opened;
    j->number = __atomic_add_fetch(&opened, 1, __ATOMIC_RELAXED);
    status = open_steps(j);
    if (status != WEFT_OK) {
        release(j, tell_why(j, status));
        return status;
    }
    *job = j;
    return WEFT_OK;
}

weft_status weft_close(weft_job *job)
{
    if (job == NULL)
        return WEFT_ERR_ARGUMENT; /* weft_open has said why */
    if (weft_job_owned(job, "weft_close") != WEFT_OK)
        return WEFT_ERR_STATE;
    if (job->ranks.in_task) { /* its ranks may wait for this program: they must end first */
        weft_job_fail(job, WEFT_ERR_STATE,
                      "process %d: weft_close before weft_finish or weft_tasks_end of kernel %s",
                      job->numbers.process, job->ranks.kernel->name);
        job->ranks.user_bytes = 0; /* where the program had its data may be gone */
        weft_finish(job, NULL);
    }
    weft_settle_ranks(job); /* puts that the host program did not flush */
    const weft_status written = weft_trace_write(job, true); /* also of a job that failed */
    weft_status agreed = WEFT_OK;
    if (weft_job_status(job) == WEFT_OK)
        agreed = weft_exchange(job, WEFT_EXCHANGE_CLOSE, NULL, 0, NULL);
    for (int i = 0; weft_services[i] != NULL; i++)
        if (weft_services[i]->leave != NULL)
            weft_services[i]->leave(job);
    stop_together(job);
    weft_status status = job->refused != WEFT_OK ? (weft_status)job->refused : weft_job_status(job);
    if (status == WEFT_OK)
        status = agreed != WEFT_OK ? agreed : written;
    const weft_status printed = release(job, true);
    return status == WEFT_OK ? printed : status;
}
