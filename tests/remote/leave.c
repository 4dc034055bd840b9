/*
 * leave.c - a program that ends while others of its threads are in the runtime. Arguments: how:
 * thread: threads copy and launch callbacks without end; callback: a callback calls exit; blocked:
 * a callback does not return.
 */
#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BYTES = 1 << 20, THREADS = 8 };

static int began;

static void nothing(void *argument)
{
    (void)argument;
}

static void leave(void *argument)
{
    (void)argument;
    exit(EXIT_SUCCESS);
}

static void block(void *argument)
{
    (void)argument;
    __atomic_store_n(&began, 1, __ATOMIC_RELEASE);
    for (;;)
        pause();
}

static void *copy(void *argument)
{
    char *device = NULL, *host = NULL, *pageable = malloc(BYTES);

    (void)argument;
    while (cudaMalloc((void **)&device, BYTES) == cudaSuccess &&
           cudaMallocHost((void **)&host, BYTES) == cudaSuccess &&
           cudaMemcpyAsync(device, host, BYTES, cudaMemcpyDefault, NULL) == cudaSuccess &&
           cudaLaunchHostFunc(NULL, nothing, NULL) == cudaSuccess &&
           cudaMemcpy(pageable, device, BYTES, cudaMemcpyDefault) == cudaSuccess &&
           cudaFreeHost(host) == cudaSuccess && cudaFree(device) == cudaSuccess)
        __atomic_fetch_add(&began, 1, __ATOMIC_RELEASE);
    pause(); /* closing: main returns */
    return NULL;
}

static void await(int least)
{
    while (__atomic_load_n(&began, __ATOMIC_ACQUIRE) < least)
        usleep(1000);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    pthread_t thread;

    if (strcmp(how, "thread") == 0) {
        for (int i = 0; i < THREADS; i++)
            pthread_create(&thread, NULL, copy, NULL);
        await(2 * THREADS);
        return EXIT_SUCCESS;
    }
    if (cudaLaunchHostFunc(NULL, strcmp(how, "callback") == 0 ? leave : block, NULL) != cudaSuccess)
        return EXIT_FAILURE;
    if (strcmp(how, "callback") == 0)
        cudaDeviceSynchronize();
    await(1);
    return EXIT_SUCCESS;
}
