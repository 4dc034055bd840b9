/*
 * suite_other.c - memory of a device that is not the current one, or not the stream's: copies from
 * and to the host, on that device, of rows, fills, and kernels of an enabled peer.
 */
#include "suite.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 1 << 20, WIDTH = 100, ROWS = 50, PITCH = 512, N = 4096, BLOCK = 256 };

static unsigned char *there, *back; /* of the host: pinned or pageable */
static unsigned char *device;       /* of the other device */
static unsigned seed;

/* Other bytes in each round, so that none of an earlier one counts. */
static void begin(size_t bytes)
{
    seed++;
    for (size_t i = 0; i < bytes; i++)
        there[i] = (unsigned char)(seed * 31 + i * 7 + (i >> 8));
    memset(back, 0, bytes);
}

static void waited(size_t bytes)
{
    begin(bytes);
    OK(cudaMemcpy(device, there, bytes, cudaMemcpyDefault));
    OK(cudaMemcpy(back, device, bytes, cudaMemcpyDefault));
    CHECK(memcmp(there, back, bytes) == 0);
    begin(bytes);
    OK(cudaMemcpy(device, there, bytes, cudaMemcpyHostToDevice));
    OK(cudaMemcpy(device + MOST, device, bytes, cudaMemcpyDeviceToDevice));
    OK(cudaMemcpy(back, device + MOST, bytes, cudaMemcpyDeviceToHost));
    CHECK(memcmp(there, back, bytes) == 0);
}

static void in_stream(size_t bytes, cudaStream_t stream)
{
    begin(bytes);
    OK(cudaMemcpyAsync(device, there, bytes, cudaMemcpyDefault, stream));
    OK(cudaMemcpyAsync(device + MOST, device, bytes, cudaMemcpyDefault, stream));
    OK(cudaMemcpyAsync(back, device + MOST, bytes, cudaMemcpyDefault, stream));
    OK(cudaStreamSynchronize(stream));
    CHECK(memcmp(there, back, bytes) == 0);
}

/* From the host to the one, on to the other device, on there, and back. */
static void rows(unsigned char *current)
{
    unsigned char *far = device + MOST;

    begin(WIDTH * ROWS);
    OK(cudaMemcpy2D(current, PITCH, there, WIDTH, WIDTH, ROWS, cudaMemcpyHostToDevice));
    OK(cudaMemcpy2D(device, PITCH, current, PITCH, WIDTH, ROWS, cudaMemcpyDeviceToDevice));
    OK(cudaMemcpy2D(far, PITCH, device, PITCH, WIDTH, ROWS, cudaMemcpyDeviceToDevice));
    OK(cudaMemcpy2D(back, WIDTH, far, PITCH, WIDTH, ROWS, cudaMemcpyDeviceToHost));
    CHECK(memcmp(there, back, WIDTH * ROWS) == 0);
    begin(WIDTH * ROWS);
    OK(cudaMemcpy2D(device, PITCH, there, WIDTH, WIDTH, ROWS, cudaMemcpyHostToDevice));
    OK(cudaMemcpy2D(current, PITCH, device, PITCH, WIDTH, ROWS, cudaMemcpyDeviceToDevice));
    OK(cudaMemcpy2D(back, WIDTH, current, PITCH, WIDTH, ROWS, cudaMemcpyDeviceToHost));
    CHECK(memcmp(there, back, WIDTH * ROWS) == 0);
}

/* CUDA does not say whether a device may do this to another's memory: not asked of the driver. */
static void undocumented(int other, int current)
{
    unsigned char *table = NULL;

    OK(cudaSetDevice(other));
    OK(cudaGetSymbolAddress((void **)&table, &suite_table));
    OK(cudaSetDevice(current));
    OK(cudaMemset(device, 0x11, MOST));
    OK(cudaMemset2D(device, PITCH, 0x22, WIDTH, ROWS));
    OK(cudaMemcpy(back, device, 2 * PITCH, cudaMemcpyDefault));
    CHECK(back[WIDTH - 1] == 0x22 && back[WIDTH] == 0x11 && back[PITCH] == 0x22);
    begin(sizeof(int) * 64);
    OK(cudaMemcpy(table, there, sizeof(int) * 64, cudaMemcpyDefault));
    OK(cudaMemcpy(back, table, sizeof(int) * 64, cudaMemcpyDefault));
    CHECK(memcmp(there, back, sizeof(int) * 64) == 0);
}

static void kernel_there(int *memory)
{
    int factor = 0, shift = 7 + (int)seed++, first = 0, last = 0;
    void *parameters[] = {&memory, &factor, &shift};

    OK(cudaLaunchKernel(&suite_scale, (dim3){N / BLOCK, 1, 1}, (dim3){BLOCK, 1, 1}, parameters, 0,
                        NULL));
    OK(cudaDeviceSynchronize());
    OK(cudaMemcpy(&first, memory, sizeof(first), cudaMemcpyDefault));
    OK(cudaMemcpy(&last, memory + N - 1, sizeof(last), cudaMemcpyDefault));
    CHECK(first == shift && last == shift);
}

/* A kernel runs on the current device, in a stream of that. */
static void wrong_stream(int *memory, cudaStream_t its)
{
    int factor = 1, shift = 0;
    void *parameters[] = {&memory, &factor, &shift};

    IS(cudaErrorInvalidResourceHandle,
       cudaLaunchKernel(&suite_scale, (dim3){1, 1, 1}, (dim3){1, 1, 1}, parameters, 0, its));
    CHECK(cudaGetLastError() == cudaErrorInvalidResourceHandle);
}

/* What was allocated before the peer was enabled, and after. */
static void peers(int other, int current)
{
    int *later = NULL, can = 0;

    OK(cudaDeviceCanAccessPeer(&can, current, other));
    if (!can)
        return;
    OK(cudaDeviceEnablePeerAccess(other, 0));
    IS(cudaErrorPeerAccessAlreadyEnabled, cudaDeviceEnablePeerAccess(other, 0));
    CHECK(cudaGetLastError() == cudaErrorPeerAccessAlreadyEnabled);
    kernel_there((int *)(void *)device);
    OK(cudaSetDevice(other));
    OK(cudaMalloc((void **)&later, 64 << 20));
    OK(cudaSetDevice(current));
    kernel_there(later + (8 << 20));
    OK(cudaDeviceDisablePeerAccess(other));
    waited(4);
    OK(cudaFree(later));
}

/* Memory of a pool of the other device, which the current one is let reach. */
static void pools(int other, int current)
{
    const struct cudaMemPoolProps properties = {.allocType = cudaMemAllocationTypePinned,
                                                .location = {cudaMemLocationTypeDevice, other}};
    const struct cudaMemAccessDesc access = {{cudaMemLocationTypeDevice, current},
                                             cudaMemAccessFlagsProtReadWrite};
    uint64_t threshold = 1 << 20, got = 0;
    cudaMemPool_t pool, theirs, first;
    int *memory = NULL, can = 0;
    struct cudaPointerAttributes attributes;

    OK(cudaDeviceGetDefaultMemPool(&first, other));
    OK(cudaMemPoolCreate(&pool, &properties));
    OK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
    OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &got));
    CHECK(got == threshold);
    IS(cudaErrorNotSupported, cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &got));
    IS(cudaErrorInvalidValue, cudaDeviceSetMemPool(current, pool));
    CHECK(cudaGetLastError() == cudaErrorInvalidValue);
    OK(cudaDeviceSetMemPool(other, pool));
    OK(cudaDeviceGetMemPool(&theirs, other));
    CHECK(theirs == pool && pool != first);
    OK(cudaMallocFromPoolAsync((void **)&memory, N * sizeof(int), pool, NULL));
    OK(cudaPointerGetAttributes(&attributes, memory));
    CHECK(attributes.device == other);
    OK(cudaDeviceCanAccessPeer(&can, current, other));
    if (can) {
        OK(cudaMemPoolSetAccess(pool, &access, 1));
        OK(cudaMemPoolSetAccess(pool, &access, 1));
        CHECK(cudaGetLastError() == cudaSuccess);
        kernel_there(memory);
        OK(cudaDeviceDisablePeerAccess(other));
    }
    OK(cudaMemPoolDestroy(pool));
    OK(cudaDeviceGetMemPool(&theirs, other));
    CHECK(theirs == first);
    OK(cudaFree(memory));
}

static void copies(cudaStream_t mine, cudaStream_t its)
{
    static const size_t sizes[] = {4, 65536, MOST};

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        waited(sizes[i]);
        in_stream(sizes[i], mine);
        in_stream(sizes[i], its);
        in_stream(sizes[i], NULL);
    }
}

void suite_other(void)
{
    unsigned char *pinned = NULL, *pageable = malloc(2 * MOST), *own = NULL;
    cudaStream_t mine, its;
    int current = 0, devices = 0;

    OK(cudaGetDeviceCount(&devices));
    OK(cudaGetDevice(&current));
    const int other = (current + 1) % devices;
    if (other != current) {
        OK(cudaMallocHost((void **)&pinned, 2 * MOST));
        OK(cudaMalloc((void **)&own, PITCH * ROWS));
        OK(cudaStreamCreateWithFlags(&mine, cudaStreamNonBlocking));
        OK(cudaSetDevice(other));
        OK(cudaMalloc((void **)&device, 2 * MOST));
        OK(cudaStreamCreateWithFlags(&its, cudaStreamNonBlocking));
        OK(cudaSetDevice(current));
        there = pinned;
        back = pinned + MOST;
        copies(mine, its);
        rows(own);
        there = pageable;
        back = pageable + MOST;
        copies(mine, its);
        rows(own);
        if (!suite_trusts_handles)
            undocumented(other, current);
        wrong_stream((int *)(void *)own, its);
        peers(other, current);
        pools(other, current);
        OK(cudaStreamDestroy(mine));
        OK(cudaStreamDestroy(its));
        OK(cudaFree(device));
        OK(cudaFree(own));
        OK(cudaFreeHost(pinned));
    }
    free(pageable);
}
