/*
 * test_storm.c - threads that do everything at once on devices of two servers: memory comes and
 * goes, copies of all kinds, callbacks, events, streams. Nothing fails, nothing waits for ever, and
 * what a thread has filled is what it reads. Arguments: steps of each thread, seed.
 */
#include "sessions.h"
#include "suite.h"

#include "remote/table/table.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { SERVERS = 2, THREADS = 8, STREAMS = 3, BUFFERS = 3, BYTES = 1 << 18 };

static int steps = 300, wrong;

struct worker {
    pthread_t thread;
    uint64_t state;
    int device, other;
    cudaStream_t stream[STREAMS];
    cudaEvent_t event;
    unsigned char *near[BUFFERS], *far, *pinned, *pageable;
};

static uint32_t pick(struct worker *w, uint32_t below)
{
    w->state = w->state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(w->state >> 33) % below;
}

static void must(cudaError_t error, const char *what)
{
    if (error == cudaSuccess)
        return;
    fprintf(stderr, "storm: %s: %s\n", what, cudaGetErrorName(error));
    _exit(EXIT_FAILURE);
}

static void rest(void *argument)
{
    if ((uintptr_t)argument % 8 == 0)
        usleep(1000);
}

/* Filled on the device, on to the other one and back, and to the host. */
static void go_round(struct worker *w, cudaStream_t stream, unsigned char *near)
{
    const unsigned char value = (unsigned char)pick(w, 256);
    const size_t bytes = 1 + pick(w, BYTES);

    must(cudaMemsetAsync(near, value, BYTES, stream), "fill");
    must(cudaMemcpyPeerAsync(w->far, w->other, near, w->device, bytes, stream), "there");
    must(cudaMemsetAsync(near, value + 1, BYTES, stream), "fill");
    must(cudaMemcpyPeerAsync(near, w->device, w->far, w->other, bytes, stream), "back");
    must(cudaMemcpyAsync(w->pinned, near, BYTES, cudaMemcpyDefault, stream), "out");
    must(cudaStreamSynchronize(stream), "synchronize");
    if (w->pinned[0] != value || w->pinned[bytes - 1] != value ||
        (bytes < BYTES && w->pinned[bytes] != (unsigned char)(value + 1)))
        __atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED);
}

static void step(struct worker *w)
{
    const uint32_t s = pick(w, STREAMS), b = pick(w, BUFFERS);
    const cudaStream_t stream = w->stream[s];
    void *memory;

    switch (pick(w, 11)) {
    case 0:
        must(cudaFree(w->near[b]), "free");
        must(cudaMalloc((void **)&w->near[b], BYTES), "allocate");
        break;
    case 1:
        must(cudaFreeHost(w->pinned), "free");
        must(cudaMallocHost((void **)&w->pinned, BYTES), "allocate");
        break;
    case 2:
        must(cudaMallocAsync(&memory, BYTES, stream), "allocate");
        must(cudaMemcpyAsync(memory, w->near[b], BYTES, cudaMemcpyDefault, stream), "copy");
        must(cudaFreeAsync(memory, stream), "free");
        break;
    case 3:
        must(cudaLaunchHostFunc(stream, rest, (void *)(uintptr_t)pick(w, 64)), "callback");
        break;
    case 4:
        must(cudaEventRecord(w->event, stream), "record");
        must(cudaStreamWaitEvent(w->stream[pick(w, STREAMS)], w->event, 0), "wait");
        break;
    case 5:
        must(cudaStreamDestroy(stream), "stream");
        must(cudaStreamCreateWithFlags(&w->stream[s], pick(w, 2)), "stream");
        break;
    case 6:
        must(pick(w, 4) == 0 ? cudaDeviceSynchronize() : cudaEventSynchronize(w->event), "wait");
        break;
    case 7:
        must(cudaMemcpy(w->pageable, w->near[b], BYTES, cudaMemcpyDefault), "out");
        break;
    case 8:
        must(cudaMemcpy(w->near[b], w->pageable, BYTES, cudaMemcpyDefault), "in");
        break;
    default:
        must(cudaStreamSynchronize(stream), "synchronize");
        go_round(w, stream, w->near[b]);
    }
}

static void *work(void *argument)
{
    struct worker *w = argument;

    must(cudaSetDevice(w->other), "device");
    must(cudaMalloc((void **)&w->far, BYTES), "allocate");
    must(cudaSetDevice(w->device), "device");
    for (int s = 0; s < STREAMS; s++)
        must(cudaStreamCreateWithFlags(&w->stream[s], cudaStreamNonBlocking), "stream");
    for (int b = 0; b < BUFFERS; b++)
        must(cudaMalloc((void **)&w->near[b], BYTES), "allocate");
    must(cudaEventCreate(&w->event), "event");
    must(cudaMallocHost((void **)&w->pinned, BYTES), "allocate");
    w->pageable = calloc(1, BYTES);
    for (int i = 0; i < steps; i++)
        step(w);
    must(cudaDeviceSynchronize(), "synchronize");
    free(w->pageable);
    return NULL;
}

int main(int argc, char **argv)
{
    static struct worker workers[THREADS];

    steps = argc > 1 ? atoi(argv[1]) : steps;
    weft_cudart_use(sessions_begin(SERVERS, 1, "memory=256M"));
    for (int i = 0; i < THREADS; i++) {
        struct worker *w = &workers[i];
        w->state = (uint64_t)(argc > 2 ? atoi(argv[2]) : 1) * THREADS + (uint64_t)i;
        w->device = i % SERVERS;
        w->other = (i + 1) % SERVERS;
        if (pthread_create(&w->thread, NULL, work, w) != 0)
            return EXIT_FAILURE;
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(workers[i].thread, NULL);
    printf("storm: %d steps of %d threads, %d wrong\n", steps, THREADS, wrong);
    return sessions_end() && wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
