/*
 * compat/gaspi/post.c - posts requests to queues. Every request is an operation of weft that is
 * begun at once. A notification is a put of 4 bytes behind a fence and all data of the call, and a
 * count that wakes who waits. No call waits, whatever its limit. Static functions here need the
 * lock.
 */
#include "internal.h"

#include <GASPI_GPU.h>

struct request {
    bool read;
    bool alone;            /* a notification without transfers */
    gaspi_number_t number; /* how many transfers */
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

/* Finds where the i-th transfer goes from and to. */
static gaspi_return_t find_transfer(const struct request *r, gaspi_number_t i, void **address,
                                    struct weftgaspi_place *place)
{
    NEED(r->size[i] <= weftgaspi.config.transfer_size_max, GASPI_ERR_INV_COMMSIZE,
         "%lu bytes, at most %lu", r->size[i], weftgaspi.config.transfer_size_max);
    TRY(weftgaspi_check_local(r->local[i], r->here[i], r->size[i], address));
    TRY(weftgaspi_place_of(r->rank, r->remote[i], place));
    NEED(r->there[i] <= place->bytes && r->size[i] <= place->bytes - r->there[i],
         GASPI_ERR_INV_REM_OFF, "%lu bytes at %lu of segment %u of rank %u, which has %zu",
         r->size[i], r->there[i], r->remote[i], r->rank, place->bytes);
    return GASPI_SUCCESS;
}

/* Checks a whole request, so that nothing is posted of what is wrong. *note: where its notification
 * goes. */
static gaspi_return_t check(const struct request *r, const struct weftgaspi_queue *q,
                            struct weftgaspi_place *note)
{
    struct weftgaspi_place place;
    void *address;

    NEED(r->number <= weftgaspi.config.rw_list_elem_max, GASPI_ERR_INV_NUM,
         "%u transfers, at most %u", r->number, weftgaspi.config.rw_list_elem_max);
    for (gaspi_number_t i = 0; i < r->number; i++)
        TRY(find_transfer(r, i, &address, &place));
    if (r->notifies) {
        NEED_NOTIFICATION(r->id);
        NEED(r->value != 0, GASPI_ERR_INV_NOTIF_VAL);
        TRY(weftgaspi_place_of(r->read ? (gaspi_rank_t)weftgaspi.rank : r->rank, r->notified,
                               note));
    }
    const uint64_t under_way = q->posted - q->done; /* an empty queue has room for any one call */
    return under_way == 0 || under_way + r->number + r->notifies <= weftgaspi.config.queue_size_max
               ? GASPI_SUCCESS
               : GASPI_QUEUE_FULL;
}

/* Begins the i-th transfer. *op stays as it is where there are no bytes. */
static gaspi_return_t begin_transfer(const struct request *r, gaspi_number_t i,
                                     struct weftgaspi_queue *q, weft_op *op)
{
    struct weftgaspi_place place;
    void *address;

    TRY(find_transfer(r, i, &address, &place));
    const size_t offset = place.data_offset + r->there[i];
    weft_status status = WEFT_OK;
    if (r->size[i] != 0)
        status = r->read ? weft_host_get_begin(weftgaspi.job, place.data, 0, offset, address,
                                               r->size[i], op)
                         : weft_host_put_begin(weftgaspi.job, place.data, 0, offset, address,
                                               r->size[i], op);
    TRY(weftgaspi_result(status, r->rank));
    q->posted++;
    if (op->sequence != 0) /* it is under way */
        *weftgaspi_newest(r->rank, q, r->read) = *op;
    weftgaspi_count(r->read ? WEFTGASPI_READS : WEFTGASPI_WRITES, 0, 1);
    weftgaspi_count(r->read ? WEFTGASPI_READ : WEFTGASPI_WRITTEN, r->rank, r->size[i]);
    return GASPI_SUCCESS;
}

static gaspi_return_t notify(const struct request *r, struct weftgaspi_queue *q, weft_win head)
{
    uint32_t *const value = &q->values[q->posted % WEFTGASPI_QUEUE_MOST];
    weft_op op = {0, 0, 0};

    *value = r->value;
    TRY_WEFT(weft_host_fence(weftgaspi.job));
    TRY(weftgaspi_result(
        weft_host_put_begin(weftgaspi.job, head, 0, (size_t)r->id * 4, value, 4, &op), r->rank));
    TRY(weftgaspi_result(weft_host_notify(weftgaspi.job, r->rank, weftgaspi.tag), r->rank));
    q->posted++;
    if (op.sequence != 0)
        *weftgaspi_newest(r->rank, q, false) = op;
    weftgaspi_count(WEFTGASPI_NOTIFIES, 0, 1);
    return GASPI_SUCCESS;
}

static gaspi_return_t post(const struct request *r)
{
    struct weftgaspi_place note;
    weft_op op = {0, 0, 0};

    NEED(r->number == 0 || (r->local != NULL && r->here != NULL && r->remote != NULL &&
                            r->there != NULL && r->size != NULL),
         GASPI_ERR_NULLPTR);
    NEED(r->number != 0 || r->alone, GASPI_ERR_INV_NUM, "no transfers");
    NEED_RANK(r->rank);
    LOCKED;
    TRY_QUEUE(q, r->queue);
    TRY(check(r, q, &note));
    for (gaspi_number_t i = 0; i < r->number; i++)
        TRY(begin_transfer(r, i, q, &op));
    if (!r->notifies)
        return GASPI_SUCCESS;
    if (!r->read)
        return notify(r, q, note.head);
    q->posted++;
    return weftgaspi_reads_add(op, r->notified, r->id);
}

/* ---- the calls ------------------------------------------------------------------------------- */

/* Make a request of arguments of these names: one transfer is a list of one. */
#define REQUEST(...) ((struct request){.rank = rank, .queue = queue, __VA_ARGS__})
#define ONE(from, to)                                                                              \
    .number = 1, .local = &local, .here = &from, .remote = &remote, .there = &to, .size = &size
#define LIST(from, to)                                                                             \
    .number = number, .local = local, .here = from, .remote = remote, .there = to, .size = size
#define NOTIFICATION(where, what) .notifies = true, .notified = where, .id = id, .value = what

CALL(write,
     (const gaspi_segment_id_t local, const gaspi_offset_t from, const gaspi_rank_t rank,
      const gaspi_segment_id_t remote, const gaspi_offset_t to, const gaspi_size_t size,
      const gaspi_queue_id_t queue, const gaspi_timeout_t timeout_ms),
     post(&REQUEST(ONE(from, to))))

CALL(read,
     (const gaspi_segment_id_t local, const gaspi_offset_t to, const gaspi_rank_t rank,
      const gaspi_segment_id_t remote, const gaspi_offset_t from, const gaspi_size_t size,
      const gaspi_queue_id_t queue, const gaspi_timeout_t timeout_ms),
     post(&REQUEST(.read = true, ONE(to, from))))

CALL(write_list,
     (const gaspi_number_t number, gaspi_segment_id_t *const local, gaspi_offset_t *const from,
      const gaspi_rank_t rank, gaspi_segment_id_t *const remote, gaspi_offset_t *const to,
      gaspi_size_t *const size, const gaspi_queue_id_t queue, const gaspi_timeout_t timeout_ms),
     post(&REQUEST(LIST(from, to))))

CALL(read_list,
     (const gaspi_number_t number, gaspi_segment_id_t *const local, gaspi_offset_t *const to,
      const gaspi_rank_t rank, gaspi_segment_id_t *const remote, gaspi_offset_t *const from,
      gaspi_size_t *const size, const gaspi_queue_id_t queue, const gaspi_timeout_t timeout_ms),
     post(&REQUEST(.read = true, LIST(to, from))))

CALL(notify,
     (const gaspi_segment_id_t remote, const gaspi_rank_t rank, const gaspi_notification_id_t id,
      const gaspi_notification_t value, const gaspi_queue_id_t queue,
      const gaspi_timeout_t timeout_ms),
     post(&REQUEST(.alone = true, NOTIFICATION(remote, value))))

CALL(write_notify,
     (const gaspi_segment_id_t local, const gaspi_offset_t from, const gaspi_rank_t rank,
      const gaspi_segment_id_t remote, const gaspi_offset_t to, const gaspi_size_t size,
      const gaspi_notification_id_t id, const gaspi_notification_t value,
      const gaspi_queue_id_t queue, const gaspi_timeout_t timeout_ms),
     post(&REQUEST(ONE(from, to), NOTIFICATION(remote, value))))

CALL(write_list_notify,
     (const gaspi_number_t number, gaspi_segment_id_t *const local, gaspi_offset_t *const from,
      const gaspi_rank_t rank, gaspi_segment_id_t *const remote, gaspi_offset_t *const to,
      gaspi_size_t *const size, const gaspi_segment_id_t notified, const gaspi_notification_id_t id,
      const gaspi_notification_t value, const gaspi_queue_id_t queue,
      const gaspi_timeout_t timeout_ms),
     post(&REQUEST(LIST(from, to), NOTIFICATION(notified, value))))

CALL(read_notify,
     (const gaspi_segment_id_t local, const gaspi_offset_t to, const gaspi_rank_t rank,
      const gaspi_segment_id_t remote, const gaspi_offset_t from, const gaspi_size_t size,
      const gaspi_notification_id_t id, const gaspi_queue_id_t queue,
      const gaspi_timeout_t timeout_ms),
     post(&REQUEST(.read = true, ONE(to, from), NOTIFICATION(local, 1))))

CALL(read_list_notify,
     (const gaspi_number_t number, gaspi_segment_id_t *const local, gaspi_offset_t *const to,
      const gaspi_rank_t rank, gaspi_segment_id_t *const remote, gaspi_offset_t *const from,
      gaspi_size_t *const size, const gaspi_segment_id_t notified, const gaspi_notification_id_t id,
      const gaspi_queue_id_t queue, const gaspi_timeout_t timeout_ms),
     post(&REQUEST(.read = true, LIST(to, from), NOTIFICATION(notified, 1))))

/* GPI-2 1.3 has names of its own for GPUs. */
extern __typeof__(gaspi_gpu_write) gaspi_gpu_write __attribute__((alias("pgaspi_write")));
extern __typeof__(gaspi_gpu_write_notify) gaspi_gpu_write_notify
    __attribute__((alias("pgaspi_write_notify")));
