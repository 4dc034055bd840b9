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
        .edge = weft_task_carve(memory, &at, r->edges * sizeof(*tables->edge)),
        .part = weft_task_carve(memory, &at, r->recorded.datas * sizeof(*tables->part)),
        .arguments = weft_task_carve(memory, &at, r->recorded.arguments_bytes + 1),
        .steps = r->recorded.steps};
    return at;
}

/* The tables' content, for `tables` of a copy. */
static void fill(const struct weft_recording *r, const struct weft_edges *edges,
                 const struct weft_task_tables *tables)
{
    struct weft_task_step *const step = (struct weft_task_step *)tables->step;

    if (r->edges != 0)
        memcpy((uint32_t *)tables->edge, edges->edge, r->edges * sizeof(*edges->edge));
    if (r->recorded.arguments_bytes != 0)
        memcpy(tables->arguments, r->recorded.arguments, r->recorded.arguments_bytes);
    if (r->recorded.datas != 0)
        memcpy((struct weft_task_part *)tables->part, r->recorded.part,
               r->recorded.datas * sizeof(*tables->part));
    for (uint64_t i = 0; i < r->recorded.steps; i++) {
        const uint32_t *const first = &edges->first[r->recorded.step[i].task];
        step[i] = r->recorded.step[i];
        step[i].edge = first[0];
        step[i].edges = first[1] - first[0];
        tables->word[step[i].task].left = step[i].steps;
    }
}

/* Memory for them, beside the kernel, and what is in it. */
static weft_status write_tables(struct weft_recording *r, unsigned char *copy, size_t bytes)
{
    const struct weft_device_ops *const ops = r->job->device_ops;
    struct weft_task_tables there;

    r->memory = (ops->alloc_running != NULL ? ops->alloc_running : ops->alloc)(r->job->device,
                                                                               bytes, &r->share);
    if (r->memory == NULL)
        return WEFT_ERR_MEMORY;
    lay_out(r, r->memory, &there);
    memcpy(copy, &there, sizeof(there));
    const weft_status status =
        ops->copy(r->job->device, WEFT_STREAM_TABLES, r->memory, copy, bytes);
    return status == WEFT_OK ? ops->wait(r->job->device, WEFT_STREAM_TABLES) : status;
}

weft_status weft_recording_tables(struct weft_recording *r, const struct weft_edges *edges)
{
    struct weft_task_tables tables;

    r->edges = edges->first[r->recorded.tasks];
    const size_t bytes = lay_out(r, NULL, &tables);
    unsigned char *const copy = calloc(1, bytes);
    if (copy == NULL)
        return WEFT_ERR_MEMORY;
    lay_out(r, copy, &tables);
    fill(r, edges, &tables);
    const weft_status status = write_tables(r, copy, bytes);
    free(copy);
    return status;
}

void weft_recording_release(struct weft_recording *r)
{
    if (r->memory != NULL)
        r->job->device_ops->free(r->job->device, r->memory, &r->share);
    r->memory = NULL;
}
