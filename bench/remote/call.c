/*
 * bench/remote/call.c - what a call costs the program: one without a reply, alone and in a train of
 * a thousand; one that is answered; one whose answer is remembered. Plain CUDA, nothing of weft.
 * Prints microseconds, the median of seven rounds.
 */
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ROUNDS = 7, TRAIN = 1000 };

static void must(cudaError_t error, const char *what)
{
    if (error == cudaSuccess)
        return;
    fprintf(stderr, "call: %s: %s\n", what, cudaGetErrorString(error));
    exit(EXIT_FAILURE);
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static void *memory;
static cudaStream_t stream;
static cudaEvent_t event;

static void fill(void)
{
    must(cudaMemsetAsync(memory, 1, 4, stream), "fill");
}

static void record(void)
{
    must(cudaEventRecord(event, stream), "record");
}

static void query(void)
{
    const cudaError_t error = cudaStreamQuery(stream);

    if (error != cudaErrorNotReady)
        must(error, "query");
    else
        (void)cudaGetLastError();
}

static void attribute(void)
{
    int value;

    must(cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, 0), "attribute");
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Microseconds a call, `count` in a row; what they cause is waited for outside of the time. */
static double cost(void (*call)(void), int count)
{
    double rounds[ROUNDS];

    for (int r = 0; r < ROUNDS; r++) {
        must(cudaStreamSynchronize(stream), "synchronize");
        const double begun = now();
        for (int i = 0; i < count; i++)
            call();
        rounds[r] = (now() - begun) / count;
    }
    qsort(rounds, ROUNDS, sizeof(rounds[0]), ascending);
    return rounds[ROUNDS / 2];
}

int main(void)
{
    static const struct {
        const char *name;
        void (*call)(void);
    } calls[] = {{"fill (no reply)", fill},
                 {"event record (no reply)", record},
                 {"stream query (answered)", query},
                 {"device attribute (remembered)", attribute}};

    must(cudaMalloc(&memory, 4096), "memory");
    must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
    must(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "event");
    printf("%-32s %10s %10s\n", "us a call", "alone", "train");
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
        printf("%-32s %10.3f %10.3f\n", calls[i].name, cost(calls[i].call, 1),
               cost(calls[i].call, TRAIN));
    return EXIT_SUCCESS;
}
