/*
 * task/record.c - what host programs record, and run: tasks become tables in device memory, once,
 * and a run is one entry in the ring to the ranks.
 */
#include "task/record.h"
#include "task/recorded.h"
#include "task/tasks.h"

#include "base/say.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_TASKS = 1 << 24 };

/* ---- recording ------------------------------------------------------------------------------- */

weft_status weft_tasks_record(weft_job *job, weft_recording **recording)
{
    WEFT_HOST_BEGIN(job, self, "weft_tasks_record");
    struct weft_tasks *tasks;
    WEFT_HOST_TRY(weft_tasks_of(job, host_name, &tasks));
    WEFT_HOST_TRY(weft_host_place(job, host_name, "recording", recording));
    struct weft_recording *const made = calloc(1, sizeof(*made));
    if (made == NULL)
        WEFT_HOST_TRY(weft_refused(job, WEFT_ERR_MEMORY, "%s: no memory", host_name));
    made->job = job;
    made->next = tasks->recordings;
    tasks->recordings = made;
    *recording = made;
    (void)self;
    return weft_host_leave(job, WEFT_OK);
}

/* Room for a task's steps, data and arguments. */
static bool grow(struct weft_recorded *all, const weft_task_desc *desc, uint32_t steps)
{
    bool room = true;

    for (uint32_t i = 0; i < steps; i++)
        room = room && weft_recorded_grow((void **)&all->step, all->steps + i, sizeof(*all->step));
    for (uint32_t i = all->datas; i < all->datas + desc->datas; i++)
        room = room && weft_recorded_grow((void **)&all->data, i, sizeof(*all->data)) &&
               weft_recorded_grow((void **)&all->part, i, sizeof(*all->part)) &&
               weft_recorded_grow((void **)&all->win, i, sizeof(*all->win));
    for (uint32_t i = 0; i < desc->arguments_bytes; i += 16)
        room = room &&
               weft_recorded_grow((void **)&all->arguments, (all->arguments_bytes + i) / 16, 16);
    return room;
}

/* Where ranks of this place have a piece of data. Errors: WINDOW, RANK, BOUNDS, UNSUPPORTED. */
static weft_status reach(weft_job *job, const char *call, const weft_task_data_desc *data,
                         uint64_t *address)
{
    const uint64_t rows = data->bytes != 0 ? weft_task_rows(data) : 1;
    const uint64_t span = data->pitch > WEFT_TASK_MOST_BYTES / rows
                              ? UINT64_MAX
                              : (rows - 1) * data->pitch + data->bytes;

    WEFT_TRY(weft_host_range(job, call, data->win, data->place, data->offset, data, span));
    const struct weft_window_entry *const there =
        &weft_host_window(job, call, data->win)->entry[data->place];
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

/* Copies its data, for which there is room, and finds where ranks have them. */
static weft_status keep_data(weft_job *job, const char *call, struct weft_recorded *all,
                             const weft_task_desc *desc, uint32_t *scratch)
{
    const uint64_t most = job->tasks->place.scratch;
    uint64_t at = 0;

    for (uint32_t i = 0; i < desc->datas; i++) {
        weft_task_data_desc *const data = &all->data[all->datas + i];
        struct weft_task_part *const part = &all->part[all->datas + i];
        *data = desc->data[i];
        weft_task_pitch_of(data);
        if (data->mode != WEFT_TASK_SCRATCH) {
            part->pitch = data->pitch;
            WEFT_TRY(reach(job, call, data, &part->address));
            continue;
        }
        *part = (struct weft_task_part){at, data->bytes};
        *scratch |= 1u << i;
        at += (weft_task_bytes(data) + 63) & ~(uint64_t)63;
    }
    return at <= most
               ? WEFT_OK
               : weft_refused(job, WEFT_ERR_LIMIT,
                              "%s: %llu bytes of scratch memory, of %llu (WEFT_TASK_SCRATCH)", call,
                              (unsigned long long)at, (unsigned long long)most);
}

static void keep_window(struct weft_recorded *all, weft_win win)
{
    uint32_t i = 0;

    while (i < all->wins && all->win[i] != win)
        i++;
    all->win[i] = win;
    all->wins += i == all->wins;
}

/* Copies a good one. */
static weft_status keep(weft_job *job, const char *call, struct weft_recorded *all,
                        const weft_task_desc *desc)
{
    const uint32_t bytes = (desc->arguments_bytes + 15) & ~15u, ranks = job->tasks->place.ranks;
    const uint64_t count = desc->count > 1 ? desc->count : 1;
    struct weft_task_step step = {.task = all->tasks,
                                  .body = desc->body,
                                  .steps = count < ranks ? (uint32_t)count : ranks,
                                  .part = all->datas,
                                  .parts = desc->datas,
                                  .arguments = all->arguments_bytes};

    if (all->tasks == MOST_TASKS || !grow(all, desc, step.steps))
        return weft_refused(job, all->tasks == MOST_TASKS ? WEFT_ERR_LIMIT : WEFT_ERR_MEMORY,
                            "%s: there is no room for it", call);
    WEFT_TRY(keep_data(job, call, all, desc, &step.scratch));
    if (bytes != 0) {
        memset(all->arguments + all->arguments_bytes, 0, bytes);
        memcpy(all->arguments + all->arguments_bytes, desc->arguments, desc->arguments_bytes);
    }
    for (uint32_t i = 0; i < step.steps; i++) { /* ranks share calls out beforehand */
        step.first = step.end;
        step.end += count / step.steps + (i < count % step.steps);
        all->step[all->steps++] = step;
    }
    for (uint32_t i = 0; i < desc->datas; i++)
        if (desc->data[i].mode != WEFT_TASK_SCRATCH)
            keep_window(all, desc->data[i].win);
    all->tasks++;
    all->datas += desc->datas;
    all->arguments_bytes += bytes;
    return WEFT_OK;
}

/* One that is used as it should be: not yet ready, or ready; else an error, said. */
static weft_status check_state(const struct weft_recording *r, const char *call, bool ready)
{
    if (r->ready == ready)
        return WEFT_OK;
    return weft_refused(r->job, WEFT_ERR_STATE, "%s: the recording is %s", call,
                        ready ? "not ready (weft_tasks_ready)" : "ready");
}

#define NO_RECORDING(call) weft_err(WEFT_ERR_ARGUMENT, "%s: the recording is NULL", call)

weft_status weft_tasks_add(weft_recording *recording, const weft_task_desc *desc)
{
    char call[48];

    if (recording == NULL)
        return NO_RECORDING("weft_tasks_add");
    weft_job *const job = recording->job;
    WEFT_HOST_BEGIN(job, self, "weft_tasks_add");
    (void)self;
    WEFT_HOST_TRY(check_state(recording, host_name, false));
    snprintf(call, sizeof(call), "%s: task %u", host_name, recording->recorded.tasks);
    WEFT_HOST_TRY(weft_task_check(job, job->tasks, call, desc));
    WEFT_HOST_TRY(keep(job, call, &recording->recorded, desc));
    return weft_host_leave(job, WEFT_OK);
}

/* ---- ready ----------------------------------------------------------------------------------- */

weft_status weft_tasks_ready(weft_recording *recording)
{
    if (recording == NULL)
        return NO_RECORDING("weft_tasks_ready");
    weft_job *const job = recording->job;
    WEFT_HOST_BEGIN(job, self, "weft_tasks_ready");
    (void)self;
    WEFT_HOST_TRY(check_state(recording, host_name, false));
    weft_status status = weft_edges_find(&recording->recorded);
    if (status == WEFT_OK)
        status = weft_recording_tables(recording);
    if (status == WEFT_ERR_MEMORY)
        weft_err(status, "%s: no memory for tables of %u tasks", host_name,
                 recording->recorded.tasks);
    if (status != WEFT_OK)
        WEFT_HOST_TRY(weft_refuse(job, status));
    recording->ready = true;
    return weft_host_leave(job, WEFT_OK);
}

/* ---- running --------------------------------------------------------------------------------- */

/* As many epochs at a time as tickets can say; waits until they are over. */
static void run_all(struct weft_recording *r, weft_self *self, uint64_t epochs)
{
    struct weft_tasks *const tasks = r->job->tasks;

    tasks->running = r;
    while (epochs != 0 && r->recorded.steps != 0) {
        const uint64_t most = (WEFT_TASK_OVER - 1) / r->recorded.steps;
        const uint64_t some = epochs < most ? epochs : most;
        struct weft_task_entry *const entry = weft_tasks_entry(r->job, self);
        entry->tables = (uint64_t)(uintptr_t)r->memory;
        entry->base = r->epochs;
        entry->total = some * r->recorded.steps;
        weft_tasks_posted(r->job, WEFT_TASK_WHAT_RUN, ++tasks->runs);
        weft_wait_until_u32(self, &tasks->place.host->ran, WEFT_EQ, tasks->runs);
        r->epochs += some;
        epochs -= some;
    }
    tasks->running = NULL;
}

weft_status weft_tasks_run(weft_recording *recording, uint64_t epochs)
{
    if (recording == NULL)
        return NO_RECORDING("weft_tasks_run");
    weft_job *const job = recording->job;
    WEFT_HOST_BEGIN(job, self, "weft_tasks_run");
    WEFT_HOST_TRY(check_state(recording, host_name, true));
    WEFT_HOST_TRY(weft_host_together(job, host_name));
    for (uint32_t i = 0; i < recording->recorded.wins; i++)
        if (weft_host_window(job, host_name, recording->recorded.win[i]) == NULL)
            return weft_host_leave(job, WEFT_ERR_WINDOW);
    run_all(recording, self, epochs);
    return weft_host_leave(job, WEFT_OK);
}

weft_status weft_tasks_recorded(weft_recording *recording, weft_recording_numbers *numbers)
{
    if (recording == NULL || numbers == NULL)
        return weft_err(WEFT_ERR_ARGUMENT, "weft_tasks_recorded: an argument is NULL");
    const struct weft_task_host *const host = recording->job->tasks->place.host;
    *numbers = (weft_recording_numbers){.tasks = recording->recorded.tasks,
                                        .edges = recording->recorded.edges,
                                        .steps = recording->recorded.steps,
                                        .epochs = recording->epochs,
                                        .waited = weft_load_relaxed_u64(&host->waited)};
    return WEFT_OK;
}

const char *weft_recorded_name(const struct weft_tasks *tasks, uint32_t task)
{
    const struct weft_recording *const r = tasks != NULL ? tasks->running : NULL;

    for (uint64_t i = 0; r != NULL && i < r->recorded.steps; i++)
        if (r->recorded.step[i].task == task)
            return tasks->kernel->names[r->recorded.step[i].body];
    return "?";
}

/* ---- freeing --------------------------------------------------------------------------------- */

/* What the host has of it, and, unless a kernel forbids, its memory on the device. */
static void forget(struct weft_recording *r, bool memory)
{
    free(r->recorded.step);
    free(r->recorded.data);
    free(r->recorded.part);
    free(r->recorded.arguments);
    free(r->recorded.win);
    free(r->recorded.edge);
    r->recorded = (struct weft_recorded){.step = NULL};
    if (!memory || r->memory == NULL)
        return;
    r->job->device_ops->free(r->job->device, r->memory, &r->share);
    r->memory = NULL;
}

weft_status weft_tasks_free(weft_recording **recording)
{
    if (recording == NULL || *recording == NULL)
        return NO_RECORDING("weft_tasks_free");
    weft_job *const job = (*recording)->job;
    WEFT_HOST_BEGIN(job, self, "weft_tasks_free");
    (void)self;
    forget(*recording, job->device_ops->host_access); /* others do not free beside a kernel */
    *recording = NULL;
    return weft_host_leave(job, WEFT_OK);
}

void weft_recordings_free(struct weft_tasks *tasks)
{
    tasks->running = NULL;
    while (tasks->recordings != NULL) {
        struct weft_recording *const r = tasks->recordings;
        tasks->recordings = r->next;
        forget(r, true);
        free(r);
    }
}
