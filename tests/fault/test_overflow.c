/*
 * fault/test_overflow.c - a rank that runs over the end of its stack on the CPU device ends its
 * process by SIGSEGV, after a line that names the rank and the setting; an array of half a
 * megabyte does not reach over the guard into another rank's stack. Another bad address is no
 * overflow, and no word of it is said. (Not with sanitizers: they take SIGSEGV for themselves.)
 */
#include "support/fault_job.h"
#include "weft/device.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { PROCESSES = 2, RANKS = 3, VICTIM = 4, ARRAY = 512 * 1024 };

struct data {
    int deep; /* else a bad address */
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
        if (data->deep)
            weft_log(self, "not reached: %d", large(self));
        else
            *nowhere = 1;
    }
    weft_leave(self);
}

static int run_kernel(bool deep)
{
    struct data data = {deep};
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    return fault_run(&overflow, RANKS, &data, sizeof(data));
}

static int body_deep(int process)
{
    (void)process;
    return run_kernel(true);
}

static int body_nowhere(int process)
{
    (void)process;
    return run_kernel(false);
}

static int check(const char *name, int (*body)(int process), bool named)
{
    static struct fault_job job;
    const char *line = "weft: rank 4 ran over the end of its stack of 262144 bytes: WEFT_CPU_STACK";
    bool good = true;

    fault_start(&job, PROCESSES, body);
    good &= fault_wait(&job, 20 * fault_scale());
    good &= job.status[0] == WEFT_ERR_PEER_LOST && job.status[1] == 128 + SIGSEGV;
    good &= (strstr(job.text[1], line) != NULL) == named;
    printf("%s: %s\n", name, good ? "done" : "FAILED");
    if (!good)
        printf("statuses %d %d\n%s%s", job.status[0], job.status[1], job.text[0], job.text[1]);
    return !good;
}

int main(void)
{
    setbuf(stdout, NULL);
    setenv("WEFT_CPU_STACK", "256K", 1);
    return check("a stack is too small", body_deep, true) +
           check("a bad address", body_nowhere, false);
}
