/*
 * compat/gaspi/passive.c - passive communication, by messages; and atomic operations.
 *
 * A send that has met its limit is under way until the same call is made again; a receive that has
 * is taken back.
 */
#include "internal.h"

#define NEED_SIZE(size)                                                                            \
    NEED((size) != 0 && (size) <= weftgaspi.config.passive_transfer_size_max,                      \
         GASPI_ERR_INV_COMMSIZE, "%lu bytes, at most %u", size,                                    \
         weftgaspi.config.passive_transfer_size_max)

static struct pending {
    bool used, waiting; /* waiting: a thread is in the call */
    gaspi_segment_id_t segment;
    gaspi_offset_t offset;
    gaspi_rank_t rank;
    gaspi_size_t size;
    weft_message_op op;
} sends[WEFTGASPI_PASSIVE_QUEUE];
static unsigned sends_used;

/* Forgets the sends. Messages that nobody receives end with the job. */
void weftgaspi_passive_close(void)
{
    memset(sends, 0, sizeof(sends));
    sends_used = 0;
}

/* Finds the same call that has met its limit before, else a free place; NULL: there is none. */
static struct pending *place_for(const struct pending *call)
{
    struct pending *place = NULL;
    unsigned seen = 0; /* of those in use */

    for (gaspi_number_t i = 0;
         i < weftgaspi.config.passive_queue_size_max && (place == NULL || seen < sends_used); i++) {
        struct pending *const p = &sends[i];
        seen += p->used;
        if (p->used && !p->waiting && p->segment == call->segment && p->offset == call->offset &&
            p->rank == call->rank && p->size == call->size)
            return p;
        if (!p->used && place == NULL)
            place = p;
    }
    return place;
}

/* Sends a passive message; the lock is given up while it waits. */
API(passive_send,
    (const gaspi_segment_id_t local, const gaspi_offset_t from, const gaspi_rank_t rank,
     const gaspi_size_t size, const gaspi_timeout_t timeout_ms))
{
    const struct pending call = {.segment = local, .offset = from, .rank = rank, .size = size};
    const double until = weftgaspi_until(timeout_ms);
    void *address;

    TRY_OPEN();
    NEED_SIZE(size);
    NEED_RANK(rank);
    LOCKED;
    TRY(weftgaspi_check_local(local, from, size, &address));
    struct pending *const p = place_for(&call);
    if (p == NULL)
        return GASPI_QUEUE_FULL;
    if (!p->used) {
        *p = call;
        TRY(weftgaspi_result(weft_host_send_begin(weftgaspi.job, weftgaspi.talk, rank,
                                                  WEFTGASPI_TAG_PASSIVE, address, size, &p->op),
                             rank));
        p->used = true;
        sends_used++;
        weftgaspi_count(WEFTGASPI_PASSIVES, 0, 1);
    }
    p->waiting = true;
    pthread_mutex_unlock(&weftgaspi.lock);
    const weft_status status =
        weft_host_message_wait_for(weftgaspi.job, &p->op, weftgaspi_left(until), NULL);
    pthread_mutex_lock(&weftgaspi.lock);
    p->waiting = false;
    p->used = status == WEFT_ERR_TIMEOUT;
    sends_used -= !p->used;
    return weftgaspi_result(status, rank);
}

API(passive_receive,
    (const gaspi_segment_id_t local, const gaspi_offset_t to, gaspi_rank_t *const rank,
     const gaspi_size_t size, const gaspi_timeout_t timeout_ms))
{
    const double until = weftgaspi_until(timeout_ms);
    weft_message_op op = WEFT_MESSAGE_NONE;
    weft_message message = {0};
    int cancelled = 0;
    void *address;

    TRY_OPEN(rank);
    NEED_SIZE(size);
    {
        LOCKED;
        TRY(weftgaspi_check_local(local, to, size, &address));
    }
    weft_status status = weft_host_receive_begin(weftgaspi.job, weftgaspi.talk, WEFT_ANY,
                                                 WEFTGASPI_TAG_PASSIVE, address, size, &op);
    if (status == WEFT_OK)
        status = weft_host_message_wait_for(weftgaspi.job, &op, weftgaspi_left(until), &message);
    if (status == WEFT_ERR_TIMEOUT) {
        status = weft_host_message_cancel(weftgaspi.job, &op, &cancelled);
        if (status == WEFT_OK && cancelled)
            return GASPI_TIMEOUT;
        if (status == WEFT_OK) /* it has come meanwhile */
            status = weft_host_message_wait(weftgaspi.job, &op, &message);
    }
    NEED(status != WEFT_ERR_BOUNDS, GASPI_ERR_INV_SIZE, "the message has more than %lu bytes",
         size);
    TRY_WEFT(status);
    *rank = (gaspi_rank_t)message.from;
    return GASPI_SUCCESS;
}

/* ---- atomic operations: they return when they are done, whatever the limit ------------------- */

/* Does an atomic operation. adds: fetch_add of `first`; else compare_swap: `first` becomes
 * `second`. */
static gaspi_return_t update(gaspi_rank_t rank, gaspi_segment_id_t segment, gaspi_offset_t offset,
                             bool adds, uint64_t first, uint64_t second, gaspi_atomic_value_t *old)
{
    struct weftgaspi_place place;
    uint64_t was;

    NEED(old != NULL, GASPI_ERR_NULLPTR);
    {
        LOCKED;
        TRY(weftgaspi_place_of(rank, segment, &place));
    }
    NEED(offset % 8 == 0, GASPI_ERR_UNALIGN_OFF, "offset %lu", offset);
    NEED(offset <= place.bytes && place.bytes - offset >= 8, GASPI_ERR_INV_REM_OFF,
         "8 bytes at %lu of segment %u of rank %u, which has %zu", offset, segment, rank,
         place.bytes);
    const size_t at = place.data_offset + offset;
    const weft_status status =
        adds ? weft_host_fetch_add(weftgaspi.job, place.data, 0, at, first, &was)
             : weft_host_compare_swap(weftgaspi.job, place.data, 0, at, first, second, &was);
    weftgaspi_count(WEFTGASPI_ATOMICS, 0, status == WEFT_OK);
    /* The memory that the segment is bound to is not aligned itself. */
    NEED(status != WEFT_ERR_ARGUMENT, GASPI_ERR_UNALIGN_OFF, "its memory");
    TRY(weftgaspi_result(status, rank));
    *old = was;
    return GASPI_SUCCESS;
}

CALL(atomic_fetch_add,
     (const gaspi_segment_id_t segment, const gaspi_offset_t offset, const gaspi_rank_t rank,
      const gaspi_atomic_value_t value, gaspi_atomic_value_t *const old,
      const gaspi_timeout_t timeout_ms),
     update(rank, segment, offset, true, value, 0, old))

CALL(atomic_compare_swap,
     (const gaspi_segment_id_t segment, const gaspi_offset_t offset, const gaspi_rank_t rank,
      const gaspi_atomic_value_t expected, const gaspi_atomic_value_t desired,
      gaspi_atomic_value_t *const old, const gaspi_timeout_t timeout_ms),
     update(rank, segment, offset, false, expected, desired, old))
