/*
 * moe - the shortest mixture of experts: each process has one expert and one token, which chooses
 * this process's expert and the next one's. Expert e multiplies by e + 1.
 */
#include <weft/ccl.h>

#include "report.h"
#include "usage.h"

#include <stdio.h>

static const char about[] = "The shortest mixture of experts: dispatch, experts, combine.";

enum { FLOATS = 4 };

static int mix(weft_job *job)
{
    const int n = weft_numbers_of(job)->processes, me = weft_numbers_of(job)->process;
    const weft_ccl_moe_desc desc = {
        .experts = n, .topk = 2, .tokens = 1, .row_bytes = FLOATS * sizeof(float)};
    const int32_t chosen[2] = {me, n > 1 ? (me + 1) % n : -1};
    const float weights[2] = {0.5f, 0.25f};
    _Alignas(16) float row[FLOATS], out[8 * FLOATS], sum[FLOATS];
    weft_ccl_moe *moe = NULL;
    weft_ccl *ccl = NULL;
    int32_t count;

    for (int i = 0; i < FLOATS; i++)
        row[i] = (float)(10 * me + i);
    if (weft_ccl_open(job, WEFT_COMM_HOST, 0, &ccl) != WEFT_OK ||
        weft_ccl_moe_open(ccl, &desc, &moe) != WEFT_OK ||
        weft_ccl_dispatch(moe, row, chosen, 1, out, &count, NULL, NULL) != WEFT_OK)
        return 1;
    for (int i = 0; i < count * FLOATS; i++) /* the expert */
        out[i] *= (float)(me + 1);
    if (weft_ccl_combine(moe, out, weights, WEFT_F32, sum, NULL) != WEFT_OK ||
        weft_ccl_moe_close(&moe) != WEFT_OK || weft_ccl_close(&ccl) != WEFT_OK)
        return 1;
    const float all = n > 1 ? 0.5f * (float)(me + 1) + 0.25f * (float)((me + 1) % n + 1) : 0.5f;
    printf("process %d: the expert had %d rows; %g became %g\n", me, (int)count, row[1], sum[1]);
    return sum[1] != all * row[1];
}

int main(int argc, char **argv)
{
    weft_job *job;

    if (weft_open(&job, &argc, argv) != WEFT_OK)
        return 1;
    const int status = argc > 1 ? usage(job, argv[1], about) : mix(job);
    return weft_close(job) != WEFT_OK || !report_flushed() ? 1 : status;
}
