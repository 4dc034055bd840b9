/*
 * bench/gpu/get.cu - what a rank takes to read and update another rank's memory: world rank 0, or
 * with --ranks all ranks but the last, of the last rank's window. Beside it, in the same run, plain
 * loads of the same memory where it is mapped, and a put with its answer.
 */
#include "gpu/measure.h"

#include <weft/device.h>

enum { TAG = 0, BATCH = 8 };
enum get_way { GET_LOAD, GET_GET, GET_BEGIN, GET_ADD, GET_TRIP };

struct get_data {
    uint64_t *memory;     /* device memory: a target and a window for each rank of the device */
    uint64_t room, bytes; /* of one of them; of what is read at once */
    uint64_t way;         /* a get_way */
    uint64_t readers;     /* the first world ranks */
    struct measure_trips trips;
    uint64_t wrong;  /* result: words that were read wrong, of the first rank of the device */
    uint64_t mapped; /* result: whether that rank maps the last one's window */
};

struct get_side {
    weft_self *self;
    weft_win win;
    uint64_t *to;
    const uint64_t *mapped;
    size_t bytes, offset;
    int last, way;
};

WEFT_DEVICE_FN uint64_t word_of(size_t i)
{
    return (i + 1) * 0x9e3779b97f4a7c15u;
}

/* As a program would without the library: all meet, load and store, and meet again. */
WEFT_DEVICE_FN void load(const struct get_side *me)
{
    const size_t items = me->bytes / 16;

    weft_sync(me->self);
#ifdef __CUDACC__
    enum { DEEP = 8 };
    const char *from = (const char *)me->mapped + me->offset;
    for (size_t i = threadIdx.x; i < items; i += DEEP * blockDim.x) {
        uint4 item[DEEP];
#pragma unroll
        for (unsigned k = 0; k < DEEP; k++) {
            const size_t at = i + k * blockDim.x;
            asm volatile("ld.volatile.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                         : "=r"(item[k].x), "=r"(item[k].y), "=r"(item[k].z), "=r"(item[k].w)
                         : "l"(from + 16 * (at < items ? at : items - 1)));
        }
#pragma unroll
        for (unsigned k = 0; k < DEEP; k++)
            if (i + k * blockDim.x < items)
                ((uint4 *)me->to)[i + k * blockDim.x] = item[k];
    }
#else
    weft_for (i, items * 2)
        me->to[i] = ((const volatile uint64_t *)me->mapped)[me->offset / 8 + i];
#endif
    if (me->bytes % 16 != 0 && weft_thread(me->self) == 0)
        me->to[items * 2] = ((const volatile uint64_t *)me->mapped)[me->offset / 8 + items * 2];
    weft_sync(me->self);
}

WEFT_DEVICE_FN void once(const struct get_side *me)
{
    weft_op op;

    switch (me->way) {
    case GET_LOAD:
        load(me);
        break;
    case GET_GET:
        weft_get(me->self, me->win, me->last, me->offset, me->to, me->bytes);
        break;
    case GET_BEGIN: /* several under way: they fetch the same */
        for (int i = 1; i < BATCH; i++)
            weft_get_begin(me->self, me->win, me->last, me->offset, me->to, me->bytes);
        op = weft_get_begin(me->self, me->win, me->last, me->offset, me->to, me->bytes);
        weft_op_wait(me->self, op, WEFT_LOCAL);
        break;
    case GET_ADD:
        weft_fetch_add(me->self, me->win, me->last, me->offset, 0);
        break;
    default:
        weft_put_notify(me->self, me->win, me->last, me->offset, me->to, me->bytes, TAG);
        weft_wait(me->self, TAG, 1);
    }
}

/* The last rank's half of a put and its answer. */
WEFT_DEVICE_FN void answer(const struct get_side *me)
{
    weft_wait(me->self, TAG, 1);
    weft_put_notify(me->self, me->win, 0, me->offset, me->to, me->bytes, TAG);
}

WEFT_DEVICE_FN uint64_t check(const struct get_side *me)
{
    uint64_t wrong = 0;

    once(me);
    if (me->way <= GET_BEGIN)
        weft_for (i, me->bytes / 8)
            wrong += me->to[i] != word_of(me->offset / 8 + i);
    weft_sync(me->self);
    return wrong;
}

WEFT_KERNEL(gpu_get, struct get_data, user)
{
    const struct measure_trips trips = user->trips;
    const int rank = weft_rank(self, WEFT_COMM_WORLD);
    const size_t here = (size_t)weft_rank(self, WEFT_COMM_DEVICE), words = user->room / 8;
    const bool reads = (uint64_t)rank < user->readers;
    uint64_t *const window = user->memory + (2 * here + 1) * words;
    struct get_side me;
    uint64_t wrong = 0;

    weft_enter(self);
    me.self = self;
    me.win = weft_win_create(self, WEFT_COMM_WORLD, window, user->room);
    me.to = user->memory + 2 * here * words;
    me.last = weft_size(self, WEFT_COMM_WORLD) - 1;
    me.mapped = (const uint64_t *)weft_ptr(self, me.win, me.last);
    me.bytes = user->bytes;
    me.offset = (size_t)rank * me.bytes % user->room / me.bytes * me.bytes;
    me.way = (int)user->way;
    weft_for (i, words)
        window[i] = word_of(i);
    weft_fence(self);
    weft_barrier(self, WEFT_COMM_WORLD);

    if (me.mapped == NULL && me.way == GET_LOAD)
        me.way = GET_GET; /* the host program leaves it out */
    if (reads && me.way != GET_TRIP)
        for (uint64_t i = 0; i < trips.checked; i++)
            wrong += check(&me);
    const bool answers = rank == me.last && me.way == GET_TRIP;
    for (uint64_t i = 0; (reads || answers) && i < trips.warm_up; i++)
        reads ? once(&me) : answer(&me);
    weft_timer_start(self);
    for (uint64_t i = 0; (reads || answers) && i < trips.timed; i++)
        reads ? once(&me) : answer(&me);
    weft_timer_stop(self);

    weft_win win = me.win;
    weft_win_free(self, &win);
    weft_leave(self);
    const double sum = weft_block_sum(self, (double)wrong);
    if (here == 0 && weft_thread(self) == 0) {
        user->wrong = (uint64_t)sum;
        user->mapped = me.mapped != NULL;
    }
}

#ifndef __CUDACC__

#include "gpu/job.h"

#include <stdio.h>

static const struct {
    const char *name, *kind;
    enum get_way way;
    size_t most; /* bytes */
    int per;     /* operations in one */
} ways[] = {{"weft", "get", GET_GET, SIZE_MAX, 1},
            {"floor", "get", GET_LOAD, SIZE_MAX, 1},
            {"weft", "get_begin_8", GET_BEGIN, SIZE_MAX, BATCH},
            {"weft", "fetch_add", GET_ADD, 8, 1},
            {"weft", "put_and_answer", GET_TRIP, SIZE_MAX, 1}};

enum { WAYS = sizeof(ways) / sizeof(ways[0]), LEAST_OF_ALL = 65536 };

/* One way and size; process 0 prints. */
static weft_status run_one(weft_job *job, const struct measure_options *options, int way,
                           struct get_data *data, bool *right)
{
    const weft_numbers *numbers = weft_numbers_of(job);
    const int all = (int)data->readers, here = numbers->ranks_here;
    const int readers = all < here ? all : here; /* of process 0, whose time it is */
    double seconds;

    data->way = (uint64_t)ways[way].way;
    data->trips = measure_trips_of(options, data->bytes * data->readers);
    weft_status status = job_time(job, data, sizeof(*data), &seconds);
    if (status != WEFT_OK)
        return status;
    *right &= measure_right(ways[way].kind, data->bytes, data->wrong);
    if (numbers->process != 0 || (ways[way].way == GET_LOAD && !data->mapped))
        return status;
    const double each = seconds / (double)data->trips.timed / ways[way].per;
    if (readers == 1)
        measure_line(ways[way].name, ways[way].kind, data->bytes, numbers->threads, each * 1e6);
    else
        measure_ranks_line(ways[way].name, ways[way].kind, data->bytes, numbers->threads, readers,
                           (double)data->bytes * readers / each * 1e-9, "GB/s");
    return status;
}

static weft_status run_all(weft_job *job, const struct measure_options *options,
                           struct get_data *data, bool *right)
{
    weft_status status = WEFT_OK;

    if (weft_numbers_of(job)->process == 0)
        measure_header();
    for (size_t bytes = data->readers > 1 ? LEAST_OF_ALL : 8; bytes <= options->to; bytes *= 4)
        for (int way = 0; way < WAYS && status == WEFT_OK; way++) {
            data->bytes = bytes;
            if (bytes <= ways[way].most && (data->readers == 1 || ways[way].way <= GET_GET))
                status = run_one(job, options, way, data, right);
        }
    return status;
}

static weft_status measure_all(weft_job *job, struct measure_options *options, bool *right)
{
    enum { ROOM = 1 << 20 };
    struct get_data data = {.room = ROOM, .readers = 1};
    weft_status status = weft_prepare(job, &gpu_get, options->threads,
                                      options->ranks > 1 ? options->ranks
                                      : options->same    ? 2
                                                         : 1);
    const weft_numbers *numbers = weft_numbers_of(job);

    if (status == WEFT_OK && numbers->ranks < 2) {
        fprintf(stderr, "bench: runs as 2 processes, or as 1 with --same: there is 1 rank\n");
        status = WEFT_ERR_ARGUMENT;
    }
    if (status != WEFT_OK)
        return status;
    if (options->ranks > 1)
        data.readers = (uint64_t)numbers->ranks - 1;
    data.memory = weft_malloc(job, 2 * (size_t)numbers->ranks_here * data.room);
    status = data.memory != NULL ? run_all(job, options, &data, right) : WEFT_ERR_MEMORY;
    weft_free(job, data.memory);
    return status;
}

int main(int argc, char **argv)
{
    return job_main(argc, argv, MEASURE_HAS_TO | MEASURE_HAS_SAME | MEASURE_HAS_RANKS,
                    "Reading and updating another rank's memory. Run: bench_gpu_get --same, or "
                    "weftrun -n 2 bench_gpu_get; --ranks: all but the last rank read at once",
                    NULL, 0, measure_all);
}
#endif
