/*
 * collectives - mean and variance of 1 ... 1000001 over all ranks of the job, against the formulas.
 */
#include <weft/weft.h>

#include "collectives.h"
#include "report.h"
#include "usage.h"

#include <math.h>
#include <stdio.h>

WEFT_KERNEL_DECLARE(collectives_kernel);

static const char about[] =
    "Mean and variance of 1 ... 1000001 over all ranks of the job, against the formulas.";

/* 0 if the result is right. */
static int compute(weft_job *job)
{
    const weft_numbers *numbers = weft_numbers_of(job);
    struct collectives user = {.elements = 1000001};

    if (weft_prepare(job, &collectives_kernel, 128, 16) != WEFT_OK)
        return 1;
    user.sums = weft_malloc(job, (size_t)numbers->ranks_here * 2 * sizeof(double));
    if (user.sums == NULL || weft_run(job, &user, sizeof(user), NULL) != WEFT_OK)
        return 1;
    weft_free(job, user.sums);
    if (numbers->first_rank != 0)
        return 0; /* rank 0, and the result, is elsewhere */

    const double n = (double)user.elements, mean = (n + 1) / 2, variance = (n * n - 1) / 12;
    printf("1 .. %.0f on %d ranks: mean %.0f, expected %.0f; variance %.1f, expected %.1f\n", n,
           numbers->ranks, user.mean, mean, user.variance, variance);
    return user.mean != mean || fabs(user.variance / variance - 1) > 1e-12;
}

int main(int argc, char **argv)
{
    weft_job *job;

    if (weft_open(&job, &argc, argv) != WEFT_OK)
        return 1;
    const int status = argc > 1 ? usage(job, argv[1], about) : compute(job);
    return weft_close(job) != WEFT_OK || !report_flushed() ? 1 : status;
}
