/*
 * test_again.c - who waits for an event waits for its record before that: another record, behind a
 * kernel that never ends, holds nobody up, on this server or another.
 */
#include "sessions.h"
#include "suite.h"

#include "remote/table/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { FILLS = 200 };

static void must(cudaError_t error, const char *what)
{
    if (error == cudaSuccess)
        return;
    fprintf(stderr, "again: %s: %s\n", what, cudaGetErrorName(error));
    exit(EXIT_FAILURE);
}

int main(void)
{
    cudaStream_t first, second;
    cudaEvent_t event;
    int one = 1, *memory;
    void *parameters[] = {&memory, &one};

    weft_cudart_use(sessions_begin(2, 1, "fault=hang:launch:1"));
    suite_register(NULL);
    must(cudaSetDevice(1), "device");
    must(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking), "stream");
    must(cudaSetDevice(0), "device");
    must(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking), "stream");
    must(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "event");
    must(cudaMalloc((void **)&memory, sizeof(int)), "memory");
    for (int i = 0; i < FILLS; i++) /* so that the event passes late */
        must(cudaMemsetAsync(memory, i, sizeof(int), first), "fill");
    must(cudaEventRecord(event, first), "record");
    must(cudaStreamWaitEvent(second, event, 0), "wait");
    must(cudaLaunchKernel(&suite_slow, (dim3){1, 1, 1}, (dim3){1, 1, 1}, parameters, 0, first),
         "launch");
    must(cudaEventRecord(event, first), "record again");
    must(cudaStreamSynchronize(second), "synchronize");
    if (cudaEventQuery(event) != cudaErrorNotReady)
        must(cudaErrorUnknown, "the kernel ended");
    puts("all good");
    fflush(stdout);
    _exit(EXIT_SUCCESS); /* the kernel goes on */
}
