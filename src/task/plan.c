/*
 * task/plan.c - what is copied between the places of recorded tasks whose homes are known. All
 * places make the same plan.
 *
 * A place that does not load and store where data are has a copy of that memory. Behind a task that
 * writes stand copies of what others read of it elsewhere; these are tasks, and wait as all others.
 * So a storage has what a serial run would have there, wherever one of its tasks reads. A window
 * gets what was written to copies after the epochs. Where a later task writes over a part of that,
 * elsewhere, it gets it at once, so that the later one follows.
 */
#include "task/recorded.h"
#include "task/run.h"
#include "task/tasks.h"

#include <stdlib.h>
#include <string.h>

enum { FETCHED = 1 << 18 }; /* bytes of a copy that one rank fetches */

/* What a storage needs of a piece that is written elsewhere. */
struct want {
    uint32_t next; /* next want of the same piece: index + 1 */
    int32_t storage;
    struct weft_rect rect;
};

struct plan {
    struct weft_recording *r;
    uint32_t *wanted; /* by piece of data as it was recorded: index of its first want + 1 */
    struct want *want;
    uint64_t wants;
    bool full; /* there was no memory */
};

/* ---- what is wanted -------------------------------------------------------------------------- */

/* Adds a want of a piece. with: a piece that overlaps it. */
static void want(struct plan *plan, uint32_t data, int32_t storage, const weft_task_data_desc *with)
{
    const weft_task_data_desc *const of = &plan->r->recorded.data[data].desc;
    uint32_t i = plan->wanted[data];

    while (i != 0 && plan->want[i - 1].storage != storage)
        i = plan->want[i - 1].next;
    if (i == 0) {
        plan->full = plan->full || !WEFT_RECORDED_ROOM(plan->want, plan->wants);
        if (plan->full)
            return;
        plan->want[plan->wants++] = (struct want){.next = plan->wanted[data], .storage = storage};
        i = plan->wanted[data] = (uint32_t)plan->wants;
    }
    weft_rect_join(&plan->want[i - 1].rect, of, with);
}

/* See weft_edges_met. */
static void met(void *context, uint32_t data, uint32_t with, int later, bool covered)
{
    struct plan *const plan = context;
    struct weft_recorded_data *const first = &plan->r->recorded.data[data];
    const struct weft_recorded_data *const second = &plan->r->recorded.data[with];

    if (!weft_recorded_writes(first))
        return;
    if ((second->desc.mode & WEFT_TASK_IN) != 0 && second->storage != first->storage)
        want(plan, data, second->storage, &second->desc);
    if (later != 0 || !weft_recorded_writes(second))
        return;
    first->covered = first->covered || covered;
    if (!covered && second->storage != first->storage && first->storage != first->desc.place) {
        want(plan, data, first->desc.place, &first->desc);
        first->returned = true;
    }
}

/* ---- copies ---------------------------------------------------------------------------------- */

/* Adds a task that copies a piece from one storage to another. */
static void add_copy(struct plan *plan, int which, int32_t home, uint32_t number,
                     const struct weft_recorded_data *from, int32_t storage)
{
    struct weft_recorded *const to = &plan->r->plan.list[which];

    plan->full = plan->full || !WEFT_RECORDED_ROOM(to->task, to->tasks) ||
                 !WEFT_RECORDED_ROOM(to->data, to->datas) ||
                 !WEFT_RECORDED_ROOM(to->data, to->datas + 1);
    if (plan->full)
        return;
    to->task[to->tasks++] =
        (struct weft_recorded_task){.number = number,
                                    .body = WEFT_TASK_COPY,
                                    .data = to->datas,
                                    .datas = 2,
                                    .room = (sizeof(struct weft_task_copy) + 15) & ~15u,
                                    .home = home};
    for (int i = 0; i < 2; i++) {
        struct weft_recorded_data *const data = &to->data[to->datas++];
        *data = (struct weft_recorded_data){.desc = from->desc,
                                            .storage = i == 0 ? from->storage : storage};
        data->desc.mode = i == 0 ? WEFT_TASK_IN : WEFT_TASK_OUT;
    }
    if (home == plan->r->job->numbers.process && which == WEFT_RECORDED_EPOCHS) {
        plan->r->plan.copies++;
        plan->r->plan.copied += weft_task_bytes(&from->desc);
    }
}

static struct weft_recorded_data part_of(const struct weft_recorded_data *data,
                                         const struct weft_rect *rect)
{
    struct weft_recorded_data part = *data;

    part.desc.offset += rect->row * data->desc.pitch + rect->at;
    part.desc.bytes = rect->end - rect->at;
    part.desc.rows = (uint32_t)(rect->rows_end - rect->row);
    weft_task_pitch_of(&part.desc);
    return part;
}

/* Adds a task as it was recorded, with the copies behind it. */
static void add_task(struct plan *plan, const struct weft_recorded_task *task)
{
    const struct weft_recorded *const all = &plan->r->recorded;
    struct weft_recorded *const to = &plan->r->plan.list[WEFT_RECORDED_EPOCHS];
    const uint32_t first = to->datas;

    plan->full = plan->full || !WEFT_RECORDED_ROOM(to->task, to->tasks);
    for (uint32_t i = 0; i < task->datas && !plan->full; i++) {
        plan->full = !WEFT_RECORDED_ROOM(to->data, to->datas);
        if (!plan->full)
            to->data[to->datas++] = all->data[task->data + i];
    }
    if (plan->full)
        return;
    to->task[to->tasks] = *task;
    to->task[to->tasks++].data = first;
    for (uint32_t i = task->data; i < task->data + task->datas; i++) {
        const struct weft_recorded_data *const data = &all->data[i];
        for (uint32_t w = plan->wanted[i]; w != 0; w = plan->want[w - 1].next) {
            const struct weft_recorded_data part = part_of(data, &plan->want[w - 1].rect);
            add_copy(plan, WEFT_RECORDED_EPOCHS, task->home, task->number, &part,
                     plan->want[w - 1].storage);
        }
        if (weft_recorded_writes(data) && !data->covered && !data->returned &&
            data->storage != data->desc.place)
            add_copy(plan, WEFT_RECORDED_RETURN, task->home, task->number, data, data->desc.place);
    }
}

/* ---- memory for copies ----------------------------------------------------------------------- */

static int compare_blocks(const void *a, const void *b)
{
    const struct weft_recorded_block *const x = a, *const y = b;

    if (x->storage != y->storage)
        return x->storage < y->storage ? -1 : 1;
    if (x->place != y->place)
        return x->place < y->place ? -1 : 1;
    if (x->win != y->win)
        return x->win < y->win ? -1 : 1;
    return x->from < y->from ? -1 : x->from > y->from;
}

/* Finds what is in copies, as spans of bytes, of which those that meet are one. */
static void find_blocks(struct plan *plan)
{
    struct weft_recording *const r = plan->r;
    const struct weft_recorded *const all = &r->plan.list[WEFT_RECORDED_EPOCHS];
    uint64_t spans = 0;

    r->plan.blocks = 0;
    for (uint32_t t = 0, i = 0; i < all->datas; i++) {
        const struct weft_recorded_data *const data = &all->data[i];
        const weft_task_data_desc *const d = &data->desc;
        while (i >= all->task[t].data + all->task[t].datas)
            t++;
        if (!weft_recorded_has_bytes(data) || data->storage == d->place)
            continue;
        plan->full = plan->full || !WEFT_RECORDED_ROOM(r->plan.block, spans);
        if (plan->full)
            return;
        r->plan.block[spans++] = (struct weft_recorded_block){
            .storage = data->storage,
            .place = d->place,
            .win = d->win,
            .read = (d->mode & WEFT_TASK_IN) != 0 && all->task[t].body != WEFT_TASK_COPY,
            .from = d->offset,
            .end = d->offset + (weft_task_rows(d) - 1) * d->pitch + d->bytes};
    }
    if (spans != 0)
        qsort(r->plan.block, spans, sizeof(*r->plan.block), compare_blocks);
    for (uint64_t i = 0; i < spans; i++) {
        const struct weft_recorded_block *const next = &r->plan.block[i];
        struct weft_recorded_block *const last =
            r->plan.blocks != 0 ? &r->plan.block[r->plan.blocks - 1] : NULL;
        if (last == NULL || last->storage != next->storage || last->place != next->place ||
            last->win != next->win || next->from > last->end) {
            r->plan.block[r->plan.blocks++] = *next;
            continue;
        }
        last->end = next->end > last->end ? next->end : last->end;
        last->read = last->read || next->read;
    }
}

uint64_t weft_recorded_copy(const struct weft_recording *r, const struct weft_recorded_data *data)
{
    const struct weft_recorded_block key = {.storage = data->storage,
                                            .place = data->desc.place,
                                            .win = data->desc.win,
                                            .from = data->desc.offset};
    uint64_t low = 0, high = r->plan.blocks; /* the last one that does not begin behind it */

    while (low + 1 < high) {
        const uint64_t middle = low + (high - low) / 2;
        if (compare_blocks(&r->plan.block[middle], &key) <= 0)
            low = middle;
        else
            high = middle;
    }
    return r->plan.block[low].at + data->desc.offset - r->plan.block[low].from;
}

/* Places words first, the same everywhere, then copies. Data are aligned as in their windows. */
static void place_blocks(struct weft_recording *r)
{
    enum { LINE = 256 };
    const uint64_t words = r->plan.list[WEFT_RECORDED_EPOCHS].tasks * sizeof(struct weft_task_word);
    const uint64_t begin = (words + LINE - 1) & ~(uint64_t)(LINE - 1);

    r->plan.bytes = begin;
    for (uint64_t i = 0, at = begin; i < r->plan.blocks; i++) {
        struct weft_recorded_block *const block = &r->plan.block[i];
        if (i != 0 && r->plan.block[i - 1].storage != block->storage)
            at = begin;
        block->at = at + block->from % LINE;
        at = (block->at + block->end - block->from + LINE - 1) & ~(uint64_t)(LINE - 1);
        if (block->storage == r->job->numbers.process)
            r->plan.bytes = at;
    }
    r->needed = r->plan.bytes;
}

/* Adds copies before the epochs, so that copies of windows are as these are. */
static void add_fetches(struct plan *plan)
{
    const struct weft_recording *const r = plan->r;

    for (uint64_t i = 0; i < r->plan.blocks; i++) {
        const struct weft_recorded_block *const block = &r->plan.block[i];
        for (uint64_t at = block->from; block->read && at < block->end; at += FETCHED) {
            const struct weft_recorded_data data = {
                .desc = {.win = block->win,
                         .place = block->place,
                         .offset = at,
                         .bytes = block->end - at < FETCHED ? block->end - at : FETCHED,
                         .pitch = block->end - at < FETCHED ? block->end - at : FETCHED},
                .storage = block->place};
            add_copy(plan, WEFT_RECORDED_FETCH, block->place, 0, &data, block->storage);
        }
    }
}

/* ---- the plan -------------------------------------------------------------------------------- */

static weft_status make(struct plan *plan)
{
    struct weft_recording *const r = plan->r;
    struct weft_recorded *const all = &r->plan.list[WEFT_RECORDED_EPOCHS];

    plan->wanted = calloc((size_t)r->recorded.datas + 1, sizeof(*plan->wanted));
    if (plan->wanted == NULL)
        return WEFT_ERR_MEMORY;
    WEFT_TRY(weft_edges_find(&r->recorded, met, plan));
    for (uint32_t t = 0; t < r->recorded.tasks && !plan->full; t++)
        add_task(plan, &r->recorded.task[t]);
    all->arguments = r->recorded.arguments;
    find_blocks(plan);
    add_fetches(plan);
    if (plan->full)
        return WEFT_ERR_MEMORY;
    place_blocks(r);
    return weft_edges_find(all, NULL, NULL);
}

weft_status weft_plan(struct weft_recording *r)
{
    struct plan plan = {.r = r};

    for (uint32_t i = 0; i < r->recorded.datas; i++)
        r->recorded.data[i].covered = r->recorded.data[i].returned = false;
    const weft_status status = make(&plan);
    free(plan.wanted);
    free(plan.want);
    return status;
}

/* Makes the window, not by weft_host_win_create: that it fails may be no fault of the program's. */
static weft_status make_window(weft_job *job, struct weft_plan *plan)
{
    WEFT_HOST_BEGIN(job, self, "weft_tasks_ready");
    WEFT_HOST_TRY(weft_host_together(job, host_name));
    plan->win =
        weft_win_create(self, WEFT_COMM_HOST, plan->memory, plan->memory != NULL ? plan->bytes : 0);
    return weft_host_leave(job, plan->win != WEFT_WIN_NONE ? WEFT_OK : weft_failure(self));
}

weft_status weft_plan_settle(struct weft_recording *r)
{
    struct weft_plan *const plan = &r->plan;
    weft_status status;

    plan->memory = weft_memory_take(r->job, plan->bytes, &status);
    WEFT_TRY(make_window(r->job, plan));
    for (int i = 0; i < WEFT_RECORDED_RUNS && status == WEFT_OK; i++)
        status = weft_recording_tables(r, &plan->list[i], i);
    return weft_agree_on(r->job, status);
}

void weft_plan_free(weft_job *job, struct weft_plan *plan)
{
    plan->list[WEFT_RECORDED_EPOCHS].arguments = NULL; /* those of what was recorded */
    for (int i = 0; i < WEFT_RECORDED_RUNS; i++) {
        weft_recorded_free(&plan->list[i]);
        if (plan->run[i].memory != NULL)
            job->device_ops->free(job->device, plan->run[i].memory, &plan->run[i].share);
    }
    free(plan->block);
    if (plan->win == WEFT_WIN_NONE || weft_host_win_free(job, &plan->win) == WEFT_OK)
        weft_free(job, plan->memory);
    *plan = (struct weft_plan){.block = NULL};
}
