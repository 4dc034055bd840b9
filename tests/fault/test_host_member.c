/*
 * fault/test_host_member.c - what host programs do wrong beside a running kernel, or do while it
 * fails: a reason, the same status on every process, and nobody waits for ever.
 */
#include "support/cases.h"
#include "support/expect.h"
#include "weft/device.h"
#include "weft/weft.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 3, RANKS = 2, TAG = 4 };

struct user {
    int fails;
};

/* Waits for its host program; then, or at once, one rank does what is wrong. */
WEFT_KERNEL(waits_for_host, struct user, user)
{
    if (user->fails && weft_rank(self, WEFT_COMM_WORLD) == 0)
        weft_notify(self, WEFT_COMM_HOST, 99, TAG);
    weft_wait(self, TAG, 1);
}

static bool start(weft_job *job, struct user *user)
{
    return weft_prepare(job, &waits_for_host, 1, RANKS) == WEFT_OK &&
           weft_start(job, user, sizeof(*user)) == WEFT_OK;
}

/* The ranks of such a process would wait for ever, and so would the others. */
static int close_before_finish(weft_job *job)
{
    struct user user = {0};

    EXPECT(start(job, &user));
    EXPECT(weft_running(job));
    if (weft_numbers_of(job)->process == 0)
        return 0; /* and the frame closes the job */
    EXPECT(weft_finish(job, NULL) == WEFT_ERR_STATE);
    EXPECT(strstr(weft_error(job),
                  "weft_close before weft_finish or weft_tasks_end of kernel waits_for_host"));
    EXPECT(!weft_running(job));
    return 0;
}

/* The kernel fails while the host programs wait for it. */
static int kernel_fails(weft_job *job)
{
    struct user user = {.fails = 1};
    weft_win win;

    EXPECT(start(job, &user));
    EXPECT(weft_host_wait(job, TAG, 1) == WEFT_ERR_RANK);
    EXPECT(weft_host_wait_for(job, TAG, 1, 60) == WEFT_ERR_RANK);
    EXPECT(weft_exposed(job, 0, 1, 60, &win) == WEFT_ERR_RANK);
    EXPECT(weft_finish(job, NULL) == WEFT_ERR_RANK);
    EXPECT(weft_finish(job, NULL) == WEFT_ERR_RANK);
    EXPECT(strstr(weft_error(job), "weft_notify: target 99 is not one of") != NULL);
    return 0;
}

/* One host program gives up while its kernel runs. */
static int host_aborts(weft_job *job)
{
    struct user user = {0};

    EXPECT(start(job, &user));
    if (weft_numbers_of(job)->process == 0)
        weft_abort(job, "enough");
    EXPECT(weft_host_wait(job, TAG, 1) == WEFT_ERR_USER);
    EXPECT(weft_finish(job, NULL) == WEFT_ERR_USER);
    return 0;
}

static int (*const cases[])(weft_job *job) = {close_before_finish, kernel_fails, host_aborts};

/* ---- two threads ----------------------------------------------------------------------------- */

static void *enter_barrier(void *argument)
{
    return (void *)(uintptr_t)weft_host_barrier(argument);
}

/* Both would count as the one host program that it is: the second is refused. */
static int two_in_barriers(void *unused)
{
    weft_job *job;
    pthread_t thread;
    void *status = NULL;

    (void)unused;
    EXPECT(weft_open_threads(&job, NULL, NULL, (weft_thread_level)7) == WEFT_ERR_ARGUMENT);
    EXPECT(weft_open_threads(&job, NULL, NULL, WEFT_THREAD_MULTIPLE) == WEFT_OK);
    if (weft_numbers_of(job)->process == 0) {
        EXPECT(pthread_create(&thread, NULL, enter_barrier, job) == 0);
        EXPECT(weft_host_wait_for(job, TAG, 1, 0.2) == WEFT_ERR_TIMEOUT); /* it has entered */
        EXPECT(weft_host_barrier(job) == WEFT_ERR_STATE);
        EXPECT(strstr(weft_error(NULL), "another thread of process 0") != NULL);
        EXPECT(weft_host_notify(job, 1, TAG) == WEFT_OK);
        pthread_join(thread, &status);
        EXPECT((weft_status)(uintptr_t)status == WEFT_OK);
    } else {
        EXPECT(weft_host_wait(job, TAG, 1) == WEFT_OK);
        EXPECT(weft_host_barrier(job) == WEFT_OK);
    }
    weft_close(job);
    return 0;
}

struct refused {
    int count;
};

/* Until one has been refused. */
WEFT_KERNEL(waits_for_refusal, struct refused *, refused)
{
    while (__atomic_load_n(&(*refused)->count, __ATOMIC_ACQUIRE) == 0)
        weft_test(self, TAG, 1);
}

struct runner {
    weft_job *job;
    struct refused *refused;
    weft_status status;
};

static void *run(void *argument)
{
    struct runner *runner = argument;

    runner->status = weft_run(runner->job, &runner->refused, sizeof(runner->refused), NULL);
    if (runner->status != WEFT_OK)
        __atomic_add_fetch(&runner->refused->count, 1, __ATOMIC_RELEASE);
    return NULL;
}

/* One runs the kernel. */
static int two_in_runs(void *unused)
{
    struct refused refused = {0};
    struct runner runners[2] = {{.refused = &refused}, {.refused = &refused}};
    weft_job *job;
    pthread_t thread;

    (void)unused;
    EXPECT(weft_open_threads(&job, NULL, NULL, WEFT_THREAD_MULTIPLE) == WEFT_OK);
    EXPECT(weft_prepare(job, &waits_for_refusal, 1, RANKS) == WEFT_OK);
    runners[0].job = runners[1].job = job;
    EXPECT(pthread_create(&thread, NULL, run, &runners[0]) == 0);
    run(&runners[1]);
    pthread_join(thread, NULL);
    const bool first = runners[0].status == WEFT_OK;
    EXPECT(runners[first ? 0 : 1].status == WEFT_OK);
    EXPECT(runners[first ? 1 : 0].status == WEFT_ERR_STATE && refused.count == 1);
    EXPECT(weft_close(job) == WEFT_ERR_STATE);
    return 0;
}

int main(void)
{
    static const char *const paths[] = {"auto", "proxy"};
    int wrong = 0;

    for (size_t path = 0; path < 2; path++) {
        setenv("WEFT_PATH", paths[path], 1);
        wrong |= run_cases(cases, sizeof(cases) / sizeof(cases[0]), MOST);
    }
    wrong |= weft_local_job(2, two_in_barriers, NULL);
    for (int i = 0; i < 20; i++) /* which call of the two is in the other's way is up to chance */
        wrong |= weft_local_job(1, two_in_runs, NULL);
    setenv("WEFT_CPU_SCHEDULE", "random:1", 1);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        wrong |= weft_local_job(2, run_case, (void *)&cases[i]);
    printf("%s\n", wrong == 0 ? "all good" : "FAILED");
    return wrong;
}
