/*
 * peers.cu - kernels that use memory of another device, after cudaDeviceEnablePeerAccess: whether
 * they are right, and how fast. Plain CUDA: nothing of weft is in it. On devices 0 and 1 in turn:
 * loads and stores, memory from before and after, in an order by events, atomic additions of both
 * devices at once, memory that is freed and allocated again. Then GB/s of loads and of stores,
 * medians of seven rounds, and what an allocation costs.
 *
 *   peers [MIB]          of each transfer, default 64
 *   peers turns COUNT    two kernels at once, which take turns by words in each other's memory:
 *                        microseconds a turn. The driver in host memory does not have it
 *
 * The last line is "peers: N checks, W wrong"; status 1 unless W is 0.
 */
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <vector>

enum { BLOCK = 256, BLOCKS = 1024, ROUNDS = 7 };

/* to[i] = from[i] + add, sixteen bytes at once. */
extern "C" __global__ void peers_move(int4 *to, const int4 *from, long long count, int add)
{
    for (long long i = blockIdx.x * blockDim.x + threadIdx.x; i < count;
         i += (long long)gridDim.x * blockDim.x) {
        int4 value = from[i];
        value.x += add, value.y += add, value.z += add, value.w += add;
        to[i] = value;
    }
}

/* Each thread adds one. */
extern "C" __global__ void peers_count(int *sum)
{
    atomicAdd_system(sum, 1);
}

/* Waits for its number in its own memory, and writes the next one to the other's. */
__global__ void peers_turns(volatile int *mine, volatile int *other, int first, int turns)
{
    for (int i = 0; i < turns; i++) {
        while (*mine != 2 * i + first)
            continue;
        __threadfence_system();
        *other = 2 * i + first + 1;
    }
}

static int checks, wrong;

static void must(cudaError_t error, const char *what)
{
    if (error == cudaSuccess)
        return;
    std::fprintf(stderr, "peers: %s: %s\n", what, cudaGetErrorString(error));
    std::exit(EXIT_FAILURE);
}

static void check(bool good, const char *what, int device)
{
    checks++;
    wrong += !good;
    if (!good)
        std::printf("WRONG: %s, kernels of device %d\n", what, device);
}

static void on(int device)
{
    must(cudaSetDevice(device), "device");
}

static void wait()
{
    must(cudaDeviceSynchronize(), "synchronize");
}

static int4 *memory_on(int device, size_t bytes)
{
    int4 *memory;

    on(device);
    must(cudaMalloc((void **)&memory, bytes), "memory");
    must(cudaMemset(memory, 0, bytes), "fill");
    wait();
    return memory;
}

/* On the current device. */
static void move(int4 *to, const int4 *from, size_t bytes, int add, cudaStream_t stream)
{
    peers_move<<<BLOCKS, BLOCK, 0, stream>>>(to, from, (long long)(bytes / sizeof(int4)), add);
    must(cudaGetLastError(), "launch");
}

static bool all_are(const int4 *memory, size_t bytes, int value)
{
    std::vector<int> back(bytes / sizeof(int));

    must(cudaMemcpy(back.data(), memory, bytes, cudaMemcpyDefault), "copy");
    return std::all_of(back.begin(), back.end(), [value](int got) { return got == value; });
}

static void enable(int device, int peer)
{
    int can = 0;

    must(cudaDeviceCanAccessPeer(&can, device, peer), "whether there is peer access");
    if (!can) {
        std::printf("peers: device %d does not reach memory of device %d\n", device, peer);
        std::exit(EXIT_FAILURE);
    }
    on(device);
    must(cudaDeviceEnablePeerAccess(peer, 0), "peer access");
    check(cudaDeviceEnablePeerAccess(peer, 0) == cudaErrorPeerAccessAlreadyEnabled, "twice",
          device);
    (void)cudaGetLastError();
}

/* ---- whether it is right --------------------------------------------------------------------- */

static void loads_and_stores(int device, int4 *far, int4 *near, size_t bytes)
{
    on(device);
    move(far, far, bytes, 3, nullptr);
    move(near, far, bytes, 4, nullptr);
    wait();
    check(all_are(far, bytes, 3), "stores", device);
    check(all_are(near, bytes, 7), "loads", device);
}

/* Each device adds one to the other's memory, fifty times, as events say. */
static void order(int device, int peer, int4 *far, size_t bytes)
{
    cudaStream_t stream[2];
    cudaEvent_t event[2];
    const int at[] = {device, peer};

    on(peer);
    must(cudaMemset(far, 0, bytes), "fill");
    wait();
    for (int i = 0; i < 2; i++) {
        on(at[i]);
        must(cudaStreamCreateWithFlags(&stream[i], cudaStreamNonBlocking), "stream");
        must(cudaEventCreateWithFlags(&event[i], cudaEventDisableTiming), "event");
    }
    for (int n = 0; n < 100; n++) {
        on(at[n % 2]);
        if (n > 0)
            must(cudaStreamWaitEvent(stream[n % 2], event[1 - n % 2], 0), "wait");
        move(far, far, bytes, 1, stream[n % 2]);
        must(cudaEventRecord(event[n % 2], stream[n % 2]), "record");
    }
    must(cudaStreamSynchronize(stream[1]), "synchronize");
    check(all_are(far, bytes, 100), "order by events", device);
    for (int i = 0; i < 2; i++) {
        on(at[i]);
        must(cudaStreamDestroy(stream[i]), "stream");
        must(cudaEventDestroy(event[i]), "event");
    }
}

static void atomics(int device, int peer, int *sum)
{
    on(peer);
    must(cudaMemset(sum, 0, sizeof(*sum)), "fill");
    wait();
    for (int i = 0; i < 20; i++) {
        on(device);
        peers_count<<<BLOCKS, BLOCK>>>(sum);
        on(peer);
        peers_count<<<BLOCKS, BLOCK>>>(sum);
    }
    wait();
    on(device);
    wait();
    int got = 0;
    must(cudaMemcpy(&got, sum, sizeof(got), cudaMemcpyDefault), "copy");
    check(got == 40 * BLOCKS * BLOCK, "atomic additions of both", device);
}

/* Memory that is freed once a kernel of the other device has stored to it, and what comes after:
 * CUDA's cudaFree waits for no kernel of another device. */
static void again(int device, int peer, size_t bytes)
{
    for (int i = 0; i < 10; i++) {
        int4 *const block = memory_on(peer, bytes);
        on(device);
        move(block, block, bytes, 1, nullptr);
        wait();
        on(peer);
        must(cudaFree(block), "free");
        int4 *const next = memory_on(peer, bytes);
        on(device);
        move(next, next, bytes, i, nullptr);
        wait();
        check(all_are(next, bytes, i), "memory that is allocated again", device);
        must(cudaFree(next), "free");
    }
}

/* ---- how fast -------------------------------------------------------------------------------- */

/* Microseconds: the median. One round before does not count. */
static double cost(const std::function<void()> &run)
{
    std::vector<double> rounds(ROUNDS);

    run();
    for (double &r : rounds) {
        const auto begun = std::chrono::steady_clock::now();
        run();
        r = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begun)
                .count();
    }
    std::sort(rounds.begin(), rounds.end());
    return rounds[ROUNDS / 2];
}

static void measure(int device, int peer, int4 *far, int4 *near, size_t bytes)
{
    const auto rate = [&](int4 *to, const int4 *from) {
        return (double)bytes / 1e3 / cost([&] { move(to, from, bytes, 0, nullptr), wait(); });
    };
    const auto allocation = [&] {
        void *memory;
        must(cudaMalloc(&memory, bytes), "memory");
        must(cudaFree(memory), "free");
    };

    on(device);
    const double loads = rate(near, far), stores = rate(far, near), own = rate(near, near);
    on(peer);
    std::printf("device %d, of device %d, %zu MiB: loads %.1f GB/s, stores %.1f, of its own memory "
                "%.1f; to allocate there and free %.1f us\n",
                device, peer, bytes >> 20, loads, stores, own, cost(allocation));
}

/* Both kernels have to run at once. */
static void turns(int count)
{
    int *word[2];
    cudaStream_t stream[2];

    for (int d = 0; d < 2; d++) {
        word[d] = (int *)memory_on(d, sizeof(int4));
        must(cudaStreamCreateWithFlags(&stream[d], cudaStreamNonBlocking), "stream");
        enable(d, 1 - d);
    }
    const double us = cost([&] {
        for (int d = 0; d < 2; d++) {
            on(d);
            must(cudaMemset(word[d], 0, sizeof(int)), "fill");
            wait();
        }
        for (int d = 0; d < 2; d++) {
            on(d);
            peers_turns<<<1, 1, 0, stream[d]>>>(word[d], word[1 - d], d, count);
        }
        for (int d = 0; d < 2; d++)
            must(cudaStreamSynchronize(stream[d]), "turns");
    });
    int last = 0;
    must(cudaMemcpy(&last, word[0], sizeof(last), cudaMemcpyDefault), "copy");
    check(last == 2 * count, "turns", 0);
    std::printf("%d turns of two kernels: %.2f us each\n", count, us / count);
}

static void both_ways(size_t bytes)
{
    int4 *before[2], *after[2], *near[2];

    for (int d = 0; d < 2; d++)
        before[d] = memory_on(d, bytes);
    for (int d = 0; d < 2; d++)
        enable(d, 1 - d);
    for (int d = 0; d < 2; d++) {
        after[d] = memory_on(d, bytes);
        near[d] = memory_on(d, bytes);
    }
    for (int d = 0; d < 2; d++) {
        loads_and_stores(d, before[1 - d], near[d], bytes);
        loads_and_stores(d, after[1 - d], near[d], bytes);
        order(d, 1 - d, after[1 - d], std::min(bytes, (size_t)1 << 20));
        atomics(d, 1 - d, (int *)before[1 - d]);
        again(d, 1 - d, bytes);
        measure(d, 1 - d, after[1 - d], near[d], bytes);
    }
    for (int d = 0; d < 2; d++) {
        on(d);
        must(cudaDeviceDisablePeerAccess(1 - d), "no peer access");
        check(cudaDeviceDisablePeerAccess(1 - d) == cudaErrorPeerAccessNotEnabled, "twice", d);
    }
}

int main(int argc, char **argv)
{
    const bool turn = argc == 3 && std::strcmp(argv[1], "turns") == 0;
    const long number = argc > 1 ? std::strtol(argv[argc - 1], nullptr, 10) : 64;
    int devices = 0;

    if (argc > 3 || (argc == 3 && !turn) || number < 1 || number > 1 << 14)
        return std::fprintf(stderr, "usage: peers [MIB] | turns COUNT, of 1 to 16384\n"), 2;
    must(cudaGetDeviceCount(&devices), "devices");
    if (devices < 2)
        return std::printf("peers: %d device, not 2\n", devices), 1;
    if (turn)
        turns((int)number);
    else
        both_ways((size_t)number << 20);
    std::printf("peers: %d checks, %d wrong\n", checks, wrong);
    return wrong != 0;
}
