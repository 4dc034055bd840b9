/*
 * remote.c - the launcher's side of hosts that it has reached (reach.c): what their helpers say,
 * and when one is lost. When every helper has answered, all start their processes.
 *
 * A host is lost when its helper is: when the command that reached it ends, or when nothing has
 * come for the link's silence_s. The helper thinks the same of us, and then kills its processes.
 */
#include "weftrun.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LINGER_S = 2, ANSWER_S = 10 };

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
    case RECORD_ERR:
        if (bytes > LINK_OUTPUT_MOST)
            return false;
        output_take(kind == RECORD_OUT ? &process->out : &process->err, payload, bytes);
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
    host->hung_up = weft_now_ns();
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
            output_say(text, (size_t)got);
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

/* Who takes nothing more has ended, or soon will. What it said before that is read first. */
void remote_beat(struct host *host)
{
    struct pollfd polled = {.fd = host->link.in, .events = POLLIN};

    if (host->link.out >= 0 && (!link_flush(&host->link) || !link_beat(&host->link)) &&
        poll(&polled, 1, 0) == 0)
        hang_up(host);
}

void remote_look(const struct job *job, struct host *host)
{
    const uint64_t now = weft_now_ns(), second = 1000000000;

    if (host->pid == 0)
        return;
    remote_beat(host);
    if (host->greeted && host->link.in >= 0 && link_silent(&host->link)) {
        host->complaint_bytes = (size_t)snprintf(host->complaint, sizeof(host->complaint),
                                                 "nothing heard for %d s", host->link.silence_s);
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
