/*
 * pieces - faces, corners and counts of cubes go round; rank 0 adds up how many arrived as they
 * are.
 */
#include <weft/weft.h>

#include "pieces.h"
#include "report.h"
#include "usage.h"

#include <stdio.h>

WEFT_KERNEL_DECLARE(pieces_kernel);

static const char about[] =
    "Faces, corners and counts of cubes go round; rank 0 adds up how many arrived as they are.";

/* 0 if the result is right. */
static int send_pieces(weft_job *job)
{
    const weft_numbers *n = weft_numbers_of(job);
    struct pieces user = {.sum = 0};
    const int most = MOST_RANKS / n->processes;

    if (most == 0 || weft_prepare(job, &pieces_kernel, 64, most < 8 ? most : 8) != WEFT_OK)
        return 1;
    user.parts = weft_malloc(job, (size_t)n->ranks_here * sizeof(*user.parts));
    if (user.parts == NULL || weft_run(job, &user, sizeof(user), NULL) != WEFT_OK)
        return 1;
    weft_free(job, user.parts);
    if (n->first_rank != 0)
        return 0; /* rank 0, and the result, is elsewhere */
    const uint64_t expected = (uint64_t)n->ranks * (SIDE * SIDE + CORNERS + 1);
    printf("%d ranks: %llu of %llu numbers arrived as they are\n", n->ranks,
           (unsigned long long)user.sum, (unsigned long long)expected);
    return user.sum != expected;
}

int main(int argc, char **argv)
{
    weft_job *job;

    if (weft_open(&job, &argc, argv) != WEFT_OK)
        return 1;
    const int status = argc > 1 ? usage(job, argv[1], about) : send_pieces(job);
    return weft_close(job) != WEFT_OK || !report_flushed() ? 1 : status;
}
