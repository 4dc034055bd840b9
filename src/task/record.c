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

struct weft_recording {
    weft_job *job;
    struct weft_recording *next; /* of the job's */
    struct weft_recorded recorded;
    size_t room[3]; /* of its lists, in bytes */
    weft_win *win;  /* of its data, each once */
    uint32_t wins, edges;
    uint64_t steps, epochs; /* steps of an epoch; epochs that have run */
    bool ready, freed;      /* freed: but for its memory, which the kernel may not lose */
    unsigned char *memory;  /* device memory: the tables */
    struct weft_share share;
};

/* ---- recording --------------------------------------------------------------------------------
 */

weft_status weft_tasks_record(weft_job *job, weft_recording **recording)
{
    WEFT_HOST_BEGIN(job, self, "weft_tasks_record");
    struct weft_tasks *const tasks = weft_tasks_of(job, host_name);
    if (tasks == NULL)
        return weft_host_leave(job, WEFT_ERR_STATE);
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

/* Where ranks of this place have a piece of data. Errors, which are said: WINDOW, BOUNDS,
 * UNSUPPORTED. */
static weft_status reach(weft_job *job, const char *call, const weft_task_data_desc *data,
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
    if (there->address == NULL || !alike)
        return weft_refused(job, WEFT_ERR_UNSUPPORTED,
                            "%s: ranks of process %d do not load and store in process %d's memory",
                            call, job->numbers.process, data->place);
    *address = (uint64_t)(uintptr_t)there->address + data->offset;
    return WEFT_OK;
}

static weft_status check(weft_job *job, const struct weft_tasks *tasks, const char *call,
                         const weft_task_desc *desc)
{
    weft_status status = weft_task_check(job, tasks, call, desc);
    uint64_t scratch = 0, address;

    for (uint32_t i = 0; status == WEFT_OK && i < desc->datas; i++) {
        weft_task_data_desc data = desc->data[i];
        weft_task_pitch_of(&data);
        if (data.mode != WEFT_TASK_SCRATCH)
            status = reach(job, call, &data, &address);
        else
            scratch += (weft_task_bytes(&data) + 63) & ~(uint64_t)63;
    }
    if (status == WEFT_OK && scratch > tasks->place.scratch)
        status = weft_refused(
            job, WEFT_ERR_LIMIT, "%s: %llu bytes of scratch memory, of %llu (WEFT_TASK_SCRATCH)",
            call, (unsigned long long)scratch, (unsigned long long)tasks->place.scratch);
    return status;
}

/* Room for `bytes` more in a list of so many; NULL: there is none. The value: where they go. */
static void *append(void **list, size_t *room, size_t used, size_t bytes)
{
    if (used + bytes >= *room) {
        const size_t more = 2 * (used + bytes) + 4096;
        void *const grown = realloc(*list, more);
        if (grown == NULL)
            return NULL;
        *list = grown;
        *room = more;
    }
    return (unsigned char *)*list + used;
}

/* Copies a good one. */
static weft_status keep(struct weft_recording *r, const weft_task_desc *desc)
{
    struct weft_recorded *const all = &r->recorded;
    const uint32_t bytes = (desc->arguments_bytes + 15) & ~15u;
    struct weft_recorded_task *const task =
        append((void **)&all->task, &r->room[0], all->tasks * sizeof(*task), sizeof(*task));
    weft_task_data_desc *const data = append(
        (void **)&all->data, &r->room[1], all->datas * sizeof(*data), desc->datas * sizeof(*data));
    unsigned char *const arguments =
        append((void **)&all->arguments, &r->room[2], all->arguments_bytes, bytes);

    if (task == NULL || data == NULL || arguments == NULL)
        return WEFT_ERR_MEMORY;
    if (all->tasks == MOST_TASKS || all->arguments_bytes > UINT32_MAX - 2 * bytes)
        return WEFT_ERR_LIMIT;
    *task = (struct weft_recorded_task){.count = desc->count > 1 ? desc->count : 1,
                                        .body = desc->body,
                                        .data = all->datas,
                                        .datas = desc->datas,
                                        .arguments = all->arguments_bytes};
    for (uint32_t i = 0; i < desc->datas; i++) {
        data[i] = desc->data[i];
        weft_task_pitch_of(&data[i]);
    }
    memset(arguments, 0, bytes);
    if (desc->arguments_bytes != 0)
        memcpy(arguments, desc->arguments, desc->arguments_bytes);
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
    WEFT_HOST_TRY(check(job, job->tasks, call, desc));
    const weft_status status = keep(recording, desc);
    if (status != WEFT_OK)
        WEFT_HOST_TRY(weft_refused(job, status, "%s: there is no room for it", call));
    return weft_host_leave(job, WEFT_OK);
}

/* ---- tables -----------------------------------------------------------------------------------
 */

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

/* The parts of a task; bit i of *scratch: part i lies in scratch memory. */
static weft_status fill_parts(const struct weft_recording *r, const struct weft_recorded_task *task,
                              struct weft_task_part *part, uint32_t *scratch)
{
    weft_status status = WEFT_OK;
    uint64_t at = 0;

    *scratch = 0;
    for (uint32_t i = 0; status == WEFT_OK && i < task->datas; i++) {
        const weft_task_data_desc *const data = &r->recorded.data[task->data + i];
        part[i] = (struct weft_task_part){.address = at, .pitch = data->pitch};
        if (data->mode != WEFT_TASK_SCRATCH) {
            status = reach(r->job, "weft_tasks_ready", data, &part[i].address);
            continue;
        }
        *scratch |= 1u << i;
        part[i].pitch = data->bytes;
        at += (weft_task_bytes(data) + 63) & ~(uint64_t)63;
    }
    return status;
}

/* The tables' content, for `tables` of a copy. */
static weft_status fill(const struct weft_recording *r, const struct weft_edges *edges,
                        const struct weft_task_tables *tables)
{
    struct weft_task_step *step = (struct weft_task_step *)tables->step;
    struct weft_task_part *const parts = (struct weft_task_part *)tables->part;
    weft_status status = WEFT_OK;

    memcpy((uint32_t *)tables->edge, edges->edge, r->edges * sizeof(*edges->edge));
    memcpy(tables->arguments, r->recorded.arguments, r->recorded.arguments_bytes);
    for (uint32_t t = 0; status == WEFT_OK && t < r->recorded.tasks; t++) {
        const struct weft_recorded_task *const task = &r->recorded.task[t];
        const uint32_t steps = steps_of(r, task);
        uint32_t scratch;
        status = fill_parts(r, task, parts + task->data, &scratch);
        tables->word[t].left = steps;
        for (uint32_t i = 0; i < steps; i++)
            *step++ = (struct weft_task_step){.first = task->count * i / steps,
                                              .end = task->count * (i + 1) / steps,
                                              .task = t,
                                              .body = task->body,
                                              .steps = steps,
                                              .edge = edges->first[t],
                                              .edges = edges->first[t + 1] - edges->first[t],
                                              .part = task->data,
                                              .parts = task->datas,
                                              .scratch = scratch,
                                              .arguments = task->arguments};
    }
    return status;
}

/* To device memory, beside the kernel. */
static weft_status write_tables(struct weft_recording *r, const void *copy, size_t bytes)
{
    const struct weft_device_ops *const ops = r->job->device_ops;
    weft_status status = ops->copy(r->job->device, WEFT_STREAM_TABLES, r->memory, copy, bytes);

    return status == WEFT_OK ? ops->wait(r->job->device, WEFT_STREAM_TABLES) : status;
}

static weft_status make_tables(struct weft_recording *r, const struct weft_edges *edges)
{
    const struct weft_device_ops *const ops = r->job->device_ops;
    struct weft_task_tables tables;
    const size_t bytes = lay_out(r, NULL, &tables);
    unsigned char *const copy = calloc(1, bytes);
    weft_status status = copy == NULL ? WEFT_ERR_MEMORY : WEFT_OK;

    if (status == WEFT_OK) {
        lay_out(r, copy, &tables);
        status = fill(r, edges, &tables);
    }
    if (status == WEFT_OK) {
        r->memory = (ops->alloc_running != NULL ? ops->alloc_running
                                                : ops->alloc)(r->job->device, bytes, &r->share);
        status = r->memory == NULL ? WEFT_ERR_MEMORY : WEFT_OK;
    }
    if (status == WEFT_OK) {
        lay_out(r, r->memory, &tables);
        memcpy(copy, &tables, sizeof(tables));
        status = write_tables(r, copy, bytes);
    }
    free(copy);
    return status;
}

/* The windows of its data, each once. */
static weft_status list_windows(struct weft_recording *r)
{
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
    if (status == WEFT_OK) {
        recording->edges = edges.first[recording->recorded.tasks];
        recording->steps = 0;
        for (uint32_t t = 0; t < recording->recorded.tasks; t++)
            recording->steps += steps_of(recording, &recording->recorded.task[t]);
        status = make_tables(recording, &edges);
    }
    weft_edges_free(&edges);
    if (status != WEFT_OK)
        WEFT_HOST_TRY(weft_refused(job, status, "%s: no tables of %u tasks", host_name,
                                   recording->recorded.tasks));
    recording->ready = true;
    return weft_host_leave(job, WEFT_OK);
}

/* ---- running ----------------------------------------------------------------------------------
 */

/* Some epochs, and waits until they are over. */
static void run_some(struct weft_recording *r, weft_self *self, uint64_t epochs)
{
    struct weft_tasks *const tasks = r->job->tasks;
    struct weft_task_entry *const entry = weft_tasks_entry(r->job, self);

    tasks->running = r;
    entry->tables = (uint64_t)(uintptr_t)r->memory;
    entry->base = r->epochs;
    entry->total = epochs * r->steps;
    weft_tasks_posted(r->job, WEFT_TASK_WHAT_RUN, ++tasks->runs);
    weft_wait_until_u32(self, &tasks->place.host->ran, WEFT_EQ, tasks->runs);
    r->epochs += epochs;
    tasks->running = NULL;
}

/* As many at a time as tickets can say. */
static void run_all(struct weft_recording *r, weft_self *self, uint64_t epochs)
{
    while (epochs != 0 && r->steps != 0) {
        const uint64_t most = (WEFT_TASK_OVER - 1) / r->steps;
        const uint64_t some = epochs < most ? epochs : most;
        run_some(r, self, some);
        epochs -= some;
    }
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

/* ---- freeing ----------------------------------------------------------------------------------
 */

/* All but its memory. */
static void forget(struct weft_recording *r)
{
    free(r->recorded.task);
    free(r->recorded.data);
    free(r->recorded.arguments);
    free(r->win);
    r->recorded = (struct weft_recorded){.task = NULL};
    r->win = NULL;
    r->freed = true;
}

static void release(struct weft_recording *r)
{
    if (r->memory != NULL)
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
    forget(*recording);
    if (job->device_ops->host_access) /* others do not free beside a kernel */
        release(*recording);
    *recording = NULL;
    return weft_host_leave(job, WEFT_OK);
}

void weft_recordings_free(struct weft_tasks *tasks)
{
    while (tasks->recordings != NULL) {
        struct weft_recording *const r = tasks->recordings;
        tasks->recordings = r->next;
        forget(r);
        release(r);
        free(r);
    }
}
