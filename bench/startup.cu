/*
 * bench/startup.cu - what grows with the job: the start, windows and splits made and freed, by host
 * programs and by ranks, and memory. As one job of each size: bench/startup.sh.
 *
 * open: from the first process's main to the last one's return from weft_open. The rest is a pair
 * of calls, the slowest process's mean. Memory is a process's share (Pss: what n processes share
 * counts 1/n in each), of the process that has most, and of all.
 */
#include "support/bench.h"

#include <weft/device.h>

struct startup_data {
    uint64_t *memory; /* device memory: a word for each rank of the device, and as many sources */
    uint64_t repeats;
    uint64_t *wrong; /* device memory: the same */
};

/* A window of all ranks: a word from the left neighbour arrives. */
WEFT_DEVICE_FN uint64_t window(weft_self *self, const struct startup_data *user, uint64_t round)
{
    const int me = weft_rank(self, WEFT_COMM_WORLD), n = weft_size(self, WEFT_COMM_WORLD);
    const int mine = weft_rank(self, WEFT_COMM_DEVICE), here = weft_size(self, WEFT_COMM_DEVICE);
    uint64_t *word = user->memory + mine, *source = user->memory + here + mine;
    weft_win win = weft_win_create(self, WEFT_COMM_WORLD, word, sizeof(*word));

    if (weft_thread(self) == 0)
        *source = round * (uint64_t)n + (uint64_t)me;
    weft_put_notify(self, win, (me + 1) % n, 0, source, sizeof(*source), 0);
    weft_wait(self, 0, 1);
    const uint64_t wrong = *word != round * (uint64_t)n + (uint64_t)((me + n - 1) % n);
    weft_win_free(self, &win);
    return wrong;
}

/* Two halves. */
WEFT_DEVICE_FN uint64_t split(weft_self *self)
{
    const int me = weft_rank(self, WEFT_COMM_WORLD), n = weft_size(self, WEFT_COMM_WORLD);
    weft_comm half = weft_comm_split(self, WEFT_COMM_WORLD, me % 2, me);
    const uint64_t wrong =
        weft_size(self, half) != (n + 1 - me % 2) / 2 || weft_rank(self, half) != me / 2;

    weft_comm_free(self, &half);
    return wrong;
}

WEFT_KERNEL(startup, struct startup_data, user)
{
    uint64_t wrong = 0;

    weft_enter(self);
    weft_timer_start(self);
    for (uint64_t i = 0; i < user->repeats; i++)
        wrong += window(self, user, i);
    weft_timer_stop(self);
    weft_timer_start(self);
    for (uint64_t i = 0; i < user->repeats; i++)
        wrong += split(self);
    weft_timer_stop(self);
    weft_leave(self);
    if (weft_thread(self) == 0)
        user->wrong[weft_rank(self, WEFT_COMM_DEVICE)] = wrong;
}

#ifndef __CUDACC__

#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 32, MOST_RANKS = 4 /* a process */ };

/* In the order in which they are printed; the last two in KiB, the others in us. */
enum { OPEN, HOST_WINDOW, HOST_SPLIT, RANK_WINDOW, RANK_SPLIT, MEMORY_OPEN, MEMORY, FIGURES };

struct figures {
    double began, opened; /* by the host's clock */
    double value[FIGURES];
    uint64_t wrong;
};

/* KiB; -1: the kernel does not say. */
static double memory_here(void)
{
    char line[256];
    double kib = -1;
    FILE *in = fopen("/proc/self/smaps_rollup", "r");

    while (in != NULL && fgets(line, sizeof(line), in) != NULL && kib < 0)
        if (sscanf(line, "Pss: %lf kB", &kib) != 1)
            kib = -1;
    if (in != NULL)
        fclose(in);
    return kib;
}

static weft_status host_calls(weft_job *job, uint64_t repeats, struct figures *f)
{
    weft_status status = weft_host_barrier(job);
    double before = bench_seconds();
    weft_win win;
    weft_comm half;

    for (uint64_t i = 0; i < repeats && status == WEFT_OK; i++) {
        status = weft_host_win_create(job, NULL, 0, &win);
        if (status == WEFT_OK)
            status = weft_host_win_free(job, &win);
    }
    f->value[HOST_WINDOW] = (bench_seconds() - before) * 1e6 / (double)repeats;
    if (status == WEFT_OK)
        status = weft_host_barrier(job);
    before = bench_seconds();
    for (uint64_t i = 0; i < repeats && status == WEFT_OK; i++) {
        status = weft_host_split(job, weft_numbers_of(job)->process % 2, 0, &half);
        if (status == WEFT_OK)
            status = weft_host_group_free(job, &half);
    }
    f->value[HOST_SPLIT] = (bench_seconds() - before) * 1e6 / (double)repeats;
    return status;
}

static weft_status rank_calls(weft_job *job, uint64_t repeats, struct figures *f)
{
    weft_status status = weft_prepare(job, &startup, THREADS, MOST_RANKS);
    const size_t here = (size_t)weft_numbers_of(job)->ranks_here;
    uint64_t *memory = status == WEFT_OK ? weft_malloc(job, 3 * here * sizeof(*memory)) : NULL;
    struct startup_data data = {.memory = memory, .repeats = repeats, .wrong = memory + 2 * here};
    const double *intervals;
    size_t count;

    if (status == WEFT_OK)
        status = memory != NULL ? weft_run(job, &data, sizeof(data), NULL) : WEFT_ERR_MEMORY;
    f->value[MEMORY] = memory_here();
    if (status == WEFT_OK)
        status = weft_intervals(job, &intervals, &count);
    for (int i = 0; status == WEFT_OK && i < 2; i++)
        f->value[RANK_WINDOW + i] = intervals[i] * 1e3 / (double)repeats;
    for (size_t i = 0; i < here && status == WEFT_OK; i++) {
        uint64_t one;
        status = weft_copy(job, &one, data.wrong + i, sizeof(one));
        f->wrong += status == WEFT_OK ? one : 0;
    }
    weft_free(job, memory);
    return status;
}

static void print(const struct figures *all, int processes)
{
    static const char *const names[FIGURES] = {
        "open,us",  "host window,us",        "host split,us", "window,us",
        "split,us", "memory after open,KiB", "memory,KiB"};
    double began = all[0].began, opened = 0, sum = 0;

    printf("processes,what,unit,value\n");
    for (int p = 0; p < processes; p++) {
        began = all[p].began < began ? all[p].began : began;
        opened = all[p].opened > opened ? all[p].opened : opened;
        sum += all[p].value[MEMORY];
    }
    printf("%d,%s,%.4g\n", processes, names[OPEN], (opened - began) * 1e6);
    for (int k = OPEN + 1; k < FIGURES; k++) {
        double most = all[0].value[k];
        for (int p = 1; p < processes; p++)
            most = all[p].value[k] > most ? all[p].value[k] : most;
        printf("%d,%s,%.6g\n", processes, names[k], most);
    }
    printf("%d,memory of all,KiB,%.6g\n", processes, sum);
}

int main(int argc, char **argv)
{
    struct figures mine = {.began = bench_seconds()}, *all = NULL;
    struct bench_options options;
    weft_job *job;

    if (weft_open(&job, &argc, argv) != WEFT_OK)
        return EXIT_FAILURE;
    mine.opened = bench_seconds();
    mine.value[MEMORY_OPEN] = memory_here();
    bench_parse(&options, argc, argv, 0,
                "What start, windows and splits take: weftrun -n PROCESSES bench_startup", NULL);
    const weft_numbers *numbers = weft_numbers_of(job);
    weft_status status = host_calls(job, options.repeats, &mine);
    if (status == WEFT_OK)
        status = rank_calls(job, options.repeats, &mine);
    if (numbers->process == 0)
        all = calloc((size_t)numbers->processes, sizeof(*all));
    if (status == WEFT_OK)
        status = weft_host_gather(job, 0, &mine, sizeof(mine), all);
    if (status == WEFT_OK && all != NULL)
        print(all, numbers->processes);
    free(all);
    const weft_status closed = weft_close(job);
    return status == WEFT_OK && closed == WEFT_OK ? bench_status(mine.wrong) : EXIT_FAILURE;
}
#endif
