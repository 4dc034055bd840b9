/*
 * ring - a token around all ranks; prints what it has gathered, and the time of a lap.
 */
#include <weft/weft.h>

#include "report.h"
#include "ring.h"
#include "usage.h"

#include <stdio.h>

WEFT_KERNEL_DECLARE(ring_kernel);

static const char about[] =
    "A token around all ranks; prints what it has gathered, and the time of a lap.";

/* 0 if the token comes back as it should. */
static int run_ring(weft_job *job)
{
    const weft_numbers *numbers = weft_numbers_of(job);
    struct ring user = {.laps = 100};
    const double *intervals;
    size_t count;

    if (weft_prepare(job, &ring_kernel, 32, 8) != WEFT_OK)
        return 1;
    user.tokens = weft_malloc(job, (size_t)numbers->ranks_here * 2 * sizeof(*user.tokens));
    if (user.tokens == NULL || weft_run(job, &user, sizeof(user), NULL) != WEFT_OK ||
        weft_intervals(job, &intervals, &count) != WEFT_OK || count != 1)
        return 1;
    weft_free(job, user.tokens);
    if (numbers->first_rank != 0)
        return 0; /* rank 0, and the result, is elsewhere */

    const uint64_t n = (uint64_t)numbers->ranks;
    const uint64_t expected = (uint64_t)user.laps * n * (n + 1) / 2;
    printf("token after %d laps of %d ranks: %llu, expected %llu; %.1f us a lap\n", user.laps,
           numbers->ranks, (unsigned long long)user.result, (unsigned long long)expected,
           intervals[0] * 1e3 / user.laps);
    return user.result != expected;
}

int main(int argc, char **argv)
{
    weft_job *job;

    if (weft_open(&job, &argc, argv) != WEFT_OK)
        return 1;
    const int status = argc > 1 ? usage(job, argv[1], about) : run_ring(job);
    return weft_close(job) != WEFT_OK || !report_flushed() ? 1 : status;
}
