/*
 * support/fault_job.h - a job of forked processes for tests that break it: each runs a body, its
 * stderr goes to a file, and the parent sees how it ended.
 */
#ifndef WEFT_TESTS_FAULT_JOB_H
#define WEFT_TESTS_FAULT_JOB_H

#include <weft/weft.h>

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { FAULT_MOST = 8, FAULT_TEXT = 32768 };
#define FAULT_HANG_S 200.0 /* seconds: what does not hang takes less, on whatever machine */

struct fault_job {
    int processes;
    pid_t pid[FAULT_MOST];
    int status[FAULT_MOST];            /* exit code, or 128 + signal; -1: still running */
    double ended[FAULT_MOST];          /* seconds from the start to its end */
    char text[FAULT_MOST][FAULT_TEXT]; /* what it wrote to stderr */
    int error[FAULT_MOST];             /* file of its stderr */
    double started;
    double ready; /* seconds from the start until all were ready: fault_await */
};

/* Words that all processes of the job and the parent share; 0 at the start. */
enum { FAULT_WORD_READY, FAULT_WORD_A, FAULT_WORD_B, FAULT_WORDS };
uint32_t fault_look(int word);
void fault_add(int word);

/* Starts body(process) in each of so many processes; its result is the exit code. */
void fault_start(struct fault_job *job, int processes, int (*body)(int process));

/*
 * Opens a job, runs the kernel once, and closes it, for a body. Returns the status of what failed
 * first. Adds to FAULT_WORD_READY before it runs; a body that does without does so itself.
 */
int fault_run(const weft_kernel *kernel, int ranks, void *user, size_t user_bytes);

/*
 * Waits until all processes are ready, or one has ended, at most FAULT_HANG_S: how long the start
 * takes says nothing. Sets job->ready.
 */
void fault_await(struct fault_job *job);

/* Sleeps, scaled; kills one process with SIGKILL. */
void fault_kill(struct fault_job *job, int process, double after_s);

/* Waits until one process has said both, at most so long. */
bool fault_says(struct fault_job *job, const char *first, const char *second, double most_s);

/* Waits for all, at most so long; kills what is left. False if anything was left. */
bool fault_wait(struct fault_job *job, double most_s);

/* 0 if good; else 1, and it prints the test's name, what is wrong and what the process said. */
int fault_check(bool good, const struct fault_job *job, const char *test, int process,
                const char *wrong);

double fault_now(void);

/* How much slower than usual this machine is, for what is promised in seconds: FAULT_SCALE, for
 * emulated ones, times the processes that want each of its processors; at least 1. */
double fault_scale(void);

/* Sets a variable; WEFT_TIMEOUT_S is scaled, eight times at most: opening a job is a wait, too. */
void fault_set(const char *setting, const char *value);

#endif
