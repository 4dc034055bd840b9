/*
 * net/test_unlike.c - a job of processes on GPUs and on CPUs, as threads of this one; a far device
 * (support/far_device.h) plays the GPU. Everybody knows what each process drives. Counters are
 * mapped between equal kinds only; a GPU's ranks reach memory of a process on a CPU all the same,
 * and what they store there is there for who hears of it. What cannot be mixed is said.
 */
#include "runtime/job/job.h"
#include "support/expect.h"
#include "support/far_device.h"
#include "weft/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CPUS = 2, GPUS = 2, PROCESSES = CPUS + GPUS, RANKS = 2, ROUNDS = 100, TAG = 7 };

struct data {
    uint64_t *words;  /* one for each rank of the job, of each rank here */
    uint32_t reached; /* windows elsewhere that a rank may load and store itself */
    uint32_t wrong;
};

static int begun; /* processes that have begun to open their job */

static weft_status open_next(weft_job **job)
{
    char program[] = "test_unlike", on_cpu[] = "--weft-device=cpu";
    char *words[] = {program, on_cpu, NULL};
    int count = __atomic_fetch_add(&begun, 1, __ATOMIC_RELAXED) % PROCESSES < CPUS ? 2 : 1;

    words[count] = NULL;
    return weft_open(job, &count, words);
}

/* Each rank stores to all others by weft_ptr, puts where there is none, and tells them. */
WEFT_KERNEL(storing, struct data, data)
{
    const int me = weft_rank(self, WEFT_COMM_WORLD), n = weft_size(self, WEFT_COMM_WORLD);
    uint64_t *const mine = data->words + weft_rank(self, WEFT_COMM_DEVICE) * n;
    weft_win win = weft_win_create(self, WEFT_COMM_WORLD, mine, (size_t)n * sizeof(*mine));

    for (uint64_t round = 1; round <= ROUNDS; round++) {
        mine[me] = round;
        for (int r = 0; r < n; r++) {
            uint64_t *const there = weft_ptr(self, win, r);
            if (there != NULL)
                there[me] = round;
            else
                weft_put(self, win, r, (size_t)me * sizeof(round), &mine[me], sizeof(round));
            weft_notify(self, WEFT_COMM_WORLD, r, TAG);
            if (there == NULL)
                weft_flush_local(self, win);
            else if (round == 1 && r / RANKS != me / RANKS)
                __atomic_fetch_add(&data->reached, 1, __ATOMIC_RELAXED);
        }
        weft_wait(self, TAG, (uint32_t)n);
        for (int r = 0; r < n; r++)
            if (mine[r] != round)
                __atomic_store_n(&data->wrong, 1, __ATOMIC_RELAXED);
        weft_barrier(self, WEFT_COMM_WORLD);
    }
    weft_win_free(self, &win);
}

static int check_numbers(const weft_job *job, weft_kind mine)
{
    const int me = weft_numbers_of(job)->process;

    EXPECT(weft_process_kind(job, -1) == WEFT_KIND_NONE && weft_device_of(job, -1) == -1);
    EXPECT(weft_process_kind(job, PROCESSES) == WEFT_KIND_NONE);
    EXPECT(weft_device_of(job, PROCESSES) == -1);
    EXPECT(weft_process_kind(job, me) == mine);
    EXPECT(weft_device_of(job, me) == weft_numbers_of(job)->device);
    int cpus = 0;
    for (int p = 0; p < PROCESSES; p++) {
        const weft_kind kind = weft_process_kind(job, p);
        const bool like = kind == mine;
        cpus += kind == WEFT_KIND_CPU;
        EXPECT(weft_device_of(job, p) == p); /* nobody shares one */
        EXPECT(p == me || (job->space.state.process_table[p].exposed != NULL) == like);
        EXPECT(p == me || job->processes[p].mapped == (like || mine == WEFT_KIND_CUDA));
    }
    EXPECT(cpus == CPUS);
    EXPECT(job->space.state.signals->proxied != 0);
    return 0;
}

static int works(void *unused)
{
    struct data data = {0};
    weft_job *job;

    (void)unused;
    EXPECT(open_next(&job) == WEFT_OK);
    const weft_kind mine = job->device_ops->host_access ? WEFT_KIND_CPU : WEFT_KIND_CUDA;
    EXPECT(check_numbers(job, mine) == 0);
    EXPECT(weft_prepare(job, &storing, 1, RANKS) == WEFT_OK);
    const size_t ranks = PROCESSES * RANKS;
    data.words = weft_malloc(job, RANKS * ranks * sizeof(*data.words));
    EXPECT(weft_run(job, &data, sizeof(data), NULL) == WEFT_OK);
    EXPECT(data.wrong == 0);
    /* Its own kind, and from a GPU the CPUs, too. */
    const uint32_t others = mine == WEFT_KIND_CPU ? CPUS - 1 : GPUS - 1 + CPUS;
    EXPECT(data.reached == RANKS * RANKS * others);
    return weft_close(job) != WEFT_OK;
}

/* With WEFT_PATH=direct. */
static int refused(void *unused)
{
    weft_job *job;

    (void)unused;
    EXPECT(open_next(&job) == WEFT_ERR_CONFIG);
    EXPECT(strstr(weft_error(NULL), "WEFT_PATH=direct, but process ") != NULL);
    EXPECT(strstr(weft_error(NULL), "a GPU") != NULL && strstr(weft_error(NULL), "a CPU") != NULL);
    return 0;
}

/* A kernel that the GPUs cannot run: all processes hear of it, and the job goes on. */
static int one_kind_only(void *unused)
{
    const weft_cuda_kernel other_version = {.layout = sizeof(weft_self)};
    weft_kernel kernel = storing;
    weft_job *job;

    (void)unused;
    kernel.cuda = &other_version;
    EXPECT(open_next(&job) == WEFT_OK);
    EXPECT(weft_prepare(job, &kernel, 1, RANKS) == WEFT_ERR_DEVICE);
    EXPECT(strstr(weft_error(job), job->device_ops->host_access
                                       ? "cannot run the kernel"
                                       : "was compiled for another version") != NULL);
    EXPECT(weft_prepare(job, &storing, 1, RANKS) == WEFT_OK);
    return weft_close(job) != WEFT_ERR_DEVICE;
}

int main(void)
{
    int wrong = 0;

    setenv("WEFT_TIMEOUT_S", "120", 1);
    setenv("WEFT_PATH", "auto", 1);
    wrong |= weft_local_job(PROCESSES, works, NULL);
    setenv("WEFT_EAGER", "0", 1); /* without channels counters are of one size everywhere */
    wrong |= weft_local_job(PROCESSES, works, NULL);
    wrong |= weft_local_job(PROCESSES, one_kind_only, NULL);
    setenv("WEFT_PATH", "direct", 1);
    wrong |= weft_local_job(PROCESSES, refused, NULL);
    printf("%s\n", wrong == 0 ? "all good" : "FAILED");
    return wrong;
}
