/*
 * task/steal.h - tasks that go from one place to another.
 *
 * Each place tells the others its load, a word in their mailboxes. A place whose ranks find nothing
 * asks the one with the greatest load: a word with the ask's number. There, whoever has the service
 * answers: records into the asker's mailbox, then a word with that number and how many. One ask is
 * out at a time, so that mailbox is free. What has run, or cannot run there, goes back as a word in
 * the owner's mailbox; before it goes all that the task has written. The owner lets no place have
 * more than that row of words holds. tests/unit/task/test_finish_model.c has all interleavings of
 * this.
 *
 * All of it is done by the rank that has the service, except returns, which the task's rank sends.
 */
#ifndef WEFT_TASK_STEAL_H
#define WEFT_TASK_STEAL_H

#include "task/data.h"

/* Stores a word in the mailbox of a place, with all before it. It is there on return, so that the
 * next one, from another rank, comes later. All threads. */
WEFT_COLD void weft_task_post(weft_self *self, struct weft_task_place *p, struct weft_task_rank *r,
                              int32_t to, uint64_t at, uint64_t word)
{
    if (weft_leads(self))
        r->word[0] = word;
    weft_sync(self);
    weft_fence(self);
    weft_put(self, p->win, to, at, &r->word[0], sizeof(word));
    weft_flush(self, p->win);
    if (weft_leads(self) && self->state->process_table[to].exposed != NULL)
        weft_count_nudge(self->state->process_table[to].exposed);
}

/* Sends back a task of another place: its calls are over, what they wrote is there. All threads. */
WEFT_INLINE void weft_task_send_back(weft_self *self, struct weft_task_place *p,
                                     struct weft_task_rank *r, const weft_task_self *task,
                                     uint32_t status)
{
    WEFT_SHARED(uint64_t, number, 1);
    const struct weft_task_record *const record = task->record;
    const int32_t home = record->home;

    if (weft_leads(self))
        *number = weft_task_add64(&p->peer[home].sent, 1);
    weft_sync(self);
    const uint64_t turn = *number / WEFT_TASK_AWAY + 1;
    weft_task_post(self, p, r, home, weft_task_mail_at(weft_task_return(p->places, p->me, *number)),
                   (turn << 8 | status) << 32 | record->home_slot);
    if (weft_leads(self))
        weft_task_slot_give(p, task->slot);
}

/* Takes what has come back. The leader. */
WEFT_INLINE void weft_task_returns(weft_self *self, struct weft_task_place *p,
                                   struct weft_task_rank *r)
{
    for (int32_t from = 0; from < p->places; from++) {
        while (p->peer[from].away != 0) {
            weft_tell_u32(&p->gone_to, (uint32_t)from);
            const uint64_t number = p->peer[from].returned;
            const uint64_t word = weft_load_acquire_u64(
                &p->mail->word[weft_task_return(p->places, from, number)], ORDER_task_take);
            if ((uint32_t)(word >> 40) != (uint32_t)((number / WEFT_TASK_AWAY + 1) & 0xffffff))
                break;
            const uint32_t slot = (uint32_t)word, status = (uint32_t)(word >> 32) & 0xff;
            if (slot >= p->ranks * p->slots || p->record[slot].taker != (uint32_t)from + 1 ||
                status < WEFT_TASK_QUEUED || status > WEFT_TASK_CANCELLED)
                weft_fail4(self, WEFT_ERR_PROTOCOL,
                           "place %d: place %d returns task %d, which it has not taken, or with "
                           "status %d",
                           p->me, from, slot, status);
            p->peer[from].returned++;
            p->peer[from].away--;
            weft_tell_u32(&p->gone, p->gone - 1);
            p->record[slot].taker = 0;
            if (status != WEFT_TASK_QUEUED) {
                weft_task_complete(self, p, slot, status);
            } else { /* there it does not run */
                p->record[slot].flags |= WEFT_TASK_HOLD;
                weft_task_ready(self, p, r, slot);
            }
        }
    }
}

/* ---- giving ---------------------------------------------------------------------------------- */

/* Gives the flags that keep a task from a place: both, where its kind is not known. */
WEFT_INLINE uint32_t weft_task_barred(const struct weft_task_place *p, int32_t place)
{
    if (place >= 32)
        return WEFT_TASK_CPU_ONLY | WEFT_TASK_GPU_ONLY;
    return (p->kinds >> place & 1) != 0 ? WEFT_TASK_CPU_ONLY : WEFT_TASK_GPU_ONLY;
}

/* Whether a task may run at that place. Data that the place seems to reach by loads need no memory
 * there: if it does not, it sends the task back. */
WEFT_INLINE bool weft_task_goes(const weft_self *self, const struct weft_task_place *p,
                                const struct weft_task_record *record, int32_t to)
{
    const bool mapped = self->state->process_table[to].exposed != NULL;
    uint64_t needs = 0;

    if ((record->flags & (weft_task_barred(p, to) | WEFT_TASK_HOLD)) != 0)
        return false;
    for (uint32_t i = 0; i < record->datas; i++) {
        const weft_task_data_desc *const data = &record->data[i];
        if (data->mode == WEFT_TASK_SCRATCH || record->many ||
            !(data->place == to || (data->place == p->me && mapped)))
            needs += (weft_task_bytes(data) + 63) & ~(uint64_t)63;
    }
    return needs <= p->scratch;
}

/* Takes so many of a task's calls that have not begun, or as many as there are. Returns the first;
 * *end: behind the last. A leader of the place that has a ticket of it. */
WEFT_INLINE uint64_t weft_task_take_calls(struct weft_task_record *record, uint64_t calls,
                                          uint64_t *end)
{
    const uint64_t first = weft_task_add64(&record->first, calls);

    *end = first >= record->end || record->end - first < calls ? record->end : first + calls;
    return first < record->end ? first : record->end;
}

/* Splits off what to give of a task: all, if it is one call, else half of the calls that have not
 * begun, in a slot of their own. Returns the slot + 1; 0: there is none. The leader. */
WEFT_INLINE uint32_t weft_task_split(struct weft_task_place *p, struct weft_task_rank *r,
                                     uint32_t slot)
{
    struct weft_task_record *const record = &p->record[slot];
    const size_t fixed = offsetof(struct weft_task_record, body);

    if (!record->many)
        return slot + 1;
    const uint64_t begun = weft_load_relaxed_u64(&record->first);
    const uint32_t piece = begun + 1 < record->end ? weft_task_slot_take(p, r, false) : 0;
    if (piece == 0)
        return 0;
    struct weft_task_record *const half = &p->record[piece - 1];
    weft_read_shared((unsigned char *)half + fixed, (const unsigned char *)record + fixed,
                     sizeof(*half) - fixed);
    half->first = weft_task_take_calls(record, (record->end - begun + 1) / 2, &half->end);
    half->home_slot = piece - 1;
    half->parent = slot + 1;
    if (half->first < half->end)
        return piece;
    weft_task_slot_give(p, piece - 1);
    return 0;
}

struct weft_task_give {
    int32_t to; /* place that has asked; -1: none */
    uint32_t count, slot[WEFT_TASK_GRANT];
    uint64_t ask;
};

/* Chooses what to give to who has asked. The leader. */
WEFT_INLINE void weft_task_choose(weft_self *self, struct weft_task_place *p,
                                  struct weft_task_rank *r, struct weft_task_give *give)
{
    give->to = -1;
    for (int32_t from = 0; give->to < 0 && from < p->places; from++) {
        const uint64_t ask = weft_load_acquire_u64(
            &p->mail->word[weft_task_row(p->places, WEFT_TASK_ASKED, from)], ORDER_task_take);
        if (from != p->me && ask != p->peer[from].answered) {
            p->peer[from].answered = give->ask = ask;
            give->to = from;
        }
    }
    if (give->to < 0)
        return;
    give->count = 0;
    const uint32_t queued = weft_load_relaxed_u32(&p->queued);
    uint32_t most = queued / 2 + (queued & 1), kept = 0, keep[WEFT_TASK_GRANT];
    if (most > WEFT_TASK_GRANT)
        most = WEFT_TASK_GRANT;
    if (most > WEFT_TASK_AWAY - p->peer[give->to].away)
        most = WEFT_TASK_AWAY - p->peer[give->to].away;
    while (give->count < most && kept < WEFT_TASK_GRANT) {
        const uint32_t slot = weft_task_find(p, r);
        if (slot == 0)
            break;
        struct weft_task_record *const record = &p->record[slot - 1];
        const uint32_t part = record->home == p->me && !weft_task_is_cancelled(p, record) &&
                                      weft_task_goes(self, p, record, give->to)
                                  ? weft_task_split(p, r, slot - 1)
                                  : 0;
        if (part != 0)
            give->slot[give->count++] = part - 1;
        if (part != slot)
            keep[kept++] = slot - 1;
        if (record->many && part != 0) /* half of it is enough */
            break;
    }
    for (uint32_t i = 0; i < kept; i++)
        weft_task_ready(self, p, r, keep[i]);
    for (uint32_t i = 0; i < give->count; i++)
        p->record[give->slot[i]].taker = (uint32_t)give->to + 1;
    p->peer[give->to].away += give->count;
    weft_tell_u32(&p->gone, p->gone + give->count);
    if (give->count != 0)
        weft_task_tell(&p->peer[give->to].last, &p->record[give->slot[give->count - 1]],
                       (uint32_t)give->to);
    p->given += give->count;
}

/* Answers who has asked. All threads. */
WEFT_INLINE void weft_task_answer(weft_self *self, struct weft_task_place *p,
                                  struct weft_task_rank *r)
{
    WEFT_SHARED(struct weft_task_give, give, 1);

    if (weft_leads(self))
        weft_task_choose(self, p, r, give);
    weft_sync(self);
    if (give->to < 0)
        return;
    for (uint32_t i = 0; i < give->count; i++)
        weft_put(self, p->win, give->to,
                 offsetof(struct weft_task_mail, grant) + i * sizeof(struct weft_task_record),
                 &p->record[give->slot[i]], weft_task_record_bytes(p->record[give->slot[i]].datas));
    weft_task_post(self, p, r, give->to, offsetof(struct weft_task_mail, granted),
                   give->ask << 32 | give->count);
}

/* Tells the others how many tasks wait here, when that has changed much. All threads. */
WEFT_INLINE void weft_task_advertise(weft_self *self, struct weft_task_place *p,
                                     struct weft_task_rank *r)
{
    WEFT_SHARED(uint64_t, load, 1);

    if (weft_leads(self)) {
        const uint32_t queued = weft_load_relaxed_u32(&p->queued);
        const uint64_t now = (int32_t)queued > 0 ? queued : 0, told = p->told & UINT32_MAX;
        const uint64_t apart = now > told ? now - told : told - now;
        *load = (now == 0) != (told == 0) || apart > told / 4 ? now : UINT64_MAX;
        if (*load != UINT64_MAX) /* the same number after another is news, too */
            *load = p->told = ((p->told >> 32) + 1) << 32 | now;
    }
    weft_sync(self);
    if (*load == UINT64_MAX)
        return;
    for (int32_t to = 0; to < p->places; to++)
        if (to != p->me)
            weft_task_post(self, p, r, to,
                           weft_task_mail_at(weft_task_row(p->places, WEFT_TASK_LOAD, p->me)),
                           *load);
}

/* ---- taking ---------------------------------------------------------------------------------- */

/* Chooses whom to ask; -1: nobody. The leader. */
WEFT_INLINE int32_t weft_task_victim(struct weft_task_place *p, uint64_t now)
{
    int32_t victim = -1;
    uint64_t most = 0;

    for (int32_t q = 0; q < p->places; q++) {
        const uint64_t load = weft_load_acquire_u64(
            &p->mail->word[weft_task_row(p->places, WEFT_TASK_LOAD, q)], ORDER_task_take);
        const bool vain = load == p->peer[q].vain && now < p->peer[q].again;
        if (q != p->me && !vain && (uint32_t)load > most) {
            most = (uint32_t)load;
            victim = q;
        }
    }
    return victim;
}

/* Whether what another place sent is a task of its own that can be run here. */
WEFT_INLINE bool weft_task_plausible(const struct weft_task_place *p,
                                     const struct weft_task_record *record)
{
    int64_t numbers[3];

    return record->body < p->bodies && record->priority < WEFT_TASK_PRIORITIES &&
           (record->flags & p->barred) == 0 && record->home == p->asking && record->books < 2 &&
           record->datas <= WEFT_TASK_DATA && record->host <= WEFT_TASK_STATES &&
           record->first < record->end && record->end <= INT64_MAX &&
           weft_task_wrong_data(record->data, record->datas, p->places, numbers) == NULL;
}

/* Takes the answer, if it is there, as far as there are slots. The leader. */
WEFT_INLINE void weft_task_accept(weft_self *self, struct weft_task_place *p,
                                  struct weft_task_rank *r, uint64_t now)
{
    const uint64_t word = weft_load_acquire_u64(&p->mail->granted, ORDER_task_take);
    const uint32_t count = (uint32_t)word;

    if (word >> 32 != p->ask)
        return;
    if (count > WEFT_TASK_GRANT)
        weft_fail4(self, WEFT_ERR_PROTOCOL, "place %d gives %lld tasks, at most %d", p->asking,
                   count, WEFT_TASK_GRANT, 0);
    for (; p->accepted < count; p->accepted++) {
        const uint32_t slot = weft_task_slot_take(p, r, true);
        if (slot == 0)
            return;
        struct weft_task_record *const record = &p->record[slot - 1];
        weft_read_shared(record, &p->mail->grant[p->accepted], sizeof(*record));
        if (!weft_task_plausible(p, record))
            weft_fail4(self, WEFT_ERR_PROTOCOL,
                       "place %d gives what is no task: body %d of %d, %d pieces of data",
                       p->asking, record->body, p->bodies, record->datas);
        record->many = record->end - record->first > 1;
        record->left = record->end - record->first + record->many;
        record->parent = record->taker = 0;
        weft_task_ready(self, p, r, slot - 1);
    }
    r->taken += count;
    p->backoff = count != 0 ? 20000 : p->backoff < 500000 ? 2 * p->backoff : 1000000;
    p->peer[p->asking].again = count != 0 ? 0 : now + p->backoff;
    p->asking = -1;
}

/* Asks for tasks when a rank has nothing to do, or takes the answer. All threads. */
WEFT_INLINE void weft_task_steal(weft_self *self, struct weft_task_place *p,
                                 struct weft_task_rank *r)
{
    WEFT_SHARED(int32_t, victim, 1);

    if (weft_leads(self)) {
        const uint64_t now = weft_port_clock();
        *victim = -1;
        if (p->asking >= 0)
            weft_task_accept(self, p, r, now);
        else
            *victim = weft_task_victim(p, now);
        if (*victim >= 0) {
            p->peer[*victim].vain = weft_load_relaxed_u64(
                &p->mail->word[weft_task_row(p->places, WEFT_TASK_LOAD, *victim)]);
            p->asking = *victim;
            p->accepted = 0;
            p->ask = (p->ask + 1) & UINT32_MAX;
        }
    }
    weft_sync(self);
    if (*victim >= 0)
        weft_task_post(self, p, r, *victim,
                       weft_task_mail_at(weft_task_row(p->places, WEFT_TASK_ASKED, p->me)), p->ask);
    weft_sync(self);
}

#endif
