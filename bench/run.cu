/*
 * bench/run.cu - weft_run of a kernel that does nothing: what a job pays for each launch, with all
 * ranks that a device holds, and with one.
 */
#include "support/bench.h"

#include <weft/device.h>

struct run_data {
    uint64_t unused;
};

WEFT_KERNEL(nothing, struct run_data, user)
{
    weft_enter(self);
    (void)user;
    weft_leave(self);
}

#ifndef __CUDACC__

#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 128 };

static const char *const forms[] = {"all", "one", NULL};

/* So many launches, one after the other; process 0 prints its own time. */
static weft_status measure(weft_job *job, uint64_t repeats)
{
    const weft_numbers *numbers = weft_numbers_of(job);
    const struct run_data data = {0};
    double begun = 0;
    weft_status status = WEFT_OK;

    for (uint64_t i = 0; i < bench_warm_up(repeats) + repeats && status == WEFT_OK; i++) {
        if (i == bench_warm_up(repeats))
            begun = bench_seconds();
        status = weft_run(job, &data, sizeof(data), NULL);
    }
    if (status == WEFT_OK && numbers->process == 0) {
        bench_header("ranks", "launches", "run_us");
        bench_line((uint64_t)numbers->ranks, repeats,
                   (bench_seconds() - begun) / (double)repeats * 1e6);
    }
    return status;
}

int main(int argc, char **argv)
{
    struct bench_options options;
    weft_job *job;

    if (weft_open(&job, &argc, argv) != WEFT_OK)
        return EXIT_FAILURE;
    bench_parse(
        &options, argc, argv, 0,
        "Time of weft_run of an empty kernel. Run alone, or: weftrun -n PROCESSES bench_run",
        forms);
    weft_status status = weft_prepare(job, &nothing, THREADS, options.form);
    if (status == WEFT_OK)
        status = measure(job, options.repeats);
    const weft_status closed = weft_close(job);
    return status == WEFT_OK && closed == WEFT_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
#endif
