/*
 * task/homes.c - where recorded tasks of all places run, and that all places have recorded the
 * same.
 */
#include "task/recorded.h"
#include "task/tasks.h"

#include "runtime/job/exchange.h"

#include <stdlib.h>

/* ---- all have recorded the same -------------------------------------------------------------- */

static uint64_t hash_of(uint64_t hash, const void *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        hash = (hash ^ ((const unsigned char *)bytes)[i]) * 0x100000001b3u;
    return hash;
}

/* Of the first tasks. */
static uint64_t hash_tasks(const struct weft_recorded *all, uint32_t tasks)
{
    uint64_t hash = 0xcbf29ce484222325u;

    for (uint32_t t = 0; t < tasks; t++) {
        const struct weft_recorded_task *const task = &all->task[t];
        const uint64_t numbers[] = {task->count, task->spot,  task->body, task->datas,
                                    task->room,  task->flags, (uint64_t)task->home};
        hash = hash_of(hash, numbers, sizeof(numbers));
        hash = hash_of(hash, all->arguments + task->arguments, task->room);
        for (uint32_t i = task->data; i < task->data + task->datas; i++) {
            const weft_task_data_desc *const d = &all->data[i].desc;
            const uint64_t piece[] = {d->win,   (uint64_t)d->place, d->offset, d->bytes,
                                      d->pitch, d->rows,            d->mode};
            hash = hash_of(hash, piece, sizeof(piece));
        }
    }
    return hash;
}

/* Whether a number is the same at all places; *other: a place where it is not that of place 0. */
static weft_status same(weft_job *job, uint64_t mine, bool *equal, int *other)
{
    weft_status status;
    uint64_t *const all =
        weft_exchange_all(job, WEFT_EXCHANGE_RECORD, &mine, sizeof(mine), &status);

    *equal = true;
    for (int p = job->numbers.processes; all != NULL && p-- > 1;)
        if (all[p] != all[0]) {
            *equal = false;
            *other = p;
        }
    free(all);
    return all != NULL ? WEFT_OK : status;
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

/* ---- homes ----------------------------------------------------------------------------------- */

/* What a place tells the others. */
struct told {
    double speed;
    unsigned char reaches[]; /* by window and place */
};

struct spot {
    uint64_t spot;
    uint32_t task;
};

static int compare_spots(const void *a, const void *b)
{
    const struct spot *const x = a, *const y = b;

    if (x->spot != y->spot)
        return x->spot < y->spot ? -1 : 1;
    return x->task < y->task ? -1 : 1;
}

/* In bytes a nanosecond, as a first guess: of a GPU's multiprocessor, and of a processor. */
static double guessed_speed(const weft_job *job)
{
    const bool gpu = job->processes[job->numbers.process].kind == WEFT_KIND_CUDA;

    return (gpu ? 25.0 : 6.0) * job->numbers.ranks_here;
}

static const struct told *told_by(const struct weft_recording *r, int place)
{
    return (const void *)((const char *)r->told + (size_t)place * r->told_bytes);
}

weft_status weft_homes_agree(struct weft_recording *r, const char *call)
{
    const struct weft_recorded *const all = &r->recorded;
    const size_t places = (size_t)r->job->numbers.processes;
    weft_status status = compare(r, call);

    if (status != WEFT_OK)
        return status;
    r->told_bytes = (sizeof(struct told) + all->wins * places + 7) & ~(size_t)7;
    struct told *const mine = calloc(1, r->told_bytes);
    if (mine == NULL) {
        weft_job_fail(r->job, WEFT_ERR_MEMORY, "process %d: no memory in %s",
                      r->job->numbers.process, call);
        return WEFT_ERR_MEMORY;
    }
    mine->speed = guessed_speed(r->job);
    for (uint32_t w = 0; w < all->wins; w++)
        for (size_t q = 0; q < places; q++)
            mine->reaches[w * places + q] = weft_task_reaches(r->job, all->win[w], (int)q);
    r->told = weft_exchange_all(r->job, WEFT_EXCHANGE_RECORD, mine, r->told_bytes, &status);
    free(mine);
    return r->told != NULL ? WEFT_OK : status;
}

/* Another place that may run it. -1: none may. */
static int other_home(const weft_job *job, uint32_t flags)
{
    for (int p = 0; p < job->numbers.processes; p++)
        if (weft_task_may_run(job, flags, p))
            return p;
    return -1;
}

/* In the order of their spots, each place gets tasks for its share of the speed. */
static weft_status choose(struct weft_recording *r, const char *call, const struct spot *spots,
                          uint32_t count, const double *speed)
{
    const int places = r->job->numbers.processes;
    double calls = 0, all = 0, at = 0, end;
    int p = 0;

    for (uint32_t i = 0; i < count; i++)
        calls += (double)r->recorded.task[spots[i].task].count;
    for (int q = 0; q < places; q++)
        all += speed[q];
    end = calls * speed[0] / all;
    for (uint32_t i = 0; i < count; i++) {
        struct weft_recorded_task *const task = &r->recorded.task[spots[i].task];
        while (p + 1 < places && at + (double)task->count / 2 >= end)
            end += calls * speed[++p] / all;
        at += (double)task->count;
        task->home = weft_task_may_run(r->job, task->flags, p) ? p
                                                               : other_home(r->job, task->flags);
        if (task->home < 0)
            return weft_refused(r->job, WEFT_ERR_ARGUMENT, "%s: flags %u keep task %u from all places",
                                call, task->flags, task->number);
    }
    return WEFT_OK;
}

static weft_status choose_homes(struct weft_recording *r, const char *call, const double *speed)
{
    struct weft_recorded *const all = &r->recorded;
    struct spot *const spots = calloc((size_t)all->tasks + 1, sizeof(*spots));
    uint32_t count = 0;

    if (spots == NULL)
        return weft_refused(r->job, WEFT_ERR_MEMORY, "%s: no memory", call);
    for (uint32_t t = 0; t < all->tasks; t++)
        if (all->task[t].moves)
            spots[count++] = (struct spot){all->task[t].spot, t};
    qsort(spots, count, sizeof(*spots), compare_spots);
    const weft_status status = count != 0 ? choose(r, call, spots, count, speed) : WEFT_OK;
    free(spots);
    return status;
}

/* Whose memory the data of a task are in. */
static void find_storages(struct weft_recording *r)
{
    const struct weft_recorded *const all = &r->recorded;
    const size_t places = (size_t)r->job->numbers.processes;

    for (uint32_t t = 0; t < all->tasks; t++)
        for (uint32_t i = all->task[t].data; i < all->task[t].data + all->task[t].datas; i++) {
            struct weft_recorded_data *const data = &all->data[i];
            const int home = all->task[t].home;
            uint32_t w = 0;
            if (data->desc.mode == WEFT_TASK_SCRATCH)
                continue;
            while (all->win[w] != data->desc.win)
                w++;
            data->storage =
                told_by(r, home)->reaches[w * places + (size_t)data->desc.place] != 0
                    ? data->desc.place
                    : home;
        }
}

weft_status weft_homes_choose(struct weft_recording *r, const char *call)
{
    double *const speed = calloc((size_t)r->job->numbers.processes, sizeof(*speed));
    weft_status status = WEFT_ERR_MEMORY;

    for (int p = 0; speed != NULL && p < r->job->numbers.processes; p++)
        speed[p] = told_by(r, p)->speed;
    if (speed != NULL)
        status = choose_homes(r, call, speed);
    free(speed);
    if (status == WEFT_OK)
        find_storages(r);
    return status;
}
