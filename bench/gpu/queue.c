/*
 * bench/gpu/queue.c - the host program of queue.cu.
 */
#include "gpu/queue.h"

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
