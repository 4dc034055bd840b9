/*
 * runtime/kernel/printer.c - the task that prints what ranks log.
 *
 * Standard output may be a pipe that nobody reads at the moment, or a file on a network, whose
 * writes take as long as they like. So the progress task, or a worker in its place, which moves
 * everybody's data, leaves lines here and goes on. While there is no room here, a line stays in its
 * rank's ring of logs, and a rank waits only to log more than that ring holds. In a healthy job
 * nothing is dropped. One that has failed ends although nobody reads.
 *
 * Random mode prints at once: its rounds may not depend on when a reader comes.
 */
#include "runtime/job/job.h"

#include "base/quiet.h"
#include "base/say.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    ROOM = 65536,
    LOOK_MS = 100, /* how often to look whether to give up */
    LOOK_NS = LOOK_MS * 1000000,
    GIVE_UP_NS = 1000000000 /* after a failure, when nothing can be written for so long */
};

struct weft_printer {
    struct weft_task task;
    bool runs;
    bool stop, full;       /* atomic; full: a line found no room */
    struct weft_bell bell; /* lines came, or were printed; or it is to stop */
    size_t lost;           /* bytes that were given up or refused */
    int error;             /* why some were refused; 0: none was */
    struct weft_lock lock; /* over what follows, but for the lines that are being printed */
    size_t bytes;          /* in lines: not printed yet */
    char lines[ROOM];
};

/*
 * Standard output, for the moment. Others may write to a pipe or a terminal between a poll and a
 * write: it is opened anew, for writes that do not block. A socket is asked not to at each. What
 * the program itself holds stays as it is. *opened: to be closed.
 */
static int open_output(bool *opened)
{
    struct stat about;
    int fd = -1;

    if (fstat(STDOUT_FILENO, &about) == 0 && (S_ISFIFO(about.st_mode) || S_ISCHR(about.st_mode)))
        fd = open("/proc/self/fd/1", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    *opened = fd >= 0;
    return *opened ? fd : STDOUT_FILENO;
}

/* How much to write at once: whole lines, as many as a pipe takes undivided from several writers.
 */
static size_t piece(const char *text, size_t bytes)
{
    size_t n = bytes < PIPE_BUF ? bytes : PIPE_BUF;

    while (n > 1 && text[n - 1] != '\n')
        n--;
    return n;
}

/* How much of so many bytes standard output takes now, or refuses for ever. */
static size_t print_some(struct weft_printer *printer, size_t bytes)
{
    bool opened;
    const int fd = open_output(&opened);
    size_t done = 0;
    sigset_t signals;

    weft_quiet_begin(&signals); /* in random mode the caller is the program's own thread */
    while (done < bytes) {
        const char *const text = printer->lines + done;
        const size_t left = bytes - done;
        if (poll(&(struct pollfd){.fd = fd, .events = POLLOUT}, 1, 0) <= 0)
            break;
        ssize_t wrote = send(fd, text, piece(text, left), MSG_DONTWAIT);
        if (wrote < 0 && errno == ENOTSOCK)
            wrote = write(fd, text, piece(text, left));
        if (wrote >= 0 || errno == EINTR) {
            done += wrote > 0 ? (size_t)wrote : 0;
            continue;
        }
        if (errno == EAGAIN)
            break;
        if (errno != EPIPE) { /* a full disk, say; else the reader has enough */
            printer->error = errno;
            printer->lost += left;
        }
        done = bytes;
    }
    weft_quiet_end(&signals);
    if (opened)
        close(fd);
    return done;
}

static size_t bytes_left(struct weft_printer *printer)
{
    weft_lock(&printer->lock);
    const size_t bytes = printer->bytes;
    weft_unlock(&printer->lock);
    return bytes;
}

/* Prints all lines; once the job has failed, only while standard output takes any. */
static void print_all(struct weft_job *job)
{
    struct weft_printer *printer = job->printer;
    uint64_t since = weft_now_ns(); /* it took some, or the job had not failed */
    size_t bytes;

    while ((bytes = bytes_left(printer)) != 0) {
        size_t done = print_some(printer, bytes);
        if (done != 0 || weft_job_status(job) == WEFT_OK) {
            since = weft_now_ns();
        } else if (weft_now_ns() - since > GIVE_UP_NS) {
            printer->lost += bytes;
            done = bytes;
        }
        if (done == 0) {
            poll(&(struct pollfd){.fd = STDOUT_FILENO, .events = POLLOUT}, 1, LOOK_MS);
            continue;
        }
        weft_lock(&printer->lock);
        printer->bytes -= done;
        __atomic_store_n(&printer->full, false, __ATOMIC_RELAXED);
        memmove(printer->lines, printer->lines + done, printer->bytes);
        weft_unlock(&printer->lock);
        weft_bell_ring(&printer->bell);
        weft_bell_ring(job->proxy.command_bell); /* there is room */
    }
}

static void printer_main(void *argument)
{
    struct weft_job *job = argument;
    struct weft_printer *printer = job->printer;
    bool stop;

    weft_say_process(job->numbers.process);
    do {
        const uint32_t ticket = weft_bell_prepare(&printer->bell);
        stop = __atomic_load_n(&printer->stop, __ATOMIC_ACQUIRE);
        if (stop || bytes_left(printer) != 0)
            weft_bell_cancel(&printer->bell);
        else
            weft_bell_sleep(&printer->bell, ticket, LOOK_NS);
        print_all(job);
    } while (!stop);
}

/* In random mode: without a call of the model, so that the reader changes no schedule. */
static void print_at_once(struct weft_printer *printer)
{
    while (printer->bytes != 0) {
        const size_t done = print_some(printer, printer->bytes);
        printer->bytes -= done;
        memmove(printer->lines, printer->lines + done, printer->bytes);
        if (printer->bytes != 0)
            poll(&(struct pollfd){.fd = STDOUT_FILENO, .events = POLLOUT}, 1, LOOK_MS);
    }
}

bool weft_device_log(struct weft_job *job, const char *who, const char *text)
{
    struct weft_printer *printer = job->printer;
    char line[WEFT_TEXT_BYTES + 48];
    const size_t bytes = (size_t)snprintf(line, sizeof(line), "%s: %s\n", who, text);

    weft_lock(&printer->lock);
    const bool fits = bytes <= ROOM - printer->bytes;
    if (fits) {
        memcpy(printer->lines + printer->bytes, line, bytes);
        printer->bytes += bytes;
    }
    __atomic_store_n(&printer->full, !fits, __ATOMIC_RELAXED);
    if (weft_model != NULL)
        print_at_once(printer);
    weft_unlock(&printer->lock);
    weft_bell_ring(&printer->bell);
    return fits;
}

bool weft_printer_full(const struct weft_job *job)
{
    return __atomic_load_n(&job->printer->full, __ATOMIC_RELAXED);
}

void weft_printer_drain(struct weft_job *job, uint64_t most_ns)
{
    struct weft_bell *bell = &job->printer->bell;
    const uint64_t begun = weft_now_ns();

    for (;;) {
        const uint32_t ticket = weft_bell_prepare(bell);
        if (bytes_left(job->printer) == 0 || weft_now_ns() - begun >= most_ns)
            break;
        weft_bell_sleep(bell, ticket, LOOK_NS);
    }
    weft_bell_cancel(bell);
}

weft_status weft_printer_open(struct weft_job *job)
{
    struct weft_printer *printer = job->printer = weft_job_keep(job, 1, sizeof(*printer));

    if (printer == NULL)
        return WEFT_ERR_MEMORY;
    if (weft_model == NULL)
        WEFT_TRY(weft_task_start(&printer->task, "weft printer", printer_main, job));
    printer->runs = weft_model == NULL;
    return WEFT_OK;
}

weft_status weft_printer_close(struct weft_job *job)
{
    struct weft_printer *printer = job->printer;
    weft_status status = WEFT_OK;

    if (printer == NULL)
        return WEFT_OK;
    if (printer->runs) {
        __atomic_store_n(&printer->stop, true, __ATOMIC_RELEASE);
        weft_bell_ring(&printer->bell);
        weft_task_join(&printer->task);
    }
    if (printer->error != 0)
        status = weft_err(WEFT_ERR_SYSTEM,
                          "process %d: standard output refused %zu bytes that ranks logged: %s",
                          job->numbers.process, printer->lost, strerror(printer->error));
    else if (printer->lost != 0)
        weft_say(WEFT_SAY_WARN, "standard output took nothing: %zu bytes of logs are lost",
                 printer->lost);
    return status;
}
