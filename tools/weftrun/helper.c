/*
 * helper.c - weftrun on another host: starts that host's processes for the launcher and obeys it.
 *
 * It is told the job on its standard input (obey.c) and answers on its standard output (link.h).
 * Its own standard error is the launcher's business: what the library or the shell say there is
 * shown. When the launcher is gone - the input has ended, or nothing has come for the link's
 * silence_s - everything is killed at once. Which signal comes when is the launcher's decision.
 */
#include "helper.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    CHUNK = LINK_OUTPUT_MOST,
    BACKLOG_MAX = 8 << 20, /* then processes have to wait with their output */
    FIRST_SILENCE_S = 30,  /* until the launcher says another number */
    DRAIN_READS = 32       /* from a process that has ended; others may still write to its pipe */
};

/* ---- what it is told ------------------------------------------------------------------------- */

static void listen_to_launcher(struct helper *helper)
{
    struct weft_header header;
    const void *payload;
    int taken = 0;
    const bool more = link_read(&helper->link);

    while (!helper->over && (taken = link_take(&helper->link, &header, &payload)) > 0) {
        if (!helper_obey(helper, &header, payload)) {
            complain("record %d of %u bytes is not expected here", header.kind, header.bytes);
            helper_fail(helper, EXIT_OWN_ERROR);
        }
    }
    if (taken < 0 || !more)
        helper->quit = helper->over = true;
}

/* ---- output and ends ------------------------------------------------------------------------- */

/* False: nothing more can come. */
static bool pass_on(struct helper *helper, struct stream *stream, enum record kind)
{
    static char text[CHUNK];

    if (stream->from < 0)
        return false;
    const ssize_t got = read(stream->from, text, sizeof(text));
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (got > 0) {
        (void)link_send(&helper->link, kind, stream->process, text, (size_t)got);
        return true;
    }
    close(stream->from);
    stream->from = -1;
    return false;
}

/* What a process that has ended left in its pipes. */
static void drain(struct helper *helper, struct process *process)
{
    for (int i = 0; i < DRAIN_READS && pass_on(helper, &process->out, RECORD_OUT); i++)
        ;
    for (int i = 0; i < DRAIN_READS && pass_on(helper, &process->err, RECORD_ERR); i++)
        ;
}

static void note_end(struct helper *helper, int k, int status)
{
    unsigned char wire[4];

    helper->job.processes[k].running = false;
    helper->running--;
    drain(helper, &helper->job.processes[k]);
    link_put_number(wire, (uint32_t)status);
    (void)link_send(&helper->link, RECORD_END, k, wire, sizeof(wire));
    helper->stays |= k == 0 && status == 0;
    helper->over |= helper->running == 0 && !helper->stays;
}

static void reap(struct helper *helper)
{
    struct signalfd_siginfo ignored;
    int status;
    pid_t pid;

    while (read(helper->signals, &ignored, sizeof(ignored)) > 0)
        ;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        for (int k = helper->first; k < helper->first + helper->count; k++) {
            if (helper->job.processes[k].running && helper->job.processes[k].pid == pid) {
                note_end(helper, k, status);
                if (status == 0)
                    launch_miss(&helper->job, k);
            }
        }
    }
}

/* ---- the loop -------------------------------------------------------------------------------- */

static void add(struct pollfd **p, int fd, short events)
{
    **p = (struct pollfd){.fd = fd, .events = events};
    (*p)++;
}

static void helper_round(struct helper *helper)
{
    struct pollfd few[8];
    struct pollfd *all = helper->polled != NULL ? helper->polled : few, *p = all;
    const bool room = link_backlog(&helper->link) < BACKLOG_MAX;
    const int processes = helper->job.started ? helper->count : 0;

    add(&p, helper->signals, POLLIN);
    add(&p, helper->link.in, POLLIN);
    add(&p, link_backlog(&helper->link) > 0 ? helper->link.out : -1, POLLOUT);
    add(&p, helper->input != NULL ? helper->to_input : -1, POLLOUT);
    for (int i = 0; i < processes; i++) {
        add(&p, room ? helper->job.processes[helper->first + i].out.from : -1, POLLIN);
        add(&p, room ? helper->job.processes[helper->first + i].err.from : -1, POLLIN);
    }
    const int ready = weft_poll_open(all, (size_t)(p - all), LINK_BEAT_MS / 2);
    if (ready < 0 && errno != EINTR) {
        complain("poll: %s", strerror(errno));
        helper_fail(helper, EXIT_OWN_ERROR);
        return;
    }
    if (ready > 0) {
        for (int i = 0; i < processes; i++) {
            struct process *process = &helper->job.processes[helper->first + i];
            if (all[4 + 2 * i].revents != 0)
                pass_on(helper, &process->out, RECORD_OUT);
            if (all[5 + 2 * i].revents != 0)
                pass_on(helper, &process->err, RECORD_ERR);
        }
        const bool called = all[1].revents != 0, feeding = all[3].revents != 0;
        if (all[0].revents != 0)
            reap(helper);
        if (feeding)
            helper_feed(helper);
        if (called)
            listen_to_launcher(helper); /* may replace `all` */
    }
    if (!link_flush(&helper->link) || !link_beat(&helper->link) || link_silent(&helper->link))
        helper->quit = helper->over = true;
}

/* All is over here: nothing stays behind, and what was written goes out as long as it is taken. */
static void finish(struct helper *helper)
{
    children_kill();
    for (int k = helper->first; helper->job.started && k < helper->first + helper->count; k++)
        drain(helper, &helper->job.processes[k]);
    while (!helper->quit && link_backlog(&helper->link) > 0) {
        struct pollfd polled[2] = {{.fd = helper->link.out, .events = POLLOUT},
                                   {.fd = helper->link.in, .events = POLLIN}};
        poll(polled, 2, LINK_BEAT_MS);
        if (polled[1].revents != 0 && !link_read(&helper->link))
            helper->quit = true;
        helper->link.received.begin = helper->link.received.end = 0; /* whatever it was */
        if (!link_flush(&helper->link) || link_silent(&helper->link))
            helper->quit = true;
    }
}

static bool prepare(struct helper *helper)
{
    sigset_t set;

    /* The launcher decides when to end, also when the terminal's signals come here. */
    (void)setsid(); /* fails where it is the leader of a group already, which serves as well */
    (void)prctl(PR_SET_PDEATHSIG, 0); /* that of a launcher on this host */
    signal(SIGINT, SIG_DFL);
    signal(SIGQUIT, SIG_DFL);
    signal(SIGTSTP, SIG_DFL);
    if (take_over(&helper->job) != 0)
        return false;
    const int in = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
    const int out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    helper->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    /* From here on nobody writes between the records. */
    return in >= 0 && out >= 0 && helper->signals >= 0 && helper_close_input() &&
           dup2(STDERR_FILENO, STDOUT_FILENO) >= 0 &&
           link_open(&helper->link, in, out, FIRST_SILENCE_S);
}

int helper_main(void)
{
    static struct helper helper = {.options = {.prefix = true, .verbosity = QUIET},
                                   .job = {.listener = -1},
                                   .signals = -1,
                                   .to_input = -1};

    helper.job.options = &helper.options;
    if (!prepare(&helper)) {
        complain("helper: %s", strerror(errno));
        return EXIT_OWN_ERROR;
    }
    complaint_keep(helper.complaint, sizeof(helper.complaint));
    while (!helper.over)
        helper_round(&helper);
    finish(&helper);
    return helper.quit ? 1 : 0;
}
