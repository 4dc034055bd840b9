/*
 * src/task/plan.c on random recordings of three places: whatever order edges allow, the epochs of a
 * plan, with what comes before and after them, leave in windows what a serial run leaves. That
 * holds for tasks, too, that overwrite by one piece what they read by another. All places make the
 * same plan, and copies lie where there is room for them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/job/job.h"
#include "task/recorded.h"

enum { PLACES = 3, WINS = 2, TASKS = 16, DATAS = 3, EPOCHS = 3, BYTES = 192, PITCH = 32 };

typedef uint8_t memory[WINS][PLACES][BYTES];

static uint64_t state;

static uint32_t draw(uint32_t n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % n;
}

/* ---- a recording ----------------------------------------------------------------------------- */

static struct weft_recorded_task tasks[TASKS];
static struct weft_recorded_data datas[TASKS * DATAS];

static weft_task_data_desc random_piece(void)
{
    weft_task_data_desc data = {.win = 1 + draw(WINS),
                                .place = (int32_t)draw(PLACES),
                                .bytes = draw(PITCH + 1),
                                .rows = 1 + draw(4),
                                .mode = 1 + draw(3)};

    data.pitch = data.rows > 1 ? PITCH : data.bytes;
    data.offset = draw(BYTES - (uint32_t)(data.rows - 1) * PITCH - (uint32_t)data.bytes + 1);
    if (draw(2) == 0)
        data.offset = data.offset / 8 * 8;
    return data;
}

/* Homes, and what they reach, at random: all reach their own. */
static void record(struct weft_recorded *all)
{
    bool reaches[PLACES][WINS][PLACES];

    for (int h = 0; h < PLACES; h++)
        for (int w = 0; w < WINS; w++)
            for (int p = 0; p < PLACES; p++)
                reaches[h][w][p] = p == h || draw(4) == 0;
    *all = (struct weft_recorded){.task = tasks, .data = datas, .tasks = TASKS};
    for (uint32_t t = 0; t < TASKS; t++) {
        tasks[t] = (struct weft_recorded_task){.count = 1,
                                               .number = t,
                                               .data = all->datas,
                                               .datas = draw(DATAS + 1),
                                               .home = (int32_t)draw(PLACES)};
        for (uint32_t i = 0; i < tasks[t].datas; i++) {
            struct weft_recorded_data *const data = &datas[all->datas++];
            *data = (struct weft_recorded_data){.desc = random_piece()};
            const bool near = reaches[tasks[t].home][data->desc.win - 1][data->desc.place];
            data->storage = near ? data->desc.place : tasks[t].home;
        }
    }
}

/* ---- running it ------------------------------------------------------------------------------ */

static memory windows;
static uint8_t *copies[PLACES];
static const struct weft_recording *planned; /* NULL: all is in windows */
static uint64_t room[PLACES];

/* The bytes of a row. */
static uint8_t *row_of(const struct weft_recorded_data *data, uint64_t row)
{
    const weft_task_data_desc *const d = &data->desc;

    if (planned == NULL || data->storage == d->place)
        return &windows[d->win - 1][d->place][d->offset + row * d->pitch];
    const uint64_t at = weft_recorded_copy(planned, data) + row * d->pitch;
    assert_true(at + d->bytes <= room[data->storage]);
    return copies[data->storage] + at;
}

/* A copy, or a body, which stores what depends on all that it loads. */
static void run(const struct weft_recorded *all, const struct weft_recorded_task *task, int epoch)
{
    const struct weft_recorded_data *const data = &all->data[task->data];
    uint64_t hash = 1000u * task->number + (unsigned)epoch + 1;

    for (uint64_t row = 0; task->body == WEFT_TASK_COPY && row < weft_task_rows(&data->desc); row++)
        memmove(row_of(&data[1], row), row_of(&data[0], row), data->desc.bytes);
    if (task->body == WEFT_TASK_COPY)
        return;
    for (uint32_t i = 0; i < task->datas; i++)
        for (uint64_t row = 0; row < weft_task_rows(&data[i].desc); row++)
            for (uint64_t k = 0; (data[i].desc.mode & WEFT_TASK_IN) != 0 && k < data[i].desc.bytes;
                 k++)
                hash = (hash ^ row_of(&data[i], row)[k]) * 0x100000001b3u;
    for (uint32_t i = 0; i < task->datas; i++)
        for (uint64_t row = 0; row < weft_task_rows(&data[i].desc); row++)
            for (uint64_t k = 0; (data[i].desc.mode & WEFT_TASK_OUT) != 0 && k < data[i].desc.bytes;
                 k++)
                row_of(&data[i], row)[k] = (uint8_t)((hash += 0x9e3779b97f4a7c15u) >> 56);
}

static bool may_run(const struct weft_recorded *all, const uint32_t *done, uint32_t t)
{
    const struct weft_recorded_task *const task = &all->task[t];

    for (uint32_t i = task->edge; i < task->edge + task->edges; i++) {
        const bool before = (all->edge[i] & WEFT_TASK_BEFORE) != 0;
        if (done[all->edge[i] & ~WEFT_TASK_BEFORE] < done[t] + !before)
            return false;
    }
    return true;
}

/* In any order that edges allow, over all epochs. */
static void run_all(const struct weft_recorded *all, uint32_t epochs)
{
    uint32_t *const done = calloc(all->tasks + 1, sizeof(*done));

    assert_non_null(done);
    for (uint64_t left = (uint64_t)all->tasks * epochs; left > 0; left--) {
        uint32_t t = draw(all->tasks), looked = 0;
        while (done[t] == epochs || !may_run(all, done, t)) {
            assert_true(++looked <= all->tasks);
            t = (t + 1) % all->tasks;
        }
        run(all, &all->task[t], (int)done[t]++);
    }
    free(done);
}

/* ---- plans ----------------------------------------------------------------------------------- */

/* Lists, which may be NULL without elements. */
static bool same(const void *a, const void *b, size_t bytes)
{
    return bytes == 0 || memcmp(a, b, bytes) == 0;
}

static bool alike(const struct weft_plan *a, const struct weft_plan *b)
{
    for (int i = 0; i < WEFT_RECORDED_RUNS; i++) {
        const struct weft_recorded *const x = &a->list[i], *const y = &b->list[i];
        if (x->tasks != y->tasks || x->datas != y->datas || x->edges != y->edges ||
            !same(x->task, y->task, x->tasks * sizeof(*x->task)) ||
            !same(x->data, y->data, x->datas * sizeof(*x->data)) ||
            !same(x->edge, y->edge, x->edges * sizeof(*x->edge)))
            return false;
    }
    return a->blocks == b->blocks && same(a->block, b->block, a->blocks * sizeof(*a->block));
}

static void check(uint64_t seed)
{
    static struct weft_job job[PLACES];
    static memory before, serial;
    struct weft_recorded all;
    struct weft_recording *r[PLACES];

    state = seed;
    record(&all);
    for (size_t i = 0; i < sizeof(before); i++)
        ((uint8_t *)before)[i] = (uint8_t)draw(256);
    memcpy(windows, before, sizeof(windows));
    planned = NULL;
    for (int epoch = 0; epoch < EPOCHS; epoch++)
        for (uint32_t t = 0; t < TASKS; t++)
            run(&all, &tasks[t], epoch);
    memcpy(serial, windows, sizeof(serial));
    memcpy(windows, before, sizeof(windows));
    for (int p = 0; p < PLACES; p++) {
        job[p].numbers.process = p;
        job[p].numbers.processes = PLACES;
        r[p] = calloc(1, sizeof(*r[p]));
        assert_non_null(r[p]);
        r[p]->job = &job[p];
        r[p]->recorded = all;
        assert_int_equal(weft_plan(r[p]), WEFT_OK);
        room[p] = r[p]->plan.bytes;
        copies[p] = malloc(room[p]);
        memset(copies[p], 0xee, room[p]);
        assert_true(alike(&r[p]->plan, &r[0]->plan));
    }
    planned = r[0];
    run_all(&r[0]->plan.list[WEFT_RECORDED_FETCH], 1);
    run_all(&r[0]->plan.list[WEFT_RECORDED_EPOCHS], EPOCHS);
    run_all(&r[0]->plan.list[WEFT_RECORDED_RETURN], 1);
    assert_memory_equal(windows, serial, sizeof(serial));
    for (int p = 0; p < PLACES; p++) {
        weft_plan_free(&job[p], &r[p]->plan);
        free(r[p]);
        free(copies[p]);
    }
}

static void random_recordings(void **unused)
{
    (void)unused;
    for (uint64_t seed = 0; seed < 2000; seed++)
        check(seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_recordings)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
