/*
 * fault/test_broken_net.c - the network's connections between two processes break, and what was
 * sent last is lost without a word: the job ends with an error that says so. The processes' own
 * connection to each other, by which they learn of deaths, does not break.
 *
 * The network's are the TCP connections that a process has had since its first put. It stops
 * listening to them, so that what comes next is gone; when both have sent it, it shuts them down.
 */
#include "support/fault_job.h"

#include <linux/filter.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PROCESSES = 2, TAG = 1, MOST_FILES = 1024, NOT_BROKEN = 99 };

static int *meeting; /* shared: how often processes have come there */

static void meet(int times)
{
    __atomic_fetch_add(meeting, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(meeting, __ATOMIC_SEQ_CST) < times * PROCESSES)
        usleep(1000);
}

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

static bool deafen(int fd)
{
    struct sock_filter none = {.code = BPF_RET | BPF_K};
    const struct sock_fprog program = {1, &none};

    return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) == 0;
}

/* Whether something has gone that nobody says he has. */
static bool unheard(int fd)
{
    int bytes = 0;

    return ioctl(fd, SIOCOUTQ, &bytes) == 0 && bytes > 0;
}

static bool end(int fd)
{
    return shutdown(fd, SHUT_RDWR) == 0;
}

/* How many connections since `before` it was done to. */
static int to_new(const bool before[MOST_FILES], bool (*what)(int fd))
{
    bool now[MOST_FILES];
    int count = 0;

    connections(now);
    for (int fd = 0; fd < MOST_FILES; fd++)
        count += now[fd] && !before[fd] && what(fd);
    return count;
}

/* One from the other process, and ours is delivered. */
static weft_status await(weft_job *job, weft_win win)
{
    weft_status status = weft_host_wait(job, TAG, 1);

    return status == WEFT_OK ? weft_host_flush(job, win) : status;
}

static int talk(int process)
{
    const uint64_t word = 1;
    uint64_t window = 0;
    bool before[MOST_FILES];
    weft_job *job;
    weft_win win;
    int deaf = 0;

    setenv("WEFT_NET", "ofi", 1);
    setenv("WEFT_OFI_PROVIDER", "tcp;ofi_rxm", 1);
    setenv("WEFT_PATH", "proxy", 1);
    setenv("WEFT_STALL_S", "60", 1);
    setenv("WEFT_SILENCE_S", "5", 1);
    weft_status status = weft_open(&job, NULL, NULL);
    if (status != WEFT_OK)
        return (int)status;
    connections(before);
    status = weft_host_win_create(job, &window, sizeof(window), &win);
    if (status == WEFT_OK)
        status = weft_host_put_notify(job, win, 1 - process, 0, &word, sizeof(word), TAG);
    if (status == WEFT_OK)
        status = await(job, win);
    if (status == WEFT_OK)
        status = weft_host_barrier(job);
    if (status == WEFT_OK) {
        usleep((useconds_t)(300000 * fault_scale())); /* nothing is under way any more */
        deaf = to_new(before, deafen);
        meet(1);
        status = weft_host_put_notify(job, win, 1 - process, 0, &word, sizeof(word), TAG);
        for (int i = 0; i < 1000 * (int)FAULT_HANG_S && to_new(before, unheard) == 0; i++)
            usleep(1000);
        meet(2);
        to_new(before, end);
    }
    if (status == WEFT_OK)
        status = await(job, win);
    weft_close(job);
    return deaf == 0 ? NOT_BROKEN : (int)status;
}

int main(void)
{
    struct fault_job job;
    int failures = 0;

    meeting =
        mmap(NULL, sizeof(*meeting), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (meeting == MAP_FAILED)
        return 1;
    fault_start(&job, PROCESSES, talk);
    const bool ended = fault_wait(&job, FAULT_HANG_S);
    for (int p = 0; p < PROCESSES; p++) {
        failures += job.status[p] != WEFT_ERR_PEER_LOST;
        printf("process %d: status %d after %.1f s\n%s", p, job.status[p], job.ended[p],
               job.text[p]);
    }
    failures += !ended || strstr(job.text[0], "broke") == NULL;
    printf("%s\n", failures == 0 ? "all good" : "FAILED");
    return failures != 0;
}
