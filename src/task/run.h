/*
 * task/run.h - what becomes of a task at its own place: it is made, made ready, and, when its calls
 * are over, taken out of the books. The leader of any rank does each of these.
 *
 * `created` counts a task before anybody can run it, `completed` when it is over. So a task whose
 * end is counted has counted its children before, which is what finish.h needs.
 */
#ifndef WEFT_TASK_RUN_H
#define WEFT_TASK_RUN_H

#include "task/queue.h"

/* Packs what a failure of the rank names: place, body and number of its task. */
WEFT_INLINE uint64_t weft_task_work(int32_t home, uint32_t body, uint32_t number)
{
    return ((uint64_t)home + 1) << 40 | (uint64_t)(body & 0xff) << 32 | number;
}

/* The timeline has a task as its calls: its number at its place, who made it, its body. */
WEFT_COLD void weft_task_mark(weft_self *self, int32_t home, uint32_t number, uint32_t by,
                              uint32_t what)
{
    struct weft_trace_event event;

    event.process = home;
    event.slot = number;
    event.amount = what;
    event.what = weft_trace_what(WEFT_TRACE_WORK, (int)by, 0);
    weft_trace_mark(self, &event);
}

/* Names a task, for people: one word may be of another task than the next. */
WEFT_INLINE void weft_task_tell(struct weft_task_named *named,
                                const struct weft_task_record *record, uint32_t at)
{
    weft_tell_u32(&named->body, record->body);
    weft_tell_u32(&named->by, record->by);
    weft_tell_u32(&named->slot, record->home_slot);
    weft_tell_u32(&named->at, at);
}

/* Whether the host program has cancelled this task of the place's own. */
WEFT_INLINE bool weft_task_is_cancelled(const struct weft_task_place *p,
                                        const struct weft_task_record *record)
{
    return record->host != 0 &&
           weft_load_relaxed_u64(
               &p->mail->word[weft_task_cancel_at(p->places, record->host - 1)]) ==
               record->generation;
}

/* Completes a task of this place: all calls of the slot are over. */
WEFT_COLD void weft_task_complete(weft_self *self, struct weft_task_place *p, uint32_t slot,
                                  uint32_t status)
{
    const struct weft_task_record *record = &p->record[slot];

    if (record->parent != 0) { /* some calls of another */
        const uint32_t parent = record->parent - 1;
        const uint64_t calls = record->end - record->first;
        weft_task_slot_give(p, slot);
        slot = parent;
        record = &p->record[slot];
        if (weft_task_add64(&p->record[slot].left, 0 - calls) != calls)
            return;
    }
    if (record->host != 0) {
        weft_store_release_u32(&p->host->state[record->host - 1], record->generation << 8 | status,
                               ORDER_task_give);
        weft_task_wake(self);
    }
    uint64_t *const completed = &p->mail->books[record->books].completed;
    weft_task_slot_give(p, slot);
    weft_add_release_u64(completed, 1, ORDER_task_give);
}

/* ---- what may be a task ---------------------------------------------------------------------- */

/* Says what is wrong with a task's data, as weft_task_wrong. Their bytes can be added up. */
WEFT_INLINE const char *weft_task_wrong_data(const weft_task_data_desc *datas, uint32_t count,
                                             int32_t places, int64_t number[3])
{
    for (uint32_t i = 0; i < count; i++) {
        const weft_task_data_desc *const data = &datas[i];
        number[0] = i;
        number[1] = data->mode;
        if (data->mode < WEFT_TASK_IN || data->mode > WEFT_TASK_SCRATCH)
            return "%s: data %lld has mode %lld, which is no weft_task_mode";
        number[1] = data->place;
        number[2] = places;
        if (data->mode != WEFT_TASK_SCRATCH && (data->place < 0 || data->place >= places))
            return "%s: data %lld is at place %lld, which is not one of %lld";
        number[1] = (int64_t)data->pitch;
        number[2] = (int64_t)data->bytes;
        if (data->rows > 1 && data->pitch != 0 && data->pitch < data->bytes)
            return "%s: data %lld has a pitch of %lld for rows of %lld bytes";
        number[1] = data->rows;
        if (data->bytes > WEFT_TASK_MOST_BYTES / weft_task_rows(data))
            return "%s: data %lld has %lld rows of %lld bytes";
    }
    return NULL;
}

/* NULL: it is one; else what is wrong: a text for the name of the call and three numbers. */
WEFT_INLINE const char *weft_task_wrong(const weft_task_desc *desc, const struct weft_task_place *p,
                                        int64_t number[3])
{
    number[2] = 0;
    number[0] = desc->body;
    number[1] = p->bodies;
    if (desc->body >= p->bodies)
        return "%s: body %lld is not one of the kernel's %lld";
    number[0] = (int64_t)desc->count;
    if (number[0] < 0)
        return "%s: a count of %lld";
    number[0] = desc->flags;
    number[1] = p->barred;
    if ((desc->flags & (p->barred | ~(uint32_t)WEFT_TASK_FLAGS)) != 0)
        return "%s: flags %lld: unknown, or with those (%lld) that keep it from its own place";
    number[0] = desc->priority;
    number[1] = WEFT_TASK_PRIORITIES - 1;
    if (desc->priority >= WEFT_TASK_PRIORITIES)
        return "%s: priority %lld is not in 0..%lld";
    number[0] = desc->arguments_bytes;
    number[1] = WEFT_TASK_ARGUMENTS;
    if (desc->arguments_bytes > WEFT_TASK_ARGUMENTS ||
        (desc->arguments_bytes != 0 && desc->arguments == NULL))
        return "%s: %lld bytes of arguments, at most %lld, or they are NULL";
    number[0] = desc->datas;
    number[1] = WEFT_TASK_DATA;
    if (desc->datas > WEFT_TASK_DATA)
        return "%s: %lld pieces of data, at most %lld";
    return weft_task_wrong_data(desc->data, desc->datas, p->places, number);
}

/* One without a pitch has rows that follow each other. */
WEFT_INLINE void weft_task_pitch_of(weft_task_data_desc *data)
{
    if (data->rows <= 1 || data->pitch == 0)
        data->pitch = data->bytes;
}

/* Fills in the record of a good task, but for whose it is. */
WEFT_INLINE void weft_task_fill(struct weft_task_record *record, const weft_task_desc *desc)
{
    record->body = desc->body;
    record->flags = desc->flags;
    record->priority = desc->priority;
    record->first = 0;
    record->end = desc->count > 1 ? desc->count : 1;
    record->many = desc->count > 1;
    record->left = record->end + record->many;
    record->parent = record->host = record->generation = record->taker = 0;
    record->by = WEFT_HOST_SLOT;
    record->datas = desc->datas;
    for (uint32_t i = 0; i < desc->arguments_bytes; i++)
        record->arguments[i] = ((const unsigned char *)desc->arguments)[i];
    for (uint32_t i = 0; i < desc->datas; i++) {
        record->data[i] = desc->data[i];
        weft_task_pitch_of(&record->data[i]);
        if (desc->count > 1 && (desc->data[i].mode & WEFT_TASK_OUT) != 0)
            record->flags |= WEFT_TASK_HOLD; /* each rank would bring back all of it */
    }
}

#endif
