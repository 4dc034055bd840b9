/*
 * obey.c - a helper does what the launcher tells it, record by record: it is told the job, starts
 * its processes, and passes signals and input on to them. What comes is checked before it is
 * believed.
 */
#include "helper.h"

#include "base/config.h"
#include "base/say.h"
#include "boot/interface.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_WORDS = 65536 };

bool helper_fail(struct helper *helper, int exit_status)
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
    char line[96 + UNITS_BYTES], own[32], version[32];
    int processes;

    if (helper->job.processes != NULL || bytes >= sizeof(line))
        return false;
    memcpy(line, text, bytes);
    line[bytes] = 0;
    const int words = sscanf(line, "%31s %6d %6d %6d %6d %127s", version, &helper->first,
                             &helper->count, &processes, &helper->link.silence_s, helper->units);
    if (words < 5 || (words > 5 && units_count(helper->units) == 0))
        return false;
    helper->options.units = words > 5 ? helper->units : NULL;
    if (helper->link.silence_s < LINK_MORE_S || helper->first < 0 || helper->count < 1 ||
        processes > 65536 || helper->first > processes - helper->count)
        return false;
    helper->options.processes = processes;
    helper->job.first = helper->first;
    helper->job.processes = calloc((size_t)processes, sizeof(helper->job.processes[0]));
    helper->polled = calloc(2 * (4 + 2 * (size_t)helper->count), sizeof(helper->polled[0]));
    if (helper->job.processes == NULL || helper->polled == NULL)
        return false;
    for (int k = 0; k < processes; k++)
        helper->job.processes[k] = (struct process){.log = -1, .out.from = -1, .err.from = -1};
    snprintf(own, sizeof(own), "%d.%d.%d", WEFT_VERSION_MAJOR, WEFT_VERSION_MINOR,
             WEFT_VERSION_PATCH);
    if (strcmp(version, own) == 0)
        return link_send(&helper->link, RECORD_HELLO, 0, NULL, 0);
    complain("weftrun is version %s here and %s where the job was started", own, version);
    return helper_fail(helper, EXIT_OWN_ERROR);
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
    return helper_fail(helper, EXIT_OWN_ERROR);
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
        return helper_fail(helper, EXIT_OWN_ERROR);
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

bool helper_close_input(void)
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
    if (k == 0 && !helper_close_input())
        return false;
    if (status != 0) {
        helper_fail(helper, status);
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
                helper_fail(helper, EXIT_OWN_ERROR);
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
    helper->over |= helper->stays && helper->running == 0;
    return true;
}

void helper_feed(struct helper *helper)
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
    helper_feed(helper);
    return true;
}

bool helper_obey(struct helper *helper, const struct weft_header *header, const void *payload)
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
