/*
 * remote.c - the launcher's side of other hosts: the command that reaches a host starts weftrun
 * there as a helper (helper.c), which is told the job through its standard input, secret included:
 * nothing of it stands on a command line. When every helper has answered, all start their
 * processes.
 *
 * A host is lost when its helper is: when the command that reached it ends, or when nothing has
 * come for LINK_SILENCE_S. The helper thinks the same of us, and then kills its processes.
 */
#include "weftrun.h"

#include "boot/interface.h"

#include <weft/types.h>

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { WORDS_MAX = 32, LINGER_S = 2, ANSWER_S = 10 };

/* ---- reaching a host ------------------------------------------------------------------------- */

/* For the shell at the other end; what is plain stays as it is. */
static bool quote(char *to, size_t room, const char *path)
{
    size_t end = 0;
    bool plain = true;

    for (const char *c = path; *c != 0; c++)
        plain = plain && (isalnum((unsigned char)*c) || strchr("/._-+", *c) != NULL);
    if (plain)
        return snprintf(to, room, "%s", path) < (int)room;
    to[end++] = '\'';
    for (const char *c = path; *c != 0 && end + 6 < room; c++) {
        if (*c == '\'')
            end += (size_t)sprintf(to + end, "'\\''");
        else
            to[end++] = *c;
    }
    to[end++] = '\'';
    to[end] = 0;
    return end + 6 < room;
}

/* Whether a name is this host's own: no command is needed to reach it. */
static bool is_here(const char *name)
{
    char own[HOST_NAME_MAX + 1];

    return strcmp(name, "localhost") == 0 ||
           (gethostname(own, sizeof(own)) == 0 && strcmp(name, own) == 0);
}

/* The words of the command, in place; the rest of `words` is for the host and the helper. */
static int split(char *text, char **words)
{
    int count = 0;
    char *at;

    for (char *word = strtok_r(text, " \t", &at); word != NULL && count < WORDS_MAX;
         word = strtok_r(NULL, " \t", &at))
        words[count++] = word;
    return count;
}

/* In the child. The terminal's signals are for weftrun, which passes them on. */
static void become(const struct job *job, char **words, const int ends[2], pid_t parent)
{
    static const int ignored[] = {SIGINT, SIGQUIT, SIGTSTP};

    for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
        signal(ignored[i], SIG_IGN);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == parent &&
        dup2(ends[0], STDIN_FILENO) >= 0 && dup2(ends[0], STDOUT_FILENO) >= 0 &&
        dup2(ends[1], STDERR_FILENO) >= 0 && sigprocmask(SIG_SETMASK, &job->signals, NULL) == 0)
        execvp(words[0], words);
    dprintf(STDERR_FILENO, "cannot run %s: %s\n", words[0], strerror(errno));
    _exit(EXIT_NOT_RUN);
}

/* Starts the command; the link and the errors are open then. */
static bool reach(const struct job *job, struct host *host, char **words)
{
    const pid_t self = getpid();
    int pair[2], errors[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        return false;
    if (pipe2(errors, O_CLOEXEC) != 0)
        goto close_pair;
    if (!link_open(&host->link, pair[0], pair[0]) || fcntl(errors[0], F_SETFL, O_NONBLOCK) != 0)
        goto close_errors;
    host->pid = fork();
    if (host->pid == 0)
        become(job, words, (const int[2]){pair[1], errors[1]}, self);
    if (host->pid < 0)
        goto close_errors;
    close(pair[1]);
    close(errors[1]);
    host->errors = errors[0];
    return true;

close_errors:
    close(errors[0]);
    close(errors[1]);
close_pair:
    close(pair[0]);
    close(pair[1]);
    host->link = (struct link){.in = -1, .out = -1};
    host->pid = 0;
    return false;
}

/* ---- telling it the job ---------------------------------------------------------------------- */

/* Variables of weft that are the same for all processes; the launcher gives the others. */
static bool passes_on(const char *variable)
{
    static const char *const own[] = {"WEFT_PROCESS=", "WEFT_PROCESSES=", "WEFT_ROOT=",
                                      "WEFT_ROOT_FD=", "WEFT_SECRET=",    "WEFT_RSH="};

    if (strncmp(variable, "WEFT_", 5) != 0)
        return false;
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
        if (strncmp(variable, own[i], strlen(own[i])) == 0)
            return false;
    }
    return true;
}

static bool on_one_host(const struct options *options)
{
    for (int i = 1; i < options->host_count; i++) {
        if (options->hosts[i].count > 0 &&
            strcmp(options->hosts[i].name, options->hosts[0].name) != 0)
            return false;
    }
    return true;
}

static bool tell(const struct job *job, struct host *host, const char *folder)
{
    const struct options *options = job->options;
    struct link *link = &host->link;
    char line[96];

    snprintf(line, sizeof(line), "%d.%d.%d %d %d %d", WEFT_VERSION_MAJOR, WEFT_VERSION_MINOR,
             WEFT_VERSION_PATCH, host->first, host->count, options->processes);
    bool told = link_text(link, RECORD_JOB, line) && link_text(link, RECORD_FOLDER, folder) &&
                link_text(link, RECORD_SECRET, job->secret);
    for (char **v = environ; told && *v != NULL; v++)
        told = !passes_on(*v) || link_text(link, RECORD_VARIABLE, *v);
    for (char **v = options->variables; told && v != NULL && *v != NULL; v++)
        told = link_text(link, RECORD_VARIABLE, *v);
    for (char **a = options->program; told && *a != NULL; a++)
        told = link_text(link, RECORD_ARGUMENT, *a);
    if (told && host->first == 0) {
        const unsigned char reach = on_one_host(options) ? WEFT_REACH_HOST : WEFT_REACH_NETWORK;
        told = link_send(link, RECORD_LISTEN, 0, &reach, 1);
    }
    return told;
}

static bool start_host(const struct job *job, struct host *host, char **words, int count,
                       char *helper, const char *folder)
{
    char path[PATH_MAX];
    char *here[] = {path, (char *)"--helper", NULL};
    char command[2 * PATH_MAX];

    snprintf(path, sizeof(path), "%s", helper);
    if (!quote(command, sizeof(command) - 16, helper))
        return false;
    strcat(command, " --helper");
    words[count] = host->name;
    words[count + 1] = command;
    words[count + 2] = NULL;
    if (!reach(job, host, is_here(host->name) ? here : words))
        return false;
    /* One that ended at once is dealt with like one that ends later. */
    if (!tell(job, host, folder) && host->link.out < 0)
        return false;
    return true;
}

int remote_start(struct job *job, const char *rsh)
{
    char helper[PATH_MAX], folder[PATH_MAX], text[512];
    char *words[WORDS_MAX + 3];
    const ssize_t length = readlink("/proc/self/exe", helper, sizeof(helper) - 1);

    if (length < 0 || getcwd(folder, sizeof(folder)) == NULL) {
        complain("the names of weftrun and of the working directory: %s", strerror(errno));
        return EXIT_OWN_ERROR;
    }
    helper[length] = 0;
    const bool fits = snprintf(text, sizeof(text), "%s", rsh) < (int)sizeof(text);
    const int count = fits ? split(text, words) : 0;
    if (count == 0) {
        complain("--rsh: \"%.40s\" is no command", rsh);
        return EXIT_OWN_ERROR;
    }
    for (int i = 0; i < job->options->host_count; i++) {
        struct host *host = &job->options->hosts[i];
        for (int k = host->first; k < host->first + host->count; k++) {
            job->processes[k].host = host;
            job->processes[k].running = true;
            const int status = output_open_remote(job->options, &job->processes[k], k);
            if (status != 0)
                return status;
        }
        if (host->count > 0 && !start_host(job, host, words, count, helper, folder)) {
            complain("host %s: %s", host->name, strerror(errno));
            return EXIT_OWN_ERROR;
        }
    }
    job->input = true;
    return 0;
}

/* ---- what comes back ------------------------------------------------------------------------- */

/* When all helpers have answered and the root is known. */
static void start_all(struct job *job)
{
    const struct options *options = job->options;

    if (job->started || job->root[0] == 0)
        return;
    for (int i = 0; i < options->host_count; i++) {
        if (options->hosts[i].count > 0 && !options->hosts[i].greeted)
            return;
    }
    job->started = true;
    for (int i = 0; i < options->host_count; i++) {
        /* One that takes nothing more has ended, and this comes to light as that. */
        if (options->hosts[i].count > 0)
            (void)link_text(&options->hosts[i].link, RECORD_START, job->root);
    }
}

static bool take_root(struct job *job, const struct host *host, const char *text, size_t bytes)
{
    struct weft_root roots[WEFT_ROOTS_MAX];
    char root[WEFT_ROOT_BYTES] = {0};

    if (host->first != 0 || bytes >= sizeof(root))
        return false;
    memcpy(root, text, bytes);
    if (weft_roots_parse(roots, root) == 0)
        return false;
    memcpy(job->root, root, sizeof(root));
    return true;
}

static bool take_failure(struct host *host, const unsigned char *payload, size_t bytes,
                         const struct remote_events *events)
{
    char text[512];

    if (bytes == 0 || payload[0] == 0)
        return false;
    snprintf(text, sizeof(text), "host %s%s%.*s", host->name, bytes > 1 ? ": " : " runs nothing",
             bytes - 1 < 400 ? (int)bytes - 1 : 400, (const char *)payload + 1);
    host->failed = true;
    events->failed(events->context, host, payload[0], text);
    return true;
}

/* A record about a process. */
static bool take_process(struct process *process, int k, enum record kind, const void *payload,
                         size_t bytes, const struct remote_events *events)
{
    uint32_t number = 0;

    switch (kind) {
    case RECORD_PID:
        if (!link_get_number(&number, payload, bytes))
            return false;
        process->pid = (pid_t)number;
        return true;
    case RECORD_OUT:
        output_take(&process->out, payload, bytes);
        return true;
    case RECORD_ERR:
        output_take(&process->err, payload, bytes);
        return true;
    case RECORD_END:
        if (!process->running || !link_get_number(&number, payload, bytes) ||
            !(WIFEXITED((int)number) || WIFSIGNALED((int)number)))
            return false;
        events->ended(events->context, k, (int)number);
        return true;
    default:
        return false;
    }
}

static bool take(struct job *job, struct host *host, const struct weft_header *header,
                 const void *payload, const struct remote_events *events)
{
    switch ((enum record)header->kind) {
    case RECORD_BEAT:
        return true;
    case RECORD_HELLO:
        host->greeted = true;
        break;
    case RECORD_ROOT:
        if (!take_root(job, host, payload, header->bytes))
            return false;
        break;
    case RECORD_INPUT:
        job->input_taken = true;
        return true;
    case RECORD_FAILED:
        return take_failure(host, payload, header->bytes, events);
    default:
        return header->source >= host->first && header->source < host->first + host->count &&
               take_process(&job->processes[header->source], header->source,
                            (enum record)header->kind, payload, header->bytes, events);
    }
    start_all(job);
    return true;
}

/* The helper is not heard any more: so the command that reached it has nothing left to do. */
static void hang_up(struct host *host)
{
    link_close(&host->link);
    host->hung_up = now_ns();
}

/* What came is no record. Before the helper's first word, the shell there may have spoken. */
static void complain_of_noise(struct host *host)
{
    const struct weft_stream *stream = &host->link.received;
    const char *text = (const char *)stream->data + stream->begin;
    size_t length = stream->end - stream->begin;

    if (host->complaint_bytes > 0)
        return;
    for (size_t i = 0; i < length; i++) {
        if (!isprint((unsigned char)text[i]))
            length = i;
    }
    host->complaint_bytes = (size_t)snprintf(
        host->complaint, sizeof(host->complaint),
        host->greeted ? "what came from it cannot be understood"
                      : "what answers there is not weftrun's helper; it says \"%.*s\"",
        length < 60 ? (int)length : 60, text);
}

void remote_read(struct job *job, struct host *host, const struct remote_events *events)
{
    struct weft_header header;
    const void *payload;
    int taken;

    if (host->link.in < 0)
        return;
    const bool more = link_read(&host->link);
    while ((taken = link_take(&host->link, &header, &payload)) > 0) {
        if (!take(job, host, &header, payload, events)) {
            taken = -1;
            break;
        }
    }
    if (taken < 0)
        complain_of_noise(host);
    if (taken < 0 || !more)
        hang_up(host);
}

/* ---- complaints and the end ------------------------------------------------------------------ */

/* Until the helper has answered, they are kept: they will say why it has not. */
void remote_complaints(struct host *host)
{
    char text[1024];
    ssize_t got;

    while (host->errors >= 0 && (got = read(host->errors, text, sizeof(text))) != 0) {
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return;
        if (host->greeted) {
            (void)!write(STDERR_FILENO, text, (size_t)got); /* nobody to tell if it fails */
            continue;
        }
        for (ssize_t i = 0; i < got && host->complaint_bytes < sizeof(host->complaint) - 1; i++)
            host->complaint[host->complaint_bytes++] = text[i];
    }
    if (host->errors >= 0)
        close(host->errors);
    host->errors = -1;
}

/* The last line that says something. */
static const char *last_complaint(struct host *host)
{
    char *text = host->complaint;
    size_t bytes = host->complaint_bytes;

    while (bytes > 0 && isspace((unsigned char)text[bytes - 1]))
        bytes--;
    text[bytes] = 0;
    char *newline = strrchr(text, '\n');
    return newline != NULL ? newline + 1 : text;
}

static bool runs_something(const struct job *job, const struct host *host)
{
    for (int k = host->first; k < host->first + host->count; k++) {
        if (job->processes[k].running)
            return true;
    }
    return false;
}

void remote_ended(struct job *job, struct host *host, int status,
                  const struct remote_events *events)
{
    char text[512], end[64];
    struct pollfd polled = {.fd = host->link.in, .events = POLLIN};

    host->pid = 0;
    while (host->link.in >= 0 && poll(&polled, 1, 0) > 0)
        remote_read(job, host, events);
    remote_complaints(host);
    if (host->errors >= 0)
        close(host->errors);
    host->errors = -1;
    link_close(&host->link);
    if (host->failed || !runs_something(job, host))
        return;
    if (WIFSIGNALED(status))
        snprintf(end, sizeof(end), "signal %d ended the way to it", WTERMSIG(status));
    else
        snprintf(end, sizeof(end), "the way to it ended with status %d", WEXITSTATUS(status));
    const char *why = last_complaint(host);
    snprintf(text, sizeof(text), "host %s %s: %s", host->name,
             host->greeted ? "is lost" : "cannot be used", why[0] != 0 ? why : end);
    host->failed = true;
    events->failed(events->context, host, EXIT_OWN_ERROR, text);
}

void remote_signal(struct host *host, int number)
{
    const unsigned char byte = (unsigned char)number;

    if (!host->greeted && number == SIGKILL && host->pid != 0)
        kill(host->pid, SIGKILL); /* nobody is there to be told */
    else if (host->link.out >= 0)
        (void)link_send(&host->link, RECORD_SIGNAL, 0, &byte, 1);
}

void remote_beat(struct host *host)
{
    if (host->link.out >= 0 && (!link_flush(&host->link) || !link_beat(&host->link)))
        hang_up(host);
}

void remote_look(const struct job *job, struct host *host)
{
    const uint64_t now = now_ns(), second = 1000000000;

    if (host->pid == 0)
        return;
    remote_beat(host);
    if (host->greeted && host->link.in >= 0 && link_silent(&host->link, job->rested)) {
        host->complaint_bytes = (size_t)snprintf(host->complaint, sizeof(host->complaint),
                                                 "nothing heard for %d s", LINK_SILENCE_S);
        hang_up(host);
        kill(host->pid, SIGKILL);
    } else if (host->link.in < 0 && now - host->hung_up > LINGER_S * second) {
        kill(host->pid, SIGKILL);
    } else if (!host->greeted && !host->waited_for && now - job->begin > ANSWER_S * second) {
        host->waited_for = true;
        complain("host %s has not answered for %d s; waiting", host->name, ANSWER_S);
    }
}

void remote_input(struct job *job)
{
    static char chunk[65536];
    struct host *host = job->processes[0].host;
    const ssize_t got = read(STDIN_FILENO, chunk, sizeof(chunk));

    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    job->input_taken = false;
    if (!link_send(&host->link, RECORD_INPUT, 0, chunk, got > 0 ? (size_t)got : 0) || got <= 0)
        job->input = false;
}
