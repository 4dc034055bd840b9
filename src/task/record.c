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

static weft_status begin(weft_job *job, const char *call, bool shared, weft_recording **recording)
{
    struct weft_tasks *tasks;

    WEFT_TRY(weft_tasks_of(job, call, &tasks));
    WEFT_TRY(weft_host_place(job, call, "recording", recording));
    struct weft_recording *const made =
        calloc(1, sizeof(*made) + (size_t)job->numbers.processes * sizeof(*made->speed));
    if (made == NULL)
        return weft_refused(job, WEFT_ERR_MEMORY, "%s: no memory", call);
    made->job = job;
    made->shared = shared;
    made->next = tasks->recordings;
    tasks->recordings = made;
    *recording = made;
    return WEFT_OK;
}

weft_status weft_tasks_record(weft_job *job, weft_recording **recording)
{
    WEFT_HOST_BEGIN(job, self, "weft_tasks_record");
    return weft_host_leave(job, begin(job, host_name, false, recording));
}

weft_status weft_tasks_record_all(weft_job *job, weft_recording **recording)
{
    WEFT_HOST_BEGIN(job, self, "weft_tasks_record_all");
    return weft_host_leave(job, begin(job, host_name, job->numbers.processes > 1, recording));
}

/* Room for a task, its data and arguments. */
static bool grow(struct weft_recorded *all, const weft_task_desc *desc)
{
    bool room = WEFT_RECORDED_ROOM(all->task, all->tasks);

    for (uint32_t i = all->datas; i < all->datas + desc->datas; i++)
        room = room && WEFT_RECORDED_ROOM(all->data, i) && WEFT_RECORDED_ROOM(all->win, i);
    for (uint32_t i = 0; i < desc->arguments_bytes; i += 16)
        room = room &&
               weft_recorded_grow((void **)&all->arguments, (all->arguments_bytes + i) / 16, 16);
    return room;
}

/* Checks that a piece lies in its window; and whether ranks of this place load and store it there.
 * Errors: WINDOW, RANK, BOUNDS, UNSUPPORTED. */
static weft_status check_data(weft_job *job, const char *call, bool shared,
                              const weft_task_data_desc *data)
{
    const uint64_t rows = data->bytes != 0 ? weft_task_rows(data) : 1;
    const uint64_t span = data->pitch > WEFT_TASK_MOST_BYTES / rows
                              ? UINT64_MAX
                              : (rows - 1) * data->pitch + data->bytes;

    WEFT_TRY(weft_host_range(job, call, data->win, data->place, data->offset, data, span));
    if (data->bytes == 0 || shared || weft_task_reaches(job, data->win, data->place))
        return WEFT_OK;
    return weft_refused(job, WEFT_ERR_UNSUPPORTED,
                        "%s: ranks of process %d do not load and store in process %d's memory",
                        call, job->numbers.process, data->place);
}

/* Copies its data, for which there is room. */
static weft_status keep_data(weft_job *job, const char *call, bool shared,
                             struct weft_recorded *all, const weft_task_desc *desc,
                             uint32_t *scratch)
{
    const uint64_t most = job->tasks->place.scratch;
    uint64_t at = 0;

    for (uint32_t i = 0; i < desc->datas; i++) {
        struct weft_recorded_data *const kept = &all->data[all->datas + i];
        *kept = (struct weft_recorded_data){.desc = desc->data[i], .storage = desc->data[i].place};
        weft_task_pitch_of(&kept->desc);
        if (kept->desc.mode != WEFT_TASK_SCRATCH) {
            WEFT_TRY(check_data(job, call, shared, &kept->desc));
            continue;
        }
        kept->desc.offset = at;
        kept->desc.pitch = kept->desc.bytes;
        *scratch |= 1u << i;
        at += (weft_task_bytes(&kept->desc) + 63) & ~(uint64_t)63;
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
static weft_status keep(weft_job *job, const char *call, struct weft_recording *r,
                        const weft_task_desc *desc, int home, uint64_t spot)
{
    struct weft_recorded *const all = &r->recorded;
    const uint32_t room = (desc->arguments_bytes + 15) & ~15u;
    struct weft_recorded_task task = {.count = desc->count > 1 ? desc->count : 1,
                                      .spot = spot,
                                      .number = all->tasks,
                                      .body = desc->body,
                                      .data = all->datas,
                                      .datas = desc->datas,
                                      .arguments = all->arguments_bytes,
                                      .room = room,
                                      .flags = desc->flags,
                                      .home = home,
                                      .moves = home < 0};

    if (all->tasks == MOST_TASKS || !grow(all, desc))
        return weft_refused(job, all->tasks == MOST_TASKS ? WEFT_ERR_LIMIT : WEFT_ERR_MEMORY,
                            "%s: there is no room for it (%d tasks at most)", call, MOST_TASKS);
    WEFT_TRY(keep_data(job, call, r->shared, all, desc, &task.scratch));
    if (room != 0) {
        memset(all->arguments + all->arguments_bytes, 0, room);
        memcpy(all->arguments + all->arguments_bytes, desc->arguments, desc->arguments_bytes);
    }
    for (uint32_t i = 0; i < desc->datas; i++)
        if (desc->data[i].mode != WEFT_TASK_SCRATCH)
            keep_window(all, desc->data[i].win);
    all->task[all->tasks++] = task;
    all->datas += desc->datas;
    all->arguments_bytes += room;
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

/* Error: WINDOW: one was freed. */
static weft_status check_windows(const struct weft_recording *r, const char *call)
{
    for (uint32_t i = 0; i < r->recorded.wins; i++)
        if (weft_host_window(r->job, call, r->recorded.win[i]) == NULL)
            return WEFT_ERR_WINDOW;
    return WEFT_OK;
}

#define NO_RECORDING(call) weft_err(WEFT_ERR_ARGUMENT, "%s: the recording is NULL", call)
#define RECORDING_BEGIN(call)                                                                      \
    if (recording == NULL)                                                                         \
        return NO_RECORDING(call);                                                                 \
    weft_job *const job = recording->job;                                                          \
    WEFT_HOST_BEGIN(job, self, call)

/* Whose data it writes first; of a task that writes none, the first place. */
static int home_of(const weft_task_desc *desc)
{
    for (uint32_t i = 0; i < desc->datas && i < WEFT_TASK_DATA; i++)
        if (desc->data[i].mode != WEFT_TASK_SCRATCH && (desc->data[i].mode & WEFT_TASK_OUT) != 0)
            return desc->data[i].place;
    return 0;
}

/* Adds as weft_tasks_add_at. Flags that keep a task from this place are no matter where it has
 * another home. */
static weft_status add(weft_recording *r, const char *call, const weft_task_desc *desc, int home,
                       uint64_t spot)
{
    const uint32_t kinds = WEFT_TASK_CPU_ONLY | WEFT_TASK_GPU_ONLY;
    const int places = r->job->numbers.processes, me = r->job->numbers.process;
    weft_task_desc checked = {0};
    char name[48];

    WEFT_TRY(check_state(r, call, false));
    snprintf(name, sizeof(name), "%s: task %u", call, r->recorded.tasks);
    if (desc != NULL)
        checked = *desc;
    checked.flags &= r->shared && (checked.flags & kinds) != kinds ? ~kinds : ~0u;
    WEFT_TRY(weft_task_check(r->job, r->job->tasks, name, desc != NULL ? &checked : NULL));
    if (home < -1 || home >= places || (!r->shared && home >= 0 && home != me))
        return weft_refused(r->job, WEFT_ERR_ARGUMENT, "%s: home %d of %d places%s", name, home,
                            places, r->shared ? "" : ", in a recording of one");
    if (home >= 0 && r->shared && !weft_task_may_run(r->job, desc->flags, home))
        return weft_refused(r->job, WEFT_ERR_ARGUMENT, "%s: flags %u keep it from home %d", name,
                            desc->flags, home);
    return keep(r->job, name, r, desc, r->shared ? home : me, spot);
}

weft_status weft_tasks_add(weft_recording *recording, const weft_task_desc *desc)
{
    RECORDING_BEGIN("weft_tasks_add");
    const int home = recording->shared && desc != NULL ? home_of(desc) : job->numbers.process;
    return weft_host_leave(job, add(recording, host_name, desc, home, 0));
}

weft_status weft_tasks_add_at(weft_recording *recording, const weft_task_desc *desc, int home,
                              uint64_t spot)
{
    RECORDING_BEGIN("weft_tasks_add_at");
    return weft_host_leave(job, add(recording, host_name, desc, home, spot));
}

/* ---- ready ----------------------------------------------------------------------------------- */

/* Makes a recording of one place ready. */
static weft_status make_ready(struct weft_recording *r, const char *call)
{
    weft_status status = weft_edges_find(&r->recorded, NULL, NULL);

    if (status == WEFT_OK)
        status = weft_recording_tables(r, &r->recorded, WEFT_RECORDED_EPOCHS);
    if (status == WEFT_ERR_MEMORY)
        weft_err(status, "%s: no memory for tables of %u tasks", call, r->recorded.tasks);
    return status == WEFT_OK ? status : weft_refuse(r->job, status);
}

weft_status weft_tasks_ready(weft_recording *recording)
{
    RECORDING_BEGIN("weft_tasks_ready");
    WEFT_HOST_TRY(check_state(recording, host_name, false));
    WEFT_HOST_TRY(check_windows(recording, host_name));
    WEFT_HOST_TRY(recording->shared ? weft_host_together(job, host_name) : WEFT_OK);
    weft_host_leave(job, WEFT_OK); /* the kernel may end and begin again */
    const weft_status status =
        (recording->shared ? weft_homes_find : make_ready)(recording, host_name);
    recording->ready = status == WEFT_OK;
    return status;
}

/* ---- running --------------------------------------------------------------------------------- */

void weft_recorded_run(struct weft_recording *r, weft_self *self, int which, uint64_t epochs,
                       bool timed)
{
    struct weft_tasks *const tasks = r->job->tasks;
    struct weft_recorded_run *const run = &r->plan.run[which];

    tasks->running = r;
    while (epochs != 0 && run->steps != 0) {
        const uint64_t most = (WEFT_TASK_OVER - 1) / run->steps;
        const uint64_t some = epochs < most ? epochs : most;
        struct weft_task_entry *const entry = weft_tasks_entry(r->job, self);
        entry->tables = (uint64_t)(uintptr_t)run->memory;
        entry->base = run->epochs;
        entry->timed = timed;
        entry->total = some * run->steps;
        weft_tasks_posted(r->job, WEFT_TASK_WHAT_RUN, ++tasks->runs);
        weft_wait_until_u32(self, &tasks->place.host->ran, WEFT_EQ, tasks->runs);
        run->epochs += some;
        epochs -= some;
    }
    tasks->running = NULL;
}

/* Runs epochs until there are to be other homes. *epochs: what is left. */
static weft_status run_some(struct weft_recording *r, uint64_t *epochs, bool *again)
{
    weft_job *const job = r->job;
    WEFT_HOST_BEGIN(job, self, "weft_tasks_run");
    WEFT_HOST_TRY(check_state(r, host_name, true));
    WEFT_HOST_TRY(weft_host_together(job, host_name));
    WEFT_HOST_TRY(check_windows(r, host_name));
    if (r->shared)
        return weft_host_leave(job, weft_homes_run(r, self, epochs, again));
    weft_recorded_run(r, self, WEFT_RECORDED_EPOCHS, *epochs, false);
    *epochs = 0;
    return weft_host_leave(job, WEFT_OK);
}

weft_status weft_tasks_run(weft_recording *recording, uint64_t epochs)
{
    if (recording == NULL)
        return NO_RECORDING("weft_tasks_run");
    uint64_t left = epochs;
    do {
        bool again = false;
        WEFT_TRY(run_some(recording, &left, &again));
        if (again)
            WEFT_TRY(weft_homes_again(recording, "weft_tasks_run"));
    } while (left != 0);
    recording->epochs += epochs;
    return WEFT_OK;
}

weft_status weft_tasks_recorded(weft_recording *recording, weft_recording_numbers *numbers)
{
    if (recording == NULL || numbers == NULL)
        return weft_err(WEFT_ERR_ARGUMENT, "weft_tasks_recorded: an argument is NULL");
    const struct weft_task_host *const host = recording->job->tasks->place.host;
    const struct weft_recorded_run *const run = &recording->plan.run[WEFT_RECORDED_EPOCHS];
    *numbers = (weft_recording_numbers){.tasks = recording->recorded.tasks,
                                        .edges = weft_recorded_of(recording)->edges,
                                        .steps = run->steps,
                                        .epochs = recording->epochs,
                                        .waited = weft_load_relaxed_u64(&host->waited),
                                        .copies = recording->plan.copies,
                                        .copied = recording->plan.copied,
                                        .plans = recording->plans};
    return WEFT_OK;
}

const char *weft_recorded_name(const struct weft_tasks *tasks, uint32_t task, uint32_t *number,
                               int *home)
{
    const struct weft_recording *const r = tasks != NULL ? tasks->running : NULL;
    const struct weft_recorded *const all = r != NULL ? weft_recorded_of(r) : NULL;

    *number = task;
    *home = tasks != NULL ? tasks->place.me : 0;
    if (all == NULL || task >= all->tasks)
        return "?";
    *number = all->task[task].number;
    *home = all->task[task].home;
    return all->task[task].body == WEFT_TASK_COPY ? "a copy of its data"
                                                  : tasks->kernel->names[all->task[task].body];
}

/* ---- freeing --------------------------------------------------------------------------------- */

void weft_recorded_free(struct weft_recorded *recorded)
{
    free(recorded->task);
    free(recorded->data);
    free(recorded->arguments);
    free(recorded->win);
    free(recorded->edge);
    *recorded = (struct weft_recorded){.task = NULL};
}

weft_status weft_tasks_free(weft_recording **recording)
{
    if (recording == NULL || *recording == NULL)
        return NO_RECORDING("weft_tasks_free");
    weft_job *const job = (*recording)->job;
    WEFT_HOST_BEGIN(job, self, "weft_tasks_free");
    (*recording)->freed = true;
    weft_recorded_free(&(*recording)->recorded);
    if (job->device_ops->host_access && !(*recording)->shared)
        weft_plan_free(job, &(*recording)->plan); /* others do not free beside a kernel */
    *recording = NULL;
    return weft_host_leave(job, WEFT_OK);
}

void weft_recordings_free(struct weft_tasks *tasks, bool all)
{
    struct weft_recording **at = &tasks->recordings;

    tasks->running = NULL;
    while (*at != NULL) {
        struct weft_recording *const r = *at;
        if (!all && !r->freed) {
            at = &r->next;
            continue;
        }
        *at = r->next;
        weft_plan_free(r->job, &r->plan);
        weft_recorded_free(&r->recorded);
        free(r->told);
        free(r);
    }
}
