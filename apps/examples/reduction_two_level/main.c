/*
 * reduction_two_level - adds up 1 ... 1000000, first inside each device, then between devices.
 */
#include <weft/weft.h>

#include "reduction.h"
#include "report.h"
#include "usage.h"

#include <stdio.h>

WEFT_KERNEL_DECLARE(reduction_kernel);

static const char about[] =
    "Adds up 1 ... 1000000, first inside each device, then between devices.";

/* 0 if the result is right. */
static int reduce(weft_job *job)
{
    const weft_numbers *numbers = weft_numbers_of(job);
    struct reduction user = {.elements = 1000000};

    /* The two levels know nothing of each other: each has tags that nobody else uses. */
    if (weft_tags_take(job, 1, &user.device_tag) != WEFT_OK ||
        weft_tags_take(job, ROUNDS, &user.round_tag) != WEFT_OK ||
        weft_prepare(job, &reduction_kernel, 128, 16) != WEFT_OK)
        return 1;
    user.slots = weft_malloc(job, ((size_t)numbers->ranks_here + ROUNDS) * sizeof(double));
    if (user.slots == NULL || weft_run(job, &user, sizeof(user), NULL) != WEFT_OK)
        return 1;
    weft_free(job, user.slots);
    if (numbers->first_rank != 0)
        return 0; /* rank 0, and the result, is elsewhere */

    const double expected = (double)user.elements * ((double)user.elements + 1) / 2;
    printf("sum of 1 .. %lld on %d ranks of %d processes: %.0f, expected %.0f\n",
           (long long)user.elements, numbers->ranks, numbers->processes, user.sum, expected);
    return user.sum != expected;
}

int main(int argc, char **argv)
{
    weft_job *job;

    if (weft_open(&job, &argc, argv) != WEFT_OK)
        return 1;
    const int status = argc > 1 ? usage(job, argv[1], about) : reduce(job);
    return weft_close(job) != WEFT_OK || !report_flushed() ? 1 : status;
}
