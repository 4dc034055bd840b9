/*
 * test_order.c - a random program over several devices and streams: kernels, fills, copies on a
 * device, between devices, from and to pinned memory. Streams wait for each other by events where,
 * and only where, they use the same memory. So all must end as if done one after the other.
 * Arguments: devices, steps, seed, servers (as many as devices, or 1).
 */
#include "sessions.h"
#include "suite.h"

#include "remote/table/table.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 4096, BLOCK = 256, STREAMS = 4, BUFFERS = 3, HOSTS = 4, DEVICES = 3 };
enum { MEMORIES = DEVICES * BUFFERS + HOSTS, ALL_STREAMS = DEVICES * STREAMS };

static uint64_t state;
static int devices;
static cudaStream_t streams[ALL_STREAMS];

/* A piece of memory: what it should hold, and who used it last, by stream. */
static struct memory {
    int device; /* -1: pinned memory of the host */
    int *at;
    int model[N];
    cudaEvent_t used[ALL_STREAMS]; /* the last use by a stream */
    bool reads[ALL_STREAMS], writes[ALL_STREAMS];
} memory[MEMORIES];
static int memories;

static uint32_t pick(uint32_t below)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % below;
}

static void must(cudaError_t error, const char *what)
{
    if (error == cudaSuccess)
        return;
    fprintf(stderr, "order: %s: %s\n", what, cudaGetErrorName(error));
    exit(EXIT_FAILURE);
}

/* The stream waits for others' uses that the coming one must come after. */
static void come_after(int stream, struct memory *m, bool writes)
{
    for (int s = 0; s < devices * STREAMS; s++)
        if (s != stream && (m->writes[s] || (writes && m->reads[s])))
            must(cudaStreamWaitEvent(streams[stream], m->used[s], 0), "wait");
    if (!writes)
        return;
    memset(m->reads, 0, sizeof(m->reads)); /* whoever comes after this one comes after them */
    memset(m->writes, 0, sizeof(m->writes));
}

static void has_used(int stream, struct memory *m, bool writes)
{
    must(cudaEventRecord(m->used[stream], streams[stream]), "record");
    m->reads[stream] = true;
    m->writes[stream] |= writes;
}

/* ---- steps ----------------------------------------------------------------------------------- */

static void step_kernel(int stream, struct memory *m)
{
    int factor = (int)pick(5), shift = (int)pick(100);
    void *parameters[] = {&m->at, &factor, &shift};

    come_after(stream, m, true);
    must(cudaLaunchKernel(&suite_scale, (dim3){N / BLOCK, 1, 1}, (dim3){BLOCK, 1, 1}, parameters, 0,
                          streams[stream]),
         "launch");
    has_used(stream, m, true);
    for (int i = 0; i < N; i++)
        m->model[i] = (int)((unsigned)m->model[i] * (unsigned)factor + (unsigned)shift);
}

static void step_fill(int stream, struct memory *m)
{
    const int value = (int)pick(256), count = 1 + (int)pick(N);

    come_after(stream, m, true);
    must(cudaMemsetAsync(m->at, value, (size_t)count * sizeof(int), streams[stream]), "fill");
    has_used(stream, m, true);
    memset(m->model, value, (size_t)count * sizeof(int));
}

static void step_copy(int stream, struct memory *to, struct memory *from)
{
    const int count = 1 + (int)pick(N), to_at = (int)pick((uint32_t)(N - count + 1)),
              from_at = (int)pick((uint32_t)(N - count + 1));

    come_after(stream, from, false);
    come_after(stream, to, true);
    must(cudaMemcpyAsync(to->at + to_at, from->at + from_at, (size_t)count * sizeof(int),
                         cudaMemcpyDefault, streams[stream]),
         "copy");
    has_used(stream, from, false);
    has_used(stream, to, true);
    memcpy(to->model + to_at, from->model + from_at, (size_t)count * sizeof(int));
}

static void step(void)
{
    const int device = (int)pick((uint32_t)devices);
    const int stream = device * STREAMS + (int)pick(STREAMS);
    struct memory *mine = &memory[device * BUFFERS + (int)pick(BUFFERS)];
    struct memory *other = &memory[pick((uint32_t)memories)];
    const uint32_t kind = pick(8);

    must(cudaSetDevice(device), "device");
    if (kind < 2)
        step_kernel(stream, mine);
    else if (kind == 2)
        step_fill(stream, mine);
    else if (mine != other && kind < 6)
        step_copy(stream, mine, other);
    else if (mine != other)
        step_copy(stream, other, mine);
    if (pick(200) == 0)
        must(cudaStreamSynchronize(streams[stream]), "synchronize");
}

/* ---- begin and end --------------------------------------------------------------------------- */

static void prepare(void)
{
    for (int d = 0; d < devices; d++) {
        must(cudaSetDevice(d), "device");
        for (int b = 0; b < BUFFERS; b++) {
            struct memory *m = &memory[memories++];
            m->device = d;
            must(cudaMalloc((void **)&m->at, sizeof(m->model)), "memory");
            must(cudaMemset(m->at, 0, sizeof(m->model)), "memory");
        }
        for (int s = 0; s < STREAMS; s++)
            must(cudaStreamCreateWithFlags(&streams[d * STREAMS + s], cudaStreamNonBlocking),
                 "stream");
        must(cudaDeviceSynchronize(), "memory");
    }
    for (int h = 0; h < HOSTS; h++) {
        struct memory *m = &memory[memories++];
        m->device = -1;
        if (h == 0) { /* the sessions map it; the other goes through the network */
            must(cudaMallocHost((void **)&m->at, sizeof(m->model)), "memory");
        } else {
            m->at = malloc(sizeof(m->model));
            must(cudaHostRegister(m->at, sizeof(m->model), cudaHostRegisterDefault), "memory");
        }
        memset(m->at, 0, sizeof(m->model));
    }
    for (int s = 0; s < devices * STREAMS; s++) {
        must(cudaSetDevice(s / STREAMS), "device");
        for (int m = 0; m < memories; m++)
            must(cudaEventCreateWithFlags(&memory[m].used[s], cudaEventDisableTiming), "event");
    }
}

static int compare(void)
{
    static int back[N];
    int wrong = 0;

    for (int d = 0; d < devices; d++) {
        must(cudaSetDevice(d), "device");
        must(cudaDeviceSynchronize(), "synchronize");
    }
    for (int m = 0; m < memories; m++) {
        if (memory[m].device >= 0)
            must(cudaMemcpy(back, memory[m].at, sizeof(back), cudaMemcpyDefault), "out");
        else
            memcpy(back, memory[m].at, sizeof(back));
        wrong += memcmp(back, memory[m].model, sizeof(back)) != 0;
    }
    return wrong;
}

int main(int argc, char **argv)
{
    const int steps = argc > 2 ? atoi(argv[2]) : 1000, seed = argc > 3 ? atoi(argv[3]) : 1;
    char options[64];

    devices = argc > 1 ? atoi(argv[1]) : 2;
    state = (uint64_t)seed;
    snprintf(options, sizeof(options), "memory=256M,seed=%d", seed);
    const bool one = argc > 4 && atoi(argv[4]) == 1;
    weft_cudart_use(sessions_begin(one ? 1 : devices, one ? devices : 1, options));
    suite_register(NULL);
    prepare();
    for (int i = 0; i < steps; i++)
        step();
    const int wrong = compare();
    printf("order: %d steps of seed %d, %d of %d memories wrong\n", steps, seed, wrong, memories);
    return sessions_end() && wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
