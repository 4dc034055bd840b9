/* suite_run.c - launches, streams, events, symbols, callbacks and threads. */
#include "suite.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { N = 4096, BLOCK = 256 };

static void launch_scale(int *a, int factor, int shift, cudaStream_t stream)
{
    void *parameters[] = {&a, &factor, &shift};

    OK(cudaLaunchKernel(&suite_scale, (dim3){N / BLOCK, 1, 1}, (dim3){BLOCK, 1, 1}, parameters, 0,
                        stream));
}

static void launch_slow(int *a, int add, cudaStream_t stream)
{
    void *parameters[] = {&a, &add};

    OK(cudaLaunchKernel(&suite_slow, (dim3){N / BLOCK, 1, 1}, (dim3){BLOCK, 1, 1}, parameters, 0,
                        stream));
}

/* ---- launches -------------------------------------------------------------------------------- */

void suite_launches(void)
{
    float *a = NULL, *b = NULL, *c = NULL;
    float there[N], back[N];
    int n = N - 1, blocks = 0;
    size_t shared = 0;
    struct cudaFuncAttributes attributes;
    const char *name = NULL;
    void *parameters[] = {&a, &b, &c, &n};
    const dim3 grid = {N / BLOCK, 1, 1}, block = {BLOCK, 1, 1};
    bool right = true;

    for (int i = 0; i < N; i++)
        there[i] = (float)i;
    OK(cudaMalloc((void **)&a, sizeof(there)));
    OK(cudaMalloc((void **)&b, sizeof(there)));
    OK(cudaMalloc((void **)&c, sizeof(there)));
    OK(cudaMemcpy(a, there, sizeof(there), cudaMemcpyHostToDevice));
    OK(cudaMemcpy(b, a, sizeof(there), cudaMemcpyDeviceToDevice));
    OK(cudaMemset(c, 0, sizeof(there)));
    OK(cudaLaunchKernel(&suite_add, grid, block, parameters, 0, NULL));
    OK(cudaMemcpy(back, c, sizeof(back), cudaMemcpyDeviceToHost));
    for (int i = 0; i < N; i++)
        right = right && back[i] == (i < n ? 2.0f * (float)i : 0.0f);
    CHECK(right);
    OK(cudaFuncGetAttributes(&attributes, &suite_add));
    CHECK(attributes.maxThreadsPerBlock >= 256 && attributes.numRegs > 0);
    OK(cudaFuncGetName(&name, &suite_add));
    CHECK(strstr(name, "vector_add") != NULL);
    OK(cudaFuncSetAttribute(&suite_add, cudaFuncAttributeMaxDynamicSharedMemorySize, 60000));
    OK(cudaFuncGetAttributes(&attributes, &suite_add)); /* not what was remembered */
    CHECK(attributes.maxDynamicSharedSizeBytes == 60000);
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, &suite_add, BLOCK, 0));
    CHECK(blocks >= 1);
    OK(cudaOccupancyAvailableDynamicSMemPerBlock(&shared, &suite_add, 1, BLOCK));
    CHECK(shared > 0);
    OK(cudaLaunchCooperativeKernel(&suite_add, grid, block, parameters, 0, NULL));
    IS(cudaErrorCooperativeLaunchTooLarge,
       cudaLaunchCooperativeKernel(&suite_add, (dim3){100000, 1, 1}, block, parameters, 0, NULL));
    IS(cudaErrorInvalidConfiguration,
       cudaLaunchKernel(&suite_add, grid, (dim3){2048, 1, 1}, parameters, 0, NULL));
    IS(cudaErrorInvalidConfiguration,
       cudaLaunchKernel(&suite_add, (dim3){0, 1, 1}, block, parameters, 0, NULL));
    IS(cudaErrorInvalidValue, cudaLaunchKernel(&suite_add, grid, block, parameters, 60001, NULL));
    IS(cudaErrorInvalidDeviceFunction,
       cudaLaunchKernel(&suite_missing, grid, block, parameters, 0, NULL));
    IS(cudaErrorInvalidDeviceFunction, cudaLaunchKernel(&n, grid, block, parameters, 0, NULL));
    CHECK(cudaGetLastError() == cudaErrorInvalidDeviceFunction);
    for (int i = 0; i < 2; i++) { /* what its code needs is told at once, too */
        const int wide = i == 0 ? 1024 : BLOCK;
        const cudaError_t error = cudaLaunchKernel(&suite_store, grid, (dim3){(unsigned)wide, 1, 1},
                                                   parameters, i == 0 ? 0 : 20000, NULL);
        CHECK(error != cudaSuccess && cudaGetLastError() == error);
    }
    OK(cudaFree(a));
    OK(cudaFree(b));
    OK(cudaFree(c));
}

/* ---- streams --------------------------------------------------------------------------------- */

static bool all_are(const int *values, int wanted)
{
    for (int i = 0; i < N; i++)
        if (values[i] != wanted)
            return false;
    return true;
}

static void stream_attributes(cudaStream_t first, cudaStream_t second)
{
    cudaStreamAttrValue value = {.syncPolicy = cudaSyncPolicyYield}, got = {.pad = {0}};

    OK(cudaStreamSetAttribute(first, cudaStreamAttributeSynchronizationPolicy, &value));
    OK(cudaStreamGetAttribute(first, cudaStreamAttributeSynchronizationPolicy, &got));
    CHECK(got.syncPolicy == cudaSyncPolicyYield);
    OK(cudaStreamCopyAttributes(second, first));
    got.syncPolicy = cudaSyncPolicyAuto;
    OK(cudaStreamGetAttribute(second, cudaStreamAttributeSynchronizationPolicy, &got));
    CHECK(got.syncPolicy == cudaSyncPolicyYield);
    IS(cudaErrorInvalidValue, cudaStreamSetAttribute(first, cudaStreamAttributePriority, NULL));
    CHECK(cudaGetLastError() == cudaErrorInvalidValue);
}

void suite_streams(void)
{
    enum { STREAMS = 4, STEPS = 8 };
    cudaStream_t streams[STREAMS];
    int *device[STREAMS], *host = NULL, priority = 1;
    unsigned flags = 0;
    unsigned long long id = 0, other = 0;
    enum cudaStreamCaptureStatus capturing;

    OK(cudaMallocHost((void **)&host, STREAMS * N * sizeof(int)));
    for (int s = 0; s < STREAMS; s++) {
        OK(cudaStreamCreateWithFlags(&streams[s], s % 2 ? cudaStreamNonBlocking : 0));
        OK(cudaMalloc((void **)&device[s], N * sizeof(int)));
        OK(cudaMemsetAsync(device[s], 0, N * sizeof(int), streams[s]));
        for (int step = 0; step < STEPS; step++)
            launch_scale(device[s], 2, s + 1, streams[s]); /* (s + 1) (2^STEPS - 1) */
        OK(cudaMemcpyAsync(host + s * N, device[s], N * sizeof(int), cudaMemcpyDeviceToHost,
                           streams[s]));
    }
    for (int s = 0; s < STREAMS; s++) {
        OK(cudaStreamSynchronize(streams[s]));
        OK(cudaStreamQuery(streams[s]));
        CHECK(all_are(host + s * N, (s + 1) * ((1 << STEPS) - 1)));
    }
    OK(cudaStreamGetFlags(streams[1], &flags));
    CHECK(flags == cudaStreamNonBlocking);
    OK(cudaStreamGetPriority(streams[1], &priority));
    CHECK(priority == 0);
    OK(cudaStreamGetId(streams[0], &id));
    OK(cudaStreamGetId(streams[1], &other));
    CHECK(id != other);
    OK(cudaStreamIsCapturing(streams[0], &capturing));
    CHECK(capturing == cudaStreamCaptureStatusNone);

    stream_attributes(streams[0], streams[2]);

    /* the default stream comes after what blocking streams were given before it */
    launch_slow(device[0], 1, streams[0]);
    launch_scale(device[0], 0, 5, NULL);
    OK(cudaMemcpy(host, device[0], N * sizeof(int), cudaMemcpyDeviceToHost));
    CHECK(all_are(host, 5));
    for (int s = 0; s < STREAMS; s++) {
        OK(cudaStreamDestroy(streams[s]));
        OK(cudaFree(device[s]));
    }
    OK(cudaFreeHost(host));
}

/* ---- the thread's own default stream ------------------------------------------------------------
 */

cudaError_t cudaMemsetAsync_ptsz(void *memory, int value, size_t bytes, cudaStream_t stream);
cudaError_t cudaMemcpy_ptds(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind);
cudaError_t cudaLaunchKernel_ptsz(const void *function, dim3 grid, dim3 block, void **parameters,
                                  size_t shared, cudaStream_t stream);
cudaError_t cudaStreamGetId_ptsz(cudaStream_t stream, unsigned long long *id);

struct own {
    unsigned long long id;
    int device, number;
    bool right;
};

/* Its fill, kernel and copy are in order; what others do meanwhile is not waited for. */
static void *use_own_stream(void *argument)
{
    struct own *own = argument;
    int *device = NULL, *host = calloc(N, sizeof(*host)), factor = 1, shift = own->number;
    void *parameters[] = {&device, &factor, &shift};
    unsigned long long named = 0, legacy = 0;
    unsigned flags = 99;

    OK(cudaSetDevice(own->device));
    OK(cudaMalloc((void **)&device, N * sizeof(int)));
    for (int i = 0; i < 3; i++) {
        OK(cudaMemsetAsync_ptsz(device, 0, N * sizeof(int), NULL));
        launch_slow(device, own->number, cudaStreamPerThread);
        OK(cudaLaunchKernel_ptsz(&suite_scale, (dim3){N / BLOCK, 1, 1}, (dim3){BLOCK, 1, 1},
                                 parameters, 0, NULL));
        OK(cudaMemcpy_ptds(host, device, N * sizeof(int), cudaMemcpyDeviceToHost));
        own->right = own->right && all_are(host, 2 * own->number);
    }
    launch_slow(device, 1, cudaStreamPerThread); /* the other default stream comes after it */
    OK(cudaMemcpy(host, device, N * sizeof(int), cudaMemcpyDeviceToHost));
    own->right = own->right && all_are(host, 2 * own->number + 1);
    OK(cudaStreamGetId_ptsz(NULL, &own->id));
    OK(cudaStreamGetId(cudaStreamPerThread, &named));
    OK(cudaStreamGetId(NULL, &legacy));
    OK(cudaStreamGetFlags(cudaStreamPerThread, &flags));
    CHECK(own->id == named && own->id != legacy && flags == cudaStreamDefault);
    if (!suite_trusts_handles)
        IS(cudaErrorInvalidResourceHandle, cudaStreamDestroy(cudaStreamPerThread));
    OK(cudaFree(device));
    free(host);
    return NULL;
}

void suite_own_streams(bool threads)
{
    enum { OWN = 4 };
    struct own own[OWN];
    pthread_t thread[OWN];
    int device = 0;

    OK(cudaGetDevice(&device));
    for (int i = 0; i < OWN; i++) {
        own[i] = (struct own){.device = device, .number = i + 1, .right = true};
        if (threads && i > 0)
            CHECK(pthread_create(&thread[i], NULL, use_own_stream, &own[i]) == 0);
    }
    use_own_stream(&own[0]);
    CHECK(own[0].right);
    (void)cudaGetLastError();
    for (int i = 1; threads && i < OWN; i++) {
        pthread_join(thread[i], NULL);
        CHECK(own[i].right && own[i].id != own[0].id);
    }
}

/* ---- events ---------------------------------------------------------------------------------- */

void suite_events(void)
{
    cudaStream_t first, second;
    cudaEvent_t done, start, end;
    int *device = NULL, *host = NULL;
    float milliseconds = -1;

    OK(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    OK(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
    OK(cudaEventCreate(&start));
    OK(cudaEventCreate(&end));
    OK(cudaMalloc((void **)&device, N * sizeof(int)));
    OK(cudaMallocHost((void **)&host, N * sizeof(int)));
    OK(cudaEventQuery(done)); /* never recorded */
    OK(cudaMemsetAsync(device, 0, N * sizeof(int), first));
    OK(cudaEventRecord(start, first));
    launch_slow(device, 7, first);
    OK(cudaEventRecord(done, first));
    OK(cudaStreamWaitEvent(second, done, 0));
    launch_scale(device, 3, 0, second);
    OK(cudaEventRecord(end, second));
    OK(cudaMemcpyAsync(host, device, N * sizeof(int), cudaMemcpyDeviceToHost, second));
    OK(cudaEventSynchronize(end));
    OK(cudaStreamSynchronize(second));
    CHECK(all_are(host, 21));
    OK(cudaEventElapsedTime(&milliseconds, start, end));
    CHECK(milliseconds >= 0);
    IS(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&milliseconds, start, done));
    CHECK(cudaGetLastError() == cudaErrorInvalidResourceHandle);
    OK(cudaEventDestroy(done));
    OK(cudaEventDestroy(start));
    OK(cudaEventDestroy(end));
    OK(cudaStreamDestroy(first));
    OK(cudaStreamDestroy(second));
    OK(cudaFree(device));
    OK(cudaFreeHost(host));
}

/* ---- symbols --------------------------------------------------------------------------------- */

void suite_symbols(void)
{
    int there[64], back[64] = {0}, *address = NULL;
    size_t bytes = 0;

    for (int i = 0; i < 64; i++)
        there[i] = i * i;
    OK(cudaGetSymbolSize(&bytes, &suite_table));
    CHECK(bytes == sizeof(there));
    OK(cudaMemcpyToSymbol(&suite_table, there, sizeof(there), 0, cudaMemcpyHostToDevice));
    OK(cudaMemcpyFromSymbol(back, &suite_table, 8 * sizeof(int), 8 * sizeof(int),
                            cudaMemcpyDeviceToHost));
    CHECK(memcmp(back, there + 8, 8 * sizeof(int)) == 0);
    OK(cudaGetSymbolAddress((void **)&address, &suite_table));
    OK(cudaMemcpy(back, address, sizeof(back), cudaMemcpyDeviceToHost));
    CHECK(memcmp(back, there, sizeof(there)) == 0);
    IS(cudaErrorInvalidSymbol, cudaGetSymbolAddress((void **)&address, &bytes));
    IS(cudaErrorInvalidValue,
       cudaMemcpyToSymbol(&suite_table, there, sizeof(there), 4, cudaMemcpyHostToDevice));
    CHECK(cudaGetLastError() == cudaErrorInvalidValue);
}

/* ---- callbacks ------------------------------------------------------------------------------- */

static void count_up(void *argument)
{
    __atomic_fetch_add((int *)argument, 1, __ATOMIC_RELEASE);
}

static void called(cudaStream_t stream, cudaError_t status, void *argument)
{
    (void)stream;
    if (status == cudaSuccess)
        count_up(argument);
}

/* It may not call what could wait for its stream. */
static void call_cuda(void *argument)
{
    void *memory;

    IS(cudaErrorNotPermitted, cudaMalloc(&memory, 8));
    IS(cudaErrorNotPermitted, cudaStreamSynchronize(argument));
}

void suite_callbacks(void)
{
    cudaStream_t stream;
    int calls = 0;

    OK(cudaStreamCreate(&stream));
    for (int i = 0; i < 5; i++)
        OK(cudaLaunchHostFunc(stream, count_up, &calls));
    OK(cudaStreamAddCallback(stream, called, &calls, 0));
    IS(cudaErrorInvalidValue, cudaStreamAddCallback(stream, called, &calls, 1));
    OK(cudaLaunchHostFunc(stream, call_cuda, stream));
    OK(cudaStreamSynchronize(stream));
    CHECK(__atomic_load_n(&calls, __ATOMIC_ACQUIRE) == 6);
    (void)cudaGetLastError();
    OK(cudaStreamDestroy(stream));
}

/* ---- threads --------------------------------------------------------------------------------- */

struct worker {
    pthread_t thread;
    int device, number;
    bool right;
};

static void *work(void *argument)
{
    struct worker *worker = argument;
    int *device = NULL, host[N], at = -1;
    cudaStream_t stream;

    OK(cudaGetDevice(&at));
    CHECK(at == 0); /* a thread begins with device 0 */
    OK(cudaSetDevice(worker->device));
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cudaMalloc((void **)&device, sizeof(host)));
    OK(cudaMemsetAsync(device, 0, sizeof(host), stream));
    for (int i = 0; i < 20; i++)
        launch_scale(device, 1, worker->number, stream);
    OK(cudaMemcpyAsync(host, device, sizeof(host), cudaMemcpyDeviceToHost, stream));
    OK(cudaStreamSynchronize(stream));
    worker->right = all_are(host, 20 * worker->number);
    OK(cudaFree(device));
    OK(cudaStreamDestroy(stream));
    return NULL;
}

void suite_threads(void)
{
    enum { WORKERS = 4 };
    struct worker workers[WORKERS];
    int device = 0;

    OK(cudaGetDevice(&device));
    for (int i = 0; i < WORKERS; i++) {
        workers[i] = (struct worker){.device = device, .number = i + 1};
        CHECK(pthread_create(&workers[i].thread, NULL, work, &workers[i]) == 0);
    }
    for (int i = 0; i < WORKERS; i++) {
        pthread_join(workers[i].thread, NULL);
        CHECK(workers[i].right);
    }
}
