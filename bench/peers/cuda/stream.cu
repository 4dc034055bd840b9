/*
 * peers/cuda/stream.cu - what moves data between two GPUs without a library. One process.
 *
 *     stream kernel    the stream of measure.h by plain kernels, with as many blocks and threads
 *     stream memcpy    cudaMemcpyPeerAsync, many of them in a stream of each sending GPU
 *     stream latency   cudaMemcpyPeerAsync and cudaStreamSynchronize, there and back
 */
#include "contents.h"
#include "gpu/measure.h"
#include "machine.h"

#include <cooperative_groups.h>

#include <cstring>

namespace
{

/* Of a block, in the memory of its own device; its partner adds to the counters. */
struct lane {
    alignas(128) uint32_t data; /* groups that came */
    alignas(128) uint32_t done; /* groups answered, and one at the start */
    alignas(128) uint32_t lost; /* result: a wait was given up */
    unsigned long long wrong;   /* result: words */
};

struct task {
    lane *lanes[2];
    uint32_t *memory[2]; /* a source and a target for each block */
    size_t bytes;
    uint64_t groups, number;
    bool both;
    unsigned long long *ns; /* result, of device 0 */
};

/* One block, with what it needs in registers. */
struct streamer {
    lane *mine, *other;
    uint32_t *source, *target;
    size_t bytes;
    bool lost;

    __device__ void tell(uint32_t *counter, bool release)
    {
        __syncthreads();
        if (threadIdx.x == 0 && release)
            add_release<true>(counter);
        else if (threadIdx.x == 0)
            add_relaxed<true>(counter);
    }

    /* Once a wait was given up no later one is tried: the kernel comes to its end. */
    __device__ void wait(const uint32_t *counter, uint64_t count)
    {
        if (threadIdx.x == 0 && !lost)
            lost = !wait_for<true>(counter, (uint32_t)count);
        __syncthreads();
    }

    __device__ void stream(uint64_t groups, bool sends, bool receives)
    {
        for (uint64_t i = 0; i < groups; i++) {
            if (sends) {
                if (i >= STREAM_AHEAD)
                    wait(&mine->done, 2 + i - STREAM_AHEAD);
                for (int put = 0; put < STREAM_GROUP; put++)
                    copy(target, source, bytes);
                tell(&other->data, true);
            }
            if (receives) {
                wait(&mine->data, i + 1);
                tell(&other->done, false);
            }
        }
        if (sends)
            wait(&mine->done, 1 + groups);
    }
};

/* MOST: threads of a block. More of them can have fewer registers each. */
template <int MOST> __global__ void __launch_bounds__(MOST) stream(task task, int device)
{
    const cooperative_groups::grid_group grid = cooperative_groups::this_grid();
    const size_t words = task.bytes / 4, at = 2 * words * blockIdx.x;
    uint32_t *const here = (device == 0 ? task.memory[0] : task.memory[1]) + at;
    uint32_t *const there = (device == 0 ? task.memory[1] : task.memory[0]) + at;
    lane *const mine = (device == 0 ? task.lanes[0] : task.lanes[1]) + blockIdx.x;
    lane *const other = (device == 0 ? task.lanes[1] : task.lanes[0]) + blockIdx.x;
    const uint64_t number = 2 * blockIdx.x + task.number;
    const bool sends = task.both || device == 0, receives = task.both || device == 1;
    streamer block = {mine, other, here, there + words, task.bytes, false};

    measure_fill(here, task.bytes, number, threadIdx.x, blockDim.x);
    block.tell(&other->done, true); /* both kernels are there, so that neither waits for a launch */
    block.wait(&mine->done, 1);
    grid.sync();
    const unsigned long long start = clock_ns();
    block.stream(task.groups, sends, receives);
    grid.sync();
    if (device == 0 && blockIdx.x == 0 && threadIdx.x == 0)
        *task.ns = clock_ns() - start;
    if (receives)
        atomicAdd(&mine->wrong, (unsigned long long)measure_wrong(here + words, task.bytes, number,
                                                                  threadIdx.x, blockDim.x));
    if (threadIdx.x == 0)
        mine->lost = block.lost;
}

const void *kernel_for(int threads)
{
    return threads <= 256 ? (const void *)stream<256> : (const void *)stream<1024>;
}

/* Both devices to the end; adds what their blocks found to *wrong. False: a wait was given up. */
bool finish(const task *task, int blocks, uint64_t *wrong)
{
    bool lost = false;
    lane *lanes = (lane *)malloc(blocks * sizeof(*lanes));
    for (int device = 0; device < 2; device++) {
        check(cudaSetDevice(device), "cudaSetDevice");
        check(cudaDeviceSynchronize(), "stream");
        check(cudaMemcpy(lanes, task->lanes[device], blocks * sizeof(*lanes), cudaMemcpyDefault),
              "cudaMemcpy");
        for (int i = 0; i < blocks; i++) {
            lost |= lanes[i].lost != 0;
            *wrong += lanes[i].wrong;
        }
    }
    free(lanes);
    return !lost;
}

/* One phase on both devices. */
bool run_phase(task *task, int blocks, int threads, uint64_t *wrong)
{
    for (int device = 0; device < 2; device++) {
        check(cudaSetDevice(device), "cudaSetDevice");
        check(cudaMemset(task->lanes[device], 0, blocks * sizeof(lane)), "cudaMemset");
        check(cudaDeviceSynchronize(), "cudaMemset");
    }
    for (int device = 0; device < 2; device++) {
        void *arguments[] = {task, &device};
        check(cudaSetDevice(device), "cudaSetDevice");
        check(cudaLaunchCooperativeKernel(kernel_for(threads), dim3(blocks), dim3(threads),
                                          arguments, 0, 0),
              "stream");
    }
    return finish(task, blocks, wrong);
}

/* As many blocks as asked for, if the device holds them; 0: all that it holds. */
int blocks_of(const measure_options *options, int asked)
{
    cudaDeviceProp device;
    int most;
    check(cudaGetDeviceProperties(&device, 0), "cudaGetDeviceProperties");
    check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&most, kernel_for(options->threads),
                                                        options->threads, 0),
          "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
    most *= device.multiProcessorCount;
    return asked > 0 && asked < most ? asked : most;
}

bool measure_kernel(const measure_options *options, int blocks)
{
    const char *kind = options->both ? "both_ways" : "one_way";
    const measure_stream groups = measure_stream_of(options, options->to, blocks);
    unsigned long long ns;
    uint64_t wrong = 0;
    bool whole = true;
    task task = {};
    for (int device = 0; device < 2; device++) {
        task.lanes[device] = (lane *)new_memory(device, blocks * sizeof(lane));
        task.memory[device] = (uint32_t *)new_memory(device, 2 * blocks * options->to);
    }
    task.ns = (unsigned long long *)new_memory(0, sizeof(*task.ns));
    task.bytes = options->to;
    task.both = options->both;
    for (int phase = 0; phase < 2 && whole; phase++) {
        task.number = phase;
        task.groups = groups.groups[phase];
        whole = run_phase(&task, blocks, options->threads, &wrong);
    }
    check(cudaMemcpy(&ns, task.ns, sizeof(ns), cudaMemcpyDefault), "cudaMemcpy");
    check(cudaFree(task.ns), "cudaFree");
    for (int device = 0; device < 2; device++) {
        check(cudaFree(task.memory[device]), "cudaFree");
        check(cudaFree(task.lanes[device]), "cudaFree");
    }
    if (!whole)
        fprintf(stderr, "stream: a group of puts never came\n");
    const bool right = measure_right(kind, options->to, wrong) && whole;
    if (right)
        measure_ranks_line(
            "floor", kind, options->to, options->threads, blocks,
            measure_stream_rate(options, &groups, options->to, blocks, (double)ns * 1e-9), "GB/s");
    return right;
}

/* Memory of both GPUs for copies by the driver, and a stream on each. */
struct copier {
    enum { ROOM = 64 << 20 };
    uint32_t *source[2], *target[2];
    unsigned long long *wrong; /* on device 0, counted by both */
    cudaStream_t streams[2];
};

void start(const copier *copier, int from, size_t bytes)
{
    check(cudaMemcpyPeerAsync(copier->target[1 - from], 1 - from, copier->source[from], from, bytes,
                              copier->streams[from]),
          "cudaMemcpyPeerAsync");
}

void finish(const copier *copier, int from)
{
    check(cudaStreamSynchronize(copier->streams[from]), "cudaStreamSynchronize");
}

/* New contents from device `from`, compared on the other one. */
void copy_checked(const copier *copier, int from, size_t bytes, uint64_t number)
{
    check(cudaSetDevice(from), "cudaSetDevice");
    fill<<<FILL_BLOCKS, FILL_THREADS, 0, copier->streams[from]>>>(copier->source[from], bytes,
                                                                  number);
    check(cudaGetLastError(), "fill");
    start(copier, from, bytes);
    finish(copier, from);
    check(cudaSetDevice(1 - from), "cudaSetDevice");
    compare<<<FILL_BLOCKS, FILL_THREADS, 0, copier->streams[1 - from]>>>(
        copier->target[1 - from], bytes, number, copier->wrong);
    check(cudaGetLastError(), "compare");
    finish(copier, 1 - from);
}

/* `count` copies from each sending device, all under way at once. */
double time_copies(const copier *copier, size_t bytes, int count, int senders)
{
    const double start_s = now();
    for (int i = 0; i < count; i++)
        for (int from = 0; from < senders; from++)
            start(copier, from, bytes);
    for (int from = 0; from < senders; from++)
        finish(copier, from);
    return now() - start_s;
}

uint64_t wrong_of(const copier *copier)
{
    unsigned long long wrong;
    check(cudaMemcpy(&wrong, copier->wrong, sizeof(wrong), cudaMemcpyDefault), "cudaMemcpy");
    return wrong;
}

bool measure_memcpy(const measure_options *options, const copier *copier)
{
    const size_t sizes[] = {options->to, copier::ROOM};
    const int senders = options->both ? 2 : 1;
    const char *kind = options->both ? "both_ways" : "one_way";
    for (const size_t bytes : sizes) {
        const int count = (int)(16 * options->puts * options->to / bytes) + 1;
        for (int from = 0; from < senders; from++)
            copy_checked(copier, from, bytes, 1 + from);
        time_copies(copier, bytes, count / 4 + 1, senders);
        const double seconds = time_copies(copier, bytes, count, senders);
        measure_ranks_line("memcpy", kind, bytes, 0, 1,
                           (double)bytes * count * senders / seconds * 1e-9, "GB/s");
    }
    return measure_right(kind, options->to, wrong_of(copier));
}

bool measure_latency(const measure_options *options, const copier *copier)
{
    for (const measure &m : measures) {
        if (m.way != WAY_PUT_NOTIFY || m.bytes > options->to)
            continue;
        const measure_trips trips = measure_trips_of(options, m.bytes);
        double start_s = 0;
        for (uint64_t i = 0; i < trips.checked; i++)
            copy_checked(copier, (int)(i % 2), m.bytes, i);
        for (uint64_t i = 0; i < trips.warm_up + trips.timed; i++) {
            if (i == trips.warm_up)
                start_s = now();
            for (int from = 0; from < 2; from++) {
                start(copier, from, m.bytes);
                finish(copier, from);
            }
        }
        measure_line("memcpy", m.kind, m.bytes, 0, measure_one_way(&trips, now() - start_s));
    }
    return measure_right("memcpy", options->to, wrong_of(copier));
}

copier new_copier()
{
    copier made;
    for (int device = 0; device < 2; device++) {
        made.source[device] = (uint32_t *)new_memory(device, copier::ROOM);
        made.target[device] = (uint32_t *)new_memory(device, copier::ROOM);
        check(cudaStreamCreateWithFlags(&made.streams[device], cudaStreamNonBlocking),
              "cudaStreamCreate");
    }
    made.wrong = (unsigned long long *)new_memory(0, sizeof(*made.wrong));
    return made;
}

} // namespace

int main(int argc, char **argv)
{
    measure_options options;
    bool right = true;
    /* A module loaded late would wait for the other device's kernel. */
    setenv("CUDA_MODULE_LOADING", "EAGER", 1);
    measure_parse(&options, argc, argv, MEASURE_HAS_TO | MEASURE_HAS_PUTS,
                  "Copies between two GPUs without a library. kernel: streams by plain kernels of "
                  "RANKS blocks (as many as fit) of --threads; memcpy: streams of "
                  "cudaMemcpyPeerAsync; latency: the same there and back, --repeats times.",
                  "kernel|memcpy|latency [RANKS...]", 1 + MEASURE_LIST);
    const char *what = options.words_count > 0 ? options.words[0] : "";
    const bool kernel = strcmp(what, "kernel") == 0, latency = strcmp(what, "latency") == 0;
    if (!kernel && !latency && strcmp(what, "memcpy") != 0) {
        fprintf(stderr, "stream: say kernel, memcpy or latency; --help says more\n");
        return EXIT_FAILURE;
    }
    measure_list(&options, 1);
    if (!join_peers())
        return EXIT_FAILURE;
    measure_header();
    if (latency) {
        const copier copier = new_copier(); /* freed by the end of the process */
        return measure_latency(&options, &copier) ? EXIT_SUCCESS : EXIT_FAILURE;
    }
    for (int i = 0; i < 2 * options.list_count && kernel && right; i++) {
        options.both = i % 2 == 1;
        right = measure_kernel(&options, blocks_of(&options, options.list[i / 2]));
    }
    if (!kernel) {
        const copier copier = new_copier();
        right = measure_memcpy(&options, &copier);
        options.both = true;
        right &= measure_memcpy(&options, &copier);
    }
    return right ? EXIT_SUCCESS : EXIT_FAILURE;
}
