/*
 * task/data.h - a task's data as its rank reaches them: in their place, if this rank can load and
 * store there as it does its own. Else in a copy in its scratch memory, which is fetched before the
 * calls and brought back after them.
 */
#ifndef WEFT_TASK_DATA_H
#define WEFT_TASK_DATA_H

#include "task/run.h"

/* The body's view; each thread has its own. */
struct weft_task_self {
    struct weft_task_place *place;
    struct weft_task_rank *rank;
    struct weft_task_record *record;
    void *user;
    uint64_t index, first, end; /* call that it is; calls of the rank: from `first` to `end` */
    void *data[WEFT_TASK_DATA];
    uint64_t pitch[WEFT_TASK_DATA];
    uint32_t datas;
    uint32_t slot, staged; /* slot of the record; bit i: data i is a copy */
};

/* Finds where a piece of data is for loads and stores; NULL: it must be copied. It lies in its
 * window, or the job fails. Any thread. */
WEFT_INLINE unsigned char *weft_task_direct(weft_self *self, const weft_task_data_desc *data)
{
    const struct weft_window *const window = weft_check_window(self, data->win, "weft_task_data");
    weft_check_rank(self, data->place, window->members, "weft_task_data");
    const struct weft_window_entry *const there = &window->entry[data->place];
    const uint64_t rows = weft_task_rows(data);
    if (WEFT_UNLIKELY(!weft_inside(data->offset, data->pitch, data->bytes, rows, there->bytes)))
        weft_fail_bounds(self, "weft_task_data", rows, data->bytes, data->pitch, data->offset,
                         there->bytes, data->place);
    const bool alike =
        data->place == self->process || self->state->process_table[data->place].exposed != NULL;
    return there->address != NULL && alike ? there->address + data->offset : NULL;
}

/* Whether this rank would write copies of a task's data. Any thread. */
WEFT_COLD bool weft_task_writes_copies(weft_self *self, const struct weft_task_record *record)
{
    for (uint32_t i = 0; i < record->datas; i++)
        if ((record->data[i].mode & WEFT_TASK_OUT) != 0 &&
            weft_task_direct(self, &record->data[i]) == NULL)
            return true;
    return false;
}

/* Finds the data, and fetches what is read into scratch memory, all of it at the same time. False:
 * another place's task needs more than there is; its place has thought that this rank reaches them.
 * All threads. */
WEFT_INLINE bool weft_task_stage(weft_self *self, weft_task_self *task)
{
    const struct weft_task_record *const record = task->record;
    weft_op fetch[WEFT_TASK_DATA];
    uint64_t at = 0;

    task->staged = 0;
    for (uint32_t i = 0; i < record->datas; i++) {
        const weft_task_data_desc *const data = &record->data[i];
        const bool own = data->mode == WEFT_TASK_SCRATCH;
        task->data[i] = own ? NULL : (void *)weft_task_direct(self, data);
        task->pitch[i] = data->pitch;
        if (task->data[i] != NULL)
            continue;
        task->data[i] = task->rank->scratch + at;
        task->pitch[i] = data->bytes;
        at += (weft_task_bytes(data) + 63) & ~(uint64_t)63;
        if (!own)
            task->staged |= 1u << i;
    }
    if (at > task->place->scratch) {
        task->staged = 0;
        if (record->home != task->place->me)
            return false;
        weft_fail4(self, WEFT_ERR_LIMIT,
                   "a task of body %d needs %llu bytes for its data, and has %llu "
                   "(WEFT_TASK_SCRATCH)",
                   record->body, (int64_t)at, (int64_t)task->place->scratch, 0);
    }
    for (uint32_t i = 0; i < record->datas; i++) {
        const weft_task_data_desc *const data = &record->data[i];
        if ((task->staged >> i & 1) == 0 || (data->mode & WEFT_TASK_IN) == 0)
            continue;
        fetch[i] = weft_get_2d_begin(self, data->win, data->place, data->offset, data->pitch,
                                     task->data[i], data->bytes, data->bytes, weft_task_rows(data));
    }
    for (uint32_t i = 0; i < record->datas; i++)
        if ((task->staged >> i & 1) != 0 && (record->data[i].mode & WEFT_TASK_IN) != 0)
            weft_op_wait(self, fetch[i], WEFT_LOCAL);
    return true;
}

/* Brings back what was written. What goes to another place than `home` is visible there on return.
 * All threads. The value: bytes that were moved, both ways. */
WEFT_INLINE uint64_t weft_task_unstage(weft_self *self, weft_task_self *task)
{
    const struct weft_task_record *const record = task->record;
    uint64_t moved = 0;

    weft_sync(self);
    for (uint32_t i = 0; i < record->datas; i++) {
        const weft_task_data_desc *const data = &record->data[i];
        if ((task->staged >> i & 1) == 0)
            continue;
        if ((data->mode & WEFT_TASK_IN) != 0)
            moved += weft_task_bytes(data);
        if ((data->mode & WEFT_TASK_OUT) == 0)
            continue;
        moved += weft_task_bytes(data);
        weft_put_2d(self, data->win, data->place, data->offset, data->pitch, task->data[i],
                    data->bytes, data->bytes, weft_task_rows(data));
        weft_flush(self, data->win); /* the copy's memory is used again */
    }
    return moved;
}

#endif
