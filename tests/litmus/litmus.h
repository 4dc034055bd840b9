/*
 * litmus/litmus.h - small programs, each of which breaks when one particular order is missing.
 *
 * Every one runs on two processes of two ranks (world ranks 0, 1 and 2, 3), as fibers of one
 * thread under random mode. litmus.c has the kernels, run.c runs one of them once.
 */
#ifndef WEFT_TESTS_LITMUS_H
#define WEFT_TESTS_LITMUS_H

#include <weft/weft.h>

#include <stdint.h>

struct litmus {
    const char *name;
    const weft_kernel *kernel; /* NULL: host programs */
    const char *path;          /* WEFT_PATH */
    const char *rings; /* "small": so that they fill; "eager": with channels; "queues"; "one",
                          "one small": a queue that ranks share; "words", "pieces": of
                          collectives; "default" */
    const char *about;
    int (*host)(weft_job *job); /* what host programs do: messages.h */
    int wrong;                  /* a program that is wrong: of kernels.h */
};

extern const struct litmus litmus_table[], litmus_wrong[];
extern const int litmus_count, litmus_wrong_count;

/*
 * Runs it on the random schedule of a seed, with a label weakened or a drain dropped (mutate, ""
 * for none), quietly if asked to. Returns 0 if all was well, else non-zero: a wrong value, a race,
 * a deadlock, or any other failure of the job.
 */
int litmus_run(const struct litmus *litmus, uint64_t seed, const char *mutate, int quiet);

#endif
