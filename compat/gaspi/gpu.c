/* compat/gaspi/gpu.c - what kernels know of segments, and the procedures for GPUs of GPI-2 1.3. */
#include "internal.h"

#include <GASPI_GPU.h>
#include <GASPI_GPU_table.h>

weft_job *gaspi_gpu_job(void)
{
    return weftgaspi.job;
}

/* Takes the next `bytes` of the memory, and rounds up behind them. */
static void *part(unsigned char *memory, size_t *used, size_t bytes)
{
    const size_t at = *used;

    *used = (at + bytes + 63) / 64 * 64;
    return (void *)((uintptr_t)memory + at);
}

/* Lays out the table's parts in one piece of memory; returns their bytes together. */
static size_t lay_out(struct gpu_gaspi_table *t, unsigned char *memory)
{
    const size_t ranks = (size_t)t->ranks, blocks = (size_t)t->blocks;
    const size_t segments = (size_t)t->segments;
    size_t used = (sizeof(*t) + 63) / 64 * 64;

    t->places = part(memory, &used, ranks * segments * sizeof(*t->places));
    t->data = part(memory, &used, segments * sizeof(*t->data));
    t->notifications = part(memory, &used, segments * sizeof(*t->notifications));
    t->newest = part(memory, &used, blocks * ranks * 2 * sizeof(*t->newest));
    t->outboxes = part(memory, &used, blocks * sizeof(*t->outboxes));
    return used;
}

/* Fills in the parts of a host copy of the table. The caller holds the lock. */
static void fill(const struct gpu_gaspi_table *t)
{
    struct weftgaspi_place place;

    weftgaspi_call = NULL; /* many segments are nowhere */
    for (int segment = 0; segment < t->segments; segment++) {
        const struct weftgaspi_segment *s = weftgaspi_segment_of((gaspi_segment_id_t)segment);
        if (s != NULL) {
            t->data[segment] = s->data;
            t->notifications[segment] = (uint32_t *)(void *)s->head;
        }
        for (int rank = 0; rank < t->ranks; rank++)
            if (weftgaspi_place_of((gaspi_rank_t)rank, (gaspi_segment_id_t)segment, &place) ==
                GASPI_SUCCESS)
                t->places[rank * t->segments + segment] =
                    (struct gpu_gaspi_place){.bytes = place.bytes,
                                             .offset = place.data_offset,
                                             .head = place.head,
                                             .data = place.data};
    }
}

gaspi_return_t gaspi_gpu_table(gaspi_pointer_t *const table)
{
    TRY_OPEN(table);
    LOCKED;
    struct gpu_gaspi_table t = {.rank = weftgaspi.rank,
                                .ranks = weftgaspi.ranks,
                                .segments = (int32_t)weftgaspi.config.segment_max,
                                .blocks = weft_numbers_of(weftgaspi.job)->ranks_here,
                                .tag = weftgaspi.tag,
                                .notification_num = weftgaspi.config.notification_num};
    const size_t bytes = lay_out(&t, NULL);
    unsigned char *const device = weft_malloc(weftgaspi.job, bytes);
    unsigned char *const host = calloc(1, bytes);
    gaspi_return_t code = device == NULL || host == NULL ? GASPI_ERR_MEMALLOC : GASPI_SUCCESS;

    if (code == GASPI_SUCCESS) {
        lay_out(&t, host);
        fill(&t);
        lay_out(&t, device);
        memcpy(host, &t, sizeof(t));
        code = weftgaspi_result(weft_copy(weftgaspi.job, device, host, bytes), -1);
    }
    free(host);
    if (code != GASPI_SUCCESS) {
        weft_free(weftgaspi.job, device);
        return code;
    }
    weft_free(weftgaspi.job, weftgaspi.gpu_table);
    *table = weftgaspi.gpu_table = device;
    return GASPI_SUCCESS;
}

/* ---- of GPI-2 1.3 ---------------------------------------------------------------------------- */

gaspi_return_t gaspi_init_GPUs(void)
{
    TRY_OPEN();
    return weftgaspi.on_gpu ? GASPI_SUCCESS : GASPI_ERROR;
}

gaspi_return_t gaspi_number_of_GPUs(gaspi_gpu_num *number)
{
    TRY_OPEN(number);
    *number = weftgaspi.on_gpu;
    return GASPI_SUCCESS;
}

gaspi_return_t gaspi_GPU_ids(gaspi_gpu_t *ids)
{
    TRY(gaspi_init_GPUs());
    TRY_PLACES(ids);
    *ids = weft_numbers_of(weftgaspi.job)->device;
    return GASPI_SUCCESS;
}
