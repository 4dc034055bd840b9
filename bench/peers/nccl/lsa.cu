/*
 * peers/nccl/lsa.cu - the ping-pong inside kernels, by the pointers that NCCL's device API gives
 * (LSA: load and store accessible): what a program on it writes itself. A put is a copy by the
 * block, __syncthreads and an add with release to a counter in the window; one thread polls.
 * One process, two communicators.
 */
#include "../cuda/machine.h"
#include "gpu/measure.h"

#include <nccl.h>
#include <nccl_device.h>

#include <thread>

namespace
{

/* A window: a counter, a source and a target. */
enum { ROOM = 1 << 20, SOURCE = 4096, TARGET = SOURCE + ROOM, WINDOW = TARGET + ROOM };

struct outcome {
    unsigned long long wrong, ns;
    unsigned int lost; /* a wait was given up */
};

struct end {
    ncclComm_t comm;
    ncclWindow_t window;
    char *memory;
    outcome *result;
};

struct task {
    int way;
    size_t bytes;
    measure_trips trips;
};

void check(ncclResult_t result, const char *what)
{
    if (result == ncclSuccess)
        return;
    fprintf(stderr, "nccl: %s: %s\n", what, ncclGetErrorString(result));
    fflush(NULL);
    _Exit(EXIT_FAILURE);
}

/* One end, with what it needs in registers. */
struct player {
    uint32_t *mine, *other; /* counters */
    uint32_t *source, *target, *there;
    task t;
    uint32_t seen;
    bool lost;

    __device__ void send()
    {
        if (t.way == WAY_PUT_NOTIFY)
            copy(there, source, t.bytes);
        __syncthreads();
        if (threadIdx.x > 0)
            return;
        if (t.way == WAY_NOTIFY_RELAXED)
            add_relaxed<true>(other);
        else
            add_release<true>(other);
    }

    /* Once a wait was given up no later one is tried: both ends come to their end. */
    __device__ void receive()
    {
        seen++;
        if (threadIdx.x == 0 && !lost)
            lost = !wait_for<true>(mine, seen);
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
        measure_fill(source, t.bytes, number, threadIdx.x, blockDim.x);
        __syncthreads();
        send();
    }

    __device__ unsigned long long ping_pong_checked(bool first, uint64_t number)
    {
        if (first)
            send_new(number);
        receive();
        const unsigned long long wrong =
            measure_wrong(target, t.bytes, number, threadIdx.x, blockDim.x);
        if (!first)
            send_new(number);
        return wrong;
    }
};

__global__ void ping_pong(ncclWindow_t window, task task, int rank, outcome *result)
{
    const bool first = rank == 0;
    unsigned long long wrong = 0;
    player player = {(uint32_t *)ncclGetLocalPointer(window, 0),
                     (uint32_t *)ncclGetLsaPointer(window, 0, 1 - rank),
                     (uint32_t *)ncclGetLocalPointer(window, SOURCE),
                     (uint32_t *)ncclGetLocalPointer(window, TARGET),
                     (uint32_t *)ncclGetLsaPointer(window, TARGET, 1 - rank),
                     task,
                     0,
                     false};

    for (uint64_t i = 0; i < task.trips.checked; i++)
        wrong += player.ping_pong_checked(first, i);
    for (uint64_t i = 0; i < task.trips.warm_up; i++)
        player.ping_pong(first);
    const unsigned long long start = clock_ns();
    for (uint64_t i = 0; i < task.trips.timed; i++)
        player.ping_pong(first);
    atomicAdd(&result->wrong, wrong);
    if (threadIdx.x == 0) {
        result->ns = clock_ns() - start;
        result->lost = player.lost;
    }
}

/* Collective over both ends, each in a thread of its own. */
void open_window(end *end, int device)
{
    check(cudaSetDevice(device), "cudaSetDevice");
    check(ncclMemAlloc((void **)&end->memory, WINDOW), "ncclMemAlloc");
    check(ncclCommWindowRegister(end->comm, end->memory, WINDOW, &end->window,
                                 NCCL_WIN_COLL_SYMMETRIC),
          "ncclCommWindowRegister");
}

void open_ends(end *ends)
{
    const int devices[] = {0, 1};
    ncclComm_t comms[2];
    check(ncclCommInitAll(comms, 2, devices), "ncclCommInitAll");
    for (int device = 0; device < 2; device++) {
        ends[device].comm = comms[device];
        ends[device].result = (outcome *)new_memory(device, sizeof(outcome));
    }
    std::thread other(open_window, &ends[1], 1);
    open_window(&ends[0], 0);
    other.join();
    if (!ends[0].window || !ends[1].window) {
        fprintf(stderr, "nccl: the window is not symmetric memory\n");
        exit(EXIT_FAILURE);
    }
}

/* Runs both ends; adds what they found to *wrong. False: a wait was given up. */
bool play(const end *ends, const task *task, int threads, uint64_t *wrong, double *seconds)
{
    bool whole = true;
    for (int device = 0; device < 2; device++) {
        check(cudaSetDevice(device), "cudaSetDevice");
        check(cudaMemset(ends[device].memory, 0, SOURCE), "cudaMemset");
        check(cudaMemset(ends[device].result, 0, sizeof(outcome)), "cudaMemset");
        check(cudaDeviceSynchronize(), "cudaMemset");
    }
    for (int device = 0; device < 2; device++) {
        check(cudaSetDevice(device), "cudaSetDevice");
        ping_pong<<<1, threads>>>(ends[device].window, *task, device, ends[device].result);
        check(cudaGetLastError(), "ping_pong");
    }
    for (int device = 0; device < 2; device++) {
        outcome outcome;
        check(cudaSetDevice(device), "cudaSetDevice");
        check(cudaDeviceSynchronize(), "ping_pong");
        check(cudaMemcpy(&outcome, ends[device].result, sizeof(outcome), cudaMemcpyDefault),
              "cudaMemcpy");
        whole &= outcome.lost == 0;
        *wrong += outcome.wrong;
        if (device == 0)
            *seconds = (double)outcome.ns * 1e-9;
    }
    return whole;
}

} // namespace

int main(int argc, char **argv)
{
    measure_options options;
    end ends[2] = {};
    bool right = true;
    /* A module loaded late would wait for the other device's kernel. */
    setenv("CUDA_MODULE_LOADING", "EAGER", 1);
    measure_parse(&options, argc, argv, MEASURE_HAS_TO,
                  "Ping-pong in kernels through a window of NCCL's device API (LSA).", NULL, 0);
    open_ends(ends);
    measure_header();
    for (const measure &m : measures) {
        const task task = {m.way, m.bytes, measure_trips_of(&options, m.bytes)};
        uint64_t wrong = 0;
        double seconds = 0;
        if (m.bytes > options.to)
            continue;
        if (!play(ends, &task, options.threads, &wrong, &seconds)) {
            fprintf(stderr, "nccl: %s of %zu bytes never came\n", m.kind, m.bytes);
            return EXIT_FAILURE;
        }
        right &= measure_right(m.kind, m.bytes, wrong);
        measure_line("nccl_lsa", m.kind, m.bytes, options.threads,
                     measure_one_way(&task.trips, seconds));
    }
    return right ? EXIT_SUCCESS : EXIT_FAILURE;
}
