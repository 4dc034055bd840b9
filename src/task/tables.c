/*
 * task/tables.c - what ranks read of recorded tasks: tables in device memory, which are written
 * once, while the kernel runs.
 */
#include "task/recorded.h"
#include "task/tasks.h"

#include <stdlib.h>
#include <string.h>

/* Where the tables are in memory at `memory`; the value: its bytes. */
static size_t lay_out(const struct weft_recording *r, unsigned char *memory,
                      struct weft_task_tables *tables)
{
    size_t at = 0;

    weft_task_carve(memory, &at, sizeof(*tables));
    *tables = (struct weft_task_tables){
        .word = weft_task_carve(memory, &at, r->recorded.tasks * sizeof(*tables->word)),
        .step = weft_task_carve(memory, &at, r->recorded.steps * sizeof(*tables->step)),
        .edge = weft_task_carve(memory, &at, r->recorded.edges * sizeof(*tables->edge)),
        .part = weft_task_carve(memory, &at, r->recorded.datas * sizeof(*tables->part)),
        .arguments = weft_task_carve(memory, &at, r->recorded.arguments_bytes + 1),
        .steps = r->recorded.steps};
    return at;
}

static void put(const void *to, const void *from, size_t bytes)
{
    if (bytes != 0)
        memcpy((void *)to, from, bytes);
}

/* The content of `tables` of a copy. */
static void fill(const struct weft_recorded *all, const struct weft_task_tables *tables)
{
    put(tables->step, all->step, all->steps * sizeof(*all->step));
    put(tables->edge, all->edge, all->edges * sizeof(*all->edge));
    put(tables->part, all->part, all->datas * sizeof(*all->part));
    put(tables->arguments, all->arguments, all->arguments_bytes);
    for (uint64_t i = 0; i < all->steps; i++)
        tables->word[all->step[i].task].left = all->step[i].steps;
}

/* In memory beside the kernel, by way of a copy. */
weft_status weft_recording_tables(struct weft_recording *r)
{
    const struct weft_device_ops *const ops = r->job->device_ops;
    struct weft_device *const device = r->job->device;
    struct weft_task_tables tables, there;
    const size_t bytes = lay_out(r, NULL, &tables);
    unsigned char *const copy = calloc(1, bytes);
    weft_status status = WEFT_ERR_MEMORY;

    r->memory =
        (ops->alloc_running != NULL ? ops->alloc_running : ops->alloc)(device, bytes, &r->share);
    if (copy != NULL && r->memory != NULL) {
        lay_out(r, copy, &tables);
        fill(&r->recorded, &tables);
        lay_out(r, r->memory, &there);
        memcpy(copy, &there, sizeof(there));
        status = ops->copy(device, WEFT_STREAM_TABLES, r->memory, copy, bytes);
        if (status == WEFT_OK)
            status = ops->wait(device, WEFT_STREAM_TABLES);
    }
    free(copy);
    return status;
}
