/*
 * fault/test_stuck_net.c - a call into the network's library does not return, and the job fails:
 * the process says so and ends, instead of waiting for it for ever. Such libraries there are: an
 * MPI may run in circles in one of its lists once a peer's connection has broken.
 */
#include "runtime/job/job.h"
#include "support/fault_job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PROCESSES = 2, RANKS = 3, MOST_S = 20, NO_SOURCE = 99 };
enum { STICK = FAULT_WORD_A, STUCK = FAULT_WORD_B };

struct data {
    int unused;
};

/* A ring that never ends. */
WEFT_KERNEL(ring, struct data, data)
{
    const int me = weft_rank(self, WEFT_COMM_WORLD), n = weft_size(self, WEFT_COMM_WORLD);

    (void)data;
    for (;;) {
        weft_notify(self, WEFT_COMM_WORLD, (me + 1) % n, 1);
        weft_wait(self, 1, 1);
    }
}

static bool sticks; /* this process */
static enum weft_net_side stuck_side;

/* As the network does it, but when it shall a call for one side does not come back. */
weft_status __real_weft_net_progress(struct weft_net *net, enum weft_net_side side, bool *did);
weft_status __wrap_weft_net_progress(struct weft_net *net, enum weft_net_side side, bool *did);
weft_status __wrap_weft_net_progress(struct weft_net *net, enum weft_net_side side, bool *did)
{
    if (__atomic_load_n(&sticks, __ATOMIC_ACQUIRE) && side == stuck_side &&
        fault_look(STICK) != 0) {
        fault_add(STUCK);
        for (;;)
            usleep(1000);
    }
    return __real_weft_net_progress(net, side, did);
}

/* No bytes, as of a notice, have a source, too. */
weft_status __real_weft_net_put(struct weft_net *net, const struct weft_net_put *what);
weft_status __wrap_weft_net_put(struct weft_net *net, const struct weft_net_put *what);
weft_status __wrap_weft_net_put(struct weft_net *net, const struct weft_net_put *what)
{
    if (what->source == NULL)
        _exit(NO_SOURCE);
    return __real_weft_net_put(net, what);
}

/* Process 0 has such a network. The other one is killed. */
static weft_status open_job(weft_job **job, int process, enum weft_net_side side)
{
    setenv("WEFT_PATH", "proxy", 1);
    const weft_status status = weft_open(job, NULL, NULL);
    if (status != WEFT_OK || process != 0)
        return status;
    stuck_side = side;
    __atomic_store_n(&sticks, true, __ATOMIC_RELEASE);
    return WEFT_OK;
}

static int run(int process, enum weft_net_side side)
{
    struct data data = {0};
    weft_job *job;
    weft_status status = open_job(&job, process, side);

    if (status != WEFT_OK)
        return (int)status;
    status = weft_prepare(job, &ring, 1, RANKS);
    if (status == WEFT_OK)
        fault_add(FAULT_WORD_READY);
    if (status == WEFT_OK)
        status = weft_run(job, &data, sizeof(data), NULL);
    weft_close(job);
    return (int)status;
}

static int run_send(int process)
{
    return run(process, WEFT_NET_SEND);
}

static int run_receive(int process)
{
    return run(process, WEFT_NET_RECEIVE);
}

/* The host program's wait returns, and weft_close comes into it. */
static int close_it(int process)
{
    weft_job *job;
    weft_status status = open_job(&job, process, WEFT_NET_RECEIVE);

    if (status != WEFT_OK)
        return (int)status;
    fault_add(FAULT_WORD_READY);
    status = weft_host_wait(job, 1, 1);
    printf("weft_host_wait: %s\n",
           weft_status_name(status)); /* comes out although nobody flushes */
    weft_close(job);
    return (int)status;
}

static int check(const char *what, int (*body)(int process))
{
    struct fault_job job;

    fault_start(&job, PROCESSES, body);
    fault_await(&job);
    fault_add(STICK);
    for (const double end = fault_now() + FAULT_HANG_S;
         fault_look(STUCK) == 0 && fault_now() < end;)
        usleep(1000);
    fault_kill(&job, 1, 0.3);
    const bool ended = fault_wait(&job, FAULT_HANG_S);
    const double took = job.ended[0] - job.ended[1];
    const bool good = ended && job.status[0] == EXIT_FAILURE && took < MOST_S * fault_scale() &&
                      strstr(job.text[0], "process 1 (pid ") != NULL &&
                      strstr(job.text[0], " a call into shm has not returned for 5 s") != NULL;

    printf("%s: status %d after %.1f s: %s\n%s", what, job.status[0], took,
           good ? "good" : "FAILED", good ? "" : job.text[0]);
    fflush(stdout);
    return !good;
}

int main(void)
{
    const int failures = check("a call that sends, a kernel runs", run_send) +
                         check("a call that receives, a kernel runs", run_receive) +
                         check("a call that receives, the job is closed", close_it);

    printf("%s\n", failures == 0 ? "all good" : "FAILED");
    return failures != 0;
}
