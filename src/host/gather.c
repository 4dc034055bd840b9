/*
 * host/gather.c - gather and scatter: everybody learns of everybody's piece, and the pieces are
 * messages of a communicator of their own. Runs in the program's threads, one at a time.
 */
#include "host/host.h"

#include "runtime/job/exchange.h"
#include "weft/message.h"

/* What each process brings: the size of its own piece, and whether it gave memory. */
struct piece {
    uint64_t bytes;
    uint64_t offset; /* of it among all: not brought, but found */
    int32_t root;
    uint16_t own;   /* for its piece */
    uint16_t whole; /* for all pieces, which the root needs */
};

/* Whether the call can be done; every process finds the same, so that all refuse it together. */
static weft_status check_pieces(weft_job *job, const char *call, struct piece *pieces)
{
    const int root = pieces[0].root;
    uint64_t all = 0;

    for (int p = 0; p < job->numbers.processes; p++) {
        struct piece *piece = &pieces[p];
        if (piece->root != root)
            return weft_refused(
                job, WEFT_ERR_MISMATCH,
                "%s: the root is process %d in process 0, and process %d in process %d", call, root,
                piece->root, p);
        if (piece->bytes != 0 && !piece->own)
            return weft_refused(job, WEFT_ERR_ARGUMENT, "%s: process %d has %llu bytes at NULL",
                                call, p, (unsigned long long)piece->bytes);
        piece->offset = all;
        if (piece->bytes > SIZE_MAX / 2 - all)
            return weft_refused(job, WEFT_ERR_LIMIT, "%s: the pieces are too large in all", call);
        all += piece->bytes;
    }
    WEFT_TRY(weft_host_process(job, call, root));
    if (all != 0 && !pieces[root].whole)
        return weft_refused(job, WEFT_ERR_ARGUMENT,
                            "%s: the root, process %d, has all %llu bytes at NULL", call, root,
                            (unsigned long long)all);
    return WEFT_OK;
}

/* Everybody knows of all pieces: by process, to be freed. Collective. */
static struct piece *agree(weft_job *job, enum weft_exchange_op op, const struct piece *mine,
                           weft_status *status)
{
    struct piece *pieces = NULL;

    *status = weft_job_idle(job, weft_exchange_name(op));
    if (*status == WEFT_OK)
        pieces = weft_exchange_all(job, op, mine, sizeof(*mine), status);
    if (*status == WEFT_OK)
        *status = check_pieces(job, weft_exchange_name(op), pieces);
    return pieces;
}

/* Between the root, which has all pieces, and the others. All have agreed: who cannot go on leaves
 * messages behind, so the job fails. */
static weft_status move(weft_job *job, enum weft_exchange_op what, const struct piece *pieces,
                        void *own, size_t bytes, char *all)
{
    const bool gathers = what == WEFT_EXCHANGE_GATHER;
    const int root = pieces[0].root, me = job->numbers.process;
    weft_message_op op;
    weft_status status =
        gathers ? weft_host_send_begin(job, WEFT_COMM_PIECES, root, 0, own, bytes, &op)
                : weft_host_receive_begin(job, WEFT_COMM_PIECES, root, 0, own, bytes, &op);

    for (int p = 0; me == root && p < job->numbers.processes && status == WEFT_OK; p++) {
        char *const at = all + pieces[p].offset;
        const size_t its = pieces[p].bytes;
        status = gathers ? weft_host_receive(job, WEFT_COMM_PIECES, p, 0, at, its, NULL)
                         : weft_host_send(job, WEFT_COMM_PIECES, p, 0, at, its);
    }
    if (status == WEFT_OK)
        status = weft_host_message_wait(job, &op, NULL);
    if (status != WEFT_OK && !weft_job_is_failing(job))
        weft_job_fail(job, status, "%s: process %d cannot send or receive its pieces",
                      weft_exchange_name(what), me);
    return status;
}

/* own: this process's piece; all: where the root has all pieces. */
static weft_status run(weft_job *job, enum weft_exchange_op what, int root, const void *own,
                       size_t bytes, const void *all)
{
    const struct piece mine = {
        .bytes = bytes, .root = root, .own = own != NULL, .whole = all != NULL};
    weft_status status;
    WEFT_FREED struct piece *pieces = agree(job, what, &mine, &status);

    WEFT_TRY(status);
    return move(job, what, pieces, (void *)own, bytes, (char *)all);
}

weft_status weft_host_gather(weft_job *job, int root, const void *send, size_t bytes, void *receive)
{
    return run(job, WEFT_EXCHANGE_GATHER, root, send, bytes, receive);
}

weft_status weft_host_scatter(weft_job *job, int root, const void *send, void *receive,
                              size_t bytes)
{
    return run(job, WEFT_EXCHANGE_SCATTER, root, receive, bytes, send);
}
