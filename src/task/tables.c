/*
 * task/tables.c - what ranks read of recorded tasks: tables in device memory, which are written
 * once, while the kernel runs.
 */
#include "task/recorded.h"
#include "task/tasks.h"

#include "base/say.h"

#include <stdlib.h>
#include <string.h>

weft_status weft_recorded_reach(weft_job *job, const char *call, const weft_task_data_desc *data,
                                uint64_t *address)
{
    const struct weft_window *const window = weft_host_window(job, call, data->win);

    if (window == NULL)
        return WEFT_ERR_WINDOW;
    if (data->place >= window->members)
        return weft_refused(job, WEFT_ERR_RANK, "%s: process %d is not one of %d", call,
                            data->place, window->members);
    const struct weft_window_entry *const there = &window->entry[data->place];
    if (!weft_inside(data->offset, data->pitch, data->bytes, weft_task_rows(data), there->bytes))
        return weft_refused(job, WEFT_ERR_BOUNDS,
                            "%s: %u rows of %llu bytes at %llu, %llu apart, are not inside the "
                            "window of %llu bytes of process %d",
                            call, data->rows, (unsigned long long)data->bytes,
                            (unsigned long long)data->offset, (unsigned long long)data->pitch,
                            (unsigned long long)there->bytes, data->place);
    const bool alike = data->place == job->numbers.process ||
                       (job->device_ops->host_access &&
                        job->space.state.process_table[data->place].exposed != NULL);
    if (data->bytes != 0 && (there->address == NULL || !alike))
        return weft_refused(job, WEFT_ERR_UNSUPPORTED,
                            "%s: ranks of process %d do not load and store in process %d's memory",
                            call, job->numbers.process, data->place);
    *address = (uint64_t)(uintptr_t)there->address + data->offset;
    return WEFT_OK;
}

/* Where the tables are in memory at `memory`; the value: its bytes. */
static size_t lay_out(const struct weft_recording *r, unsigned char *memory,
                      struct weft_task_tables *tables)
{
    size_t at = 0;

    weft_task_carve(memory, &at, sizeof(*tables));
    *tables = (struct weft_task_tables){
        .word = weft_task_carve(memory, &at, r->recorded.tasks * sizeof(*tables->word)),
        .step = weft_task_carve(memory, &at, r->steps * sizeof(*tables->step)),
        .edge = weft_task_carve(memory, &at, r->edges * sizeof(*tables->edge)),
        .part = weft_task_carve(memory, &at, r->recorded.datas * sizeof(*tables->part)),
        .arguments = weft_task_carve(memory, &at, r->recorded.arguments_bytes + 1),
        .steps = r->steps};
    return at;
}

/* Ranks share calls out among themselves beforehand. */
static uint32_t steps_of(const struct weft_recording *r, const struct weft_recorded_task *task)
{
    const uint32_t ranks = r->job->tasks->place.ranks;

    return task->count < ranks ? (uint32_t)task->count : ranks;
}

/* Of a task's i-th step. */
static uint64_t first_call(const struct weft_recorded_task *task, uint32_t steps, uint32_t i)
{
    const uint64_t more = task->count % steps; /* steps have one call more */

    return task->count / steps * i + (i < more ? i : more);
}

/* The tables' content, for `tables` of a copy. */
static void fill(const struct weft_recording *r, const struct weft_edges *edges,
                 const struct weft_task_tables *tables)
{
    struct weft_task_step *step = (struct weft_task_step *)tables->step;

    if (r->edges != 0)
        memcpy((uint32_t *)tables->edge, edges->edge, r->edges * sizeof(*edges->edge));
    if (r->recorded.arguments_bytes != 0)
        memcpy(tables->arguments, r->recorded.arguments, r->recorded.arguments_bytes);
    if (r->recorded.datas != 0)
        memcpy((struct weft_task_part *)tables->part, r->recorded.part,
               r->recorded.datas * sizeof(*tables->part));
    for (uint32_t t = 0; t < r->recorded.tasks; t++) {
        const struct weft_recorded_task *const task = &r->recorded.task[t];
        const uint32_t steps = steps_of(r, task);
        tables->word[t].left = steps;
        for (uint32_t i = 0; i < steps; i++)
            *step++ = (struct weft_task_step){.first = first_call(task, steps, i),
                                              .end = first_call(task, steps, i + 1),
                                              .task = t,
                                              .body = task->body,
                                              .steps = steps,
                                              .edge = edges->first[t],
                                              .edges = edges->first[t + 1] - edges->first[t],
                                              .part = task->data,
                                              .parts = task->datas,
                                              .scratch = task->scratch,
                                              .arguments = task->arguments};
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
    r->steps = 0;
    for (uint32_t t = 0; t < r->recorded.tasks; t++)
        r->steps += steps_of(r, &r->recorded.task[t]);
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
