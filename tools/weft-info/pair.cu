/*
 * weft-info/pair.cu - a ping-pong of notified puts between the ranks of two processes, one each: in
 * a job whose pairs get a channel at once, and in one without channels. What a rank saw of channels
 * is looked at, so that the figures are of what they are said to be.
 */
#include "pair.h"

#include <weft/device.h>

#include "rank/state.h"

enum { TAG = 0, ROOM = 1024 };

struct pair_data {
    uint32_t *memory; /* device memory: a source and a target of ROOM bytes */
    uint64_t bytes, warm_up, trips;
    uint32_t mapped;   /* result: this process maps the other one's window */
    uint32_t channels; /* result: into this rank */
    uint32_t wrong;    /* result: words of the last message */
    uint32_t unused;
};

WEFT_KERNEL(tune_pair, struct pair_data, user)
{
    const int me = weft_rank(self, WEFT_COMM_WORLD), other = 1 - me;
    uint32_t *const source = user->memory, *const target = source + ROOM / sizeof(*source);
    const uint64_t warm_up = user->warm_up, trips = user->trips;
    const size_t bytes = user->bytes;

    weft_enter(self);
    weft_win win = weft_win_create(self, WEFT_COMM_WORLD, target, ROOM);
    weft_for (i, bytes / sizeof(*source))
        source[i] = (uint32_t)(bytes + i) << 1 | (uint32_t)me;
    const int mapped = weft_ptr(self, win, other) != NULL;
    for (uint64_t i = 0; i < warm_up + trips; i++) {
        if (i == warm_up)
            weft_timer_start(self);
        if (me == 0)
            weft_put_notify(self, win, other, 0, source, bytes, TAG);
        weft_wait(self, TAG, 1);
        if (me != 0)
            weft_put_notify(self, win, other, 0, source, bytes, TAG);
    }
    weft_timer_stop(self);
    double wrong = 0;
    weft_for (i, bytes / sizeof(*target))
        wrong += target[i] != ((uint32_t)(bytes + i) << 1 | (uint32_t)other);
    wrong = weft_block_sum(self, wrong);
    if (weft_thread(self) == 0) {
        user->mapped = mapped != 0;
        user->channels = self->ins;
        user->wrong = (uint32_t)wrong;
    }
    weft_win_free(self, &win);
    weft_leave(self);
}

#ifndef __CUDACC__

#include "base/say.h"

#include <math.h>
#include <stdio.h>

const size_t pair_sizes[PAIR_SIZES] = {4, 8, 16, 32, 64, 128, 256, 512, 1024};

/* TURNS: of the two jobs; ROUNDS: over the sizes in each. */
#ifdef WEFT_INFO_BRIEF
enum { TURNS = 1, ROUNDS = 1, WARM_UP = 5, FIRST = 5, LEAST = 5, MOST = 5 };
#else
enum { TURNS = 3, ROUNDS = 3, WARM_UP = 200, FIRST = 200, LEAST = 50, MOST = 5000 };
#endif
enum { THREADS = 128 };

static const double run_s = 0.01; /* of a size, in each round */

/* One run; *us is what a trip there and back took this process. */
static weft_status run(weft_job *job, struct pair_data *data, size_t bytes, uint64_t trips,
                       double *us)
{
    const double *intervals;
    size_t count;

    data->bytes = bytes;
    data->warm_up = WARM_UP + trips / 10;
    data->trips = trips;
    weft_status status = weft_run(job, data, sizeof(*data), NULL);
    if (status == WEFT_OK)
        status = weft_intervals(job, &intervals, &count);
    if (status != WEFT_OK)
        return status;
    if (data->wrong != 0)
        return weft_err(WEFT_ERR_PROTOCOL, "%u words of a put of %zu bytes arrived wrong",
                        data->wrong, bytes);
    *us = intervals[0] * 1e3 / (double)trips;
    return WEFT_OK;
}

/* How many trips take run_s: what process 0 says, for both. */
static weft_status agree_on_trips(weft_job *job, struct pair_data *data, uint64_t *trips)
{
    uint64_t for_all[2];
    double us;
    weft_status status = run(job, data, pair_sizes[0], FIRST, &us);

    if (status != WEFT_OK)
        return status;
    const double wanted = run_s * 1e6 / us;
    for_all[0] = for_all[1] = wanted < LEAST ? LEAST : wanted > MOST ? MOST : (uint64_t)wanted;
    return weft_host_scatter(job, 0, for_all, trips, sizeof(*trips));
}

/* The best time of each size: whatever else runs here only adds to it. */
static weft_status measure_sizes(weft_job *job, struct pair_data *data, double best[PAIR_SIZES])
{
    uint64_t trips;
    double us;
    weft_status status = agree_on_trips(job, data, &trips);

    for (int i = 0; i < ROUNDS * PAIR_SIZES && status == WEFT_OK; i++) {
        status = run(job, data, pair_sizes[i % PAIR_SIZES], trips, &us);
        if (status == WEFT_OK && us < best[i % PAIR_SIZES])
            best[i % PAIR_SIZES] = us;
    }
    return status;
}

/* Why this job has nothing to measure, as far as its numbers tell; NULL: it may have. */
static const char *nothing_in(const weft_numbers *numbers)
{
    if (numbers->processes == 1)
        return "it takes two processes: weftrun -n 2 weft-info --tune";
    if (numbers->processes > 2)
        return "it takes two processes, and this job has more";
    if (numbers->devices < 2)
        return "both processes drive one GPU, which runs them in turns";
    if (numbers->nodes > 1)
        return "the processes are on two nodes, and only those of one map each other";
    return NULL;
}

/* In the open job. `channels`: as many as there should be into each rank. */
static weft_status measure_job(weft_job *job, uint32_t channels, struct pair_found *found,
                               double best[PAIR_SIZES])
{
    const weft_numbers *numbers = weft_numbers_of(job);
    struct pair_data data = {0};

    found->process = numbers->process;
    found->processes = numbers->processes;
    found->left_out = nothing_in(numbers);
    if (found->left_out != NULL)
        return WEFT_OK;
    weft_status status = weft_prepare(job, &tune_pair, THREADS, 1);
    if (status != WEFT_OK)
        return status;
    data.memory = weft_malloc(job, 2 * ROOM);
    status = data.memory != NULL ? measure_sizes(job, &data, best) : WEFT_ERR_MEMORY;
    weft_free(job, data.memory);
    if (status != WEFT_OK)
        return status;
    if (data.mapped == 0)
        found->left_out =
            "the processes reach each other through the host (WEFT_LOG=info says why)";
    else if (data.channels != channels)
        return weft_err(WEFT_ERR_PROTOCOL, "%u channels into the rank of process %d, not %u",
                        data.channels, found->process, channels);
    return WEFT_OK;
}

static bool measure_way(const char *eager, uint32_t channels, struct pair_found *found,
                        double best[PAIR_SIZES])
{
    char name[] = "weft-info", after[] = "--weft-eager-after=1", text[32];
    char *argv[] = {name, text, after, NULL};
    int argc = 3;
    weft_job *job;

    snprintf(text, sizeof(text), "--weft-eager=%s", eager);
    if (weft_open(&job, &argc, argv) != WEFT_OK)
        return false;
    const weft_status status = measure_job(job, channels, found, best);
    if (status != WEFT_OK)
        weft_abort(job, weft_status_text(status)); /* the other process is not left waiting */
    return weft_close(job) == WEFT_OK && status == WEFT_OK;
}

bool pair_measure(struct pair_found *found)
{
    *found = (struct pair_found){0};
    for (int i = 0; i < PAIR_SIZES; i++)
        found->channel_us[i] = found->direct_us[i] = HUGE_VAL;
    for (int turn = 0; turn < TURNS && found->left_out == NULL; turn++)
        if (!measure_way("1024", 1, found, found->channel_us) ||
            (found->left_out == NULL && !measure_way("0", 0, found, found->direct_us)))
            return false;
    return true;
}

#endif
