/*
 * test_access.c - kernels that use memory of another server's device, after
 * cudaDeviceEnablePeerAccess: what CUDA answers, memory from before and after, order between
 * streams of two servers, memory that is freed while it is used. Arguments: servers, devices of
 * each; in processes. With a seed: sessions are tasks of this process.
 */
#include "access.h"
#include "forked.h"
#include "sessions.h"

#include <stdio.h>
#include <stdlib.h>

static int count; /* devices */

static void add(float *a, float *b, float *to, cudaStream_t stream)
{
    int n = N;
    void *parameters[] = {&a, &b, &to, &n};

    OK(cudaLaunchKernel(&suite_add, (dim3){N / BLOCK, 1, 1}, (dim3){BLOCK, 1, 1}, parameters, 0,
                        stream));
}

/* ---- answers --------------------------------------------------------------------------------- */

static void answers(void)
{
    for (int d = 0; d < count; d++)
        for (int p = 0; p < count; p++) {
            CHECK(access_can(d, p) == (d != p));
            access_on(d);
            if (d == p) {
                IS(cudaErrorInvalidDevice, cudaDeviceEnablePeerAccess(p, 0));
                continue;
            }
            IS(cudaErrorPeerAccessNotEnabled, cudaDeviceDisablePeerAccess(p));
            IS(cudaErrorInvalidValue, cudaDeviceEnablePeerAccess(p, 1));
            OK(cudaDeviceEnablePeerAccess(p, 0));
            IS(cudaErrorPeerAccessAlreadyEnabled, cudaDeviceEnablePeerAccess(p, 0));
            OK(cudaDeviceDisablePeerAccess(p));
            IS(cudaErrorPeerAccessNotEnabled, cudaDeviceDisablePeerAccess(p));
        }
    access_on(0);
    IS(cudaErrorInvalidDevice, cudaDeviceEnablePeerAccess(count, 0));
    IS(cudaErrorInvalidDevice, cudaDeviceEnablePeerAccess(-1, 0));
    (void)cudaGetLastError();
}

/* ---- memory ---------------------------------------------------------------------------------- */
/* From before and after, of every kind. */
static void kinds(int device, int far)
{
    int *const before = access_memory(far, 3 * SLAB), *const last =
                                                          before + 3 * SLAB / sizeof(int) - N;
    int *later = NULL, *managed = NULL;
    cudaStream_t stream;
    cudaMemPool_t pool;

    access_enable(device, far);
    CHECK(access_works(device, before, far));
    CHECK(access_works(device, last, far));
    access_on(far);
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cudaDeviceGetDefaultMemPool(&pool, far));
    OK(cudaMallocFromPoolAsync((void **)&later, 3 * SLAB, pool, stream));
    CHECK(access_works(device, later + 3 * SLAB / sizeof(int) - N, far));
    access_on(far);
    OK(cudaMallocManaged((void **)&managed, BYTES, cudaMemAttachGlobal));
    for (int i = 0; i < N; i++)
        managed[i] = i;
    access_on(device);
    access_slowly(managed, 1, NULL);
    OK(cudaDeviceSynchronize());
    for (int i = 0; i < N; i++)
        CHECK(managed[i] == i + 1);
    OK(cudaFree(managed));
    access_on(far);
    OK(cudaFreeAsync(later, stream));
    OK(cudaStreamDestroy(stream));
    OK(cudaFree(before));
    access_on(device);
    OK(cudaDeviceDisablePeerAccess(far));
}

/* A kernel of each device adds what the other one has, as events say, or who waits. */
static void order(int device, int far)
{
    float *mine = (float *)access_memory(device, BYTES), *its = (float *)access_memory(far, BYTES);
    cudaStream_t stream[2];
    cudaEvent_t event[2];

    for (int i = 0; i < 2; i++) {
        access_enable(i == 0 ? device : far, i == 0 ? far : device);
        OK(cudaStreamCreateWithFlags(&stream[i], cudaStreamNonBlocking));
        OK(cudaEventCreateWithFlags(&event[i], cudaEventDisableTiming));
        OK(cudaMemset(i == 0 ? mine : its, 0, BYTES));
        OK(cudaDeviceSynchronize());
    }
    access_on(device);
    access_slowly((int *)mine, 0x3f800000, stream[0]); /* 1.0 each */
    for (int i = 0; i < 10; i++) {                     /* its = its + mine, mine = mine + its */
        OK(cudaEventRecord(event[0], stream[0]));
        access_on(far);
        OK(cudaStreamWaitEvent(stream[1], event[0], 0));
        add(its, mine, its, stream[1]);
        if (i % 3 == 2)
            OK(cudaDeviceSynchronize());
        OK(cudaEventRecord(event[1], stream[1]));
        access_on(device);
        OK(cudaStreamWaitEvent(stream[0], event[1], 0));
        add(mine, its, mine, stream[0]);
    }
    OK(cudaStreamSynchronize(stream[0]));
    float back[2];
    OK(cudaMemcpy(&back[0], mine + N - 1, sizeof(float), cudaMemcpyDeviceToHost));
    OK(cudaMemcpy(&back[1], its + N - 1, sizeof(float), cudaMemcpyDeviceToHost));
    CHECK(back[0] == 10946 && back[1] == 6765); /* Fibonacci's */
    for (int i = 0; i < 2; i++) {
        access_on(i == 0 ? device : far);
        OK(cudaDeviceDisablePeerAccess(i == 0 ? far : device));
        OK(cudaStreamDestroy(stream[i]));
        OK(cudaEventDestroy(event[i]));
        OK(cudaFree(i == 0 ? mine : its));
    }
}

/* What is freed while a kernel of the other device uses it: who has the address next is not hurt.
 * rest: something else lies in the same slab, which stays. */
static void freed(int device, int far, bool rest, bool in_stream)
{
    int *const kept = rest ? access_memory(far, 512) : NULL, *const own =
                                                                 access_memory(device, BYTES);
    cudaStream_t stream;
    int *block = NULL;

    access_on(far);
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    access_enable(device, far);
    for (int i = 1; i <= 5; i++) {
        block = access_memory(far, BYTES);
        OK(cudaMemset(block, i, BYTES));
        OK(cudaDeviceSynchronize());
        access_on(device);
        for (int k = 0; k < 3; k++)
            access_slowly(in_stream ? own : block, 1, NULL);
        access_on(far);
        OK(in_stream ? cudaFreeAsync(block, stream) : cudaFree(block));
        OK(cudaStreamSynchronize(stream));
        int *const next =
            access_memory(far, BYTES); /* where it was, as soon as that is mapped no more */
        CHECK(in_stream || next == block);
        OK(cudaMemset(next, 0x11, BYTES));
        OK(cudaDeviceSynchronize());
        access_on(device);
        OK(cudaDeviceSynchronize());
        CHECK(access_all_are(next, far, 0x11111111));
        CHECK(access_works(device, next, far));
        OK(cudaFree(next));
    }
    access_on(device);
    OK(cudaDeviceDisablePeerAccess(far));
    OK(cudaFree(own));
    access_on(far);
    OK(cudaStreamDestroy(stream));
    if (rest)
        OK(cudaFree(kept));
}

/* A device that is reset has enabled nothing; what others have enabled of it stays. */
static void reset(int device, int far)
{
    int *its = access_memory(far, BYTES);

    access_enable(device, far);
    access_enable(far, device);
    CHECK(access_works(device, its, far));
    access_on(device);
    OK(cudaDeviceReset());
    IS(cudaErrorPeerAccessNotEnabled, cudaDeviceDisablePeerAccess(far));
    (void)cudaGetLastError();
    int *mine = access_memory(device, BYTES);
    CHECK(access_works(far, mine, device));
    access_enable(device, far);
    CHECK(access_works(device, its, far));
    access_on(device);
    OK(cudaDeviceDisablePeerAccess(far));
    access_on(far);
    OK(cudaDeviceDisablePeerAccess(device));
    OK(cudaFree(its));
    OK(cudaFree(mine));
}

static void access_all(void)
{
    answers();
    for (int d = 0; d < count; d++) {
        const int far = (d + count - 1) % count;
        kinds(d, far);
        order(d, far);
        for (int i = 0; i < 4; i++)
            freed(d, far, i % 2 != 0, i / 2 != 0);
        reset(d, far);
    }
}

int main(int argc, char **argv)
{
    const int servers = argc > 1 ? atoi(argv[1]) : 2, devices = argc > 2 ? atoi(argv[2]) : 1;
    const bool tasks = argc > 3;
    char options[64];

    count = servers * devices;
    if (tasks) {
        snprintf(options, sizeof(options), "memory=256M,seed=%s", argv[3]);
        sessions_direct = true;
        weft_cudart_use(sessions_begin(servers, devices, options));
        suite_register(NULL);
    } else if (!forked_join(servers, devices, "seed=3")) {
        return EXIT_FAILURE;
    }
    access_all();
    if (tasks && !sessions_end())
        return EXIT_FAILURE;
    if (!tasks)
        forked_end();
    return suite_end() ? EXIT_SUCCESS : EXIT_FAILURE;
}
