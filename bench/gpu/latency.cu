/*
 * bench/gpu/latency.cu - ping-pong between world ranks 0 and 1: notify, notify_relaxed and
 * put_notify from 4 bytes on. Between two processes, or between two ranks of one device.
 */
#include "gpu/measure.h"

#include <weft/device.h>

enum { TAG = 0 };

struct latency_data {
    uint32_t *memory;     /* device memory: a source and a target for each rank of the device */
    uint64_t room, bytes; /* of one of them; of a message */
    uint64_t way;         /* a measure_way */
    struct measure_trips trips;
    uint64_t wrong[2]; /* result: words that arrived wrong, for each rank of the device */
};

/* The calling rank. A copy of the user data: the kernel's waits drop what is cached of memory. */
struct latency_side {
    weft_self *self;
    weft_win win;
    uint32_t *source, *target;
    size_t bytes, thread, threads;
    int way, first, other;
};

WEFT_DEVICE_FN struct latency_side find_side(weft_self *self, const struct latency_data *user)
{
    const size_t words = user->room / sizeof(*user->memory);
    struct latency_side me;
    me.self = self;
    me.source = user->memory + 2 * words * (size_t)weft_rank(self, WEFT_COMM_DEVICE);
    me.target = me.source + words;
    me.bytes = user->bytes;
    me.way = (int)user->way;
    me.first = weft_rank(self, WEFT_COMM_WORLD) == 0;
    me.other = 1 - weft_rank(self, WEFT_COMM_WORLD);
    me.thread = (size_t)weft_thread(self);
    me.threads = (size_t)weft_threads(self);
    me.win = weft_win_create(self, WEFT_COMM_WORLD, me.target, user->room);
    return me;
}

WEFT_DEVICE_FN void send(const struct latency_side *me)
{
    if (me->way == WAY_NOTIFY)
        weft_notify(me->self, WEFT_COMM_WORLD, me->other, TAG);
    else if (me->way == WAY_NOTIFY_RELAXED)
        weft_notify_relaxed(me->self, WEFT_COMM_WORLD, me->other, TAG);
    else
        weft_put_notify(me->self, me->win, me->other, 0, me->source, me->bytes, TAG);
}

WEFT_DEVICE_FN void ping_pong(const struct latency_side *me)
{
    if (me->first)
        send(me);
    weft_wait(me->self, TAG, 1);
    if (!me->first)
        send(me);
}

/* What comes back says that the message has arrived, so its source may be filled again. */
WEFT_DEVICE_FN void send_new(const struct latency_side *me, uint64_t number)
{
    measure_fill(me->source, me->bytes, number, me->thread, me->threads);
    weft_sync(me->self);
    send(me);
}

WEFT_DEVICE_FN uint64_t ping_pong_checked(const struct latency_side *me, uint64_t number)
{
    if (me->first)
        send_new(me, number);
    weft_wait(me->self, TAG, 1);
    const uint64_t wrong = measure_wrong(me->target, me->bytes, number, me->thread, me->threads);
    if (!me->first)
        send_new(me, number);
    return wrong;
}

WEFT_KERNEL(gpu_latency, struct latency_data, user)
{
    weft_enter(self);
    const struct measure_trips trips = user->trips;
    const struct latency_side me = find_side(self, user);
    uint64_t wrong = 0;

    for (uint64_t i = 0; i < trips.checked; i++)
        wrong += ping_pong_checked(&me, i);
    for (uint64_t i = 0; i < trips.warm_up; i++)
        ping_pong(&me);
    weft_timer_start(self);
    for (uint64_t i = 0; i < trips.timed; i++)
        ping_pong(&me);
    weft_timer_stop(self);

    weft_win win = me.win;
    weft_win_free(self, &win);
    weft_leave(self);
    const double sum = weft_block_sum(self, (double)wrong);
    if (me.thread == 0)
        user->wrong[weft_rank(self, WEFT_COMM_DEVICE)] = (uint64_t)sum;
}

#ifndef __CUDACC__

#include "gpu/job.h"

#include <stdio.h>

/* All messages, one run each; process 0 prints. *right becomes false if any was wrong here. */
static weft_status run_all(weft_job *job, const struct measure_options *options,
                           struct latency_data *data, bool *right)
{
    const weft_numbers *numbers = weft_numbers_of(job);
    weft_status status = WEFT_OK;
    if (numbers->process == 0)
        measure_header();
    for (int i = 0; i < MEASURES && status == WEFT_OK; i++) {
        const struct measure *m = &measures[i];
        double seconds;
        if (m->bytes > options->to)
            continue;
        data->bytes = m->bytes;
        data->way = (uint64_t)m->way;
        data->trips = measure_trips_of(options, m->bytes);
        status = job_time(job, data, sizeof(*data), &seconds);
        if (status != WEFT_OK)
            break;
        *right &= measure_right(m->kind, m->bytes, data->wrong[0] + data->wrong[1]);
        if (numbers->process == 0)
            measure_line("weft", m->kind, m->bytes, numbers->threads,
                         measure_one_way(&data->trips, seconds));
    }
    return status;
}

static weft_status measure_all(weft_job *job, struct measure_options *options, bool *right)
{
    struct latency_data data = {.room = 1048576};
    weft_status status = weft_prepare(job, &gpu_latency, options->threads, options->same ? 2 : 1);

    if (status == WEFT_OK && weft_numbers_of(job)->ranks != 2) {
        fprintf(stderr, "bench: runs as 2 processes, or as 1 with --same: there are %d ranks\n",
                weft_numbers_of(job)->ranks);
        status = WEFT_ERR_ARGUMENT;
    }
    if (status != WEFT_OK)
        return status;
    data.memory = weft_malloc(job, 2 * (size_t)weft_numbers_of(job)->ranks_here * data.room);
    status = data.memory != NULL ? run_all(job, options, &data, right) : WEFT_ERR_MEMORY;
    weft_free(job, data.memory);
    return status;
}

int main(int argc, char **argv)
{
    return job_main(argc, argv, MEASURE_HAS_TO | MEASURE_HAS_SAME,
                    "Latency of notifications and puts. Run: bench_gpu_latency --same, or "
                    "weftrun -n 2 bench_gpu_latency",
                    NULL, 0, measure_all);
}
#endif
