/*
 * bench/gpu/dcuda.cu - what dCUDA's tables have besides the ping-pong of 4 bytes (that is
 * bench_gpu_latency --repeats 500000 --to 4): bandwidth by the number of ranks that are active, and
 * what a timer costs.
 *
 * Bandwidth: an active rank puts s bytes to its partner, which answers with a notification: t is
 * such a round. L is the same round with 4 bytes, by as many active ranks. B = s / (t - L), times
 * the active ranks. Their partners are on the other device, or with --same the second half of the
 * ranks of one. Before the timed rounds come some whose contents are new, and compared.
 *
 * Timer: pairs of weft_timer_start and weft_timer_stop around nothing. What a pair takes is the
 * difference between two runs, by the device's clock and by the host's; what it reads is the median
 * of its intervals; the clock's step is the least by which two of them differ.
 */
#include "gpu/measure.h"

#include <weft/device.h>

enum { TAG = 0 };

struct dcuda_data {
    uint32_t *memory;     /* device memory: a source and a target for each rank of the device */
    uint64_t *wrong;      /* result: words, for each rank of the device */
    uint64_t room, bytes; /* of one of them; of a message */
    uint64_t active;      /* pairs that communicate */
    struct measure_trips trips;
};

/* The calling rank. A copy of the user data: the kernel's waits drop what is cached of memory. */
struct dcuda_side {
    weft_self *self;
    weft_win win;
    uint32_t *source, *target;
    size_t bytes, thread, threads;
    int rank, other, pair, first;
};

WEFT_DEVICE_FN struct dcuda_side find_side(weft_self *self, const struct dcuda_data *user)
{
    const int half = weft_size(self, WEFT_COMM_WORLD) / 2;
    const size_t words = user->room / sizeof(*user->memory);
    struct dcuda_side me;
    me.self = self;
    me.rank = weft_rank(self, WEFT_COMM_WORLD);
    me.first = me.rank < half;
    me.pair = me.first ? me.rank : me.rank - half;
    me.other = me.first ? me.rank + half : me.rank - half;
    me.source = user->memory + 2 * words * (size_t)weft_rank(self, WEFT_COMM_DEVICE);
    me.target = me.source + words;
    me.bytes = user->bytes;
    me.thread = (size_t)weft_thread(self);
    me.threads = (size_t)weft_threads(self);
    me.win = weft_win_create(self, WEFT_COMM_WORLD, me.target, user->room);
    return me;
}

WEFT_DEVICE_FN void put_answered(const struct dcuda_side *me)
{
    if (me->first)
        weft_put_notify(me->self, me->win, me->other, 0, me->source, me->bytes, TAG);
    weft_wait(me->self, TAG, 1);
    if (!me->first)
        weft_notify(me->self, WEFT_COMM_WORLD, me->other, TAG);
}

/* The answer says that the message has been compared, so the next one may come. */
WEFT_DEVICE_FN uint64_t put_checked(const struct dcuda_side *me, uint64_t number)
{
    if (me->first) {
        measure_fill(me->source, me->bytes, number, me->thread, me->threads);
        weft_sync(me->self);
        weft_put_notify(me->self, me->win, me->other, 0, me->source, me->bytes, TAG);
        weft_wait(me->self, TAG, 1);
        return 0;
    }
    weft_wait(me->self, TAG, 1);
    const uint64_t wrong = measure_wrong(me->target, me->bytes, number, me->thread, me->threads);
    weft_notify(me->self, WEFT_COMM_WORLD, me->other, TAG);
    return wrong;
}

WEFT_KERNEL(gpu_active, struct dcuda_data, user)
{
    weft_enter(self);
    const struct measure_trips trips = user->trips;
    const struct dcuda_side me = find_side(self, user);
    const int active = me.pair < (int)user->active;
    uint64_t wrong = 0;

    for (uint64_t i = 0; i < trips.checked && active; i++)
        wrong += put_checked(&me, i * 1000 + (uint64_t)me.pair);
    for (uint64_t i = 0; i < trips.warm_up && active; i++)
        put_answered(&me);
    weft_barrier(self, WEFT_COMM_WORLD);
    weft_timer_start(self);
    for (uint64_t i = 0; i < trips.timed && active; i++)
        put_answered(&me);
    weft_timer_stop(self);

    weft_win win = me.win;
    weft_win_free(self, &win);
    weft_leave(self);
    const double sum = weft_block_sum(self, (double)wrong);
    if (me.thread == 0)
        user->wrong[weft_rank(self, WEFT_COMM_DEVICE)] = (uint64_t)sum;
}

struct timer_data {
    uint64_t pairs;
};

WEFT_KERNEL(gpu_timer, struct timer_data, user)
{
    const uint64_t pairs = user->pairs;
    weft_enter(self);
    for (uint64_t i = 0; i < pairs; i++) {
        weft_timer_start(self);
        weft_timer_stop(self);
    }
    weft_leave(self);
}

#ifndef __CUDACC__

#include "gpu/job.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ROOM = 1048576, RANKS = 52, PAIRS = 10000 };

/* A round of `bytes` bytes in microseconds. *right becomes false if anything was wrong here. */
static weft_status measure_round(weft_job *job, const struct measure_options *options,
                                 struct dcuda_data *data, size_t bytes, double *us, bool *right)
{
    struct job_outcome outcome;
    data->bytes = bytes;
    data->trips = measure_trips_of(options, bytes);
    weft_status status = job_run(job, data, sizeof(*data), data->wrong, &outcome);
    if (status != WEFT_OK)
        return status;
    *us = 2 * measure_one_way(&data->trips, outcome.seconds);
    *right &= measure_right("put_answered", bytes, outcome.wrong);
    return WEFT_OK;
}

static void print(const weft_numbers *numbers, size_t bytes, int active, double latency,
                  double time)
{
    measure_ranks_line("weft", "round", 4, numbers->threads, active, latency, "us");
    measure_ranks_line("weft", "round", bytes, numbers->threads, active, time, "us");
    if (time > latency) /* on a busy CPU it may be otherwise */
        measure_ranks_line("weft", "bandwidth", bytes, numbers->threads, active,
                           (double)bytes * active / (time - latency) * 1e-3, "GB/s");
}

/* One pair, half of the pairs, all of them. */
static weft_status measure_active(weft_job *job, const struct measure_options *options, bool *right)
{
    const weft_numbers *numbers = weft_numbers_of(job);
    const size_t ranks = (size_t)numbers->ranks_here;
    const int pairs = numbers->ranks / 2, active[] = {1, pairs / 2, pairs};
    struct dcuda_data data = {.memory = weft_malloc(job, 2 * ranks * ROOM),
                              .wrong = weft_malloc(job, ranks * sizeof(*data.wrong)),
                              .room = ROOM};
    weft_status status = data.memory && data.wrong ? WEFT_OK : WEFT_ERR_MEMORY;
    for (int i = 0; i < 3 && status == WEFT_OK; i++) {
        double latency, time = 0;
        if (active[i] == 0 || (i > 0 && active[i] == active[i - 1]))
            continue;
        data.active = (uint64_t)active[i];
        status = measure_round(job, options, &data, 4, &latency, right);
        if (status == WEFT_OK)
            status = measure_round(job, options, &data, options->to, &time, right);
        if (status == WEFT_OK && numbers->process == 0)
            print(numbers, options->to, active[i], latency, time);
    }
    weft_free(job, data.wrong);
    weft_free(job, data.memory);
    return status;
}

static int compare(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static double host_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

/* The least difference between two that differ, of milliseconds in their order; to the nanosecond.
 */
static double step_of(const double *sorted, size_t count)
{
    double step = 0;
    for (size_t i = 1; i < count; i++) {
        const double more = sorted[i] - sorted[i - 1];
        if (more > 0.5e-6 && (step == 0 || more < step))
            step = more;
    }
    return step;
}

static void print_timer(const weft_numbers *numbers, const char *what, double milliseconds)
{
    measure_ranks_line("weft", what, 0, numbers->threads, numbers->ranks_here, milliseconds * 1e3,
                       "us");
}

static weft_status measure_timer(weft_job *job)
{
    const weft_numbers *numbers = weft_numbers_of(job);
    double milliseconds[2] = {0}, host[2] = {0}, *sorted = malloc(PAIRS * sizeof(*sorted));
    const double *intervals;
    size_t count;
    weft_status status = sorted ? WEFT_OK : WEFT_ERR_MEMORY;
    for (int i = 0; i < 2 && status == WEFT_OK; i++) {
        struct timer_data data = {.pairs = i == 0 ? 1 : 1 + PAIRS};
        const double begin = host_ms();
        status = weft_run(job, &data, sizeof(data), &milliseconds[i]);
        host[i] = host_ms() - begin;
    }
    if (status == WEFT_OK)
        status = weft_intervals(job, &intervals, &count);
    if (status == WEFT_OK && numbers->process == 0) {
        for (int i = 0; i < PAIRS; i++)
            sorted[i] = intervals[i];
        qsort(sorted, PAIRS, sizeof(*sorted), compare);
        print_timer(numbers, "timer_pair", (milliseconds[1] - milliseconds[0]) / PAIRS);
        print_timer(numbers, "timer_pair_host", (host[1] - host[0]) / PAIRS);
        print_timer(numbers, "timer_reads", sorted[PAIRS / 2]);
        print_timer(numbers, "timer_step", step_of(sorted, PAIRS));
    }
    free(sorted);
    return status;
}

static weft_status measure_all(weft_job *job, struct measure_options *options, bool *right)
{
    const int side = options->ranks ? options->ranks : RANKS;
    const int ranks = options->same ? 2 * side : side, processes = options->same ? 1 : 2;
    weft_status status = job_prepare(job, &gpu_active, options->threads, ranks, processes);

    if (status == WEFT_OK && weft_numbers_of(job)->process == 0)
        measure_header();
    if (status == WEFT_OK)
        status = measure_active(job, options, right);
    if (status == WEFT_OK)
        status = job_prepare(job, &gpu_timer, options->threads, side, processes);
    return status == WEFT_OK ? measure_timer(job) : status;
}

int main(int argc, char **argv)
{
    return job_main(argc, argv, MEASURE_HAS_TO | MEASURE_HAS_SAME | MEASURE_HAS_RANKS,
                    "dCUDA's tables of bandwidth and timer. --ranks: of each side, 52 if not "
                    "given. Run: bench_gpu_dcuda --same, or weftrun -n 2 bench_gpu_dcuda",
                    NULL, 0, measure_all);
}
#endif
