/*
 * compat/gaspi/queue.c - queues: two free-running counters, of requests posted, and of requests
 * that a wait has seen done; what it waits for stands in weftgaspi_peer. Besides, reads whose
 * notification is set when they are done.
 */
#include "internal.h"

static struct weftgaspi_queue queues[WEFTGASPI_QUEUES];

struct read_note {
    weft_op op;
    gaspi_segment_id_t segment;
    gaspi_notification_id_t id;
};
static struct read_note *reads;
static size_t reads_count, reads_room;

/* ---- which there are: with the lock held, as all functions that are not of GASPI ------------- */

struct weftgaspi_queue *weftgaspi_queue_of(gaspi_queue_id_t queue)
{
    return queue < WEFTGASPI_QUEUES && queues[queue].there ? &queues[queue] : NULL;
}

void weftgaspi_queues_open(void)
{
    for (int i = 0; i < WEFTGASPI_QUEUES; i++) {
        queues[i].number = i;
        queues[i].there = i < (int)weftgaspi.config.queue_num;
        queues[i].done = queues[i].posted;
    }
}

void weftgaspi_queues_close(void)
{
    free(reads);
    reads = NULL;
    reads_count = reads_room = 0;
}

API(queue_create, (gaspi_queue_id_t *const queue, const gaspi_timeout_t timeout_ms))
{
    gaspi_queue_id_t free_one = 0;

    TRY_OPEN(queue);
    LOCKED;
    while (free_one < WEFTGASPI_QUEUES && queues[free_one].there)
        free_one++;
    if (free_one == WEFTGASPI_QUEUES)
        return GASPI_ERROR;
    queues[free_one].there = true;
    *queue = free_one;
    return GASPI_SUCCESS;
}

API(queue_delete, (const gaspi_queue_id_t queue))
{
    TRY_OPEN();
    LOCKED;
    TRY_QUEUE(q, queue);
    NEED(q->posted == q->done, GASPI_ERROR, "queue %u has %u requests under way", queue,
         (unsigned)(q->posted - q->done));
    q->there = false;
    return GASPI_SUCCESS;
}

ASK_OF(queue_size, TRY_QUEUE, gaspi_queue_id_t, gaspi_number_t, of->posted - of->done)

ASK_LOCKED(queue_num, gaspi_number_t, COUNT_THERE(queues))

/* ---- waiting --------------------------------------------------------------------------------- */

/* Waits for one operation, with the lock given up: also until it is there, since programs expect of
 * a barrier behind gaspi_wait that the others see what they have written. */
static gaspi_return_t wait_op(weft_op op, int rank, double until)
{
    pthread_mutex_unlock(&weftgaspi.lock);
    const weft_status status =
        weft_host_op_wait_for(weftgaspi.job, op, WEFT_REMOTE, weftgaspi_left(until));
    pthread_mutex_lock(&weftgaspi.lock);
    return weftgaspi_result(status, rank);
}

static gaspi_return_t wait_queue(gaspi_queue_id_t queue, double until)
{
    LOCKED;
    TRY_QUEUE(q, queue);
    const uint64_t posted = q->posted;
    for (int rank = 0; rank < weftgaspi.ranks; rank++)
        for (int get = 0; get < 2 && q->there; get++) {
            weft_op *const newest = weftgaspi_newest(rank, q, get);
            const weft_op op = *newest;
            if (op.sequence == 0)
                continue;
            TRY(wait_op(op, rank, until));
            if (newest->sequence == op.sequence)
                *newest = (weft_op){0, 0, 0};
        }
    if (q->there && (int64_t)(posted - q->done) > 0)
        q->done = posted;
    weftgaspi_reads_done();
    return GASPI_SUCCESS;
}

API(wait, (const gaspi_queue_id_t queue, const gaspi_timeout_t timeout_ms))
{
    const double began = weftgaspi_now();

    TRY_OPEN();
    const gaspi_return_t code = wait_queue(queue, weftgaspi_until(timeout_ms));
    weftgaspi_count(WEFTGASPI_WAITS, 0, 1);
    weftgaspi_count(WEFTGASPI_WAITED, 0, (uint64_t)((weftgaspi_now() - began) * 1e6));
    return code;
}

API(queue_purge, (const gaspi_queue_id_t queue, const gaspi_timeout_t timeout_ms))
{
    TRY_OPEN();
    LOCKED;
    TRY_QUEUE(q, queue);
    for (int rank = 0; rank < weftgaspi.ranks; rank++)
        memset(weftgaspi_newest(rank, q, false), 0, 2 * sizeof(weft_op));
    q->done = q->posted;
    return GASPI_SUCCESS;
}

/* ---- notifications of reads ------------------------------------------------------------------ */

bool weftgaspi_reads_done(void)
{
    for (size_t i = 0; i < reads_count;) {
        const struct read_note note = reads[i];
        int done = 0;
        if (weft_host_op_test(weftgaspi.job, note.op, WEFT_LOCAL, &done) != WEFT_OK)
            return false;
        if (!done) {
            i++;
            continue;
        }
        reads[i] = reads[--reads_count];
        if (weftgaspi_segment_of(note.segment) != NULL) /* it was not deleted */
            weftgaspi_notify_self(note.segment, note.id, 1);
    }
    return reads_count != 0;
}

gaspi_return_t weftgaspi_reads_add(weft_op op, gaspi_segment_id_t segment,
                                   gaspi_notification_id_t id)
{
    if (reads_count == reads_room) {
        const size_t room = reads_room == 0 ? 64 : 2 * reads_room;
        struct read_note *const more = realloc(reads, room * sizeof(*more));
        if (more == NULL)
            return GASPI_ERR_MEMALLOC;
        reads = more;
        reads_room = room;
    }
    reads[reads_count++] = (struct read_note){op, segment, id};
    weftgaspi_reads_done();
    return GASPI_SUCCESS;
}
