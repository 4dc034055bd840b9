/*
 * bench/gpu/crowd.cu - several ranks of 256 threads on each multiprocessor of one GPU, as README's
 * hello has them: each puts 8 bytes to the rank on its right and waits for those from its left; a
 * barrier. us a round.
 *
 * This program has room for two such ranks, crowd_4 for four, with half of the registers.
 *
 * Before the timed rounds, each is checked between two barriers. In the timed ones a rank may be
 * ahead of its neighbours, so nothing is compared.
 */
#include "gpu/measure.h"

#define WEFT_MOST_THREADS 256
#ifndef WEFT_LEAST_RANKS
#define WEFT_LEAST_RANKS 2
#endif
#include <weft/device.h>

enum { CHECKED = 10, TAG_RING = 0 };

struct crowd_data {
    uint64_t *words; /* device memory: what came, and what is sent, of each rank */
    uint64_t *wrong; /* result: words of each rank */
    uint64_t warm_up, repeats;
    uint64_t barriers; /* not the ring */
};

WEFT_DEVICE_FN uint64_t checked(weft_self *self, weft_win win, uint64_t *mine)
{
    const int me = weft_rank(self, WEFT_COMM_WORLD), n = weft_size(self, WEFT_COMM_WORLD);
    uint64_t wrong = 0;

    for (uint64_t round = 1; round <= CHECKED; round++) {
        if (weft_thread(self) == 0)
            mine[1] = round << 32 | (uint64_t)me;
        weft_put_notify(self, win, (me + 1) % n, 0, &mine[1], sizeof(*mine), TAG_RING);
        weft_wait(self, TAG_RING, 1);
        wrong += mine[0] != (round << 32 | (uint64_t)((me + n - 1) % n));
        weft_barrier(self, WEFT_COMM_WORLD);
    }
    return wrong;
}

WEFT_DEVICE_FN void rounds(weft_self *self, weft_win win, const uint64_t *source, uint64_t count)
{
    const int right = (weft_rank(self, WEFT_COMM_WORLD) + 1) % weft_size(self, WEFT_COMM_WORLD);

    for (uint64_t i = 0; i < count; i++) {
        weft_put_notify(self, win, right, 0, source, sizeof(*source), TAG_RING);
        weft_wait(self, TAG_RING, 1);
    }
}

WEFT_KERNEL(gpu_crowd, struct crowd_data, user)
{
    const uint64_t warm_up = user->warm_up, repeats = user->repeats, barriers = user->barriers;
    uint64_t *const mine = user->words + 2 * weft_rank(self, WEFT_COMM_DEVICE);

    weft_enter(self);
    weft_win win = weft_win_create(self, WEFT_COMM_WORLD, mine, sizeof(*mine));
    const uint64_t wrong = checked(self, win, mine);
    rounds(self, win, mine + 1, warm_up);
    weft_timer_start(self);
    for (uint64_t i = 0; i < barriers; i++)
        weft_barrier(self, WEFT_COMM_WORLD);
    rounds(self, win, mine + 1, repeats);
    weft_timer_stop(self);
    weft_win_free(self, &win);
    weft_leave(self);
    if (weft_thread(self) == 0)
        user->wrong[weft_rank(self, WEFT_COMM_DEVICE)] = wrong;
}

#ifndef __CUDACC__

#include "gpu/job.h"

#include <stdio.h>

/* The ring, then barriers. *right becomes false if anything that came was wrong. */
static weft_status measure_crowd(weft_job *job, const struct measure_options *options, bool *right)
{
    const weft_numbers *numbers = weft_numbers_of(job);
    const size_t ranks = (size_t)numbers->ranks_here;
    struct crowd_data data = {.words = weft_malloc(job, 2 * ranks * sizeof(*data.words)),
                              .wrong = weft_malloc(job, ranks * sizeof(*data.wrong)),
                              .warm_up = options->repeats / 10 + 1};
    weft_status status = data.words && data.wrong ? WEFT_OK : WEFT_ERR_MEMORY;

    for (int barriers = 0; barriers < 2 && status == WEFT_OK; barriers++) {
        const char *const kind = barriers ? "barrier" : "ring";
        struct job_outcome outcome;
        data.barriers = barriers ? options->repeats : 0;
        data.repeats = barriers ? 0 : options->repeats;
        status = job_run(job, &data, sizeof(data), data.wrong, &outcome);
        if (status != WEFT_OK)
            break;
        *right &= measure_right(kind, 8, outcome.wrong);
        measure_ranks_line("weft", kind, 8, numbers->threads, numbers->ranks_here,
                           outcome.seconds * 1e6 / (double)options->repeats, "us");
    }
    weft_free(job, data.wrong);
    weft_free(job, data.words);
    return status;
}

/* One number of ranks after the other. */
static weft_status measure_all(weft_job *job, struct measure_options *options, bool *right)
{
    weft_status status = WEFT_OK;

    measure_header();
    for (int i = 0; i < options->list_count && status == WEFT_OK; i++) {
        status = job_prepare(job, &gpu_crowd, options->threads, options->list[i], 1);
        if (status == WEFT_OK && options->list[i] != 0 &&
            weft_numbers_of(job)->ranks_here != options->list[i]) {
            fprintf(stderr, "bench: the device holds %d ranks of %d threads, not %d\n",
                    weft_numbers_of(job)->ranks_here, options->threads, options->list[i]);
            return WEFT_ERR_LIMIT;
        }
        if (status == WEFT_OK)
            status = measure_crowd(job, options, right);
    }
    return status;
}

int main(int argc, char **argv)
{
    return job_main(argc, argv, 0, "A ring of all ranks of one GPU. Run: bench_gpu_crowd",
                    "[RANKS...]", MEASURE_LIST, measure_all);
}
#endif
