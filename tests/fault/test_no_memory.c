/*
 * fault/test_no_memory.c - one process gets no memory for what all processes must do alike: the job
 * ends with WEFT_ERR_MEMORY on all of them, and nobody waits for it or goes on with other tables.
 * Then each allocation of a job fails once, of processes and of threads of this one: nobody waits
 * for what does not come.
 *
 * The linker gives this program the library's calls of malloc, calloc and realloc (--wrap).
 */
#include "rank/state.h"
#include "runtime/space/tables.h"
#include "support/fault_job.h"
#include "weft/device.h"
#include "weft/host.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PROCESSES = 3, POOR = 1, RANKS = 2, WORLD = PROCESSES * RANKS };

static size_t refused; /* an allocation of so many bytes fails, once this is not 0 */
static bool caller_only;
static _Thread_local bool caller; /* of weft_run */
static long left;                 /* allocations, the last of which fails; not above 0: none */

void *__real_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__real_realloc(void *was, size_t bytes);
void *__wrap_realloc(void *was, size_t bytes);

static bool is_refused(size_t bytes)
{
    if (__atomic_load_n(&left, __ATOMIC_RELAXED) > 0 &&
        __atomic_sub_fetch(&left, 1, __ATOMIC_RELAXED) == 0) {
        fault_add(FAULT_WORD_A);
        return true;
    }
    return bytes != 0 && bytes == __atomic_load_n(&refused, __ATOMIC_RELAXED) &&
           (caller || !caller_only);
}

void *__wrap_malloc(size_t bytes)
{
    return is_refused(bytes) ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    return is_refused(count * bytes) ? NULL : __real_calloc(count, bytes);
}

void *__wrap_realloc(void *was, size_t bytes)
{
    return is_refused(bytes) ? NULL : __real_realloc(was, bytes);
}

struct data {
    bool split;
};

/* Whoever got an answer finds out whether the others got the same. */
WEFT_KERNEL(creating, struct data, data)
{
    if (data->split)
        weft_comm_split(self, WEFT_COMM_WORLD, 0, 0);
    else
        weft_win_create(self, WEFT_COMM_WORLD, NULL, 0);
    weft_barrier(self, WEFT_COMM_WORLD);
}

/* bytes: what process POOR does not get after it has prepared the kernel. */
static int run_poor(int process, bool split, size_t bytes)
{
    struct data data = {split};
    weft_job *job;
    weft_status status = weft_open(&job, NULL, NULL);

    if (status == WEFT_OK)
        status = weft_prepare(job, &creating, 1, RANKS);
    if (status != WEFT_OK)
        return 99;
    if (process == POOR)
        __atomic_store_n(&refused, bytes, __ATOMIC_RELAXED);
    status = weft_run(job, &data, sizeof(data), NULL);
    weft_close(job);
    return (int)status;
}

static int no_window(int process)
{
    return run_poor(process, false, (WORLD + 1) * sizeof(struct weft_window_entry));
}

static int no_comm(int process)
{
    /* As weft_comm_make takes it: the lists, and a word a process behind them. */
    return run_poor(process, true,
                    weft_comm_bytes(WORLD, RANKS + 1, PROCESSES) + PROCESSES * sizeof(int32_t));
}

/* The empty exchange at the start of a run: a head of 8 bytes. (To receive one takes as many.) */
static int no_exchange(int process)
{
    caller = caller_only = true;
    return run_poor(process, false, 8);
}

/* ---- each allocation, once ------------------------------------------------------------------- */

static long turn;
static int poor; /* of processes; of threads all are */

static int one_fails(int process)
{
    weft_job *job;
    weft_win window;
    const weft_status status = weft_open(&job, NULL, NULL);

    if (status != WEFT_OK) /* a thread may still be there when another's allocation fails */
        return (int)status;
    if (process == poor)
        __atomic_store_n(&left, turn, __ATOMIC_RELAXED);
    void *const memory = weft_malloc(job, 64);
    weft_host_win_create(job, memory, memory != NULL ? 64 : 0, &window);
    return (int)weft_close(job); /* which frees all */
}

static int one_fails_of_threads(void *next)
{
    const int status = one_fails(__atomic_fetch_add((int *)next, 1, __ATOMIC_RELAXED));

    return status == WEFT_ERR_TIMEOUT || status == WEFT_ERR_DEADLOCK;
}

/* One job. False: somebody has waited for what did not come. */
static bool all_end(bool threads)
{
    static struct fault_job job;
    int next = 0;

    if (threads) {
        const bool good = weft_local_job(PROCESSES, one_fails_of_threads, &next) == 0;
        left = 0;
        return good;
    }
    fault_start(&job, PROCESSES, one_fails);
    bool good = fault_wait(&job, FAULT_HANG_S);
    for (int p = 0; p < PROCESSES; p++)
        good = good && job.status[p] < WEFT_STATUS_COUNT && job.status[p] != WEFT_ERR_TIMEOUT &&
               job.status[p] != WEFT_ERR_DEADLOCK;
    return good;
}

static bool each_once(void)
{
    bool good = true;

    fault_set("WEFT_TIMEOUT_S", "20");
    for (int round = 0; round < 3; round++) {
        uint32_t failed, before;
        poor = round % 2;
        turn = 0;
        do {
            before = round == 2 ? fault_look(FAULT_WORD_A) : 0; /* the others begin at 0 */
            turn++;
            if (!all_end(round == 2)) {
                good = false;
                printf("FAILED: allocation %ld, round %d: a process has waited\n", turn, round);
            }
            failed = fault_look(FAULT_WORD_A) - before;
        } while (failed != 0);
    }
    return good;
}

int main(void)
{
    static const struct {
        const char *name;
        int (*body)(int process);
        const char *says;
    } cases[] = {{"a window", no_window, "weft_win_create: process 1 has no memory"},
                 {"a communicator", no_comm, "weft_comm_split: process 1 has no memory"},
                 {"an exchange", no_exchange, "weft_run: process 1 has no memory"}};
    static struct fault_job job;
    bool good = true;

    setbuf(stdout, NULL);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        fault_start(&job, PROCESSES, cases[i].body);
        const bool all = fault_wait(&job, FAULT_HANG_S);
        for (int p = 0; p < PROCESSES; p++) {
            if (all && job.status[p] == WEFT_ERR_MEMORY &&
                strstr(job.text[p], cases[i].says) != NULL)
                continue;
            good = false;
            printf("FAILED: %s: process %d ended with %d after %.1f s; it said:\n%s\n",
                   cases[i].name, p, job.status[p], job.ended[p], job.text[p]);
        }
    }
    good = each_once() && good;
    printf("%s\n", good ? "all good" : "FAILED");
    return !good;
}
