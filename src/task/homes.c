/*
 * task/homes.c - where recorded tasks of all places run. Each place has the share of tasks that its
 * speed is of all: a guess at first, then what the epochs have shown. A round of epochs decides on
 * the next one; the best homes stay.
 */
#include "task/recorded.h"
#include "task/tasks.h"

#include "base/say.h"
#include "runtime/job/exchange.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- homes ----------------------------------------------------------------------------------- */

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

/* Finds the first place that may run it, from one on. -1: none may. */
static int home_from(const weft_job *job, uint32_t flags, int first)
{
    for (int i = 0, p = first; i < job->numbers.processes;
         i++, p = (p + 1) % job->numbers.processes)
        if (weft_task_may_run(job, flags, p))
            return p;
    return -1;
}

/* Chooses homes: in the order of spots each place gets tasks for its share of the speed. */
static weft_status choose(struct weft_recording *r, const char *call, const struct spot *spots,
                          uint32_t count)
{
    const int places = r->job->numbers.processes;
    double calls = 0, all = 0, at = 0, end;
    int p = 0;

    for (uint32_t i = 0; i < count; i++)
        calls += (double)r->recorded.task[spots[i].task].count;
    for (int q = 0; q < places; q++)
        all += r->speed[q].planned;
    end = calls * r->speed[0].planned / all;
    for (uint32_t i = 0; i < count; i++) {
        struct weft_recorded_task *const task = &r->recorded.task[spots[i].task];
        while (p + 1 < places && at + (double)task->count / 2 >= end)
            end += calls * r->speed[++p].planned / all;
        at += (double)task->count;
        task->home = home_from(r->job, task->flags, p);
        if (task->home < 0)
            return weft_refused(r->job, WEFT_ERR_ARGUMENT,
                                "%s: flags %u keep task %u from all places", call, task->flags,
                                task->number);
    }
    return WEFT_OK;
}

static weft_status choose_homes(struct weft_recording *r, const char *call)
{
    struct weft_recorded *const all = &r->recorded;
    struct spot *const spots = calloc((size_t)all->tasks + 1, sizeof(*spots));
    uint32_t count = 0;

    if (spots == NULL)
        return WEFT_ERR_MEMORY;
    for (uint32_t t = 0; t < all->tasks; t++)
        if (all->task[t].moves)
            spots[count++] = (struct spot){all->task[t].spot, t};
    qsort(spots, count, sizeof(*spots), compare_spots);
    const weft_status status = count != 0 ? choose(r, call, spots, count) : WEFT_OK;
    free(spots);
    return status;
}

/* Whose memory the data of a task are in. */
static void find_storages(struct weft_recording *r)
{
    const struct weft_recorded *const all = &r->recorded;

    for (uint32_t t = 0; t < all->tasks; t++)
        for (uint32_t i = all->task[t].data; i < all->task[t].data + all->task[t].datas; i++) {
            struct weft_recorded_data *const data = &all->data[i];
            const int home = all->task[t].home;
            uint32_t w = 0;
            if (!weft_recorded_has_bytes(data))
                continue;
            while (all->win[w] != data->desc.win)
                w++;
            const size_t at = w * (size_t)r->job->numbers.processes + (size_t)data->desc.place;
            data->storage = weft_told_by(r, home)->reaches[at] != 0 ? data->desc.place : home;
        }
}

/* Homes by the planned speeds, and the plan. Without success at all places the plan stays as it
 * was. Collective. Errors: ARGUMENT, MEMORY, of which this is not said, DEVICE, and the job's own.
 */
static weft_status plan_by(struct weft_recording *r, const char *call)
{
    weft_job *const job = r->job;
    struct weft_plan before = r->plan;
    weft_status status = choose_homes(r, call);

    r->plan = (struct weft_plan){.block = NULL};
    if (status == WEFT_OK) {
        find_storages(r);
        status = weft_plan(r);
    }
    status = weft_agree_on(job, status);
    if (status == WEFT_OK)
        status = weft_tasks_pause(job);
    const bool paused = status == WEFT_OK;
    if (paused)
        status = weft_plan_settle(r);
    weft_plan_free(job, status == WEFT_OK ? &before : &r->plan);
    if (status == WEFT_OK)
        r->plans++;
    else
        r->plan = before;
    const weft_status resumed = paused ? weft_tasks_resume(job) : WEFT_OK;
    return resumed != WEFT_OK ? resumed : status;
}

/* Sets the guesses, but each place gets a task, so that its speed becomes known. */
static void guess_speeds(struct weft_recording *r)
{
    const int places = r->job->numbers.processes;
    double calls = 0, all = 0;

    for (uint32_t t = 0; t < r->recorded.tasks; t++)
        calls += r->recorded.task[t].moves ? (double)r->recorded.task[t].count : 0;
    r->round = calls > 0;
    for (int p = 0; p < places; p++) {
        all += weft_told_by(r, p)->speed;
        r->round = r->round && weft_told_by(r, p)->steals;
    }
    for (int p = 0; p < places; p++)
        r->speed[p].planned = fmax(weft_told_by(r, p)->speed, calls > 0 ? all / calls : 0);
}

weft_status weft_homes_find(struct weft_recording *r, const char *call)
{
    WEFT_TRY(weft_agree(r, call));
    guess_speeds(r);
    const weft_status status = plan_by(r, call);
    if (status == WEFT_ERR_LIMIT)
        return weft_refused(r->job, status, "%s: %s", call, r->job->space.no_window);
    if (status != WEFT_ERR_MEMORY)
        return status;
    return weft_refused(r->job, status,
                        "%s: %u tasks: a place has no memory for tables, or for words and copies, "
                        "of which place %d needs %llu bytes",
                        call, r->recorded.tasks, r->job->numbers.process,
                        (unsigned long long)r->needed);
}

/* ---- rounds ---------------------------------------------------------------------------------- */

struct measured {
    double ns, speed; /* ns of an epoch; calls a ns of its bodies, 0: there were none */
};

/* *ns: the longest time of an epoch. All places' speeds; of one without tasks as it was guessed,
 * compared with others. */
static weft_status measure(struct weft_recording *r, double *ns, uint64_t epochs, uint64_t busy)
{
    const int places = r->job->numbers.processes;
    struct measured mine = {.ns = *ns};
    double known = 0, guessed = 0;
    weft_status status;

    for (uint32_t t = 0; t < r->recorded.tasks && busy != 0; t++)
        if (r->recorded.task[t].home == r->job->numbers.process)
            mine.speed += (double)r->recorded.task[t].count * (double)epochs *
                          weft_width_of(r->job) / (double)busy;
    WEFT_FREED struct measured *all =
        weft_exchange_all(r->job, WEFT_EXCHANGE_RECORD, &mine, sizeof(mine), &status);
    for (int p = 0; all != NULL && p < places; p++) {
        *ns = fmax(*ns, all[p].ns);
        if (all[p].speed > 0)
            r->speed[p].measured = all[p].speed;
        known += r->speed[p].measured;
        guessed += r->speed[p].measured > 0 ? weft_told_by(r, p)->speed : 0;
    }
    for (int p = 0; all != NULL && p < places; p++)
        if (r->speed[p].measured <= 0)
            r->speed[p].measured = guessed > 0 ? weft_told_by(r, p)->speed * known / guessed : 1;
    return status;
}

/* Plans the fastest place alone, if others together would help it little. */
static bool try_alone(struct weft_recording *r)
{
    const int places = r->job->numbers.processes;
    double all = 0;
    int first = 0;

    for (int p = 0; p < places; p++) {
        all += r->speed[p].measured;
        first = r->speed[p].measured > r->speed[first].measured ? p : first;
    }
    if (r->alone || all > 1.25 * r->speed[first].measured)
        return false;
    r->alone = true;
    for (int p = 0; p < places; p++)
        r->speed[p].planned = p == first ? r->speed[p].measured : 0;
    return true;
}

/* Decides, the same at all places, by r->speed, whether homes change after a round. In the end the
 * best plan stays: each place's share by its speed, as long as that helps, or one place. */
static bool consider(struct weft_recording *r, double ns)
{
    enum { MOST_PLANS = 6 };
    const int places = r->job->numbers.processes;
    const bool better = r->best_ns <= 0 || ns < 0.97 * r->best_ns;
    const bool more = better && !r->alone && r->plans < MOST_PLANS;

    r->round *= 2;
    if (better) {
        r->best_ns = ns;
        for (int p = 0; p < places; p++)
            r->speed[p].best = r->speed[p].planned;
        for (int p = 0; p < places && more; p++)
            r->speed[p].planned = r->speed[p].measured;
        if (more)
            return true;
    }
    if (try_alone(r))
        return true;
    r->round = 0;
    for (int p = 0; p < places; p++)
        r->speed[p].planned = r->speed[p].best;
    return !better;
}

/* Runs the epochs of a round; *again: homes are to be others. */
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

weft_status weft_homes_again(struct weft_recording *r, const char *call)
{
    const weft_status status = plan_by(r, call);

    if (status != WEFT_ERR_MEMORY && status != WEFT_ERR_LIMIT)
        return status;
    weft_say(WEFT_SAY_WARN,
             "%s: homes stay as they are: a place has no memory for others, of which place %d "
             "needs %llu bytes, or there is no second window for it (WEFT_WINDOWS=%d)",
             call, r->job->numbers.process, (unsigned long long)r->needed,
             (int)r->job->config.windows);
    r->round = 0;
    return WEFT_OK;
}

weft_status weft_homes_run(struct weft_recording *r, weft_self *self, uint64_t *epochs, bool *again)
{
    if (*epochs == 0)
        return WEFT_OK;
    copy_all(r, self, WEFT_RECORDED_FETCH);
    while (*epochs != 0 && !*again) {
        const uint64_t some = r->round != 0 && r->round < *epochs ? r->round : *epochs;
        WEFT_TRY(run_round(r, self, some, again));
        *epochs -= some;
    }
    copy_all(r, self, WEFT_RECORDED_RETURN);
    return WEFT_OK;
}
