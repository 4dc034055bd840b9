/*
 * runtime/kernel/printer.c - the task that prints what ranks log.
 *
 * Standard output may be a pipe that nobody reads at the moment. So the progress task, which moves
 * everybody's data, leaves lines here and goes on. While there is no room, a line stays in its
 * rank's ring of logs, and a rank waits only to log more than that ring holds. In a healthy job
 * nothing is dropped. One that has failed ends although nobody reads.
 *
 * Random mode has no such task: its one thread prints at once.
 */
#include "runtime/job/job.h"

#include "base/say.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    ROOM = 65536,
    LOOK_MS = 100, /* how often to look whether to give up */
    LOOK_NS = LOOK_MS * 1000000,
    SLEEP_NS = 1000000000,
    GIVE_UP_NS = 1000000000 /* after a failure, when nothing can be written for so long */
};

struct weft_printer {
    struct weft_task task;
    struct weft_bell work, printed; /* lines are there, or the end; some were printed */

    struct weft_lock lock; /* over what follows */
    size_t lines_bytes;    /* in lines */
    bool prints;           /* what it took of them */
    bool stop;
    char lines[ROOM];

    uint64_t moves; /* writes that were done */
    bool give_up;

    size_t lost; /* the task's own: what was given up, */
    int error;   /* or refused, for this reason */
};

/*
 * Standard output, for the moment. A pipe may be full, and others may write to it between a poll
 * and a write: it is opened anew, for writes that do not block. What the program itself holds stays
 * as it is. *opened: to be closed.
 */
static int open_output(bool *opened)
{
    struct stat about;
    int fd = -1;

    if (fstat(STDOUT_FILENO, &about) == 0 && S_ISFIFO(about.st_mode))
        fd = open("/proc/self/fd/1", O_WRONLY | O_NONBLOCK | O_CLOEXEC);
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

/* Writes some of it as soon as there is room. How much; 0: none of it can be written any more. */
static size_t print_some(struct weft_printer *printer, int fd, const char *text, size_t bytes)
{
    while (!__atomic_load_n(&printer->give_up, __ATOMIC_RELAXED)) {
        struct pollfd output = {.fd = fd, .events = POLLOUT};
        if (poll(&output, 1, LOOK_MS) <= 0)
            continue;
        const ssize_t wrote = write(fd, text, piece(text, bytes));
        if (wrote > 0)
            return (size_t)wrote;
        if (wrote < 0 && errno == EPIPE)
            return 0; /* the reader has enough */
        if (wrote < 0 && errno != EINTR && errno != EAGAIN) {
            printer->error = errno; /* a full disk, say */
            break;
        }
    }
    printer->lost += bytes;
    return 0;
}

static void print(struct weft_printer *printer, const char *text, size_t bytes)
{
    bool opened;
    const int fd = open_output(&opened);

    for (size_t done = 0, some = 1; done < bytes && some != 0; done += some) {
        some = print_some(printer, fd, text + done, bytes - done);
        __atomic_fetch_add(&printer->moves, 1, __ATOMIC_RELAXED);
    }
    if (opened)
        close(fd);
}

/* Takes all lines that are there; 0: none are. */
static size_t take_text(struct weft_printer *printer, char *text, bool *stop)
{
    weft_lock(&printer->lock);
    const size_t bytes = printer->lines_bytes;
    memcpy(text, printer->lines, bytes);
    printer->lines_bytes = 0;
    printer->prints = bytes != 0;
    *stop = printer->stop;
    weft_unlock(&printer->lock);
    return bytes;
}

static void printer_main(void *argument)
{
    struct weft_job *job = argument;
    struct weft_printer *printer = job->printer;
    char text[ROOM];
    bool stop = false;

    weft_say_process(job->numbers.process);
    while (!stop) {
        const uint32_t ticket = weft_bell_prepare(&printer->work);
        const size_t bytes = take_text(printer, text, &stop);
        if (bytes == 0) {
            weft_bell_ring(&printer->printed);
            if (stop)
                weft_bell_cancel(&printer->work);
            else
                weft_bell_sleep(&printer->work, ticket, SLEEP_NS);
            continue;
        }
        weft_bell_cancel(&printer->work);
        weft_bell_ring(job->proxy.command_bell); /* there is room again */
        print(printer, text, bytes);
        stop = false; /* more may have come */
    }
    if (printer->lost != 0 && printer->error == 0)
        weft_say(WEFT_SAY_WARN, "standard output took nothing: %zu bytes of logs are lost",
                 printer->lost);
}

bool weft_device_log(struct weft_job *job, const char *who, const char *text)
{
    struct weft_printer *printer = job->printer;
    char line[WEFT_TEXT_BYTES + 48];
    const size_t bytes = (size_t)snprintf(line, sizeof(line), "%s: %s\n", who, text);

    if (weft_model != NULL) {
        print(printer, line, bytes);
        return true;
    }
    weft_lock(&printer->lock);
    const bool fits = bytes <= ROOM - printer->lines_bytes;
    if (fits) {
        memcpy(printer->lines + printer->lines_bytes, line, bytes);
        printer->lines_bytes += bytes;
    }
    weft_unlock(&printer->lock);
    weft_bell_ring(&printer->work);
    return fits;
}

/* Whether all is printed. */
static bool is_empty(struct weft_printer *printer)
{
    weft_lock(&printer->lock);
    const bool empty = printer->lines_bytes == 0 && !printer->prints;
    weft_unlock(&printer->lock);
    return empty;
}

void weft_printer_drain(struct weft_job *job)
{
    struct weft_printer *printer = job->printer;
    uint64_t seen = 0, since = weft_now_ns();

    for (;;) {
        const uint32_t ticket = weft_bell_prepare(&printer->printed);
        if (is_empty(printer))
            break;
        const uint64_t moves = __atomic_load_n(&printer->moves, __ATOMIC_RELAXED);
        if (moves != seen)
            since = weft_now_ns();
        seen = moves;
        if (weft_job_status(job) != WEFT_OK && weft_now_ns() - since > GIVE_UP_NS)
            __atomic_store_n(&printer->give_up, true, __ATOMIC_RELAXED);
        weft_bell_sleep(&printer->printed, ticket, LOOK_NS);
    }
    weft_bell_cancel(&printer->printed);
}

weft_status weft_printer_open(struct weft_job *job)
{
    struct weft_printer *printer = calloc(1, sizeof(*printer));

    if (printer == NULL)
        return weft_err(WEFT_ERR_MEMORY, "no %zu bytes for what ranks log", sizeof(*printer));
    job->printer = printer;
    weft_status status = WEFT_OK;
    if (weft_model == NULL)
        status = weft_task_start(&printer->task, "weft printer", printer_main, job);
    if (status != WEFT_OK) {
        free(printer);
        job->printer = NULL;
    }
    return status;
}

weft_status weft_printer_close(struct weft_job *job)
{
    struct weft_printer *printer = job->printer;
    weft_status status = WEFT_OK;

    if (printer == NULL)
        return WEFT_OK;
    if (weft_model == NULL) {
        weft_printer_drain(job);
        weft_lock(&printer->lock);
        printer->stop = true;
        weft_unlock(&printer->lock);
        weft_bell_ring(&printer->work);
        weft_task_join(&printer->task);
    }
    if (printer->error != 0)
        status = weft_err(WEFT_ERR_SYSTEM,
                          "process %d: standard output refused %zu bytes that ranks logged: %s",
                          job->numbers.process, printer->lost, strerror(printer->error));
    free(printer);
    job->printer = NULL;
    return status;
}
