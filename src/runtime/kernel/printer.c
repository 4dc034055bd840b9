/*
 * runtime/kernel/printer.c - prints what ranks log.
 *
 * Standard output may be a pipe that nobody reads at the moment, and who prints is the progress
 * task, or a worker in its place, which moves everybody's data. So no write blocks: what is not
 * taken at once is left for a later round. While there is no room here, a line stays in its rank's
 * ring of logs, and a rank waits only to log more than that ring holds. In a healthy job nothing is
 * dropped. One that has failed ends although nobody reads.
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
    AGAIN_NS = 1000000,     /* between two looks whether standard output takes more */
    LOOK_MS = 100,          /* how often to look whether to give up */
    GIVE_UP_NS = 1000000000 /* after a failure, when nothing can be written for so long */
};

struct weft_printer {
    struct weft_lock lock; /* over what follows; not in random mode */
    size_t bytes;          /* in lines: not printed yet */
    size_t lost;           /* bytes that were given up or refused */
    int error;             /* why some were refused; 0: none was */
    uint32_t waits;        /* atomic: something is left for a later round */
    uint64_t looked;       /* when standard output was last asked whether it takes more */
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

/* Prints as much as is taken now. True: nothing is left. With the lock. */
static bool print(struct weft_printer *printer)
{
    bool opened;
    const int fd = open_output(&opened);
    size_t done = 0;
    sigset_t signals;

    weft_quiet_begin(&signals); /* the caller may be the program's own thread */
    while (done < printer->bytes) {
        const char *const text = printer->lines + done;
        const size_t left = printer->bytes - done;
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
        done = printer->bytes;
    }
    weft_quiet_end(&signals);
    if (opened)
        close(fd);
    printer->bytes -= done;
    if (done != 0)
        memmove(printer->lines, printer->lines + done, printer->bytes);
    __atomic_store_n(&printer->waits, printer->bytes != 0, __ATOMIC_RELAXED);
    return printer->bytes == 0;
}

bool weft_printer_round(struct weft_job *job)
{
    struct weft_printer *printer = job->printer;

    if (weft_model != NULL || !weft_lock_try(&printer->lock))
        return false;
    const size_t before = printer->bytes;
    /* To ask the system in each round would delay all data while nobody reads. */
    if (before != 0 && (printer->waits == 0 || weft_now_ns() - printer->looked >= AGAIN_NS)) {
        print(printer);
        printer->looked = weft_now_ns();
    }
    const bool did = printer->bytes != before;
    weft_unlock(&printer->lock);
    return did;
}

bool weft_printer_waits(const struct weft_job *job)
{
    return __atomic_load_n(&job->printer->waits, __ATOMIC_RELAXED) != 0;
}

bool weft_device_log(struct weft_job *job, const char *who, const char *text)
{
    struct weft_printer *printer = job->printer;
    char line[WEFT_TEXT_BYTES + 48];
    const size_t bytes = (size_t)snprintf(line, sizeof(line), "%s: %s\n", who, text);

    if (weft_model == NULL && !weft_lock_try(&printer->lock))
        return false;
    const bool fits = bytes <= ROOM - printer->bytes;
    if (fits) {
        memcpy(printer->lines + printer->bytes, line, bytes);
        printer->bytes += bytes;
    }
    if (weft_model != NULL)
        weft_printer_drain(job);
    else
        weft_unlock(&printer->lock);
    return fits;
}

void weft_printer_drain(struct weft_job *job)
{
    struct weft_printer *printer = job->printer;
    uint64_t since = weft_now_ns();
    size_t before = 0;

    if (weft_model == NULL)
        weft_lock(&printer->lock);
    while (!print(printer)) {
        if (printer->bytes != before)
            since = weft_now_ns();
        before = printer->bytes;
        if (weft_job_status(job) != WEFT_OK && weft_now_ns() - since > GIVE_UP_NS) {
            printer->lost += printer->bytes;
            printer->bytes = 0;
        }
        poll(&(struct pollfd){.fd = STDOUT_FILENO, .events = POLLOUT}, 1, LOOK_MS);
    }
    if (weft_model == NULL)
        weft_unlock(&printer->lock);
}

weft_status weft_printer_open(struct weft_job *job)
{
    job->printer = calloc(1, sizeof(*job->printer));
    return job->printer != NULL ? WEFT_OK
                                : weft_err(WEFT_ERR_MEMORY, "no %zu bytes for what ranks log",
                                           sizeof(*job->printer));
}

weft_status weft_printer_close(struct weft_job *job)
{
    struct weft_printer *printer = job->printer;
    weft_status status = WEFT_OK;

    if (printer == NULL)
        return WEFT_OK;
    weft_printer_drain(job);
    if (printer->error != 0)
        status = weft_err(WEFT_ERR_SYSTEM,
                          "process %d: standard output refused %zu bytes that ranks logged: %s",
                          job->numbers.process, printer->lost, strerror(printer->error));
    else if (printer->lost != 0)
        weft_say(WEFT_SAY_WARN, "standard output took nothing: %zu bytes of logs are lost",
                 printer->lost);
    free(printer);
    job->printer = NULL;
    return status;
}
