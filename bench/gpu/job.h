/*
 * gpu/job.h - what the host programs have in common.
 */
#ifndef BENCH_GPU_JOB_H
#define BENCH_GPU_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weft/weft.h>

#include "gpu/measure.h"

/*
 * A whole program: opens a job, reads the command line (measure_parse, and measure_list where it
 * takes a list), measures, closes the job. measure: prepares kernels, runs them and prints; *right,
 * which is true, becomes false where a check does not hold. Returns the exit code.
 */
int job_main(int argc, char **argv, int has, const char *about, const char *arguments,
             int words_most,
             weft_status (*measure)(weft_job *job, struct measure_options *options, bool *right));

/* Runs the prepared kernel once; *seconds is the first interval. Collective. */
weft_status job_time(weft_job *job, void *user, size_t user_bytes, double *seconds);

/* What the ranks of this device found, and how long it took. */
struct job_outcome {
    double seconds; /* the first interval */
    uint64_t wrong; /* words, of all ranks here */
};

/*
 * Runs the prepared kernel once and adds up what each rank left at `wrong` (device memory, a word
 * a rank). Collective.
 */
weft_status job_run(weft_job *job, void *user, size_t user_bytes, const uint64_t *wrong,
                    struct job_outcome *outcome);

/*
 * Prepares the kernel with `ranks` ranks on each device. An error, said in a line, if the job has
 * other than `processes` processes, or not the same number of ranks on each. Collective.
 */
weft_status job_prepare(weft_job *job, const weft_kernel *kernel, int threads, int ranks,
                        int processes);

#endif
