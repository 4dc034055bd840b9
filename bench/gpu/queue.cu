/*
 * bench/gpu/queue.cu - what it costs a rank to drive a queue (gda/queue.h): each stage of a
 * request, requests in the forms of GPUrdma's figure 3, and requests a second of many ranks with a
 * queue each. The NIC is software, on the host or in blocks of the GPU, as WEFT_GDA_NIC says.
 *
 * One thread of a rank posts, rings and polls by the functions of gda/. The target of all requests
 * is the rank's own, so what the library does to choose a path is not in these times. Clocks are
 * read in the kernel. Where ranks share queues (WEFT_GDA_QUEUES), only the rate is measured, by a
 * rank's own functions (rank/path/queue_post.h), which is also done with a queue each.
 */
#include "gpu/measure.h"

#include <weft/device.h>

#include "rank/state.h"

enum { QUEUE_WRITE, QUEUE_READ };
enum { STAGES = 3, RESULTS = 9 };
enum { BEGAN = STAGES, ENDED, TICKS, WRONG, MEMORY, SHARED };

/* How requests are made. */
struct queue_form {
    uint64_t count, bytes, what;
    uint64_t window; /* slots under way at most; 0: as many as the queue has */
    uint64_t every;  /* each so-manyth has a completion; 0: a quarter of the queue */
    uint64_t batch;  /* and each so-manyth rings; 0: when the queue is full */
    uint64_t reuse;  /* a request is the one before, with another index and other data */
    uint64_t stages; /* the clock is read between stages. 2: polls that find nothing, instead */
    uint64_t puts;   /* weft_put instead, of count and bytes */
};

struct queue_data {
    unsigned char *memory; /* device memory: a source and a target for each rank */
    uint64_t each;         /* bytes of one of them */
    uint64_t *results;     /* RESULTS words a rank: ticks of stages; then as above */
    uint64_t active;       /* ranks */
    struct queue_form form;
};

/* The calling rank's queue. */
struct queue_side {
    weft_self *self;
    struct weft_gda_queue *queue;
    struct queue_form form;
    struct weft_gda_local here;
    struct weft_gda_remote there;
    struct weft_wqe wqe;
    uint64_t failed;
};

#ifdef __CUDACC__
#define QUEUE_TICKS() weft_port_ticks()
#else
#define QUEUE_TICKS() weft_port_clock()
#endif

/* The request with this number. */
WEFT_DEVICE_FN void queue_build(struct queue_side *me, uint64_t number, bool complete)
{
    const struct weft_gda_queue *queue = me->queue;
    const bool inside = me->form.what == QUEUE_WRITE && me->form.bytes == 8;

    if (me->form.reuse && number != 0) {
        me->wqe.word[0] = (me->wqe.word[0] & ~(uint64_t)0xffff00) |
                          (uint64_t)(weft_be32((uint32_t)(queue->posted & 0xffff) << 8) & 0xffff00);
        me->wqe.word[1] = complete ? (uint64_t)WEFT_MLX5_COMPLETE << 24 : 0;
        if (inside) {
            me->wqe.word[4] = (me->wqe.word[4] & 0xffffffff) | number << 32;
            me->wqe.word[5] = number >> 32;
        }
    } else if (inside) {
        weft_wqe_inline(&me->wqe, queue->posted, queue->qpn, me->there,
                        (const unsigned char *)&number, 8, complete);
    } else {
        weft_wqe_move(&me->wqe, me->form.what == QUEUE_WRITE ? WEFT_MLX5_WRITE : WEFT_MLX5_READ,
                      queue->posted, queue->qpn, me->there, me->here, complete);
    }
}

WEFT_DEVICE_FN void queue_ring(struct queue_side *me)
{
    if (me->queue->rung == me->queue->posted)
        return;
    weft_gda_ring(me->queue);
#ifndef __CUDACC__
    weft_bell_ring(me->self->state->command_bell);
#endif
}

WEFT_DEVICE_FN void queue_poll(struct queue_side *me)
{
    me->failed |= !weft_gda_poll(me->queue);
#ifndef __CUDACC__
    weft_port_turn(&me->self->port);
#endif
}

/* Until at most so many slots are under way. */
WEFT_DEVICE_FN void queue_await(struct queue_side *me, uint64_t slots)
{
    while (me->queue->posted - me->queue->done > slots && me->failed == 0) {
        queue_ring(me);
        queue_poll(me);
    }
    weft_polled();
}

WEFT_DEVICE_FN void queue_stages(struct queue_side *me, uint64_t *results)
{
    uint64_t ticks[STAGES] = {0, 0, 0};

    for (uint64_t i = 0; i < me->form.count && me->failed == 0; i++) {
        const uint64_t t0 = QUEUE_TICKS();
        queue_build(me, i, true);
        weft_gda_post(me->queue, &me->wqe, true);
        const uint64_t t1 = QUEUE_TICKS();
        queue_ring(me);
        const uint64_t t2 = QUEUE_TICKS();
        queue_await(me, 0);
        const uint64_t t3 = QUEUE_TICKS();
        ticks[0] += t1 - t0;
        ticks[1] += t2 - t1;
        ticks[2] += t3 - t2;
    }
    for (int i = 0; i < STAGES; i++)
        results[i] = ticks[i];
}

WEFT_DEVICE_FN void queue_requests(struct queue_side *me)
{
    const uint64_t slots = me->queue->slots, count = me->form.count;
    const uint64_t window = me->form.window != 0 ? me->form.window : slots - 2;
    const uint64_t every = me->form.every != 0 ? me->form.every : slots / 4;
    uint64_t asked = 0, rang = 0;

    for (uint64_t i = 0; i < count && me->failed == 0; i++) {
        if (me->queue->posted - me->queue->done >= window) /* full: all of it, where nothing rang */
            queue_await(me, me->form.batch == 0 ? 0 : window - 1);
        const bool complete =
            ++asked == every || i + 1 == count ||
            (me->form.batch == 0 && me->queue->posted - me->queue->done + 1 == window);
        queue_build(me, i, complete);
        weft_gda_post(me->queue, &me->wqe, complete);
        asked = complete ? 0 : asked;
        if (++rang == me->form.batch) {
            queue_ring(me);
            rang = 0;
        }
    }
    queue_await(me, 0);
}

/* What the last request should have moved. */
WEFT_DEVICE_FN uint64_t queue_wrong(const struct queue_side *me)
{
    const bool inside = me->form.what == QUEUE_WRITE && me->form.bytes == 8;
    const volatile uint64_t *here = (const volatile uint64_t *)(uintptr_t)me->here.address;
    const volatile uint64_t *there = (const volatile uint64_t *)(uintptr_t)me->there.address;
    const uint64_t last = me->form.bytes / 8 - 1;

    if (me->form.stages == 2)
        return 0;
    if (inside)
        return there[0] != me->form.count - 1;
    return (uint64_t)(here[0] != there[0]) + (here[last] != there[last]);
}

WEFT_DEVICE_FN void queue_run(weft_self *self, const struct queue_data *user, int rank)
{
    uint64_t *const results = user->results + (size_t)rank * RESULTS;
    unsigned char *const source = user->memory + 2 * (size_t)rank * user->each;
    const uint64_t here = (uint64_t)(uintptr_t)source;
    const uint32_t key = weft_gda_key_of(self->state->nic_keys, here, 2 * user->each);
    struct queue_side me;

    me.self = self;
    me.queue = &self->queues[self->process];
    me.form = user->form;
    me.here.address = here;
    me.here.bytes = (uint32_t)me.form.bytes;
    me.here.lkey = key;
    me.there.address = here + user->each;
    me.there.rkey = key;
    me.failed = 0;
    for (uint64_t i = 0; i < me.form.bytes / 8; i += me.form.bytes / 8 - 1) { /* first and last */
        ((volatile uint64_t *)source)[i] = me.form.count + i;
        ((volatile uint64_t *)(source + user->each))[i] = me.form.what == QUEUE_READ ? i * 3 : 0;
        if (me.form.bytes == 8)
            break;
    }
    results[MEMORY] = me.queue->slots * (uint64_t)WEFT_MLX5_SLOT + 64 + sizeof(*me.queue) +
                      me.queue->cq_slots * (uint64_t)WEFT_MLX5_CQE_BYTES +
                      64; /* record, doorbell */
    results[BEGAN] = weft_port_clock();
    const uint64_t ticks = QUEUE_TICKS();
    if (me.form.stages == 2)
        for (uint64_t i = 0; i < me.form.count; i++)
            queue_poll(&me);
    else if (me.form.stages == 1)
        queue_stages(&me, results);
    else
        queue_requests(&me);
    results[TICKS] = QUEUE_TICKS() - ticks;
    results[ENDED] = weft_port_clock();
    results[WRONG] = me.failed + queue_wrong(&me);
}

/* Puts of a rank to itself. All threads. */
WEFT_DEVICE_FN void queue_put(weft_self *self, const struct queue_data *user, weft_win win,
                              int rank)
{
    uint64_t *const results = user->results + (size_t)rank * RESULTS;
    unsigned char *const source = user->memory + 2 * (size_t)rank * user->each;
    const uint64_t count = user->form.count, bytes = user->form.bytes;
    const int leads = weft_thread(self) == 0;

    if (leads)
        *(volatile uint64_t *)source = count;
    weft_sync(self);
    if (leads)
        results[BEGAN] = weft_port_clock();
    for (uint64_t i = 0; i < count; i++)
        weft_put(self, win, rank, 0, source, bytes);
    weft_flush(self, win);
    if (leads) {
        results[ENDED] = weft_port_clock();
        results[SHARED] = self->queues[self->process].shared != NULL;
        results[WRONG] = *(volatile uint64_t *)(source + user->each) != count;
    }
}

WEFT_KERNEL(gpu_queue, struct queue_data, user)
{
    const int rank = weft_rank(self, WEFT_COMM_DEVICE);
    const bool has = self->queues != NULL;
    const bool active = (uint64_t)rank < user->active, puts = user->form.puts != 0;

    weft_enter(self);
    weft_win win = weft_win_create(self, WEFT_COMM_WORLD,
                                   user->memory + (2 * (size_t)rank + 1) * user->each, user->each);
    weft_barrier(self, WEFT_COMM_WORLD);
    if (active && has && puts)
        queue_put(self, user, win, rank);
    if (active && weft_thread(self) == 0 && !has)
        user->results[(size_t)rank * RESULTS + WRONG] = UINT64_MAX;
    if (active && weft_thread(self) == 0 && has && !puts)
        queue_run(self, user, rank);
    weft_sync(self);
    weft_barrier(self, WEFT_COMM_WORLD);
    weft_win_free(self, &win);
    weft_leave(self);
}

#ifndef __CUDACC__

#include "gpu/job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FULL_BYTES = 8192, IN_FLIGHT = 32 };

static const struct {
    const char *kind;
    struct queue_form form;
} forms[] = {
    {"naive", {.window = 1, .every = 1, .batch = 1}},
    {"reuse", {.window = 1, .every = 1, .batch = 1, .reuse = 1}},
    {"pipelined", {.batch = 1, .reuse = 1}},
    {"one_ring", {.reuse = 1}},
    {"read", {.batch = 1, .reuse = 1, .what = QUEUE_READ}},
};

/* From the first that began to the last that ended. The sums over ranks are in `results`. */
static weft_status run_form(weft_job *job, struct queue_data *data, double *us, uint64_t *results,
                            bool *right)
{
    const size_t n = (size_t)weft_numbers_of(job)->ranks_here * RESULTS;
    uint64_t *all = calloc(n, sizeof(*all)), began = UINT64_MAX, ended = 0;

    if (all == NULL)
        return WEFT_ERR_MEMORY;
    weft_status status = weft_run(job, data, sizeof(*data), NULL);
    if (status == WEFT_OK)
        status = weft_copy(job, all, data->results, n * sizeof(*all));
    memset(results, 0, RESULTS * sizeof(*results));
    for (size_t r = 0; r < data->active && status == WEFT_OK; r++) {
        const uint64_t *of = all + r * RESULTS;
        if (of[WRONG] == UINT64_MAX) {
            fprintf(stderr, "bench: ranks have no queues: WEFT_GDA=softnic WEFT_PATH=queue\n");
            status = WEFT_ERR_CONFIG;
        }
        for (int i = 0; i < RESULTS; i++)
            results[i] += of[i];
        began = of[BEGAN] < began ? of[BEGAN] : began;
        ended = of[ENDED] > ended ? of[ENDED] : ended;
    }
    free(all);
    *us = (double)(ended - began) * 1e-3;
    *right &= status == WEFT_OK && measure_right("queue", data->form.bytes, results[WRONG]);
    return status;
}

/* Table 1: each stage of a request of 8 bytes, built anew and reused; and a poll in vain. */
static weft_status measure_stages(weft_job *job, const struct measure_options *options,
                                  struct queue_data *data, bool *right)
{
    static const char *const kinds[2][STAGES + 1] = {{"wqe", "ring", "poll", "miss"},
                                                     {"reuse_wqe", "reuse_ring", "reuse_poll"}};
    const int threads = weft_numbers_of(job)->threads;
    uint64_t results[RESULTS];
    double us;
    weft_status status = WEFT_OK;

    for (uint64_t reuse = 0; reuse < 2 && status == WEFT_OK; reuse++) {
        data->form =
            (struct queue_form){.count = options->repeats, .bytes = 8, .reuse = reuse, .stages = 1};
        status = run_form(job, data, &us, results, right);
        for (int i = 0; i < STAGES && status == WEFT_OK; i++)
            measure_line("weft", kinds[reuse][i], 8, threads,
                         us * (double)results[i] / (double)results[TICKS] /
                             (double)options->repeats);
    }
    data->form.stages = 2;
    if (status == WEFT_OK)
        status = run_form(job, data, &us, results, right);
    if (status == WEFT_OK)
        measure_line("weft", kinds[0][STAGES], 8, threads, us / (double)options->repeats);
    if (status == WEFT_OK)
        measure_ranks_line("weft", "memory", 0, threads, 1, (double)results[MEMORY], "B");
    return status;
}

/* Figure 3, and 5 if it is run for each placement: us a request by form and size. */
static weft_status measure_forms(weft_job *job, const struct measure_options *options,
                                 struct queue_data *data, bool *right)
{
    uint64_t results[RESULTS];
    weft_status status = WEFT_OK;
    double us;

    for (size_t bytes = 8; bytes <= options->to; bytes *= bytes < 128 ? 16 : 4)
        for (size_t f = 0; f < sizeof(forms) / sizeof(forms[0]) && status == WEFT_OK; f++) {
            data->form = forms[f].form;
            data->form.bytes = bytes;
            data->form.count =
                bytes <= FULL_BYTES ? options->repeats : options->repeats * FULL_BYTES / bytes + 1;
            status = run_form(job, data, &us, results, right);
            if (status == WEFT_OK)
                measure_line("weft", forms[f].kind, bytes, weft_numbers_of(job)->threads,
                             us / (double)data->form.count);
        }
    return status;
}

static const struct rate {
    const char *kind;
    struct queue_form form;
} rates[] = {
    {"rate_of_puts", {.puts = 1}}, /* the only one of queues that ranks share */
    {"rate", {.window = IN_FLIGHT, .every = 1, .batch = 1, .reuse = 1}},
    {"rate_by_16", {.window = IN_FLIGHT, .every = 16, .batch = 16, .reuse = 1}},
};
enum { RATES = sizeof(rates) / sizeof(rates[0]) };

/* Figure 4: requests a second of so many ranks, with 32 under way each, or as many as there is room
 * for. */
static weft_status measure_rate(weft_job *job, const struct measure_options *options,
                                struct queue_data *data, int ranks, const struct rate *rate,
                                bool *right)
{
    uint64_t results[RESULTS];
    double us;

    data->active = (uint64_t)ranks;
    data->form = rate->form;
    data->form.bytes = 8;
    data->form.count = options->repeats;
    const weft_status status = run_form(job, data, &us, results, right);
    if (status == WEFT_OK)
        measure_ranks_line("weft", rate->kind, 8, weft_numbers_of(job)->threads, ranks,
                           (double)options->repeats * ranks / us, "M/s");
    return status;
}

static weft_status measure_lists(weft_job *job, const struct measure_options *options,
                                 struct queue_data *data, bool shared, bool *right)
{
    const int ranks = weft_numbers_of(job)->ranks_here;
    weft_status status = WEFT_OK;

    for (int i = 0; i < options->list_count && status == WEFT_OK; i++) {
        const int active = options->list[i] != 0 ? options->list[i] : ranks;
        if (active > ranks) {
            fprintf(stderr, "bench: %d ranks of %d\n", active, ranks);
            return WEFT_ERR_ARGUMENT;
        }
        for (int r = 0; r < (shared ? 1 : RATES) && status == WEFT_OK; r++)
            status = measure_rate(job, options, data, active, &rates[r], right);
    }
    return status;
}

static weft_status are_shared(weft_job *job, struct queue_data *data, bool *shared, bool *right)
{
    uint64_t results[RESULTS];
    double us;

    data->form = (struct queue_form){.count = 1, .bytes = 8, .puts = 1};
    const weft_status status = run_form(job, data, &us, results, right);
    *shared = results[SHARED] != 0;
    return status;
}

static weft_status measure_all(weft_job *job, struct measure_options *options, bool *right)
{
    struct queue_data data = {.active = 1, .each = options->to};
    bool shared = false;
    int most = 1;

    for (int i = 0; i < options->list_count; i++)
        most = options->list[i] > most ? options->list[i] : most;
    weft_status status = job_prepare(job, &gpu_queue, options->threads, most, 1);
    if (status != WEFT_OK)
        return status;
    const size_t ranks = (size_t)weft_numbers_of(job)->ranks_here;
    data.memory = weft_malloc(job, 2 * ranks * data.each);
    data.results = weft_malloc(job, ranks * RESULTS * sizeof(*data.results));
    measure_header();
    status = data.memory == NULL || data.results == NULL ? WEFT_ERR_MEMORY : WEFT_OK;
    if (status == WEFT_OK)
        status = are_shared(job, &data, &shared, right);
    if (status == WEFT_OK && !shared)
        status = measure_stages(job, options, &data, right);
    if (status == WEFT_OK && !shared)
        status = measure_forms(job, options, &data, right);
    if (status == WEFT_OK)
        status = measure_lists(job, options, &data, shared, right);
    weft_free(job, data.results);
    weft_free(job, data.memory);
    return status;
}

int main(int argc, char **argv)
{
    return job_main(argc, argv, MEASURE_HAS_TO,
                    "What it costs ranks to drive queues. Run: WEFT_GDA=softnic WEFT_PATH=queue "
                    "bench_gpu_queue 1 30; WEFT_GDA_NIC and WEFT_GDA_PLACE say by which NIC and "
                    "where",
                    "[RANKS...]", MEASURE_LIST, measure_all);
}
#endif
