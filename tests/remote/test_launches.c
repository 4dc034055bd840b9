/*
 * test_launches.c - launches of a program that waits for a callback of its own: what no launch may
 * have is told at once, and what a held call changes counts for those after it.
 */
#include "sessions.h"
#include "suite.h"

#include "base/task.h"
#include "remote/client/inside.h"
#include "remote/table/table.h"

#include <stdio.h>
#include <stdlib.h>

static unsigned char *memory;
static int wrong;

static void must(cudaError_t error, const char *what)
{
    if (error == cudaSuccess)
        return;
    fprintf(stderr, "launches: %s: %s\n", what, cudaGetErrorName(error));
    exit(EXIT_FAILURE);
}

static void block(void *argument)
{
    while (!__atomic_load_n((int *)argument, __ATOMIC_ACQUIRE))
        weft_task_yield(true);
}

/* What no launch of a kernel may have is told at once, also where it would be held. */
static void test_refused_launches(void)
{
    static const struct {
        const char *kernel;
        unsigned blocks, threads;
        size_t shared;
        cudaError_t error;
    } bad[] = {{&suite_store, 1, 1024, 0, cudaErrorLaunchOutOfResources},
               {&suite_store, 1, 32, 20000, cudaErrorInvalidValue},
               {&suite_add, 100000, 256, 0, cudaErrorCooperativeLaunchTooLarge}};
    void *parameters[] = {&memory, &memory, &memory, &(int){0}};
    const dim3 one = {1, 1, 1};
    cudaStream_t held;
    int open = 0;

    must(cudaStreamCreateWithFlags(&held, cudaStreamNonBlocking), "stream");
    must(cudaLaunchHostFunc(held, block, &open), "callback");
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        const dim3 grid = {bad[i].blocks, 1, 1}, threads = {bad[i].threads, 1, 1};
        if (bad[i].error == cudaErrorCooperativeLaunchTooLarge)
            (void)cudaLaunchCooperativeKernel(bad[i].kernel, grid, threads, parameters, 0, held);
        else
            (void)cudaLaunchKernel(bad[i].kernel, grid, threads, parameters, bad[i].shared, held);
        wrong += cudaGetLastError() != bad[i].error;
        must(cudaLaunchCooperativeKernel(&suite_add, one, one, parameters, 0, held), "launch");
    }
    wrong += cudaStreamQuery(held) != cudaErrorNotReady;
    (void)cudaGetLastError();
    __atomic_store_n(&open, 1, __ATOMIC_RELEASE);
    must(cudaStreamSynchronize(held), "synchronize");
    must(cudaStreamDestroy(held), "stream");
}

/* A held change of a kernel decides what its launches may have; an error that comes meanwhile is
 * not taken for an attribute that the driver does not know. */
static void test_held_attribute(void)
{
    const enum cudaFuncAttribute most = cudaFuncAttributeMaxDynamicSharedMemorySize;
    void *parameters[] = {&memory, &(int){1}, &(int){0}};
    const dim3 one = {1, 1, 1};
    struct cudaFuncAttributes got;
    cudaStream_t held;
    int open = 0;

    must(cudaStreamCreateWithFlags(&held, cudaStreamNonBlocking), "stream");
    must(cudaFuncGetAttributes(&got, &suite_store), "attributes");
    must(cudaFuncSetAttribute(&suite_scale, most, 0), "attribute");
    must(cudaLaunchHostFunc(held, block, &open), "callback");
    must(cudaLaunchKernel(&suite_scale, one, one, parameters, 0, held), "launch");
    must(cudaFuncSetAttribute(&suite_scale, most, 60000), "attribute");
    must(cudaLaunchCooperativeKernel(&suite_scale, one, one, parameters, 60000, held), "launch");
    wrong += cudaLaunchKernel(&suite_scale, one, one, parameters, 60001, held) !=
             cudaErrorInvalidValue; /* at once */
    wrong += cudaFuncSetAttribute(&suite_scale, most, 1 << 24) != cudaSuccess;
    __atomic_store_n(&open, 1, __ATOMIC_RELEASE);
    cudaError_t error = cudaSuccess;
    while (error == cudaSuccess) {
        wrong +=
            cudaFuncGetAttributes(&got, &suite_store) != cudaSuccess || got.sharedSizeBytes == 0;
        error = cudaDeviceSynchronize();
    }
    wrong += error != cudaErrorInvalidValue;
    (void)cudaGetLastError();
    must(cudaStreamSynchronize(held), "synchronize");
    must(cudaStreamDestroy(held), "stream");
}

int main(void)
{
    weft_cudart_use(sessions_begin(2, 1, "memory=256M"));
    suite_register(NULL);
    must(cudaMalloc((void **)&memory, 65536), "memory");
    test_refused_launches();
    test_held_attribute();
    printf("launches: %d wrong\n", wrong);
    return sessions_end() && wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
