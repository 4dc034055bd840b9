/*
 * rdma/test_verbs_link.c - a job of two processes, one on each end of the cable, when one process
 * is killed, and when the cable is cut: the survivors end within 10 s, with PEER_LOST and a line
 * that names whom they have lost. Cuts veth0 for real: for a guest of tools/rdma-vm only.
 */
#include "net/net.h"
#include "support/fault_job.h"
#include "weft/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PROCESSES = 2, RANKS = 2, SKIPPED = 77 };

struct data {
    int unused;
};

/* Notices go round for ever. */
WEFT_KERNEL(round_about, struct data, data)
{
    const int me = weft_rank(self, WEFT_COMM_WORLD), n = weft_size(self, WEFT_COMM_WORLD);

    (void)data;
    weft_enter(self);
    for (;;) {
        weft_notify(self, WEFT_COMM_WORLD, (me + 1) % n, 1);
        weft_wait(self, 1, 1);
    }
}

static int body(int process)
{
    struct data data = {0};

    (void)process;
    return fault_run(&round_about, RANKS, &data, sizeof(data));
}

static int failures;

static void check(bool good, const struct fault_job *job, int process, const char *what)
{
    failures += fault_check(good, job, "verbs_link", process, what);
}

/* Whichever end noticed first has failed the job, and both print its line: with a cable cut in the
 * middle, each has lost the other. */
static bool names_the_lost(const char *text)
{
    char line[64];

    for (int p = 0; p < PROCESSES; p++) {
        snprintf(line, sizeof(line), "verbs: the connection to process %d broke: ", p);
        if (strstr(text, line) != NULL)
            return true;
    }
    return false;
}

static void run(bool cut)
{
    static struct fault_job job;

    fault_start(&job, PROCESSES, body);
    fault_await(&job);
    sleep(1);
    const double from = fault_now() - job.started;
    if (cut && system("ip link set veth0 down") != 0)
        exit(1);
    if (!cut)
        fault_kill(&job, 1, 0);
    check(fault_wait(&job, FAULT_HANG_S), &job, 0, "it had to be killed");
    for (int p = 0; p < (cut ? PROCESSES : 1); p++) {
        check(job.status[p] == WEFT_ERR_PEER_LOST, &job, p, "another status than PEER_LOST");
        check(job.ended[p] - from < 10 * fault_scale(), &job, p, "it took more than 10 s");
        if (cut)
            check(names_the_lost(job.text[p]), &job, p, "it does not name whom it has lost");
        else
            check(strstr(job.text[p], "process 1") != NULL, &job, p, "it does not name it");
    }
    printf("%s: noticed after %.1f s\n", cut ? "the cable is cut" : "a process is killed",
           job.ended[0] - from);
}

int main(void)
{
    setbuf(stdout, NULL);
    if (access("/sys/class/infiniband/rxe1", F_OK) != 0) {
        printf("skipped: there are no rxe0 and rxe1\n");
        return SKIPPED;
    }
    setenv("WEFT_NET", "verbs", 1);
    setenv("WEFT_PATH", "proxy", 1);
    setenv("WEFT_SILENCE_S", "3", 1);
    setenv("WEFT_VERBS_DEVICE", "rxe0,rxe1", 1);
    run(false);
    run(true);
    printf("%d checks failed\n", failures);
    return failures != 0;
}
