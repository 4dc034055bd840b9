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
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TAIL "\n]}\n"
enum { BUFFER = 1 << 16, MOST_LINE = 1024, TAIL_BYTES = sizeof(TAIL) - 1, MOST_HEAD = 160 };

struct weft_trace_file {
    int fd;
    bool began;     /* here, when it was opened */
    int error;      /* errno of the first write that failed */
    off_t was, end; /* the file's size before begin; where the next byte goes */
    size_t used;    /* of the buffer */
    char path[128];
    char head[MOST_HEAD];
    char buffer[BUFFER];
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

/* Writes all of it at `at`; 0 or an errno. */
static int write_all(int fd, const char *bytes, size_t count, off_t at)
{
    sigset_t before;

    while (count > 0) {
        weft_quiet_begin(&before);
        const ssize_t n = pwrite(fd, bytes, count, at);
        weft_quiet_end(&before);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? errno : EIO;
        bytes += n;
        at += n;
        count -= (size_t)n;
    }
    return 0;
}

static void flush(struct weft_trace_file *file)
{
    if (file->error == 0)
        file->error = write_all(file->fd, file->buffer, file->used, file->end);
    file->end += (off_t)file->used;
    file->used = 0;
}

static void append_bytes(struct weft_trace_file *file, const char *bytes, size_t count)
{
    if (file->used + count > sizeof(file->buffer))
        flush(file);
    memcpy(file->buffer + file->used, bytes, count);
    file->used += count;
}

/* An empty list of events. */
static int begin_anew(struct weft_trace_file *file)
{
    const size_t head = strlen(file->head);
    int error = ftruncate(file->fd, 0) == 0 ? 0 : errno;

    if (error == 0)
        error = write_all(file->fd, file->head, head, 0);
    if (error == 0)
        error = write_all(file->fd, TAIL, TAIL_BYTES, (off_t)head);
    return error;
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
    if (file->fd < 0 || fstat(file->fd, &about) != 0) {
        status = failed(file, "open", errno);
    } else if (!S_ISREG(about.st_mode)) {
        status = weft_err(WEFT_ERR_SYSTEM, "WEFT_TRACE=%s: it is not a regular file", path);
    } else if (first) {
        int error = set_lock(file->fd, F_WRLCK);
        if (error == 0)
            error = begin_anew(file);
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
    if (file != NULL && file->fd >= 0)
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
    if (!is_ours(file)) { /* that of a job before, on a host where process 0 is not */
        if (file->began)
            weft_say(WEFT_SAY_WARN,
                     "WEFT_TRACE=%s: it was another job's meanwhile, whose timeline is gone",
                     file->path);
        error = begin_anew(file);
        if (error == 0 && !is_ours(file))
            error = EIO;
    }
    if (error != 0) {
        set_lock(file->fd, F_UNLCK);
        return failed(file, "write", error);
    }
    file->error = 0;
    file->used = 0;
    file->end = file->was - TAIL_BYTES;
    return WEFT_OK;
}

void weft_trace_line(struct weft_trace_file *file, const char *format, ...)
{
    char line[MOST_LINE];
    va_list list;

    va_start(list, format);
    const int n = vsnprintf(line, sizeof(line), format, list);
    va_end(list);
    if (n <= 0 || n >= (int)sizeof(line)) {
        file->error = file->error != 0 ? file->error : EMSGSIZE;
        return;
    }
    append_bytes(file, ",\n", 2);
    append_bytes(file, line, (size_t)n);
}

weft_status weft_trace_file_end(struct weft_trace_file *file)
{
    weft_status status = WEFT_OK;

    append_bytes(file, TAIL, TAIL_BYTES);
    flush(file);
    if (file->error != 0) { /* the bytes of the old tail are there, and need no room */
        status = failed(file, "write", file->error);
        if (ftruncate(file->fd, file->was) != 0 ||
            write_all(file->fd, TAIL, TAIL_BYTES, file->was - TAIL_BYTES) != 0)
            weft_say(WEFT_SAY_ERROR, "WEFT_TRACE=%s: it is not whole", file->path);
    }
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
