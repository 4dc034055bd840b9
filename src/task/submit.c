/*
 * task/submit.c - tasks that a host program creates, and what it asks of them.
 *
 * What it wants goes through a ring in host memory to the ranks of its place, in order. What
 * becomes of a task stands in its word of `state`, which it may sleep on.
 */
#include "task/run.h"
#include "task/tasks.h"

#include <stdio.h>
#include <string.h>

weft_status weft_tasks_of(weft_job *job, const char *call, struct weft_tasks **tasks)
{
    *tasks = job->tasks;
    return *tasks != NULL && (*tasks)->begun
               ? WEFT_OK
               : weft_refused(job, WEFT_ERR_STATE, "%s: tasks have not begun (weft_tasks_begin)",
                              call);
}

struct weft_task_entry *weft_tasks_entry(weft_job *job, weft_self *self)
{
    const struct weft_tasks *const tasks = job->tasks;
    struct weft_task_host *const host = tasks->place.host;

    do /* other threads of the program may post meanwhile */
        weft_wait_until_u32(self, &host->heard, WEFT_NE, tasks->posted - WEFT_TASK_ENTRIES);
    while (weft_load_acquire_u32(&host->heard, ORDER_task_take) ==
           tasks->posted - WEFT_TASK_ENTRIES);
    return &host->entry[tasks->posted % WEFT_TASK_ENTRIES];
}

void weft_tasks_posted(weft_job *job, enum weft_task_what what, uint32_t a)
{
    struct weft_tasks *const tasks = job->tasks;
    struct weft_task_entry *const entry =
        &tasks->place.host->entry[tasks->posted % WEFT_TASK_ENTRIES];

    entry->what = what;
    entry->a = a;
    weft_store_release_u32(&entry->turn, tasks->posted / WEFT_TASK_ENTRIES + 1, ORDER_task_give);
    tasks->posted++;
    weft_bell_ring(&job->space.state.exposed->bell);
}

/* ---- tasks ----------------------------------------------------------------------------------- */

/* Takes a name for a task that is about to be, which its record has. False: all are in use. */
static bool take_name(struct weft_tasks *tasks, struct weft_task_record *record)
{
    for (uint32_t i = 0; i < WEFT_TASK_STATES; i++) {
        const uint32_t number = (tasks->next + i) % WEFT_TASK_STATES;
        uint32_t *const state = &tasks->place.host->state[number];
        const uint32_t word = weft_load_relaxed_u32(state);
        if ((word & 0xff) != WEFT_TASK_NONE)
            continue;
        record->host = tasks->next = number + 1;
        record->generation = (word >> 8) % 0xffffff + 1; /* 24 bits, never 0 */
        weft_store_relaxed_u32(state, record->generation << 8 | WEFT_TASK_QUEUED);
        tasks->books[number] = WEFT_TASK_BOOKS_NONE;
        return true;
    }
    return false;
}

weft_status weft_task_check(weft_job *job, const struct weft_tasks *tasks, const char *call,
                            const weft_task_desc *desc)
{
    char text[160];
    int64_t n[3] = {0};
    const char *wrong = desc == NULL ? "%s: desc is NULL" : weft_task_wrong(desc, &tasks->place, n);

    if (wrong == NULL)
        return WEFT_OK;
    snprintf(text, sizeof(text), wrong, call, (long long)n[0], (long long)n[1], (long long)n[2]);
    return weft_refused(job, WEFT_ERR_ARGUMENT, "%s", text);
}

/* Creates a task. task NULL: nobody asks for it. */
static weft_status create(weft_job *job, weft_self *self, const char *call,
                          const weft_task_desc *desc, weft_task_id *task)
{
    struct weft_task_record record = {0};
    struct weft_tasks *tasks;

    WEFT_TRY(weft_tasks_of(job, call, &tasks));
    WEFT_TRY(weft_task_check(job, tasks, call, desc));
    weft_task_fill(&record, desc);
    if (task != NULL && !take_name(tasks, &record))
        return weft_refused(job, WEFT_ERR_LIMIT,
                            "%s: %d tasks were created whose end was not asked for", call,
                            WEFT_TASK_STATES);
    const uint32_t bytes = weft_task_record_bytes(record.datas);
    weft_write_shared(&weft_tasks_entry(job, self)->record, &record, bytes);
    if (task != NULL)
        tasks->books[record.host - 1] = (uint8_t)weft_task_books_after(tasks->phase);
    weft_tasks_posted(job, WEFT_TASK_WHAT_CREATE, bytes);
    if (task != NULL)
        *task = (weft_task_id){record.host - 1, record.generation};
    return WEFT_OK;
}

weft_status weft_task_create(weft_job *job, const weft_task_desc *desc, weft_task_id *task)
{
    WEFT_HOST_BEGIN(job, self, "weft_task_create");
    return weft_host_leave(job, create(job, self, host_name, desc, task));
}

/* Finds the word of a task's state. */
static weft_status find_state(weft_job *job, const char *call, weft_task_id task, uint32_t **state)
{
    struct weft_tasks *tasks;

    WEFT_TRY(weft_tasks_of(job, call, &tasks));
    *state = &tasks->place.host->state[task.number % WEFT_TASK_STATES];
    const uint32_t word = task.number < WEFT_TASK_STATES ? weft_load_relaxed_u32(*state) : 0;
    return task.generation != 0 && word >> 8 == task.generation && (word & 0xff) != WEFT_TASK_NONE
               ? WEFT_OK
               : weft_refused(
                     job, WEFT_ERR_ARGUMENT,
                     "%s: task %u of generation %u is none, or its end was asked for already", call,
                     task.number, task.generation);
}

/* Looks at a task's word; if the task has ended, its name is free. */
static weft_task_status look_at_state(uint32_t *state, weft_task_id task)
{
    const uint32_t word = weft_load_acquire_u32(state, ORDER_task_take);

    if (word >> 8 != task.generation || (word & 0xff) == WEFT_TASK_NONE)
        return WEFT_TASK_DONE; /* another thread's weft_tasks_finish took the name meanwhile */
    if ((word & 0xff) != WEFT_TASK_QUEUED)
        weft_store_relaxed_u32(state, word & ~0xffu);
    return (weft_task_status)(word & 0xff);
}

static void await(weft_self *self, uint32_t *state, weft_task_id task, weft_task_status *status)
{
    weft_wait_until_u32(self, state, WEFT_NE, task.generation << 8 | WEFT_TASK_QUEUED);
    const weft_task_status ended = look_at_state(state, task);
    if (status != NULL)
        *status = ended;
}

weft_status weft_task_wait(weft_job *job, weft_task_id task, weft_task_status *status)
{
    WEFT_HOST_BEGIN(job, self, "weft_task_wait");
    uint32_t *state;
    WEFT_HOST_TRY(find_state(job, host_name, task, &state));
    await(self, state, task, status);
    return weft_host_leave(job, WEFT_OK);
}

weft_status weft_task_test(weft_job *job, weft_task_id task, weft_task_status *status)
{
    WEFT_HOST_BEGIN(job, self, "weft_task_test");
    uint32_t *state;
    WEFT_HOST_TRY(weft_host_place(job, host_name, "status", status));
    WEFT_HOST_TRY(find_state(job, host_name, task, &state));
    *status = look_at_state(state, task);
    if (*status == WEFT_TASK_QUEUED)
        weft_port_poll(&self->port); /* loops around it let ranks run */
    return weft_host_leave(job, WEFT_OK);
}

weft_status weft_task_run(weft_job *job, const weft_task_desc *desc)
{
    WEFT_HOST_BEGIN(job, self, "weft_task_run");
    WEFT_HOST_TRY(weft_host_place(job, host_name, "desc", desc));
    weft_task_desc first = *desc;
    weft_task_id task;
    first.priority = 0;
    WEFT_HOST_TRY(create(job, self, host_name, &first, &task));
    await(self, &job->tasks->place.host->state[task.number], task, NULL);
    return weft_host_leave(job, WEFT_OK);
}

weft_status weft_task_cancel(weft_job *job, weft_task_id task)
{
    WEFT_HOST_BEGIN(job, self, "weft_task_cancel");
    uint32_t *state;
    WEFT_HOST_TRY(find_state(job, host_name, task, &state));
    const struct weft_task_place *const p = &job->tasks->place;
    /* Not through the ring: all ranks may be in bodies. */
    weft_swap(self, p->win, p->me, weft_task_mail_at(weft_task_cancel_at(p->places, task.number)),
              task.generation);
    return weft_host_leave(job, WEFT_OK);
}
