/*
 * fault/test_asks.c - ranks that get and update memory of a process which stops answering: while it
 * is only slow, the stall is reported, with who waits for whom; when it is lost, all that they had
 * under way ends, and every process says so.
 */
#include "support/fault_job.h"
#include "weft/device.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PROCESSES = 4, RANKS = 4, LOST = 2, WORDS = 512, SOME = 20 };

struct data {
    unsigned char *memory; /* of each rank: a window, and what it fetches */
};

/* Asks the lost process's rank for ever, each rank in another way: the call that waits differs. */
static void ask(weft_self *self, weft_win win, int rank, int way, uint64_t *to)
{
    weft_op op = {0, 0, 0};

    if (way == 0)
        weft_fetch_add(self, win, rank, 0, 1);
    else if (way == 1)
        weft_get(self, win, rank, 0, to, WORDS * 8);
    for (int i = 0; i < SOME && way == 2; i++)
        weft_get_begin(self, win, rank, 0, to, WORDS * 8);
    for (int i = 0; i < SOME && way == 3; i++)
        op = weft_accumulate_begin(self, win, rank, 8, to, 8, WEFT_U64, WEFT_SUM);
    if (way == 2)
        weft_flush(self, win);
    if (way == 3)
        weft_op_wait(self, op, WEFT_REMOTE);
}

WEFT_KERNEL(asking, struct data, data)
{
    const int me = weft_rank(self, WEFT_COMM_WORLD), slot = weft_rank(self, WEFT_COMM_DEVICE);
    uint64_t *memory = (uint64_t *)(void *)(data->memory + (size_t)slot * 2 * WORDS * 8);

    weft_win win = weft_win_create(self, WEFT_COMM_WORLD, memory, WORDS * 8);
    weft_barrier(self, WEFT_COMM_WORLD);
    if (weft_process(self) == LOST)
        weft_wait(self, 9, 1);
    ask(self, win, weft_process_first(self, LOST) + me % RANKS, slot, memory + WORDS);
    fault_add(FAULT_WORD_A); /* it has been answered: whatever it waits for from now on it asks */
    for (;;)
        ask(self, win, weft_process_first(self, LOST) + me % RANKS, slot, memory + WORDS);
}

/* The process that is lost stands still first, when all ranks of the others have had an answer. */
static int body(int process)
{
    weft_job *job = NULL;
    weft_status status = weft_open(&job, NULL, NULL);
    struct data data = {0};

    if (status == WEFT_OK)
        data.memory = weft_malloc(job, (size_t)RANKS * 2 * WORDS * 8);
    if (status == WEFT_OK && data.memory == NULL)
        status = WEFT_ERR_MEMORY;
    if (status == WEFT_OK)
        status = weft_prepare(job, &asking, 1, RANKS);
    if (status == WEFT_OK)
        status = weft_start(job, &data, sizeof(data));
    fault_add(FAULT_WORD_READY);
    if (process == LOST) {
        while (status == WEFT_OK && fault_look(FAULT_WORD_A) < (PROCESSES - 1) * RANKS)
            usleep(1000);
        raise(SIGSTOP);
    }
    if (status == WEFT_OK)
        status = weft_finish(job, NULL);
    weft_close(job);
    return (int)status;
}

static int failed_checks;

static void check(bool good, const struct fault_job *job, int process, const char *what)
{
    failed_checks += fault_check(good, job, "asks", process, what);
}

int main(void)
{
    static struct fault_job job;

    setbuf(stdout, NULL);
    setenv("WEFT_PATH", "proxy", 1);
    setenv("WEFT_STALL_S", "0.3", 1);
    fault_start(&job, PROCESSES, body);
    fault_await(&job);
    for (int rank = 0; rank < RANKS; rank++) {
        char who[32];
        snprintf(who, sizeof(who), "rank %d has waited", rank);
        check(fault_says(&job, who, "for what it asked of process 2: ", FAULT_HANG_S), &job, 0,
              "it does not say for whom its ranks wait");
    }
    fault_kill(&job, LOST, 0);
    const double from = fault_now() - job.started;
    check(fault_wait(&job, FAULT_HANG_S), &job, 0, "a process had to be killed");
    for (int p = 0; p < PROCESSES; p++) {
        if (p == LOST)
            continue;
        check(job.status[p] == WEFT_ERR_PEER_LOST, &job, p, "another status than PEER_LOST");
        check(strstr(job.text[p], "process 2 (pid ") != NULL, &job, p, "it does not say who");
        check(job.ended[p] - from < 10 * fault_scale(), &job, p, "it took more than 10 s");
    }
    printf("%d checks failed\n", failed_checks);
    return failed_checks != 0;
}
