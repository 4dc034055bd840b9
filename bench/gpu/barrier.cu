/*
 * bench/gpu/barrier.cu - weft_barrier of the world, with as many ranks as the devices hold or with
 * --ranks on each. The column of the bytes has the ranks of the whole job.
 *
 * Before the timed loop it is checked: each rank puts the round to the next rank and flushes; after
 * the barrier it must have that of the rank before it. A second barrier keeps the rounds apart.
 */
#include "gpu/measure.h"

#include <weft/device.h>

enum { ROUNDS = 10 };

/* Of a rank, in device memory. */
struct barrier_rank {
    uint64_t arrived, source, wrong;
};

struct gpu_barrier_data {
    struct barrier_rank *ranks; /* one for each rank of the device */
    uint64_t warm_up, repeats;
};

WEFT_DEVICE_FN void check(weft_self *self, struct barrier_rank *me)
{
    const int next = (weft_rank(self, WEFT_COMM_WORLD) + 1) % weft_size(self, WEFT_COMM_WORLD);
    weft_win win = weft_win_create(self, WEFT_COMM_WORLD, &me->arrived, sizeof(me->arrived));

    for (uint64_t round = 1; round <= ROUNDS; round++) {
        if (weft_thread(self) == 0)
            me->source = round;
        weft_sync(self);
        weft_put(self, win, next, 0, &me->source, sizeof(me->source));
        weft_flush(self, win);
        weft_barrier(self, WEFT_COMM_WORLD);
        if (weft_thread(self) == 0)
            me->wrong += me->arrived != round;
        weft_barrier(self, WEFT_COMM_WORLD);
    }
    weft_win_free(self, &win);
}

WEFT_KERNEL(gpu_barrier, struct gpu_barrier_data, user)
{
    const uint64_t warm_up = user->warm_up, repeats = user->repeats;

    weft_enter(self);
    check(self, user->ranks + weft_rank(self, WEFT_COMM_DEVICE));
    for (uint64_t i = 0; i < warm_up; i++)
        weft_barrier(self, WEFT_COMM_WORLD);
    weft_timer_start(self);
    for (uint64_t i = 0; i < repeats; i++)
        weft_barrier(self, WEFT_COMM_WORLD);
    weft_timer_stop(self);
    weft_leave(self);
}

#ifndef __CUDACC__

#include "gpu/job.h"

/* Runs the prepared kernel; process 0 prints the result. *right: whether all checks held here. */
static weft_status measure_barrier(weft_job *job, struct barrier_rank *ranks, uint64_t repeats,
                                   bool *right)
{
    const weft_numbers *numbers = weft_numbers_of(job);
    struct gpu_barrier_data data = {
        .ranks = ranks, .warm_up = repeats / 10 + 1, .repeats = repeats};
    double seconds;
    uint64_t wrong = 0;
    weft_status status = job_time(job, &data, sizeof(data), &seconds);
    for (int i = 0; i < numbers->ranks_here && status == WEFT_OK; i++) {
        struct barrier_rank one;
        status = weft_copy(job, &one, ranks + i, sizeof(one));
        wrong += status == WEFT_OK ? one.wrong : 0;
    }
    if (status != WEFT_OK)
        return status;
    *right = measure_right("barrier", (size_t)numbers->ranks, wrong);
    if (numbers->process == 0) {
        measure_header();
        measure_line("weft", "barrier", (size_t)numbers->ranks, numbers->threads,
                     seconds * 1e6 / (double)repeats);
    }
    return WEFT_OK;
}

static weft_status measure_all(weft_job *job, struct measure_options *options, bool *right)
{
    weft_status status = weft_prepare(job, &gpu_barrier, options->threads, options->ranks);

    if (status != WEFT_OK)
        return status;
    struct barrier_rank *ranks =
        weft_malloc(job, (size_t)weft_numbers_of(job)->ranks_here * sizeof(*ranks));
    status = ranks != NULL ? measure_barrier(job, ranks, options->repeats, right) : WEFT_ERR_MEMORY;
    weft_free(job, ranks);
    return status;
}

int main(int argc, char **argv)
{
    return job_main(argc, argv, MEASURE_HAS_RANKS,
                    "Time of weft_barrier. Run alone, or: weftrun -n PROCESSES bench_gpu_barrier",
                    NULL, 0, measure_all);
}
#endif
