/*
 * get - a table of keys that lies in all ranks' memory, read and updated without their help.
 */
#include <weft/weft.h>

#include "get.h"
#include "report.h"
#include "usage.h"

#include <stdio.h>
#include <stdlib.h>

WEFT_KERNEL_DECLARE(get_kernel);

static const char about[] =
    "A table of keys that lies in all ranks' memory, read and updated without their help.";

/* How many sums are wrong in all, at process 0. */
static weft_status add_up(weft_job *job, const struct cell *found, uint64_t *wrong)
{
    const weft_numbers *n = weft_numbers_of(job);
    struct cell *all = calloc((size_t)n->ranks, sizeof(*all));
    struct cell *mine = calloc((size_t)n->ranks_here, sizeof(*mine));
    weft_status status = all != NULL && mine != NULL ? WEFT_OK : WEFT_ERR_MEMORY;

    if (status == WEFT_OK)
        status = weft_copy(job, mine, found, (size_t)n->ranks_here * sizeof(*mine));
    if (status == WEFT_OK)
        status = weft_host_gather(job, 0, mine, (size_t)n->ranks_here * sizeof(*mine), all);
    for (int r = 0; status == WEFT_OK && n->process == 0 && r < n->ranks; r++)
        *wrong += all[r].value;
    free(all);
    free(mine);
    return status;
}

static int run_get(weft_job *job)
{
    const weft_numbers *n = weft_numbers_of(job);
    struct get user = {.places = 2 * KEYS};
    uint64_t wrong = 0;

    if (weft_prepare(job, &get_kernel, 32, 8) != WEFT_OK)
        return 1;
    const size_t here = (size_t)n->ranks_here;
    user.cells = weft_malloc(job, here * user.places * sizeof(*user.cells));
    user.found = weft_malloc(job, here * sizeof(*user.found));
    user.count = weft_malloc(job, sizeof(*user.count));
    if (user.cells == NULL || user.found == NULL || user.count == NULL ||
        weft_run(job, &user, sizeof(user), NULL) != WEFT_OK ||
        add_up(job, user.found, &wrong) != WEFT_OK)
        return 1;
    weft_free(job, user.cells);
    weft_free(job, user.found);
    weft_free(job, user.count);
    if (n->process == 0 && wrong == 0)
        printf("get: %d processes, %d ranks: all sums right\n", n->processes, n->ranks);
    else if (n->process == 0)
        fprintf(stderr, "get: %llu sums are wrong\n", (unsigned long long)wrong);
    return n->process == 0 && wrong != 0;
}

int main(int argc, char **argv)
{
    weft_job *job;

    if (weft_open(&job, &argc, argv) != WEFT_OK)
        return 1;
    const int status = argc > 1 ? usage(job, argv[1], about) : run_get(job);
    return weft_close(job) != WEFT_OK || !report_flushed() ? 1 : status;
}
