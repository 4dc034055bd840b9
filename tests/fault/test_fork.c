/*
 * fault/test_fork.c - a child that the program forks while a job is open: what it calls of the job
 * is refused, since it has none of the job's threads, and it ends at once, by exit, too.
 */
#include "support/expect.h"
#include "weft/weft.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int calls_of_child(weft_job *job)
{
    EXPECT(weft_host_barrier(job) == WEFT_ERR_STATE);
    EXPECT(strstr(weft_error(NULL), "forked while the job was open") != NULL);
    EXPECT(weft_host_gather(job, 0, NULL, 0, NULL) == WEFT_ERR_STATE);
    EXPECT(weft_host_scatter(job, 0, NULL, NULL, 0) == WEFT_ERR_STATE);
    EXPECT(weft_run(job, NULL, 0, NULL) == WEFT_ERR_STATE);
    weft_abort(job, "child");
    EXPECT(weft_close(job) == WEFT_ERR_STATE);
    return 0;
}

/* 0: it ended with 0 before long. */
static int await(pid_t child)
{
    const time_t began = time(NULL);
    int ended = -1;

    while (waitpid(child, &ended, WNOHANG) == 0) {
        if (time(NULL) - began >= 5) /* WEFT_STALL_S is 10 */
            kill(child, SIGKILL);
        usleep(10000);
    }
    EXPECT(WIFEXITED(ended) && WEXITSTATUS(ended) == 0);
    return 0;
}

static _Noreturn void leave(int status)
{
#ifdef __SANITIZE_ADDRESS__ /* whose exit takes locks that another thread may have held */
    _exit(status);
#endif
    exit(status);
}

static int body(weft_job *job)
{
    const pid_t child = fork();
    if (child == 0)
        leave(calls_of_child(job));
    EXPECT(child > 0);
    EXPECT(await(child) == 0);
    EXPECT(weft_host_barrier(job) == WEFT_OK);
    return 0;
}

int main(void)
{
    weft_job *job;

    EXPECT(weft_open(&job, NULL, NULL) == WEFT_OK);
    const int wrong = body(job);
    EXPECT(weft_close(job) == WEFT_OK);
    if (wrong == 0)
        printf("all good\n");
    return wrong;
}
