/*
 * task/homes.c - where recorded tasks of all places run. Places compare what they have recorded.
 * Then each has the share of tasks that its speed is of all: a guess at first, then what the epochs
 * have shown. A round of epochs decides on the next one; the best homes stay.
 */
#include "task/recorded.h"
#include "task/tasks.h"

#include "runtime/job/exchange.h"

#include <stdlib.h>
#include <string.h>

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

/* Ranks of this place that run at the same time. */
static double width_of(const weft_job *job)
{
    const struct weft_device_ops *const ops = job->device_ops;

    return ops->at_once != NULL && ops->at_once(job->device) < job->numbers.ranks_here
               ? ops->at_once(job->device)
               : job->numbers.ranks_here;
}

/* In bytes a nanosecond, as a first guess: of a GPU's multiprocessor, and of a processor. */
static double guessed_speed(const weft_job *job)
{
    return (job->processes[job->numbers.process].kind == WEFT_KIND_CUDA ? 25 : 6) * width_of(job);
}

static const struct told *told_by(const struct weft_recording *r, int place)
{
    return (const void *)((const char *)r->told + (size_t)place * r->told_bytes);
}

/* What places have recorded, and what they reach. */
static weft_status agree(struct weft_recording *r, const char *call)
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
        task->home =
            weft_task_may_run(r->job, task->flags, p) ? p : other_home(r->job, task->flags);
        if (task->home < 0)
            return weft_refused(r->job, WEFT_ERR_ARGUMENT,
                                "%s: flags %u keep task %u from all places", call, task->flags,
                                task->number);
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
            data->storage = told_by(r, home)->reaches[w * places + (size_t)data->desc.place] != 0
                                ? data->desc.place
                                : home;
        }
}

/* Homes by these speeds, and the plan. Errors: ARGUMENT, MEMORY, DEVICE, of which the last two are
 * not said. */
static weft_status plan_by(struct weft_recording *r, const char *call, const double *speed)
{
    WEFT_TRY(choose_homes(r, call, speed));
    find_storages(r);
    r->before += r->run[WEFT_RECORDED_EPOCHS].epochs;
    r->run[WEFT_RECORDED_EPOCHS].epochs = 0;
    WEFT_TRY(weft_plan(r));
    r->plans++;
    r->calls = 0;
    for (uint32_t t = 0; t < r->recorded.tasks; t++)
        if (r->recorded.task[t].home == r->job->numbers.process)
            r->calls += r->recorded.task[t].count;
    return WEFT_OK;
}

/* Of r->speed, by place. */
enum { PLANNED, BEST, MEASURED, SPEEDS };
static double *speeds(const struct weft_recording *r, int which)
{
    return r->speed + which * r->job->numbers.processes;
}

weft_status weft_homes_find(struct weft_recording *r, const char *call)
{
    const size_t places = (size_t)r->job->numbers.processes;
    bool moves = false;

    WEFT_TRY(agree(r, call));
    r->speed = calloc(SPEEDS * places, sizeof(*r->speed));
    weft_status status = WEFT_ERR_MEMORY;
    for (size_t p = 0; r->speed != NULL && p < places; p++)
        speeds(r, PLANNED)[p] = speeds(r, MEASURED)[p] = told_by(r, (int)p)->speed;
    if (r->speed != NULL)
        status = plan_by(r, call, speeds(r, PLANNED));
    for (uint32_t t = 0; t < r->recorded.tasks; t++)
        moves = moves || r->recorded.task[t].moves;
    r->round = moves && r->job->config.steal != 0;
    if (status == WEFT_OK || status == WEFT_ERR_ARGUMENT)
        return status;
    return weft_refused(r->job, status,
                        "%s: %u tasks: no memory for tables, or for words and copies, of which "
                        "%llu bytes are needed and %llu left (WEFT_TASK_COPIES)",
                        call, r->recorded.tasks, (unsigned long long)(r->end - r->words),
                        (unsigned long long)(r->job->tasks->room - r->words));
}

/* ---- rounds ---------------------------------------------------------------------------------- */

struct measured {
    double ns, speed; /* of an epoch; calls a ns of bodies, 0: it has had none */
};

/* *ns: the longest time of an epoch; all places' speeds. */
static weft_status measure(struct weft_recording *r, double *ns, uint64_t epochs, uint64_t busy)
{
    const double calls = (double)r->calls * (double)epochs * width_of(r->job);
    const struct measured mine = {.ns = *ns, .speed = busy != 0 ? calls / (double)busy : 0};
    weft_status status;
    struct measured *const all =
        weft_exchange_all(r->job, WEFT_EXCHANGE_RECORD, &mine, sizeof(mine), &status);

    for (int p = 0; all != NULL && p < r->job->numbers.processes; p++) {
        *ns = all[p].ns > *ns ? all[p].ns : *ns;
        if (all[p].speed > 0)
            speeds(r, MEASURED)[p] = all[p].speed;
    }
    free(all);
    return all != NULL ? WEFT_OK : status;
}

/* The fastest place alone, if others together would help it little. */
static bool try_alone(struct weft_recording *r)
{
    const int places = r->job->numbers.processes;
    const double *const speed = speeds(r, MEASURED);
    double all = 0;
    int first = 0;

    for (int p = 0; p < places; p++) {
        all += speed[p];
        first = speed[p] > speed[first] ? p : first;
    }
    if (r->alone || all > 1.25 * speed[first])
        return false;
    r->alone = true;
    for (int p = 0; p < places; p++)
        speeds(r, PLANNED)[p] = p == first ? speed[p] : 0;
    return true;
}

static void copy_speeds(struct weft_recording *r, int to, int from)
{
    memcpy(speeds(r, to), speeds(r, from), (size_t)r->job->numbers.processes * sizeof(*r->speed));
}

/* The same at all places: whether there are to be other homes, by r->speed, after a round. The best
 * plan stays in the end: each place's share by its speed, as long as that helps, or one place. */
static bool consider(struct weft_recording *r, double ns)
{
    enum { MOST_PLANS = 6 };
    const bool better = r->best_ns <= 0 || ns < 0.97 * r->best_ns;

    r->round *= 2;
    if (better) {
        r->best_ns = ns;
        copy_speeds(r, BEST, PLANNED);
        if (!r->alone && r->plans < MOST_PLANS) {
            copy_speeds(r, PLANNED, MEASURED);
            return true;
        }
    }
    if (try_alone(r))
        return true;
    r->round = 0;
    copy_speeds(r, PLANNED, BEST);
    return !better;
}

/* Epochs of a round; *again: homes are to be others. */
static weft_status run_round(struct weft_recording *r, weft_self *self, uint64_t epochs,
                             bool *again)
{
    const uint64_t busy = weft_load_relaxed_u64(&r->job->tasks->place.host->busy);
    const uint64_t began = weft_now_ns();

    weft_recorded_run(r, self, WEFT_RECORDED_EPOCHS, epochs, r->round != 0);
    if (r->round == 0)
        return WEFT_OK;
    double ns = (double)(weft_now_ns() - began) / (double)epochs;
    WEFT_TRY(
        measure(r, &ns, epochs, weft_load_relaxed_u64(&r->job->tasks->place.host->busy) - busy));
    *again = consider(r, ns);
    return WEFT_OK;
}

static void copy_all(struct weft_recording *r, weft_self *self, int which)
{
    weft_barrier(self, WEFT_COMM_HOST);
    weft_recorded_run(r, self, which, 1, false);
    weft_barrier(self, WEFT_COMM_HOST);
}

/* Other homes, while windows have all data. A plan that has no room is not taken. */
static weft_status plan_again(struct weft_recording *r, const char *call)
{
    weft_status status = plan_by(r, call, speeds(r, PLANNED));

    if (status != WEFT_ERR_MEMORY)
        return status;
    copy_speeds(r, PLANNED, BEST);
    r->round = 0;
    status = plan_by(r, call, speeds(r, PLANNED));
    return status == WEFT_OK ? status
                             : weft_refused(r->job, status, "%s: no memory for a plan of %u tasks",
                                            call, r->recorded.tasks);
}

weft_status weft_homes_run(struct weft_recording *r, weft_self *self, const char *call,
                           uint64_t epochs)
{
    bool away = false;

    while (epochs != 0) {
        const uint64_t some = r->round != 0 && r->round < epochs ? r->round : epochs;
        bool again = false;
        if (!away)
            copy_all(r, self, WEFT_RECORDED_FETCH);
        WEFT_TRY(run_round(r, self, some, &again));
        epochs -= some;
        away = !again && epochs != 0;
        if (!away)
            copy_all(r, self, WEFT_RECORDED_RETURN);
        if (again)
            WEFT_TRY(plan_again(r, call));
    }
    return WEFT_OK;
}
