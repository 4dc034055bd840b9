/*
 * support/cases.h - functions that every process of a job runs, each in a job of its own, whose
 * processes are threads of this one.
 */
#ifndef WEFT_TESTS_CASES_H
#define WEFT_TESTS_CASES_H

#include <weft/weft.h>

#include "support/expect.h"

typedef int (*test_case)(weft_job *job); /* 0: all is well */

/* Runs a case, as a process of weft_local_job; argument: to a test_case. */
static inline int run_case(void *argument)
{
    weft_job *job;

    EXPECT(weft_open(&job, NULL, NULL) == WEFT_OK);
    const int wrong = (*(test_case *)argument)(job);
    weft_close(job);
    return wrong;
}

/* Runs all cases in jobs of 1 to `most` processes. 0 if all is well everywhere. */
static inline int run_cases(const test_case *cases, size_t count, int most)
{
    int wrong = 0;

    for (size_t i = 0; i < count; i++)
        for (int processes = 1; processes <= most; processes++)
            wrong |= weft_local_job(processes, run_case, (void *)&cases[i]);
    return wrong;
}

#endif
