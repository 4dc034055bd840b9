/*
 * managed_threads.c - managed memory and a program's threads: small stacks, callbacks, many that
 * wait, stores while it moves, two devices.
 */
#include "managed.h"

#include <limits.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

unsigned *managed;

void managed_scale(int shift)
{
    int one = 1;
    void *parameters[] = {&managed, &one, &shift};

    OK(cudaLaunchKernel(&suite_scale, (dim3){N / 256, 1, 1}, (dim3){256, 1, 1}, parameters, 0,
                        NULL));
}

static void *sum(void *argument)
{
    unsigned *result = argument;

    for (int i = 0; i < N; i += 512)
        *result += managed[i];
    return NULL;
}

static void small_stack(void)
{
    pthread_attr_t attributes;
    pthread_t thread;
    unsigned result = 0;

    for (int i = 0; i < N; i++)
        managed[i] = 2;
    managed_scale(1);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, (size_t)PTHREAD_STACK_MIN + 16384);
    CHECK(pthread_create(&thread, &attributes, sum, &result) == 0);
    pthread_join(thread, NULL);
    CHECK(result == 3 * N / 512);
}

static void count(void *argument)
{
    (void)argument;
    for (int i = 0; i < N; i += 1024)
        managed[i] += 100;
}

/* What it writes is there for kernels that were launched before it ran. */
static void callbacks(void)
{
    memset(managed, 0, N * sizeof(*managed));
    for (int i = 0; i < 3; i++) {
        managed_scale(1);
        OK(cudaLaunchHostFunc(NULL, count, NULL));
    }
    managed_scale(1);
    OK(cudaDeviceSynchronize());
    CHECK(managed[0] == 304 && managed[1] == 4 && managed[N - 1024] == 304 && managed[N - 1] == 4);
}

static void count_late(void *argument)
{
    usleep(50000);
    count(argument);
}

static void *synchronize(void *argument)
{
    OK(cudaSetDevice(0));
    OK(argument == NULL ? cudaDeviceSynchronize() : cudaStreamSynchronize(NULL));
    return NULL;
}

static void count_one(void *argument)
{
    (void)argument;
    managed[0] += 100;
}

static void nothing(void *argument)
{
    (void)argument;
}

/* Callbacks touch it while others wait for them: who touches it, too, who synchronises, more
 * threads than calls that may wait, and as many callbacks as there may be. */
static void busy_callbacks(void)
{
    enum { WAITERS = 80, CALLBACKS = 4096 };
    pthread_t thread[WAITERS];

    memset(managed, 0, N * sizeof(*managed));
    managed_scale(1);
    OK(cudaLaunchHostFunc(NULL, count_late, NULL));
    CHECK(managed[0] == 101 && managed[1] == 1);
    for (int round = 0; round < 40; round++) {
        CHECK(pthread_create(&thread[0], NULL, synchronize, NULL) == 0);
        managed_scale(0);
        OK(cudaLaunchHostFunc(NULL, count_one, NULL));
        managed_scale(0);
        pthread_join(thread[0], NULL);
    }
    OK(cudaLaunchHostFunc(NULL, count_late, NULL));
    for (int i = 0; i < WAITERS; i++)
        CHECK(pthread_create(&thread[i], NULL, synchronize, managed) == 0);
    for (int i = 0; i < WAITERS; i++)
        pthread_join(thread[i], NULL);
    CHECK(managed[0] == 4201);
    managed_scale(0);
    OK(cudaLaunchHostFunc(NULL, count_late, NULL));
    for (int i = 0; i < CALLBACKS; i++)
        OK(cudaLaunchHostFunc(NULL, nothing, NULL));
    OK(cudaDeviceSynchronize());
    CHECK(managed[0] == 4301);
}

enum { ADDITIONS = 200000 };

static void *add(void *argument)
{
    volatile unsigned *at = argument;

    for (int i = 0; i < ADDITIONS; i++)
        *at += 1;
    return NULL;
}

/* No store is lost while what is stored to moves to the device and back. */
static void additions(void)
{
    pthread_t thread;

    memset(managed, 0, N * sizeof(*managed));
    CHECK(pthread_create(&thread, NULL, add, &managed[N / 2]) == 0);
    for (int i = 0; i < 100; i++)
        managed_scale(0);
    pthread_join(thread, NULL);
    CHECK(managed[N / 2] == ADDITIONS && managed[N / 2 + 1] == 0);
}

static bool reads;

static void *read_on(void *argument)
{
    while (__atomic_load_n(&reads, __ATOMIC_RELAXED))
        (void)*(volatile unsigned *)&managed[512];
    return argument;
}

static void wait_a_little(void *argument)
{
    (void)argument;
    usleep(2000);
}

/* Copies within device 0, whose calls wait for device 1 first. Meanwhile a thread reads beside. */
static void late_copies(void)
{
    unsigned *device = NULL;
    pthread_t thread;

    OK(cudaMalloc((void **)&device, sizeof(*device)));
    reads = true;
    CHECK(pthread_create(&thread, NULL, read_on, NULL) == 0);
    for (unsigned i = 1; i <= 40; i++) {
        OK(cudaMemcpy(device, &i, sizeof(i), cudaMemcpyDefault));
        OK(cudaSetDevice(1));
        OK(cudaLaunchHostFunc(NULL, wait_a_little, NULL));
        OK(cudaMemcpy(managed, device, sizeof(*device), cudaMemcpyDefault));
        OK(cudaSetDevice(0));
        CHECK(managed[0] == i);
    }
    __atomic_store_n(&reads, false, __ATOMIC_RELAXED);
    pthread_join(thread, NULL);
    OK(cudaFree(device));
}

static void *allocate(void *argument)
{
    void *memory = NULL;

    OK(cudaSetDevice(0));
    for (int i = 0; i < 200; i++) {
        OK(cudaMallocManaged(&memory, 64, cudaMemAttachGlobal));
        OK(cudaFree(memory));
    }
    return argument;
}

/* Of device 1, while device 0 gets such memory and gives it back. */
static void resets(void)
{
    pthread_t thread;
    void *memory = NULL;

    OK(cudaSetDevice(1));
    CHECK(pthread_create(&thread, NULL, allocate, NULL) == 0);
    for (int i = 0; i < 20; i++) {
        for (int b = 0; b < 4; b++)
            OK(cudaMallocManaged(&memory, 64, cudaMemAttachGlobal));
        OK(cudaDeviceReset());
    }
    pthread_join(thread, NULL);
    OK(cudaSetDevice(0));
}

void managed_threads(bool two)
{
    small_stack();
    callbacks();
    busy_callbacks();
    additions();
    if (two) {
        late_copies();
        resets();
    }
}
