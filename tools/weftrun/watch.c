/*
 * watch.c - from the start of the last process to the end of the last one.
 *
 * One loop sleeps in poll on the signal descriptor and on the processes' output. The end comes in
 * stages: after the first failure the others have a grace period to end by themselves, then they
 * get SIGTERM, and after a second period SIGKILL. What they have left running goes too
 * (children.c).
 */
#include "weftrun.h"

#include "boot/socket.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

enum stage { RUNNING, ENDING, TERMINATED, KILLED };

struct watch {
    struct job *job;
    int children;          /* signalfd of SIGCHLD */
    int signals;           /* signalfd of the signals that are passed on */
    struct pollfd *polled; /* those two, input, two for each process and each host; twice as long */
    struct remote_events events;
    int running;
    struct verdict verdict;
    bool interrupted; /* one SIGINT has come */
    enum stage stage;
    uint64_t deadline;  /* of the stage */
    uint64_t time_over; /* of the job */
    uint64_t asked;     /* when somebody or the time has asked for the end; 0: not yet */
};

static const int passed_on[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGQUIT};
enum { PASSED_ON = sizeof(passed_on) / sizeof(passed_on[0]) };

/* How long a reader may rest, when the job shall end, until its output is given up. */
static const uint64_t READER_NS = 1000000000;

static void signal_all(struct watch *watch, int number)
{
    const struct options *options = watch->job->options;

    sigaddset(&watch->verdict.sent, number);
    for (int i = 0; i < options->host_count; i++)
        remote_signal(&options->hosts[i], number);
    for (int k = 0; options->host_count == 0 && k < options->processes; k++) {
        /* Fails only when the process has ended in this moment. */
        if (watch->job->processes[k].running)
            (void)kill(watch->job->processes[k].pid, number);
    }
}

/* ---- the end of processes ------------------------------------------------------------------- */

/* status: weftrun's own, if nothing failed before; 0: none. */
static void enter(struct watch *watch, enum stage stage, int status)
{
    const double grace_s = watch->job->options->grace_s;

    if (stage >= TERMINATED)
        verdict_say(&watch->verdict, watch->job);
    verdict_own(&watch->verdict, status);
    if (stage <= watch->stage)
        return;
    watch->stage = stage;
    watch->deadline =
        stage == KILLED ? UINT64_MAX : after(grace_s > VERDICT_S ? grace_s : VERDICT_S);
    if (stage == TERMINATED)
        signal_all(watch, SIGTERM);
    if (stage == KILLED)
        signal_all(watch, SIGKILL);
}

static void note_end(struct watch *watch, int k, int status)
{
    const bool failed = verdict_end(&watch->verdict, watch->job, k, status);

    watch->job->processes[k].running = false;
    watch->running--;
    if (failed)
        enter(watch, ENDING, 0);
}

/* A helper says that a process has ended. */
static void ended_there(void *context, int k, int status)
{
    note_end(context, k, status);
}

/* Nothing runs on a host any more. Where the job had not begun, nobody gets a grace period. */
static void failed_there(void *context, struct host *host, int exit_status, const char *text)
{
    struct watch *watch = context;

    for (int k = host->first; k < host->first + host->count; k++) {
        if (watch->job->processes[k].running)
            watch->running--;
        watch->job->processes[k].running = false;
    }
    const bool had_begun = host->greeted && watch->job->started && exit_status == EXIT_OWN_ERROR;
    verdict_host(&watch->verdict, watch->job, exit_status, text);
    enter(watch, had_begun ? ENDING : KILLED, 0);
}

/* True if it was the command that reached a host. */
static bool reap_host(struct watch *watch, pid_t pid, int status)
{
    const struct options *options = watch->job->options;

    for (int i = 0; i < options->host_count; i++) {
        if (options->hosts[i].pid == pid) {
            remote_ended(watch->job, &options->hosts[i], status, &watch->events);
            return true;
        }
    }
    return false;
}

/* All that have ended: processes of the job, and orphans, which nobody asks about. */
static void reap(struct watch *watch)
{
    struct signalfd_siginfo ignored;
    int status;
    pid_t pid;

    while (read(watch->children, &ignored, sizeof(ignored)) > 0)
        ;
    while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED | WCONTINUED)) > 0) {
        if (WIFSTOPPED(status) || WIFCONTINUED(status)) {
            if (watch->job->options->host_count == 0)
                say_stop(watch->job, pid, status);
            continue;
        }
        const bool here = !reap_host(watch, pid, status) && watch->job->options->host_count == 0;
        for (int k = 0; here && k < watch->job->options->processes; k++) {
            if (watch->job->processes[k].running && watch->job->processes[k].pid == pid) {
                note_end(watch, k, status);
                if (status == 0 && watch->running > 0)
                    launch_miss(watch->job, k);
                break;
            }
        }
    }
}

/* ---- signals and time ----------------------------------------------------------------------- */

/*
 * What the terminal sends goes to the whole foreground group: processes of this host have it
 * already; but that it hangs up, to its session's leader. What somebody sends is passed on.
 */
static void take_signal(struct watch *watch, const struct signalfd_siginfo *signal)
{
    const int number = (int)signal->ssi_signo;

    if (number != SIGUSR1 && number != SIGUSR2 && watch->asked == 0)
        watch->asked = weft_now_ns();
    if (number == SIGINT && watch->interrupted) {
        enter(watch, KILLED, 0);
        return;
    }
    if (number == SIGINT)
        watch->interrupted = true;
    if (watch->job->options->host_count > 0 && !watch->job->started && number != SIGUSR1 &&
        number != SIGUSR2) {
        enter(watch, KILLED, 128 + number); /* nobody has begun */
        return;
    }
    sigaddset(&watch->verdict.sent, number);
    if (signal->ssi_code != SI_KERNEL || number == SIGHUP || watch->job->options->host_count > 0)
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
    const uint64_t now = weft_now_ns();

    if (now >= watch->verdict.due)
        verdict_say(&watch->verdict, watch->job);
    if (now >= watch->time_over) {
        watch->time_over = UINT64_MAX;
        if (watch->asked == 0)
            watch->asked = now;
        enter(watch, TERMINATED, EXIT_TIME_OVER);
        complain("the job is not over after %g s", watch->job->options->timeout_s);
    } else if (now >= watch->deadline) {
        enter(watch, watch->stage == ENDING ? TERMINATED : KILLED, 0);
    }
}

/* For poll: until the next deadline. */
static int milliseconds_left(const struct watch *watch)
{
    const uint64_t end = watch->deadline < watch->time_over ? watch->deadline : watch->time_over;
    const uint64_t next = end < watch->verdict.due ? end : watch->verdict.due;

    return next == UINT64_MAX ? -1 : weft_socket_milliseconds(next);
}

/*
 * A reader keeps us waiting: no helper shall believe us gone, nor we them, and signals and time
 * have their effect. Ends of processes have to wait, since they write. False: the reader has rested
 * for too long, after somebody has asked for the end.
 */
static bool rest(void *context, uint64_t since)
{
    struct watch *watch = context;
    const struct options *options = watch->job->options;

    for (int i = 0; i < options->host_count; i++)
        remote_beat(&options->hosts[i]);
    take_signals(watch);
    look_at_clock(watch);
    if (watch->asked == 0)
        return true;
    return weft_now_ns() < (watch->asked > since ? watch->asked : since) + READER_NS;
}

static bool wants_input(const struct job *job)
{
    return job->started && job->input && job->input_taken && job->processes[0].running;
}

static int fill_polled(struct watch *watch)
{
    const struct job *job = watch->job;
    const struct options *options = job->options;
    struct pollfd *p = watch->polled;

    *p++ = (struct pollfd){.fd = watch->children, .events = POLLIN};
    *p++ = (struct pollfd){.fd = watch->signals, .events = POLLIN};
    *p++ = (struct pollfd){.fd = wants_input(job) ? STDIN_FILENO : -1, .events = POLLIN};
    for (int k = 0; k < options->processes; k++) {
        *p++ = (struct pollfd){.fd = job->processes[k].out.from, .events = POLLIN};
        *p++ = (struct pollfd){.fd = job->processes[k].err.from, .events = POLLIN};
    }
    for (int i = 0; i < options->host_count; i++) {
        const struct link *link = &options->hosts[i].link;
        const bool behind = link_backlog(link) > 0;
        *p++ =
            (struct pollfd){.fd = link->in, .events = (short)(behind ? POLLIN | POLLOUT : POLLIN)};
        *p++ = (struct pollfd){.fd = options->hosts[i].errors, .events = POLLIN};
    }
    return (int)(p - watch->polled);
}

/* Reads from those that poll has named. */
static void read_some(struct watch *watch)
{
    struct job *job = watch->job;
    const struct options *options = job->options;
    const struct pollfd *p = watch->polled + 3;

    for (int k = 0; k < options->processes; k++, p += 2) {
        if (p[0].revents != 0)
            output_read(&job->processes[k].out);
        if (p[1].revents != 0)
            output_read(&job->processes[k].err);
    }
    for (int i = 0; i < options->host_count; i++, p += 2) {
        if (p[1].revents != 0)
            remote_complaints(&options->hosts[i]);
        if ((p[0].revents & ~POLLOUT) != 0)
            remote_read(job, &options->hosts[i], &watch->events);
    }
    if (watch->polled[2].revents != 0)
        remote_input(job);
    if (watch->polled[1].revents != 0)
        take_signals(watch);
    if (watch->polled[0].revents != 0)
        reap(watch);
}

/* False: nothing can be watched, which has been said. */
static bool watch_round(struct watch *watch)
{
    const int count = fill_polled(watch);
    int patience = milliseconds_left(watch);

    if (watch->job->options->host_count > 0 && (patience < 0 || patience > LINK_BEAT_MS / 2))
        patience = LINK_BEAT_MS / 2;
    const int ready = weft_poll_open(watch->polled, (size_t)count, patience);
    if (ready < 0 && errno != EINTR) {
        complain("poll: %s", strerror(errno));
        watch->verdict.status = EXIT_OWN_ERROR;
        return false;
    }
    if (ready > 0)
        read_some(watch);
    for (int i = 0; i < watch->job->options->host_count; i++)
        remote_look(watch->job, &watch->job->options->hosts[i]);
    look_at_clock(watch);
    return true;
}

/* False after a complaint; then finish closes what there is. */
static bool prepare(struct watch *watch)
{
    sigset_t child, others;

    sigemptyset(&watch->verdict.sent);
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigemptyset(&others);
    for (int i = 0; i < PASSED_ON; i++)
        sigaddset(&others, passed_on[i]);
    watch->children = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
    watch->signals = signalfd(-1, &others, SFD_CLOEXEC | SFD_NONBLOCK);
    if (watch->children < 0 || watch->signals < 0) {
        complain("signalfd: %s", strerror(errno));
        return false;
    }
    const size_t pairs =
        (size_t)watch->job->options->processes + (size_t)watch->job->options->host_count;
    watch->polled = calloc(2 * (3 + 2 * pairs), sizeof(watch->polled[0]));
    if (watch->polled == NULL) {
        complain("no memory to watch %d processes", watch->job->options->processes);
        return false;
    }
    return true;
}

/* Kills what is left and passes on its last words; then nothing is watched any more. */
static void finish(struct watch *watch)
{
    children_end(watch->job);
    output_meanwhile(NULL, NULL);
    close(watch->children);
    close(watch->signals);
    free(watch->polled);
}

/* Helpers have still to send what their processes wrote last. */
static bool helpers_left(const struct watch *watch)
{
    const struct options *options = watch->job->options;

    for (int i = 0; i < options->host_count; i++) {
        if (options->hosts[i].pid != 0)
            return true;
    }
    return false;
}

/* They have a grace period for that, but no reader of ours may shorten it. */
static void wait_for_helpers(struct watch *watch)
{
    const double grace_s = watch->job->options->grace_s, silence_s = watch->job->silence_s;
    const uint64_t deadline = after(grace_s > silence_s ? grace_s : silence_s);

    watch->stage = KILLED;
    watch->deadline = UINT64_MAX;
    signal_all(watch, SIGTERM); /* to one that stays in place of process 0 */
    while (helpers_left(watch) && weft_now_ns() < deadline && watch_round(watch))
        ;
}

int watch(struct job *job)
{
    const double timeout_s = job->options->timeout_s;
    struct watch w = {.job = job,
                      .running = job->options->processes,
                      .verdict.due = UINT64_MAX,
                      .deadline = UINT64_MAX,
                      .time_over = timeout_s > 0 ? after(timeout_s) : UINT64_MAX,
                      .events = {&w, ended_there, failed_there}};

    if (!prepare(&w)) {
        finish(&w);
        return EXIT_OWN_ERROR;
    }
    output_meanwhile(rest, &w);
    reap(&w); /* those that ended before the descriptor was there */
    bool watching = true;
    while (watching && w.running > 0)
        watching = watch_round(&w);
    verdict_say(&w.verdict, job);
    if (watching)
        wait_for_helpers(&w);
    finish(&w);
    return w.verdict.status != 0 ? w.verdict.status : output_failed() ? 1 : 0;
}
