/*
 * task/finish.h - when all tasks of the job are done (Mattern's four counters).
 *
 * A place whose host program has closed the phase, and whose books are even, reports to place 0 how
 * many tasks it has completed. When place 0 has a report of every place it reads how many tasks
 * each has created by then. If both sums are equal, no task was open between the two waves, and
 * none can come: only tasks create tasks, and those of the next phase are in other books. A task
 * that is away is open at its owner until its return has come, so nothing under way is forgotten.
 * If they differ, some place will report again.
 */
#ifndef WEFT_TASK_FINISH_H
#define WEFT_TASK_FINISH_H

#include "task/steal.h"

/* Makes a report: 16 bits of the phase, 48 of the count. */
WEFT_INLINE uint64_t weft_task_report(uint32_t phase, uint64_t completed)
{
    return (uint64_t)phase << 48 | (completed & 0xffffffffffffu);
}

/* Index of the books of the phase that ends. */
WEFT_INLINE uint32_t weft_task_closing(const struct weft_task_place *p)
{
    return weft_task_books_after(p->closed) ^ 1;
}

/* Reports when the books of this place are even, and its host program is done. All threads. */
WEFT_INLINE void weft_task_even(weft_self *self, struct weft_task_place *p,
                                struct weft_task_rank *r)
{
    WEFT_SHARED(uint64_t, report, 1);

    if (weft_leads(self)) {
        const struct weft_task_books *const books = &p->mail->books[weft_task_closing(p)];
        const uint64_t completed = weft_load_acquire_u64(&books->completed, ORDER_task_take);
        const uint64_t created = weft_load_relaxed_u64(&books->created);
        *report = weft_task_report(p->closed, completed);
        if (p->closed == p->phase || completed != created || *report == p->reported)
            *report = 0;
        else
            p->reported = *report;
    }
    weft_sync(self);
    if (*report != 0)
        weft_task_post(self, p, r, 0,
                       weft_task_mail_at(weft_task_row(p->places, WEFT_TASK_REPORT, p->me)),
                       *report);
}

/* Whether there is a report of every place for this phase, and any is new; *sum of what they
 * completed. Each report is read once. Place 0, the leader. */
WEFT_INLINE bool weft_task_first_wave(struct weft_task_place *p, uint64_t *sum)
{
    bool all = true;

    *sum = 0;
    for (int32_t q = 0; q < p->places; q++) {
        const uint64_t word = weft_load_acquire_u64(
            &p->mail->word[weft_task_row(p->places, WEFT_TASK_REPORT, q)], ORDER_task_take);
        all = all && word >> 48 == (p->closed & 0xffff);
        p->untried = p->untried || word != p->peer[q].report_seen;
        p->peer[q].report_seen = word;
        *sum += word & 0xffffffffffffu;
    }
    if (!all || !p->untried)
        return false;
    p->untried = 0;
    return true;
}

/* Decides whether all is done. Place 0. All threads. */
WEFT_INLINE void weft_task_decide(weft_self *self, struct weft_task_place *p,
                                  struct weft_task_rank *r)
{
    WEFT_SHARED(uint64_t, sum, 2);

    if (weft_leads(self))
        sum[1] = p->closed != p->phase && weft_task_first_wave(p, &sum[0]);
    weft_sync(self);
    if (sum[1] == 0)
        return;
    uint64_t created = 0;
    for (int32_t q = 0; q < p->places; q++) {
        weft_get(self, p->win, q, weft_task_closing(p) * sizeof(struct weft_task_books),
                 &r->word[1], sizeof(r->word[1]));
        created += r->word[1];
        weft_sync(self); /* before the next one comes there */
    }
    if ((created & 0xffffffffffffu) != (sum[0] & 0xffffffffffffu))
        return;
    for (int32_t q = 0; q < p->places; q++)
        weft_task_post(self, p, r, q, offsetof(struct weft_task_mail, finished), p->closed);
}

/* Reports, decides and learns whether all is done. All threads. */
WEFT_INLINE void weft_task_finish(weft_self *self, struct weft_task_place *p,
                                  struct weft_task_rank *r)
{
    weft_task_even(self, p, r);
    if (p->me == 0)
        weft_task_decide(self, p, r);
    if (weft_leads(self) && p->closed != p->phase &&
        weft_load_acquire_u64(&p->mail->finished, ORDER_task_take) == p->closed) {
        const struct weft_task_books *const books = &p->mail->books[weft_task_closing(p)];
        if (p->reported >> 48 != (p->closed & 0xffff))
            weft_fail4(self, WEFT_ERR_PROTOCOL,
                       "place 0 says that all is done, and place %d has done %lld of %lld tasks",
                       p->me, (int64_t)weft_load_relaxed_u64(&books->completed),
                       (int64_t)weft_load_relaxed_u64(&books->created), 0);
        p->phase = p->closed;
        weft_store_release_u32(&p->host->finished, p->closed, ORDER_task_give);
        weft_task_wake(self);
    }
    weft_sync(self);
}

#endif
