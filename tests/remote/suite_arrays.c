/*
 * suite_arrays.c - arrays, textures and surfaces; boxes. What arrays are copied from and to lies on
 * their device, on another one, or on the host, pinned or pageable.
 */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations" /* lines() */
#include "suite.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
    WIDTH = 100,
    ROWS = 37,
    SLICES = 5,
    PITCH = 512,
    PLANE = PITCH * ROWS,
    BOX = PLANE * SLICES
};

static const struct cudaChannelFormatDesc number = {.x = 32, .f = cudaChannelFormatKindSigned};
static unsigned seed;

static void fill(void *memory)
{
    int *at = memory;

    seed++;
    for (size_t i = 0; i < BOX / sizeof(int); i++)
        at[i] = (int)(seed * 100000 + i);
}

/* ---- copies ---------------------------------------------------------------------------------- */

/* A number in memory with that pitch. */
static int at(const void *memory, size_t x, size_t y, size_t z)
{
    int value;

    memcpy(&value, (const char *)memory + z * PLANE + y * PITCH + x * sizeof(int), sizeof(value));
    return value;
}

/*
 * A part of rows into an array, from there to another one, and back: all else stays. Memory is
 * where `there` is; host: what is compared.
 */
static void rows(unsigned char *there, unsigned char *host, cudaStream_t stream)
{
    enum { X = 7, Y = 3, W = 40, H = 20 };
    cudaArray_t first = NULL, second = NULL;
    bool equal = true;

    OK(cudaMallocArray(&first, &number, WIDTH, ROWS, cudaArrayDefault));
    OK(cudaMalloc3DArray(&second, &number, (struct cudaExtent){WIDTH, ROWS, 1}, 0));
    fill(host);
    OK(cudaMemcpy(there, host, BOX, cudaMemcpyDefault));
    OK(cudaMemcpy2DToArrayAsync(first, 0, 0, there, PITCH, WIDTH * sizeof(int), ROWS,
                                cudaMemcpyDefault, stream));
    OK(cudaMemcpy2DToArrayAsync(first, X * sizeof(int), Y, there + PLANE, PITCH, W * sizeof(int), H,
                                cudaMemcpyDefault, stream));
    OK(cudaStreamSynchronize(stream));
    OK(cudaMemcpy3D(&(struct cudaMemcpy3DParms){.srcArray = first,
                                                .dstArray = second,
                                                .extent = {WIDTH, ROWS, 1},
                                                .kind = cudaMemcpyDeviceToDevice}));
    OK(cudaMemcpy2DFromArrayAsync(there + 2 * PLANE, PITCH, second, 0, 0, WIDTH * sizeof(int), ROWS,
                                  cudaMemcpyDefault, stream));
    OK(cudaStreamSynchronize(stream));
    unsigned char *back = malloc(BOX);
    OK(cudaMemcpy(back, there, BOX, cudaMemcpyDefault));
    for (size_t y = 0; y < ROWS; y++)
        for (size_t x = 0; x < PITCH / sizeof(int); x++) {
            const bool part = x - X < W && y - Y < H, gap = x >= WIDTH;
            equal = equal && at(back, x, y, 2) == (gap    ? at(host, x, y, 2)
                                                   : part ? at(host, x - X, y - Y, 1)
                                                          : at(host, x, y, 0));
        }
    CHECK(equal);
    free(back);
    OK(cudaFreeArray(first));
    OK(cudaFreeArray(second));
}

/* Bytes that begin and end within rows, in and out; a part of an array to another one. */
static void lines(unsigned char *there, unsigned char *host)
{
    enum { LINE = WIDTH * sizeof(int), FIRST = 30 * sizeof(int), BYTES = 3 * LINE + 80 };
    struct cudaChannelFormatDesc desc;
    struct cudaExtent extent;
    cudaArray_t array = NULL, other = NULL;
    unsigned char *back = malloc(BOX);
    unsigned flags = 9;

    OK(cudaMallocArray(&array, &number, WIDTH, ROWS, cudaArraySurfaceLoadStore));
    OK(cudaMallocArray(&other, &number, WIDTH, ROWS, cudaArrayDefault));
    OK(cudaArrayGetInfo(&desc, &extent, &flags, array));
    desc.x = 0;
    OK(cudaGetChannelDesc(&desc, array));
    CHECK(desc.x == 32 && desc.y == 0 && desc.f == number.f && extent.width == WIDTH &&
          extent.height == ROWS && extent.depth == 0 && flags == cudaArraySurfaceLoadStore);
    fill(host);
    OK(cudaMemcpy(there, host, BOX, cudaMemcpyDefault));
    OK(cudaMemcpyToArray(array, 0, 0, there, ROWS * LINE, cudaMemcpyDefault));
    OK(cudaMemcpyToArray(array, FIRST, 2, there + ROWS * LINE, BYTES, cudaMemcpyDefault));
    memcpy(host + 2 * LINE + FIRST, host + ROWS * LINE, BYTES);
    OK(cudaMemcpyFromArray(there, array, 0, 0, ROWS * LINE, cudaMemcpyDefault));
    OK(cudaMemcpy(back, there, ROWS * LINE, cudaMemcpyDefault));
    CHECK(memcmp(back, host, ROWS * LINE) == 0);
    OK(cudaMemcpy2DArrayToArray(other, 0, 1, array, FIRST, 3, LINE - FIRST, 4,
                                cudaMemcpyDeviceToDevice));
    OK(cudaMemcpyFromArray(there, other, 0, 2, LINE - FIRST, cudaMemcpyDefault));
    OK(cudaMemcpy(back, there, LINE, cudaMemcpyDefault));
    CHECK(memcmp(back, host + 4 * LINE + FIRST, LINE - FIRST) == 0);
    IS(cudaErrorInvalidValue, cudaMemcpyToArray(array, LINE, 0, there, 4, cudaMemcpyDefault));
    IS(cudaErrorInvalidValue,
       cudaMemcpyToArray(array, 0, ROWS - 1, there, LINE + 4, cudaMemcpyDefault));
    (void)cudaGetLastError();
    OK(cudaFreeArray(array));
    OK(cudaFreeArray(other));
    free(back);
}

/* A box inside memory to one inside an array of three dimensions, and elsewhere in memory. */
static void boxes(unsigned char *there, unsigned char *host, cudaStream_t stream)
{
    struct cudaMemcpy3DParms in = {.srcPtr = {there, PITCH, WIDTH, ROWS},
                                   .srcPos = {2 * sizeof(int), 3, 1},
                                   .dstPos = {5, 1, 2},
                                   .extent = {30, 20, 3},
                                   .kind = cudaMemcpyDefault};
    struct cudaMemcpy3DParms out = {.srcPos = {5, 1, 2},
                                    .dstPtr = {there, PITCH, WIDTH, ROWS},
                                    .dstPos = {60 * sizeof(int), 2, 0},
                                    .extent = {30, 20, 3},
                                    .kind = cudaMemcpyDefault};
    bool equal = true;

    OK(cudaMalloc3DArray(&in.dstArray, &number, (struct cudaExtent){WIDTH, ROWS, SLICES}, 0));
    out.srcArray = in.dstArray;
    fill(host);
    OK(cudaMemcpy(there, host, BOX, cudaMemcpyDefault));
    OK(cudaMemcpy3DAsync(&in, stream));
    OK(cudaMemcpy3DAsync(&out, stream));
    OK(cudaStreamSynchronize(stream));
    unsigned char *back = malloc(BOX);
    OK(cudaMemcpy(back, there, BOX, cudaMemcpyDefault));
    for (size_t z = 0; z < SLICES; z++)
        for (size_t y = 0; y < ROWS; y++)
            for (size_t x = 0; x < PITCH / sizeof(int); x++) {
                const bool part = x - 60 < 30 && y - 2 < 20 && z < 3;
                equal = equal && at(back, x, y, z) == (part ? at(host, x - 60 + 2, y - 2 + 3, z + 1)
                                                            : at(host, x, y, z));
            }
    CHECK(equal);
    free(back);
    OK(cudaFreeArray(in.dstArray));
}

/* Without arrays: between two devices, if there are, by the functions for peers, too. */
static void peers(unsigned char *there, int other, unsigned char *here, int current)
{
    struct cudaMemcpy3DPeerParms p = {.srcPtr = {there, PITCH, WIDTH, ROWS},
                                      .srcDevice = other,
                                      .srcPos = {8, 1, 1},
                                      .dstPtr = {here, PITCH, WIDTH, ROWS},
                                      .dstDevice = current,
                                      .extent = {80, 10, 2}};
    unsigned char *host = malloc(BOX), *back = malloc(BOX);
    bool equal = true;

    fill(host);
    OK(cudaMemcpy(there, host, BOX, cudaMemcpyDefault));
    OK(cudaMemset3D((struct cudaPitchedPtr){here, PITCH, WIDTH, ROWS}, 0x77,
                    (struct cudaExtent){PITCH, ROWS, SLICES}));
    OK(cudaMemcpy3DPeer(&p));
    OK(cudaMemcpy(back, here, BOX, cudaMemcpyDefault));
    for (size_t z = 0; z < SLICES; z++)
        for (size_t y = 0; y < ROWS; y++)
            for (size_t x = 0; x < PITCH / sizeof(int); x++)
                equal = equal && at(back, x, y, z) == (x < 20 && y < 10 && z < 2
                                                           ? at(host, x + 2, y + 1, z + 1)
                                                           : 0x77777777);
    CHECK(equal);
    free(host);
    free(back);
}

/* ---- textures and surfaces ------------------------------------------------------------------- */

/* What a kernel reads through a texture of that resource is what lies in memory, row behind row. */
static void read_by(const struct cudaResourceDesc *resource, int width, int height,
                    const int *expected)
{
    const struct cudaTextureDesc how = {.addressMode = {cudaAddressModeClamp, cudaAddressModeClamp},
                                        .filterMode = cudaFilterModePoint,
                                        .readMode = cudaReadModeElementType};
    const size_t bytes = sizeof(int) * (size_t)width * (size_t)(height > 0 ? height : 1);
    int *out = NULL, *back = malloc(bytes);
    cudaTextureObject_t texture = 0;
    void *parameters[] = {&out, &texture, &width, &height};

    OK(cudaMalloc((void **)&out, bytes));
    OK(cudaCreateTextureObject(&texture, resource, &how, NULL));
    OK(cudaLaunchKernel(&suite_fetch, (dim3){1, 1, 1}, (dim3){32, 1, 1}, parameters, 0, NULL));
    OK(cudaMemcpy(back, out, bytes, cudaMemcpyDeviceToHost));
    CHECK(memcmp(back, expected, bytes) == 0);
    OK(cudaDestroyTextureObject(texture));
    if (!suite_trusts_handles)
        IS(cudaErrorInvalidValue, cudaDestroyTextureObject(texture));
    OK(cudaFree(out));
    free(back);
}

static void textures(void)
{
    struct cudaResourceDesc resource = {.resType = cudaResourceTypeArray};
    int *host = malloc(BOX), width = WIDTH, height = ROWS, shift = 1000000;
    cudaSurfaceObject_t surface = 0;
    void *parameters[] = {&surface, &width, &height, &shift};
    char *memory = NULL;
    cudaArray_t array = NULL;

    fill(host);
    OK(cudaMallocArray(&array, &number, WIDTH, ROWS, cudaArraySurfaceLoadStore));
    OK(cudaMemcpy2DToArray(array, 0, 0, host, WIDTH * sizeof(int), WIDTH * sizeof(int), ROWS,
                           cudaMemcpyHostToDevice));
    resource.res.array.array = array;
    read_by(&resource, WIDTH, ROWS, host);
    OK(cudaCreateSurfaceObject(&surface, &resource));
    OK(cudaLaunchKernel(&suite_store, (dim3){1, 1, 1}, (dim3){32, 1, 1}, parameters, 0, NULL));
    OK(cudaDeviceSynchronize());
    OK(cudaDestroySurfaceObject(surface));
    for (int i = 0; i < WIDTH * ROWS; i++)
        host[i] += shift;
    read_by(&resource, WIDTH, ROWS, host);
    OK(cudaFreeArray(array));

    OK(cudaMalloc((void **)&memory, BOX));
    OK(cudaMemcpy(memory, host, BOX, cudaMemcpyHostToDevice));
    resource = (struct cudaResourceDesc){.resType = cudaResourceTypeLinear,
                                         .res.linear = {memory, number, WIDTH * sizeof(int)}};
    read_by(&resource, WIDTH, 0, host);
    OK(cudaMemcpy2D(memory, PITCH, host, WIDTH * sizeof(int), WIDTH * sizeof(int), ROWS,
                    cudaMemcpyHostToDevice));
    resource = (struct cudaResourceDesc){.resType = cudaResourceTypePitch2D,
                                         .res.pitch2D = {memory, number, WIDTH, ROWS, PITCH}};
    read_by(&resource, WIDTH, ROWS, host);
    OK(cudaFree(memory));
    free(host);
}

/* ---- mistakes -------------------------------------------------------------------------------- */

static void mistakes(void)
{
    const struct cudaChannelFormatDesc three = {.x = 32,
                                                .y = 32,
                                                .z = 32,
                                                .f = cudaChannelFormatKindFloat},
                                       odd = {.x = 24, .f = cudaChannelFormatKindSigned};
    const struct cudaTextureDesc how = {.readMode = cudaReadModeElementType};
    struct cudaResourceDesc resource = {.resType = cudaResourceTypeLinear};
    size_t before = 0, during = 0, total = 0;
    cudaTextureObject_t texture;
    cudaArray_t array = NULL;
    int host[16] = {0};

    IS(cudaErrorInvalidChannelDescriptor, cudaMallocArray(&array, &three, 64, 64, 0));
    IS(cudaErrorInvalidChannelDescriptor, cudaMallocArray(&array, &odd, 64, 64, 0));
    IS(cudaErrorInvalidValue, cudaMallocArray(NULL, &number, 64, 64, 0));
    IS(cudaErrorInvalidValue, cudaMallocArray(&array, &number, 0, 0, 0));
    IS(cudaErrorInvalidValue, cudaMallocArray(&array, &number, (size_t)1 << 40, 1, 0));
    OK(cudaMemGetInfo(&before, &total));
    OK(cudaMallocArray(&array, &number, 2048, 1024, 0));
    OK(cudaMemGetInfo(&during, &total));
    CHECK(during < before);
    IS(cudaErrorInvalidValue,
       cudaMemcpy2DToArray(array, 2047 * sizeof(int), 0, host, 64, 8, 1, cudaMemcpyHostToDevice));
    IS(cudaErrorInvalidValue,
       cudaMemcpy2DToArray(array, 0, 1024, host, 64, 8, 1, cudaMemcpyHostToDevice));
    IS(cudaErrorInvalidPitchValue,
       cudaMemcpy2DToArray(array, 0, 0, host, 4, 8, 2, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy2DToArray(NULL, 0, 0, host, 8, 8, 1, cudaMemcpyHostToDevice) != cudaSuccess);
    OK(cudaFreeArray(array));
    OK(cudaFreeArray(NULL));
    if (!suite_trusts_handles) { /* memory of the host; all but the last number of it */
        resource.res.linear.devPtr = host;
        resource.res.linear.desc = number;
        resource.res.linear.sizeInBytes = sizeof(host);
        IS(cudaErrorInvalidValue, cudaCreateTextureObject(&texture, &resource, &how, NULL));
    }
    resource.res.linear.desc = number; /* as with CUDA, it may end behind the allocation */
    resource.res.linear.sizeInBytes = 4096;
    OK(cudaMalloc(&resource.res.linear.devPtr, 256));
    OK(cudaCreateTextureObject(&texture, &resource, &how, NULL));
    OK(cudaDestroyTextureObject(texture));
    OK(cudaFree(resource.res.linear.devPtr));
    IS(cudaErrorInvalidValue, cudaCreateTextureObject(&texture, NULL, &how, NULL));
    (void)cudaGetLastError();
}

void suite_arrays(void)
{
    unsigned char *pageable = malloc(BOX), *pinned = NULL, *own = NULL, *far = NULL,
                  *host = malloc(BOX);
    int current = 0, devices = 0;
    cudaStream_t stream;

    OK(cudaGetDeviceCount(&devices));
    OK(cudaGetDevice(&current));
    OK(cudaMallocHost((void **)&pinned, BOX));
    OK(cudaMalloc((void **)&own, BOX));
    OK(cudaSetDevice((current + 1) % devices));
    OK(cudaMalloc((void **)&far, BOX));
    OK(cudaSetDevice(current));
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    unsigned char *const places[] = {own, far, pinned, pageable};
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        rows(places[i], host, stream);
        rows(places[i], host, NULL);
        boxes(places[i], host, stream);
        lines(places[i], host);
    }
    peers(far, (current + 1) % devices, own, current);
    textures();
    mistakes();
    OK(cudaStreamDestroy(stream));
    OK(cudaFree(own));
    OK(cudaFree(far));
    OK(cudaFreeHost(pinned));
    free(pageable);
    free(host);
}
