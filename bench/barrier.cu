/*
 * bench/barrier.cu - weft_barrier of the world, one after the other.
 *
 * Before the timed loop it is checked: each rank puts the round to the next rank and flushes; after
 * the barrier it must have that of the rank before it. A second barrier keeps the rounds apart.
 */
#include "support/bench.h"

#include <weft/device.h>

struct barrier_data {
    uint64_t *arrived, *source; /* device memory: a word for each rank of the device */
    uint64_t checks, warm_up, repeats;
    uint64_t *wrong; /* device memory: the same */
};

WEFT_DEVICE_FN uint64_t check(weft_self *self, const struct barrier_data *user)
{
    const int mine = weft_rank(self, WEFT_COMM_DEVICE);
    const int next = (weft_rank(self, WEFT_COMM_WORLD) + 1) % weft_size(self, WEFT_COMM_WORLD);
    uint64_t *arrived = user->arrived + mine, *source = user->source + mine;
    uint64_t wrong = 0;
    weft_win win = weft_win_create(self, WEFT_COMM_WORLD, arrived, sizeof(*arrived));

    for (uint64_t round = 1; round <= user->checks; round++) {
        if (weft_thread(self) == 0)
            *source = round;
        weft_sync(self);
        weft_put(self, win, next, 0, source, sizeof(*source));
        weft_flush(self, win);
        weft_barrier(self, WEFT_COMM_WORLD);
        wrong += *arrived != round;
        weft_barrier(self, WEFT_COMM_WORLD);
    }
    weft_win_free(self, &win);
    return wrong;
}

WEFT_KERNEL(barrier, struct barrier_data, user)
{
    weft_enter(self);
    const uint64_t wrong = check(self, user);
    for (uint64_t i = 0; i < user->warm_up + user->repeats; i++) {
        if (i == user->warm_up)
            weft_timer_start(self);
        weft_barrier(self, WEFT_COMM_WORLD);
    }
    weft_timer_stop(self);
    weft_leave(self);
    if (weft_thread(self) == 0)
        user->wrong[weft_rank(self, WEFT_COMM_DEVICE)] = wrong;
}

#ifndef __CUDACC__

#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 128, CHECKS = 10 };

/* Runs the prepared kernel; process 0 prints the result. *wrong: checks that failed here. */
static weft_status measure(weft_job *job, uint64_t *memory, uint64_t repeats, uint64_t *wrong)
{
    const weft_numbers *numbers = weft_numbers_of(job);
    const size_t here = (size_t)numbers->ranks_here;
    const double *intervals;
    size_t count;
    struct barrier_data data = {
        .arrived = memory,
        .source = memory + here,
        .wrong = memory + 2 * here,
        .checks = CHECKS,
        .warm_up = bench_warm_up(repeats),
        .repeats = repeats,
    };
    weft_status status = weft_run(job, &data, sizeof(data), NULL);
    if (status == WEFT_OK)
        status = weft_intervals(job, &intervals, &count);
    for (size_t i = 0; i < here && status == WEFT_OK; i++) {
        uint64_t one;
        status = weft_copy(job, &one, data.wrong + i, sizeof(one));
        if (status == WEFT_OK)
            *wrong += one;
    }
    if (status == WEFT_OK && numbers->process == 0) {
        bench_header("ranks", "barriers", "barrier_us");
        bench_line((uint64_t)numbers->ranks, repeats, intervals[0] / (double)repeats * 1e3);
    }
    return status;
}

int main(int argc, char **argv)
{
    struct bench_options options;
    weft_job *job;
    uint64_t wrong = 0;
    if (weft_open(&job, &argc, argv) != WEFT_OK)
        return EXIT_FAILURE;
    bench_parse(&options, argc, argv, BENCH_HAS_RANKS,
                "Time of weft_barrier. Run alone, or: weftrun -n PROCESSES bench_barrier", NULL);
    const weft_numbers *numbers = weft_numbers_of(job);
    const int64_t ranks = options.ranks, processes = numbers->processes, p = numbers->process;
    const int64_t here = ranks * (p + 1) / processes - ranks * p / processes;
    uint64_t *memory = NULL;
    weft_status status = ranks >= processes ? WEFT_OK : WEFT_ERR_ARGUMENT;
    if (status == WEFT_OK)
        status = weft_prepare(job, &barrier, THREADS, (int)here);
    else
        fprintf(stderr, "bench: %d ranks on %d processes\n", options.ranks, numbers->processes);
    if (status == WEFT_OK && numbers->ranks != options.ranks) {
        fprintf(stderr, "bench: the job holds %d ranks, not %d\n", numbers->ranks, options.ranks);
        status = WEFT_ERR_LIMIT;
    }
    if (status == WEFT_OK) {
        memory = weft_malloc(job, 3 * (size_t)here * sizeof(*memory));
        status = memory ? measure(job, memory, options.repeats, &wrong) : WEFT_ERR_MEMORY;
    }
    weft_free(job, memory);
    weft_status closed = weft_close(job);
    return status == WEFT_OK && closed == WEFT_OK ? bench_status(wrong) : EXIT_FAILURE;
}
#endif
