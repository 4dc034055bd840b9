/*
 * task/service.h - what one rank of a place does for all of them now and then: whoever finds the
 * lock free hears the host program, gives and takes tasks, and looks whether all is done.
 */
#ifndef WEFT_TASK_SERVICE_H
#define WEFT_TASK_SERVICE_H

#include "task/finish.h"
#include "task/record.h"

/* Between two services of ranks that have tasks to run. Looking at the clock takes as long as a
 * task that does next to nothing: after less than BRIEF_NS a rank runs BRIEF tasks without. */
enum { WEFT_TASK_SERVE_NS = 20000, WEFT_TASK_BRIEF = 7, WEFT_TASK_BRIEF_NS = 4000 };

/* Entries at a time: a GPU reads them over the bus, where each trip is long and many go at once.
 * Few enough that other ranks begin with the first ones soon. */
enum { WEFT_TASK_HEAR = 32 };

struct weft_task_heard {
    uint32_t turn, what, a;
    uint32_t slot;            /* slot + 1; 0: the entry is no task */
    uint32_t priority, place; /* priority of the task; its place among those of its priority */
};

WEFT_INLINE const struct weft_task_entry *weft_task_entry(const struct weft_task_place *p,
                                                          uint64_t i)
{
    return &p->host->entry[(p->heard + i) % WEFT_TASK_ENTRIES];
}

/* Entry i of the host program's next ones; false: it is not there yet. */
WEFT_INLINE bool weft_task_read(const struct weft_task_place *p, uint64_t i,
                                struct weft_task_heard *heard)
{
    const struct weft_task_entry *const entry = weft_task_entry(p, i);

    heard->turn = weft_load_acquire_u32(&entry->turn, ORDER_task_take);
    if (heard->turn != (uint32_t)((p->heard + i) / WEFT_TASK_ENTRIES + 1))
        return false;
    heard->what = entry->what;
    heard->a = entry->a;
    return true;
}

/* Counts the entries, until a phase or the kernel ends, and takes a slot for each that is a task,
 * while there are slots. The leader. */
WEFT_INLINE uint32_t weft_task_listen(struct weft_task_place *p, struct weft_task_rank *r,
                                      struct weft_task_heard *heard)
{
    uint32_t n = 0;

    while (n < WEFT_TASK_HEAR && weft_load_relaxed_u32(&p->stop) == 0) {
        heard[n].slot = 0;
        if (heard[n].turn != (uint32_t)((p->heard + n) / WEFT_TASK_ENTRIES + 1))
            break;
        if (heard[n].what == WEFT_TASK_WHAT_CREATE) {
            heard[n].slot = weft_task_slot_take(p, r, false);
            if (heard[n].slot == 0)
                break;
        }
        if (heard[n++].what >= WEFT_TASK_WHAT_CLOSE)
            break;
    }
    return n;
}

/* Copies the records of n entries into their slots, all threads: those that run them see them after
 * what the leader does next. */
WEFT_INLINE void weft_task_fetch(weft_self *self, struct weft_task_place *p,
                                 const struct weft_task_heard *heard, uint32_t n)
{
#ifdef __CUDACC__
    const uint32_t parts = sizeof(struct weft_task_record) / 16;

    weft_for (k, n * parts) {
        const uint32_t i = (uint32_t)k / parts, part = (uint32_t)k % parts;
        if (heard[i].slot != 0 && 16 * part < heard[i].a)
            ((uint4 *)&p->record[heard[i].slot - 1])[part] =
                weft_poll_four((const uint32_t *)&weft_task_entry(p, i)->record + 4 * part);
    }
#else
    for (uint32_t i = 0; i < n && weft_leads(self); i++)
        if (heard[i].slot != 0)
            weft_read_shared(&p->record[heard[i].slot - 1], &weft_task_entry(p, i)->record,
                             heard[i].a);
#endif
}

/* Does what an entry asks for that is no task. The leader. */
WEFT_INLINE void weft_task_obey(weft_self *self, struct weft_task_place *p,
                                const struct weft_task_entry *entry,
                                const struct weft_task_heard *heard)
{
    switch (heard->what) {
    case WEFT_TASK_WHAT_RUN:
        weft_task_run_begin(self, p, entry);
        break;
    case WEFT_TASK_WHAT_CLOSE:
        p->closed = heard->a;
        break;
    default:
        weft_store_release_u32(&p->stop, 1, ORDER_task_give);
        weft_task_wake(self);
    }
}

/* Tasks go to the rings together: where in them each does, and how many go to each; else what the
 * entry asks for is done. The leader. */
WEFT_INLINE void weft_task_obey_all(weft_self *self, struct weft_task_place *p,
                                    struct weft_task_heard *heard, uint32_t n, uint64_t *base)
{
    const uint32_t books = weft_task_books_after(p->closed);
    uint32_t count[WEFT_TASK_PRIORITIES] = {0}, tasks = 0;

    for (uint32_t i = 0; i < n; i++) {
        if (heard[i].slot == 0) {
            weft_task_obey(self, p, weft_task_entry(p, i), &heard[i]);
            continue;
        }
        struct weft_task_record *const record = &p->record[heard[i].slot - 1];
        record->home = p->me;
        record->home_slot = heard[i].slot - 1;
        record->books = books;
        heard[i].priority = record->priority;
        heard[i].place = count[record->priority]++;
        tasks++;
    }
    if (tasks == 0)
        return;
    weft_add_relaxed_u64(&p->mail->books[books].created, tasks);
    weft_add_relaxed_u32(&p->queued, tasks);
    for (int i = 0; i < WEFT_TASK_PRIORITIES; i++)
        base[i] = count[i] != 0 ? weft_task_add64(&p->ready[i].tail, count[i]) : 0;
}

/* Hears the host program. All threads. */
WEFT_INLINE void weft_task_hear(weft_self *self, struct weft_task_place *p,
                                struct weft_task_rank *r)
{
    WEFT_SHARED(struct weft_task_heard, heard, WEFT_TASK_HEAR);
    WEFT_SHARED(uint32_t, count, 1);
    WEFT_SHARED(uint64_t, base, WEFT_TASK_PRIORITIES);

    weft_for (i, WEFT_TASK_HEAR)
        if (!weft_task_read(p, i, &heard[i]))
            break;
    weft_sync(self);
    if (weft_leads(self))
        *count = weft_task_listen(p, r, heard);
    weft_sync(self);
    const uint32_t n = *count;
    weft_task_fetch(self, p, heard, n);
    weft_sync(self);
    if (n == 0)
        return;
    if (weft_leads(self))
        weft_task_obey_all(self, p, heard, n, base);
    weft_sync(self);
    weft_for (i, n)
        if (heard[i].slot != 0)
            weft_task_ring_set(p, &p->ready[heard[i].priority],
                               base[heard[i].priority] + heard[i].place, heard[i].slot - 1);
    weft_sync(self);
    if (weft_leads(self)) {
        p->heard += n;
        weft_store_release_u32(&p->host->heard, (uint32_t)p->heard, ORDER_task_give);
        weft_task_wake(self);
    }
    weft_sync(self);
}

/* Takes the service's lock, if it is free. In random mode it is no news to ranks that have nothing
 * to do: each of them takes it again and again. The leader, as below. */
WEFT_INLINE bool weft_task_lock(struct weft_task_place *p)
{
#ifndef __CUDACC__
    if (WEFT_UNLIKELY(weft_model != NULL))
        return weft_model->try_lock(&p->lock);
#endif
    return weft_load_relaxed_u32(&p->lock) == 0 && weft_task_swap32(&p->lock, 0, 1);
}
WEFT_INLINE void weft_task_unlock(struct weft_task_place *p)
{
#ifndef __CUDACC__
    if (WEFT_UNLIKELY(weft_model != NULL)) {
        weft_model->unlock(&p->lock);
        return;
    }
#endif
    weft_store_release_u32(&p->lock, 0, ORDER_task_give);
}

/* Serves the place. idle: the rank has found nothing to run. All threads. */
WEFT_COLD void weft_task_service(weft_self *self, struct weft_task_place *p,
                                 struct weft_task_rank *r, bool idle)
{
    WEFT_SHARED(uint32_t, mine, 1);
    const uint64_t now = weft_leads(self) ? weft_port_clock() : 0;

    if (weft_leads(self)) {
        *mine = (idle || now - weft_load_relaxed_u64(&p->served) >= WEFT_TASK_SERVE_NS) &&
                weft_task_lock(p);
        if (*mine)
            weft_tell_u64(&p->served, now);
    }
    weft_sync(self);
    if (weft_leads(self)) { /* all have read it */
        r->brief = now - r->looked < WEFT_TASK_BRIEF_NS ? WEFT_TASK_BRIEF : 0;
        r->looked = now;
    }
    if (*mine == 0)
        return;
    weft_task_hear(self, p, r);
    if (p->places > 1 && p->stealing) {
        if (weft_leads(self))
            weft_task_returns(self, p, r);
        weft_sync(self);
        weft_task_answer(self, p, r);
        weft_task_advertise(self, p, r);
        if (idle || p->asking >= 0) /* what was given to it is to run, whatever else there is */
            weft_task_steal(self, p, r);
    }
    weft_task_finish(self, p, r);
    if (weft_leads(self))
        weft_task_unlock(p);
}

#endif
