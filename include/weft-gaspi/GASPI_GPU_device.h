/*
 * GASPI_GPU_device.h - procedures of GASPI in kernels of weft, on GPUs and on the CPU device.
 *
 * All threads of a block make a call together, with the same arguments, as those of weft/device.h.
 * Each block has its own queue, gpu_gaspi_queue(self); another is refused (INV_QUEUE). Return codes
 * are GASPI's, the same for all threads; no code is an error of the job. Blocking and visibility
 * are as on the host (gaspi_functions.def). The program leaves the local bytes of a write alone
 * until gpu_gaspi_wait. A notification comes after all that its own block wrote to that rank
 * before. Any block sets and awaits one; one block resets it.
 */
#ifndef GASPI_GPU_DEVICE_H
#define GASPI_GPU_DEVICE_H

#include <GASPI_GPU_parts.h>

/* ---- who and where --------------------------------------------------------------------------- */

/* The first call of a kernel. table: of gaspi_gpu_table. */
GPU_GASPI_FN void gpu_gaspi_begin(weft_self *self, void *memory)
{
    struct gpu_gaspi_table *const table = (struct gpu_gaspi_table *)memory;
    const size_t block = (size_t)gpu_gaspi_block(self), ranks = (size_t)table->ranks;

    gpu_gaspi_set_table(table);
    weft_for (i, ranks * 2)
        table->newest[block * ranks * 2 + i].sequence = 0;
    weft_for (i, GPU_GASPI_VALUES)
        table->outboxes[block].op[i].sequence = 0;
    weft_sync(self);
}

/* The block's queue. */
GPU_GASPI_FN gaspi_queue_id_t gpu_gaspi_queue(weft_self *self)
{
    return (gaspi_queue_id_t)gpu_gaspi_block(self);
}

GPU_GASPI_FN gaspi_return_t gpu_gaspi_proc_rank(weft_self *self, gaspi_rank_t *rank)
{
    (void)self;
    *rank = (gaspi_rank_t)gpu_gaspi_table_of()->rank;
    return GASPI_SUCCESS;
}

GPU_GASPI_FN gaspi_return_t gpu_gaspi_proc_num(weft_self *self, gaspi_rank_t *number)
{
    (void)self;
    *number = (gaspi_rank_t)gpu_gaspi_table_of()->ranks;
    return GASPI_SUCCESS;
}

/* Of this process's segment. */
GPU_GASPI_FN gaspi_return_t gpu_gaspi_segment_ptr(weft_self *self, gaspi_segment_id_t segment,
                                                  gaspi_pointer_t *pointer)
{
    const struct gpu_gaspi_table *table = gpu_gaspi_table_of();

    (void)self;
    if (segment >= table->segments || table->data[segment] == NULL)
        return GASPI_ERR_INV_SEG;
    *pointer = table->data[segment];
    return GASPI_SUCCESS;
}

/* ---- writes, reads, notifications ------------------------------------------------------------ */

/* A transfer between this process's segment and one of the rank, checked; begun if `begin`. */
GPU_GASPI_FN gaspi_return_t gpu_gaspi_transfer(weft_self *self, int read, int begin,
                                               gaspi_segment_id_t local, gaspi_offset_t here,
                                               gaspi_rank_t rank, gaspi_segment_id_t remote,
                                               gaspi_offset_t there, gaspi_size_t size,
                                               gaspi_queue_id_t queue)
{
    const struct gpu_gaspi_table *table = gpu_gaspi_table_of();
    struct gpu_gaspi_place own = {0, 0, 0, 0}, place = {0, 0, 0, 0};
    gaspi_return_t code = gpu_gaspi_find((gaspi_rank_t)table->rank, local, &own);

    if (queue != gpu_gaspi_queue(self))
        return GASPI_ERR_INV_QUEUE;
    if (size > 1u << 30)
        return GASPI_ERR_INV_COMMSIZE;
    if (code == GASPI_SUCCESS)
        code = gpu_gaspi_find(rank, remote, &place);
    if (code != GASPI_SUCCESS)
        return code;
    if (!gpu_gaspi_inside(own.bytes, here, size))
        return GASPI_ERR_INV_LOC_OFF;
    if (!gpu_gaspi_inside(place.bytes, there, size))
        return GASPI_ERR_INV_REM_OFF;
    if (!begin || size == 0)
        return GASPI_SUCCESS;
    unsigned char *const memory = table->data[local] + here;
    const weft_op op =
        read ? weft_get_begin(self, place.data, 0, place.offset + there, memory, size)
             : weft_put_begin(self, place.data, 0, place.offset + there, memory, size);
    gpu_gaspi_remember(self, rank, read, op);
    return GASPI_SUCCESS;
}

GPU_GASPI_FN gaspi_return_t gpu_gaspi_write(weft_self *self, gaspi_segment_id_t local,
                                            gaspi_offset_t from, gaspi_rank_t rank,
                                            gaspi_segment_id_t remote, gaspi_offset_t to,
                                            gaspi_size_t size, gaspi_queue_id_t queue,
                                            gaspi_timeout_t timeout_ms)
{
    (void)timeout_ms;
    return gpu_gaspi_transfer(self, 0, 1, local, from, rank, remote, to, size, queue);
}

GPU_GASPI_FN gaspi_return_t gpu_gaspi_read(weft_self *self, gaspi_segment_id_t local,
                                           gaspi_offset_t to, gaspi_rank_t rank,
                                           gaspi_segment_id_t remote, gaspi_offset_t from,
                                           gaspi_size_t size, gaspi_queue_id_t queue,
                                           gaspi_timeout_t timeout_ms)
{
    (void)timeout_ms;
    return gpu_gaspi_transfer(self, 1, 1, local, to, rank, remote, from, size, queue);
}

/* What a notification must be. */
GPU_GASPI_FN gaspi_return_t gpu_gaspi_check_note(weft_self *self, gaspi_segment_id_t remote,
                                                 gaspi_rank_t rank, gaspi_notification_id_t id,
                                                 gaspi_notification_t value, gaspi_queue_id_t queue,
                                                 struct gpu_gaspi_place *place)
{
    if (queue != gpu_gaspi_queue(self))
        return GASPI_ERR_INV_QUEUE;
    if (id >= gpu_gaspi_table_of()->notification_num)
        return GASPI_ERR_INV_NOTIF_ID;
    if (value == 0)
        return GASPI_ERR_INV_NOTIF_VAL;
    return gpu_gaspi_find(rank, remote, place);
}

GPU_GASPI_FN gaspi_return_t gpu_gaspi_notify(weft_self *self, gaspi_segment_id_t remote,
                                             gaspi_rank_t rank, gaspi_notification_id_t id,
                                             gaspi_notification_t value, gaspi_queue_id_t queue,
                                             gaspi_timeout_t timeout_ms)
{
    const struct gpu_gaspi_table *table = gpu_gaspi_table_of();
    struct gpu_gaspi_outbox *const box = &table->outboxes[gpu_gaspi_block(self)];
    struct gpu_gaspi_place place;
    const gaspi_return_t code = gpu_gaspi_check_note(self, remote, rank, id, value, queue, &place);

    (void)timeout_ms;
    if (code != GASPI_SUCCESS)
        return code;
    const uint32_t slot = (uint32_t)(box->sent % GPU_GASPI_VALUES);
    if (box->op[slot].sequence != 0)
        weft_op_wait(self, box->op[slot], WEFT_LOCAL);
    weft_sync(self);
    if (weft_thread(self) == 0) {
        box->value[slot] = value;
        box->sent++;
    }
    weft_sync(self);
    weft_fence(self);
    const weft_op op =
        weft_put_begin(self, place.head, 0, (size_t)id * 4, &box->value[slot], sizeof(value));
    weft_notify_relaxed(self, WEFT_COMM_HOST, rank, table->tag); /* it looks at the word itself */
    if (weft_thread(self) == 0)
        box->op[slot] = op;
    gpu_gaspi_remember(self, rank, 0, op);
    return GASPI_SUCCESS;
}

GPU_GASPI_FN gaspi_return_t gpu_gaspi_write_notify(
    weft_self *self, gaspi_segment_id_t local, gaspi_offset_t from, gaspi_rank_t rank,
    gaspi_segment_id_t remote, gaspi_offset_t to, gaspi_size_t size, gaspi_notification_id_t id,
    gaspi_notification_t value, gaspi_queue_id_t queue, gaspi_timeout_t timeout_ms)
{
    struct gpu_gaspi_place place;
    gaspi_return_t code = gpu_gaspi_check_note(self, remote, rank, id, value, queue, &place);

    if (code == GASPI_SUCCESS)
        code = gpu_gaspi_write(self, local, from, rank, remote, to, size, queue, timeout_ms);
    if (code == GASPI_SUCCESS)
        code = gpu_gaspi_notify(self, remote, rank, id, value, queue, timeout_ms);
    return code;
}

/* Lists: the same for all threads, of GPU_GASPI_LIST elements at most (INV_NUM). */
GPU_GASPI_FN gaspi_return_t gpu_gaspi_write_list_notify(
    weft_self *self, gaspi_number_t number, const gaspi_segment_id_t *local,
    const gaspi_offset_t *from, gaspi_rank_t rank, const gaspi_segment_id_t *remote,
    const gaspi_offset_t *to, const gaspi_size_t *size, gaspi_segment_id_t notified,
    gaspi_notification_id_t id, gaspi_notification_t value, gaspi_queue_id_t queue,
    gaspi_timeout_t timeout_ms)
{
    struct gpu_gaspi_place place;
    gaspi_return_t code = gpu_gaspi_check_note(self, notified, rank, id, value, queue, &place);

    if (code == GASPI_SUCCESS && (number == 0 || number > GPU_GASPI_LIST))
        code = GASPI_ERR_INV_NUM;
    for (int begin = 0; begin < 2; begin++) /* nothing of a list with a bad member */
        for (gaspi_number_t i = 0; code == GASPI_SUCCESS && i < number; i++)
            code = gpu_gaspi_transfer(self, 0, begin, local[i], from[i], rank, remote[i], to[i],
                                      size[i], queue);
    return code == GASPI_SUCCESS
               ? gpu_gaspi_notify(self, notified, rank, id, value, queue, timeout_ms)
               : code;
}

/*
 * Waits until all that the block posted is complete here: sources may change, and what it read is
 * there.
 */
GPU_GASPI_FN gaspi_return_t gpu_gaspi_wait(weft_self *self, gaspi_queue_id_t queue,
                                           gaspi_timeout_t timeout_ms)
{
    const struct gpu_gaspi_table *table = gpu_gaspi_table_of();
    const size_t places = (size_t)table->ranks * 2;
    weft_op *const newest = &table->newest[(size_t)gpu_gaspi_block(self) * places];
    const uint64_t until = gpu_gaspi_until(timeout_ms);

    if (queue != gpu_gaspi_queue(self))
        return GASPI_ERR_INV_QUEUE;
    for (size_t i = 0; i < places; i++) {
        const weft_op op = newest[i];
        if (op.sequence == 0)
            continue;
        while (!weft_op_test(self, op, WEFT_LOCAL))
            if (gpu_gaspi_late(self, until))
                return GASPI_TIMEOUT;
        weft_sync(self);
        if (weft_thread(self) == 0)
            newest[i].sequence = 0;
    }
    weft_sync(self);
    return GASPI_SUCCESS;
}

/* One look by all threads: the first that is set of `number` words, or UINT32_MAX. */
GPU_GASPI_FN uint32_t gpu_gaspi_scan(weft_self *self, const uint32_t *words, uint32_t number)
{
    WEFT_SHARED(uint32_t, first, 1);

    weft_sync(self);
    if (weft_thread(self) == 0)
        *first = UINT32_MAX;
    weft_sync(self);
    weft_for (i, number)
        if (gpu_gaspi_look(&words[i]) != 0)
            gpu_gaspi_least(first, (uint32_t)i);
    weft_sync(self);
    return *first;
}

/* *found: the same for all threads. */
GPU_GASPI_FN gaspi_return_t gpu_gaspi_notify_waitsome(weft_self *self, gaspi_segment_id_t local,
                                                      gaspi_notification_id_t first,
                                                      gaspi_number_t number,
                                                      gaspi_notification_id_t *found,
                                                      gaspi_timeout_t timeout_ms)
{
    const struct gpu_gaspi_table *table = gpu_gaspi_table_of();
    const uint64_t until = gpu_gaspi_until(timeout_ms);

    if (local >= table->segments || table->notifications[local] == NULL)
        return GASPI_ERR_INV_SEG;
    if (number == 0)
        return GASPI_SUCCESS;
    if (first >= table->notification_num)
        return GASPI_ERR_INV_NOTIF_ID;
    if (number > table->notification_num - first)
        return GASPI_ERR_INV_NUM;
    const uint32_t *const words = table->notifications[local] + first;
    for (int rounds = 0;; rounds++) {
        const uint32_t place = gpu_gaspi_scan(self, words, number);
        if (place != UINT32_MAX) {
            (void)gpu_gaspi_acquire(&words[place]); /* what came before it is seen */
            *found = first + place;
            return GASPI_SUCCESS;
        }
        if (gpu_gaspi_late(self, until))
            return GASPI_TIMEOUT;
        if (number == 1 && until == UINT64_MAX && rounds >= GPU_GASPI_ROUNDS)
            weft_wait_until_u32(self, words, WEFT_NE, 0); /* it says how long it waits */
        weft_test(self, table->tag, 1); /* nobody counts it here: lets others run */
    }
}

GPU_GASPI_FN gaspi_return_t gpu_gaspi_notify_reset(weft_self *self, gaspi_segment_id_t local,
                                                   gaspi_notification_id_t id,
                                                   gaspi_notification_t *value)
{
    const struct gpu_gaspi_table *table = gpu_gaspi_table_of();
    uint32_t was = 0;

    if (local >= table->segments || table->notifications[local] == NULL)
        return GASPI_ERR_INV_SEG;
    if (id >= table->notification_num)
        return GASPI_ERR_INV_NOTIF_ID;
    if (weft_thread(self) == 0)
        was = gpu_gaspi_exchange(&table->notifications[local][id]);
    was = gpu_gaspi_tell(self, was);
    if (value != NULL)
        *value = was;
    return GASPI_SUCCESS;
}

/* ---- atomic operations ----------------------------------------------------------------------- */

GPU_GASPI_FN gaspi_return_t gpu_gaspi_check_word(gaspi_segment_id_t segment, gaspi_offset_t offset,
                                                 gaspi_rank_t rank, struct gpu_gaspi_place *place)
{
    const gaspi_return_t code = gpu_gaspi_find(rank, segment, place);

    if (code != GASPI_SUCCESS)
        return code;
    if (offset % 8 != 0)
        return GASPI_ERR_UNALIGN_OFF;
    return gpu_gaspi_inside(place->bytes, offset, 8) ? GASPI_SUCCESS : GASPI_ERR_INV_REM_OFF;
}

GPU_GASPI_FN gaspi_return_t gpu_gaspi_atomic_fetch_add(weft_self *self, gaspi_segment_id_t segment,
                                                       gaspi_offset_t offset, gaspi_rank_t rank,
                                                       gaspi_atomic_value_t value,
                                                       gaspi_atomic_value_t *old,
                                                       gaspi_timeout_t timeout_ms)
{
    struct gpu_gaspi_place place;
    const gaspi_return_t code = gpu_gaspi_check_word(segment, offset, rank, &place);

    (void)timeout_ms;
    if (code == GASPI_SUCCESS)
        *old = weft_fetch_add(self, place.data, 0, place.offset + offset, value);
    return code;
}

GPU_GASPI_FN gaspi_return_t gpu_gaspi_atomic_compare_swap(
    weft_self *self, gaspi_segment_id_t segment, gaspi_offset_t offset, gaspi_rank_t rank,
    gaspi_atomic_value_t expected, gaspi_atomic_value_t desired, gaspi_atomic_value_t *old,
    gaspi_timeout_t timeout_ms)
{
    struct gpu_gaspi_place place;
    const gaspi_return_t code = gpu_gaspi_check_word(segment, offset, rank, &place);

    (void)timeout_ms;
    if (code == GASPI_SUCCESS)
        *old = weft_compare_swap(self, place.data, 0, place.offset + offset, expected, desired);
    return code;
}

#endif
