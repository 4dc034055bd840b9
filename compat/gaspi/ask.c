/* compat/gaspi/ask.c - numbers that programs ask for: limits, ranks, time, segments. */
#include "internal.h"

#include <stdint.h>

/* ASK(name, type, value): a procedure that says one number, once the library is open. */
#define ASK(name, type, number) SAY(name, type, number, TRY_OPEN())
#define SAY(name, type, number, first)                                                             \
    API(name, (type *const answer))                                                                \
    {                                                                                              \
        first;                                                                                     \
        TRY_PLACE(answer);                                                                         \
        *answer = (type)(number);                                                                  \
        return GASPI_SUCCESS;                                                                      \
    }
#define CONFIG weftgaspi.config
#define NODE   weft_numbers_of(weftgaspi.job)

ASK(proc_rank, gaspi_rank_t, weftgaspi.rank)
ASK(proc_num, gaspi_rank_t, weftgaspi.ranks)
ASK(proc_local_rank, gaspi_rank_t, NODE->node_process)
ASK(proc_local_num, gaspi_rank_t, NODE->node_processes)
ASK(group_max, gaspi_number_t, CONFIG.group_max)
ASK(segment_max, gaspi_number_t, CONFIG.segment_max)
ASK(queue_size_max, gaspi_number_t, CONFIG.queue_size_max)
ASK(queue_max, gaspi_number_t, WEFTGASPI_QUEUES)
ASK(transfer_size_min, gaspi_size_t, 0)
ASK(transfer_size_max, gaspi_size_t, CONFIG.transfer_size_max)
ASK(notification_num, gaspi_number_t, CONFIG.notification_num)
ASK(passive_transfer_size_min, gaspi_size_t, 1)
ASK(passive_transfer_size_max, gaspi_size_t, CONFIG.passive_transfer_size_max)
ASK(allreduce_buf_size, gaspi_size_t, CONFIG.allreduce_buf_size)
ASK(allreduce_elem_max, gaspi_number_t, CONFIG.allreduce_elem_max)
ASK(rw_list_elem_max, gaspi_number_t, CONFIG.rw_list_elem_max)
ASK(atomic_max, gaspi_atomic_value_t, UINT64_MAX)
ASK(network_type, gaspi_network_t, CONFIG.network)
ASK(build_infrastructure, gaspi_number_t, CONFIG.build_infrastructure)
SAY(time_get, gaspi_time_t, weftgaspi_now() * 1e3, (void)0) /* at any time */
SAY(time_ticks, gaspi_cycles_t, weftgaspi_now() * 1e9, (void)0)
WEFTGASPI_ASK_NUMBER(segment_num, weftgaspi_segments_count())

/* ---- segments -------------------------------------------------------------------------------- */

API(segment_list, (const gaspi_number_t number, gaspi_segment_id_t *const list))
{
    gaspi_number_t found = 0;

    TRY_OPEN();
    TRY_PLACE(list);
    weftgaspi_lock();
    if (number > weftgaspi_segments_count())
        return weftgaspi_unlock(GASPI_ERR_INV_NUM);
    for (gaspi_segment_id_t i = 0; i < WEFTGASPI_SEGMENTS && found < number; i++)
        if (weftgaspi_segment_of(i) != NULL)
            list[found++] = i;
    return weftgaspi_unlock(GASPI_SUCCESS);
}

API(segment_ptr, (const gaspi_segment_id_t segment, gaspi_pointer_t *const pointer))
{
    TRY_OPEN();
    TRY_PLACE(pointer);
    weftgaspi_lock();
    const struct weftgaspi_segment *s = weftgaspi_segment_of(segment);
    if (s != NULL)
        *pointer = s->data;
    return weftgaspi_unlock(s != NULL ? GASPI_SUCCESS : GASPI_ERR_INV_SEG);
}

API(segment_avail_local, (gaspi_segment_id_t *const segment))
{
    TRY_OPEN();
    TRY_PLACE(segment);
    weftgaspi_lock();
    for (gaspi_number_t i = 0; i < weftgaspi.config.segment_max; i++)
        if (weftgaspi_segment_of((gaspi_segment_id_t)i) == NULL) {
            *segment = (gaspi_segment_id_t)i;
            return weftgaspi_unlock(GASPI_SUCCESS);
        }
    return weftgaspi_unlock(GASPI_ERR_MANY_SEG);
}

API(segment_size,
    (const gaspi_segment_id_t segment, const gaspi_rank_t rank, gaspi_size_t *const size))
{
    struct weftgaspi_place place;

    TRY_OPEN();
    TRY_PLACE(size);
    weftgaspi_lock();
    const gaspi_return_t code = weftgaspi_place_of(rank, segment, &place);
    if (code == GASPI_SUCCESS)
        *size = place.bytes;
    return weftgaspi_unlock(code);
}
