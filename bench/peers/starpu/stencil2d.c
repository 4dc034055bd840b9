/*
 * peers/starpu/stencil2d.c - the plate of apps/stencil2d on StarPU's CPU workers: a handle for each
 * block of whole rows (--way K, of 2 fields), a task a block and iteration, which reads its block
 * and those above and below; StarPU finds the order by the handles. It takes the application's
 * command line, and checks its result with the application's own code.
 *
 * --empty N, alone: N tasks without data that do nothing; prints what one takes.
 */
#include "problem.h"

#include <starpu.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WAYS = 16384 };

struct rows {
    const double *in; /* the first row of the block */
    double *out;
    size_t width, rows;
};

static void relax(void *buffers[], void *argument)
{
    struct rows r;

    (void)buffers;
    starpu_codelet_unpack_args(argument, &r);
    for (size_t row = 0; row < r.rows; row++) {
        const double *const here = r.in + row * r.width;
        double *const to = r.out + row * r.width;
        for (size_t i = 1; i < r.width - 1; i++)
            to[i] = 0.25 * ((here[i - r.width] + here[i + r.width]) + (here[i - 1] + here[i + 1]));
    }
}

static void nothing(void *buffers[], void *argument)
{
    (void)buffers;
    (void)argument;
}

static struct starpu_codelet relax_block = {.cpu_funcs = {relax},
                                            .nbuffers = 4,
                                            .modes = {STARPU_R, STARPU_R, STARPU_R, STARPU_W},
                                            .name = "relax"};
static struct starpu_codelet empty = {.cpu_funcs = {nothing}, .nbuffers = 0, .name = "empty"};
static starpu_data_handle_t block[2][WAYS];

static void good(int code, const char *what)
{
    if (code == 0)
        return;
    fprintf(stderr, "stencil2d_starpu: %s: error %d\n", what, code);
    exit(1);
}

static int run_empty(long count)
{
    double us = 0;

    for (int round = 0; round < 2; round++) { /* the first warms up */
        const double begun = starpu_timing_now();
        for (long i = 0; i < count; i++)
            good(starpu_task_insert(&empty, 0), "a task");
        good(starpu_task_wait_for_all(), "the end");
        us = starpu_timing_now() - begun;
    }
    printf("empty starpu: %.6f us a task\n", us / (double)count);
    starpu_shutdown();
    return 0;
}

/* The rows of block b: from *first on. */
static size_t rows_in(const struct options *o, uint32_t b, size_t *first)
{
    *first = 1 + o->n * b / o->way;
    return 1 + o->n * (b + 1) / o->way - *first;
}

static void iterate(const struct options *o, double *const field[2], uint32_t iteration)
{
    const size_t width = o->n + 2;
    const int from = (int)(iteration % 2);

    for (uint32_t b = 0; b < o->way; b++) {
        size_t first;
        struct rows r = {.width = width, .rows = rows_in(o, b, &first)};
        r.in = field[from] + first * width;
        r.out = field[1 - from] + first * width;
        good(starpu_task_insert(&relax_block, STARPU_R, block[from][b > 0 ? b - 1 : b], STARPU_R,
                                block[from][b], STARPU_R, block[from][b + 1 < o->way ? b + 1 : b],
                                STARPU_W, block[1 - from][b], STARPU_VALUE, &r, sizeof(r), 0),
             "a task");
    }
}

static int verify(const struct options *o, const double *got)
{
    const size_t bytes = (o->n + 2) * (o->n + 2) * sizeof(double);
    double ms, *const want = solve(o, &ms);
    const bool equal = want != NULL && memcmp(got, want, bytes) == 0;

    printf("verified: %s\n", equal ? "bit-equal" : "DIFFERS");
    free(want);
    return !equal;
}

/* All iterations; us. */
static double run(const struct options *o, double *const field[2])
{
    const size_t width = o->n + 2;

    for (int f = 0; f < 2; f++)
        for (uint32_t b = 0; b < o->way; b++) {
            size_t first;
            const size_t rows = rows_in(o, b, &first);
            starpu_vector_data_register(&block[f][b], STARPU_MAIN_RAM,
                                        (uintptr_t)(field[f] + first * width), rows * width,
                                        sizeof(double));
        }
    const double begun = starpu_timing_now();
    for (uint32_t i = 0; i < o->iterations; i++)
        iterate(o, field, i);
    good(starpu_task_wait_for_all(), "the end");
    const double us = starpu_timing_now() - begun;
    for (int f = 0; f < 2; f++)
        for (uint32_t b = 0; b < o->way; b++)
            starpu_data_unregister(block[f][b]);
    return us;
}

int main(int argc, char **argv)
{
    struct options o;

    if (argc == 3 && strcmp(argv[1], "--empty") == 0) {
        good(starpu_init(NULL), "start");
        return run_empty(strtol(argv[2], NULL, 10));
    }
    if (!options_read(&o, argc, argv, true))
        return 2;
    if (o.help)
        return 0;
    if (o.way == 0 || o.way > WAYS || o.way > o.n) {
        fprintf(stderr, "stencil2d_starpu: --way 1 to %d is needed, and no more than rows\n", WAYS);
        return 2;
    }
    const size_t width = o.n + 2, points = width * width;
    double *const field[2] = {malloc(points * sizeof(double)), malloc(points * sizeof(double))};
    if (field[0] == NULL || field[1] == NULL) {
        fprintf(stderr, "stencil2d_starpu: no memory for %zu points\n", points);
        exit(1);
    }
    for (int i = 0; i < 2; i++)
        start_rows(o.n, 0, width, field[i]);
    good(starpu_init(NULL), "start");
    const double us = run(&o, field);
    starpu_shutdown();
    printf("stencil2d starpu: N = %llu: %.4f ms an iteration\n", (unsigned long long)o.n,
           us / 1e3 / o.iterations);
    const int wrong = o.verify && verify(&o, field[o.iterations % 2]);
    free(field[0]);
    free(field[1]);
    return wrong;
}
