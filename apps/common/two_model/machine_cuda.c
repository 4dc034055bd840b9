/*
 * two_model/machine_cuda.c - a GPU: one stream, and a graph of the steps where the host has no part
 * in them.
 */
#include "machine.h"

#include <cuda_runtime_api.h>
#include <stdio.h>

const char machine_name[] = "cuda";

static cudaStream_t stream;
static cudaGraphExec_t two_steps;

static bool good(cudaError_t error, const char *what)
{
    if (error == cudaSuccess)
        return true;
    fprintf(stderr, "two-model: %s: %s\n", what, cudaGetErrorString(error));
    return false;
}

bool machine_open(int process)
{
    int devices = 0;
    return good(cudaGetDeviceCount(&devices), "cudaGetDeviceCount") &&
           good(cudaSetDevice(process % devices), "cudaSetDevice") &&
           good(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
}

void machine_close(void)
{
    if (two_steps)
        cudaGraphExecDestroy(two_steps);
    two_steps = NULL;
    if (stream)
        cudaStreamDestroy(stream);
    stream = NULL;
}

bool machine_copy(void *to, const void *from, size_t bytes)
{
    return good(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream), "cudaMemcpyAsync") &&
           machine_wait();
}

bool machine_wait(void)
{
    return good(cudaGetLastError(), "a launch") &&
           good(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
}

void *machine_stream(void)
{
    return stream;
}

uint32_t machine_threads(uint32_t wanted)
{
    return wanted;
}

bool machine_capture(bool enqueues, machine_step step, void *problem)
{
    cudaGraph_t graph = NULL;
    if (!enqueues)
        return true;
    if (!good(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal),
              "cudaStreamBeginCapture"))
        return false;
    const bool stepped = step(problem, 0) && step(problem, 1);
    const bool ended = good(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
    const bool made = stepped && ended &&
                      good(cudaGraphInstantiate(&two_steps, graph, 0), "cudaGraphInstantiate");
    if (graph)
        cudaGraphDestroy(graph);
    return made;
}

bool machine_repeat(machine_step step, void *problem, uint64_t count)
{
    uint64_t k = 0;
    for (; two_steps && k + 1 < count; k += 2)
        if (!good(cudaGraphLaunch(two_steps, stream), "cudaGraphLaunch"))
            return false;
    for (; k < count; k++)
        if (!step(problem, k))
            return false;
    return true;
}
