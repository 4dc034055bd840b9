/*
 * Ranks log into a pipe that nobody reads: data moves on, also that of ranks whose own lines are
 * not printed, and an error ends the job. Into one whose reader is late: it gets every line. And
 * into one whose reader has left: that ends nothing. The job runs in a child process.
 */
#include "support/test.h"

enum { LINES = 5000, ROUNDS = 200, LAST = 8 /* rounds in which all log */, LONG = 100000 };

#ifndef __CUDACC__
#include <unistd.h>
#endif

struct data {
    struct test_check check;
    uint32_t lines; /* that rank 0 logs */
    bool fails;     /* the last rank, when its messages have gone round */
};

WEFT_KERNEL(log_pipe_kernel, struct data, user)
{
    const int n = weft_size(self, WEFT_COMM_WORLD), me = weft_rank(self, WEFT_COMM_WORLD);

    if (me == 0) {
        for (uint32_t i = 0; i < user->lines; i++)
            weft_log(self, "line %u", i);
    } else {
        const int right = me + 1 < n ? me + 1 : 1, left = me > 1 ? me - 1 : n - 1;
        for (int round = 0; round < ROUNDS; round++) {
#ifndef __CUDACC__
            if (user->fails && me == n - 1)
                usleep(1000); /* rank 0 fills the pipe meanwhile */
#endif
            if (user->fails && round >= ROUNDS - LAST)
                weft_log(self, "round %d", round);
            weft_notify(self, WEFT_COMM_WORLD, right, 1);
            weft_wait(self, 1, 1);
            weft_notify(self, WEFT_COMM_WORLD, left, 2);
            weft_wait(self, 2, 1);
        }
        if (me == n - 1 && user->fails)
            weft_notify(self, WEFT_COMM_WORLD, n, 1); /* there is no such rank */
    }
    test_done(self, &user->check);
}

#ifndef __CUDACC__
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_S = 60 };

static int run(struct test_env *env, uint32_t lines, bool fails)
{
    struct data data = {.lines = lines, .fails = fails};

    if (!test_prepare(env, &log_pipe_kernel))
        return TEST_FAILED;
    env->expect = fails ? WEFT_ERR_RANK : WEFT_OK;
    const int result = weft_run(env->job, &data, sizeof(data), NULL);
    TEST_EQ(env, result, env->expect);
    return TEST_PASSED;
}

static int unread_body(struct test_env *env)
{
    return run(env, LONG, true);
}

static int late_body(struct test_env *env)
{
    return run(env, LINES, false);
}

/* Starts the job with standard output in a pipe; *end is where it can be read. */
static pid_t start(int argc, char **argv, int (*body)(struct test_env *env), int *end)
{
    int ends[2];

    fflush(NULL);
    if (pipe(ends) != 0) {
        perror("pipe");
        exit(TEST_FAILED);
    }
    const pid_t pid = fork();
    if (pid == 0) {
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        exit(test_main(argc, argv, body));
    }
    close(ends[1]);
    *end = ends[0];
    return pid;
}

/* The child's exit code; 128 if it had to be killed, or was. */
static int finish(pid_t pid)
{
    int status = 0;
    pid_t ended = 0;

    for (int tenths = 0; ended == 0 && tenths < 10 * MOST_S; tenths++) {
        poll(NULL, 0, 100);
        ended = waitpid(pid, &status, WNOHANG);
    }
    if (ended == pid)
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
    fprintf(stderr, "FAILED the job did not end\n");
    kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
    return 128;
}

static int read_lines(int end)
{
    FILE *file = fdopen(end, "r");
    char line[256], want[32];
    int lines = 0;

    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        snprintf(want, sizeof(want), "rank 0: line %d\n", lines);
        if (strcmp(line, want) != 0)
            break;
        lines++;
    }
    if (file != NULL)
        fclose(file);
    return lines;
}

int main(int argc, char **argv)
{
    int end;
    const pid_t unread = start(argc, argv, unread_body, &end);
    int result = finish(unread);

    close(end);
    if (result != TEST_PASSED)
        return TEST_FAILED;
    const pid_t left = start(argc, argv, late_body, &end);
    close(end);
    if (finish(left) != TEST_PASSED) {
        fprintf(stderr, "FAILED the job did not survive its reader\n");
        return TEST_FAILED;
    }
    const pid_t late = start(argc, argv, late_body, &end);
    poll(NULL, 0, 500);
    const int lines = read_lines(end);
    result = finish(late);
    if (lines != LINES) {
        fprintf(stderr, "FAILED %d lines of %d came, in order\n", lines, LINES);
        result = TEST_FAILED;
    }
    return result == TEST_PASSED ? TEST_PASSED : TEST_FAILED;
}
#endif
