/*
 * watch.c - from the start of the last process to the end of the last one.
 *
 * One loop sleeps in poll on the signal descriptor and on the processes' output. The end comes in
 * stages: after the first failure the others have a grace period to end by themselves, then they
 * get SIGTERM, and after a second period SIGKILL. Whatever processes have left running, weftrun
 * inherits (it is a subreaper) and kills: nothing stays behind.
 */
#include "weftrun.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

enum stage { RUNNING, ENDING, TERMINATED, KILLED };

struct watch {
    struct job *job;
    int signals;           /* signalfd */
    struct pollfd *polled; /* the signals, then two streams a process */
    int running;
    int status;       /* of the first failure; 0 so far */
    bool interrupted; /* one SIGINT has come */
    enum stage stage;
    uint64_t deadline;  /* of the stage */
    uint64_t time_over; /* of the job */
};

static const int passed_on[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGQUIT};
enum { PASSED_ON = sizeof(passed_on) / sizeof(passed_on[0]) };

static uint64_t after(double seconds)
{
    return now_ns() + (uint64_t)(seconds * 1e9);
}

static void signal_all(const struct watch *watch, int number)
{
    for (int k = 0; k < watch->job->options->processes; k++) {
        /* Fails only when the process has ended in this moment. */
        if (watch->job->processes[k].pid != 0)
            (void)kill(watch->job->processes[k].pid, number);
    }
}

/* ---- the end of processes ------------------------------------------------------------------- */

static void enter(struct watch *watch, enum stage stage)
{
    if (stage <= watch->stage)
        return;
    watch->stage = stage;
    watch->deadline = stage == KILLED ? UINT64_MAX : after(watch->job->options->grace_s);
    if (stage == TERMINATED)
        signal_all(watch, SIGTERM);
    if (stage == KILLED)
        signal_all(watch, SIGKILL);
}

static void say_end(const struct watch *watch, int k, pid_t pid, int status)
{
    const bool ok = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    const enum verbosity verbosity = watch->job->options->verbosity;

    if (verbosity == QUIET || (verbosity == NORMAL && (ok || watch->status != 0)))
        return;
    if (WIFSIGNALED(status))
        complain("process %d (pid %d) ended by signal %d (%s)", k, (int)pid, WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    else
        complain("process %d (pid %d) ended with status %d", k, (int)pid, WEXITSTATUS(status));
}

static void note_end(struct watch *watch, int k, int status)
{
    struct process *process = &watch->job->processes[k];

    say_end(watch, k, process->pid, status);
    process->pid = 0;
    watch->running--;
    const int result = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    if (result != 0 && watch->status == 0) {
        watch->status = result;
        enter(watch, ENDING);
    }
}

/* All that have ended: processes of the job, and orphans, which nobody asks about. */
static void reap(struct watch *watch)
{
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        for (int k = 0; k < watch->job->options->processes; k++) {
            if (watch->job->processes[k].pid == pid) {
                note_end(watch, k, status);
                break;
            }
        }
    }
}

/* SIGKILL to each child of this one, as the kernel lists them. */
static void kill_children(void)
{
    char path[64];
    int pid;

    snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
    FILE *list = fopen(path, "re");
    if (list == NULL)
        return; /* a kernel without the list: orphans cannot be found */
    while (fscanf(list, "%d", &pid) == 1)
        (void)kill(pid, SIGKILL);
    fclose(list);
}

void watch_kill(struct job *job)
{
    const uint64_t deadline = after(5);

    /* The death of one may hand over its children: again, until there are none. */
    while (now_ns() < deadline) {
        kill_children();
        const pid_t ended = waitpid(-1, NULL, WNOHANG);
        if (ended < 0)
            break;
        if (ended == 0)
            poll(NULL, 0, 1);
    }
    for (int k = 0; k < job->options->processes; k++)
        output_close(&job->processes[k]);
}

/* ---- signals and time ----------------------------------------------------------------------- */

/*
 * What the terminal sends goes to the whole foreground group: the processes have it already. What
 * somebody sends to weftrun is passed on.
 */
static void take_signal(struct watch *watch, const struct signalfd_siginfo *signal)
{
    const int number = (int)signal->ssi_signo;

    if (number == SIGCHLD) {
        reap(watch);
        return;
    }
    if (number == SIGINT && watch->interrupted) {
        enter(watch, KILLED);
        return;
    }
    if (number == SIGINT)
        watch->interrupted = true;
    if (signal->ssi_code != SI_KERNEL)
        signal_all(watch, number);
    if (number == SIGTERM && watch->stage < TERMINATED) {
        watch->stage = TERMINATED; /* they have got it: passed on above */
        watch->deadline = after(watch->job->options->grace_s);
    }
}

static void take_signals(struct watch *watch)
{
    struct signalfd_siginfo signal;

    while (read(watch->signals, &signal, sizeof(signal)) == (ssize_t)sizeof(signal))
        take_signal(watch, &signal);
}

static void look_at_clock(struct watch *watch)
{
    const uint64_t now = now_ns();

    if (now >= watch->time_over) {
        watch->time_over = UINT64_MAX;
        if (watch->status == 0)
            watch->status = EXIT_TIME_OVER;
        complain("the job is not over after %g s", watch->job->options->timeout_s);
        enter(watch, TERMINATED);
    } else if (now >= watch->deadline) {
        enter(watch, watch->stage == ENDING ? TERMINATED : KILLED);
    }
}

/* For poll: until the next deadline, rounded up. */
static int milliseconds_left(const struct watch *watch)
{
    const uint64_t next = watch->deadline < watch->time_over ? watch->deadline : watch->time_over;
    const uint64_t now = now_ns();

    if (next == UINT64_MAX)
        return -1;
    if (next <= now)
        return 0;
    const uint64_t left = (next - now + 999999) / 1000000;
    return left > 60000 ? 60000 : (int)left;
}

static void watch_round(struct watch *watch)
{
    const int processes = watch->job->options->processes;
    struct pollfd *p = watch->polled;

    *p++ = (struct pollfd){.fd = watch->signals, .events = POLLIN};
    for (int k = 0; k < processes; k++) {
        *p++ = (struct pollfd){.fd = watch->job->processes[k].out.from, .events = POLLIN};
        *p++ = (struct pollfd){.fd = watch->job->processes[k].err.from, .events = POLLIN};
    }
    if (poll(watch->polled, (nfds_t)(p - watch->polled), milliseconds_left(watch)) > 0) {
        for (int k = 0; k < processes; k++) {
            if (watch->polled[1 + 2 * k].revents != 0)
                output_read(&watch->job->processes[k].out);
            if (watch->polled[2 + 2 * k].revents != 0)
                output_read(&watch->job->processes[k].err);
        }
        if (watch->polled[0].revents != 0)
            take_signals(watch);
    }
    look_at_clock(watch);
}

static bool prepare(struct watch *watch)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    for (int i = 0; i < PASSED_ON; i++)
        sigaddset(&set, passed_on[i]);
    watch->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (watch->signals < 0) {
        complain("signalfd: %s", strerror(errno));
        return false;
    }
    watch->polled =
        calloc(1 + 2 * (size_t)watch->job->options->processes, sizeof(watch->polled[0]));
    if (watch->polled == NULL) {
        complain("no memory to watch %d processes", watch->job->options->processes);
        close(watch->signals);
        return false;
    }
    return true;
}

int watch(struct job *job)
{
    const double timeout_s = job->options->timeout_s;
    struct watch w = {.job = job,
                      .running = job->options->processes,
                      .deadline = UINT64_MAX,
                      .time_over = timeout_s > 0 ? after(timeout_s) : UINT64_MAX};

    if (!prepare(&w)) {
        watch_kill(job);
        return EXIT_OWN_ERROR;
    }
    reap(&w); /* those that ended before the descriptor was there */
    while (w.running > 0)
        watch_round(&w);
    watch_kill(job);
    close(w.signals);
    free(w.polled);
    return w.status != 0 ? w.status : output_failed() ? 1 : 0;
}
