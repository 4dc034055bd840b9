/*
 * filter - the threads of each rank pack its small numbers, find the largest and count digits; the
 * host program does the same.
 */
#include <weft/weft.h>

#include "filter.h"
#include "report.h"
#include "usage.h"

#include <stdio.h>
#include <stdlib.h>

WEFT_KERNEL_DECLARE(filter_kernel);

static const char about[] =
    "The threads of each rank pack its small numbers, find the largest and count digits.";

/* How many results of a rank are wrong; its digits are added to those of the device. */
static int check_rank(const struct found *found, int rank, uint32_t *digits)
{
    uint32_t kept = 0, largest = 0;
    uint64_t where = 0;
    int wrong = 0;

    for (uint64_t i = 0; i < NUMBERS; i++) {
        const uint32_t number = NUMBER(rank, i);
        digits[number % DIGITS]++;
        if (number < LIMIT)
            wrong += found->number[kept++] != number;
        if (number > largest)
            where = i;
        largest = number > largest ? number : largest;
    }
    return wrong + (found->kept != kept) + (found->largest != largest) + (found->where != where);
}

/* 0 if all is right. */
static int filter(weft_job *job)
{
    const weft_numbers *n = weft_numbers_of(job);
    struct filter user = {.digits = {0}};
    uint32_t digits[DIGITS] = {0};
    int wrong = 0;

    if (weft_prepare(job, &filter_kernel, 128, 16) != WEFT_OK)
        return 1;
    const size_t bytes = (size_t)n->ranks_here * sizeof(struct found);
    struct found *found = malloc(bytes);
    user.found = weft_malloc(job, bytes);
    if (found == NULL || user.found == NULL ||
        weft_run(job, &user, sizeof(user), NULL) != WEFT_OK ||
        weft_copy(job, found, user.found, bytes) != WEFT_OK)
        return 1;
    for (int r = 0; r < n->ranks_here; r++)
        wrong += check_rank(&found[r], r, digits);
    for (int d = 0; d < DIGITS; d++)
        wrong += digits[d] != user.digits[d];
    if (n->process == 0)
        printf("%d ranks: rank 0 kept %u of %d numbers; the largest is %u, number %llu; %s\n",
               n->ranks, found->kept, NUMBERS, found->largest, (unsigned long long)found->where,
               wrong == 0 ? "right" : "wrong");
    weft_free(job, user.found);
    free(found);
    return wrong != 0;
}

int main(int argc, char **argv)
{
    weft_job *job;

    if (weft_open(&job, &argc, argv) != WEFT_OK)
        return 1;
    const int status = argc > 1 ? usage(job, argv[1], about) : filter(job);
    return weft_close(job) != WEFT_OK || !report_flushed() ? 1 : status;
}
