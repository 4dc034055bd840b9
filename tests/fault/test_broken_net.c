/*
 * fault/test_broken_net.c - the network's connections between two processes break while nothing
 * is under way, and what is sent next is lost without a word: the job ends with an error that says
 * so. The processes' own connection to each other, by which they learn of deaths, does not break.
 *
 * Each process shuts down the TCP connections that it has had since its first put.
 */
#include "support/fault_job.h"

#include <dirent.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PROCESSES = 2, TAG = 1, MOST_FILES = 1024, NOT_BROKEN = 99 };

/* Which of the process's files are connected TCP sockets. */
static void connections(bool found[MOST_FILES])
{
    for (int fd = 0; fd < MOST_FILES; fd++) {
        struct sockaddr_storage peer;
        socklen_t bytes = sizeof(peer);
        found[fd] = getpeername(fd, (struct sockaddr *)&peer, &bytes) == 0 &&
                    (peer.ss_family == AF_INET || peer.ss_family == AF_INET6);
    }
}

static int break_new(const bool before[MOST_FILES])
{
    bool now[MOST_FILES];
    int broken = 0;

    connections(now);
    for (int fd = 0; fd < MOST_FILES; fd++)
        if (now[fd] && !before[fd])
            broken += shutdown(fd, SHUT_RDWR) == 0;
    return broken;
}

/* A word to the other process's window, and one from there. */
static weft_status exchange(weft_job *job, weft_win win, int other, uint64_t word)
{
    weft_status status = weft_host_put_notify(job, win, other, 0, &word, sizeof(word), TAG);

    if (status == WEFT_OK)
        status = weft_host_wait(job, TAG, 1);
    if (status == WEFT_OK)
        status = weft_host_flush(job, win);
    return status;
}

static int talk(int process)
{
    bool before[MOST_FILES];
    uint64_t window = 0;
    weft_job *job;
    weft_win win;
    int broken = 1;

    setenv("WEFT_NET", "ofi", 1);
    setenv("WEFT_OFI_PROVIDER", "tcp;ofi_rxm", 1);
    setenv("WEFT_PATH", "proxy", 1);
    setenv("WEFT_STALL_S", "60", 1);
    weft_status status = weft_open(&job, NULL, NULL);
    if (status != WEFT_OK)
        return (int)status;
    connections(before);
    status = weft_host_win_create(job, &window, sizeof(window), &win);
    if (status == WEFT_OK)
        status = exchange(job, win, 1 - process, 1);
    if (status == WEFT_OK)
        status = weft_host_barrier(job);
    if (status == WEFT_OK) {
        usleep(300000); /* nothing is under way any more */
        broken = break_new(before);
        status = exchange(job, win, 1 - process, 2);
    }
    weft_close(job);
    return broken == 0 ? NOT_BROKEN : (int)status;
}

int main(void)
{
    struct fault_job job;
    int failures = 0;

    fault_start(&job, PROCESSES, talk);
    const bool ended = fault_wait(&job, 30 * fault_scale());
    for (int p = 0; p < PROCESSES; p++) {
        failures += job.status[p] != WEFT_ERR_PEER_LOST;
        printf("process %d: status %d after %.1f s\n%s", p, job.status[p], job.ended[p],
               job.text[p]);
    }
    failures += !ended || strstr(job.text[0], "broke") == NULL;
    printf("%s\n", failures == 0 ? "all good" : "FAILED");
    return failures != 0;
}
