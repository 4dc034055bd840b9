/* gda/softnic/engine.c - see the header. */
#include "gda/softnic/engine.h"

#include "base/task.h"

#include <stdlib.h>
#include <string.h>

/* ---- the queue's memory ---------------------------------------------------------------------- */

static bool fetch_bytes(const struct weft_softnic_queue *queue, void *to, const void *from,
                        size_t bytes)
{
    const struct weft_softnic_far *far = queue->nic->far;

    if (queue->wqe_far)
        return far->copy(far->context, to, from, bytes);
    weft_read_shared(to, from, bytes);
    return true;
}

static void write_cqe(const struct weft_softnic_queue *queue, uint32_t kind, uint32_t index,
                      uint32_t syndrome)
{
    const struct weft_softnic_far *far = queue->nic->far;
    const uint32_t last = weft_mlx5_cqe_last(index, kind), wrong = syndrome << 24;
    uint32_t *const word = (uint32_t *)(void *)queue->cqe;

    if (queue->cqe_far) { /* where it fails, the job has failed */
        if (syndrome == 0 ||
            far->copy(far->context, &word[WEFT_MLX5_CQE_SYNDROME / 4], &wrong, sizeof(wrong)))
            far->store(far->context, &word[WEFT_MLX5_CQE_LAST / 4], last);
        return;
    }
    if (syndrome != 0)
        weft_store_relaxed_u32(&word[WEFT_MLX5_CQE_SYNDROME / 4], wrong);
    weft_store_release_u32(&word[WEFT_MLX5_CQE_LAST / 4], last, ORDER_nic_cqe);
    weft_bell_ring(queue->nic->bell);
}

/* ---- fetching -------------------------------------------------------------------------------- */

/* Adds the queue's next request. syndrome: what is wrong with it, 0: nothing; else it fails before
 * it begins. */
static void take(struct weft_softnic_queue *queue, uint32_t syndrome)
{
    struct weft_softnic_work *work = &queue->works[queue->end++ % queue->slots];

    work->index = (uint32_t)queue->fetched & 0xffff;
    work->syndrome = syndrome;
    if (syndrome != 0)
        work->request = (struct weft_softnic_request){.complete = true};
    weft_store_relaxed_u32(&work->finished, syndrome != 0);
}

/* Fetches one request, of the `ready` slots that are there. Returns how many it takes; 0: it is
 * wrong, or the device failed, and the job with it. */
static uint32_t fetch_one(struct weft_softnic_queue *queue, uint32_t ready)
{
    struct weft_softnic_work *work = &queue->works[queue->end % queue->slots];
    unsigned char *bytes = (unsigned char *)work->bytes;
    uint32_t slots = 1, syndrome = WEFT_MLX5_LOCAL_OPERATION;

    for (uint32_t i = 0; i < slots; i++) {
        const uint64_t at = (queue->fetched + i) & (queue->slots - 1);
        if (!fetch_bytes(queue, bytes + i * WEFT_MLX5_SLOT, queue->wqe + at * WEFT_MLX5_SLOT,
                         WEFT_MLX5_SLOT))
            return 0;
        if (i == 0)
            slots = weft_softnic_slots(work->bytes[0]);
        if (slots > ready)
            slots = 0;
    }
    if (slots != 0)
        syndrome = weft_softnic_parse(work->bytes, queue->qpn, queue->fetched, &work->request);
    take(queue, syndrome);
    return syndrome == 0 ? slots : 0;
}

static bool fetch(struct weft_softnic_queue *queue)
{
    const uint64_t rung = weft_load_acquire_u64(queue->doorbell, ORDER_nic_rung);
    /* How far requests are there: as the doorbell record says, or, where a look at that would be a
     * copy, which acquires nothing, the doorbell alone. */
    const uint32_t next =
        0xffff &
        (queue->wqe_far ? weft_softnic_first(rung) >> 8
                        : weft_be32(weft_load_acquire_u32(&queue->record[1], ORDER_nic_fetch)));
    uint32_t ready = (next - (uint32_t)queue->fetched) & 0xffff;
    if (rung == queue->rung && ready == 0)
        return false;
    if (ready > queue->slots ||
        (rung != queue->rung && !weft_softnic_rung_right(queue->qpn, rung, next))) {
        take(queue, WEFT_MLX5_LOCAL_OPERATION);
        return true;
    }
    queue->rung = rung;
    while (ready > 0 && queue->end - queue->first < queue->slots) {
        const uint32_t slots = fetch_one(queue, ready);
        if (slots == 0)
            break;
        queue->fetched += slots;
        ready -= slots;
    }
    return true;
}

/* ---- executing ------------------------------------------------------------------------------- */

static bool begin_next(struct weft_softnic_queue *queue)
{
    bool did = false;

    while (queue->next != queue->end) {
        struct weft_softnic_work *work = &queue->works[queue->next % queue->slots];
        if (weft_load_relaxed_u32(&work->finished) == 0) {
            const uint32_t syndrome = weft_softnic_check(queue->nic->keys, &work->request);
            if (syndrome != 0)
                weft_softnic_finish(work, syndrome);
            else if (work->request.opcode == WEFT_MLX5_NOP)
                weft_softnic_finish(work, 0);
            else if (!queue->wire->begin(queue, work))
                break;
        }
        queue->next++;
        did = true;
        if (weft_load_acquire_u32(&work->finished, ORDER_answer_seen) != 0 && work->syndrome != 0) {
            queue->stopped = true; /* what is behind it is not executed */
            break;
        }
    }
    return did;
}

void weft_softnic_finish(struct weft_softnic_work *work, uint32_t syndrome)
{
    work->syndrome = syndrome;
    weft_store_release_u32(&work->finished, 1, ORDER_answer_post);
}

/* Writes completions of what is finished, in order. True: anything was. */
static bool complete(struct weft_softnic_queue *queue)
{
    bool did = false;

    while (queue->first != queue->next && queue->broken == 0) {
        const struct weft_softnic_work *work = &queue->works[queue->first % queue->slots];
        if (weft_load_acquire_u32(&work->finished, ORDER_answer_seen) == 0)
            break;
        if (work->syndrome != 0) {
            queue->broken = work->syndrome;
            queue->failed = work->index;
            write_cqe(queue, WEFT_MLX5_CQE_ERROR, work->index, work->syndrome);
        } else if (work->request.complete) {
            write_cqe(queue, WEFT_MLX5_CQE_REQUEST, work->index, 0);
        }
        queue->first++;
        did = true;
    }
    return did;
}

bool weft_softnic_round(struct weft_softnic_queue *queue)
{
    bool did = false;

    if (queue->broken != 0)
        return false;
    if (!queue->stopped && queue->end - queue->first < queue->slots)
        did = fetch(queue);
    if (!queue->stopped)
        did |= begin_next(queue);
    if (queue->first != queue->next)
        did |= queue->wire->proceed(queue);
    did |= complete(queue);
    if (did && queue->first == queue->end)
        __atomic_store_n(&queue->quiet_at, weft_mlx5_doorbell(queue->fetched, queue->qpn),
                         __ATOMIC_RELEASE);
    return did;
}

/* ---- opening --------------------------------------------------------------------------------- */

bool weft_softnic_open(struct weft_softnic_queue *queue, uint64_t start)
{
    queue->works = calloc(queue->slots, sizeof(*queue->works));
    queue->fetched = start;
    queue->rung = queue->quiet_at = *queue->doorbell;
    return queue->works != NULL;
}

void weft_softnic_close(struct weft_softnic_queue *queue)
{
    free(queue->works);
    queue->works = NULL;
}
