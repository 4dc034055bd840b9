/*
 * compat/gaspi/post.c - queues, and what is posted to them.
 *
 * Every request is an operation of weft that is begun at once. A queue remembers the newest of each
 * kind to each rank, which stand for those before them, and two free-running counters: requests
 * posted, and requests that a wait has seen done. A notification is a put of 4 bytes behind a fence
 * and all data of the call, and a count that wakes who waits.
 */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

enum { KINDS = 4 }; /* of operations to one rank: by path, puts and gets */

struct queue {
    bool there;
    uint64_t posted, done;
    weft_op (*newest)[KINDS]; /* by rank */
    uint32_t *values;         /* of notifications under way, by request */
};
static struct queue queues[WEFTGASPI_QUEUES];

/* Reads whose notification is set when they are done. */
struct read_note {
    weft_op op;
    gaspi_segment_id_t segment;
    gaspi_notification_id_t id;
};
static struct read_note *reads;
static size_t reads_count, reads_room;

/* ---- queues ------------------------------------------------------------------------------------
 */

/* Lock held, as in all static functions here. */
static struct queue *queue_of(gaspi_queue_id_t queue)
{
    return queue < WEFTGASPI_QUEUES && queues[queue].there ? &queues[queue] : NULL;
}

static void drop(struct queue *q)
{
    free(q->newest);
    free(q->values);
    memset(q, 0, sizeof(*q));
}

static gaspi_return_t open_queue(struct queue *q)
{
    q->newest = calloc((size_t)weftgaspi.ranks, sizeof(*q->newest));
    q->values = calloc(weftgaspi.config.queue_size_max, sizeof(*q->values));
    if (q->newest == NULL || q->values == NULL) {
        drop(q);
        return GASPI_ERR_MEMALLOC;
    }
    q->there = true;
    return GASPI_SUCCESS;
}

gaspi_return_t weftgaspi_queues_open(void)
{
    for (unsigned i = 0; i < weftgaspi.config.queue_num; i++)
        TRY(open_queue(&queues[i]));
    return GASPI_SUCCESS;
}

void weftgaspi_queues_close(void)
{
    for (int i = 0; i < WEFTGASPI_QUEUES; i++)
        drop(&queues[i]);
    free(reads);
    reads = NULL;
    reads_count = reads_room = 0;
}

static unsigned queues_there(void)
{
    unsigned there = 0;

    for (int i = 0; i < WEFTGASPI_QUEUES; i++)
        there += queues[i].there;
    return there;
}

API(queue_create, (gaspi_queue_id_t *const queue, const gaspi_timeout_t timeout_ms))
{
    gaspi_queue_id_t free_one = 0;

    (void)timeout_ms;
    TRY_OPEN();
    TRY_PLACE(queue);
    weftgaspi_lock();
    while (free_one < WEFTGASPI_QUEUES && queues[free_one].there)
        free_one++;
    const gaspi_return_t code =
        free_one == WEFTGASPI_QUEUES ? GASPI_ERROR : open_queue(&queues[free_one]);
    if (code == GASPI_SUCCESS)
        *queue = free_one;
    return weftgaspi_unlock(code);
}

API(queue_delete, (const gaspi_queue_id_t queue))
{
    TRY_OPEN();
    weftgaspi_lock();
    struct queue *const q = queue_of(queue);
    if (q == NULL)
        return weftgaspi_unlock(GASPI_ERR_INV_QUEUE);
    if (q->posted != q->done)
        return weftgaspi_unlock(GASPI_ERROR); /* its requests may still read q->values */
    drop(q);
    return weftgaspi_unlock(GASPI_SUCCESS);
}

API(queue_size, (const gaspi_queue_id_t queue, gaspi_number_t *const size))
{
    TRY_OPEN();
    TRY_PLACE(size);
    weftgaspi_lock();
    const struct queue *const q = queue_of(queue);
    if (q != NULL)
        *size = (gaspi_number_t)(q->posted - q->done);
    return weftgaspi_unlock(q != NULL ? GASPI_SUCCESS : GASPI_ERR_INV_QUEUE);
}

API(queue_num, (gaspi_number_t *const number))
{
    TRY_OPEN();
    TRY_PLACE(number);
    weftgaspi_lock();
    *number = queues_there();
    return weftgaspi_unlock(GASPI_SUCCESS);
}

/* ---- waiting -----------------------------------------------------------------------------------
 */

/* Waits for one operation, with the lock given up. */
static gaspi_return_t wait_op(weft_op op, int rank, double until)
{
    int done = 0;
    weft_status status = weft_host_op_test(weftgaspi.job, op, WEFT_LOCAL, &done);

    if (status == WEFT_OK && done)
        return GASPI_SUCCESS;
    if (status == WEFT_OK) {
        weftgaspi_unlock(GASPI_SUCCESS);
        status = weft_host_op_wait_for(weftgaspi.job, op, WEFT_LOCAL, weftgaspi_left(until));
        weftgaspi_lock();
    }
    return weftgaspi_result(status, rank);
}

static gaspi_return_t wait_queue(gaspi_queue_id_t queue, double until)
{
    struct queue *const q = queue_of(queue);

    if (q == NULL)
        return GASPI_ERR_INV_QUEUE;
    const uint64_t posted = q->posted;
    for (int rank = 0; rank < weftgaspi.ranks; rank++)
        for (int kind = 0; kind < KINDS && q->there; kind++) {
            const weft_op op = q->newest[rank][kind];
            if (op.sequence == 0)
                continue;
            TRY(wait_op(op, rank, until));
            if (q->there && q->newest[rank][kind].sequence == op.sequence)
                q->newest[rank][kind] = (weft_op){0, 0, 0};
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
    weftgaspi_lock();
    const gaspi_return_t code = weftgaspi_unlock(wait_queue(queue, weftgaspi_until(timeout_ms)));
    weftgaspi_count(WEFTGASPI_WAITS, 0, 1);
    weftgaspi_count(WEFTGASPI_WAITED, 0, (uint64_t)((weftgaspi_now() - began) * 1e6));
    return code;
}

API(queue_purge, (const gaspi_queue_id_t queue, const gaspi_timeout_t timeout_ms))
{
    (void)timeout_ms;
    TRY_OPEN();
    weftgaspi_lock();
    struct queue *const q = queue_of(queue);
    if (q == NULL)
        return weftgaspi_unlock(GASPI_ERR_INV_QUEUE);
    memset(q->newest, 0, (size_t)weftgaspi.ranks * sizeof(*q->newest));
    q->done = q->posted;
    return weftgaspi_unlock(GASPI_SUCCESS);
}

/* ---- notifications of reads --------------------------------------------------------------------
 */

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
        weftgaspi_notify_self(note.segment, note.id, 1); /* unless it was deleted */
    }
    return reads_count != 0;
}

static gaspi_return_t reads_add(weft_op op, gaspi_segment_id_t segment, gaspi_notification_id_t id)
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

/* ---- posting -----------------------------------------------------------------------------------
 */

struct request {
    bool read;
    gaspi_number_t number; /* of transfers; 0: a notification alone */
    gaspi_rank_t rank;
    gaspi_queue_id_t queue;
    const gaspi_segment_id_t *local, *remote;
    const gaspi_offset_t *here, *there;
    const gaspi_size_t *size;
    /* Its notification. */
    bool notifies;
    gaspi_segment_id_t notified;
    gaspi_notification_id_t id;
    gaspi_notification_t value;
};

static gaspi_return_t check_transfer(const struct request *r, gaspi_number_t i)
{
    struct weftgaspi_place place;
    void *address;

    if (r->size[i] == 0 || r->size[i] > weftgaspi.config.transfer_size_max)
        return GASPI_ERR_INV_COMMSIZE;
    TRY(weftgaspi_check_local(r->local[i], r->here[i], r->size[i], &address));
    TRY(weftgaspi_place_of(r->rank, r->remote[i], &place));
    return r->there[i] <= place.bytes && r->size[i] <= place.bytes - r->there[i]
               ? GASPI_SUCCESS
               : GASPI_ERR_INV_REM_OFF;
}

static gaspi_return_t check_note(const struct request *r)
{
    struct weftgaspi_place place;

    if (r->id >= weftgaspi.config.notification_num)
        return GASPI_ERR_INV_NOTIF_ID;
    if (r->value == 0)
        return GASPI_ERR_INV_NOTIF_VAL;
    return weftgaspi_place_of(r->read ? (gaspi_rank_t)weftgaspi.rank : r->rank, r->notified,
                              &place);
}

/* All of it, so that nothing is posted of what is wrong. */
static gaspi_return_t check(const struct request *r, struct queue **queue)
{
    struct queue *const q = queue_of(r->queue);

    TRY(weftgaspi_check_rank(r->rank));
    if (q == NULL)
        return GASPI_ERR_INV_QUEUE;
    if (r->number > weftgaspi.config.rw_list_elem_max)
        return GASPI_ERR_INV_NUM;
    for (gaspi_number_t i = 0; i < r->number; i++)
        TRY(check_transfer(r, i));
    if (r->notifies)
        TRY(check_note(r));
    if (q->posted - q->done + r->number + r->notifies > weftgaspi.config.queue_size_max)
        return GASPI_QUEUE_FULL;
    *queue = q;
    return GASPI_SUCCESS;
}

/* The newest operation of its kind stands for those before it. */
static void remember(struct queue *q, int rank, weft_op op)
{
    weft_op *const newest = q->newest[rank];
    int i = 0;

    if (op.sequence == 0) /* done */
        return;
    while (i < KINDS - 1 && newest[i].sequence != 0 && newest[i].kind != op.kind)
        i++;
    newest[i] = op;
}

static gaspi_return_t begin(const struct request *r, gaspi_number_t i, struct queue *q, weft_op *op)
{
    struct weftgaspi_place place;
    void *address;

    TRY(weftgaspi_check_local(r->local[i], r->here[i], r->size[i], &address));
    TRY(weftgaspi_place_of(r->rank, r->remote[i], &place));
    const size_t offset = place.data_offset + r->there[i];
    const weft_status status =
        r->read
            ? weft_host_get_begin(weftgaspi.job, place.data, 0, offset, address, r->size[i], op)
            : weft_host_put_begin(weftgaspi.job, place.data, 0, offset, address, r->size[i], op);
    TRY(weftgaspi_result(status, r->rank));
    q->posted++;
    remember(q, r->rank, *op);
    weftgaspi_count(r->read ? WEFTGASPI_READS : WEFTGASPI_WRITES, 0, 1);
    weftgaspi_count(r->read ? WEFTGASPI_READ : WEFTGASPI_WRITTEN, r->rank, r->size[i]);
    return GASPI_SUCCESS;
}

static gaspi_return_t notify(const struct request *r, struct queue *q)
{
    uint32_t *const value = &q->values[q->posted % weftgaspi.config.queue_size_max];
    struct weftgaspi_place place;
    weft_op op;

    TRY(weftgaspi_place_of(r->rank, r->notified, &place));
    *value = r->value;
    weft_status status = weft_host_fence(weftgaspi.job);
    if (status == WEFT_OK)
        status =
            weft_host_put_begin(weftgaspi.job, place.head, 0, (size_t)r->id * 4, value, 4, &op);
    if (status == WEFT_OK)
        status = weft_host_notify(weftgaspi.job, r->rank, weftgaspi.tag);
    TRY(weftgaspi_result(status, r->rank));
    q->posted++;
    remember(q, r->rank, op);
    weftgaspi_count(WEFTGASPI_NOTIFIES, 0, 1);
    return GASPI_SUCCESS;
}

static gaspi_return_t post_checked(const struct request *r, struct queue *q)
{
    weft_op op = {0, 0, 0};

    for (gaspi_number_t i = 0; i < r->number; i++)
        TRY(begin(r, i, q, &op));
    if (!r->notifies)
        return GASPI_SUCCESS;
    if (!r->read)
        return notify(r, q);
    q->posted++;
    return reads_add(op, r->notified, r->id);
}

static gaspi_return_t post(const struct request *r)
{
    struct queue *q = NULL;

    TRY_OPEN();
    if (r->number != 0 && (r->local == NULL || r->here == NULL || r->remote == NULL ||
                           r->there == NULL || r->size == NULL))
        return GASPI_ERR_NULLPTR;
    if (r->number == 0 && !r->notifies)
        return GASPI_ERR_INV_NUM;
    weftgaspi_lock();
    gaspi_return_t code = check(r, &q);
    if (code == GASPI_SUCCESS)
        code = post_checked(r, q);
    return weftgaspi_unlock(code);
}

/* ---- the calls ---------------------------------------------------------------------------------
 */

API(write, (const gaspi_segment_id_t local, const gaspi_offset_t from, const gaspi_rank_t rank,
            const gaspi_segment_id_t remote, const gaspi_offset_t to, const gaspi_size_t size,
            const gaspi_queue_id_t queue, const gaspi_timeout_t timeout_ms))
{
    (void)timeout_ms;
    return post(&(struct request){false, 1, rank, queue, &local, &remote, &from, &to, &size, false,
                                  0, 0, 0});
}

API(read, (const gaspi_segment_id_t local, const gaspi_offset_t to, const gaspi_rank_t rank,
           const gaspi_segment_id_t remote, const gaspi_offset_t from, const gaspi_size_t size,
           const gaspi_queue_id_t queue, const gaspi_timeout_t timeout_ms))
{
    (void)timeout_ms;
    return post(&(struct request){true, 1, rank, queue, &local, &remote, &to, &from, &size, false,
                                  0, 0, 0});
}

API(write_list,
    (const gaspi_number_t number, gaspi_segment_id_t *const local, gaspi_offset_t *const from,
     const gaspi_rank_t rank, gaspi_segment_id_t *const remote, gaspi_offset_t *const to,
     gaspi_size_t *const size, const gaspi_queue_id_t queue, const gaspi_timeout_t timeout_ms))
{
    (void)timeout_ms;
    return post(&(struct request){false, number, rank, queue, local, remote, from, to, size, false,
                                  0, 0, 0});
}

API(read_list,
    (const gaspi_number_t number, gaspi_segment_id_t *const local, gaspi_offset_t *const to,
     const gaspi_rank_t rank, gaspi_segment_id_t *const remote, gaspi_offset_t *const from,
     gaspi_size_t *const size, const gaspi_queue_id_t queue, const gaspi_timeout_t timeout_ms))
{
    (void)timeout_ms;
    return post(&(struct request){true, number, rank, queue, local, remote, to, from, size, false,
                                  0, 0, 0});
}

API(notify, (const gaspi_segment_id_t remote, const gaspi_rank_t rank,
             const gaspi_notification_id_t id, const gaspi_notification_t value,
             const gaspi_queue_id_t queue, const gaspi_timeout_t timeout_ms))
{
    (void)timeout_ms;
    return post(&(struct request){false, 0, rank, queue, NULL, NULL, NULL, NULL, NULL, true, remote,
                                  id, value});
}

API(write_notify,
    (const gaspi_segment_id_t local, const gaspi_offset_t from, const gaspi_rank_t rank,
     const gaspi_segment_id_t remote, const gaspi_offset_t to, const gaspi_size_t size,
     const gaspi_notification_id_t id, const gaspi_notification_t value,
     const gaspi_queue_id_t queue, const gaspi_timeout_t timeout_ms))
{
    (void)timeout_ms;
    return post(&(struct request){false, 1, rank, queue, &local, &remote, &from, &to, &size, true,
                                  remote, id, value});
}

API(write_list_notify,
    (const gaspi_number_t number, gaspi_segment_id_t *const local, gaspi_offset_t *const from,
     const gaspi_rank_t rank, gaspi_segment_id_t *const remote, gaspi_offset_t *const to,
     gaspi_size_t *const size, const gaspi_segment_id_t notified, const gaspi_notification_id_t id,
     const gaspi_notification_t value, const gaspi_queue_id_t queue,
     const gaspi_timeout_t timeout_ms))
{
    (void)timeout_ms;
    return post(&(struct request){false, number, rank, queue, local, remote, from, to, size, true,
                                  notified, id, value});
}

API(read_notify, (const gaspi_segment_id_t local, const gaspi_offset_t to, const gaspi_rank_t rank,
                  const gaspi_segment_id_t remote, const gaspi_offset_t from,
                  const gaspi_size_t size, const gaspi_notification_id_t id,
                  const gaspi_queue_id_t queue, const gaspi_timeout_t timeout_ms))
{
    (void)timeout_ms;
    return post(&(struct request){true, 1, rank, queue, &local, &remote, &to, &from, &size, true,
                                  local, id, 1});
}

API(read_list_notify,
    (const gaspi_number_t number, gaspi_segment_id_t *const local, gaspi_offset_t *const to,
     const gaspi_rank_t rank, gaspi_segment_id_t *const remote, gaspi_offset_t *const from,
     gaspi_size_t *const size, const gaspi_segment_id_t notified, const gaspi_notification_id_t id,
     const gaspi_queue_id_t queue, const gaspi_timeout_t timeout_ms))
{
    (void)timeout_ms;
    return post(&(struct request){true, number, rank, queue, local, remote, to, from, size, true,
                                  notified, id, 1});
}
