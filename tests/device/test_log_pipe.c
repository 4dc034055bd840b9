/*
 * Ranks log into a pipe that nobody reads: data moves on, also that of ranks whose own lines are
 * not printed, and an error ends the job. Into one whose reader is late: it gets every line, also
 * where the job has failed a moment before. Into one whose reader has left: that ends nothing,
 * neither the services nor a program whose thread prints while it waits for messages. And into a
 * file whose writes take longer than the kernel, as on a network: data moves on. The job runs in a
 * child process.
 */
#include "support/test.h"

enum { LINES = 5000, ROUNDS = 200, LAST = 8 /* rounds in which all log */, LONG = 100000 };
enum { APART_LINES = 100, APART_US = 1000 };
enum { PAUSE_MS = 1300 /* longer than a printer waits after a failure */, LATE_MS = 1700 };

#ifndef __CUDACC__
#include "base/task.h"

#include <unistd.h>
#endif

/* A rank does nothing for some milliseconds. */
WEFT_FN void pause_ms(unsigned ms)
{
#ifdef __CUDACC__
    uint64_t now, end;

    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(end));
    end += ms * (uint64_t)1000000;
    do {
        __nanosleep(100000);
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    } while (now < end);
#else
    usleep(ms * 1000);
#endif
}

struct data {
    struct test_check check;
    uint32_t lines; /* that rank 0 logs */
    bool apart;     /* with a pause after each */
    bool fails;     /* the last rank, when its messages have gone round */
    bool pauses;    /* rank 0, when it has logged; then it fails */
};

WEFT_KERNEL(log_pipe_kernel, struct data, user)
{
    const int n = weft_size(self, WEFT_COMM_WORLD), me = weft_rank(self, WEFT_COMM_WORLD);

    if (me == 0) {
        for (uint32_t i = 0; i < user->lines; i++) {
            weft_log(self, "line %u", i);
#ifndef __CUDACC__
            if (user->apart)
                usleep(APART_US);
#endif
        }
        if (user->pauses) {
            pause_ms(PAUSE_MS);
            weft_notify(self, WEFT_COMM_WORLD, n, 1);
        }
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
#include <weft/message.h>

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_S = 60, FEW = 10 };

/* Writes into standard output do not return while this is set, as where a server does not answer.
 * The library's come here, too. */
static uint32_t held;

ssize_t write(int fd, const void *bytes, size_t count)
{
    while (fd == STDOUT_FILENO && __atomic_load_n(&held, __ATOMIC_RELAXED) != 0)
        poll(NULL, 0, 1);
    return syscall(SYS_write, fd, bytes, count);
}

static int run(struct test_env *env, struct data data)
{
    if (!test_prepare(env, &log_pipe_kernel))
        return TEST_FAILED;
    env->expect = data.fails || data.pauses ? WEFT_ERR_RANK : WEFT_OK;
    const int result = weft_run(env->job, &data, sizeof(data), NULL);
    TEST_EQ(env, result, env->expect);
    return TEST_PASSED;
}

static int unread_body(struct test_env *env)
{
    return run(env, (struct data){.lines = LONG, .fails = true});
}

static int late_body(struct test_env *env)
{
    return run(env, (struct data){.lines = LINES});
}

static int paused_body(struct test_env *env)
{
    return run(env, (struct data){.lines = LINES, .pauses = true});
}

/* Until the kernel is over, the program's threads have messages to wait for. */
static int messages_body(struct test_env *env)
{
    struct data data = {.lines = APART_LINES, .apart = true};
    const int n = env->numbers->processes, me = env->numbers->process;
    const uint64_t end = weft_now_ns() + (uint64_t)APART_LINES * APART_US * 1000;
    sigset_t pipes; /* a thread of the library's own, as with --local, has no signals */
    bool goes_on = n > 1;

    sigemptyset(&pipes);
    sigaddset(&pipes, SIGPIPE);
    pthread_sigmask(SIG_UNBLOCK, &pipes, NULL);
    if (!test_prepare(env, &log_pipe_kernel) || !test_start(env, &data, sizeof(data)))
        return TEST_FAILED;
    while (goes_on) {
        if (me == 0) {
            goes_on = weft_now_ns() < end;
            for (int i = 1; i < n; i++)
                TEST_EQ(env, weft_host_send(env->job, WEFT_COMM_HOST, i, 0, &goes_on, 1), WEFT_OK);
            for (int i = 1; i < n; i++)
                TEST_EQ(env, weft_host_receive(env->job, WEFT_COMM_HOST, i, 0, NULL, 0, NULL),
                        WEFT_OK);
        } else {
            TEST_EQ(env, weft_host_receive(env->job, WEFT_COMM_HOST, 0, 0, &goes_on, 1, NULL),
                    WEFT_OK);
            TEST_EQ(env, weft_host_send(env->job, WEFT_COMM_HOST, 0, 0, NULL, 0), WEFT_OK);
        }
    }
    return test_finish(env, &data) ? TEST_PASSED : TEST_FAILED;
}

/* The kernel ends before any write does. */
static int held_body(struct test_env *env)
{
    struct data data = {.lines = FEW};
    int tenths = 0;

    if (!test_prepare(env, &log_pipe_kernel))
        return TEST_FAILED;
    __atomic_store_n(&held, 1, __ATOMIC_RELAXED);
    TEST_EQ(env, weft_start(env->job, &data, sizeof(data)), WEFT_OK);
    for (; weft_running(env->job) && tenths < 5 * MOST_S; tenths++)
        poll(NULL, 0, 100);
    TEST_EQ(env, weft_running(env->job), 0);
    TEST_EQ(env, weft_host_barrier(env->job), WEFT_OK);
    __atomic_store_n(&held, 0, __ATOMIC_RELAXED);
    TEST_EQ(env, weft_finish(env->job, NULL), WEFT_OK);
    return TEST_PASSED;
}

/*
 * Starts the job with standard output in a pipe, or in a file that is gone with its last
 * descriptor; *end is where it can be read.
 */
static pid_t start(int argc, char **argv, int (*body)(struct test_env *env), bool file, int *end)
{
    int ends[2];

    fflush(NULL);
    if (file)
        ends[1] = dup(ends[0] = memfd_create("lines", 0));
    if (file ? ends[1] < 0 : pipe(ends) != 0) {
        perror(file ? "memfd_create" : "pipe");
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

static bool survives_its_reader(int argc, char **argv, int (*body)(struct test_env *env))
{
    int end;
    const pid_t pid = start(argc, argv, body, false, &end);

    close(end);
    if (finish(pid) == TEST_PASSED)
        return true;
    fprintf(stderr, "FAILED the job did not survive its reader\n");
    return false;
}

static bool gets_all(int argc, char **argv, int (*body)(struct test_env *env), int late_ms)
{
    int end;
    const pid_t pid = start(argc, argv, body, false, &end);

    poll(NULL, 0, late_ms);
    const int lines = read_lines(end);
    if (lines != LINES)
        fprintf(stderr, "FAILED %d lines of %d came, in order\n", lines, LINES);
    return finish(pid) == TEST_PASSED && lines == LINES;
}

int main(int argc, char **argv)
{
    int end;
    const pid_t unread = start(argc, argv, unread_body, false, &end);
    int result = finish(unread);

    close(end);
    if (result != TEST_PASSED)
        return TEST_FAILED;
    if (!survives_its_reader(argc, argv, late_body) ||
        !survives_its_reader(argc, argv, messages_body))
        return TEST_FAILED;
    if (!gets_all(argc, argv, late_body, 500) || !gets_all(argc, argv, paused_body, LATE_MS))
        return TEST_FAILED;
    const pid_t slow = start(argc, argv, held_body, true, &end);
    result = finish(slow);
    lseek(end, 0, SEEK_SET);
    if (result != TEST_PASSED || read_lines(end) != FEW) {
        fprintf(stderr, "FAILED data waited for a slow file, or lines are lost\n");
        return TEST_FAILED;
    }
    return TEST_PASSED;
}
#endif
