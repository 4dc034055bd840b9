/* suite.c - devices, memory, copies of rows, errors, and the count of checks. */
#include "suite.h"

#include "kernels.h"

#include "order/model.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool suite_trusts_handles;
static int checks, failed;

void suite_check(bool good, const char *text, const char *file, int line)
{
    __atomic_fetch_add(&checks, 1, __ATOMIC_RELAXED);
    if (good)
        return;
    __atomic_fetch_add(&failed, 1, __ATOMIC_RELAXED);
    fprintf(stderr, "%s:%d: %s\n", file, line, text);
}

void suite_is(cudaError_t got, cudaError_t wanted, const char *text, const char *file, int line)
{
    char said[512];

    if (got == wanted) {
        suite_check(true, text, file, line);
        return;
    }
    snprintf(said, sizeof(said), "%s: %d (%s), not %d", text, got, cudaGetErrorName(got), wanted);
    suite_check(false, said, file, line);
}

/* ---- registration by hand, as nvcc's code does it ---------------------------------------------
 */

const char suite_add, suite_scale, suite_slow, suite_fetch, suite_store, suite_missing;
int suite_table;

void **__cudaRegisterFatBinary(void *image);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaRegisterFunction(void **handle, const char *host, char *device_fun, const char *name,
                            int limit, uint3 *tid, uint3 *bid, dim3 *block, dim3 *grid, int *warp);
void __cudaRegisterVar(void **handle, char *host, char *address, const char *name, int ext,
                       size_t bytes, int constant, int global);

static void add(void **handle, const char *host, const char *name)
{
    __cudaRegisterFunction(handle, host, NULL, name, -1, NULL, NULL, NULL, NULL, NULL);
}

/* All of a file, for good. */
static const void *read_image(const char *name)
{
    FILE *file = fopen(name, "rb");
    long bytes = 0;
    void *image = NULL;

    if (file != NULL && fseek(file, 0, SEEK_END) == 0 && (bytes = ftell(file)) > 0) {
        rewind(file);
        image = malloc((size_t)bytes);
    }
    if (image == NULL || fread(image, 1, (size_t)bytes, file) != (size_t)bytes) {
        fprintf(stderr, "suite: %s cannot be read\n", name);
        exit(EXIT_FAILURE);
    }
    fclose(file);
    return image;
}

void suite_register(const char *file)
{
    static const struct {
        uint32_t magic;
        uint16_t version, header;
        uint64_t bytes;
    } image = {0xba55ed50, 1, 16, 0};
    static struct {
        int32_t magic, version;
        const void *data, *unused;
    } wrapper = {0x466243b1, 1, &image, NULL};
    if (file != NULL)
        wrapper.data = read_image(file);
    void **handle = __cudaRegisterFatBinary(&wrapper);

    add(handle, &suite_add, KERNEL_ADD);
    add(handle, &suite_scale, KERNEL_SCALE);
    add(handle, &suite_slow, KERNEL_SLOW);
    add(handle, &suite_fetch, KERNEL_FETCH);
    add(handle, &suite_store, KERNEL_STORE);
    add(handle, &suite_missing, "_Z7missingv");
    __cudaRegisterVar(handle, (char *)&suite_table, NULL, GLOBAL_TABLE, 0, 64 * sizeof(int), 0, 0);
    __cudaRegisterFatBinaryEnd(handle);
}

/* ---- devices --------------------------------------------------------------------------------- */

#pragma GCC diagnostic ignored "-Wdeprecated-declarations" /* programs call them all the same */
static void shared_banks(void)
{
    enum cudaSharedMemConfig banks = cudaSharedMemBankSizeDefault;

    OK(cudaDeviceSetSharedMemConfig(cudaSharedMemBankSizeEightByte));
    OK(cudaDeviceGetSharedMemConfig(&banks));
    CHECK(banks == cudaSharedMemBankSizeFourByte);
    OK(cudaFuncSetSharedMemConfig(&suite_add, cudaSharedMemBankSizeEightByte));
}

void suite_devices(void)
{
    struct cudaDeviceProp p;
    size_t available = 0, total = 0, limit = 0;
    int count = 0, device = -1, value = 0, version = 0, least = 0, greatest = 0;
    char pci[32];

    OK(cudaGetDeviceCount(&count));
    CHECK(count >= 1);
    OK(cudaGetDevice(&device));
    OK(cudaGetDeviceProperties(&p, device));
    CHECK(p.name[0] != 0 && p.totalGlobalMem > 0 && p.warpSize == 32 && p.major >= 5);
    OK(cudaDeviceGetAttribute(&value, cudaDevAttrMaxThreadsPerBlock, device));
    CHECK(value == p.maxThreadsPerBlock && value >= 512);
    OK(cudaDeviceGetAttribute(&value, cudaDevAttrMaxTexture2DLayeredHeight, device));
    CHECK(value > 0 && p.maxTexture2DLayered[1] == value && p.maxThreadsDim[2] == 64);
    OK(cudaDeviceGetAttribute(&value, cudaDevAttrMaxTexture2DLayeredLayers, device));
    CHECK(value > 0 && p.maxTexture2DLayered[2] == value);
    IS(cudaErrorInvalidDevice, cudaSetDevice(count));
    IS(cudaErrorInvalidDevice, cudaGetDeviceProperties(&p, count));
    CHECK(cudaGetLastError() == cudaErrorInvalidDevice);
    CHECK(cudaGetLastError() == cudaSuccess);
    OK(cudaDeviceGetPCIBusId(pci, sizeof(pci), device));
    OK(cudaDeviceGetByPCIBusId(&value, pci));
    CHECK(value == device);
    OK(cudaMemGetInfo(&available, &total));
    CHECK(available > 0 && available <= total);
    OK(cudaRuntimeGetVersion(&version));
    CHECK(version == CUDART_VERSION);
    OK(cudaDriverGetVersion(&version));
    OK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    CHECK(greatest <= least);
    OK(cudaDeviceGetLimit(&limit, cudaLimitStackSize));
    CHECK(limit > 0);
    OK(cudaCtxResetPersistingL2Cache());
    shared_banks();
    IS(cudaErrorInvalidValue, cudaSetDeviceFlags(1 << 16));
    IS(cudaErrorInvalidDevice, cudaDeviceEnablePeerAccess(device, 0));
    (void)cudaGetLastError();
    CHECK(strcmp(cudaGetErrorName(cudaErrorMemoryAllocation), "cudaErrorMemoryAllocation") == 0);
    CHECK(strcmp(cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory") == 0);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static void fill(unsigned char *memory, size_t bytes, unsigned seed)
{
    for (size_t i = 0; i < bytes; i++)
        memory[i] = (unsigned char)(seed + i * 7 + (i >> 8));
}

/* There, on to another place, and back. */
static void round_trip(size_t bytes, size_t offset)
{
    unsigned char *there = malloc(bytes + 1), *back = calloc(1, bytes + 1);
    char *first = NULL, *second = NULL;

    fill(there, bytes, (unsigned)bytes);
    OK(cudaMalloc((void **)&first, bytes + offset));
    OK(cudaMalloc((void **)&second, bytes + offset));
    OK(cudaMemcpy(first + offset, there, bytes, cudaMemcpyHostToDevice));
    OK(cudaMemcpy(second + offset, first + offset, bytes, cudaMemcpyDeviceToDevice));
    OK(cudaMemcpy(back, second + offset, bytes, cudaMemcpyDeviceToHost));
    CHECK(memcmp(there, back, bytes) == 0);
    OK(cudaFree(first));
    OK(cudaFree(second));
    free(there);
    free(back);
}

static void pinned(void)
{
    enum { BYTES = 100000 };
    unsigned char *host = NULL, *device = NULL;
    struct cudaPointerAttributes attributes;
    int at;
    unsigned flags = 99;

    OK(cudaMallocHost((void **)&host, 2 * BYTES));
    OK(cudaMalloc((void **)&device, BYTES));
    fill(host, BYTES, 3);
    OK(cudaMemcpyAsync(device, host, BYTES, cudaMemcpyHostToDevice, NULL));
    OK(cudaMemcpyAsync(host + BYTES, device, BYTES, cudaMemcpyDefault, NULL));
    OK(cudaDeviceSynchronize());
    CHECK(memcmp(host, host + BYTES, BYTES) == 0);
    OK(cudaMemset(host + 5, 0x77, 10));
    OK(cudaDeviceSynchronize());
    CHECK(host[4] == host[BYTES + 4] && host[5] == 0x77 && host[14] == 0x77 &&
          host[15] == host[BYTES + 15]);
    OK(cudaPointerGetAttributes(&attributes, host + 5));
    CHECK(attributes.type == cudaMemoryTypeHost);
    OK(cudaPointerGetAttributes(&attributes, device + 5));
    OK(cudaGetDevice(&at));
    CHECK(attributes.type == cudaMemoryTypeDevice && attributes.device == at);
    OK(cudaPointerGetAttributes(&attributes, &at));
    CHECK(attributes.type == cudaMemoryTypeUnregistered);
    OK(cudaHostGetFlags(&flags, host));
    OK(cudaFree(device));
    OK(cudaFreeHost(host));
}

/* Whether what is allocated is missing, and is there again when it is free: seen once in ten times,
 * since other programs may use the same GPU. */
static bool counted(void)
{
    size_t before = 0, during = 0, after = 0, total = 0;
    void *device = NULL;

    for (int i = 0; i < 10; i++) {
        OK(cudaMemGetInfo(&before, &total));
        OK(cudaMalloc(&device, 8 << 20));
        OK(cudaMemGetInfo(&during, &total));
        OK(cudaFree(device));
        OK(cudaMemGetInfo(&after, &total));
        if (during + (8 << 20) <= before && after == before)
            return true;
    }
    return false;
}

void suite_memory(void)
{
    unsigned char *device = NULL, back[64];

    round_trip(1, 0);
    round_trip(4096, 3);
    round_trip(65537, 1);
    round_trip(3000001, 13);
    pinned();
    CHECK(counted());
    OK(cudaMalloc((void **)&device, 8 << 20));
    OK(cudaMemset(device, 0x11, 64));
    OK(cudaMemset(device + 8, 0x22, 8));
    OK(cudaMemcpy(back, device, 64, cudaMemcpyDeviceToHost));
    CHECK(back[7] == 0x11 && back[8] == 0x22 && back[15] == 0x22 && back[16] == 0x11);
    OK(cudaFree(device));
    IS(cudaErrorMemoryAllocation, cudaMalloc((void **)&device, (size_t)1 << 50));
    CHECK(cudaGetLastError() == cudaErrorMemoryAllocation);
    OK(cudaFree(NULL));
    OK(cudaMallocAsync((void **)&device, 4096, NULL));
    OK(cudaMemsetAsync(device, 1, 4096, NULL));
    OK(cudaFreeAsync(device, NULL));
    OK(cudaStreamSynchronize(NULL));
}

void suite_rows(void)
{
    enum { WIDTH = 100, ROWS = 1700, HOST_PITCH = 128 }; /* more than one record takes */
    static unsigned char there[ROWS * HOST_PITCH], back[ROWS * HOST_PITCH];
    unsigned char *device = NULL, *other = NULL;
    size_t pitch = 0, other_pitch = 0;
    bool equal = true;

    fill(there, sizeof(there), 9);
    memset(back, 0, sizeof(back));
    OK(cudaMallocPitch((void **)&device, &pitch, WIDTH, ROWS));
    CHECK(pitch >= WIDTH);
    OK(cudaMallocPitch((void **)&other, &other_pitch, WIDTH, ROWS));
    OK(cudaMemset2D(other, other_pitch, 0x55, WIDTH, ROWS));
    OK(cudaMemcpy2D(device, pitch, there, HOST_PITCH, WIDTH, ROWS, cudaMemcpyHostToDevice));
    OK(cudaMemcpy2D(other, other_pitch, device, pitch, WIDTH - 1, ROWS, cudaMemcpyDeviceToDevice));
    OK(cudaMemcpy2D(back, HOST_PITCH, other, other_pitch, WIDTH, ROWS, cudaMemcpyDeviceToHost));
    for (int r = 0; r < ROWS; r++)
        equal = equal && memcmp(there + r * HOST_PITCH, back + r * HOST_PITCH, WIDTH - 1) == 0 &&
                back[r * HOST_PITCH + WIDTH - 1] == 0x55 && back[r * HOST_PITCH + WIDTH] == 0;
    CHECK(equal);
    IS(cudaErrorInvalidPitchValue,
       cudaMemcpy2D(device, WIDTH - 1, there, HOST_PITCH, WIDTH, ROWS, cudaMemcpyHostToDevice));
    CHECK(cudaGetLastError() == cudaErrorInvalidPitchValue);
    OK(cudaFree(device));
    OK(cudaFree(other));
}

/* ---- mistakes -------------------------------------------------------------------------------- */

void suite_errors(void)
{
    char *device = NULL, host[64] = {0};
    cudaStream_t stream = NULL;
    int count = 0;

    OK(cudaMalloc((void **)&device, 1 << 20));
    IS(cudaErrorInvalidValue, cudaMemcpy(device + (1 << 20) - 8, host, 64, cudaMemcpyHostToDevice));
    IS(cudaErrorInvalidMemcpyDirection, cudaMemcpy(device, host, 8, (enum cudaMemcpyKind)9));
    IS(cudaErrorInvalidValue, cudaMemcpy(NULL, device, 64, cudaMemcpyDeviceToHost));
    IS(cudaErrorInvalidValue, cudaMemcpy(device, NULL, 64, cudaMemcpyHostToDevice));
    IS(cudaErrorInvalidValue, cudaMemcpy(host, device, 64, cudaMemcpyHostToDevice));
    IS(cudaErrorInvalidValue, cudaMemcpy(device, host, 64, cudaMemcpyDeviceToDevice));
    IS(cudaErrorInvalidValue, cudaMemcpy2D(host, 8, host, 8, 8, 8, cudaMemcpyDeviceToHost));
    IS(cudaErrorInvalidValue, cudaMemcpyPeer(device, 0, host, 0, 8));
    IS(cudaErrorInvalidValue, /* of nobody */
       cudaMemcpy(host, (void *)0xdeadbeef000, 64, cudaMemcpyDeviceToHost));
    OK(cudaMemcpy(device + (1 << 20), host, 0, cudaMemcpyHostToDevice)); /* nothing */
    IS(cudaErrorInvalidMemcpyDirection,
       cudaMemcpyToSymbol(&suite_table, host, 8, 0, cudaMemcpyDeviceToHost));
    IS(cudaErrorInvalidValue, cudaFree(device + 64));
    IS(cudaErrorInvalidValue, cudaMalloc(NULL, 8));
    CHECK(cudaPeekAtLastError() == cudaErrorInvalidValue);
    CHECK(cudaGetLastError() == cudaErrorInvalidValue);
    CHECK(cudaPeekAtLastError() == cudaSuccess);
    OK(cudaStreamCreate(&stream));
    OK(cudaStreamDestroy(stream));
    if (!suite_trusts_handles) {
        IS(cudaErrorInvalidResourceHandle, cudaStreamSynchronize(stream));
        IS(cudaErrorInvalidResourceHandle, cudaEventRecord((cudaEvent_t)(uintptr_t)0x1230, NULL));
    }
    OK(cudaGetDeviceCount(&count));
    IS(cudaErrorInvalidDevice, cudaMemcpyPeer(device, count, device, 0, 8));
    OK(cudaFree(device));
    IS(cudaErrorInvalidValue, cudaFree(device));
    (void)cudaGetLastError();
}

/* What was made and set on a device is gone with its context; the last error stays. */
static void suite_reset(int device, int devices)
{
    enum { MUCH = 60000 }; /* of shared memory: a launch may have it because it was set */
    const int peer = (device + 1) % devices;
    int *memory = NULL, factor = 1, shift = 1, can = 0;
    void *parameters[] = {&memory, &factor, &shift};
    const dim3 one = {1, 1, 1};

    OK(cudaMalloc((void **)&memory, 4096));
    OK(cudaFuncSetAttribute(&suite_scale, cudaFuncAttributeMaxDynamicSharedMemorySize, MUCH));
    OK(cudaLaunchKernel(&suite_scale, one, one, parameters, MUCH, NULL));
    OK(cudaDeviceCanAccessPeer(&can, device, peer));
    if (can)
        OK(cudaDeviceEnablePeerAccess(peer, 0));
    OK(cudaDeviceReset());
    IS(cudaErrorInvalidValue, cudaFree(memory));
    OK(cudaMalloc((void **)&memory, 4096));
    IS(cudaErrorInvalidValue, cudaLaunchKernel(&suite_scale, one, one, parameters, MUCH, NULL));
    CHECK(cudaGetLastError() == cudaErrorInvalidValue);
    OK(cudaLaunchKernel(&suite_scale, one, one, parameters, 0, NULL));
    if (can) {
        OK(cudaDeviceEnablePeerAccess(peer, 0));
        OK(cudaDeviceDisablePeerAccess(peer));
    }
    OK(cudaFree(memory));
}

/* ---- all ------------------------------------------------------------------------------------- */

bool suite_end(void)
{
    printf("%d checks, %d failed\n", checks, failed);
    return failed == 0;
}

bool suite_run(void)
{
    int devices = 0;

    OK(cudaGetDeviceCount(&devices));
    for (int device = 0; device < devices; device++) {
        OK(cudaSetDevice(device));
        suite_devices();
        suite_memory();
        suite_rows();
        suite_launches();
        suite_streams();
        suite_events();
        suite_symbols();
        suite_callbacks();
        suite_own_streams(weft_model == NULL);
        if (weft_model == NULL) /* whose tasks share one thread */
            suite_threads();
        suite_other();
        suite_arrays();
        suite_managed();
        suite_errors();
        suite_reset(device, devices);
        OK(cudaDeviceSynchronize());
        CHECK(cudaGetLastError() == cudaSuccess);
    }
    return suite_end();
}
