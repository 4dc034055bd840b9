/*
 * support/error_cases.h - programs whose cases are jobs that end in an error. Each case is run in a
 * child process, whose output is read: every process says the error once, with what is expected in
 * the line. Under weftrun a program can be one job only: give --case NAME there.
 */
#ifndef WEFT_TESTS_ERROR_CASES_H
#define WEFT_TESTS_ERROR_CASES_H

#define WEFT_LINES /* on GPUs, too, errors name their places */
#include "support/test.h"

/* A row of a list X(name, status, call, words). */
struct error_row {
    const char *name;
    weft_status status;
    const char *call, *words; /* words of the error's line: the call, and what tells the numbers */
};
#define ERROR_ENUM(name, status, call, words) CASE_##name,
#define ERROR_ROW(name, status, call, words)  {#name, WEFT_##status, call, words},

/* What most kernels of cases are given. */
struct error_data {
    struct test_check check;
    unsigned char *memory; /* memory of all ranks of the process */
    uint32_t number;       /* number of the case */
    uint32_t returned;     /* ranks that came back from the call that ends the job */
};

/* Finds, for a body, the number of the case that --case names; `count`: there is none. */
int error_case_find(const struct test_env *env, const struct error_row *cases, int count);
/* Says, for a body that is about to run its kernel, that the job ends in that error. */
void error_case_expect(struct test_env *env, const struct error_row *error);

/* Runs, as a body, the kernel as the case that --case names, with so many bytes for each rank. */
int error_case_run(struct test_env *env, const weft_kernel *kernel, const struct error_row *cases,
                   int count, size_t bytes);

/* Runs the program. WEFT_TIMEOUT_S is two minutes, and two seconds for who expects TIMEOUT. */
int error_cases_main(int argc, char **argv, const struct error_row *cases, int count,
                     int (*body)(struct test_env *env));

#endif
