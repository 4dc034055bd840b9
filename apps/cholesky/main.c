/*
 * cholesky/main.c - the Cholesky factor of a matrix, by recorded tasks of one tile each. A tile is
 * written many times, and a finished one read by many; what waits for what follows from that.
 */
#include <weft/task.h>

#include "app.h"
#include "problem.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

WEFT_TASK_IDS(FACTORS)
WEFT_TASK_KERNEL_DECLARE(cholesky_tasks);

struct factors {
    struct app app;
    struct matrix matrix;
    double *memory; /* device memory: the matrix, and its factor */
    weft_win win;
    weft_recording *recording;
};

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static bool fill(struct factors *f)
{
    const struct matrix *const m = &f->matrix;
    double *const tiles = app_host_memory(&f->app, m->bytes);
    bool good = tiles != NULL && app_allocate(&f->app, 2 * m->bytes, &f->memory);

    if (good)
        matrix_fill(m, f->app.settings.seed, tiles);
    good = good && weft_copy(f->app.job, f->memory, tiles, m->bytes) == WEFT_OK &&
           weft_host_win_create(f->app.job, f->memory, 2 * m->bytes, &f->win) == WEFT_OK;
    free(tiles);
    return good;
}

/* Columns of tiles go round the places. */
static int place_of(const struct factors *f, uint64_t column)
{
    return (int)(column % (uint64_t)f->app.numbers->processes);
}

/* A tile of the matrix (0) or of the factor (1). */
static weft_task_data_desc tile_data(const struct factors *f, int which, uint64_t row,
                                     uint64_t column, uint32_t mode)
{
    const struct matrix *const m = &f->matrix;

    return (weft_task_data_desc){.win = f->win,
                                 .place = place_of(f, column),
                                 .offset = (size_t)which * m->bytes +
                                           matrix_tile(m, row, column) * sizeof(double),
                                 .bytes = m->tile_bytes,
                                 .mode = mode};
}

static bool add(void *to, const struct factor_task *task)
{
    static const uint32_t body[] = {potrf_id, trsm_id, gemm_id}, datas[] = {2, 3, 4};
    const struct factors *const f = to;
    const bool first = task->what == FACTOR_GEMM ? task->step == 0 : task->column == 0;
    const struct tile tile = {
        .n = f->matrix.side, .pitch = f->matrix.pitch, .diagonal = task->row == task->column};
    weft_task_desc desc = {.body = body[task->what],
                           .arguments = &tile,
                           .arguments_bytes = sizeof(tile),
                           .datas = datas[task->what]};

    desc.data[TILE_TO] = tile_data(f, 1, task->row, task->column, WEFT_TASK_OUT);
    desc.data[TILE_FROM] = tile_data(f, !first, task->row, task->column, WEFT_TASK_IN);
    desc.data[TILE_A] = tile_data(f, 1, task->what == FACTOR_GEMM ? task->row : task->column,
                                  task->step, WEFT_TASK_IN);
    desc.data[TILE_B] = tile_data(f, 1, task->column, task->step, WEFT_TASK_IN);
    return weft_tasks_add(f->recording, &desc) == WEFT_OK;
}

/* All repetitions. */
static bool run(struct factors *f)
{
    const struct settings *const s = &f->app.settings;
    const weft_numbers *const numbers = f->app.numbers;
    struct report report = {.program = f->app.program,
                            .settings = s,
                            .variant = "tasks",
                            .device = app_device(f->app.job),
                            .processes = numbers->processes,
                            .ranks = numbers->ranks,
                            .threads = numbers->threads};
    weft_recording_numbers recorded;
    const double began = now_ms();
    bool good = weft_tasks_record_all(f->app.job, &f->recording) == WEFT_OK &&
                matrix_tasks(&f->matrix, add, f) && weft_tasks_ready(f->recording) == WEFT_OK;
    const double record_ms = now_ms() - began;
    const bool speaks = numbers->process == 0;
    if (!good || (speaks && !report_begin(&report)))
        return false;
    double best = 0;
    for (uint64_t i = 0; good && i < s->repetitions; i++) {
        const double start = now_ms();
        good = weft_tasks_run(f->recording, s->iterations) == WEFT_OK;
        const double ms = now_ms() - start;
        best = i == 0 || ms < best ? ms : best;
        if (speaks)
            report_repetition(&report, ms, -1);
    }
    if (speaks)
        report_end(&report);
    if (!good || weft_tasks_recorded(f->recording, &recorded) != WEFT_OK)
        return false;
    if (speaks && !s->csv)
        printf(
            "%llu tasks with %llu dependences, recorded in %.1f ms; %.1f%% of them waited; at best "
            "%.1f GFLOP/s\n",
            (unsigned long long)recorded.tasks, (unsigned long long)recorded.edges, record_ms,
            100.0 * (double)recorded.waited / (double)(recorded.tasks * recorded.epochs),
            matrix_flops(&f->matrix) * (double)s->iterations / best * 1e-6);
    return true;
}

/* Process 0 fetches all tiles. */
static bool verify(struct factors *f)
{
    const struct matrix *const m = &f->matrix;
    double *const factor = app_host_memory(&f->app, m->bytes);
    bool good = factor != NULL;

    for (uint64_t row = 0; row < m->tiles; row++)
        for (uint64_t column = 0; column <= row && good; column++) {
            const size_t at = matrix_tile(m, row, column);
            good = weft_host_get(f->app.job, f->win, place_of(f, column),
                                 m->bytes + at * sizeof(double), factor + at,
                                 m->tile_bytes) == WEFT_OK;
        }
    good = good && matrix_verify(m, &f->app.settings, factor);
    free(factor);
    return good;
}

int main(int argc, char **argv)
{
    struct factors f = {.win = WEFT_WIN_NONE};
    struct nothing nothing = {0};

    if (!app_open(&f.app, &cholesky, argc, argv))
        return app_close(&f.app, false);
    const struct settings *const s = &f.app.settings;
    bool good = matrix_of(s, f.app.numbers->process == 0, &f.matrix);
    good = good && fill(&f);
    if (good && weft_tasks_begin(f.app.job, &cholesky_tasks, &nothing,
                                 s->threads > 0 ? s->threads : 256, s->ranks) == WEFT_OK) {
        good = run(&f);
        good = weft_tasks_end(f.app.job) == WEFT_OK && good;
        good = good && (!s->verify || f.app.numbers->process != 0 || verify(&f));
        good = weft_host_win_free(f.app.job, &f.win) == WEFT_OK && good;
    } else {
        good = false;
    }
    weft_free(f.app.job, f.memory);
    return app_close(&f.app, good);
}
