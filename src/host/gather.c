/*
 * host/gather.c - gather and scatter: everybody learns of everybody's piece, and puts into a window
 * of the receiver. Runs in the program's threads, one at a time.
 */
#include "host/host.h"

#include "runtime/job/exchange.h"

#include <stdlib.h>

/* What each process brings: the size of its own piece, and whether it gave memory. */
struct piece {
    uint64_t bytes;
    uint64_t offset; /* of it among all: not brought, but found */
    int32_t root;
    uint16_t own;   /* for its piece */
    uint16_t whole; /* for all pieces, which the root needs */
};

struct pieces {
    struct piece *of; /* by process */
    uint64_t all;
    void *stage; /* where others put what this process receives */
    uint64_t stage_bytes;
    weft_win win; /* over the stage */
};

/* Whether the call can be done; every process finds the same, so that all refuse it together. */
static weft_status check_pieces(weft_job *job, const char *call, struct pieces *pieces)
{
    const int root = pieces->of[0].root;

    for (int p = 0; p < job->numbers.processes; p++) {
        struct piece *piece = &pieces->of[p];
        if (piece->root != root)
            return weft_refused(
                job, WEFT_ERR_MISMATCH,
                "%s: the root is process %d in process 0, and process %d in process %d", call, root,
                piece->root, p);
        if (piece->bytes != 0 && !piece->own)
            return weft_refused(job, WEFT_ERR_ARGUMENT, "%s: process %d has %llu bytes at NULL",
                                call, p, (unsigned long long)piece->bytes);
        piece->offset = pieces->all;
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

/*
 * The beginning: everybody knows of all pieces, and has a stage that others may put into, for all
 * of them at the root or for its own. Collective.
 */
static weft_status begin_exchange(weft_job *job, enum weft_exchange_op op, const struct piece *mine,
                                  struct pieces *pieces)
{
    const bool to_root = op == WEFT_EXCHANGE_GATHER;
    weft_status status = weft_job_idle(job, weft_exchange_name(op));

    *pieces = (struct pieces){0};
    if (status == WEFT_OK)
        pieces->of = weft_exchange_all(job, op, mine, sizeof(*mine), &status);
    if (status == WEFT_OK)
        status = check_pieces(job, weft_exchange_name(op), pieces);
    if (status != WEFT_OK)
        return status;
    pieces->stage_bytes = !to_root                             ? mine->bytes
                          : job->numbers.process == mine->root ? pieces->all
                                                               : 0;
    if (pieces->stage_bytes != 0) {
        pieces->stage = weft_malloc(job, pieces->stage_bytes);
        if (pieces->stage == NULL) {
            weft_job_fail(job, WEFT_ERR_MEMORY, "process %d: no %llu bytes to gather or scatter",
                          job->numbers.process, (unsigned long long)pieces->stage_bytes);
            return WEFT_ERR_MEMORY;
        }
    }
    return weft_host_win_create(job, pieces->stage, pieces->stage_bytes, &pieces->win);
}

/* The end, when all have put: what came to the stage is the receiver's. Collective. */
static weft_status end(weft_job *job, weft_status status, struct pieces *pieces, void *receive)
{
    if (status == WEFT_OK)
        status = weft_host_win_free(job, &pieces->win); /* flushes, and waits for all */
    if (status == WEFT_OK && pieces->stage_bytes != 0)
        status = weft_copy(job, receive, pieces->stage, pieces->stage_bytes);
    if (pieces->stage != NULL) /* there may be no job */
        weft_free(job, pieces->stage);
    free(pieces->of);
    return status;
}

weft_status weft_host_gather(weft_job *job, int root, const void *send, size_t bytes, void *receive)
{
    const struct piece mine = {
        .bytes = bytes, .root = root, .own = send != NULL, .whole = receive != NULL};
    struct pieces pieces;
    weft_status status = begin_exchange(job, WEFT_EXCHANGE_GATHER, &mine, &pieces);

    if (status == WEFT_OK)
        status = weft_host_put(job, pieces.win, root, pieces.of[job->numbers.process].offset, send,
                               bytes);
    return end(job, status, &pieces, receive);
}

weft_status weft_host_scatter(weft_job *job, int root, const void *send, void *receive,
                              size_t bytes)
{
    const struct piece mine = {
        .bytes = bytes, .root = root, .own = receive != NULL, .whole = send != NULL};
    struct pieces pieces;
    weft_status status = begin_exchange(job, WEFT_EXCHANGE_SCATTER, &mine, &pieces);

    for (int p = 0; status == WEFT_OK && job->numbers.process == root && p < job->numbers.processes;
         p++)
        status = weft_host_put(job, pieces.win, p, 0, (const char *)send + pieces.of[p].offset,
                               pieces.of[p].bytes);
    return end(job, status, &pieces, receive);
}
