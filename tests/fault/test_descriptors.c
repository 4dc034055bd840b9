/*
 * fault/test_descriptors.c - programs that close all descriptors, as those do that become daemons,
 * while a job is open: weft_close says so, and returns it.
 */
#include "support/fault_job.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { PROCESSES = 2, MOST = 1024 };

static int body(int process)
{
    weft_job *job;

    (void)process;
    if (weft_open(&job, NULL, NULL) != WEFT_OK)
        return 1;
    if (weft_host_barrier(job) == WEFT_OK)
        fault_add(FAULT_WORD_A);
    while (fault_look(FAULT_WORD_A) < PROCESSES)
        usleep(1000);
    for (int fd = STDERR_FILENO + 1; fd < MOST; fd++)
        close(fd);
    return (int)weft_close(job);
}

int main(void)
{
    static struct fault_job job;
    bool good = true;

    fault_start(&job, PROCESSES, body);
    good &= fault_wait(&job, FAULT_HANG_S);
    for (int p = 0; p < PROCESSES; p++) {
        good &= job.status[p] == WEFT_ERR_PEER_LOST && strstr(job.text[p], "lost") != NULL;
        printf("process %d: status %d\n%s", p, job.status[p], job.text[p]);
    }
    printf("%s\n", good ? "all good" : "FAILED");
    return !good;
}
