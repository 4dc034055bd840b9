/*
 * peers/nccl/sendrecv.cu - the ping-pong with ncclSend and ncclRecv between two GPUs of one
 * process. Every message is a group of calls, which launches a kernel on a stream of either GPU:
 * that is in the time. The host waits only at the end; the streams keep the order.
 */
#include "gpu/measure.h"

#include <nccl.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>

namespace
{

enum { ROOM = 1 << 20, BLOCKS = 16, THREADS = 256, LIMIT_S = 20 };

struct end {
    ncclComm_t comm;
    cudaStream_t stream;
    uint32_t *source, *target;
};

/* Destroys no communicator: with a kernel of NCCL that waits, that might not return. */
[[noreturn]] void fail(const char *what, const char *why)
{
    fprintf(stderr, "nccl: %s: %s\n", what, why);
    fflush(NULL);
    _Exit(EXIT_FAILURE);
}

void check(cudaError_t error, const char *what)
{
    if (error != cudaSuccess)
        fail(what, cudaGetErrorString(error));
}

void check(ncclResult_t result, const char *what)
{
    if (result != ncclSuccess)
        fail(what, ncclGetErrorString(result));
}

double now()
{
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

__global__ void fill(uint32_t *words, size_t bytes, uint64_t number)
{
    measure_fill(words, bytes, number, blockIdx.x * blockDim.x + threadIdx.x,
                 gridDim.x * blockDim.x);
}

__global__ void compare(const uint32_t *words, size_t bytes, uint64_t number,
                        unsigned long long *wrong)
{
    atomicAdd(wrong, (unsigned long long)measure_wrong(words, bytes, number,
                                                       blockIdx.x * blockDim.x + threadIdx.x,
                                                       gridDim.x * blockDim.x));
}

/* Launches the message from ends[from] to the other one. */
void send(end *ends, int from, size_t bytes)
{
    end *sender = &ends[from], *receiver = &ends[1 - from];
    check(ncclGroupStart(), "ncclGroupStart");
    check(ncclSend(sender->source, bytes, ncclChar, 1 - from, sender->comm, sender->stream),
          "ncclSend");
    check(ncclRecv(receiver->target, bytes, ncclChar, from, receiver->comm, receiver->stream),
          "ncclRecv");
    check(ncclGroupEnd(), "ncclGroupEnd");
}

/* Waits for both streams, but not for ever. */
void finish(const end *ends)
{
    const double deadline = now() + LIMIT_S;
    for (int device = 0; device < 2; device++) {
        cudaError_t error;
        while ((error = cudaStreamQuery(ends[device].stream)) == cudaErrorNotReady)
            if (now() > deadline)
                fail("ping-pong", "a message never came");
        check(error, "ping-pong");
    }
}

/* New contents each way; how many words came wrong. */
uint64_t trip_checked(end *ends, size_t bytes, uint64_t number)
{
    uint64_t sum = 0;
    for (int from = 0; from < 2; from++) {
        unsigned long long *wrong, count;
        check(cudaSetDevice(from), "cudaSetDevice");
        fill<<<BLOCKS, THREADS, 0, ends[from].stream>>>(ends[from].source, bytes, number);
        check(cudaGetLastError(), "fill");
        send(ends, from, bytes);
        finish(ends);
        check(cudaSetDevice(1 - from), "cudaSetDevice");
        check(cudaMalloc(&wrong, sizeof(*wrong)), "cudaMalloc");
        check(cudaMemset(wrong, 0, sizeof(*wrong)), "cudaMemset");
        compare<<<BLOCKS, THREADS>>>(ends[1 - from].target, bytes, number, wrong);
        check(cudaGetLastError(), "compare");
        check(cudaMemcpy(&count, wrong, sizeof(count), cudaMemcpyDefault), "cudaMemcpy");
        check(cudaFree(wrong), "cudaFree");
        sum += count;
    }
    return sum;
}

double time_trips(end *ends, size_t bytes, uint64_t trips)
{
    const double start = now();
    for (uint64_t i = 0; i < trips; i++) {
        send(ends, 0, bytes);
        send(ends, 1, bytes);
    }
    finish(ends);
    return now() - start;
}

bool measure_all(const measure_options *options, end *ends)
{
    bool right = true;
    for (const measure &m : measures) {
        if (m.way != WAY_PUT_NOTIFY || m.bytes > options->to)
            continue;
        const measure_trips trips = measure_trips_of(options, m.bytes);
        uint64_t wrong = 0;
        for (uint64_t i = 0; i < trips.checked; i++)
            wrong += trip_checked(ends, m.bytes, i);
        right &= measure_right("ncclSend", m.bytes, wrong);
        time_trips(ends, m.bytes, trips.warm_up);
        const double seconds = time_trips(ends, m.bytes, trips.timed);
        measure_line("nccl", m.kind, m.bytes, 0, measure_one_way(&trips, seconds));
    }
    return right;
}

} // namespace

int main(int argc, char **argv)
{
    measure_options options;
    measure_parse(&options, argc, argv, MEASURE_HAS_TO,
                  "Ping-pong by ncclSend and ncclRecv between two GPUs, launches included.", NULL,
                  0);
    const int devices[] = {0, 1};
    ncclComm_t comms[2];
    end ends[2];
    int there = 0;
    check(cudaGetDeviceCount(&there), "cudaGetDeviceCount");
    if (there < 2)
        fail("ping-pong", "there are no two GPUs");
    check(ncclCommInitAll(comms, 2, devices), "ncclCommInitAll");
    for (int device = 0; device < 2; device++) {
        ends[device].comm = comms[device];
        check(cudaSetDevice(device), "cudaSetDevice");
        check(cudaStreamCreateWithFlags(&ends[device].stream, cudaStreamNonBlocking),
              "cudaStreamCreate");
        check(cudaMalloc(&ends[device].source, ROOM), "cudaMalloc");
        check(cudaMalloc(&ends[device].target, ROOM), "cudaMalloc");
    }
    measure_header();
    const bool right = measure_all(&options, ends);
    for (ncclComm_t comm : comms)
        check(ncclCommDestroy(comm), "ncclCommDestroy");
    return right ? EXIT_SUCCESS : EXIT_FAILURE;
}
