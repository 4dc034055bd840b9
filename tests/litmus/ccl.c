/*
 * litmus/ccl.c - collectives of the two host programs' devices: calls follow each other, their
 * sources are overwritten at once, and what came is compared; so words, pieces, and the buffers of
 * a mixture of experts are used again and again.
 */
#include "messages.h"

#include <weft/ccl.h>

#include <stdio.h>

enum { CALLS = 8, COUNT = 100 };

static uint32_t element(int call, int member, int i)
{
    return (uint32_t)(call * 10007 + member * 101 + i * 31);
}

static int make(weft_ccl *ccl, int call)
{
    const int me = weft_ccl_me(ccl), count = call % 3 == 0 ? 1 : COUNT;
    uint32_t data[COUNT], all[2 * COUNT];
    int wrong = 0;

    for (int i = 0; i < count; i++)
        data[i] = element(call, me, i);
    if (weft_ccl_allreduce(ccl, data, data, (size_t)count, WEFT_U32, WEFT_SUM, NULL) != WEFT_OK)
        return 1;
    for (int i = 0; i < count; i++)
        wrong += data[i] != element(call, 0, i) + element(call, 1, i);
    for (int i = 0; i < count; i++)
        data[i] = element(call + CALLS, me, i);
    if (weft_ccl_allgather(ccl, data, all, (size_t)count, WEFT_U32, NULL) != WEFT_OK)
        return 1;
    for (int i = 0; i < 2 * count; i++)
        wrong += all[i] != element(call + CALLS, i / count, i % count);
    if (wrong != 0)
        fprintf(stderr, "litmus ccl: call %d: %d elements are wrong\n", call, wrong);
    return wrong != 0;
}

int litmus_ccl(weft_job *job)
{
    weft_ccl *ccl;
    int failed = 0;

    if (weft_ccl_open(job, WEFT_COMM_HOST, 1, &ccl) != WEFT_OK)
        return 1;
    for (int call = 0; call < CALLS && !failed; call++)
        failed = make(ccl, call);
    return weft_ccl_close(&ccl) != WEFT_OK || failed;
}

/* ---- a mixture of experts: each member has one, which all tokens choose -----------------------
 */

enum { TOKENS = 3, ROW = 8 /* elements */, ROWS = 2 * TOKENS };

static float row_element(int call, int member, int token, int i)
{
    return (float)((call * 7 + member * 5 + token * 3 + i) % 64);
}

/* Rows of both members, doubled by both experts, with the weights 1 and 2. */
static int mix(weft_ccl_moe *moe, int call, int me)
{
    static const int32_t chosen[2 * TOKENS] = {0, 1, 1, 0, 0, 1};
    static const float weights[2 * TOKENS] = {1, 2, 1, 2, 1, 2};
    _Alignas(16) float rows[TOKENS * ROW], out[ROWS * ROW], sum[TOKENS * ROW];
    const int tokens = 1 + call % TOKENS;
    int32_t count;
    int wrong = 0;

    for (int i = 0; i < tokens * ROW; i++)
        rows[i] = row_element(call, me, i / ROW, i % ROW);
    if (weft_ccl_dispatch(moe, rows, chosen, tokens, out, &count, NULL, NULL) != WEFT_OK)
        return 1;
    wrong += count != 2 * tokens;
    for (int i = 0; i < 2 * tokens * ROW; i++) {
        const int token = i / ROW % tokens;
        wrong += out[i] != row_element(call, i / ROW / tokens, token, i % ROW);
        out[i] *= 2;
    }
    if (call % 2 == 0) /* else the next dispatch follows this one */
        return wrong;
    if (weft_ccl_combine(moe, out, weights, WEFT_F32, sum, NULL) != WEFT_OK)
        return 1;
    for (int i = 0; i < tokens * ROW; i++)
        wrong += sum[i] != 6 * row_element(call, me, i / ROW, i % ROW);
    return wrong;
}

int litmus_experts(weft_job *job)
{
    const weft_ccl_moe_desc desc = {
        .experts = 2, .topk = 2, .tokens = TOKENS, .row_bytes = ROW * sizeof(float)};
    weft_ccl_moe *moe;
    weft_ccl *ccl;
    int wrong = 0;

    if (weft_ccl_open(job, WEFT_COMM_HOST, 1, &ccl) != WEFT_OK ||
        weft_ccl_moe_open(ccl, &desc, &moe) != WEFT_OK)
        return 1;
    for (int call = 0; call < CALLS && wrong == 0; call++)
        wrong = mix(moe, call, weft_ccl_me(ccl));
    if (wrong != 0)
        fprintf(stderr, "litmus experts: %d rows, or elements, are wrong\n", wrong);
    return weft_ccl_moe_close(&moe) != WEFT_OK || weft_ccl_close(&ccl) != WEFT_OK || wrong != 0;
}
