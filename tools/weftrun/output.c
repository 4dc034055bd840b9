/*
 * output.c - the processes' output: through pipes, line by line, to the terminal and to logs.
 *
 * Without --prefix and --output-dir there are no pipes: processes write where weftrun would. A
 * line that does not end is passed on in pieces of LINE_MAX_BYTES. What cannot be written is said
 * once for each target; then the target is given up, and weftrun fails in the end.
 */
#include "weftrun.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CHUNK = LINK_OUTPUT_MOST, LINE_MAX_BYTES = 1 << 20, WAIT_MS = 200 };

static bool failed;
static bool given_up[3]; /* stdout, stderr */
static bool gone[3];     /* since its reader has left */
static bool (*meanwhile)(void *context, uint64_t since);
static void *meanwhile_context;

void output_meanwhile(bool (*wait)(void *context, uint64_t since), void *context)
{
    meanwhile = wait;
    meanwhile_context = context;
}

bool output_failed(void)
{
    return failed;
}

/* ---- opening -------------------------------------------------------------------------------- */

/* Like mkdir -p. */
int output_prepare(const struct options *options)
{
    char path[PATH_MAX];

    if (options->output_dir == NULL)
        return 0;
    const size_t length = strlen(options->output_dir);
    if (length == 0 || length >= sizeof(path)) {
        complain("--output-dir: the name has %zu bytes", length);
        return EXIT_OWN_ERROR;
    }
    memcpy(path, options->output_dir, length + 1);
    for (size_t i = 1; i <= length; i++) {
        if (path[i] != '/' && path[i] != '\0')
            continue;
        path[i] = '\0';
        if (mkdir(path, 0777) != 0 && errno != EEXIST) {
            complain("cannot make directory %s: %s", path, strerror(errno));
            return EXIT_OWN_ERROR;
        }
        path[i] = options->output_dir[i];
    }
    return 0;
}

static int open_log(const char *directory, int k)
{
    char path[PATH_MAX];

    if (snprintf(path, sizeof(path), "%s/process-%d.log", directory, k) >= (int)sizeof(path)) {
        complain("the name of the log of process %d is too long", k);
        return -1;
    }
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0)
        complain("cannot write %s: %s", path, strerror(errno));
    return fd;
}

/* One pipe; *end is the process's. */
static bool open_stream(struct stream *stream, int terminal, int k, int *log, int *end)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) != 0) {
        complain("process %d: pipe: %s", k, strerror(errno));
        return false;
    }
    if (fcntl(ends[0], F_SETFL, O_NONBLOCK) != 0) {
        complain("process %d: fcntl: %s", k, strerror(errno));
        close(ends[0]);
        close(ends[1]);
        return false;
    }
    *stream = (struct stream){
        .from = ends[0], .terminal = terminal, .log = log, .process = k, .prefix = true};
    *end = ends[1];
    return true;
}

int output_open_remote(const struct options *options, struct process *process, int k)
{
    const bool shown = options->prefix || options->output_dir == NULL;

    if (options->output_dir != NULL) {
        process->log = open_log(options->output_dir, k);
        if (process->log < 0)
            return EXIT_OWN_ERROR;
    }
    process->out = (struct stream){.from = -1, .log = &process->log, .process = k};
    process->out.terminal = shown ? STDOUT_FILENO : -1;
    process->out.prefix = options->prefix;
    process->err = process->out;
    process->err.terminal = shown ? STDERR_FILENO : -1;
    return 0;
}

int output_open(const struct options *options, struct process *process, int k, int *out, int *err)
{
    *out = *err = -1;
    if (!options->prefix && options->output_dir == NULL)
        return 0;
    if (options->output_dir != NULL) {
        process->log = open_log(options->output_dir, k);
        if (process->log < 0)
            return EXIT_OWN_ERROR;
    }
    if (!open_stream(&process->out, options->prefix ? STDOUT_FILENO : -1, k, &process->log, out))
        goto close_log;
    if (!open_stream(&process->err, options->prefix ? STDERR_FILENO : -1, k, &process->log, err))
        goto close_out;
    return 0;

close_out:
    close(*out);
close_log:
    output_close(process);
    return EXIT_OWN_ERROR;
}

/* ---- passing on ----------------------------------------------------------------------------- */

/* Waits until fd takes something. False: it is given up. */
static bool await_reader(int fd)
{
    struct pollfd polled = {.fd = fd, .events = POLLOUT};
    const uint64_t since = weft_now_ns();

    while (poll(&polled, 1, WAIT_MS) <= 0) {
        if (meanwhile != NULL && !meanwhile(meanwhile_context, since))
            return false;
    }
    return true;
}

/*
 * Writes all of it. False with errno; EAGAIN: the reader rests, and is waited for no longer. No
 * write may block, since signals, time and helpers want attention.
 */
static bool write_all(int fd, const char *text, size_t length)
{
    while (length > 0) {
        if (!await_reader(fd)) {
            errno = EAGAIN;
            return false;
        }
        /* There is room for a piece of PIPE_BUF. */
        const ssize_t written = write(fd, text, length < PIPE_BUF ? length : PIPE_BUF);
        if (written > 0) {
            text += written;
            length -= (size_t)written;
        } else if (written < 0 && errno != EINTR && errno != EAGAIN) {
            return false;
        }
    }
    return true;
}

/* Why write_all has failed. */
static const char *why(void)
{
    return errno == EAGAIN ? "its reader rests, and the job shall end" : strerror(errno);
}

void output_say(const char *text, size_t bytes)
{
    /* Where it cannot be written, there is nobody to tell. */
    if (!given_up[STDERR_FILENO] && !write_all(STDERR_FILENO, text, bytes) && errno == EAGAIN)
        given_up[STDERR_FILENO] = failed = true;
}

static void write_log(struct stream *stream, const char *text, size_t length)
{
    if (*stream->log < 0 || write_all(*stream->log, text, length))
        return;
    complain("the log of process %d: %s; it ends here", stream->process, why());
    failed = true;
    close(*stream->log);
    *stream->log = -1;
}

/* One line, with its prefix, in one write if it has at most PIPE_BUF bytes: lines of several
 * weftruns may share a terminal. */
static void write_line(struct stream *stream, const char *text, size_t length)
{
    static char line[LINE_MAX_BYTES + CHUNK + 32];

    if (stream->terminal < 0 || given_up[stream->terminal])
        return;
    size_t end = stream->prefix ? (size_t)snprintf(line, 32, "[%d] ", stream->process) : 0;
    memcpy(line + end, text, length);
    end += length;
    if (stream->prefix && (length == 0 || text[length - 1] != '\n'))
        line[end++] = '\n';
    if (write_all(stream->terminal, line, end))
        return;
    given_up[stream->terminal] = failed = true;
    gone[stream->terminal] = errno == EPIPE;
    complain("standard %s: %s", stream->terminal == STDOUT_FILENO ? "output" : "error", why());
}

/* Passes on the whole lines of stream->text; the rest too if `all`. */
static void pass_on(struct stream *stream, bool all)
{
    size_t begin = 0;

    if (stream->text == NULL)
        return;
    for (;;) {
        char *text = stream->text + begin;
        const size_t left = stream->length - begin;
        const char *newline = memchr(text, '\n', left);
        if (newline == NULL)
            break;
        const size_t length = (size_t)(newline - text) + 1;
        write_line(stream, text, length);
        begin += length;
    }
    if (all && begin < stream->length) {
        write_line(stream, stream->text + begin, stream->length - begin);
        begin = stream->length;
    }
    if (begin == 0)
        return;
    write_log(stream, stream->text, begin);
    stream->length -= begin;
    memmove(stream->text, stream->text + begin, stream->length);
}

static void end_stream(struct stream *stream)
{
    pass_on(stream, true);
    if (stream->from >= 0)
        close(stream->from);
    stream->from = -1;
    free(stream->text);
    stream->text = NULL;
    stream->length = stream->capacity = 0;
}

static bool make_room(struct stream *stream, size_t bytes)
{
    if (stream->capacity - stream->length >= bytes)
        return true;
    char *text = realloc(stream->text, stream->length + bytes);
    if (text == NULL) {
        complain("process %d: no memory for its output", stream->process);
        failed = true;
        return false;
    }
    stream->text = text;
    stream->capacity = stream->length + bytes;
    return true;
}

void output_take(struct stream *stream, const void *text, size_t bytes)
{
    const char *at = text;

    while (bytes > 0) {
        const size_t piece = bytes < CHUNK ? bytes : CHUNK;
        if (!make_room(stream, piece))
            return;
        memcpy(stream->text + stream->length, at, piece);
        stream->length += piece;
        pass_on(stream, !stream->prefix || stream->length >= LINE_MAX_BYTES);
        at += piece;
        bytes -= piece;
    }
}

void output_read(struct stream *stream)
{
    if (stream->from < 0)
        return;
    if (!make_room(stream, CHUNK)) {
        end_stream(stream);
        return;
    }
    const ssize_t got = read(stream->from, stream->text + stream->length, CHUNK);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got <= 0) {
        end_stream(stream);
        return;
    }
    stream->length += (size_t)got;
    pass_on(stream, stream->length >= LINE_MAX_BYTES);
    if (stream->terminal >= 0 && gone[stream->terminal] && *stream->log < 0)
        end_stream(stream); /* as without the pipe, the process is told that nobody reads */
}

/* What is in the pipe now; a grandchild that still holds the other end may not keep us. */
static void drain(struct stream *stream)
{
    struct pollfd polled = {.fd = stream->from, .events = POLLIN};

    while (stream->from >= 0 && poll(&polled, 1, 0) > 0)
        output_read(stream);
    end_stream(stream);
}

void output_close(struct process *process)
{
    drain(&process->out);
    drain(&process->err);
    if (process->log >= 0 && close(process->log) != 0) {
        complain("a log: %s", strerror(errno));
        failed = true;
    }
    process->log = -1;
}
