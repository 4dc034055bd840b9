/*
 * samples.cu - small programs in the manner of those that come with CUDA, in one: what a device is,
 * streams and events, occupancy, a cooperative kernel, a copy between devices, thrust's sort and
 * scan. Plain CUDA: nothing of weft is in it. Arguments: names; all but thrust if there are none,
 * since thrust's kernels need a GPU. Prints a line each; status 1 if one fails.
 */
#include <cooperative_groups.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <vector>

enum { N = 1 << 16, BLOCK = 256 };

extern "C" __global__ void samples_scale(int *value, int count, int factor, int shift)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < count)
        value[i] = value[i] * factor + shift;
}

/* Two phases of the whole grid: the sum of all values, which is then added to each. */
extern "C" __global__ void samples_cooperate(int *value, int count, int *sum)
{
    const int first = blockIdx.x * blockDim.x + threadIdx.x, step = gridDim.x * blockDim.x;
    int own = 0;

    for (int i = first; i < count; i += step)
        own += value[i];
    atomicAdd(sum, own);
    cooperative_groups::this_grid().sync();
    for (int i = first; i < count; i += step)
        value[i] += *sum;
}

static void must(cudaError_t error, const char *what)
{
    if (error == cudaSuccess)
        return;
    std::fprintf(stderr, "samples: %s: %s\n", what, cudaGetErrorString(error));
    std::exit(EXIT_FAILURE);
}

static bool query()
{
    int devices = 0;
    bool good = true;

    must(cudaGetDeviceCount(&devices), "devices");
    for (int d = 0; d < devices; d++) {
        cudaDeviceProp p;
        must(cudaGetDeviceProperties(&p, d), "properties");
        std::printf("  %d: %s, %zu MiB, %d multiprocessors, compute capability %d.%d, %04x:%02x\n",
                    d, p.name, p.totalGlobalMem >> 20, p.multiProcessorCount, p.major, p.minor,
                    p.pciDomainID, p.pciBusID);
        good = good && p.warpSize == 32 && p.maxThreadsPerBlock >= 1024;
    }
    return good && devices > 0;
}

/* Copies and kernels of several streams, timed by events. */
static bool streams()
{
    enum { STREAMS = 4, PART = N / STREAMS };
    cudaStream_t stream[STREAMS];
    cudaEvent_t begin, end;
    int *host, *device;
    float ms = -1;
    bool good = true;

    must(cudaMallocHost((void **)&host, N * sizeof(int)), "pinned memory");
    must(cudaMalloc((void **)&device, N * sizeof(int)), "memory");
    must(cudaEventCreate(&begin), "event");
    must(cudaEventCreate(&end), "event");
    for (int i = 0; i < N; i++)
        host[i] = i;
    for (cudaStream_t &s : stream)
        must(cudaStreamCreate(&s), "stream");
    must(cudaEventRecord(begin, nullptr), "record");
    for (int s = 0; s < STREAMS; s++) {
        int *there = device + s * PART, *here = host + s * PART;
        must(cudaMemcpyAsync(there, here, PART * sizeof(int), cudaMemcpyHostToDevice, stream[s]),
             "in");
        samples_scale<<<PART / BLOCK, BLOCK, 0, stream[s]>>>(there, PART, 3, s);
        must(cudaMemcpyAsync(here, there, PART * sizeof(int), cudaMemcpyDeviceToHost, stream[s]),
             "out");
    }
    must(cudaEventRecord(end, nullptr), "record");
    must(cudaEventSynchronize(end), "synchronize");
    must(cudaEventElapsedTime(&ms, begin, end), "elapsed");
    for (int i = 0; i < N; i++)
        good = good && host[i] == 3 * i + i / PART;
    for (cudaStream_t s : stream)
        must(cudaStreamDestroy(s), "stream");
    must(cudaFreeHost(host), "free");
    must(cudaFree(device), "free");
    return good && ms >= 0;
}

static bool occupancy()
{
    int grid = 0, block = 0, blocks = 0;

    must(cudaOccupancyMaxPotentialBlockSize(&grid, &block, samples_scale, 0, 0), "occupancy");
    must(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, samples_scale, block, 0),
         "occupancy");
    std::printf("  blocks of %d threads, %d a multiprocessor, a grid of %d\n", block, blocks, grid);
    return block >= 32 && blocks >= 1 && grid >= 1;
}

static bool cooperative()
{
    enum { GRID = 4 };
    std::vector<int> host(N, 1);
    int *device, *sum, count = N;
    bool good = true;

    must(cudaMalloc((void **)&device, N * sizeof(int)), "memory");
    must(cudaMalloc((void **)&sum, sizeof(int)), "memory");
    must(cudaMemset(sum, 0, sizeof(int)), "fill");
    must(cudaMemcpy(device, host.data(), N * sizeof(int), cudaMemcpyHostToDevice), "in");
    void *arguments[] = {&device, &count, &sum};
    must(cudaLaunchCooperativeKernel((void *)samples_cooperate, GRID, BLOCK, arguments), "launch");
    must(cudaMemcpy(host.data(), device, N * sizeof(int), cudaMemcpyDeviceToHost), "out");
    for (int v : host)
        good = good && v == N + 1;
    must(cudaFree(device), "free");
    must(cudaFree(sum), "free");
    return good;
}

/* Round all devices, and a kernel at each. */
static bool peer()
{
    std::vector<int> host(N);
    std::vector<int *> device;
    int devices = 0;
    bool good = true;

    must(cudaGetDeviceCount(&devices), "devices");
    std::iota(host.begin(), host.end(), 0);
    for (int d = 0; d < devices; d++) {
        must(cudaSetDevice(d), "device");
        device.push_back(nullptr);
        must(cudaMalloc((void **)&device[d], N * sizeof(int)), "memory");
        if (d == 0)
            must(cudaMemcpy(device[0], host.data(), N * sizeof(int), cudaMemcpyHostToDevice), "in");
        else
            must(cudaMemcpyPeer(device[d], d, device[d - 1], d - 1, N * sizeof(int)), "peer");
        samples_scale<<<N / BLOCK, BLOCK>>>(device[d], N, 1, 1);
    }
    must(cudaMemcpy(host.data(), device[devices - 1], N * sizeof(int), cudaMemcpyDeviceToHost),
         "out");
    for (int i = 0; i < N; i++)
        good = good && host[i] == i + devices;
    for (int *memory : device)
        must(cudaFree(memory), "free");
    must(cudaSetDevice(0), "device");
    return good;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        bool (*run)();
    } samples[] = {{"query", query},
                   {"streams", streams},
                   {"occupancy", occupancy},
                   {"cooperative", cooperative},
                   {"peer", peer}};
    int failed = 0;

    for (const auto &sample : samples) {
        bool wanted = argc == 1;
        for (int i = 1; i < argc; i++)
            wanted = wanted || std::strcmp(argv[i], sample.name) == 0;
        if (!wanted)
            continue;
        const bool good = sample.run();
        std::printf("%s: %s\n", sample.name, good ? "passed" : "FAILED");
        failed += !good;
    }
    return failed != 0;
}
