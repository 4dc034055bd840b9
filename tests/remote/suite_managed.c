/*
 * suite_managed.c - memory that host and kernels use by one address: managed memory, and mapped
 * host memory. Each touches what the other has written, all of it or a part.
 */
#include "suite.h"

#include "order/model.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { LARGE = 1 << 20, BLOCK = 256, THREADS = 4 };

static cudaStream_t stream;

/* x = factor * x + shift, by a kernel. */
static void scale(unsigned *x, int n, int factor, int shift)
{
    void *parameters[] = {&x, &factor, &shift};

    OK(cudaLaunchKernel(&suite_scale, (dim3){(unsigned)(n / BLOCK), 1, 1}, (dim3){BLOCK, 1, 1},
                        parameters, 0, stream));
}

static void begin(unsigned *x, int n)
{
    for (int i = 0; i < n; i++)
        x[i] = (unsigned)i;
}

/* Of x, which began so, what is not factor * i + shift. */
static int wrong(const unsigned *x, int n, unsigned factor, unsigned shift)
{
    int count = 0;

    for (int i = 0; i < n; i++)
        count += x[i] != factor * (unsigned)i + shift;
    return count;
}

/* The host reads all, writes a part, reads a part, by turns with kernels. */
static void turns(unsigned *x, int n)
{
    begin(x, n);
    scale(x, n, 3, 1);
    scale(x, n, 1, 1);
    OK(cudaDeviceSynchronize());
    CHECK(wrong(x, n, 3, 2) == 0);
    scale(x, n, 1, 1); /* the host has read, and has not written */
    OK(cudaStreamSynchronize(stream));
    CHECK(x[n - 1] == 3u * (unsigned)(n - 1) + 3);
    x[n / 2] = 7; /* beside what a kernel has written */
    scale(x, n, 1, 1);
    OK(cudaDeviceSynchronize());
    CHECK(x[n / 2] == 8);
    x[n / 2] = 3u * (unsigned)(n / 2) + 4;
    CHECK(wrong(x, n, 3, 4) == 0);
    for (int i = n - 1; i >= 0; i -= 999) /* backwards, after no synchronisation */
        x[i] += 0;
    for (int round = 0; round < 3; round++) {
        scale(x, n, 1, 1);
        OK(cudaStreamSynchronize(stream));
        CHECK(x[round * 100] == 3u * (unsigned)(round * 100) + 5 + (unsigned)round);
    }
    CHECK(wrong(x, n, 3, 7) == 0);
}

/* Copies and fills take it as memory of the device, wherever its bytes are. */
static void copies(unsigned *x, int n)
{
    unsigned *device = NULL, *host = malloc((size_t)n * sizeof(*x));
    const size_t bytes = (size_t)n * sizeof(*x);

    OK(cudaMalloc((void **)&device, bytes));
    begin(x, n);
    OK(cudaMemcpy(device, x, bytes, cudaMemcpyDefault));
    OK(cudaMemset(x, 0x11, bytes / 2));
    OK(cudaStreamSynchronize(NULL));
    CHECK(x[0] == 0x11111111 && x[n - 1] == (unsigned)(n - 1));
    OK(cudaMemcpy(x, device, bytes / 2, cudaMemcpyDeviceToDevice));
    CHECK(wrong(x, n, 1, 0) == 0);
    begin(host, n);
    host[5] = 50;
    x[n - 1] = 9;
    OK(cudaMemcpyAsync(x, host, bytes / 2, cudaMemcpyHostToDevice, stream));
    OK(cudaStreamSynchronize(stream));
    CHECK(x[5] == 50 && x[6] == 6 && x[n - 1] == 9);
    OK(cudaMemcpy(host, x, bytes, cudaMemcpyDeviceToHost));
    CHECK(host[5] == 50 && host[n - 1] == 9);
    OK(cudaMemcpy2D(x, 400, host, 200, 100, 5, cudaMemcpyDefault));
    CHECK(x[99] == 99 && x[100] == 50 && x[124] == 74 && x[125] == 125);
    OK(cudaFree(device));
    free(host);
}

/* What functions write for the program may lie there, too, and not be there at the moment. */
static void results(void)
{
    struct values {
        void *memory;
        size_t free, total, symbol;
        unsigned flags;
        int device, count, least, most, value;
        cudaStream_t stream;
        cudaEvent_t event;
        float ms;
        cudaStreamAttrValue attribute;
        struct cudaPointerAttributes pointer;
        struct cudaFuncAttributes function;
        struct cudaDeviceProp properties;
    } *v = NULL;
    unsigned *x = NULL, *pinned = NULL;

    OK(cudaMallocManaged((void **)&v, sizeof(*v) + LARGE, cudaMemAttachGlobal));
    OK(cudaMallocManaged((void **)&x, BLOCK * sizeof(*x), cudaMemAttachGlobal));
    OK(cudaMallocHost((void **)&pinned, 4096));
#define AWAY(call)                                                                                 \
    scale(x, BLOCK, 1, 0);                                                                         \
    OK(call)
    AWAY(cudaMalloc(&v->memory, 64));
    AWAY(cudaFree(v->memory));
    AWAY(cudaMemGetInfo(&v->free, &v->total));
    AWAY(cudaHostGetFlags(&v->flags, pinned));
    AWAY(cudaGetDevice(&v->device));
    AWAY(cudaGetDeviceCount(&v->count));
    AWAY(cudaDeviceGetStreamPriorityRange(&v->least, &v->most));
    AWAY(cudaDeviceGetAttribute(&v->value, cudaDevAttrWarpSize, 0));
    AWAY(cudaGetSymbolSize(&v->symbol, &suite_table));
    AWAY(cudaGetSymbolAddress(&v->memory, &suite_table));
    AWAY(cudaStreamCreate(&v->stream));
    AWAY(cudaStreamGetFlags(v->stream, &v->flags));
    AWAY(
        cudaStreamGetAttribute(v->stream, cudaStreamAttributeSynchronizationPolicy, &v->attribute));
    AWAY(cudaEventCreate(&v->event));
    AWAY(cudaEventRecord(v->event, NULL));
    AWAY(cudaEventSynchronize(v->event));
    AWAY(cudaEventElapsedTime(&v->ms, v->event, v->event));
    AWAY(cudaPointerGetAttributes(&v->pointer, x));
    AWAY(cudaFuncGetAttributes(&v->function, &suite_scale));
    AWAY(cudaGetDeviceProperties(&v->properties, 0));
    AWAY(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&v->value, &suite_scale, BLOCK, 0));
    AWAY(cudaMallocManaged(&v->memory, 4096, cudaMemAttachHost));
    AWAY(cudaFree(v->memory));
    OK(cudaDeviceSynchronize());
    CHECK(v->properties.warpSize == 32 && v->pointer.type == cudaMemoryTypeManaged);
    OK(cudaStreamDestroy(v->stream));
    OK(cudaEventDestroy(v->event));
    OK(cudaFreeHost(pinned));
    OK(cudaFree(x));
    OK(cudaFree(v));
}

/* A list that the host makes longer between launches; each node is a block of its own. */
static void list(void)
{
    struct node {
        struct node *next;
        unsigned values[BLOCK];
    } *first = NULL;
    unsigned length = 0, good = 0;

    for (int round = 0; round < 4; round++) {
        for (int i = 0; i < 3; i++) {
            struct node *node = NULL;
            OK(cudaMallocManaged((void **)&node, sizeof(*node), cudaMemAttachGlobal));
            begin(node->values, BLOCK);
            node->next = first;
            first = node;
            length++;
        }
        for (struct node *n = first; n != NULL; n = n->next) /* it is fetched, and sent again */
            scale(n->values, BLOCK, 1, 1);
        OK(cudaDeviceSynchronize());
    }
    for (struct node *n = first, *next; n != NULL; n = next) {
        next = n->next;
        good += wrong(n->values, BLOCK, 1, 4 - (length - 1 - good) / 3) == 0;
        OK(cudaFree(n));
    }
    CHECK(length == 12);
}

struct part {
    unsigned *x;
    int first, result;
};

static void *touch(void *argument)
{
    struct part *part = argument;

    for (int i = part->first; i < LARGE; i += THREADS * 64)
        for (int k = i; k < i + 64; k++) {
            part->result += part->x[k] != 5u * (unsigned)k + 1;
            part->x[k] = (unsigned)k;
        }
    return NULL;
}

/* Threads that touch the same pages at once. */
static void threads(unsigned *x)
{
    pthread_t thread[THREADS];
    struct part part[THREADS];

    begin(x, LARGE);
    for (int round = 0; round < 2; round++) {
        scale(x, LARGE, 5, 1);
        OK(cudaStreamSynchronize(stream));
        for (int t = 0; t < THREADS; t++) {
            part[t] = (struct part){.x = x, .first = t * 64};
            CHECK(pthread_create(&thread[t], NULL, touch, &part[t]) == 0);
        }
        for (int t = 0; t < THREADS; t++) {
            pthread_join(thread[t], NULL);
            CHECK(part[t].result == 0);
        }
    }
    CHECK(wrong(x, LARGE, 1, 0) == 0);
}

static void mapped(void)
{
    struct cudaPointerAttributes attributes;
    unsigned *x = NULL, *there = NULL, flags = 0, *plain = NULL;
    int own = 0;

    OK(cudaHostAlloc((void **)&x, LARGE * sizeof(*x), cudaHostAllocMapped | cudaHostAllocPortable));
    OK(cudaHostGetDevicePointer((void **)&there, x, 0));
    OK(cudaHostGetFlags(&flags, x));
    CHECK((flags & cudaHostAllocMapped) != 0);
    OK(cudaPointerGetAttributes(&attributes, x + 10));
    CHECK(attributes.type == cudaMemoryTypeHost && attributes.hostPointer == x + 10 &&
          attributes.devicePointer == there + 10);
    begin(x, LARGE);
    scale(there, LARGE, 2, 1);
    OK(cudaStreamSynchronize(stream));
    CHECK(wrong(x, LARGE, 2, 1) == 0);
    x[3] = 100;
    scale(there, LARGE, 1, 1);
    OK(cudaStreamSynchronize(stream));
    CHECK(x[3] == 101 && x[4] == 10);
    IS(cudaErrorInvalidValue, cudaFree(x));
    OK(cudaFreeHost(x));
    if (!suite_trusts_handles) /* a GPU may reach all memory of its host */
        IS(cudaErrorInvalidValue, cudaHostGetDevicePointer((void **)&there, &own, 0));
    OK(cudaMallocHost((void **)&plain, 4096));
    IS(cudaErrorInvalidValue, cudaHostGetDevicePointer((void **)&there, plain, 1));
    OK(cudaFreeHost(plain));
}

static void mistakes(unsigned *x)
{
    const struct cudaMemLocation device = {.type = cudaMemLocationTypeDevice};
    struct cudaPointerAttributes attributes;
    unsigned *plain = NULL;
    int value = 0;

    OK(cudaDeviceGetAttribute(&value, cudaDevAttrManagedMemory, 0));
    CHECK(value == 1);
    OK(cudaPointerGetAttributes(&attributes, x + 1));
    CHECK(attributes.type == cudaMemoryTypeManaged && attributes.devicePointer == x + 1 &&
          attributes.hostPointer == x + 1);
    OK(cudaMalloc((void **)&plain, 64));
    IS(cudaErrorInvalidValue, cudaMallocManaged((void **)&plain, 0, cudaMemAttachGlobal));
    IS(cudaErrorInvalidValue, cudaMallocManaged((void **)&plain, 64, 9));
    IS(cudaErrorInvalidValue, cudaMallocManaged(NULL, 64, cudaMemAttachGlobal));
    IS(cudaErrorMemoryAllocation, /* no address space has it: a GPU of its own lends more than it
                                     has */
       cudaMallocManaged((void **)&plain, (size_t)1 << 60, cudaMemAttachGlobal));
    IS(cudaErrorInvalidValue, cudaFree(x + 1));
    IS(cudaErrorInvalidValue, cudaFreeHost(x));
    IS(cudaErrorInvalidValue, cudaMemPrefetchAsync(plain, 64, device, 0, NULL));
    IS(cudaErrorInvalidValue, cudaMemAdvise(&value, 4, cudaMemAdviseSetReadMostly, device));
    IS(cudaErrorInvalidValue, cudaStreamAttachMemAsync(NULL, x, 0, 99));
    IS(cudaErrorInvalidValue, cudaMemPrefetchAsync(x, (size_t)1 << 40, device, 0, NULL));
    IS(cudaErrorInvalidValue, cudaMemAdvise(x, 4, (enum cudaMemoryAdvise)77, device));
    IS(cudaErrorInvalidValue, cudaHostAlloc((void **)&plain, 64, 64));
    OK(cudaMemPrefetchAsync(x, 4096, device, 0, NULL));
    OK(cudaMemAdvise(x, 4096, cudaMemAdviseSetReadMostly, device));
    OK(cudaStreamAttachMemAsync(stream, x, 0, cudaMemAttachSingle));
    OK(cudaFree(plain));
    (void)cudaGetLastError();
}

void suite_managed(void)
{
    unsigned *small = NULL, *large = NULL;
    size_t before = 0, after = 0, total = 0;

    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cudaGetSymbolSize(&before, &suite_table)); /* it takes memory, too, at first */
    OK(cudaMemGetInfo(&before, &total));
    OK(cudaMallocManaged((void **)&small, BLOCK * 4 * sizeof(*small), cudaMemAttachGlobal));
    OK(cudaMallocManaged((void **)&large, LARGE * sizeof(*large), cudaMemAttachGlobal));
    turns(small, BLOCK * 4);
    turns(large, LARGE);
    copies(small, BLOCK * 4);
    copies(large, LARGE);
    if (weft_model == NULL) /* whose tasks share one thread */
        threads(large);
    mistakes(small);
    OK(cudaFree(small));
    OK(cudaFree(large));
    results();
    list();
    mapped();
    OK(cudaMemGetInfo(&after, &total));
    CHECK(suite_trusts_handles || after == before); /* the driver keeps some, and others use it */
    OK(cudaStreamDestroy(stream));
}
