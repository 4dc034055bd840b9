/*
 * task/api.h - the calls of weft/task.h that ranks make. For GPUs that header includes this one, so
 * that they are compiled into each kernel; for the CPU device they are compiled once, in api.c.
 *
 * weft_tasks_serve is a rank's life: it takes a task, runs it, and, when there is none, serves its
 * place.
 */
#ifndef WEFT_TASK_API_H
#define WEFT_TASK_API_H

#include "task/service.h"

/* ---- what bodies ask ------------------------------------------------------------------------- */

WEFT_FN void *weft_task_data(const weft_task_self *task, int i)
{
    return (uint32_t)i < task->datas ? task->data[i] : NULL;
}

WEFT_FN uint64_t weft_task_pitch(const weft_task_self *task, int i)
{
    return task->pitch[i];
}

WEFT_FN const weft_task_data_desc *weft_task_piece(const weft_task_self *task, int i)
{
    return (uint32_t)i < task->record->datas ? &task->record->data[i] : NULL;
}

WEFT_FN uint64_t weft_task_index(const weft_task_self *task)
{
    return task->index;
}

WEFT_FN void *weft_task_user(const weft_task_self *task)
{
    return task->user;
}

WEFT_FN int weft_task_place(const weft_task_self *task)
{
    return task->record->home;
}

WEFT_FN int weft_task_cancelled(weft_self *self, weft_task_self *task)
{
    WEFT_TOGETHER_FOR(int, self, weft_task_cancelled(self, task), 0)
    const struct weft_task_record *const record = task->record;
    struct weft_task_place *const p = task->place;

    if (record->host == 0)
        return 0;
    return weft_fetch_add(self, p->win, record->home,
                          weft_task_mail_at(weft_task_cancel_at(p->places, record->host - 1)),
                          0) == record->generation;
}

WEFT_FN int weft_task_spawn(weft_self *self, weft_task_self *task, const weft_task_desc *desc)
{
    WEFT_TOGETHER_FOR(int, self, weft_task_spawn(self, task, desc), 0)
    WEFT_SHARED(uint32_t, slot, 1);
    struct weft_task_place *const p = task->place;

    if (weft_leads(self)) {
        int64_t n[3];
        const char *const wrong = weft_task_wrong(desc, p, n);
        if (WEFT_UNLIKELY(wrong != NULL))
            weft_fail_in(self, WEFT_ERR_ARGUMENT, "weft_task_spawn", wrong, n[0], n[1], n[2], 0);
        *slot = weft_task_slot_take(p, task->rank, false);
        if (*slot != 0) {
            struct weft_task_record *const record = &p->record[*slot - 1];
            weft_task_fill(record, desc);
            record->home = p->me;
            record->home_slot = *slot - 1;
            record->by = self->slot;
            record->books = task->record->books;
            weft_add_relaxed_u64(&p->mail->books[record->books].created, 1);
            if (task->staged != 0 && weft_task_writes_copies(self, task->record)) {
                weft_store_relaxed_u32(&record->next, task->rank->spawned);
                task->rank->spawned = *slot;
            } else {
                weft_task_ready(self, p, task->rank, *slot - 1);
            }
        }
    }
    weft_sync(self);
    const int done = *slot != 0;
    weft_sync(self);
    return done;
}

/* ---- running --------------------------------------------------------------------------------- */

/* What the leader tells the other threads of what comes next. */
struct weft_task_turn {
    uint32_t slot, status; /* slot + 1; 0: recorded tasks, or the rank ends */
    uint32_t recorded;     /* 1: steps of recorded tasks come next */
    uint64_t first, end;   /* calls of the slot's task that the rank runs */
    uint32_t tickets;      /* tickets of the task that the rank gives up then: 1 or 0 */
};

/*
 * Takes calls of a task. Of many it takes some, and keeps its ticket for more: a task is not over
 * before its tickets are given up. A ticket that comes from a queue brings two more, as long as
 * there are ranks for them, so that soon all take calls at once. Of a task that writes copies one
 * rank takes all calls: it brings back what all of them wrote. The leader.
 */
WEFT_INLINE void weft_task_begin(weft_self *self, struct weft_task_place *p,
                                 struct weft_task_rank *r, struct weft_task_turn *turn, bool kept)
{
    struct weft_task_record *const record = &p->record[turn->slot - 1];
    const uint64_t begun = weft_load_relaxed_u64(&record->first);
    const uint64_t left = begun < record->end ? record->end - begun : 0;

    self->work = weft_task_work(record->home, record->body, record->home_slot);
    turn->status = record->home == p->me && weft_task_is_cancelled(p, record) ? WEFT_TASK_CANCELLED
                                                                              : WEFT_TASK_DONE;
    turn->first = begun;
    turn->end = record->end;
    turn->tickets = 0;
    if (!record->many) {
        weft_used_shared(record, sizeof(*record));
        return;
    }
    if (record->many == 1) { /* its only ticket */
        record->many = 2;
        weft_add_relaxed_u32(&p->tickets, 1);
    }
    const bool all = turn->status == WEFT_TASK_CANCELLED || weft_task_writes_copies(self, record);
    const uint64_t some = all ? left : (left + 2 * p->ranks - 1) / (2 * p->ranks);
    turn->first = weft_task_take_calls(record, some, &turn->end);
    turn->tickets = turn->end == record->end;
    if (turn->tickets != 0)
        return;
    r->kept = turn->slot;
    for (int i = 0; i < 2 && !kept; i++) {
        if (weft_task_add32(&p->tickets, 1) >= p->ranks) {
            weft_add_relaxed_u32(&p->tickets, UINT32_MAX);
            break;
        }
        weft_task_add64(&record->left, 1);
        weft_task_ready(self, p, NULL, turn->slot - 1);
    }
}

/* Finds what the rank does next: the task that it has kept, unless others come first; else what it
 * finds. The leader. */
WEFT_INLINE void weft_task_take(weft_self *self, struct weft_task_place *p,
                                struct weft_task_rank *r, struct weft_task_turn *turn)
{
    const uint32_t next = r->kept;
    bool kept = next != 0;

    if (r->stepped != 0 && !weft_task_has_tickets(p))
        weft_task_run_over(self, p, r);
    turn->slot = 0;
    turn->recorded = !kept && weft_task_has_tickets(p) && weft_task_ring_empty(&p->ready[0]);
    if (turn->recorded)
        return;
    for (uint32_t i = 0; kept && i < p->record[next - 1].priority; i++)
        kept = weft_task_ring_empty(&p->ready[i]);
    if (next != 0 && !kept)
        weft_task_ready(self, p, NULL, next - 1);
    r->kept = 0;
    turn->slot = kept ? next : weft_task_find(p, r);
    if (turn->slot != 0)
        weft_task_begin(self, p, r, turn, kept);
}

/* Makes a round in which there was nothing to do. It is a wait to the watchdog (WEFT_WAIT_TASKS) if
 * other places have tasks of this one. */
WEFT_INLINE void weft_task_pause(weft_self *self, const struct weft_task_place *p, uint32_t *rounds)
{
    const uint32_t gone = weft_load_relaxed_u32(&p->gone);
    const struct weft_task_named *const last = &p->peer[weft_load_relaxed_u32(&p->gone_to)].last;

    weft_wait_round(self, rounds, gone != 0 ? WEFT_WAIT_TASKS : WEFT_WAIT_NONE,
                    (uint64_t)weft_load_relaxed_u32(&last->slot) << 32 |
                        (uint64_t)weft_load_relaxed_u32(&last->by) << 8 |
                        (weft_load_relaxed_u32(&last->body) & 0xff),
                    gone, weft_load_relaxed_u32(&last->at));
}

/* Waits until there is a task, or the rank ends. All threads; one on the CPU device. */
WEFT_COLD void weft_task_next(weft_self *self, struct weft_task_place *p, struct weft_task_rank *r,
                              struct weft_task_turn *turn)
{
    WEFT_TOGETHER(self, weft_task_next(self, p, r, turn), 0)
    uint32_t rounds = 0;

    if (r->brief == 0)
        weft_task_service(self, p, r, false);
    for (;;) {
        weft_check_stop(self);
        if (weft_leads(self)) {
            weft_task_take(self, p, r, turn);
            if (turn->slot == 0 && !turn->recorded)
                turn->status = weft_load_acquire_u32(&p->stop, ORDER_task_take);
        }
        weft_join(self);
        if (turn->slot != 0 || turn->recorded || turn->status != 0)
            break;
        weft_sync(self);
        weft_task_service(self, p, r, true);
        if (weft_leads(self))
            weft_task_pause(self, p, &rounds);
    }
    if (weft_leads(self))
        weft_wait_over(self, rounds);
}

/* Ends the rank's calls of the task. All threads; one on the CPU device. */
WEFT_COLD void weft_task_end(weft_self *self, weft_task_self *task, uint32_t status,
                             uint32_t tickets)
{
    WEFT_TOGETHER(self, weft_task_end(self, task, status, tickets), 0)
    WEFT_SHARED(uint32_t, last, 1);
    struct weft_task_place *const p = task->place;
    struct weft_task_record *const record = task->record;
    const int32_t home = record->home; /* the record is another's when the last call is over */
    const uint64_t over = task->end - task->first + tickets;
    const uint64_t moved = status == WEFT_TASK_DONE ? weft_task_unstage(self, task) : 0;

    if (weft_leads(self)) {
        task->rank->bytes += moved;
        for (uint32_t slot; (slot = task->rank->spawned) != 0;) { /* they may see it now */
            task->rank->spawned = weft_load_relaxed_u32(&p->record[slot - 1].next);
            weft_task_ready(self, p, task->rank, slot - 1);
        }
        if (tickets != 0)
            weft_add_relaxed_u32(&p->tickets, UINT32_MAX);
        *last = weft_task_add64(&record->left, 0 - over) == over;
        if (*last && home == p->me)
            weft_task_complete(self, p, task->slot, status);
    }
    weft_sync(self);
    if (*last && home != p->me)
        weft_task_send_back(self, p, task->rank, task, status);
    weft_sync(self);
}

/* Runs the task's calls. DONE, or QUEUED: its data have no room here. All threads. */
WEFT_INLINE uint32_t weft_task_calls(weft_self *self, weft_task_self *task,
                                     weft_task_bodies *bodies)
{
    if (!weft_task_stage(self, task))
        return WEFT_TASK_QUEUED;
    for (task->index = task->first; task->index < task->end; task->index++) {
        bodies(self, task, task->record->body, task->record->arguments);
        weft_sync(self);
    }
    if (weft_thread(self) == 0) {
        task->rank->executed += task->end - task->first;
        task->rank->brief -= task->rank->brief != 0;
    }
    return WEFT_TASK_DONE;
}

/* Frees all slots of the rank, as its first kernel begins: while one pauses, other threads of the
 * host program may have made tasks, which other places may have. All threads. */
WEFT_INLINE void weft_task_slots(weft_self *self, struct weft_task_place *p,
                                 struct weft_task_rank *r)
{
    const uint32_t first = (uint32_t)(r - p->rank) * p->slots;

    if (r->began != 0)
        return;
    weft_for (i, p->slots)
        weft_store_relaxed_u32(&p->record[first + i].next,
                               i + 1 < p->slots ? first + (uint32_t)i + 2 : 0);
    weft_sync(self);
    if (weft_thread(self) == 0) {
        r->free = first + 1;
        r->freed = 0;
        r->seed = first + 1;
        r->began = 1;
    }
    weft_sync(self);
}

WEFT_FN void weft_tasks_serve(weft_self *self, struct weft_tasks_begun *begun, void *user,
                              weft_task_bodies *bodies)
{
    WEFT_SHARED(struct weft_task_turn, turn, 1);
    struct weft_task_place *const p = (struct weft_task_place *)begun->place;
    struct weft_task_self task;

    task.place = p;
    task.rank = &p->rank[weft_rank(self, WEFT_COMM_DEVICE)];
    task.user = user;
    weft_task_slots(self, p, task.rank);
    for (;;) {
        weft_task_next(self, p, task.rank, turn);
        if (turn->recorded) {
            weft_task_steps(self, &task, bodies);
            continue;
        }
        if (turn->slot == 0)
            break;
        task.staged = 0;
        task.slot = turn->slot - 1;
        task.record = &p->record[task.slot];
        task.datas = task.record->datas;
        task.first = turn->first;
        task.end = turn->end;
        const uint32_t tickets = turn->tickets;
        uint32_t status = turn->status;
        if (weft_traced(self) && weft_thread(self) == 0)
            weft_task_mark(self, task.record->home, task.record->home_slot, task.record->by,
                           task.record->body);
        weft_sync(self);
        if (status == WEFT_TASK_DONE && task.first < task.end)
            status = weft_task_calls(self, &task, bodies);
        weft_task_end(self, &task, status, tickets);
        weft_region_end(self);
        if (weft_thread(self) == 0)
            self->work = 0;
    }
}

#endif
