/*
 * helper.c - weftrun on another host: starts that host's processes for the launcher and obeys it.
 *
 * It is told the job on its standard input and answers on its standard output (link.h). Its own
 * standard error is the launcher's business: what the library or the shell say there is shown. When
 * the launcher is gone - the input has ended, or nothing has come for LINK_SILENCE_S - everything
 * is killed at once. Which signal comes when is the launcher's decision.
 */
#include "weftrun.h"

#include "base/config.h"
#include "base/say.h"
#include "boot/interface.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    CHUNK = 65536,
    BACKLOG_MAX = 8 << 20, /* then processes have to wait with their output */
    MOST_WORDS = 65536,
    DRAIN_READS = 32 /* from a process that has ended; others may still write to its pipe */
};

struct helper {
    struct job job;
    struct options options;
    struct link link;
    int first, count, words;
    int running;
    bool over;    /* nothing runs here any more */
    bool quit;    /* do not even send what is left */
    int signals;  /* signalfd */
    int to_input; /* process 0's standard input; -1: ended, or elsewhere */
    char *input;  /* what it has not taken */
    size_t input_begin, input_end;
    bool input_last;
    char complaint[400];
    struct pollfd *polled;
};

/* Nothing can be done here: says why (what was complained of), and ends. */
static bool fail(struct helper *helper, int exit_status)
{
    char payload[1 + sizeof(helper->complaint)];
    const size_t length = strlen(helper->complaint);

    payload[0] = (char)exit_status;
    memcpy(payload + 1, helper->complaint, length);
    (void)link_send(&helper->link, RECORD_FAILED, 0, payload, 1 + length);
    helper->over = true;
    return true;
}

/* ---- being told the job ---------------------------------------------------------------------- */

/* Appends a word to a list that ends with NULL. */
static bool append(struct helper *helper, char ***list, const char *text, size_t bytes)
{
    size_t have = 0;

    if (helper->words++ >= MOST_WORDS || memchr(text, 0, bytes) != NULL)
        return false;
    while (*list != NULL && (*list)[have] != NULL)
        have++;
    char **more = realloc(*list, (have + 2) * sizeof(*more));
    if (more == NULL)
        return false;
    *list = more;
    more[have] = strndup(text, bytes);
    more[have + 1] = NULL;
    return more[have] != NULL;
}

static bool take_job(struct helper *helper, const char *text, size_t bytes)
{
    char line[96], own[32], version[32];
    int processes;

    if (helper->job.processes != NULL || bytes >= sizeof(line))
        return false;
    memcpy(line, text, bytes);
    line[bytes] = 0;
    if (sscanf(line, "%31s %6d %6d %6d", version, &helper->first, &helper->count, &processes) != 4)
        return false;
    if (helper->first < 0 || helper->count < 1 || processes > 65536 ||
        helper->first > processes - helper->count)
        return false;
    helper->options.processes = processes;
    helper->job.processes = calloc((size_t)processes, sizeof(helper->job.processes[0]));
    helper->polled = calloc(4 + 2 * (size_t)helper->count, sizeof(helper->polled[0]));
    if (helper->job.processes == NULL || helper->polled == NULL)
        return false;
    for (int k = 0; k < processes; k++)
        helper->job.processes[k] = (struct process){.log = -1, .out.from = -1, .err.from = -1};
    snprintf(own, sizeof(own), "%d.%d.%d", WEFT_VERSION_MAJOR, WEFT_VERSION_MINOR,
             WEFT_VERSION_PATCH);
    if (strcmp(version, own) == 0)
        return link_send(&helper->link, RECORD_HELLO, 0, NULL, 0);
    complain("weftrun is version %s here and %s where the job was started", own, version);
    return fail(helper, EXIT_OWN_ERROR);
}

static bool take_folder(struct helper *helper, const char *text, size_t bytes)
{
    char path[4096];

    if (bytes >= sizeof(path))
        return false;
    memcpy(path, text, bytes);
    path[bytes] = 0;
    if (chdir(path) == 0)
        return true;
    complain("working directory %s: %s", path, strerror(errno));
    return fail(helper, EXIT_OWN_ERROR);
}

static bool take_secret(struct helper *helper, const char *text, size_t bytes)
{
    if (bytes >= sizeof(helper->job.secret) || memchr(text, 0, bytes) != NULL)
        return false;
    memcpy(helper->job.secret, text, bytes);
    helper->job.secret[bytes] = 0;
    return true;
}

static bool take_variable(struct helper *helper, const char *text, size_t bytes)
{
    if (bytes == 0 || text[0] == '=' || memchr(text, '=', bytes) == NULL)
        return false;
    return append(helper, &helper->options.variables, text, bytes);
}

/* The root's socket, where this job's variables say. */
static bool take_listen(struct helper *helper, const unsigned char *payload, size_t bytes)
{
    struct weft_config config;

    if (bytes != 1 || payload[0] > WEFT_REACH_NETWORK || helper->first != 0 ||
        helper->job.listener >= 0)
        return false;
    for (char **v = helper->options.variables; v != NULL && *v != NULL; v++) {
        if (putenv(*v) != 0)
            return false;
    }
    if (weft_config_load(&config, NULL, NULL) != WEFT_OK ||
        weft_interface_listen(&helper->job.listener, helper->job.root, config.interface,
                              (enum weft_reach)payload[0]) != WEFT_OK) {
        complain("%s", weft_err_last());
        return fail(helper, EXIT_OWN_ERROR);
    }
    return link_text(&helper->link, RECORD_ROOT, helper->job.root);
}

/* ---- starting -------------------------------------------------------------------------------- */

/* Process 0 reads what the launcher sends; until then standard input is nothing. */
static bool open_input(struct helper *helper)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) != 0 || fcntl(ends[1], F_SETFL, O_NONBLOCK) != 0 ||
        dup2(ends[0], STDIN_FILENO) < 0)
        return false;
    close(ends[0]);
    helper->to_input = ends[1];
    return true;
}

static bool close_standard_input(void)
{
    const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);

    if (nothing < 0 || dup2(nothing, STDIN_FILENO) < 0)
        return false;
    if (nothing != STDIN_FILENO)
        close(nothing);
    return true;
}

static bool start_one(struct helper *helper, int k)
{
    unsigned char pid[4];

    if (k == 0 && !open_input(helper)) {
        complain("standard input of process 0: %s", strerror(errno));
        return false;
    }
    const int status = launch_process(&helper->job, k);
    if (k == 0 && !close_standard_input())
        return false;
    if (status != 0) {
        fail(helper, status);
        return false;
    }
    helper->running++;
    link_put_number(pid, (uint32_t)helper->job.processes[k].pid);
    return link_send(&helper->link, RECORD_PID, k, pid, sizeof(pid));
}

static bool take_start(struct helper *helper, const char *text, size_t bytes)
{
    struct job *job = &helper->job;

    if (bytes >= sizeof(job->root) || helper->options.program == NULL || job->started)
        return false;
    memcpy(job->root, text, bytes);
    job->root[bytes] = 0;
    job->started = true;
    for (int k = helper->first; k < helper->first + helper->count; k++) {
        if (!start_one(helper, k)) {
            if (!helper->over)
                fail(helper, EXIT_OWN_ERROR);
            break;
        }
    }
    if (job->listener >= 0)
        close(job->listener);
    return true;
}

/* ---- while they run -------------------------------------------------------------------------- */

static bool take_signal(struct helper *helper, const unsigned char *payload, size_t bytes)
{
    if (bytes != 1 || payload[0] == 0 || payload[0] >= NSIG)
        return false;
    if (payload[0] == SIGKILL && !helper->job.started)
        helper->quit = helper->over = true; /* the job ends before it began */
    for (int k = helper->first; k < helper->first + helper->count; k++) {
        if (helper->job.processes[k].running)
            (void)kill(helper->job.processes[k].pid, payload[0]); /* may have ended just now */
    }
    return true;
}

/* Gives process 0 what it takes, and asks for more. */
static void feed(struct helper *helper)
{
    while (helper->to_input >= 0 && helper->input_begin < helper->input_end) {
        const ssize_t written = write(helper->to_input, helper->input + helper->input_begin,
                                      helper->input_end - helper->input_begin);
        if (written < 0 && errno == EAGAIN)
            return;
        if (written < 0 && errno != EINTR)
            helper->input_last = true; /* it reads no more: nothing more is asked for */
        if (written < 0 && errno != EINTR)
            break;
        helper->input_begin += written > 0 ? (size_t)written : 0;
    }
    free(helper->input);
    helper->input = NULL;
    if (helper->to_input >= 0 && helper->input_last) {
        close(helper->to_input);
        helper->to_input = -1;
    } else if (helper->to_input >= 0) {
        (void)link_send(&helper->link, RECORD_INPUT, 0, NULL, 0);
    }
}

static bool take_input(struct helper *helper, const void *payload, size_t bytes)
{
    if (helper->first != 0 || helper->input != NULL)
        return false;
    helper->input_last = bytes == 0;
    helper->input_begin = 0;
    helper->input_end = bytes;
    if (bytes > 0) {
        helper->input = malloc(bytes);
        if (helper->input == NULL)
            return false;
        memcpy(helper->input, payload, bytes);
    }
    feed(helper);
    return true;
}

static bool take(struct helper *helper, const struct weft_header *header, const void *payload)
{
    const enum record kind = (enum record)header->kind;
    const size_t bytes = header->bytes;

    if (kind == RECORD_BEAT)
        return true;
    if (kind == RECORD_JOB)
        return take_job(helper, payload, bytes);
    if (helper->job.processes == NULL || (helper->job.started && kind <= RECORD_START))
        return false;
    switch (kind) {
    case RECORD_FOLDER:
        return take_folder(helper, payload, bytes);
    case RECORD_SECRET:
        return take_secret(helper, payload, bytes);
    case RECORD_VARIABLE:
        return take_variable(helper, payload, bytes);
    case RECORD_ARGUMENT:
        return append(helper, &helper->options.program, payload, bytes);
    case RECORD_LISTEN:
        return take_listen(helper, payload, bytes);
    case RECORD_START:
        return take_start(helper, payload, bytes);
    case RECORD_SIGNAL:
        return take_signal(helper, payload, bytes);
    case RECORD_INPUT:
        return take_input(helper, payload, bytes);
    default:
        return false;
    }
}

static void listen_to_launcher(struct helper *helper)
{
    struct weft_header header;
    const void *payload;
    int taken = 0;
    const bool more = link_read(&helper->link);

    while (!helper->over && (taken = link_take(&helper->link, &header, &payload)) > 0) {
        if (!take(helper, &header, payload)) {
            complain("record %d of %u bytes is not expected here", header.kind, header.bytes);
            fail(helper, EXIT_OWN_ERROR);
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
    if (helper->running == 0)
        helper->over = true;
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
            if (helper->job.processes[k].running && helper->job.processes[k].pid == pid)
                note_end(helper, k, status);
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
    struct pollfd few[4];
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
    if (poll(all, (nfds_t)(p - all), LINK_BEAT_MS / 2) > 0) {
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
            feed(helper);
        if (called)
            listen_to_launcher(helper); /* may replace `all` */
    }
    if (!link_flush(&helper->link) || !link_beat(&helper->link) || link_silent(&helper->link, 0))
        helper->quit = helper->over = true;
}

/* All is over here: nothing stays behind, and what was written goes out as long as it is taken. */
static void finish(struct helper *helper)
{
    watch_kill_children();
    for (int k = helper->first; helper->job.started && k < helper->first + helper->count; k++)
        drain(helper, &helper->job.processes[k]);
    while (!helper->quit && link_backlog(&helper->link) > 0) {
        struct pollfd polled[2] = {{.fd = helper->link.out, .events = POLLOUT},
                                   {.fd = helper->link.in, .events = POLLIN}};
        poll(polled, 2, LINK_BEAT_MS);
        if (polled[1].revents != 0 && !link_read(&helper->link))
            helper->quit = true;
        helper->link.received.begin = helper->link.received.end = 0; /* whatever it was */
        if (!link_flush(&helper->link) || link_silent(&helper->link, 0))
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
    return in >= 0 && out >= 0 && helper->signals >= 0 && close_standard_input() &&
           dup2(STDERR_FILENO, STDOUT_FILENO) >= 0 && link_open(&helper->link, in, out);
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
