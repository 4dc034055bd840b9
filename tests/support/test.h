/*
 * support/test.h - one test body, run in any of four ways:
 *
 *     test_put                                    a job of one process
 *     weftrun -n 2 test_put                       processes
 *     test_put --local 2                          processes as threads of this one (TSan)
 *     test_put --local 2 --seeds 1:200            the same on 200 repeatable random schedules
 *
 * with --path direct|proxy|auto, --ranks N (most ranks a process), --threads N (of a rank on a
 * GPU, 64 if not given), --scale N (multiplies the work; 0: little, as on a random schedule) and
 * --case NAME (of the tests that have cases). --cpus N with --local: N of the processes drive a
 * CPU device, also in a program on the far device. A failure in a random schedule prints the seed
 * and the command that repeats it. Exit codes: 0 passed, 1 failed, 77 skipped.
 */
#ifndef WEFT_TESTS_TEST_H
#define WEFT_TESTS_TEST_H

#include "support/check.h"

#ifndef __CUDACC__ /* all below is the host's */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TEST_PASSED  0
#define TEST_FAILED  1
#define TEST_SKIPPED 77

enum test_memory {
    TEST_MAPPED,     /* memory of weft_malloc */
    TEST_PLAIN,      /* host memory that ranks reach: the proxy's, between processes */
    TEST_REGISTERED, /* host memory as PLAIN, with weft_register */
    TEST_HOST        /* memory of malloc: not for ranks, nor for windows of a GPU */
};

/* What a body is given; one for each process and run. */
struct test_env {
    weft_job *job;
    const weft_numbers *numbers; /* the ranks in it are known after test_prepare */
    uint64_t seed;               /* for the test's own random numbers */
    int ranks, threads;          /* --ranks, --threads */
    int scale;                   /* --scale */
    bool random, brief; /* in a random schedule; in one, or with --scale 0: keep the work small */
    bool mapped_only;   /* --path direct: windows that are not mapped cannot be made */
    const char *only;   /* --case; NULL: all */
    weft_status expect; /* what weft_run and weft_close must return; WEFT_OK at first */
    int failures;
    struct test_block *blocks; /* memory to free after the body */
};

/* Threads of a body that may make host calls; to be set before test_main. */
extern weft_thread_level test_threads;

/*
 * The whole program: parses the options, opens the job in each process, runs body(env) there,
 * frees its memory, closes the job. The result is the exit code.
 * body returns TEST_PASSED, or TEST_SKIPPED with nothing done; failures are counted in env.
 */
int test_main(int argc, char **argv, int (*body)(struct test_env *env));
#define TEST_MAIN(body)                                                                            \
    int main(int argc, char **argv)                                                                \
    {                                                                                              \
        return test_main(argc, argv, body);                                                        \
    }

/* Prepares the kernel with at most --ranks ranks a process. False, and said, when that fails. */
bool test_prepare(struct test_env *env, const weft_kernel *kernel);

/*
 * Runs the prepared kernel. *user begins with a struct test_check: cleared before, and after the
 * run its failure is printed. Checks the status against env->expect, and, if that is WEFT_OK, that
 * every rank came to its end. True when all was as expected.
 */
bool test_run(struct test_env *env, void *user, size_t user_bytes);

/* Run as test_run, in two parts; the kernel runs between them, and user stays until the second. */
bool test_start(struct test_env *env, void *user, size_t user_bytes);
bool test_finish(struct test_env *env, const void *user);

/*
 * Zeroed memory that is freed after the body. With --path direct and several processes all of it
 * is mapped. Never NULL: without memory the program ends.
 */
void *test_memory(struct test_env *env, enum test_memory kind, size_t bytes);

/* Whether the device can make windows of memory of malloc. */
bool test_windows_of_malloc(const struct test_env *env);

/*
 * Runs `run` in a child process with stdout and stderr in a file; *text (to be freed) is what was
 * written there. Returns the exit code, or 128 + the signal that ended it.
 */
int test_capture(int (*run)(int argc, char **argv), int argc, char **argv, char **text);

/* Counts lines of text that contain all of the words (up to a NULL). */
int test_lines_with(const char *text, const char *const *words);

void test_failed(struct test_env *env, const char *file, int line, long long got, long long want,
                 const char *text);

/*
 * Host-side checks; count a failure, print it, go on, unless the job has failed and env->expect
 * says nothing of it: then the program ends. The value: whether it held.
 */
#define TEST_EQ(env, got, want)                                                                    \
    test_equal(env, __FILE__, __LINE__, (long long)(got), (long long)(want), #got " == " #want)
#define TEST_OK(env, call)   TEST_EQ(env, call, WEFT_OK)
#define TEST(env, condition) test_equal(env, __FILE__, __LINE__, (condition) ? 1 : 0, 1, #condition)

static inline bool test_equal(struct test_env *env, const char *file, int line, long long got,
                              long long want, const char *text)
{
    if (got != want)
        test_failed(env, file, line, got, want, text);
    return got == want;
}

#endif
#endif
