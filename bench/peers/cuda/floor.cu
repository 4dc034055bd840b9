/*
 * peers/cuda/floor.cu - how fast the machine itself is: bare kernels that do what a notification, a
 * put or a barrier cannot do without, with as many threads as the others. One process.
 *
 *     floor same      two blocks of one GPU: adds at gpu scope
 *     floor peer      a block on each of two GPUs that map each other: adds at system scope
 *     floor grid      cooperative_groups' grid.sync
 *
 * A notification is an add (red) to a word that one thread of the other block polls (ld.acquire). A
 * put is a copy by the block, __syncthreads, and an add with release. With one thread the barriers
 * of the block cost nothing: that is the bare flag.
 */
#include "gpu/measure.h"
#include "machine.h"

#include <cooperative_groups.h>

#include <cstring>

namespace
{

enum { ROOM = 1 << 20 };

/* One end of the ping-pong; each lies in the memory of its own device. */
struct side {
    uint32_t count; /* the other end adds to it */
    uint32_t lost;  /* result: a wait was given up */
    unsigned long long wrong, ns;
    alignas(256) uint32_t source[ROOM / 4];
    alignas(256) uint32_t target[ROOM / 4];
};

struct task {
    side *sides[2];
    int way;
    size_t bytes;
    measure_trips trips;
};

/* One end, with what it needs in registers. */
template <bool PEER> struct end {
    side *mine, *other;
    int way;
    size_t bytes;
    uint32_t seen;
    bool lost;

    __device__ void send()
    {
        if (way == WAY_PUT_NOTIFY)
            copy(other->target, mine->source, bytes);
        __syncthreads();
        if (threadIdx.x > 0)
            return;
        if (way == WAY_NOTIFY_RELAXED)
            add_relaxed<PEER>(&other->count);
        else
            add_release<PEER>(&other->count);
    }

    /* Once a wait was given up no later one is tried: both ends come to their end. */
    __device__ void receive()
    {
        seen++;
        if (threadIdx.x == 0 && !lost)
            lost = !wait_for<PEER>(&mine->count, seen);
        __syncthreads();
    }

    __device__ void ping_pong(bool first)
    {
        if (first)
            send();
        receive();
        if (!first)
            send();
    }

    __device__ void send_new(uint64_t number)
    {
        measure_fill(mine->source, bytes, number, threadIdx.x, blockDim.x);
        __syncthreads();
        send();
    }

    __device__ unsigned long long ping_pong_checked(bool first, uint64_t number)
    {
        if (first)
            send_new(number);
        receive();
        const unsigned long long wrong =
            measure_wrong(mine->target, bytes, number, threadIdx.x, blockDim.x);
        if (!first)
            send_new(number);
        return wrong;
    }
};

template <bool PEER> __global__ void __launch_bounds__(1024) ping_pong(task task, int rank)
{
    const int me = PEER ? rank : blockIdx.x;
    side *const mine = me == 0 ? task.sides[0] : task.sides[1];
    side *const other = me == 0 ? task.sides[1] : task.sides[0];
    end<PEER> end = {mine, other, task.way, task.bytes, 0, false};
    unsigned long long wrong = 0, start = 0;

    for (uint64_t i = 0; i < task.trips.checked; i++)
        wrong += end.ping_pong_checked(me == 0, i);
    for (uint64_t i = 0; i < task.trips.warm_up; i++)
        end.ping_pong(me == 0);
    start = clock_ns();
    for (uint64_t i = 0; i < task.trips.timed; i++)
        end.ping_pong(me == 0);
    atomicAdd(&mine->wrong, wrong);
    if (threadIdx.x == 0) {
        mine->ns = clock_ns() - start;
        mine->lost = end.lost;
    }
}

__global__ void grid_barrier(uint64_t warm_up, uint64_t repeats, side *result)
{
    const cooperative_groups::grid_group grid = cooperative_groups::this_grid();
    for (uint64_t i = 0; i < warm_up; i++)
        grid.sync();
    const unsigned long long start = clock_ns();
    for (uint64_t i = 0; i < repeats; i++)
        grid.sync();
    if (blockIdx.x == 0 && threadIdx.x == 0)
        result->ns = clock_ns() - start;
}

side *new_side(int device)
{
    return (side *)new_memory(device, sizeof(side));
}

/* What the kernel wrote at the top of the side. */
struct outcome {
    uint32_t lost;
    unsigned long long wrong, ns;
};

outcome outcome_of(const side *made, const char *what)
{
    outcome result;
    check(cudaDeviceSynchronize(), what);
    check(cudaMemcpy(&result.lost, &made->lost, sizeof(result.lost), cudaMemcpyDefault), what);
    check(cudaMemcpy(&result.wrong, &made->wrong, sizeof(result.wrong), cudaMemcpyDefault), what);
    check(cudaMemcpy(&result.ns, &made->ns, sizeof(result.ns), cudaMemcpyDefault), what);
    return result;
}

bool measure_pair(const measure_options *options, bool peer)
{
    bool right = true;
    if (peer && !join_peers())
        return false;
    for (const measure &m : measures) {
        if (m.bytes > options->to)
            continue;
        const task task = {{new_side(0), new_side(peer ? 1 : 0)},
                           m.way,
                           m.bytes,
                           measure_trips_of(options, m.bytes)};
        outcome results[2];
        for (int rank = 0; rank < (peer ? 2 : 1); rank++) {
            check(cudaSetDevice(rank), "cudaSetDevice");
            if (peer)
                ping_pong<true><<<1, options->threads>>>(task, rank);
            else
                ping_pong<false><<<2, options->threads>>>(task, 0);
            check(cudaGetLastError(), m.kind);
        }
        for (int rank = 0; rank < 2; rank++) {
            check(cudaSetDevice(peer ? rank : 0), "cudaSetDevice");
            results[rank] = outcome_of(task.sides[rank], m.kind);
        }
        for (side *made : task.sides)
            check(cudaFree(made), "cudaFree");
        if (results[0].lost || results[1].lost) {
            fprintf(stderr, "floor: %s of %zu bytes never came\n", m.kind, m.bytes);
            return false;
        }
        right &= measure_right(m.kind, m.bytes, results[0].wrong + results[1].wrong);
        measure_line("floor", m.kind, m.bytes, options->threads,
                     measure_one_way(&task.trips, (double)results[0].ns * 1e-9));
    }
    return right;
}

bool measure_grid(const measure_options *options)
{
    cudaDeviceProp device;
    int most;
    check(cudaGetDeviceProperties(&device, 0), "cudaGetDeviceProperties");
    check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&most, grid_barrier, options->threads, 0),
          "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
    most *= device.multiProcessorCount;
    const int blocks = options->ranks > 0 && options->ranks < most ? options->ranks : most;
    side *result = new_side(0);
    uint64_t warm_up = options->repeats / 10 + 1, repeats = options->repeats;
    void *arguments[] = {&warm_up, &repeats, &result};
    check(cudaLaunchCooperativeKernel((const void *)grid_barrier, dim3(blocks),
                                      dim3(options->threads), arguments, 0, 0),
          "grid_barrier");
    const outcome outcome = outcome_of(result, "grid_barrier");
    check(cudaFree(result), "cudaFree");
    measure_line("floor", "barrier", (size_t)blocks, options->threads,
                 (double)outcome.ns * 1e-3 / (double)repeats);
    return true;
}

} // namespace

int main(int argc, char **argv)
{
    measure_options options;
    /* A module loaded late would wait for the other device's kernel. */
    setenv("CUDA_MODULE_LOADING", "EAGER", 1);
    measure_parse(&options, argc, argv, MEASURE_HAS_TO | MEASURE_HAS_RANKS,
                  "What the machine itself needs for a notification, a put and a barrier.",
                  "same|peer|grid", 1);
    const char *what = options.words_count == 1 ? options.words[0] : "";
    measure_header();
    bool right = false;
    if (strcmp(what, "same") == 0 || strcmp(what, "peer") == 0)
        right = measure_pair(&options, strcmp(what, "peer") == 0);
    else if (strcmp(what, "grid") == 0)
        right = measure_grid(&options);
    else
        fprintf(stderr, "floor: say same, peer or grid; --help says more\n");
    return right ? EXIT_SUCCESS : EXIT_FAILURE;
}
