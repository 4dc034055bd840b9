/*
 * task/record.h - recorded tasks, as ranks run them: without a queue, and without the host program.
 *
 * The place has the steps of an epoch in one order. A rank takes a ticket, which is a step of an
 * epoch, waits until the tasks before it are done, runs it, and says that it is done by a word that
 * only grows. Nothing is reset, and epochs need no barrier. The unfinished step that comes first
 * waits for nothing, and who has its ticket does nothing else: so none waits for ever.
 */
#ifndef WEFT_TASK_RECORD_H
#define WEFT_TASK_RECORD_H

#include "task/data.h"

enum { WEFT_TASK_STEPS = 16 }; /* steps that a rank runs before it looks at anything else */

/* Where a rank is in a run; shared by its threads. */
struct weft_task_going {
    struct weft_task_run run;
    uint64_t ticket; /* last ticket, counted from the run's first */
    uint64_t at;     /* step of the ticket */
    uint64_t epoch;  /* epoch of that step */
    uint32_t number; /* number of the run */
    uint32_t begun;  /* 1: the rank has a step to run */
    uint32_t last;   /* 1: the step was the last one of its task */
};

/* Whether a ticket may be left. The leader. */
WEFT_INLINE bool weft_task_has_tickets(const struct weft_task_place *p)
{
    return (weft_load_relaxed_u64(&p->ticket) & WEFT_TASK_OVER) == 0;
}

/* Begins a run, of which the service has heard, when none is under way. The leader. */
WEFT_INLINE void weft_task_run_begin(weft_self *self, struct weft_task_place *p,
                                     const struct weft_task_entry *entry)
{
    p->run.tables = *(const struct weft_task_tables *)(uintptr_t)entry->tables;
    p->run.base = entry->base;
    p->run.total = entry->total;
    p->run.number = entry->a;
    p->run.timed = entry->timed;
    p->recorded.books = weft_task_books_after(p->closed); /* of what bodies spawn */
    weft_store_relaxed_u64(&p->over, 0);
    weft_store_release_device_u64(
        &p->ticket, (uint64_t)entry->a << 40 | (WEFT_TASK_OVER - entry->total), ORDER_task_give);
    weft_task_wake(self);
}

/* No ticket is left: the place hears what the rank has done in this run, which goes on until then.
 * Who completes it tells the host program. The leader. */
WEFT_COLD void weft_task_run_over(weft_self *self, struct weft_task_place *p,
                                  struct weft_task_rank *r)
{
    const uint64_t steps = r->stepped;

    r->stepped = 0;
    weft_task_add64(&p->waited, r->waited);
    weft_task_add64(&p->busy, r->busy);
    r->waited = r->busy = 0;
    if (weft_task_add64(&p->over, steps) + steps != p->run.total)
        return;
    weft_store_relaxed_u64(&p->host->waited, weft_load_relaxed_u64(&p->waited));
    weft_store_relaxed_u64(&p->host->busy, weft_load_relaxed_u64(&p->busy));
    weft_store_release_u32(&p->host->ran, p->run.number, ORDER_task_give);
    weft_task_wake(self);
}

/* Takes a ticket. The run is read when the rank has one: then it does not end meanwhile. The
 * leader. */
WEFT_INLINE void weft_task_ticket(weft_self *self, struct weft_task_place *p,
                                  struct weft_task_rank *r, struct weft_task_going *going)
{
    const uint64_t word = weft_add_returning_device_u64(&p->ticket, 1);
    const uint32_t number = (uint32_t)(word >> 40);

    going->begun = (word & WEFT_TASK_OVER) == 0;
    if (!going->begun) {
        if (r->stepped != 0)
            weft_task_run_over(self, p, r);
        return;
    }
    if (going->number != number) {
        weft_load_acquire_u64(&p->ticket, ORDER_task_take);
        going->run = p->run;
        going->number = number;
        going->ticket = going->at = 0;
        going->epoch = going->run.base;
    }
    const uint64_t ticket = (word & (WEFT_TASK_OVER - 1)) + going->run.total - WEFT_TASK_OVER;
    const uint64_t steps = going->run.tables.steps;
    going->at += ticket - going->ticket;
    going->ticket = ticket;
    if (going->at >= steps) {
        going->epoch += going->at / steps;
        going->at %= steps;
    }
}

/* Makes a round of a wait for `edge`, whose task has done `have` epochs. False: the rank ends. The
 * leader. */
WEFT_INLINE bool weft_task_await_round(weft_self *self, uint32_t *rounds,
                                       const struct weft_task_going *going, uint32_t edge,
                                       uint64_t have)
{
    const uint32_t task = going->run.tables.step[going->at].task;

    return weft_wait_round(self, rounds, WEFT_WAIT_RECORD,
                           (uint64_t)task << 32 | (edge & ~WEFT_TASK_BEFORE), have,
                           going->epoch + 1 - (edge >> 31));
}

#ifdef __CUDACC__

/* Waits for the tasks before the step. Lanes of the first warp each look at some words. */
WEFT_INLINE void weft_task_await(weft_self *self, struct weft_task_place *,
                                 struct weft_task_rank *r, const struct weft_task_going *going)
{
    const uint32_t lanes = blockDim.x < 32 ? blockDim.x : 32, lane = threadIdx.x;
    const uint32_t mask = lanes == 32 ? ~0u : (1u << lanes) - 1;
    uint32_t rounds = 0;
    bool on = true;

    if (lane >= lanes)
        return;
    __syncwarp(mask); /* what the leader has written */
    if (!going->begun)
        return;
    const struct weft_task_step *const step = &going->run.tables.step[going->at];
    const uint32_t *const edges = going->run.tables.edge + step->edge;
    const uint32_t count = step->edges;
    const uint64_t epoch = going->epoch;
    for (uint32_t at = lane; on;) {
        uint32_t edge = 0;
        uint64_t have = 0;
        for (; at < count; at += lanes) {
            edge = edges[at];
            have = weft_poll_u64(&going->run.tables.word[edge & ~WEFT_TASK_BEFORE].done,
                                 ORDER_task_seen);
            if (have < epoch + 1 - (edge >> 31))
                break;
        }
        const uint32_t wait = __ballot_sync(mask, at < count);
        if (wait == 0)
            break;
        const int first = __ffs(wait) - 1;
        edge = __shfl_sync(mask, edge, first);
        have = __shfl_sync(mask, have, first);
        if (lane == 0)
            on = weft_task_await_round(self, &rounds, going, edge, have);
        on = __shfl_sync(mask, on, 0);
    }
    weft_polled();
    if (lane == 0) {
        r->waited += rounds != 0;
        weft_wait_over(self, rounds);
    }
}

#else

WEFT_INLINE void weft_task_await(weft_self *self, struct weft_task_place *p,
                                 struct weft_task_rank *r, const struct weft_task_going *going)
{
    if (!going->begun)
        return;
    const struct weft_task_tables *const tables = &going->run.tables;
    const struct weft_task_step *const step = &tables->step[going->at];
    uint32_t rounds = 0;

    for (uint32_t i = 0; i < step->edges; i++) {
        const uint32_t edge = tables->edge[step->edge + i];
        const uint64_t *const word = &tables->word[edge & ~WEFT_TASK_BEFORE].done;
        for (;;) {
            const uint64_t have = weft_load_acquire_u64(word, ORDER_task_seen);
            if (have >= going->epoch + 1 - (edge >> 31))
                break;
            if (rounds == 0)
                weft_add_relaxed_u32(&p->waiting, 1);
            weft_task_await_round(self, &rounds, going, edge, have);
        }
    }
    if (rounds == 0)
        return;
    weft_add_relaxed_u32(&p->waiting, UINT32_MAX);
    r->waited++;
    weft_wait_over(self, rounds);
}

#endif

/* Begins the next step, when what it waits for is done. All threads; one on the CPU device. */
WEFT_COLD void weft_task_step_begin(weft_self *self, struct weft_task_place *p,
                                    struct weft_task_rank *r, struct weft_task_going *going)
{
    WEFT_TOGETHER(self, weft_task_step_begin(self, p, r, going), 0)

    if (weft_leads(self)) {
        weft_task_ticket(self, p, r, going);
        if (going->begun) {
            const struct weft_task_step *const step = &going->run.tables.step[going->at];
            self->work = weft_task_work(p->me, step->body, step->task);
        }
    }
    weft_task_await(self, p, r, going);
    weft_join(self);
}

/* Other places learn that the task is done. What a copy puts is there, for its target when that
 * learns of it, for others, and for steps of this place, on return. All threads. */
WEFT_COLD void weft_task_tell_places(weft_self *self, const struct weft_task_tables *tables,
                                     const struct weft_task_step *step)
{
    const int32_t *const places = tables->tell + step->tell;
    const struct weft_task_copy *const copy =
        step->body == WEFT_TASK_COPY
            ? (const struct weft_task_copy *)(tables->arguments + step->arguments)
            : NULL;
    const uint64_t word = step->task * sizeof(struct weft_task_word);

    if (copy == NULL)
        weft_fence(self);
    for (int others = 0; others < 2; others++) {
        for (uint32_t i = 0; i < step->tells; i++) {
            if ((copy == NULL || places[i] != copy->place) == others)
                weft_add(self, tables->win, places[i], word, 1);
        }
        if (copy != NULL && others == 0)
            weft_flush(self, copy->win);
    }
}

/* Ends the rank's step when its calls are over in all threads. Who ends the last step of the task
 * says that it is done. The leader may be in the next step while others leave this one. */
WEFT_INLINE void weft_task_step_end(weft_self *self, struct weft_task_place *p,
                                    struct weft_task_rank *r, struct weft_task_going *going,
                                    const struct weft_task_step *step)
{
    WEFT_TOGETHER(self, weft_task_step_end(self, p, r, going, step), 0)
    bool last = true;

    if (weft_leads(self)) {
        struct weft_task_word *const word = &going->run.tables.word[step->task];
        self->work = 0;
        r->executed += step->end - step->first;
        r->stepped++;
        if (step->steps > 1) {
            last = weft_task_add64(&word->left, UINT64_MAX) == 1;
            if (last)
                weft_store_relaxed_u64(&word->left, step->steps);
        }
    }
    if (WEFT_UNLIKELY(step->far != 0)) {
        if (weft_leads(self))
            going->last = last;
        weft_sync(self);
        if (going->last)
            weft_task_tell_places(self, &going->run.tables, step);
    }
    if (!weft_leads(self) || !last)
        return;
    weft_store_release_device_u64(&going->run.tables.word[step->task].done, going->epoch + 1,
                                  ORDER_task_done);
    weft_task_wake_steps(self, p);
}

/* Puts what a copy copies. All threads. */
WEFT_COLD void weft_task_put_copy(weft_self *self, const weft_task_self *task,
                                  const struct weft_task_copy *copy)
{
    weft_put_2d(self, copy->win, copy->place, copy->offset, copy->pitch, task->data[0],
                task->pitch[0], copy->bytes, copy->rows);
}

/* Fills in the body's data: where the place reaches them. Any thread. */
WEFT_INLINE void weft_task_parts(weft_task_self *task, const struct weft_task_tables *tables,
                                 const struct weft_task_step *step)
{
    const struct weft_task_part *const parts = tables->part + step->part;

    task->datas = step->parts;
    for (uint32_t i = 0; i < task->datas; i++) {
        const uint64_t address = parts[i].address;
        task->data[i] = (step->scratch >> i & 1) != 0 ? task->rank->scratch + address
                                                      : (unsigned char *)(uintptr_t)address;
        task->pitch[i] = parts[i].pitch;
    }
}

/* Runs some steps, while there are any. task: the rank's, without another task. All threads. */
WEFT_INLINE void weft_task_steps(weft_self *self, weft_task_self *task, weft_task_bodies *bodies)
{
    WEFT_SHARED(struct weft_task_going, going, 1);
    struct weft_task_place *const p = task->place;

    if (weft_thread(self) == 0) {
        going->number = UINT32_MAX;
        going->ticket = 0;
    }
    task->record = &p->recorded;
    task->staged = 0;
    for (int i = 0; i < WEFT_TASK_STEPS; i++) {
        weft_task_step_begin(self, p, task->rank, going);
        if (!going->begun)
            return;
        const struct weft_task_step *const step = &going->run.tables.step[going->at];
        const bool traced = weft_traced(self);
        weft_task_parts(task, &going->run.tables, step);
        if (traced && weft_thread(self) == 0)
            weft_task_mark(self, p->me, step->task, WEFT_HOST_SLOT, step->body);
        task->first = step->first;
        task->end = step->end;
        unsigned char *const arguments = going->run.tables.arguments + step->arguments;
        const bool timed = WEFT_UNLIKELY(going->run.timed != 0) && weft_thread(self) == 0;
        const uint64_t began = timed ? weft_port_clock() : 0;
        if (WEFT_UNLIKELY(step->body == WEFT_TASK_COPY))
            weft_task_put_copy(self, task, (const struct weft_task_copy *)arguments);
        for (task->index = task->first; task->index < task->end; task->index++) {
            bodies(self, task, step->body, arguments);
            weft_sync(self);
        }
        if (timed && step->body != WEFT_TASK_COPY)
            task->rank->busy += weft_port_clock() - began;
        if (traced)
            weft_region_end(self);
        weft_task_step_end(self, p, task->rank, going, step);
    }
}

#endif
