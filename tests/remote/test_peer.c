/*
 * test_peer.c - copies between devices of different servers, through host memory: sizes, offsets,
 * both directions at once, ordered by streams and events of both servers. No byte of them passes
 * the program. Arguments: servers, seed, MiB of the largest copy.
 */
#include "sessions.h"
#include "suite.h"

#include "base/task.h"
#include "remote/client/inside.h"
#include "remote/table/table.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t most = 2 << 20; /* of one copy; the third argument, in MiB */
static size_t room;

static uint64_t random_state = 1;
static int copies, wrong, servers;
static uint64_t through; /* bytes of copies between devices that this process has sent */
static unsigned char *memory[4], *there, *back;
static cudaStream_t stream[4];

static uint64_t copied(void)
{
    weft_lock(&client.lock);
    const uint64_t sent = client.sources.sent;
    weft_unlock(&client.lock);
    return sent;
}

static uint32_t pick(uint32_t below)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(random_state >> 33) % below;
}

static void must(cudaError_t error, const char *what)
{
    if (error == cudaSuccess)
        return;
    fprintf(stderr, "peer: %s: %s\n", what, cudaGetErrorName(error));
    exit(EXIT_FAILURE);
}

/* What lies at a place of a device that was filled with a seed. */
static unsigned char pattern(unsigned seed, size_t i)
{
    return (unsigned char)(seed * 31 + i * 7 + (i >> 8) * 3);
}

static void fill(int device, unsigned seed)
{
    for (size_t i = 0; i < room; i++)
        there[i] = pattern(seed, i);
    must(cudaMemcpyAsync(memory[device], there, room, cudaMemcpyHostToDevice, stream[device]),
         "in");
    must(cudaStreamSynchronize(stream[device]), "in");
}

/* One copy, all around it unchanged. */
static void copy(int to, int from, size_t to_at, size_t from_at, size_t bytes)
{
    bool right = true;

    must(cudaSetDevice(to), "device");
    const uint64_t before = copied();
    must(cudaMemcpyPeerAsync(memory[to] + to_at, to, memory[from] + from_at, from, bytes,
                             stream[to]),
         "copy");
    must(cudaStreamSynchronize(stream[to]), "copy");
    through += copied() - before;
    must(cudaMemcpyAsync(back, memory[to], room, cudaMemcpyDeviceToHost, stream[to]), "out");
    must(cudaStreamSynchronize(stream[to]), "out");
    for (size_t i = 0; i < room; i++) {
        const bool inside = i >= to_at && i - to_at < bytes;
        right = right && back[i] == (inside ? pattern((unsigned)from + 1, i - to_at + from_at)
                                            : pattern((unsigned)to + 1, i));
    }
    copies++;
    wrong += !right;
    fill(to, (unsigned)to + 1);
}

static void test_sizes(void)
{
    const size_t sizes[] = {0, 1, 4, 4095, 4096, 65537, 262144 + 3, 2 << 20, most / 2 + 5, most};

    for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++)
        for (int round = 0; round < 3; round++) {
            const int to = (int)pick((uint32_t)servers),
                      from = (to + 1 + (int)pick((uint32_t)servers - 1)) % servers;
            copy(to, from, pick(17), pick(17), sizes[s]);
        }
    for (size_t at = 0; at < 16; at++) /* each offset of each side */
        copy((int)at % servers, (int)(at + 1) % servers, at, at * 5 % 16, 4099);
}

/* All to their neighbour at once, ten times round; what a device had comes by in turn. */
static void test_both_ways(void)
{
    enum { BYTES = 1 << 20, HALF = 1 << 20, ROUNDS = 5 };
    cudaEvent_t sent[4];
    bool right = true;

    for (int d = 0; d < servers; d++) {
        must(cudaSetDevice(d), "device");
        fill(d, (unsigned)d + 1);
        must(cudaEventCreateWithFlags(&sent[d], cudaEventDisableTiming), "event");
    }
    const uint64_t before = copied();
    for (int round = 0; round < ROUNDS; round++) {
        for (int d = 0; d < servers; d++) { /* from the lower half to the neighbour's upper one */
            const int to = (d + 1) % servers;
            must(cudaSetDevice(d), "device");
            must(cudaMemcpyPeerAsync(memory[to] + HALF, to, memory[d], d, BYTES, stream[d]),
                 "copy");
            must(cudaEventRecord(sent[d], stream[d]), "record");
            copies++;
        }
        for (int d = 0; d < servers; d++) { /* when it is there, down */
            const int from = (d + servers - 1) % servers;
            must(cudaSetDevice(d), "device");
            must(cudaStreamWaitEvent(stream[d], sent[from], 0), "wait");
            must(cudaMemcpyAsync(memory[d], memory[d] + HALF, BYTES, cudaMemcpyDeviceToDevice,
                                 stream[d]),
                 "down");
            must(cudaEventRecord(sent[d], stream[d]), "record");
        }
        for (int d = 0; d < servers; d++) /* nobody overwrites what is still going down */
            must(cudaStreamWaitEvent(stream[d], sent[(d + 1) % servers], 0), "wait");
    }
    for (int d = 0; d < servers; d++)
        must(cudaStreamSynchronize(stream[d]), "synchronize");
    through += copied() - before;
    for (int d = 0; d < servers; d++) {
        const unsigned origin = (unsigned)((d + servers * ROUNDS - ROUNDS) % servers) + 1;
        must(cudaSetDevice(d), "device");
        must(cudaMemcpyAsync(back, memory[d], BYTES, cudaMemcpyDeviceToHost, stream[d]), "out");
        must(cudaStreamSynchronize(stream[d]), "out");
        for (size_t i = 0; i < BYTES; i++)
            right = right && back[i] == pattern(origin, i);
        must(cudaEventDestroy(sent[d]), "event");
    }
    wrong += !right;
}

/* ---- the host goes on at once ---------------------------------------------------------------- */

static void block(void *argument)
{
    while (!__atomic_load_n((int *)argument, __ATOMIC_ACQUIRE))
        weft_task_yield(true);
}

static void test_returns(void)
{
    int open = 0;

    must(cudaSetDevice(0), "device");
    must(cudaLaunchHostFunc(stream[0], block, &open), "callback");
    must(cudaMemcpyPeerAsync(memory[1], 1, memory[0], 0, 1 << 20, stream[0]), "copy");
    copies++;
    wrong += cudaStreamQuery(stream[0]) != cudaErrorNotReady;
    (void)cudaGetLastError();
    __atomic_store_n(&open, 1, __ATOMIC_RELEASE);
    must(cudaStreamSynchronize(stream[0]), "synchronize");
}

/*
 * What a call leaves for a stream's turn holds nobody up: an attribute of a kernel, which the
 * launches before do not see, and the end of a stream and an event.
 */
static void test_held_calls(void)
{
    const enum cudaFuncAttribute shared = cudaFuncAttributeMaxDynamicSharedMemorySize;
    int open = 0, factor = 1, shift = 0;
    void *parameters[] = {&memory[0], &factor, &shift};
    cudaEvent_t before, event;
    cudaStream_t held;
    float ms;

    must(cudaSetDevice(0), "device");
    must(cudaStreamCreateWithFlags(&held, cudaStreamNonBlocking), "stream");
    must(cudaEventCreate(&before), "event");
    must(cudaEventCreate(&event), "event");
    must(cudaFuncSetAttribute(&suite_scale, shared, 60000), "attribute");
    must(cudaEventRecord(before, held), "record");
    must(cudaLaunchHostFunc(held, block, &open), "callback");
    must(cudaLaunchKernel(&suite_scale, (dim3){1, 1, 1}, (dim3){1, 1, 1}, parameters, 60000, held),
         "launch");
    must(cudaFuncSetAttribute(&suite_scale, shared, 50000), "attribute");
    must(cudaLaunchKernel(&suite_scale, (dim3){1, 1, 1}, (dim3){1, 1, 1}, parameters, 50000, held),
         "launch");
    must(cudaEventRecord(event, held), "record");
    wrong += cudaEventElapsedTime(&ms, before, event) != cudaErrorNotReady;
    (void)cudaGetLastError();
    must(cudaEventDestroy(event), "event");
    must(cudaStreamDestroy(held), "stream");
    __atomic_store_n(&open, 1, __ATOMIC_RELEASE);
    must(cudaDeviceSynchronize(), "synchronize");
    must(cudaEventDestroy(before), "event");
}

/* ---- many gates ------------------------------------------------------------------------------ */

/* Streams that all wait for one of another server, which waits for the host. */
static void test_many_gates(void)
{
    enum { MANY = 64, BYTES = 4096 };
    cudaStream_t many[MANY];
    cudaEvent_t event;
    int open = 0;

    must(cudaSetDevice(0), "device");
    for (int i = 0; i < MANY; i++)
        must(cudaStreamCreateWithFlags(&many[i], cudaStreamNonBlocking), "stream");
    must(cudaSetDevice(1), "device");
    must(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "event");
    must(cudaLaunchHostFunc(stream[1], block, &open), "callback");
    must(cudaEventRecord(event, stream[1]), "record");
    must(cudaSetDevice(0), "device");
    for (int i = 0; i < MANY; i++) {
        must(cudaStreamWaitEvent(many[i], event, 0), "wait");
        must(cudaMemcpyPeerAsync(memory[0] + (size_t)i * BYTES, 0, memory[1] + (size_t)i * BYTES, 1,
                                 BYTES, many[i]),
             "copy");
        copies++;
    }
    __atomic_store_n(&open, 1, __ATOMIC_RELEASE);
    for (int i = 0; i < MANY; i++) {
        must(cudaStreamSynchronize(many[i]), "synchronize");
        must(cudaStreamDestroy(many[i]), "stream");
    }
    must(cudaMemcpy(back, memory[0], (size_t)MANY * BYTES, cudaMemcpyDeviceToHost), "out");
    for (size_t i = 0; i < (size_t)MANY * BYTES; i++)
        if (back[i] != pattern(2, i)) {
            wrong++;
            break;
        }
    must(cudaEventDestroy(event), "event");
    fill(0, 1);
}

/* One stream waits for another server more often than that remembers at once. */
static void test_many_waits(void)
{
    enum { MANY = 1500 };
    cudaEvent_t event;
    int open = 0;

    must(cudaSetDevice(1), "device");
    must(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "event");
    must(cudaLaunchHostFunc(stream[1], block, &open), "callback");
    must(cudaEventRecord(event, stream[1]), "record");
    for (int i = 0; i < MANY; i++)
        must(cudaStreamWaitEvent(stream[0], event, 0), "wait");
    must(cudaMemsetAsync(memory[0], 0, 1, stream[0]), "fill");
    wrong += cudaStreamQuery(stream[0]) != cudaErrorNotReady;
    (void)cudaGetLastError();
    __atomic_store_n(&open, 1, __ATOMIC_RELEASE);
    must(cudaStreamSynchronize(stream[0]), "synchronize");
    must(cudaEventDestroy(event), "event");
    fill(0, 1);
}

/* A copy of a stream of its own does not wait for 64 others, each with a closed gate. */
static void test_closed_gates(void)
{
    enum { MANY = 64 };
    cudaStream_t many[MANY], free_one;
    int open = 0;

    must(cudaSetDevice(0), "device");
    for (int i = 0; i < MANY; i++) {
        must(cudaStreamCreateWithFlags(&many[i], cudaStreamNonBlocking), "stream");
        must(cudaLaunchHostFunc(many[i], block, &open), "callback");
        must(cudaMemsetAsync(memory[0] + i, i, 1, many[i]), "fill");
    }
    must(cudaStreamCreateWithFlags(&free_one, cudaStreamNonBlocking), "stream");
    must(cudaMemcpyPeerAsync(memory[0] + (1 << 20), 0, memory[1], 1, 1 << 20, free_one), "copy");
    must(cudaMemcpyAsync(back, memory[0], room, cudaMemcpyDeviceToHost, free_one), "out");
    must(cudaStreamSynchronize(free_one), "copy");
    copies++;
    for (size_t i = 0; i < 2 << 20; i++)
        if (back[i] != pattern(i < 1 << 20 ? 1 : 2, i & ((1 << 20) - 1))) {
            wrong++;
            break;
        }
    for (int i = 0; i < MANY; i++)
        wrong += cudaStreamQuery(many[i]) != cudaErrorNotReady;
    (void)cudaGetLastError();
    printf("copy done with %d gates closed\n", MANY);
    __atomic_store_n(&open, 1, __ATOMIC_RELEASE);
    for (int i = 0; i < MANY; i++) {
        must(cudaStreamSynchronize(many[i]), "synchronize");
        must(cudaStreamDestroy(many[i]), "stream");
    }
    must(cudaMemcpy(back, memory[0], MANY, cudaMemcpyDeviceToHost), "out");
    for (int i = 0; i < MANY; i++)
        wrong += back[i] != i;
    must(cudaStreamDestroy(free_one), "stream");
    fill(0, 1);
}

int main(int argc, char **argv)
{
    char options[64];

    servers = argc > 1 ? atoi(argv[1]) : 2;
    random_state = argc > 2 ? (uint64_t)atoi(argv[2]) : 1;
    if (argc > 3)
        most = ((size_t)atoi(argv[3]) << 20) + 3;
    room = most + 64;
    snprintf(options, sizeof(options), "memory=256M,seed=%d", (int)random_state);
    weft_cudart_use(sessions_begin(servers, 1, options));
    suite_register(NULL);
    there = malloc(room);
    back = malloc(room);
    for (int d = 0; d < servers; d++) {
        must(cudaSetDevice(d), "device");
        must(cudaMalloc((void **)&memory[d], room), "memory");
        must(cudaStreamCreateWithFlags(&stream[d], cudaStreamNonBlocking), "stream");
        fill(d, (unsigned)d + 1);
    }
    test_returns();
    test_held_calls();
    for (int d = 0; d < servers; d++)
        fill(d, (unsigned)d + 1);
    test_many_gates();
    test_many_waits();
    test_closed_gates();
    test_sizes();
    test_both_ways();
    printf("peer: %d copies, %d wrong; %llu bytes through the client\n", copies, wrong,
           (unsigned long long)through);
    free(there);
    free(back);
    return sessions_end() && wrong == 0 && through == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
