/*
 * bench/gpu/bandwidth.cu - streams of puts from every rank of process 0 to its partner of process
 * 1, then in both directions at once: GB/s of all together. A stream is said in measure.h.
 *
 * Each rank fills its source, streams, and compares its window with what its partner sent; first
 * as a warm-up, then timed with other contents. Filling and comparing lie outside of the time.
 */
#include "gpu/measure.h"

#include <weft/device.h>

enum { TAG_DATA, TAG_DONE };

struct bandwidth_data {
    uint32_t *memory; /* device memory: a source and a window for each rank of the device */
    uint64_t *wrong;  /* result: words, for each rank of the device */
    uint64_t bytes;   /* of a put, and of the window */
    struct measure_stream stream;
    uint64_t both;
};

/* The calling rank. A copy of the user data: the kernel's waits drop what is cached of memory. */
struct stream_side {
    weft_self *self;
    weft_win win;
    uint32_t *source, *target;
    size_t bytes, thread, threads;
    uint64_t group;
    int index, other, sends, receives;
};

WEFT_DEVICE_FN struct stream_side find_side(weft_self *self, const struct bandwidth_data *user)
{
    const int process = weft_process(self);
    struct stream_side me;
    me.self = self;
    me.index = weft_rank(self, WEFT_COMM_DEVICE);
    me.source = user->memory + 2 * user->bytes / sizeof(*user->memory) * (size_t)me.index;
    me.target = me.source + user->bytes / sizeof(*user->memory);
    me.bytes = user->bytes;
    me.group = user->stream.group;
    me.thread = (size_t)weft_thread(self);
    me.threads = (size_t)weft_threads(self);
    me.other = weft_process_first(self, 1 - process) + me.index;
    me.sends = user->both != 0 || process == 0;
    me.receives = user->both != 0 || process == 1;
    me.win = weft_win_create(self, WEFT_COMM_WORLD, me.target, me.bytes);
    return me;
}

WEFT_DEVICE_FN void send_group(const struct stream_side *me)
{
    for (uint64_t i = 1; i < me->group; i++)
        weft_put(me->self, me->win, me->other, 0, me->source, me->bytes);
    weft_put_notify(me->self, me->win, me->other, 0, me->source, me->bytes, TAG_DATA);
}

/* All that this rank sent has arrived when it returns. */
WEFT_DEVICE_FN void stream(const struct stream_side *me, uint64_t groups)
{
    for (uint64_t i = 0; i < groups; i++) {
        if (me->sends) {
            if (i >= STREAM_AHEAD)
                weft_wait(me->self, TAG_DONE, 1);
            send_group(me);
        }
        if (me->receives) {
            weft_wait(me->self, TAG_DATA, 1);
            weft_notify_relaxed(me->self, WEFT_COMM_WORLD, me->other, TAG_DONE);
        }
    }
    if (me->sends)
        weft_wait(me->self, TAG_DONE, groups < STREAM_AHEAD ? (uint32_t)groups : STREAM_AHEAD);
}

/* Partners have the same index: what one expects is what the other filled in. */
WEFT_DEVICE_FN uint64_t phase(const struct stream_side *me, int phase, uint64_t groups)
{
    const uint64_t number = 2 * (uint64_t)me->index + (uint64_t)phase;

    measure_fill(me->source, me->bytes, number, me->thread, me->threads);
    weft_barrier(me->self, WEFT_COMM_WORLD);
    if (phase == 1)
        weft_timer_start(me->self);
    stream(me, groups);
    if (phase == 1)
        weft_timer_stop(me->self);
    return me->receives ? measure_wrong(me->target, me->bytes, number, me->thread, me->threads) : 0;
}

WEFT_KERNEL(gpu_bandwidth, struct bandwidth_data, user)
{
    weft_enter(self);
    const struct stream_side me = find_side(self, user);
    uint64_t wrong = 0;

    for (int i = 0; i < 2; i++)
        wrong += phase(&me, i, user->stream.groups[i]);
    weft_win win = me.win;
    weft_win_free(self, &win);
    weft_leave(self);
    const double sum = weft_block_sum(self, (double)wrong);
    if (me.thread == 0)
        user->wrong[me.index] = (uint64_t)sum;
}

#ifndef __CUDACC__

#include "gpu/job.h"

/* Process 0 prints. *right becomes false if anything that came here was wrong. */
static weft_status measure_stream(weft_job *job, const struct measure_options *options,
                                  size_t bytes, bool *right)
{
    const weft_numbers *numbers = weft_numbers_of(job);
    const size_t ranks = (size_t)numbers->ranks_here;
    const char *kind = options->both ? "both_ways" : "one_way";
    struct bandwidth_data data = {.memory = weft_malloc(job, 2 * ranks * bytes),
                                  .wrong = weft_malloc(job, ranks * sizeof(*data.wrong)),
                                  .bytes = bytes,
                                  .stream = measure_stream_of(options, bytes, (int)ranks),
                                  .both = options->both};
    weft_status status = data.memory && data.wrong ? WEFT_OK : WEFT_ERR_MEMORY;
    struct job_outcome outcome;
    if (status == WEFT_OK)
        status = job_run(job, &data, sizeof(data), data.wrong, &outcome);
    if (status == WEFT_OK) {
        *right &= measure_right(kind, bytes, outcome.wrong);
        if (numbers->process == 0)
            measure_ranks_line(
                "weft", kind, bytes, numbers->threads, (int)ranks,
                measure_stream_rate(options, &data.stream, bytes, (int)ranks, outcome.seconds),
                "GB/s");
    }
    weft_free(job, data.wrong);
    weft_free(job, data.memory);
    return status;
}

/* All sizes, one way and both ways, by the ranks that were prepared. */
static weft_status measure_sizes(weft_job *job, struct measure_options *options, bool *right)
{
    weft_status status = WEFT_OK;
    for (size_t bytes = options->from; bytes <= options->to && status == WEFT_OK; bytes *= 4)
        for (int both = 0; both < 2 && status == WEFT_OK; both++) {
            options->both = both != 0;
            status = measure_stream(job, options, bytes, right);
        }
    return status;
}

/* One number of ranks after the other. */
static weft_status measure_all(weft_job *job, struct measure_options *options, bool *right)
{
    weft_status status = WEFT_OK;

    for (int i = 0; i < options->list_count && status == WEFT_OK; i++) {
        status = job_prepare(job, &gpu_bandwidth, options->threads, options->list[i], 2);
        if (status == WEFT_OK && i == 0 && weft_numbers_of(job)->process == 0)
            measure_header();
        if (status == WEFT_OK)
            status = measure_sizes(job, options, right);
    }
    return status;
}

int main(int argc, char **argv)
{
    return job_main(argc, argv,
                    MEASURE_HAS_TO | MEASURE_HAS_PUTS | MEASURE_HAS_FROM | MEASURE_NO_REPEATS,
                    "Bandwidth of puts from so many ranks of each device, one number of RANKS "
                    "after the other (default: as many as it holds), one way and both ways. Run: "
                    "weftrun -n 2 bench_gpu_bandwidth 1 16; through the hosts: WEFT_PATH=proxy",
                    "[RANKS...]", MEASURE_LIST, measure_all);
}
#endif
