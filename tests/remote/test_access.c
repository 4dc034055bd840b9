/*
 * test_access.c - kernels that use memory of another server's device, after
 * cudaDeviceEnablePeerAccess. Arguments: a case, servers, devices of each, seed. In processes:
 * access: answers, memory from before and after, order between streams of two servers, memory that
 * is freed while it is used; refused: memory cannot be mapped; later: nor what is allocated later;
 * earlier: errors of earlier calls; taken: it is enabled no more; lost: the owner dies; hosts: by
 * their names, servers of two hosts. tasks: access, with sessions
 * that are tasks of this process.
 */
#include "forked.h"
#include "sessions.h"
#include "suite.h"

#include "remote/client/inside.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N = 4096, BLOCK = 256, BYTES = N * sizeof(int), SLAB = 2 << 20 };

static int count; /* devices */
static bool tasks;

static void on(int device)
{
    OK(cudaSetDevice(device));
}

static int *memory_on(int device, size_t bytes)
{
    int *memory = NULL;

    on(device);
    OK(cudaMalloc((void **)&memory, bytes));
    return memory;
}

/* Each of N numbers += add, after some milliseconds; in the current device's stream. */
static void slowly(int *a, int add, cudaStream_t stream)
{
    void *parameters[] = {&a, &add};

    OK(cudaLaunchKernel(&suite_slow, (dim3){N / BLOCK, 1, 1}, (dim3){BLOCK, 1, 1}, parameters, 0,
                        stream));
}

static void add(float *a, float *b, float *to, cudaStream_t stream)
{
    int n = N;
    void *parameters[] = {&a, &b, &to, &n};

    OK(cudaLaunchKernel(&suite_add, (dim3){N / BLOCK, 1, 1}, (dim3){BLOCK, 1, 1}, parameters, 0,
                        stream));
}

/* All numbers are that, as its device copies them. */
static bool all_are(const int *from, int device, int value)
{
    int back[N];
    bool are = true;

    on(device);
    OK(cudaMemcpy(back, from, BYTES, cudaMemcpyDeviceToHost));
    for (int i = 0; i < N; i++)
        are = are && back[i] == value;
    return are;
}

/* A kernel of `device` finds what was written there, and writes it. */
static bool works(int device, int *far, int owner)
{
    on(owner);
    OK(cudaMemset(far, 0, BYTES));
    OK(cudaDeviceSynchronize());
    on(device);
    slowly(far, 3, NULL);
    slowly(far, 4, NULL);
    OK(cudaDeviceSynchronize());
    return all_are(far, owner, 7);
}

/* ---- answers --------------------------------------------------------------------------------- */

static bool can(int device, int peer)
{
    int is = -1, attribute = -1;

    OK(cudaDeviceCanAccessPeer(&is, device, peer));
    if (device != peer)
        OK(cudaDeviceGetP2PAttribute(&attribute, cudaDevP2PAttrAccessSupported, device, peer));
    CHECK(device == peer || attribute == is);
    return is == 1;
}

static void answers(void)
{
    for (int d = 0; d < count; d++)
        for (int p = 0; p < count; p++) {
            CHECK(can(d, p) == (d != p));
            on(d);
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
    on(0);
    IS(cudaErrorInvalidDevice, cudaDeviceEnablePeerAccess(count, 0));
    IS(cudaErrorInvalidDevice, cudaDeviceEnablePeerAccess(-1, 0));
    (void)cudaGetLastError();
}

/* ---- memory ---------------------------------------------------------------------------------- */

static void enable(int device, int peer)
{
    on(device);
    OK(cudaDeviceEnablePeerAccess(peer, 0));
}

/* From before and after, of every kind. */
static void kinds(int device, int far)
{
    int *const before = memory_on(far, 3 * SLAB), *const last = before + 3 * SLAB / sizeof(int) - N;
    int *later = NULL, *managed = NULL;
    cudaStream_t stream;
    cudaMemPool_t pool;

    enable(device, far);
    CHECK(works(device, before, far));
    CHECK(works(device, last, far));
    on(far);
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cudaDeviceGetDefaultMemPool(&pool, far));
    OK(cudaMallocFromPoolAsync((void **)&later, 3 * SLAB, pool, stream));
    CHECK(works(device, later + 3 * SLAB / sizeof(int) - N, far));
    on(far);
    OK(cudaMallocManaged((void **)&managed, BYTES, cudaMemAttachGlobal));
    for (int i = 0; i < N; i++)
        managed[i] = i;
    on(device);
    slowly(managed, 1, NULL);
    OK(cudaDeviceSynchronize());
    for (int i = 0; i < N; i++)
        CHECK(managed[i] == i + 1);
    OK(cudaFree(managed));
    on(far);
    OK(cudaFreeAsync(later, stream));
    OK(cudaStreamDestroy(stream));
    OK(cudaFree(before));
    on(device);
    OK(cudaDeviceDisablePeerAccess(far));
}

/* A kernel of each device adds what the other one has, as events say, or who waits. */
static void order(int device, int far)
{
    float *mine = (float *)memory_on(device, BYTES), *its = (float *)memory_on(far, BYTES);
    cudaStream_t stream[2];
    cudaEvent_t event[2];

    for (int i = 0; i < 2; i++) {
        enable(i == 0 ? device : far, i == 0 ? far : device);
        OK(cudaStreamCreateWithFlags(&stream[i], cudaStreamNonBlocking));
        OK(cudaEventCreateWithFlags(&event[i], cudaEventDisableTiming));
        OK(cudaMemset(i == 0 ? mine : its, 0, BYTES));
        OK(cudaDeviceSynchronize());
    }
    on(device);
    slowly((int *)mine, 0x3f800000, stream[0]); /* 1.0 each */
    for (int i = 0; i < 10; i++) {              /* its = its + mine, mine = mine + its */
        OK(cudaEventRecord(event[0], stream[0]));
        on(far);
        OK(cudaStreamWaitEvent(stream[1], event[0], 0));
        add(its, mine, its, stream[1]);
        if (i % 3 == 2)
            OK(cudaDeviceSynchronize());
        OK(cudaEventRecord(event[1], stream[1]));
        on(device);
        OK(cudaStreamWaitEvent(stream[0], event[1], 0));
        add(mine, its, mine, stream[0]);
    }
    OK(cudaStreamSynchronize(stream[0]));
    float back[2];
    OK(cudaMemcpy(&back[0], mine + N - 1, sizeof(float), cudaMemcpyDeviceToHost));
    OK(cudaMemcpy(&back[1], its + N - 1, sizeof(float), cudaMemcpyDeviceToHost));
    CHECK(back[0] == 10946 && back[1] == 6765); /* Fibonacci's */
    for (int i = 0; i < 2; i++) {
        on(i == 0 ? device : far);
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
    int *const kept = rest ? memory_on(far, 512) : NULL, *const own = memory_on(device, BYTES);
    cudaStream_t stream;
    int *block = NULL;

    on(far);
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    enable(device, far);
    for (int i = 1; i <= 5; i++) {
        block = memory_on(far, BYTES);
        OK(cudaMemset(block, i, BYTES));
        OK(cudaDeviceSynchronize());
        on(device);
        for (int k = 0; k < 3; k++)
            slowly(in_stream ? own : block, 1, NULL);
        on(far);
        OK(in_stream ? cudaFreeAsync(block, stream) : cudaFree(block));
        OK(cudaStreamSynchronize(stream));
        int *const next =
            memory_on(far, BYTES); /* where it was, as soon as that is mapped no more */
        CHECK(in_stream || next == block);
        OK(cudaMemset(next, 0x11, BYTES));
        OK(cudaDeviceSynchronize());
        on(device);
        OK(cudaDeviceSynchronize());
        CHECK(all_are(next, far, 0x11111111));
        CHECK(works(device, next, far));
        OK(cudaFree(next));
    }
    on(device);
    OK(cudaDeviceDisablePeerAccess(far));
    OK(cudaFree(own));
    on(far);
    OK(cudaStreamDestroy(stream));
    if (rest)
        OK(cudaFree(kept));
}

/* A device that is reset has enabled nothing; what others have enabled of it stays. */
static void reset(int device, int far)
{
    int *its = memory_on(far, BYTES);

    enable(device, far);
    enable(far, device);
    CHECK(works(device, its, far));
    on(device);
    OK(cudaDeviceReset());
    IS(cudaErrorPeerAccessNotEnabled, cudaDeviceDisablePeerAccess(far));
    (void)cudaGetLastError();
    int *mine = memory_on(device, BYTES);
    CHECK(works(far, mine, device));
    enable(device, far);
    CHECK(works(device, its, far));
    on(device);
    OK(cudaDeviceDisablePeerAccess(far));
    on(far);
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

/* ---- where it is not ------------------------------------------------------------------------- */

/* It is enabled for one device of a server, and for the other no more. */
static void taken(void)
{
    int *far = memory_on(2, BYTES);

    enable(0, 2);
    enable(1, 2);
    CHECK(works(0, far, 2));
    on(0);
    OK(cudaDeviceDisablePeerAccess(2));
    OK(cudaDeviceSynchronize());
    CHECK(works(1, far, 2));
    on(0);
    slowly(far, 1, NULL); /* as CUDA: the device is lost */
    IS(cudaErrorIllegalAddress, cudaDeviceSynchronize());
}

static void refused(void)
{
    CHECK(!can(0, 1));
    on(0);
    IS(cudaErrorPeerAccessUnsupported, cudaDeviceEnablePeerAccess(1, 0));
    IS(cudaErrorPeerAccessNotEnabled, cudaDeviceDisablePeerAccess(1));
    CHECK(cudaGetLastError() == cudaErrorPeerAccessNotEnabled);
}

/* The third slab is the first that is not mapped: what cannot be reached is not there. */
static void later(void)
{
    size_t before = 0, after = 0;
    int *memory = NULL;

    int *const first = memory_on(1, BYTES);
    enable(0, 1);
    CHECK(works(0, first, 1));
    int *const second = memory_on(1, SLAB);
    CHECK(works(0, second, 1));
    OK(cudaMemGetInfo(&before, &after));
    IS(cudaErrorPeerAccessUnsupported, cudaMalloc((void **)&memory, SLAB));
    CHECK(memory == NULL && cudaGetLastError() == cudaErrorPeerAccessUnsupported);
    size_t now = 0;
    OK(cudaMemGetInfo(&now, &after));
    CHECK(now == before);
}

/* An earlier call's error, which comes with the answer to what the servers are asked. */
static void earlier(void)
{
    int *far = memory_on(1, BYTES), *near = memory_on(0, BYTES);

    OK(cudaMemsetAsync(near, 0, BYTES, NULL));
    on(1);
    OK(cudaMemsetAsync(far, 0, BYTES, NULL));
    usleep(20000);
    CHECK(can(0, 1));
    IS(cudaErrorInvalidPitchValue, cudaDeviceSynchronize());
}

/* Disabled and enabled again while the device is busy, and its neighbour keeps it. */
static void again(int device, int neighbour, int owner)
{
    int *far = memory_on(owner, BYTES), *own = memory_on(device, BYTES);

    enable(device, owner);
    enable(neighbour, owner);
    on(device);
    for (int i = 0; i < 5; i++)
        slowly(own, 1, NULL);
    OK(cudaDeviceDisablePeerAccess(owner));
    OK(cudaDeviceEnablePeerAccess(owner, 0));
    OK(cudaDeviceSynchronize());
    CHECK(works(device, far, owner));
}

/* What the server refuses, which is told with a later call. */
static void refuse(void)
{
    cudaEvent_t event;

    OK(cudaEventCreate(&event));
    OK(cudaEventDestroy(event));
    (void)cudaEventRecord(event, NULL);
    usleep(20000);
}

/* An earlier call's error comes with the answer to enabling, or to a reset: it decides nothing. */
static void before(bool resets)
{
    int *its = memory_on(1, BYTES);

    if (resets)
        enable(0, 1);
    on(0);
    refuse();
    if (resets) {
        (void)cudaDeviceReset();
        (void)cudaGetLastError();
        enable(0, 1);
    } else {
        (void)cudaDeviceEnablePeerAccess(1, 0);
        (void)cudaGetLastError();
        const cudaError_t second = cudaDeviceEnablePeerAccess(1, 0);
        CHECK(second == cudaSuccess || second == cudaErrorPeerAccessAlreadyEnabled);
        (void)cudaGetLastError();
    }
    (void)cudaDeviceSynchronize();
    (void)cudaGetLastError();
    CHECK(works(0, its, 1));
    CHECK(works(0, memory_on(1, 3 * SLAB), 1));
    on(0);
    OK(cudaDeviceDisablePeerAccess(1));
}

/* An earlier call's error comes with the answer to cudaMalloc: no memory is lost by it. */
static void kept(void)
{
    size_t free_before, free_after, total;
    int *more = NULL;

    on(0);
    OK(cudaMemGetInfo(&free_before, &total));
    refuse();
    if (cudaMalloc((void **)&more, 64 << 20) == cudaSuccess)
        (void)cudaFree(more); /* may tell it, too */
    (void)cudaDeviceSynchronize();
    (void)cudaGetLastError();
    OK(cudaMemGetInfo(&free_after, &total));
    CHECK(free_before == free_after);
}

/* A neighbour whose context is lost keeps nobody from mapping what comes to an address next. */
static void broken(void)
{
    int *far = memory_on(2, BYTES), *strange = memory_on(0, BYTES), *next = NULL;

    enable(0, 2);
    enable(1, 2);
    on(1);
    slowly(strange, 1, NULL);
    CHECK(cudaDeviceSynchronize() != cudaSuccess);
    on(2);
    (void)cudaFree(far);
    (void)cudaGetLastError();
    alarm(10);
    (void)cudaMalloc((void **)&next, BYTES); /* it may fail; it comes back */
    alarm(0);
}

/* What was given just before the end leaves with it: no server is waited for in vain. */
static void leave(void)
{
    int *mine = memory_on(0, BYTES);

    for (int i = 0; i < 20; i++)
        slowly(mine, 1, NULL);
    const uint64_t start = weft_now_ns();
    weft_client_close();
    CHECK(weft_now_ns() - start < 4000000000);
}

static void lose(void)
{
    cudaError_t error = cudaSuccess;
    int *far = memory_on(1, BYTES);

    enable(0, 1);
    CHECK(works(0, far, 1));
    on(0);
    slowly(far, 1, NULL);
    kill(forked_servers[1], SIGKILL);
    for (int i = 0; i < 200 && error == cudaSuccess; i++) {
        slowly(far, 1, NULL); /* what is mapped stays */
        usleep(10000);
        error = cudaDeviceSynchronize();
    }
    IS(cudaErrorDevicesUnavailable, error);
}

int main(int argc, char **argv)
{
    const char *which = argc > 1 ? argv[1] : "access";
    const int servers = argc > 2 ? atoi(argv[2]) : 2, devices = argc > 3 ? atoi(argv[3]) : 1;
    char options[64];

    snprintf(options, sizeof(options), "seed=%s", argc > 4 ? argv[4] : "3");
    tasks = strcmp(which, "tasks") == 0;
    forked_hosts = strcmp(which, "hosts") == 0;
    if (forked_hosts && geteuid() != 0) {
        printf("skipped: only root can name a host\n");
        return 77;
    }
    count = servers * devices;
    if (strcmp(which, "refused") == 0)
        strcpy(options, "fault=import:1:801");
    if (strcmp(which, "earlier") == 0)
        strcpy(options, "fault=fill:1:12");
    if (strcmp(which, "later") == 0)
        strcpy(options, "fault=import:3:801");
    if (tasks) {
        sessions_direct = true;
        strcat(options, ",memory=256M");
        weft_cudart_use(sessions_begin(servers, devices, options));
        suite_register(NULL);
    } else if (!forked_join(servers, devices, options)) {
        return EXIT_FAILURE;
    }
    if (strcmp(which, "earlier") == 0)
        earlier();
    else if (strcmp(which, "refused") == 0 || forked_hosts)
        refused();
    else if (strcmp(which, "later") == 0)
        later();
    else if (strcmp(which, "lost") == 0)
        lose();
    else if (strcmp(which, "taken") == 0)
        taken();
    else if (strcmp(which, "again") == 0)
        again(0, 1, 2);
    else if (strncmp(which, "before", 6) == 0)
        before(which[6] != 0);
    else if (strcmp(which, "kept") == 0)
        kept();
    else if (strcmp(which, "leave") == 0)
        leave();
    else if (strcmp(which, "broken") == 0)
        broken();
    else
        access_all();
    if (tasks && !sessions_end())
        return EXIT_FAILURE;
    if (!tasks)
        forked_end();
    return suite_end() ? EXIT_SUCCESS : EXIT_FAILURE;
}
