/*
 * warps - the first warp of each rank sends its numbers to all ranks, while the other threads count
 * digits; the host program does the same.
 */
#include <weft/weft.h>

#include "report.h"
#include "usage.h"
#include "warps.h"

#include <stdio.h>
#include <stdlib.h>

WEFT_KERNEL_DECLARE(warps_kernel);

static const char about[] =
    "The first warp of each rank sends its numbers to all ranks, while the others count digits.";

/* How many of what the ranks of this process have received, and counted, are wrong. */
static int check(const weft_numbers *n, const uint32_t *all, const uint64_t *digits)
{
    uint64_t wanted[DIGITS] = {0};
    int wrong = 0;

    for (int r = 0; r < n->ranks_here; r++)
        for (int from = 0; from < n->ranks; from++)
            for (int i = 0; i < NUMBERS; i++)
                wrong += *all++ != NUMBER(from, i);
    for (int from = 0; from < n->ranks; from++)
        for (int i = 0; i < NUMBERS; i++)
            wanted[NUMBER(from, i) % DIGITS]++;
    for (int d = 0; d < DIGITS && n->process == 0; d++)
        wrong += digits[d] != wanted[d];
    return wrong;
}

/* 0 if all is right. */
static int warps(weft_job *job)
{
    const weft_numbers *n = weft_numbers_of(job);
    uint64_t digits[DIGITS];
    struct warps user;

    if (weft_prepare(job, &warps_kernel, 128, 8) != WEFT_OK)
        return 1;
    const size_t own = (size_t)n->ranks_here * NUMBERS * sizeof(*user.own);
    uint32_t *all = malloc((size_t)n->ranks * own);
    user.own = weft_malloc(job, own);
    user.all = weft_malloc(job, (size_t)n->ranks * own);
    user.digits = weft_malloc(job, sizeof(digits));
    if (all == NULL || user.own == NULL || user.all == NULL || user.digits == NULL ||
        weft_run(job, &user, sizeof(user), NULL) != WEFT_OK ||
        weft_copy(job, all, user.all, (size_t)n->ranks * own) != WEFT_OK ||
        weft_copy(job, digits, user.digits, sizeof(digits)) != WEFT_OK)
        return 1;
    const int wrong = check(n, all, digits);
    if (n->process == 0 && wrong == 0)
        printf("warps: %d processes, %d ranks: all numbers and digits right\n", n->processes,
               n->ranks);
    if (wrong != 0)
        fprintf(stderr, "warps: process %d: %d numbers are wrong\n", n->process, wrong);
    weft_free(job, user.own);
    weft_free(job, user.all);
    weft_free(job, user.digits);
    free(all);
    return wrong != 0;
}

int main(int argc, char **argv)
{
    weft_job *job;

    if (weft_open(&job, &argc, argv) != WEFT_OK)
        return 1;
    const int status = argc > 1 ? usage(job, argv[1], about) : warps(job);
    return weft_close(job) != WEFT_OK || !report_flushed() ? 1 : status;
}
