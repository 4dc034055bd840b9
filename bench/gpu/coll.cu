/*
 * bench/gpu/coll.cu - weft_allreduce of doubles over all ranks of the world, from 8 bytes to --to,
 * with as many ranks as the devices hold or with --ranks on each. Beside each line, as its floor:
 * one barrier of the same ranks.
 *
 * Before the timed loop each call is checked, on every rank and in every element.
 */
#include "gpu/measure.h"

#include <weft/coll.h>

enum { CHECKED = 3 };

struct gpu_coll_data {
    double *memory; /* twice `most` for each rank of the device */
    uint64_t count, most, warm_up, repeats;
    uint64_t *each; /* elements of each rank that were wrong */
};

WEFT_DEVICE_FN void check(weft_self *self, struct gpu_coll_data *user, double *source,
                          double *target)
{
    const int n = weft_size(self, WEFT_COMM_WORLD), me = weft_rank(self, WEFT_COMM_WORLD);
    double wrong = 0;

    for (int round = 0; round < CHECKED; round++) {
        weft_for (i, user->count)
            source[i] = (double)(me + round) + (double)i;
        weft_allreduce(self, WEFT_COMM_WORLD, source, target, user->count, WEFT_F64, WEFT_SUM);
        weft_for (i, user->count)
            wrong += target[i] != (double)n * ((double)(n - 1) / 2 + round + (double)i);
    }
    wrong = weft_block_sum(self, wrong);
    if (weft_thread(self) == 0)
        user->each[weft_rank(self, WEFT_COMM_DEVICE)] = (uint64_t)wrong;
}

WEFT_KERNEL(gpu_coll, struct gpu_coll_data, user)
{
    const uint64_t warm_up = user->warm_up, repeats = user->repeats;
    double *source = user->memory + 2 * user->most * (uint64_t)weft_rank(self, WEFT_COMM_DEVICE);
    double *target = source + user->most;

    weft_enter(self);
    check(self, user, source, target);
    for (uint64_t i = 0; i < warm_up; i++)
        weft_allreduce(self, WEFT_COMM_WORLD, source, target, user->count, WEFT_F64, WEFT_SUM);
    weft_timer_start(self);
    for (uint64_t i = 0; i < repeats; i++)
        weft_allreduce(self, WEFT_COMM_WORLD, source, target, user->count, WEFT_F64, WEFT_SUM);
    weft_timer_stop(self);
    weft_timer_start(self);
    for (uint64_t i = 0; i < repeats; i++)
        weft_barrier(self, WEFT_COMM_WORLD);
    weft_timer_stop(self);
    weft_leave(self);
}

#ifndef __CUDACC__

#include "gpu/job.h"

/* One size; process 0 prints its lines. *right: whether all checks held here. */
static weft_status measure_size(weft_job *job, struct gpu_coll_data *data, bool *right)
{
    const weft_numbers *numbers = weft_numbers_of(job);
    const size_t bytes = (size_t)data->count * sizeof(double);
    const double *intervals;
    size_t count;
    uint64_t wrong = 0;
    weft_status status = weft_run(job, data, sizeof(*data), NULL);

    if (status == WEFT_OK)
        status = weft_intervals(job, &intervals, &count);
    for (int i = 0; i < numbers->ranks_here && status == WEFT_OK; i++) {
        uint64_t one = 0;
        status = weft_copy(job, &one, data->each + i, sizeof(one));
        wrong += one;
    }
    if (status != WEFT_OK)
        return status;
    *right = measure_right("allreduce", bytes, wrong) && *right;
    if (numbers->process == 0) {
        measure_ranks_line("weft", "allreduce", bytes, numbers->threads, numbers->ranks_here,
                           intervals[0] * 1e3 / (double)data->repeats, "us");
        measure_ranks_line("floor", "allreduce", bytes, numbers->threads, numbers->ranks_here,
                           intervals[1] * 1e3 / (double)data->repeats, "us");
    }
    return WEFT_OK;
}

static weft_status measure_sizes(weft_job *job, const struct measure_options *options, bool *right)
{
    const size_t ranks = (size_t)weft_numbers_of(job)->ranks_here;
    struct gpu_coll_data data = {.most = options->to / sizeof(double)};
    weft_status status = WEFT_OK;

    data.memory = weft_malloc(job, ranks * 2 * data.most * sizeof(double));
    data.each = weft_malloc(job, ranks * sizeof(*data.each));
    if (data.memory == NULL || data.each == NULL)
        status = WEFT_ERR_MEMORY;
    if (weft_numbers_of(job)->process == 0)
        measure_header();
    for (size_t count = 1; count < 4 * data.most && status == WEFT_OK; count *= 4) {
        data.count = count < data.most ? count : data.most;
        data.repeats = options->repeats / (1 + data.count / 64) + 1;
        data.warm_up = data.repeats / 10 + 1;
        status = measure_size(job, &data, right);
    }
    weft_free(job, data.memory);
    weft_free(job, data.each);
    return status;
}

static weft_status measure_all(weft_job *job, struct measure_options *options, bool *right)
{
    const weft_status status = weft_prepare(job, &gpu_coll, options->threads, options->ranks);

    return status == WEFT_OK ? measure_sizes(job, options, right) : status;
}

int main(int argc, char **argv)
{
    return job_main(argc, argv, MEASURE_HAS_RANKS | MEASURE_HAS_TO,
                    "Time of weft_allreduce. Run alone, or: weftrun -n PROCESSES bench_gpu_coll",
                    NULL, 0, measure_all);
}
#endif
