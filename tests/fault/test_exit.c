/*
 * fault/test_exit.c - a rank that calls exit in a kernel of the CPU device is named, with one
 * thread and with several, and in random mode. Its process ends with status 1, whatever the rank
 * asked for, and the others hear of it.
 */
#include "support/fault_job.h"
#include "weft/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS = 3 };

WEFT_KERNEL(exits, int, unused)
{
    (void)unused;
    weft_enter(self);
    if (weft_rank(self, WEFT_COMM_WORLD) == weft_size(self, WEFT_COMM_WORLD) - 1)
        exit(0);
    weft_leave(self);
}

static int body(int process)
{
    int unused = 0;

    (void)process;
    return fault_run(&exits, RANKS, &unused, sizeof(unused));
}

static int check(const char *setting, const char *value, int processes)
{
    static struct fault_job job;
    const int last = processes - 1;
    char line[100];
    bool good = true;

    setenv(setting, value, 1);
    fault_start(&job, processes, body);
    good &= fault_wait(&job, FAULT_HANG_S);
    good &= job.status[last] == 1 && (last == 0 || job.status[0] == WEFT_ERR_PEER_LOST);
    snprintf(line, sizeof(line), "weft: [p%d] rank %d called exit: its process ends, and so does",
             last, processes * RANKS - 1);
    good &= strstr(job.text[last], line) != NULL;
    printf("%s=%s: %s\n", setting, value, good ? "done" : "FAILED");
    if (!good)
        printf("statuses %d %d\n%s%s", job.status[0], job.status[last], job.text[0],
               job.text[last]);
    unsetenv(setting);
    return !good;
}

int main(void)
{
    setbuf(stdout, NULL);
    return check("WEFT_CPU_WORKERS", "1", 2) + check("WEFT_CPU_THREADS", "4", 2) +
           check("WEFT_CPU_SCHEDULE", "random:1", 1);
}
