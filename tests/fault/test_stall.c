/*
 * fault/test_stall.c - a wait that lasts is no error, but it is reported: who waits for what, how
 * much of it is there, and in a barrier also who has not come.
 */
#include "support/fault_job.h"
#include "weft/coll.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PROCESSES = 4, RANKS = 3 };

/* What the ranks do, by number. */
enum { WAIT_FOR_NOBODY, MISS_BARRIER, MISS_ENTER, MISS_LEAVE, MISS_COLLECTIVE, COMPUTE };

struct data {
    int what;
    int64_t one, sum[PROCESSES * RANKS];
};

WEFT_KERNEL(stalling, struct data, data)
{
    const int me = weft_rank(self, WEFT_COMM_WORLD), n = weft_size(self, WEFT_COMM_WORLD);

    if (data->what == MISS_ENTER && me == 2)
        weft_wait(self, 9, 1);
    weft_enter(self);
    if (data->what == MISS_LEAVE && me == 2)
        weft_wait(self, 9, 1);
    if (data->what == MISS_LEAVE)
        weft_leave(self);
    if (data->what == WAIT_FOR_NOBODY && me == 1)
        weft_wait(self, 42, 3);
    if (data->what == MISS_BARRIER && me != 2)
        weft_barrier(self, WEFT_COMM_WORLD);
    if (data->what == MISS_BARRIER && me == 2)
        weft_wait(self, 9, 1);
    if (data->what == MISS_COLLECTIVE && me != 2)
        weft_allreduce(self, WEFT_COMM_WORLD, &data->one, &data->sum[me], 1, WEFT_I64, WEFT_SUM);
    if (data->what == MISS_COLLECTIVE && me == 2)
        weft_wait(self, 9, 1);
    if (data->what == COMPUTE && me < 2) {
        weft_notify(self, WEFT_COMM_WORLD, 2, 5);
        weft_barrier(self, WEFT_COMM_WORLD);
    }
    if (data->what == COMPUTE && me == 2) {
        weft_wait(self, 5, 2); /* the others here are in the barrier */
        while (*(volatile int *)&data->what == COMPUTE)
            continue;
    }
    for (;;) { /* a ring that never ends */
        weft_notify(self, WEFT_COMM_WORLD, (me + 1) % n, 1);
        weft_wait(self, 1, 1);
    }
}

/* What the ranks do in the next job. */
static int ranks_do;

static int body(int process)
{
    struct data data = {.what = ranks_do};

    (void)process;
    return fault_run(&stalling, RANKS, &data, sizeof(data));
}

/* Whether a process says both in its lines; it is no error however long it takes. */
static int run_stall(const char *name, int what, const char *first, const char *second)
{
    static struct fault_job job;

    ranks_do = what;
    fault_start(&job, PROCESSES, body);
    const bool said = fault_says(&job, first, second, FAULT_HANG_S);
    for (int p = 0; p < PROCESSES; p++)
        fault_kill(&job, p, 0);
    fault_wait(&job, FAULT_HANG_S);
    if (!said) {
        printf("FAILED %s: nobody reports the stall; they said:\n", name);
        for (int p = 0; p < PROCESSES; p++)
            printf("%s", job.text[p]);
    }
    printf("%s: done\n", name);
    return said ? 0 : 1;
}

int main(void)
{
    setbuf(stdout, NULL);
    setenv("WEFT_STALL_S", "0.3", 1);
    const int failed =
        run_stall("a wait for nobody", WAIT_FOR_NOBODY, "rank 1 has waited",
                  "for tag 42: has 0 of 3 notifications") +
        run_stall("a missed barrier", MISS_BARRIER,
                  "in a barrier of WEFT_COMM_WORLD: not there: rank 2", "rank 0 has") +
        run_stall("a missed enter", MISS_ENTER, "in weft_enter: not there: rank 2", "rank 0 has") +
        run_stall("a missed leave", MISS_LEAVE, "in weft_leave: not there: rank 2", "rank 0 has") +
        run_stall("a missed collective", MISS_COLLECTIVE,
                  "in the first collective (weft/coll.h) of WEFT_COMM_WORLD: not there: rank 2",
                  "rank 0 has") +
        run_stall("a rank that computes", COMPUTE, "rank 1 has waited",
                  "rank 2 does not wait at present");
    printf("%d checks failed\n", failed);
    return failed != 0;
}
