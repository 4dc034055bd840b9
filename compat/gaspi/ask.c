/* compat/gaspi/ask.c - tells programs numbers: limits, ranks, time, segments. */
#include "internal.h"

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
/* At any time. A float of milliseconds would not tell those since the machine's start apart. */
static double began;
static __attribute__((constructor)) void begin(void)
{
    began = weftgaspi_now();
}
SAY(time_get, gaspi_time_t, (weftgaspi_now() - began) * 1e3, (void)0)
SAY(time_ticks, gaspi_cycles_t, weftgaspi_now() * 1e9, (void)0)
SAY(version, float, 17.1f, (void)0)
SAY(initialized, gaspi_number_t, weftgaspi.job != NULL, (void)0)

/* ---- segments -------------------------------------------------------------------------------- */

static gaspi_number_t segments_there(void)
{
    gaspi_number_t there = 0;

    for (gaspi_segment_id_t i = 0; i < WEFTGASPI_SEGMENTS; i++)
        there += weftgaspi_segment_of(i) != NULL;
    return there;
}

ASK_LOCKED(segment_num, gaspi_number_t, segments_there())

API(segment_list, (const gaspi_number_t number, gaspi_segment_id_t *const list))
{
    gaspi_number_t found = 0;

    TRY_OPEN(list);
    LOCKED;
    NEED(number <= segments_there(), GASPI_ERR_INV_NUM);
    for (gaspi_segment_id_t i = 0; i < WEFTGASPI_SEGMENTS && found < number; i++)
        if (weftgaspi_segment_of(i) != NULL)
            list[found++] = i;
    return GASPI_SUCCESS;
}

ASK_OF(segment_ptr, TRY_SEGMENT, gaspi_segment_id_t, gaspi_pointer_t, of->data)

API(segment_avail_local, (gaspi_segment_id_t *const segment))
{
    TRY_OPEN(segment);
    LOCKED;
    for (gaspi_number_t i = 0; i < weftgaspi.config.segment_max; i++)
        if (weftgaspi_segment_of((gaspi_segment_id_t)i) == NULL) {
            *segment = (gaspi_segment_id_t)i;
            return GASPI_SUCCESS;
        }
    return GASPI_ERR_MANY_SEG;
}

API(segment_size,
    (const gaspi_segment_id_t segment, const gaspi_rank_t rank, gaspi_size_t *const size))
{
    struct weftgaspi_place place;

    TRY_OPEN(size);
    LOCKED;
    TRY(weftgaspi_place_of(rank, segment, &place));
    *size = place.bytes;
    return GASPI_SUCCESS;
}
