/*
 * buckets - numbers of all ranks go to the ranks in whose range they are.
 */
#include <weft/weft.h>

#include "buckets.h"
#include "report.h"
#include "usage.h"

#include <stdio.h>

WEFT_KERNEL_DECLARE(buckets_kernel);

static const char about[] = "Numbers of all ranks go to the ranks in whose range they are.";

/* 0 if the result is right. */
static int exchange(weft_job *job)
{
    const weft_numbers *n = weft_numbers_of(job);
    struct buckets user = {.got = 0};

    if (weft_prepare(job, &buckets_kernel, 64, 8) != WEFT_OK)
        return 1;
    const size_t here = (size_t)n->ranks_here, ranks = (size_t)n->ranks;
    user.sorted = weft_malloc(job, here * NUMBERS * sizeof(*user.sorted));
    user.received = weft_malloc(job, here * NUMBERS * ranks * sizeof(*user.received));
    user.arrays = weft_malloc(job, here * ARRAYS * ranks * sizeof(*user.arrays));
    user.sums = weft_malloc(job, here * 2 * sizeof(*user.sums));
    if (user.sorted == NULL || user.received == NULL || user.arrays == NULL || user.sums == NULL ||
        weft_run(job, &user, sizeof(user), NULL) != WEFT_OK)
        return 1;
    weft_free(job, user.sorted);
    weft_free(job, user.received);
    weft_free(job, user.arrays);
    weft_free(job, user.sums);
    if (n->process == 0)
        printf("%d ranks: %llu of %llu numbers arrived, %llu at a wrong rank\n", n->ranks,
               (unsigned long long)user.got, (unsigned long long)ranks * NUMBERS,
               (unsigned long long)user.wrong);
    return user.got != ranks * NUMBERS || user.wrong != 0;
}

int main(int argc, char **argv)
{
    weft_job *job;

    if (weft_open(&job, &argc, argv) != WEFT_OK)
        return 1;
    const int status = argc > 1 ? usage(job, argv[1], about) : exchange(job);
    return weft_close(job) != WEFT_OK || !report_flushed() ? 1 : status;
}
