/*
 * fault/test_overflow.c - a rank that runs over the end of its stack on the CPU device ends its
 * process by SIGSEGV, after a line that names the rank and the setting; an array of half a
 * megabyte does not reach over the guard into another rank's stack. Another bad address is named
 * with its rank; a signal that somebody sends ends the process at once, without a word. (Not with
 * sanitizers: they take SIGSEGV for themselves.)
 */
#include "support/fault_job.h"
#include "weft/device.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { PROCESSES = 2, RANKS = 3, VICTIM = 4, ARRAY = 512 * 1024 };

enum { DEEP, NOWHERE, SENT }; /* what happens */

struct data {
    int what;
};

/* Touches the lowest bytes of a large array alone, as code that fills it from the front does. */
__attribute__((noinline)) static int large(weft_self *self)
{
    volatile char array[ARRAY];

    array[0] = (char)weft_thread(self);
    return array[0];
}

WEFT_KERNEL(overflow, struct data, data)
{
    weft_enter(self);
    if (weft_rank(self, WEFT_COMM_WORLD) == VICTIM) {
        const volatile size_t bad = 64;
        volatile int *nowhere = (volatile int *)bad;
        if (data->what == DEEP)
            weft_log(self, "not reached: %d", large(self));
        else if (data->what == NOWHERE)
            *nowhere = 1;
        else
            kill(getpid(), SIGSEGV);
        weft_wait(self, 0, 1); /* a signal may take a while */
    }
    weft_leave(self);
}

static int run_kernel(int what)
{
    struct data data = {what};
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    return fault_run(&overflow, RANKS, &data, sizeof(data));
}

static int body_deep(int process)
{
    (void)process;
    return run_kernel(DEEP);
}

static int body_nowhere(int process)
{
    (void)process;
    return run_kernel(NOWHERE);
}

static int body_sent(int process)
{
    (void)process;
    return run_kernel(SENT);
}

/* line: what process 1 writes; NULL: nothing. */
static int check(const char *name, int (*body)(int process), const char *line)
{
    static struct fault_job job;
    bool good = true;

    fault_start(&job, PROCESSES, body);
    good &= fault_wait(&job, 20 * fault_scale());
    good &= job.status[0] == WEFT_ERR_PEER_LOST && job.status[1] == 128 + SIGSEGV;
    good &= line != NULL ? strstr(job.text[1], line) != NULL : job.text[1][0] == 0;
    printf("%s: %s\n", name, good ? "done" : "FAILED");
    if (!good)
        printf("statuses %d %d\n%s%s", job.status[0], job.status[1], job.text[0], job.text[1]);
    return !good;
}

int main(void)
{
    setbuf(stdout, NULL);
    setenv("WEFT_CPU_STACK", "256K", 1);
    return check("a stack is too small", body_deep,
                 "weft: rank 4 ran over the end of its stack of 262144 bytes: WEFT_CPU_STACK") +
           check("a bad address", body_nowhere,
                 "weft: rank 4: segmentation fault, address 0x40\n") +
           check("a signal from somebody", body_sent, NULL);
}
