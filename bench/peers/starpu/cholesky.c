/*
 * peers/starpu/cholesky.c - the factorisation of apps/cholesky on StarPU's CPU workers: the same
 * tasks in the same order, by the same functions; StarPU finds what waits for what by a handle for
 * each tile. It takes the application's command line, and checks its result with its code.
 */
#include "problem.h"
#include "report.h"
#include "tile.h"

#include <starpu.h>

#include <stdio.h>
#include <stdlib.h>

static void good(int code, const char *what)
{
    if (code == 0)
        return;
    fprintf(stderr, "cholesky_starpu: %s: error %d\n", what, code);
    exit(1);
}

static double *tile_at(void *buffers[], int i)
{
    return (double *)STARPU_VECTOR_GET_PTR(buffers[i]);
}

static void potrf(void *buffers[], void *argument)
{
    double *const to = tile_at(buffers, TILE_TO);
    struct tile t;

    starpu_codelet_unpack_args(argument, &t);
    for (uint64_t column = 0; column < t.n; column += TILE_COLUMNS) {
        tile_potrf_columns(&t, tile_at(buffers, TILE_FROM), to, column, 0, 1);
        tile_potrf_block(&t, to, column);
        tile_potrf_below(&t, to, column, 0, 1);
    }
}

static void trsm(void *buffers[], void *argument)
{
    struct tile t;

    starpu_codelet_unpack_args(argument, &t);
    tile_trsm(&t, tile_at(buffers, TILE_FROM), tile_at(buffers, TILE_TO), tile_at(buffers, TILE_A),
              0, 1);
}

static void gemm(void *buffers[], void *argument)
{
    struct tile t;

    starpu_codelet_unpack_args(argument, &t);
    tile_gemm(&t, tile_at(buffers, TILE_FROM), tile_at(buffers, TILE_TO), tile_at(buffers, TILE_A),
              tile_at(buffers, TILE_B), 0, 1);
}

/* Tiles are changed in place, or made from those of the matrix. */
#define CODELET(body)                                                                              \
    {                                                                                              \
        .cpu_funcs = {body}, .nbuffers = STARPU_VARIABLE_NBUFFERS, .name = #body                   \
    }
static struct starpu_codelet codelet[] = {CODELET(potrf), CODELET(trsm), CODELET(gemm)};

struct factors {
    struct matrix matrix;
    starpu_data_handle_t *tile[2]; /* of the matrix, and of its factor */
};

static starpu_data_handle_t handle(const struct factors *f, int which, uint64_t row,
                                   uint64_t column)
{
    return f->tile[which][row * (row + 1) / 2 + column];
}

static bool insert(void *to, const struct factor_task *task)
{
    static const int inputs[] = {0, 1, 2};
    const struct factors *const f = to;
    const bool first = task->what == FACTOR_GEMM ? task->step == 0 : task->column == 0;
    const struct tile tile = {
        .n = f->matrix.side, .pitch = f->matrix.pitch, .diagonal = task->row == task->column};
    const starpu_data_handle_t mine = handle(f, 1, task->row, task->column);
    struct starpu_data_descr data[4] = {
        [TILE_TO] = {mine, first ? STARPU_W : STARPU_RW},
        [TILE_FROM] = {first ? handle(f, 0, task->row, task->column) : mine,
                       first ? STARPU_R : STARPU_RW}};

    if (inputs[task->what] > 0)
        data[TILE_A] = (struct starpu_data_descr){
            handle(f, 1, task->what == FACTOR_GEMM ? task->row : task->column, task->step),
            STARPU_R};
    if (inputs[task->what] > 1)
        data[TILE_B] = (struct starpu_data_descr){handle(f, 1, task->column, task->step), STARPU_R};
    good(starpu_task_insert(&codelet[task->what], STARPU_DATA_MODE_ARRAY, data,
                            2 + inputs[task->what], STARPU_VALUE, &tile, sizeof(tile), 0),
         "a task");
    return true;
}

static void register_tiles(struct factors *f, double *const memory[2])
{
    const struct matrix *const m = &f->matrix;

    for (int which = 0; which < 2; which++) {
        f->tile[which] = malloc(m->bytes / m->tile_bytes * sizeof(*f->tile[which]));
        good(f->tile[which] == NULL, "memory");
        for (size_t i = 0; i < m->bytes / m->tile_bytes; i++)
            starpu_vector_data_register(&f->tile[which][i], STARPU_MAIN_RAM,
                                        (uintptr_t)memory[which] + i * m->tile_bytes,
                                        (uint32_t)(m->tile_bytes / 8), 8);
    }
}

static void unregister_tiles(struct factors *f)
{
    for (int which = 0; which < 2; which++) {
        for (size_t i = 0; i < f->matrix.bytes / f->matrix.tile_bytes; i++)
            starpu_data_unregister(f->tile[which][i]);
        free(f->tile[which]);
    }
}

int main(int argc, char **argv)
{
    struct settings s;
    struct factors f;

    if (!settings_read(&cholesky, argc, argv, true, &s))
        return !s.help;
    if (!matrix_of(&s, true, &f.matrix))
        return 1;
    double *const memory[2] = {malloc(f.matrix.bytes), malloc(f.matrix.bytes)};
    good(memory[0] == NULL || memory[1] == NULL, "memory");
    matrix_fill(&f.matrix, s.seed, memory[0]);
    good(starpu_init(NULL), "start");
    struct report report = {.program = &cholesky,
                            .settings = &s,
                            .variant = "starpu",
                            .device = "cpu",
                            .processes = 1,
                            .ranks = (int)starpu_worker_get_count(),
                            .threads = 1};
    if (!report_begin(&report))
        return 1;
    register_tiles(&f, memory);
    for (uint64_t i = 0; i < s.repetitions; i++) {
        const double begun = starpu_timing_now();
        for (uint64_t it = 0; it < s.iterations; it++)
            matrix_tasks(&f.matrix, insert, &f);
        good(starpu_task_wait_for_all(), "the end");
        report_repetition(&report, (starpu_timing_now() - begun) / 1e3, -1);
    }
    unregister_tiles(&f);
    starpu_shutdown();
    report_end(&report);
    const bool right = !s.verify || matrix_verify(&f.matrix, &s, memory[1]);
    free(memory[0]);
    free(memory[1]);
    return !right;
}
