/*
 * host_window - what ranks do, done by the host programs themselves, without a kernel: a window,
 * notified puts around a ring, a flush, a barrier, gather and scatter. Useful for set-up and as a
 * baseline to compare kernels with.
 */
#include <weft/weft.h>

#include "report.h"
#include "usage.h"

#include <stdio.h>
#include <stdlib.h>

enum { TAG = 1, WORDS = 1000 };

static const char about[] =
    "What ranks do, done by the host programs themselves, without a kernel.";

/* Every process puts WORDS words into the window of the next. */
static weft_status pass_on(weft_job *job, const uint64_t *send, weft_win win)
{
    const weft_numbers *n = weft_numbers_of(job);
    const int next = (n->process + 1) % n->processes;

    weft_status status = weft_host_put_notify(job, win, next, 0, send, WORDS * sizeof(*send), TAG);
    if (status == WEFT_OK)
        status = weft_host_wait(job, TAG, 1); /* mine is here */
    if (status == WEFT_OK)
        status = weft_host_flush(job, win); /* and the one that I sent has arrived */
    return status;
}

/* Checks what came from the previous process; the number of words that are wrong. */
static uint64_t count_wrong(weft_job *job, const uint64_t *window)
{
    static uint64_t words[WORDS]; /* a window may lie in memory that only the device reaches */
    const weft_numbers *n = weft_numbers_of(job);
    const int previous = (n->process + n->processes - 1) % n->processes;
    uint64_t wrong = 0;

    if (weft_copy(job, words, window, sizeof(words)) != WEFT_OK)
        return WORDS;
    for (uint64_t i = 0; i < WORDS; i++)
        wrong += words[i] != (uint64_t)previous * WORDS + i;
    return wrong;
}

/* Process 0 gathers all counts, adds them, and scatters the sum. */
static weft_status agree(weft_job *job, uint64_t *wrong)
{
    const weft_numbers *n = weft_numbers_of(job);
    uint64_t *all = calloc((size_t)n->processes, sizeof(*all)), sum = 0;

    if (all == NULL)
        return WEFT_ERR_MEMORY;
    weft_status status = weft_host_gather(job, 0, wrong, sizeof(*wrong), all);
    for (int p = 0; p < n->processes; p++)
        sum += all[p];
    for (int p = 0; p < n->processes; p++)
        all[p] = sum;
    if (status == WEFT_OK)
        status = weft_host_scatter(job, 0, all, wrong, sizeof(*wrong));
    free(all);
    return status;
}

/* 0 if all processes received what they should. */
static int exchange(weft_job *job)
{
    const weft_numbers *n = weft_numbers_of(job);
    uint64_t *window = weft_malloc(job, WORDS * sizeof(*window)), send[WORDS], wrong = 0;
    weft_win win;

    if (window == NULL)
        return 1;
    for (uint64_t i = 0; i < WORDS; i++)
        send[i] = (uint64_t)n->process * WORDS + i;
    weft_status status = weft_host_win_create(job, window, WORDS * sizeof(*window), &win);
    if (status == WEFT_OK)
        status = pass_on(job, send, win);
    if (status == WEFT_OK)
        status = weft_host_barrier(job);
    if (status != WEFT_OK)
        return 1;
    wrong = count_wrong(job, window);
    status = agree(job, &wrong);
    if (status == WEFT_OK)
        status = weft_host_win_free(job, &win);
    if (status == WEFT_OK)
        weft_free(job, window);
    if (n->process == 0 && status == WEFT_OK)
        printf("%d processes passed on %d words each; %llu wrong\n", n->processes, WORDS,
               (unsigned long long)wrong);
    return status != WEFT_OK || wrong != 0;
}

int main(int argc, char **argv)
{
    weft_job *job;

    if (weft_open(&job, &argc, argv) != WEFT_OK)
        return 1;
    const int status = argc > 1 ? usage(job, argv[1], about) : exchange(job);
    return weft_close(job) != WEFT_OK || !report_flushed() ? 1 : status;
}
