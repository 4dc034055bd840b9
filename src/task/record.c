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

/* Room for one more of each, and of a task's data and arguments. */
static bool grow(struct weft_recorded *all, const weft_task_desc *desc)
{
    bool room = weft_recorded_grow((void **)&all->task, all->tasks, sizeof(*all->task));

    for (uint32_t i = all->datas; i < all->datas + desc->datas; i++)
        room = room && weft_recorded_grow((void **)&all->data, i, sizeof(*all->data)) &&
               weft_recorded_grow((void **)&all->part, i, sizeof(*all->part));
    for (uint32_t i = 0; i < desc->arguments_bytes; i += 16)
        room = room &&
               weft_recorded_grow((void **)&all->arguments, (all->arguments_bytes + i) / 16, 16);
    return room;
}

/* Copies its data, for which there is room, and finds where ranks have them. */
static weft_status keep_data(weft_job *job, const char *call, struct weft_recorded *all,
                             const weft_task_desc *desc, uint32_t *scratch)
{
    const uint64_t most = job->tasks->place.scratch;
    uint64_t at = 0;

    for (uint32_t i = 0; i < desc->datas; i++) {
        weft_task_data_desc *const data = &all->data[all->datas + i];
        *data = desc->data[i];
        weft_task_pitch_of(data);
        all->part[all->datas + i] = (struct weft_task_part){at, data->pitch};
        if (data->mode != WEFT_TASK_SCRATCH) {
            WEFT_TRY(weft_recorded_reach(job, call, data, &all->part[all->datas + i].address));
            continue;
        }
        all->part[all->datas + i].pitch = data->bytes;
        *scratch |= 1u << i;
        at += (weft_task_bytes(data) + 63) & ~(uint64_t)63;
    }
    return at <= most
               ? WEFT_OK
               : weft_refused(job, WEFT_ERR_LIMIT,
                              "%s: %llu bytes of scratch memory, of %llu (WEFT_TASK_SCRATCH)", call,
                              (unsigned long long)at, (unsigned long long)most);
}

/* Copies a good one. */
static weft_status keep(weft_job *job, const char *call, struct weft_recorded *all,
                        const weft_task_desc *desc)
{
    const uint32_t bytes = (desc->arguments_bytes + 15) & ~15u;
    struct weft_recorded_task task = {.count = desc->count > 1 ? desc->count : 1,
                                      .body = desc->body,
                                      .data = all->datas,
                                      .datas = desc->datas,
                                      .arguments = all->arguments_bytes};

    if (all->tasks == MOST_TASKS || !grow(all, desc))
        return weft_refused(job, all->tasks == MOST_TASKS ? WEFT_ERR_LIMIT : WEFT_ERR_MEMORY,
                            "%s: there is no room for it", call);
    WEFT_TRY(keep_data(job, call, all, desc, &task.scratch));
    if (bytes != 0) {
        memset(all->arguments + all->arguments_bytes, 0, bytes);
        memcpy(all->arguments + all->arguments_bytes, desc->arguments, desc->arguments_bytes);
    }
    all->task[all->tasks++] = task;
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

/* The windows of its data, each once. */
static weft_status list_windows(struct weft_recording *r)
{
    free(r->win); /* of a call that has failed */
    r->wins = 0;
    r->win = calloc((size_t)r->recorded.datas + 1, sizeof(*r->win));
    if (r->win == NULL)
        return WEFT_ERR_MEMORY;
    for (uint32_t i = 0; i < r->recorded.datas; i++) {
        uint32_t known = 0;
        while (known < r->wins && r->win[known] != r->recorded.data[i].win)
            known++;
        if (known == r->wins && r->recorded.data[i].mode != WEFT_TASK_SCRATCH)
            r->win[r->wins++] = r->recorded.data[i].win;
    }
    return WEFT_OK;
}

weft_status weft_tasks_ready(weft_recording *recording)
{
    struct weft_edges edges;

    if (recording == NULL)
        return NO_RECORDING("weft_tasks_ready");
    weft_job *const job = recording->job;
    WEFT_HOST_BEGIN(job, self, "weft_tasks_ready");
    (void)self;
    WEFT_HOST_TRY(check_state(recording, host_name, false));
    weft_status status = weft_edges_find(&recording->recorded, &edges);
    if (status == WEFT_OK)
        status = list_windows(recording);
    if (status == WEFT_OK)
        status = weft_recording_tables(recording, &edges);
    weft_edges_free(&edges);
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
    while (epochs != 0 && r->steps != 0) {
        const uint64_t most = (WEFT_TASK_OVER - 1) / r->steps;
        const uint64_t some = epochs < most ? epochs : most;
        struct weft_task_entry *const entry = weft_tasks_entry(r->job, self);
        entry->tables = (uint64_t)(uintptr_t)r->memory;
        entry->base = r->epochs;
        entry->total = some * r->steps;
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
    for (uint32_t i = 0; i < recording->wins; i++)
        if (weft_host_window(job, host_name, recording->win[i]) == NULL)
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
                                        .edges = recording->edges,
                                        .steps = recording->steps,
                                        .epochs = recording->epochs,
                                        .waited = weft_load_relaxed_u64(&host->waited)};
    return WEFT_OK;
}

const char *weft_recorded_name(const struct weft_tasks *tasks, uint32_t task)
{
    const struct weft_recording *const r = tasks->running;

    return r != NULL && task < r->recorded.tasks ? tasks->kernel->names[r->recorded.task[task].body]
                                                 : "?";
}

/* ---- freeing --------------------------------------------------------------------------------- */

/* All but its memory. */
static void forget(struct weft_recording *r)
{
    free(r->recorded.task);
    free(r->recorded.data);
    free(r->recorded.part);
    free(r->recorded.arguments);
    free(r->win);
    r->recorded = (struct weft_recorded){.task = NULL};
    r->win = NULL;
}

weft_status weft_tasks_free(weft_recording **recording)
{
    if (recording == NULL || *recording == NULL)
        return NO_RECORDING("weft_tasks_free");
    weft_job *const job = (*recording)->job;
    WEFT_HOST_BEGIN(job, self, "weft_tasks_free");
    (void)self;
    forget(*recording);
    if (job->device_ops->host_access) /* others do not free beside a kernel */
        weft_recording_release(*recording);
    *recording = NULL;
    return weft_host_leave(job, WEFT_OK);
}

void weft_recordings_free(struct weft_tasks *tasks)
{
    tasks->running = NULL;
    while (tasks->recordings != NULL) {
        struct weft_recording *const r = tasks->recordings;
        tasks->recordings = r->next;
        forget(r);
        weft_recording_release(r);
        free(r);
    }
}
