/*
 * task/tables.c - what ranks read of recorded tasks: tables in device memory, which are written
 * once, while the kernel runs. Of tasks of all places each has the words, and the steps of its own.
 */
#include "task/recorded.h"
#include "task/tasks.h"

#include "runtime/space/tables.h"

#include <stdlib.h>
#include <string.h>

/* How many entries each table has, or has so far; arguments: bytes. */
struct counts {
    uint64_t steps, parts, edges, arguments, tells;
};

/* What this place has of the recorded tasks. */
struct local {
    const struct weft_recording *r;
    const struct weft_recorded *all;
    bool shared; /* 1: words are in the plan's window */
    bool *told;  /* by task and place: 1: that place waits for the task */
    struct counts whole;
};

/* ---- who is told ----------------------------------------------------------------------------- */

/* Finds which places wait for which of this place's tasks. */
static bool find_told(struct local *local, int me)
{
    const struct weft_recorded *const all = local->all;
    const size_t places = (size_t)local->r->job->numbers.processes;

    local->told = calloc((size_t)all->tasks + 1, places * sizeof(*local->told));
    for (uint32_t t = 0; local->shared && local->told != NULL && t < all->tasks; t++)
        for (uint32_t i = 0; all->task[t].home != me && i < all->task[t].edges; i++) {
            const uint32_t other = all->edge[all->task[t].edge + i] & ~WEFT_TASK_BEFORE;
            bool *const told = &local->told[other * places + (size_t)all->task[t].home];
            if (all->task[other].home != me || *told)
                continue;
            *told = true;
            local->whole.tells++;
        }
    return local->told != NULL;
}

/* ---- tables ---------------------------------------------------------------------------------- */

static uint32_t steps_of(const struct local *local, const struct weft_recorded_task *task)
{
    const uint32_t ranks = local->r->job->tasks->place.ranks;

    return task->count == 0 ? 1 : task->count < ranks ? (uint32_t)task->count : ranks;
}

static void count(struct local *local, int me)
{
    for (uint32_t t = 0; t < local->all->tasks; t++) {
        const struct weft_recorded_task *const task = &local->all->task[t];
        if (task->home != me)
            continue;
        local->whole.steps += steps_of(local, task);
        local->whole.parts += task->datas;
        local->whole.edges += task->edges;
        local->whole.arguments += task->room;
    }
}

/* Lays out the tables in memory at `memory`; returns their bytes. */
static size_t lay_out(const struct local *local, unsigned char *memory,
                      struct weft_task_tables *tables)
{
    const struct counts *const n = &local->whole;
    size_t at = 0;

    weft_task_carve(memory, &at, sizeof(*tables));
    tables->word = weft_task_carve(memory, &at, local->all->tasks * sizeof(*tables->word));
    tables->step = weft_task_carve(memory, &at, n->steps * sizeof(*tables->step));
    tables->edge = weft_task_carve(memory, &at, n->edges * sizeof(*tables->edge));
    tables->part = weft_task_carve(memory, &at, n->parts * sizeof(*tables->part));
    tables->tell = weft_task_carve(memory, &at, n->tells * sizeof(*tables->tell));
    tables->arguments = weft_task_carve(memory, &at, n->arguments + 1);
    tables->win = local->r->plan.win;
    tables->steps = n->steps;
    return at;
}

/* Address at which ranks of this place have a piece. */
static uint64_t address_of(const struct weft_recording *r, const struct weft_recorded_data *data)
{
    const weft_task_data_desc *const desc = &data->desc;
    const struct weft_window *const window =
        desc->mode != WEFT_TASK_SCRATCH ? weft_window_find(&r->job->space.state, desc->win) : NULL;

    if (window == NULL)
        return desc->offset;
    if (data->storage == desc->place)
        return (uint64_t)(uintptr_t)window->entry[desc->place].address + desc->offset;
    return (uint64_t)(uintptr_t)r->plan.memory + weft_recorded_copy(r, data);
}

/* Makes the arguments of a copy. */
static struct weft_task_copy copy_of(const struct weft_recording *r,
                                     const struct weft_recorded_data *to)
{
    const bool home = to->storage == to->desc.place;

    return (struct weft_task_copy){.win = home ? to->desc.win : r->plan.win,
                                   .place = to->storage,
                                   .offset = home ? to->desc.offset : weft_recorded_copy(r, to),
                                   .pitch = to->desc.pitch,
                                   .bytes = to->desc.bytes,
                                   .rows = weft_task_rows(&to->desc)};
}

/* Fills in a task's edges, data, arguments, and who is told, behind what is there already. */
static void fill_lists(const struct local *local, const struct weft_task_tables *tables, uint32_t t,
                       struct counts *at, struct weft_task_step *step)
{
    const struct weft_recorded *const all = local->all;
    const struct weft_recorded_task *const task = &all->task[t];
    const size_t places = (size_t)local->r->job->numbers.processes;
    struct weft_task_part *const part = (struct weft_task_part *)tables->part + at->parts;
    unsigned char *const arguments = tables->arguments + at->arguments;

    step->edge = (uint32_t)at->edges;
    step->edges = task->edges;
    if (task->edges != 0)
        memcpy((uint32_t *)tables->edge + at->edges, all->edge + task->edge,
               task->edges * sizeof(*all->edge));
    step->part = (uint32_t)at->parts;
    step->parts = task->datas;
    for (uint32_t i = 0; i < task->datas; i++) {
        const struct weft_recorded_data *const data = &all->data[task->data + i];
        part[i] = (struct weft_task_part){address_of(local->r, data), data->desc.pitch};
    }
    step->arguments = (uint32_t)at->arguments;
    if (task->body == WEFT_TASK_COPY)
        *(struct weft_task_copy *)arguments = copy_of(local->r, &all->data[task->data + 1]);
    else if (task->room != 0)
        memcpy(arguments, all->arguments + task->arguments, task->room);
    step->tell = (uint32_t)at->tells;
    for (size_t p = 0; p < places; p++)
        if (local->told[t * places + p])
            ((int32_t *)tables->tell)[at->tells++] = (int32_t)p;
    step->tells = (uint32_t)at->tells - step->tell;
    step->far = step->tells != 0 || task->body == WEFT_TASK_COPY;
    at->edges += task->edges;
    at->parts += task->datas;
    at->arguments += task->room;
}

/* Fills in `tables` of a copy. Ranks share calls out beforehand. */
static void fill(const struct local *local, const struct weft_task_tables *tables)
{
    struct counts at = {.steps = 0};

    for (uint32_t t = 0; t < local->all->tasks; t++) {
        const struct weft_recorded_task *const task = &local->all->task[t];
        if (task->home != local->r->job->numbers.process)
            continue;
        struct weft_task_step step = {.task = t,
                                      .body = task->body,
                                      .steps = steps_of(local, task),
                                      .scratch = task->scratch};
        fill_lists(local, tables, t, &at, &step);
        for (uint32_t i = 0; i < step.steps; i++) {
            step.first = step.end;
            step.end += task->count / step.steps + (i < task->count % step.steps);
            ((struct weft_task_step *)tables->step)[at.steps++] = step;
        }
        tables->word[t].left = step.steps;
    }
}

/* Makes the tables in device memory, which may be beside the kernel, by way of a copy. */
static weft_status make(struct weft_recording *r, const struct local *local,
                        struct weft_recorded_run *run)
{
    const struct weft_device_ops *const ops = r->job->device_ops;
    struct weft_device *const device = r->job->device;
    struct weft_task_tables tables, there;
    const bool beside = weft_job_started(r->job) && ops->alloc_running != NULL;
    const size_t bytes = lay_out(local, NULL, &tables);
    const size_t words = local->all->tasks * sizeof(struct weft_task_word);
    unsigned char *const copy = calloc(1, bytes);
    weft_status status = WEFT_ERR_MEMORY;

    if (copy != NULL)
        run->memory = (beside ? ops->alloc_running : ops->alloc)(device, bytes, &run->share);
    if (run->memory != NULL) {
        lay_out(local, run->memory, &there);
        lay_out(local, copy, &tables);
        fill(local, &tables);
        if (local->shared)
            there.word = (void *)r->plan.memory;
        memcpy(copy, &there, sizeof(there));
        status = ops->copy(device, WEFT_STREAM_TABLES, run->memory, copy, bytes);
        if (status == WEFT_OK && local->shared)
            status = ops->copy(device, WEFT_STREAM_TABLES, there.word, tables.word, words);
        if (status == WEFT_OK)
            status = ops->wait(device, WEFT_STREAM_TABLES);
    }
    free(copy);
    run->steps = local->whole.steps;
    return status;
}

weft_status weft_recording_tables(struct weft_recording *r, const struct weft_recorded *all,
                                  int which)
{
    struct local local = {.r = r, .all = all, .shared = r->shared && which == WEFT_RECORDED_EPOCHS};
    weft_status status = WEFT_ERR_MEMORY;

    if (find_told(&local, r->job->numbers.process)) {
        count(&local, r->job->numbers.process);
        if (local.whole.arguments <= UINT32_MAX) /* they have offsets of 32 bits */
            status = make(r, &local, &r->plan.run[which]);
    }
    free(local.told);
    return status;
}
