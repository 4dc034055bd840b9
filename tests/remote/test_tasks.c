/*
 * test_tasks.c - the conformance suite over remote GPUs: sessions are tasks of this process, so
 * that sanitizers see both sides. Arguments: servers, devices of each, seed.
 */
#include "sessions.h"
#include "suite.h"

#include "base/launcher.h"
#include "remote/table/table.h"

#include <stdio.h>
#include <stdlib.h>

/* A handle names nothing any more, also when another stream has its place. */
static bool stale_is_refused(void)
{
    cudaStream_t stale, next;

    return cudaStreamCreate(&stale) == cudaSuccess && cudaStreamDestroy(stale) == cudaSuccess &&
           cudaStreamCreate(&next) == cudaSuccess &&
           cudaStreamSynchronize(stale) == cudaErrorInvalidResourceHandle &&
           cudaStreamDestroy(next) == cudaSuccess;
}

/* A device's context is made when it is first used, not before. */
static bool contexts_are_lazy(int servers, int devices_each)
{
    void *memory;
    int devices = 0;

    bool good = sessions_contexts() == servers && cudaGetDeviceCount(&devices) == cudaSuccess &&
                cudaSetDevice(devices - 1) == cudaSuccess &&
                cudaMallocHost(&memory, 4096) == cudaSuccess &&
                cudaFreeHost(memory) == cudaSuccess && sessions_contexts() == servers &&
                cudaMalloc(&memory, 4096) == cudaSuccess && cudaFree(memory) == cudaSuccess;
    const bool made =
        devices_each > 1 && weft_launcher_gpus() == NULL; /* it is no server's first */
    return good && sessions_contexts() == servers + made && cudaSetDevice(0) == cudaSuccess;
}

int main(int argc, char **argv)
{
    const int servers = argc > 1 ? atoi(argv[1]) : 1, devices = argc > 2 ? atoi(argv[2]) : 1;
    char options[64];

    sessions_direct = true;
    snprintf(options, sizeof(options), "memory=256M,seed=%d", argc > 3 ? atoi(argv[3]) : 1);
    weft_cudart_use(sessions_begin(servers, devices, options));
    suite_register(NULL);
    const bool good = contexts_are_lazy(servers, devices) && suite_run() && stale_is_refused();
    return sessions_end() && good ? EXIT_SUCCESS : EXIT_FAILURE;
}
