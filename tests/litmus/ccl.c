/*
 * litmus/ccl.c - collectives of the two host programs' devices: calls follow each other, their
 * sources are overwritten at once, and what came is compared; so words and pieces are used again
 * and again.
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
