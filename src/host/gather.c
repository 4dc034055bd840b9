/*
 * host/gather.c - gather and scatter: everybody learns of everybody's piece, and puts into a window
 * of the receiver.
 */
#include "host/host.h"

#include "runtime/job/exchange.h"

#include <stdlib.h>

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
    weft_status status = weft_host_process(job, call, root);
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
