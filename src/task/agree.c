/*
 * task/agree.c - all places have recorded the same tasks; and what each tells the others.
 */
#include "task/recorded.h"
#include "task/tasks.h"

#include "runtime/job/exchange.h"
#include "runtime/space/tables.h"

#include <stdlib.h>

/* ---- all have recorded the same -------------------------------------------------------------- */

static uint64_t hash_of(uint64_t hash, const void *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        hash = (hash ^ ((const unsigned char *)bytes)[i]) * 0x100000001b3u;
    return hash;
}

/* Hashes the first tasks. */
static uint64_t hash_tasks(const struct weft_recorded *all, uint32_t tasks)
{
    uint64_t hash = 0xcbf29ce484222325u;

    for (uint32_t t = 0; t < tasks; t++) {
        const struct weft_recorded_task *const task = &all->task[t];
        const uint64_t numbers[] = {task->count, task->spot,  task->body,          task->datas,
                                    task->room,  task->flags, (uint64_t)task->home};
        hash = hash_of(hash, numbers, sizeof(numbers));
        hash = hash_of(hash, all->arguments + task->arguments, task->room);
        for (uint32_t i = task->data; i < task->data + task->datas; i++) {
            const weft_task_data_desc *const d = &all->data[i].desc;
            const uint64_t piece[] = {
                d->win, (uint64_t)d->place, d->offset, d->bytes, d->pitch, d->rows, d->mode};
            hash = hash_of(hash, piece, sizeof(piece));
        }
    }
    return hash;
}

/* Compares a number at all places; *other: a place where it is not that of place 0. */
static weft_status same(weft_job *job, uint64_t mine, bool *equal, int *other)
{
    weft_status status;
    WEFT_FREED uint64_t *all =
        weft_exchange_all(job, WEFT_EXCHANGE_RECORD, &mine, sizeof(mine), &status);

    *equal = true;
    for (int p = job->numbers.processes; all != NULL && p-- > 1;)
        if (all[p] != all[0]) {
            *equal = false;
            *other = p;
        }
    return status;
}

weft_status weft_agree_on(weft_job *job, weft_status mine)
{
    weft_status status;
    WEFT_FREED weft_status *all =
        weft_exchange_all(job, WEFT_EXCHANGE_RECORD, &mine, sizeof(mine), &status);

    for (int p = 0; status == WEFT_OK && p < job->numbers.processes; p++)
        status = all[p];
    return status;
}

/* Error: MISMATCH, with the first task that differs. */
static weft_status compare(struct weft_recording *r, const char *call)
{
    const struct weft_recorded *const all = &r->recorded;
    uint32_t good = 0, bad = all->tasks;
    bool equal;
    int other = 0;

    WEFT_TRY(same(r->job, all->tasks, &equal, &other));
    if (!equal)
        return weft_refused(r->job, WEFT_ERR_MISMATCH,
                            "%s: places have not recorded the same: place %d has %u tasks, place "
                            "%d another number than place 0",
                            call, r->job->numbers.process, all->tasks, other);
    WEFT_TRY(same(r->job, hash_tasks(all, bad), &equal, &other));
    if (equal)
        return WEFT_OK;
    while (good + 1 < bad) { /* the first `good` are equal, the first `bad` are not */
        const uint32_t tasks = good + (bad - good) / 2;
        WEFT_TRY(same(r->job, hash_tasks(all, tasks), &equal, &other));
        *(equal ? &good : &bad) = tasks;
    }
    return weft_refused(r->job, WEFT_ERR_MISMATCH,
                        "%s: places have not recorded the same: task %u of place %d is not that "
                        "of place 0",
                        call, good, other);
}

/* ---- what places tell each other ------------------------------------------------------------- */

bool weft_task_reaches(const weft_job *job, weft_win win, int place)
{
    const struct weft_window_entry *const there =
        &weft_window_find(&job->space.state, win)->entry[place];

    return there->address != NULL && (place == job->numbers.process ||
                                      (job->device_ops->host_access &&
                                       job->space.state.process_table[place].exposed != NULL));
}

bool weft_task_may_run(const weft_job *job, uint32_t flags, int place)
{
    const bool gpu = job->processes[place].kind == WEFT_KIND_CUDA;

    return (flags & (gpu ? WEFT_TASK_CPU_ONLY : WEFT_TASK_GPU_ONLY)) == 0;
}

double weft_width_of(const weft_job *job)
{
    const struct weft_device_ops *const ops = job->device_ops;

    return ops->at_once != NULL && ops->at_once(job->device) < job->numbers.ranks_here
               ? ops->at_once(job->device)
               : job->numbers.ranks_here;
}

const struct weft_told *weft_told_by(const struct weft_recording *r, int place)
{
    return (const void *)((const char *)r->told + (size_t)place * r->told_bytes);
}

weft_status weft_agree(struct weft_recording *r, const char *call)
{
    const struct weft_recorded *const all = &r->recorded;
    const size_t places = (size_t)r->job->numbers.processes;
    const bool gpu = r->job->processes[r->job->numbers.process].kind == WEFT_KIND_CUDA;
    weft_status status;

    WEFT_TRY(compare(r, call));
    r->told_bytes = (sizeof(struct weft_told) + all->wins * places + 7) & ~(size_t)7;
    WEFT_FREED struct weft_told *mine = calloc(1, r->told_bytes);
    if (mine == NULL) {
        weft_job_fail(r->job, WEFT_ERR_MEMORY, "process %d: no memory in %s",
                      r->job->numbers.process, call);
        return WEFT_ERR_MEMORY;
    }
    /* In bytes a nanosecond, as a first guess: of a GPU's multiprocessor, and of a processor. */
    mine->speed = (gpu ? 25 : 6) * weft_width_of(r->job);
    mine->steals = r->job->config.steal != 0;
    for (uint32_t w = 0; w < all->wins; w++)
        for (size_t q = 0; q < places; q++)
            mine->reaches[w * places + q] = weft_task_reaches(r->job, all->win[w], (int)q);
    free(r->told);
    r->told = weft_exchange_all(r->job, WEFT_EXCHANGE_RECORD, mine, r->told_bytes, &status);
    return status;
}
