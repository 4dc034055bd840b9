/*
 * support/pgas_open.h - a test opens the address space; or says why it cannot be there, and that
 * nothing of it stays.
 */
#ifndef TEST_PGAS_OPEN_H
#define TEST_PGAS_OPEN_H

#include "support/test.h"

#include <weft/pgas.h>

#include "runtime/job/job.h"

#include <stdio.h>

/* Pieces of weft_malloc's memory that this process has. */
static inline int test_pieces(const weft_job *job)
{
    const struct weft_process *const self = &job->processes[job->numbers.process];
    int pieces = 0;

    for (uint32_t i = 0; i < self->segments_count; i++)
        pieces += self->segments[i].address != NULL;
    return pieces;
}

/* False: the test ends. A heap in a GPU's host memory is mapped by no other process. */
static inline bool test_pgas_open(struct test_env *env)
{
    const bool refused =
        env->mapped_only && env->numbers->processes > 1 && !env->job->device_ops->host_access;
    const int before = test_pieces(env->job);

    env->expect = refused ? WEFT_ERR_UNSUPPORTED : WEFT_OK;
    const bool good = TEST_EQ(env, weft_pgas_open(env->job), env->expect) && !refused;
    if (refused) {
        TEST_EQ(env, test_pieces(env->job), before);
        printf("no address space: WEFT_PATH=direct, and other processes do not map host memory of "
               "one that drives a GPU\n");
    }
    return good;
}

/* Gives the heap's numbers. All segments but one, always the same, are free, not only dropped. */
static inline weft_heap_numbers test_pgas_numbers(struct test_env *env)
{
    weft_heap_numbers numbers;
    weft_gspan span;

    for (int i = 0; i < 2; i++) {
        TEST_OK(env, weft_galloc(env->job, WEFT_COMM_HOST, 8, &span));
        TEST_OK(env, weft_gfree(env->job, &span));
    }
    TEST_OK(env, weft_host_heap_numbers(env->job, &numbers));
    return numbers;
}

/* Closes, and checks that nothing of the heap is lost. */
static inline void test_pgas_close(struct test_env *env, const weft_heap_numbers *before)
{
    const weft_heap_numbers after = test_pgas_numbers(env);

    TEST_EQ(env, after.free, before->free);
    TEST_EQ(env, after.largest >= before->largest / 2, true); /* one lies in it */
    TEST_OK(env, weft_pgas_close(env->job));
}

/* Waits until all that processes have sent is there. */
static inline void test_pgas_meet(struct test_env *env)
{
    TEST_OK(env, weft_host_gflush(env->job));
    TEST_OK(env, weft_host_barrier(env->job));
}

#endif
