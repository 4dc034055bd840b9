/*
 * support/pair.c - see pair.h.
 */
#include "pair.h"

#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 128 };

/* One message size. Process 0 prints the result; *wrong grows by what was wrong here. */
static weft_status measure(weft_job *job, const struct bench_pair *pair, struct pair_data *data,
                           uint64_t *wrong)
{
    const double *intervals;
    size_t count;
    weft_status status = weft_run(job, data, sizeof(*data), NULL);
    if (status == WEFT_OK)
        status = weft_intervals(job, &intervals, &count);
    if (status != WEFT_OK)
        return status;
    *wrong += data->wrong;
    if (weft_numbers_of(job)->process == 0)
        bench_line(data->bytes, data->repeats,
                   pair->value(data->bytes, data->repeats, intervals[0] * 1e-3));
    return WEFT_OK;
}

static weft_status measure_all(weft_job *job, const struct bench_options *options,
                               const struct bench_pair *pair, struct pair_data *data,
                               uint64_t *wrong)
{
    if (weft_numbers_of(job)->process == 0)
        bench_header("bytes", pair->repeats_title, pair->value_title);
    weft_status status = WEFT_OK;
    for (size_t bytes = options->from; bytes <= options->to && status == WEFT_OK; bytes *= 2) {
        data->bytes = bytes;
        data->repeats = bench_repeats(options, bytes);
        data->warm_up = bench_warm_up(data->repeats);
        status = measure(job, pair, data, wrong);
    }
    return status;
}

int pair_main(int argc, char **argv, const char *about, const struct bench_pair *pair,
              const weft_kernel *kernel)
{
    struct bench_options options;
    weft_job *job;
    uint64_t wrong = 0;
    if (weft_open(&job, &argc, argv) != WEFT_OK)
        return EXIT_FAILURE;
    bench_parse(&options, argc, argv, BENCH_HAS_SIZES | (pair->answered ? BENCH_HAS_MORE : 0),
                about, NULL);
    const int processes = weft_numbers_of(job)->processes;
    if (processes != 2) {
        fprintf(stderr, "bench: runs as 2 processes, not %d\n", processes);
        weft_close(job);
        return EXIT_FAILURE;
    }
    const size_t bytes = (size_t)(1 + options.more) * pair->slots * options.to;
    struct pair_data data = {
        .source = weft_malloc(job, bytes),
        .target = weft_malloc(job, bytes),
        .slots = pair->slots,
    };
    weft_status status = data.source && data.target ? WEFT_OK : WEFT_ERR_MEMORY;
    if (status == WEFT_OK)
        status = weft_prepare(job, kernel, THREADS, 1 + options.more);
    if (status == WEFT_OK)
        status = measure_all(job, &options, pair, &data, &wrong);
    weft_free(job, data.source);
    weft_free(job, data.target);
    weft_status closed = weft_close(job);
    return status == WEFT_OK && closed == WEFT_OK ? bench_status(wrong) : EXIT_FAILURE;
}
