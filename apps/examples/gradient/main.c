/* gradient - all ranks add numbers of 16 bits to those of rank 0, which checks the sums. */
#include <weft/weft.h>

#include "gradient.h"
#include "report.h"
#include "usage.h"

#include <stdio.h>
#include <string.h>

WEFT_KERNEL_DECLARE(gradient_kernel);

static const char about[] = "All ranks add numbers of 16 bits to those of rank 0.";

static float value_of(uint16_t bf16)
{
    const uint32_t bits = (uint32_t)bf16 << 16;
    float value;

    memcpy(&value, &bits, sizeof(value));
    return value;
}

/* 0 if all is right. */
static int gradient(weft_job *job)
{
    const weft_numbers *n = weft_numbers_of(job);
    uint16_t sums[PARAMETERS];
    struct gradient user;
    int wrong = 0;

    if (weft_prepare(job, &gradient_kernel, 128, MOST_RANKS) != WEFT_OK)
        return 1;
    const size_t bytes = (size_t)n->ranks_here * sizeof(sums);
    user.sums = weft_malloc(job, bytes); /* zeros */
    user.own = weft_malloc(job, bytes);
    if (user.sums == NULL || user.own == NULL ||
        weft_run(job, &user, sizeof(user), NULL) != WEFT_OK ||
        weft_copy(job, sums, user.sums, sizeof(sums)) != WEFT_OK)
        return 1;
    if (n->process == 0) { /* rank 0 is here */
        for (int i = 0; i < PARAMETERS; i++)
            wrong += value_of(sums[i]) != (float)n->ranks;
        printf("%d ranks added %d gradients: %s\n", n->ranks, PARAMETERS,
               wrong == 0 ? "right" : "wrong");
    }
    weft_free(job, user.sums);
    weft_free(job, user.own);
    return wrong != 0;
}

int main(int argc, char **argv)
{
    weft_job *job;

    if (weft_open(&job, &argc, argv) != WEFT_OK)
        return 1;
    const int status = argc > 1 ? usage(job, argv[1], about) : gradient(job);
    return weft_close(job) != WEFT_OK || !report_flushed() ? 1 : status;
}
