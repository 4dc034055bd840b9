/*
 * runtime/trace/file.c - the one file of a job's timeline.
 *
 * It is one JSON object with a line for each event. Whenever nobody writes, it is complete: who has
 * events to add takes a lock on the file, writes over its last line, and adds that again. So nobody
 * gathers, a process that dies takes only its own events along, and processes of hosts that share
 * no file system make a file on each. Which job began the file stands in its first line: a process
 * that finds another job's there begins it anew.
 */
#include "runtime/trace/trace.h"

#include "base/quiet.h"
#include "base/say.h"
#include "base/task.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TAIL "\n]}\n"
enum { BUFFER = 1 << 16, TAIL_BYTES = sizeof(TAIL) - 1, MOST_HEAD = 160 };

struct weft_trace_file {
    int fd;
    FILE *out;        /* stream of fd */
    bool began;       /* this process began the file anew when it opened it */
    int error;        /* errno of the first line that could not be written */
    off_t was;        /* the file's size before begin */
    sigset_t signals; /* the caller's, kept from begin to end (base/quiet.h) */
    char path[128];
    char head[MOST_HEAD];
};

static weft_status failed(const struct weft_trace_file *file, const char *doing, int error)
{
    return weft_err(WEFT_ERR_SYSTEM, "WEFT_TRACE=%s: cannot %s it: %s", file->path, doing,
                    strerror(error));
}

/*
 * Other processes' locks are waited for, also those of processes that are threads of this one. In
 * random mode they are fibers, of which one must not keep the others from giving the lock back.
 */
static int set_lock(int fd, short type)
{
    struct flock lock = {.l_type = type, .l_whence = SEEK_SET};

    while (fcntl(fd, weft_model != NULL ? F_OFD_SETLK : F_OFD_SETLKW, &lock) != 0) {
        if (weft_model != NULL && (errno == EAGAIN || errno == EACCES))
            weft_task_yield(false);
        else if (errno != EINTR)
            return errno;
    }
    return 0;
}

/* Goes on with this text at `at`, and with it all is written; 0 or an errno. */
static int write_at(struct weft_trace_file *file, off_t at, const char *text)
{
    const bool good = fseeko(file->out, at, SEEK_SET) == 0 && fputs(text, file->out) >= 0;

    return good && fflush(file->out) == 0 ? 0 : errno;
}

/* Begins an empty list of events. */
static int begin_anew(struct weft_trace_file *file)
{
    if (ftruncate(file->fd, 0) != 0)
        return errno;
    const int error = write_at(file, 0, file->head);
    return error == 0 ? write_at(file, (off_t)strlen(file->head), TAIL) : error;
}

weft_status weft_trace_file_open(struct weft_trace_file **opened, const char *path, uint64_t id,
                                 bool first)
{
    struct weft_trace_file *file = calloc(1, sizeof(*file));
    struct stat about;
    weft_status status = WEFT_OK;

    if (file == NULL)
        return weft_err(WEFT_ERR_MEMORY, "no memory for WEFT_TRACE=%s", path);
    snprintf(file->path, sizeof(file->path), "%s", path);
    /* An event of its own, so that each of the others has a comma before it. */
    snprintf(file->head, sizeof(file->head),
             "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"weft_trace\":1,\"job\":\"%016" PRIx64
             "\"},\"traceEvents\":[\n{\"name\":\"begin\",\"ph\":\"M\",\"pid\":0,\"tid\":0}",
             id);
    file->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666);
    file->out = file->fd >= 0 ? fdopen(file->fd, "r+") : NULL;
    if (file->out == NULL || fstat(file->fd, &about) != 0 ||
        setvbuf(file->out, NULL, _IOFBF, BUFFER) != 0) {
        status = failed(file, "open", errno);
    } else if (!S_ISREG(about.st_mode)) {
        status = weft_err(WEFT_ERR_SYSTEM, "WEFT_TRACE=%s: it is not a regular file", path);
    } else if (first) {
        int error = set_lock(file->fd, F_WRLCK);
        weft_quiet_begin(&file->signals);
        if (error == 0)
            error = begin_anew(file);
        weft_quiet_end(&file->signals);
        set_lock(file->fd, F_UNLCK);
        if (error != 0)
            status = failed(file, "write", error);
    }
    file->began = first;
    *opened = file;
    if (status != WEFT_OK) {
        weft_trace_file_close(file);
        *opened = NULL;
    }
    return status;
}

void weft_trace_file_close(struct weft_trace_file *file)
{
    if (file != NULL && file->out != NULL)
        fclose(file->out);
    else if (file != NULL && file->fd >= 0)
        close(file->fd);
    free(file);
}

/* Whether the file is this job's, and whole. */
static bool is_ours(struct weft_trace_file *file)
{
    const size_t head = strlen(file->head);
    char there[MOST_HEAD], tail[TAIL_BYTES];
    struct stat about;

    if (fstat(file->fd, &about) != 0 || about.st_size < (off_t)(head + TAIL_BYTES) ||
        pread(file->fd, there, head, 0) != (ssize_t)head ||
        pread(file->fd, tail, TAIL_BYTES, about.st_size - TAIL_BYTES) != TAIL_BYTES)
        return false;
    file->was = about.st_size;
    return memcmp(there, file->head, head) == 0 && memcmp(tail, TAIL, TAIL_BYTES) == 0;
}

weft_status weft_trace_file_begin(struct weft_trace_file *file)
{
    int error = set_lock(file->fd, F_WRLCK);

    if (error != 0)
        return failed(file, "lock", error);
    weft_quiet_begin(&file->signals);
    if (!is_ours(file)) { /* that of a job before, on a host where process 0 is not */
        if (file->began)
            weft_say(WEFT_SAY_WARN,
                     "WEFT_TRACE=%s: it was another job's meanwhile, whose timeline is gone",
                     file->path);
        error = begin_anew(file);
        if (error == 0 && !is_ours(file))
            error = EIO;
    }
    if (error == 0 && fseeko(file->out, file->was - TAIL_BYTES, SEEK_SET) != 0)
        error = errno;
    if (error == 0)
        return WEFT_OK;
    weft_quiet_end(&file->signals);
    set_lock(file->fd, F_UNLCK);
    return failed(file, "write", error);
}

void weft_trace_line(struct weft_trace_file *file, const char *format, ...)
{
    va_list list;

    va_start(list, format);
    if ((fputs(",\n", file->out) < 0 || vfprintf(file->out, format, list) < 0) && file->error == 0)
        file->error = errno;
    va_end(list);
}

weft_status weft_trace_file_end(struct weft_trace_file *file)
{
    weft_status status = WEFT_OK;

    if ((fputs(TAIL, file->out) < 0 || fflush(file->out) != 0) && file->error == 0)
        file->error = errno;
    if (file->error != 0) { /* the bytes of the old tail are there, and need no room */
        status = failed(file, "write", file->error);
        __fpurge(file->out);
        clearerr(file->out);
        if (ftruncate(file->fd, file->was) != 0 ||
            write_at(file, file->was - TAIL_BYTES, TAIL) != 0)
            weft_say(WEFT_SAY_ERROR, "WEFT_TRACE=%s: it is not whole", file->path);
    }
    weft_quiet_end(&file->signals);
    set_lock(file->fd, F_UNLCK);
    return status;
}

void weft_trace_quote(char *out, size_t bytes, const char *text)
{
    size_t n = 0;

    for (; *text != 0 && n + 2 < bytes; text++) {
        const unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            out[n++] = '\\';
        out[n++] = c < 0x20 || c > 0x7e ? '?' : (char)c;
    }
    out[n] = 0;
}
