/*
 * copy.cu - what copies cost: between two devices, to and from the host, the first against later
 * ones, beside kernels. Plain CUDA: nothing of weft is in it. Medians of seven rounds.
 *
 *   copy peer [BYTES...]     device 0 to device 1, copy and synchronize: microseconds and GB/s
 *   copy access [BYTES...]   the same with peer access, where the devices have it
 *   copy host [BYTES...]     host to device and back, pinned and pageable: GB/s; and device 0 to
 * the host to device 1: what a copy through the program costs copy managed [BYTES...]  memory that
 * the host writes, a kernel uses and the host reads; and the same by copies copy first BYTES two
 * copies one after the other: the first sets up what it needs copy beside BYTES        a copy in
 * one stream, kernels of the same length in another
 *
 * On a machine with one device both are that one, which is then a copy on the device.
 */
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <vector>

enum { ROUNDS = 7 };

/* Keeps one block busy for so many nanoseconds. */
extern "C" __global__ void copy_spin(long long ns)
{
    unsigned long long begun, now;

    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begun));
    do
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    while (now - begun < (unsigned long long)ns);
}

static void must(cudaError_t error, const char *what)
{
    if (error == cudaSuccess)
        return;
    std::fprintf(stderr, "copy: %s: %s\n", what, cudaGetErrorString(error));
    std::exit(EXIT_FAILURE);
}

static double once(const std::function<void()> &run)
{
    const auto begun = std::chrono::steady_clock::now();

    run();
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begun)
        .count();
}

/* Microseconds: the median. One round before does not count. */
static double cost(const std::function<void()> &run)
{
    std::vector<double> rounds(ROUNDS);

    run();
    for (double &r : rounds)
        r = once(run);
    std::sort(rounds.begin(), rounds.end());
    return rounds[ROUNDS / 2];
}

static int other; /* device: 1, or 0 if there is no other */
static char *from, *to;
static cudaStream_t stream, beside;

static void allocate(size_t bytes)
{
    int devices = 0;

    must(cudaGetDeviceCount(&devices), "devices");
    other = devices > 1;
    must(cudaSetDevice(other), "device");
    must(cudaMalloc((void **)&to, bytes), "memory");
    must(cudaSetDevice(0), "device");
    must(cudaMalloc((void **)&from, bytes), "memory");
    must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
    must(cudaStreamCreateWithFlags(&beside, cudaStreamNonBlocking), "stream");
    must(cudaMemset(from, 1, bytes), "fill");
    must(cudaDeviceSynchronize(), "synchronize");
}

static void peer(size_t bytes)
{
    must(cudaMemcpyPeerAsync(to, other, from, 0, bytes, stream), "copy");
}

static void wait()
{
    must(cudaStreamSynchronize(stream), "synchronize");
}

static double rate(size_t bytes, double us)
{
    return (double)bytes * 1e-3 / us;
}

static void measure_peer(const std::vector<size_t> &sizes)
{
    std::printf("%12s %12s %12s\n", "bytes", "us", "GB/s");
    for (size_t bytes : sizes) {
        const double us = cost([&] { peer(bytes), wait(); });
        std::printf("%12zu %12.2f %12.3f\n", bytes, us, rate(bytes, us));
    }
}

static bool enable_access()
{
    int there = 0, back = 0;

    if (other == 0 || cudaDeviceCanAccessPeer(&there, 0, 1) != cudaSuccess ||
        cudaDeviceCanAccessPeer(&back, 1, 0) != cudaSuccess || !there || !back)
        return false;
    must(cudaDeviceEnablePeerAccess(1, 0), "peer access");
    must(cudaSetDevice(1), "device");
    must(cudaDeviceEnablePeerAccess(0, 0), "peer access");
    must(cudaSetDevice(0), "device");
    return true;
}

static void measure_host(const std::vector<size_t> &sizes)
{
    const size_t most = *std::max_element(sizes.begin(), sizes.end());
    std::vector<char> pageable(most, 1);
    char *pinned;

    must(cudaMallocHost((void **)&pinned, most), "pinned memory");
    std::memset(pinned, 1, most);
    std::printf("%12s %12s %12s %12s %12s %12s  GB/s\n", "bytes", "in, pinned", "out, pinned",
                "in, pageable", "out, pageable", "out and in");
    for (size_t bytes : sizes) {
        const auto move = [&](void *target, const void *source) {
            return rate(bytes, cost([&] {
                            must(cudaMemcpyAsync(target, source, bytes, cudaMemcpyDefault, stream),
                                 "copy");
                            wait();
                        }));
        };
        std::printf("%12zu %12.3f %12.3f %12.3f %12.3f", bytes, move(from, pinned),
                    move(pinned, from), move(from, pageable.data()), move(pageable.data(), from));
        std::printf(" %12.3f\n",
                    rate(bytes, cost([&] {
                             must(cudaMemcpy(pinned, from, bytes, cudaMemcpyDefault), "out");
                             must(cudaMemcpy(to, pinned, bytes, cudaMemcpyDefault), "in");
                         })));
    }
    must(cudaFreeHost(pinned), "pinned memory");
}

/* The host writes, a kernel runs, the host reads: by copies, and in managed memory. */
static void measure_managed(const std::vector<size_t> &sizes)
{
    std::printf("%12s %12s %12s  us\n", "bytes", "copies", "managed");
    for (size_t bytes : sizes) {
        std::vector<char> host(bytes);
        char *managed;
        long sum = 0;
        const auto read = [&](const char *memory) {
            for (size_t i = 0; i < bytes; i += 64)
                sum += memory[i];
        };
        const auto kernel = [&] {
            copy_spin<<<1, 1>>>(0);
            must(cudaDeviceSynchronize(), "kernel");
        };
        must(cudaMallocManaged(&managed, bytes), "managed memory");
        const double copies = cost([&] {
            std::memset(host.data(), 1, bytes);
            must(cudaMemcpy(from, host.data(), bytes, cudaMemcpyDefault), "copy");
            kernel();
            must(cudaMemcpy(host.data(), from, bytes, cudaMemcpyDefault), "copy");
            read(host.data());
        });
        const double moved = cost([&] {
            std::memset(managed, 1, bytes);
            kernel();
            read(managed);
        });
        std::printf("%12zu %12.2f %12.2f%s\n", bytes, copies, moved, sum == 0 ? " (nothing)" : "");
        must(cudaFree(managed), "managed memory");
    }
}

static void measure_first(size_t bytes)
{
    for (int i = 0; i < 2; i++) {
        double returned = 0;
        const double us = once([&] {
            returned = once([&] { peer(bytes); });
            wait();
        });
        std::printf("%-8s %zu bytes: returned after %.1f us, done after %.3f ms\n",
                    i == 0 ? "first" : "second", bytes, returned, us * 1e-3);
    }
}

static void measure_beside(size_t bytes)
{
    const double copy = cost([&] { peer(bytes), wait(); });
    const auto kernel = [&] { copy_spin<<<1, 1, 0, beside>>>((long long)(copy * 1e3)); };
    const auto kernel_done = [&] { must(cudaStreamSynchronize(beside), "kernel"); };
    const double alone = cost([&] { kernel(), kernel_done(); });
    const double both = cost([&] { kernel(), peer(bytes), wait(), kernel_done(); });

    std::printf("copy %.1f us, kernel %.1f us, both %.1f us: %.2f of the ideal\n", copy, alone,
                both, std::max(copy, alone) / both);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    std::vector<size_t> sizes;

    for (int i = 2; i < argc; i++)
        sizes.push_back(std::strtoull(argv[i], nullptr, 10));
    if (sizes.empty())
        for (size_t bytes = 4; bytes <= 64 << 20; bytes *= 4)
            sizes.push_back(bytes);
    allocate(*std::max_element(sizes.begin(), sizes.end()));
    if (std::strcmp(what, "peer") == 0)
        measure_peer(sizes);
    else if (std::strcmp(what, "access") == 0 && enable_access())
        measure_peer(sizes);
    else if (std::strcmp(what, "access") == 0)
        std::printf("no peer access between devices 0 and 1\n");
    else if (std::strcmp(what, "host") == 0)
        measure_host(sizes);
    else if (std::strcmp(what, "managed") == 0)
        measure_managed(sizes);
    else if (std::strcmp(what, "first") == 0)
        measure_first(sizes[0]);
    else if (std::strcmp(what, "beside") == 0)
        measure_beside(sizes[0]);
    else
        return std::fprintf(stderr,
                            "usage: copy peer|access|host|managed|first|beside [BYTES...]\n"),
               2;
    return EXIT_SUCCESS;
}
