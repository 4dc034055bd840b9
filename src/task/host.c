/*
 * task/host.c - tasks begin, finish and end: the memory of a place, its kernel, and its numbers.
 */
#include "task/run.h"
#include "task/tasks.h"

#include "runtime/job/exchange.h"
#include "runtime/space/tables.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the memory of a place ------------------------------------------------------------------- */

/* Lays out a place in its memory (NULL: to measure), and a copy of its ranks; returns its bytes. */
static size_t lay_out(struct weft_tasks *tasks, struct weft_task_rank *ranks)
{
    struct weft_task_place *const p = &tasks->place;
    const size_t slots = (size_t)p->ranks * p->slots;
    unsigned char *const memory = tasks->memory;
    size_t at = 0;

    weft_task_carve(memory, &at, sizeof(*p));
    p->rank = weft_task_carve(memory, &at, p->ranks * sizeof(*p->rank));
    for (int i = 0; i < WEFT_TASK_PRIORITIES; i++)
        p->ready[i].cell = weft_task_carve(memory, &at, (p->ring_mask + 1) * sizeof(uint64_t));
    uint32_t *const cells = weft_task_carve(memory, &at, slots * sizeof(*cells));
    p->peer = weft_task_carve(memory, &at, (size_t)p->places * sizeof(*p->peer));
    p->record = weft_task_carve(memory, &at, slots * sizeof(*p->record));
    unsigned char *const scratch = weft_task_carve(memory, &at, p->ranks * p->scratch);
    for (uint32_t r = 0; memory != NULL && r < p->ranks; r++) {
        ranks[r].cell = cells + (size_t)r * p->slots;
        ranks[r].scratch = scratch + (size_t)r * p->scratch;
    }
    return at;
}

static void describe(struct weft_task_place *p, const weft_job *job, const weft_task_kernel *kernel)
{
    uint64_t cells = 1;

    p->me = job->numbers.process;
    p->places = job->numbers.processes;
    p->ranks = (uint32_t)job->numbers.ranks_here;
    p->slots = (uint32_t)job->config.task_slots;
    while (cells < (uint64_t)p->ranks * (p->slots + 1))
        cells *= 2;
    p->ring_mask = (uint32_t)cells - 1;
    p->bodies = kernel->bodies;
    for (int q = 0; q < p->places && q < 32; q++)
        p->kinds |= (uint32_t)(job->processes[q].kind == WEFT_KIND_CUDA) << q;
    p->barred =
        job->processes[p->me].kind == WEFT_KIND_CUDA ? WEFT_TASK_CPU_ONLY : WEFT_TASK_GPU_ONLY;
    p->scratch = (job->config.task_scratch + 63) & ~(uint64_t)63;
    p->stealing = job->config.steal != 0;
    p->asking = -1;
    p->backoff = 20000;
    p->ticket = WEFT_TASK_OVER;
    p->recorded.home = p->me;
}

/* Makes so many lines of memory, all zero. */
static void *make_lines(size_t bytes)
{
    void *const lines = aligned_alloc(64, bytes);

    return lines != NULL ? memset(lines, 0, bytes) : NULL;
}

/* Bytes of the place and its ranks, which lie behind it. The rest is zero at first. */
static size_t image_bytes(const struct weft_task_place *p)
{
    return sizeof(*p) + p->ranks * sizeof(struct weft_task_rank);
}

/* Local. */
static weft_status make_place(weft_job *job, struct weft_tasks *tasks)
{
    struct weft_task_place *const p = &tasks->place;
    const size_t mail = weft_task_mail_bytes(p->places), bytes = lay_out(tasks, NULL);
    weft_status status = WEFT_OK;

    tasks->image = make_lines(image_bytes(p));
    tasks->memory = weft_malloc(job, bytes);
    p->mail = weft_malloc(job, mail);
    p->host = job->device_ops->host_alloc(job->device, sizeof(*p->host));
    if (tasks->image == NULL || tasks->memory == NULL || p->mail == NULL || p->host == NULL)
        status = weft_refused(job, WEFT_ERR_MEMORY,
                              "weft_tasks_begin: process %d has no %zu bytes for tasks "
                              "(WEFT_TASK_SLOTS, WEFT_TASK_SCRATCH)",
                              p->me, bytes + mail + sizeof(*p->host));
    if (status == WEFT_OK) {
        lay_out(tasks, (struct weft_task_rank *)(tasks->image + 1));
        *(struct weft_tasks_begun *)tasks->data = (struct weft_tasks_begun){tasks->memory, NULL};
        /* The place itself waits for its window. */
        status = weft_copy(job, tasks->memory, tasks->image, image_bytes(p));
    }
    return status;
}

static void free_tasks(weft_job *job)
{
    struct weft_tasks *tasks = job->tasks;

    if (tasks == NULL)
        return;
    weft_recordings_free(tasks, true);
    weft_free(job, tasks->memory);
    weft_free(job, tasks->place.mail);
    weft_job_host_free(job, tasks->place.host);
    free(tasks->data);
    free(tasks->image);
    *tasks = (struct weft_tasks){
        .kernel = tasks->kernel, .numbers = tasks->numbers, .counted = tasks->counted};
}

static void tasks_close(struct weft_job *job)
{
    free_tasks(job);
    free(job->tasks);
    job->tasks = NULL;
}

const struct weft_service weft_tasks_module = {.close = tasks_close};

/* ---- beginning ------------------------------------------------------------------------------- */

/* Checks that all have the same list of bodies. */
static weft_status agree(weft_job *job, const weft_task_kernel *kernel)
{
    char mine[WEFT_TASK_BODIES][WEFT_TASK_NAME] = {{0}};
    weft_status status;

    for (uint32_t i = 0; i < kernel->bodies; i++)
        snprintf(mine[i], WEFT_TASK_NAME, "%s", kernel->names[i]);
    char(*const all)[WEFT_TASK_BODIES][WEFT_TASK_NAME] =
        weft_exchange_all(job, WEFT_EXCHANGE_TASKS, mine, sizeof(mine), &status);
    for (int q = 1; q < job->numbers.processes; q++)
        for (uint32_t i = 0; status == WEFT_OK && i < WEFT_TASK_BODIES; i++)
            if (strncmp(all[q][i], all[0][i], WEFT_TASK_NAME) != 0)
                status = weft_refused(
                    job, WEFT_ERR_MISMATCH,
                    "weft_tasks_begin: task %u is \"%.31s\" in process 0, \"%.31s\" in process %d",
                    i, all[0][i], all[q][i], q);
    free(all);
    return status;
}

static weft_status check(weft_job *job, const weft_task_kernel *kernel, const void *user)
{
    WEFT_TRY(weft_job_idle(job, "weft_tasks_begin"));
    if (job->tasks != NULL && job->tasks->begun)
        return weft_refused(job, WEFT_ERR_STATE, "weft_tasks_begin: tasks have begun already");
    if (kernel == NULL || kernel->bodies < 1 || kernel->bodies > WEFT_TASK_BODIES || user == NULL)
        return weft_refused(job, WEFT_ERR_ARGUMENT,
                            "weft_tasks_begin: kernel, user data, or no list of 1..%d bodies",
                            WEFT_TASK_BODIES);
    return WEFT_OK;
}

/* Starts the place that ranks see, and the kernel. Collective. */
static weft_status start(weft_job *job, struct weft_tasks *tasks, const weft_task_kernel *kernel)
{
    struct weft_task_place *const p = &tasks->place;
    const weft_status made = make_place(job, tasks);

    if (made != WEFT_OK)
        weft_job_fail(job, made, "process %d has no memory for tasks", job->numbers.process);
    WEFT_TRY(made);
    WEFT_TRY(weft_host_win_create(job, p->mail, weft_task_mail_bytes(p->places), &p->win));
    WEFT_TRY(weft_copy(job, tasks->memory, p, sizeof(*p)));
    return weft_start(job, tasks->data, kernel->kernel->user_bytes);
}

weft_status weft_tasks_begin(weft_job *job, const weft_task_kernel *kernel, void *user, int threads,
                             int max_ranks)
{
    WEFT_TRY(check(job, kernel, user));
    WEFT_TRY(agree(job, kernel));
    WEFT_TRY(weft_prepare(job, kernel->kernel, threads, max_ranks));
    free(job->tasks);
    struct weft_tasks *const tasks = job->tasks = make_lines(sizeof(*tasks));
    if (tasks != NULL)
        tasks->data = calloc(1, kernel->kernel->user_bytes);
    if (tasks == NULL || tasks->data == NULL) {
        weft_job_fail(job, WEFT_ERR_MEMORY, "process %d has no memory for tasks",
                      job->numbers.process);
        return WEFT_ERR_MEMORY;
    }
    tasks->kernel = kernel;
    tasks->user = user;
    memcpy((unsigned char *)tasks->data + sizeof(struct weft_tasks_begun), user,
           kernel->user_bytes);
    describe(&tasks->place, job, kernel);
    const weft_status status = start(job, tasks, kernel);
    if (status == WEFT_OK)
        tasks->begun = true;
    else
        free_tasks(job);
    return status;
}

/* ---- finishing ------------------------------------------------------------------------------- */

/* Ends the phase: all tasks of it are done at all places. */
static weft_status finish(weft_job *job, weft_self *self, const char *call)
{
    struct weft_tasks *tasks;

    WEFT_TRY(weft_tasks_of(job, call, &tasks));
    WEFT_TRY(weft_host_together(job, call));
    weft_tasks_entry(job, self);
    tasks->phase = tasks->phase % WEFT_TASK_PHASES + 1;
    weft_tasks_posted(job, WEFT_TASK_WHAT_CLOSE, tasks->phase);
    weft_wait_until_u32(self, &tasks->place.host->finished, WEFT_EQ, tasks->phase);
    return WEFT_OK;
}

weft_status weft_tasks_finish(weft_job *job)
{
    WEFT_HOST_BEGIN(job, self, "weft_tasks_finish");
    WEFT_HOST_TRY(finish(job, self, host_name));
    const struct weft_tasks *const tasks = job->tasks;
    for (uint32_t i = 0; i < WEFT_TASK_STATES; i++) { /* names of the phase: all are done */
        uint32_t *const state = &tasks->place.host->state[i];
        if (tasks->books[i] == (weft_task_books_after(tasks->phase) ^ 1))
            weft_store_relaxed_u32(state, weft_load_relaxed_u32(state) & ~0xffu);
    }
    return weft_host_leave(job, WEFT_OK);
}

/* Stops the ranks, which end when they find no task. */
static weft_status stop(weft_job *job, weft_self *self, const char *call)
{
    WEFT_TRY(finish(job, self, call));
    weft_tasks_entry(job, self);
    weft_tasks_posted(job, WEFT_TASK_WHAT_STOP, 0);
    return WEFT_OK;
}

static weft_status stop_to_pause(weft_job *job)
{
    WEFT_HOST_BEGIN(job, self, "weft_tasks_ready");
    return weft_host_leave(job, stop(job, self, host_name));
}

weft_status weft_tasks_pause(weft_job *job)
{
    WEFT_TRY(stop_to_pause(job));
    WEFT_TRY(weft_finish(job, NULL));
    weft_recordings_free(job->tasks, false);
    return WEFT_OK;
}

weft_status weft_tasks_resume(weft_job *job)
{
    const struct weft_tasks *const tasks = job->tasks;
    const uint32_t on = 0;
    const weft_status status =
        weft_copy(job, &((struct weft_task_place *)tasks->memory)->stop, &on, sizeof(on));

    if (status != WEFT_OK) /* others go on, and would wait for ranks that do not run */
        weft_job_fail(job, status, "process %d could not start its tasks again",
                      job->numbers.process);
    WEFT_TRY(status);
    return weft_start(job, tasks->data, tasks->kernel->kernel->user_bytes);
}

/* Adds up what the ranks have counted. On failure the job fails: all free windows together. */
static weft_status count(weft_job *job, struct weft_tasks *tasks)
{
    const struct weft_task_place *const p = &tasks->place;
    const struct weft_task_rank *const ranks = (const struct weft_task_rank *)(tasks->image + 1);
    const weft_status status = weft_copy(job, tasks->image, tasks->memory, image_bytes(p));

    if (status != WEFT_OK)
        weft_job_fail(job, status, "process %d could not read what its ranks have counted", p->me);
    WEFT_TRY(status);
    tasks->numbers.given = tasks->image->given;
    for (uint32_t r = 0; r < p->ranks; r++) {
        tasks->numbers.executed += ranks[r].executed;
        tasks->numbers.taken += ranks[r].taken;
        tasks->numbers.bytes += ranks[r].bytes;
    }
    return WEFT_OK;
}

static weft_status stop_to_end(weft_job *job)
{
    WEFT_HOST_BEGIN(job, self, "weft_tasks_end");
    return weft_host_leave(job, stop(job, self, host_name));
}

weft_status weft_tasks_end(weft_job *job)
{
    weft_status status = stop_to_end(job);
    struct weft_tasks *const tasks = job != NULL ? job->tasks : NULL;

    if (tasks == NULL || !tasks->begun)
        return status;
    const weft_status ended = weft_finish(job, NULL);
    if (status == WEFT_OK)
        status = ended;
    if (status == WEFT_OK) {
        memcpy(tasks->user, (unsigned char *)tasks->data + sizeof(struct weft_tasks_begun),
               tasks->kernel->user_bytes);
        status = count(job, tasks);
    }
    if (status == WEFT_OK) {
        weft_recordings_free(tasks, true);
        status = weft_host_win_free(job, &tasks->place.win);
    }
    if (status == WEFT_OK) {
        tasks->counted = true;
        weft_say(WEFT_SAY_INFO,
                 "tasks: %llu calls at place %d, %llu tasks taken from others, %llu given, %llu "
                 "bytes moved",
                 (unsigned long long)tasks->numbers.executed, tasks->place.me,
                 (unsigned long long)tasks->numbers.taken, (unsigned long long)tasks->numbers.given,
                 (unsigned long long)tasks->numbers.bytes);
    }
    free_tasks(job);
    return status;
}

weft_status weft_tasks_numbers(weft_job *job, weft_task_numbers *numbers)
{
    WEFT_TRY(weft_job_owned(job, "weft_tasks_numbers"));
    if (numbers == NULL)
        return weft_err(WEFT_ERR_ARGUMENT, "weft_tasks_numbers: numbers is NULL");
    if (job->tasks == NULL || !job->tasks->counted)
        return weft_err(WEFT_ERR_STATE, "weft_tasks_numbers: tasks have not ended");
    *numbers = job->tasks->numbers;
    return WEFT_OK;
}
