/*
 * gpu/job.c - see the header.
 */
#include "gpu/job.h"

#include <stdio.h>
#include <stdlib.h>

int job_main(int argc, char **argv, int has, const char *about, const char *arguments,
             int words_most,
             weft_status (*measure)(weft_job *job, struct measure_options *options, bool *right))
{
    struct measure_options options;
    weft_job *job;
    bool right = true;

    if (weft_open(&job, &argc, argv) != WEFT_OK)
        return EXIT_FAILURE;
    measure_parse(&options, argc, argv, has, about, arguments, words_most);
    if (words_most == MEASURE_LIST)
        measure_list(&options, 0);
    const weft_status status = measure(job, &options, &right);
    if (words_most == MEASURE_LIST)
        free(options.list);
    const weft_status closed = weft_close(job);
    return status == WEFT_OK && closed == WEFT_OK && right ? EXIT_SUCCESS : EXIT_FAILURE;
}

weft_status job_time(weft_job *job, void *user, size_t user_bytes, double *seconds)
{
    const double *intervals;
    size_t count;
    weft_status status = weft_run(job, user, user_bytes, NULL);

    if (status == WEFT_OK)
        status = weft_intervals(job, &intervals, &count);
    if (status == WEFT_OK)
        *seconds = intervals[0] * 1e-3;
    return status;
}

/* The counts of all ranks here, one copy for all. */
static weft_status add_wrong(weft_job *job, const uint64_t *wrong, uint64_t *sum)
{
    const size_t ranks = (size_t)weft_numbers_of(job)->ranks_here;
    uint64_t *counts = malloc(ranks * sizeof(*counts));
    if (!counts)
        return WEFT_ERR_MEMORY;
    weft_status status = weft_copy(job, counts, wrong, ranks * sizeof(*counts));
    *sum = 0;
    for (size_t i = 0; i < ranks && status == WEFT_OK; i++)
        *sum += counts[i];
    free(counts);
    return status;
}

weft_status job_run(weft_job *job, void *user, size_t user_bytes, const uint64_t *wrong,
                    struct job_outcome *outcome)
{
    const weft_status status = job_time(job, user, user_bytes, &outcome->seconds);

    if (status != WEFT_OK)
        return status;
    return add_wrong(job, wrong, &outcome->wrong);
}

weft_status job_prepare(weft_job *job, const weft_kernel *kernel, int threads, int ranks,
                        int processes)
{
    weft_status status = weft_prepare(job, kernel, threads, ranks);
    if (status != WEFT_OK)
        return status;
    const weft_numbers *numbers = weft_numbers_of(job);
    if (numbers->processes == processes && numbers->ranks == processes * numbers->ranks_here)
        return WEFT_OK;
    fprintf(stderr,
            "bench: runs as %d process(es) with as many ranks each: there are %d, with %d ranks, "
            "%d of them here\n",
            processes, numbers->processes, numbers->ranks, numbers->ranks_here);
    return WEFT_ERR_ARGUMENT;
}
