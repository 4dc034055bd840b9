/*
 * host/window.c - the host program as a rank of its own: windows, puts and notifications
 * between processes without a kernel.
 *
 * It calls the same functions as a kernel does (rank/), with the state of slot 0. Where a
 * rank would end with its job, the call jumps back here and returns the job's status.
 */
#include "runtime/job/job.h"

#include "base/say.h"
#include "runtime/job/exchange.h"
#include "runtime/space/tables.h"
#include "weft/device.h"

#include <stdlib.h>
#include <string.h>

/* The host program's rank, or NULL and the reason why it cannot be used now. */
static weft_self *host_of(weft_job *job, const char *call, weft_status *status)
{
    *status = weft_job_idle(job, call);
    return *status == WEFT_OK ? job->ranks.selves[WEFT_HOST_SLOT] : NULL;
}

/* Every call below begins so; after a failure of the job it goes on in the second return. */
#define HOST_BEGIN(job, self, call)                                                                \
    weft_status host_status;                                                                       \
    weft_self *const self = host_of(job, call, &host_status);                                      \
    if (self == NULL)                                                                              \
        return host_status;                                                                        \
    if (setjmp(self->port.escape) != 0)                                                            \
    return weft_job_status(job)

static weft_status check_process(weft_job *job, const char *call, int process)
{
    if (process < 0 || process >= job->numbers.processes)
        return weft_refused(job, WEFT_ERR_RANK, "%s: process %d is not one of %d", call, process,
                            job->numbers.processes);
    return WEFT_OK;
}

static weft_status check_tag(weft_job *job, const char *call, int tag)
{
    if (tag < 0 || tag >= WEFT_TAGS)
        return weft_refused(job, WEFT_ERR_TAG, "%s: tag %d is not in 0..255", call, tag);
    return WEFT_OK;
}

/* Where a call has something to answer, or is told where that is. */
static weft_status check_place(weft_job *job, const char *call, const char *name, const void *place)
{
    if (place == NULL)
        return weft_refused(job, WEFT_ERR_ARGUMENT, "%s: %s is NULL", call, name);
    return WEFT_OK;
}

/* A window of the host program; NULL, and an error said, if win is none. */
static const struct weft_window *find_window(weft_job *job, const char *call, weft_win win)
{
    weft_lock(&job->space.tables);
    const struct weft_window *window = weft_window_find(&job->space.state, win);
    weft_unlock(&job->space.tables);
    if (window == NULL || window->comm != WEFT_COMM_HOST) {
        weft_refused(job, WEFT_ERR_WINDOW, "%s: window 0x%x is none of the host's", call, win);
        return NULL;
    }
    return window;
}

weft_status weft_host_win_create(weft_job *job, void *base, size_t bytes, weft_win *win)
{
    HOST_BEGIN(job, self, "weft_host_win_create");
    if (check_place(job, "weft_host_win_create", "win", win) != WEFT_OK)
        return WEFT_ERR_ARGUMENT;
    const weft_win made = weft_win_create(self, WEFT_COMM_HOST, base, bytes);
    if (made == WEFT_WIN_NONE)
        return weft_refused(job, weft_failure(self), "%s", job->space.no_window);
    *win = made;
    return WEFT_OK;
}

weft_status weft_host_win_free(weft_job *job, weft_win *win)
{
    HOST_BEGIN(job, self, "weft_host_win_free");
    if (check_place(job, "weft_host_win_free", "win", win) != WEFT_OK)
        return WEFT_ERR_ARGUMENT;
    if (find_window(job, "weft_host_win_free", *win) == NULL)
        return WEFT_ERR_WINDOW;
    weft_win_free(self, win);
    return WEFT_OK;
}

static weft_status check_put(weft_job *job, const char *call, weft_win win, int process,
                             size_t offset, const void *source, size_t bytes)
{
    const struct weft_window *window = find_window(job, call, win);
    weft_status status = window != NULL ? check_process(job, call, process) : WEFT_ERR_WINDOW;

    if (status != WEFT_OK)
        return status;
    if (offset > window->entry[process].bytes || bytes > window->entry[process].bytes - offset)
        return weft_refused(
            job, WEFT_ERR_BOUNDS,
            "%s: %zu bytes at offset %zu are not inside the window of %llu bytes of "
            "process %d",
            call, bytes, offset, (unsigned long long)window->entry[process].bytes, process);
    if (source == NULL && bytes != 0)
        return weft_refused(job, WEFT_ERR_ARGUMENT, "%s: source is NULL", call);
    return WEFT_OK;
}

weft_status weft_host_put(weft_job *job, weft_win win, int process, size_t offset,
                          const void *source, size_t bytes)
{
    HOST_BEGIN(job, self, "weft_host_put");
    weft_status status = check_put(job, "weft_host_put", win, process, offset, source, bytes);
    if (status == WEFT_OK)
        weft_put(self, win, process, offset, source, bytes);
    return status;
}

weft_status weft_host_put_notify(weft_job *job, weft_win win, int process, size_t offset,
                                 const void *source, size_t bytes, int tag)
{
    HOST_BEGIN(job, self, "weft_host_put_notify");
    weft_status status =
        check_put(job, "weft_host_put_notify", win, process, offset, source, bytes);
    if (status == WEFT_OK)
        status = check_tag(job, "weft_host_put_notify", tag);
    if (status == WEFT_OK)
        weft_put_notify(self, win, process, offset, source, bytes, tag);
    return status;
}

weft_status weft_host_notify(weft_job *job, int process, int tag)
{
    HOST_BEGIN(job, self, "weft_host_notify");
    weft_status status = check_process(job, "weft_host_notify", process);
    if (status == WEFT_OK)
        status = check_tag(job, "weft_host_notify", tag);
    if (status == WEFT_OK)
        weft_notify(self, WEFT_COMM_HOST, process, tag);
    return status;
}

weft_status weft_host_wait(weft_job *job, int tag, uint32_t count)
{
    HOST_BEGIN(job, self, "weft_host_wait");
    weft_status status = check_tag(job, "weft_host_wait", tag);
    if (status == WEFT_OK)
        weft_wait(self, tag, count);
    return status;
}

weft_status weft_host_test(weft_job *job, int tag, uint32_t count, int *done)
{
    HOST_BEGIN(job, self, "weft_host_test");
    weft_status status = check_tag(job, "weft_host_test", tag);
    if (status == WEFT_OK)
        status = check_place(job, "weft_host_test", "done", done);
    if (status == WEFT_OK)
        *done = weft_test(self, tag, count);
    return status;
}

weft_status weft_host_flush(weft_job *job, weft_win win)
{
    HOST_BEGIN(job, self, "weft_host_flush");
    if (find_window(job, "weft_host_flush", win) == NULL)
        return WEFT_ERR_WINDOW;
    weft_flush(self, win);
    return WEFT_OK;
}

weft_status weft_host_barrier(weft_job *job)
{
    HOST_BEGIN(job, self, "weft_host_barrier");
    weft_barrier(self, WEFT_COMM_HOST);
    return WEFT_OK;
}

/* ---- gather and scatter ---------------------------------------------------------------------- */

/* What each process brings: the size of its own piece, and whether it gave memory. */
struct piece {
    uint64_t bytes;
    int32_t root;
    uint16_t own;   /* for its piece */
    uint16_t whole; /* for all pieces, which the root needs */
};

struct pieces {
    struct piece *of; /* by process */
    uint64_t *offset;
    uint64_t all;
};

/* Whether the call can be done; every process finds the same, so that all refuse it together. */
static weft_status check_pieces(weft_job *job, const char *call, struct pieces *pieces)
{
    const int root = pieces->of[0].root;

    for (int p = 0; p < job->numbers.processes; p++) {
        const struct piece *piece = &pieces->of[p];
        if (piece->root != root)
            return weft_refused(
                job, WEFT_ERR_MISMATCH,
                "%s: the root is process %d in process 0, and process %d in process %d", call, root,
                piece->root, p);
        if (piece->bytes != 0 && !piece->own)
            return weft_refused(job, WEFT_ERR_ARGUMENT, "%s: process %d has %llu bytes at NULL",
                                call, p, (unsigned long long)piece->bytes);
        pieces->offset[p] = pieces->all;
        if (piece->bytes > SIZE_MAX / 2 - pieces->all)
            return weft_refused(job, WEFT_ERR_LIMIT, "%s: the pieces are too large in all", call);
        pieces->all += piece->bytes;
    }
    weft_status status = check_process(job, call, root);
    if (status == WEFT_OK && pieces->all != 0 && !pieces->of[root].whole)
        status = weft_refused(job, WEFT_ERR_ARGUMENT,
                              "%s: the root, process %d, has all %llu bytes at NULL", call, root,
                              (unsigned long long)pieces->all);
    return status;
}

/* Finds the place of every process's piece. Collective. */
static weft_status exchange_pieces(weft_job *job, const char *call, const struct piece *mine,
                                   struct pieces *pieces)
{
    const size_t n = (size_t)job->numbers.processes;

    *pieces = (struct pieces){.of = calloc(n, sizeof(*pieces->of)),
                              .offset = calloc(n, sizeof(*pieces->offset))};
    if (pieces->of == NULL || pieces->offset == NULL) {
        weft_job_fail(job, WEFT_ERR_MEMORY, "%s: process %d has no memory for %zu pieces", call,
                      job->numbers.process, n);
        return WEFT_ERR_MEMORY;
    }
    weft_status status = weft_exchange(job, WEFT_EXCHANGE_SIZES, mine, sizeof(*mine), pieces->of);
    return status == WEFT_OK ? check_pieces(job, call, pieces) : status;
}

/* Memory that others may put into, and its window. Collective; bytes may be 0. */
static weft_status open_stage(weft_job *job, uint64_t bytes, void **stage, weft_win *win)
{
    *stage = NULL;
    if (bytes != 0) {
        *stage = weft_malloc(job, bytes);
        if (*stage == NULL) {
            weft_job_fail(job, WEFT_ERR_MEMORY, "process %d: no %llu bytes to gather or scatter",
                          job->numbers.process, (unsigned long long)bytes);
            return WEFT_ERR_MEMORY;
        }
    }
    return weft_host_win_create(job, *stage, bytes, win);
}

/* When all have put: what came to the stage is the receiver's, and the rest goes. */
static weft_status take_stage(weft_job *job, weft_status status, weft_win *win, void *receive,
                              void *stage, uint64_t bytes, const struct pieces *pieces)
{
    if (status == WEFT_OK)
        status = weft_host_win_free(job, win); /* flushes, and waits for all */
    if (status == WEFT_OK && bytes != 0)
        status = weft_copy(job, receive, stage, bytes);
    weft_free(job, stage);
    free(pieces->of);
    free(pieces->offset);
    return status;
}

weft_status weft_host_gather(weft_job *job, int root, const void *send, size_t bytes, void *receive)
{
    const struct piece mine = {bytes, root, send != NULL, receive != NULL};
    struct pieces pieces;
    void *stage = NULL;
    weft_win win = WEFT_WIN_NONE;
    weft_status status = weft_job_idle(job, "weft_host_gather");

    if (status != WEFT_OK)
        return status;
    const bool at_root = job->numbers.process == root;
    status = exchange_pieces(job, "weft_host_gather", &mine, &pieces);
    if (status == WEFT_OK)
        status = open_stage(job, at_root ? pieces.all : 0, &stage, &win);
    if (status == WEFT_OK)
        status = weft_host_put(job, win, root, pieces.offset[job->numbers.process], send, bytes);
    return take_stage(job, status, &win, receive, stage, at_root ? pieces.all : 0, &pieces);
}

weft_status weft_host_scatter(weft_job *job, int root, const void *send, void *receive,
                              size_t bytes)
{
    const struct piece mine = {bytes, root, receive != NULL, send != NULL};
    struct pieces pieces;
    void *stage = NULL;
    weft_win win = WEFT_WIN_NONE;
    weft_status status = weft_job_idle(job, "weft_host_scatter");

    if (status != WEFT_OK)
        return status;
    status = exchange_pieces(job, "weft_host_scatter", &mine, &pieces);
    if (status == WEFT_OK)
        status = open_stage(job, bytes, &stage, &win);
    for (int p = 0; status == WEFT_OK && job->numbers.process == root && p < job->numbers.processes;
         p++)
        status = weft_host_put(job, win, p, 0, (const char *)send + pieces.offset[p],
                               pieces.of[p].bytes);
    return take_stage(job, status, &win, receive, stage, bytes, &pieces);
}
