/*
 * host_and_kernel - the host programs answer what a running kernel asks them.
 */
#include <weft/weft.h>

#include "host_and_kernel.h"
#include "report.h"
#include "usage.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

WEFT_KERNEL_DECLARE(asking_kernel);

static const char about[] = "The host programs answer what a running kernel asks them.";

/* How many requests the ranks of the process before this one make. */
static uint64_t expected(const weft_job *job, int from)
{
    const int n = weft_numbers_of(job)->ranks, first = weft_first_rank_of(job, from);
    uint64_t sum = 0;

    for (int r = first; r < first + weft_ranks_of(job, from); r++)
        sum += (uint64_t)(REQUESTS / n + (r < REQUESTS % n));
    return sum;
}

/* One request of a rank of that process. The reply goes there, its notification to the rank. */
static weft_status answer(weft_job *job, weft_win boxes, int from, int rank)
{
    const size_t question_at = offsetof(struct box, request) + sizeof(uint64_t) * (size_t)rank;
    const size_t reply_at = offsetof(struct box, reply) + sizeof(uint64_t) * (size_t)rank;
    uint64_t word;
    weft_status status =
        weft_host_get(job, boxes, weft_numbers_of(job)->process, question_at, &word, sizeof(word));

    if (status != WEFT_OK)
        return status;
    word *= word;
    status = weft_host_put_notify_rank(job, boxes, from, reply_at, &word, sizeof(word),
                                       weft_first_rank_of(job, from) + rank, REPLY);
    return status == WEFT_OK ? weft_host_flush(job, boxes) : status;
}

/* Serves the ranks of the process before this one until they have no more to ask. */
static weft_status serve(weft_job *job, weft_win boxes, uint64_t *served)
{
    const weft_numbers *n = weft_numbers_of(job);
    const int from = (n->process + n->processes - 1) % n->processes;
    const uint64_t all = expected(job, from);

    for (int rank = 0; *served < all; rank = (rank + 1) % weft_ranks_of(job, from)) {
        int asked = 0;
        weft_status status = weft_host_test(job, rank, 1, &asked);
        if (status == WEFT_OK && asked)
            status = answer(job, boxes, from, rank);
        if (status != WEFT_OK)
            return status;
        *served += (uint64_t)asked;
    }
    return WEFT_OK;
}

/* How many were served, and answered wrongly, in all: at process 0. */
static weft_status add_up(weft_job *job, const struct asking *user, uint64_t sums[2])
{
    const weft_numbers *n = weft_numbers_of(job);
    uint64_t wrong[RANKS], (*all)[2] = calloc((size_t)n->processes, sizeof(*all));
    weft_status status = all != NULL ? WEFT_OK : WEFT_ERR_MEMORY;

    if (status == WEFT_OK)
        status = weft_copy(job, wrong, user->wrong, sizeof(wrong));
    for (int r = 0; status == WEFT_OK && r < n->ranks_here; r++)
        sums[1] += wrong[r];
    if (status == WEFT_OK)
        status = weft_host_gather(job, 0, sums, 2 * sizeof(*sums), all);
    for (int p = 1; status == WEFT_OK && n->process == 0 && p < n->processes; p++) {
        sums[0] += all[p][0];
        sums[1] += all[p][1];
    }
    free(all);
    return status;
}

/* Device memory, and the window over a part of it. */
static weft_status prepare(weft_job *job, struct asking *user)
{
    weft_status status = weft_prepare(job, &asking_kernel, 32, RANKS);

    if (status != WEFT_OK)
        return status;
    user->box = weft_malloc(job, sizeof(*user->box));
    user->asked = weft_malloc(job, RANKS * sizeof(*user->asked));
    user->wrong = weft_malloc(job, RANKS * sizeof(*user->wrong));
    if (user->box == NULL || user->asked == NULL || user->wrong == NULL)
        return WEFT_ERR_MEMORY;
    return weft_host_win_create(job, user->box, sizeof(*user->box), &user->boxes);
}

static int run_host_and_kernel(weft_job *job)
{
    struct asking user = {.boxes = WEFT_WIN_NONE};
    uint64_t sums[2] = {0}; /* served, wrong */
    weft_status status = prepare(job, &user);

    if (status == WEFT_OK)
        status = weft_start(job, &user, sizeof(user));
    if (status == WEFT_OK) {
        status = serve(job, user.boxes, &sums[0]);
        const weft_status finished = weft_finish(job, NULL);
        status = status == WEFT_OK ? finished : status;
    }
    if (status == WEFT_OK)
        status = weft_host_win_free(job, &user.boxes);
    if (status == WEFT_OK)
        status = add_up(job, &user, sums);
    if (status != WEFT_OK)
        return 1;
    weft_free(job, user.box);
    weft_free(job, user.asked);
    weft_free(job, user.wrong);
    if (weft_numbers_of(job)->process != 0)
        return 0;
    if (sums[1] != 0)
        fprintf(stderr, "host: %llu replies were wrong\n", (unsigned long long)sums[1]);
    else
        printf("host: %llu requests served while the kernel ran\n", (unsigned long long)sums[0]);
    return sums[1] != 0;
}

int main(int argc, char **argv)
{
    weft_job *job;

    if (weft_open(&job, &argc, argv) != WEFT_OK)
        return 1;
    const int status = argc > 1 ? usage(job, argv[1], about) : run_host_and_kernel(job);
    return weft_close(job) != WEFT_OK || !report_flushed() ? 1 : status;
}
