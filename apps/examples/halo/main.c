/*
 * halo - heat in a plate, distributed over all ranks; every process compares its rows with a serial
 * computation.
 */
#include <weft/weft.h>

#include "halo.h"
#include "report.h"
#include "usage.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

WEFT_KERNEL_DECLARE(halo_kernel);

static const char about[] =
    "Heat in a plate, distributed over all ranks, and compared with a serial computation.";

/* The whole plate after STEPS steps; NULL without memory. The caller frees it. */
static double *serial(void)
{
    const size_t bytes = (size_t)WIDTH * HEIGHT * sizeof(double);
    double *now = malloc(bytes), *next = malloc(bytes);

    if (now == NULL || next == NULL) {
        free(now);
        free(next);
        return NULL;
    }
    for (int r = 0; r < HEIGHT; r++)
        for (int c = 0; c < WIDTH; c++)
            now[r * WIDTH + c] = halo_initial(r, c);
    for (int step = 0; step < STEPS; step++) {
        memcpy(next, now, bytes);
        for (int r = 1; r < HEIGHT - 1; r++)
            for (int c = 1; c < WIDTH - 1; c++)
                next[r * WIDTH + c] = 0.25 * (now[(r - 1) * WIDTH + c] + now[(r + 1) * WIDTH + c] +
                                              now[r * WIDTH + c - 1] + now[r * WIDTH + c + 1]);
        double *swap = now;
        now = next;
        next = swap;
    }
    free(next);
    return now;
}

/* Largest difference between the rows of this process's ranks and the serial plate. */
static double compare(weft_job *job, const struct halo *user, const double *expected)
{
    const weft_numbers *n = weft_numbers_of(job);
    const size_t plate = 2 * ((size_t)user->rows_most + 2) * WIDTH;
    double row[WIDTH], worst = 0;

    for (int i = 0; i < n->ranks_here; i++) {
        const int first = halo_first_row(n->first_rank + i, n->ranks);
        const int rows = halo_first_row(n->first_rank + i + 1, n->ranks) - first;
        const double *result =
            user->plates + (size_t)i * plate + (size_t)(STEPS % 2) * (size_t)(rows + 2) * WIDTH;
        for (int r = 0; r < rows; r++) {
            if (weft_copy(job, row, result + (size_t)(r + 1) * WIDTH, sizeof(row)) != WEFT_OK)
                return INFINITY;
            for (int c = 0; c < WIDTH; c++)
                worst = fmax(worst, fabs(row[c] - expected[(first + r) * WIDTH + c]));
        }
    }
    return worst;
}

/* 0 if all rows of this process are right. */
static int heat(weft_job *job)
{
    const weft_numbers *n = weft_numbers_of(job);
    struct halo user = {0};
    double milliseconds;

    if (weft_prepare(job, &halo_kernel, 128, 8) != WEFT_OK)
        return 1;
    if (n->ranks > HEIGHT) {
        fprintf(stderr, "halo: %d ranks are too many for %d rows\n", n->ranks, HEIGHT);
        return 1;
    }
    user.rows_most = HEIGHT / n->ranks + 1;
    user.plates = weft_malloc(job, (size_t)n->ranks_here * 2 * ((size_t)user.rows_most + 2) *
                                       WIDTH * sizeof(double));
    if (user.plates == NULL || weft_run(job, &user, sizeof(user), &milliseconds) != WEFT_OK)
        return 1;
    double *expected = serial();
    if (expected == NULL)
        return 1;
    const double worst = compare(job, &user, expected);
    printf("process %d of %d: ranks %d to %d, %d steps in %.1f ms, largest difference %g\n",
           n->process, n->processes, n->first_rank, n->first_rank + n->ranks_here - 1, STEPS,
           milliseconds, worst);
    free(expected);
    weft_free(job, user.plates);
    return !(worst < 1e-12);
}

int main(int argc, char **argv)
{
    weft_job *job;

    if (weft_open(&job, &argc, argv) != WEFT_OK)
        return 1;
    const int status = argc > 1 ? usage(job, argv[1], about) : heat(job);
    return weft_close(job) != WEFT_OK || !report_flushed() ? 1 : status;
}
