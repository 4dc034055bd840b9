/*
 * support/fault_job.h - a job of forked processes for tests that break it: each runs a body, its
 * stderr goes to a file, and the parent sees how it ended.
 */
#ifndef WEFT_TESTS_FAULT_JOB_H
#define WEFT_TESTS_FAULT_JOB_H

#include <weft/weft.h>

#include <stdbool.h>
#include <sys/types.h>

enum { FAULT_MOST = 8, FAULT_TEXT = 8192 };

struct fault_job {
    int processes;
    pid_t pid[FAULT_MOST];
    int status[FAULT_MOST];            /* exit code, or 128 + signal; -1: still running */
    double ended[FAULT_MOST];          /* seconds after the start */
    char text[FAULT_MOST][FAULT_TEXT]; /* what it wrote to stderr */
    int error[FAULT_MOST];             /* the files */
    double started;
};

/* Starts body(process) in each of so many processes; its result is the exit code. */
void fault_start(struct fault_job *job, int processes, int (*body)(int process));

/* For a body: opens a job, runs the kernel once, and closes it. The status of what failed first. */
int fault_run(const weft_kernel *kernel, int ranks, void *user, size_t user_bytes);

/* Sleeps, scaled; kills one process with SIGKILL. */
void fault_kill(struct fault_job *job, int process, double after_s);

/* Waits for all, at most so long; kills what is left. False if anything was left. */
bool fault_wait(struct fault_job *job, double most_s);

double fault_now(void);

/* How much slower than usual this machine is: FAULT_SCALE, for emulated ones; 1 where it is unset.
 */
double fault_scale(void);

#endif
