/*
 * peers/nccl/sendrecv.cu - ncclSend, ncclRecv and ncclAllReduce between two GPUs of one process.
 *
 *     nccl latency      the ping-pong (the default)
 *     nccl bandwidth    the stream of measure.h, one way and both ways
 *     nccl allreduce    sums of words, 8 bytes to 1 MiB, of one contribution a GPU
 *
 * Every message of the ping-pong, every sum and every group of the stream is a group of calls,
 * which launches a kernel on a stream of either GPU: that is in the time. The host waits only at
 * the end; the streams keep the order. The environment says which way NCCL may take.
 */
#include "gpu/measure.h"

#include <nccl.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace
{

enum { ROOM = 64 << 20, BLOCKS = 64, THREADS = 256, LIMIT_S = 20 };

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

/* Of what both filled with 1 and 2. */
__global__ void compare_sum(const uint32_t *words, size_t bytes, unsigned long long *wrong)
{
    uint32_t one, two;
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < bytes / 4;
         i += gridDim.x * blockDim.x) {
        one = (uint32_t)(0x9e3779b9u + i + 1);
        two = (uint32_t)(2 * 0x9e3779b9u + i + 1);
        atomicAdd(wrong, (unsigned long long)(words[i] != one + two));
    }
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
                fail("send and receive", "a message never came");
        check(error, "send and receive");
    }
}

void fill_source(const end *ends, int device, size_t bytes, uint64_t number)
{
    check(cudaSetDevice(device), "cudaSetDevice");
    fill<<<BLOCKS, THREADS, 0, ends[device].stream>>>(ends[device].source, bytes, number);
    check(cudaGetLastError(), "fill");
}

/* How many words of the device's target are wrong; sum: it is one of both. */
uint64_t compare_target(const end *ends, int device, size_t bytes, uint64_t number,
                        bool sum = false)
{
    unsigned long long *wrong, count;
    check(cudaSetDevice(device), "cudaSetDevice");
    check(cudaMalloc(&wrong, sizeof(*wrong)), "cudaMalloc");
    check(cudaMemset(wrong, 0, sizeof(*wrong)), "cudaMemset");
    if (sum)
        compare_sum<<<BLOCKS, THREADS>>>(ends[device].target, bytes, wrong);
    else
        compare<<<BLOCKS, THREADS>>>(ends[device].target, bytes, number, wrong);
    check(cudaGetLastError(), "compare");
    check(cudaMemcpy(&count, wrong, sizeof(count), cudaMemcpyDefault), "cudaMemcpy");
    check(cudaFree(wrong), "cudaFree");
    return count;
}

/* New contents each way; how many words came wrong. */
uint64_t trip_checked(end *ends, size_t bytes, uint64_t number)
{
    uint64_t sum = 0;
    for (int from = 0; from < 2; from++) {
        fill_source(ends, from, bytes, number);
        send(ends, from, bytes);
        finish(ends);
        sum += compare_target(ends, 1 - from, bytes, number);
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

bool measure_latency(const measure_options *options, end *ends)
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

/* Messages of a group lie one behind the other. */
void send_group(end *ends, size_t bytes, uint64_t count, int senders)
{
    check(ncclGroupStart(), "ncclGroupStart");
    for (uint64_t i = 0; i < count; i++)
        for (int from = 0; from < senders; from++) {
            end *sender = &ends[from], *receiver = &ends[1 - from];
            const size_t at = i * bytes / sizeof(*sender->source);
            check(ncclSend(sender->source + at, bytes, ncclChar, 1 - from, sender->comm,
                           sender->stream),
                  "ncclSend");
            check(ncclRecv(receiver->target + at, bytes, ncclChar, from, receiver->comm,
                           receiver->stream),
                  "ncclRecv");
        }
    check(ncclGroupEnd(), "ncclGroupEnd");
}

/* A warm-up and a timed part, with other contents each, compared after it. */
bool measure_stream_of_sends(const measure_options *options, end *ends, size_t bytes)
{
    const measure_stream stream = measure_stream_of(options, bytes, 1);
    const int senders = options->both ? 2 : 1;
    const char *kind = options->both ? "both_ways" : "one_way";
    double seconds = 0;
    uint64_t wrong = 0;
    for (int phase = 0; phase < 2; phase++) {
        for (int from = 0; from < senders; from++)
            fill_source(ends, from, stream.group * bytes, phase + 1);
        finish(ends);
        const double start = now();
        for (uint64_t i = 0; i < stream.groups[phase]; i++)
            send_group(ends, bytes, stream.group, senders);
        finish(ends);
        seconds = now() - start;
        for (int from = 0; from < senders; from++)
            wrong += compare_target(ends, 1 - from, stream.group * bytes, phase + 1);
    }
    measure_ranks_line("nccl", kind, bytes, 0, 1,
                       measure_stream_rate(options, &stream, bytes, 1, seconds), "GB/s");
    return measure_right(kind, bytes, wrong);
}

bool measure_bandwidth(measure_options *options, end *ends)
{
    bool right = true;
    for (size_t bytes = options->from; bytes <= options->to; bytes *= 4)
        for (int both = 0; both < 2; both++) {
            options->both = both != 0;
            right &= measure_stream_of_sends(options, ends, bytes);
        }
    return right;
}

double time_sums(end *ends, size_t bytes, uint64_t count)
{
    const double start = now();
    for (uint64_t i = 0; i < count; i++) {
        check(ncclGroupStart(), "ncclGroupStart");
        for (int device = 0; device < 2; device++)
            check(ncclAllReduce(ends[device].source, ends[device].target, bytes / 4, ncclUint32,
                                ncclSum, ends[device].comm, ends[device].stream),
                  "ncclAllReduce");
        check(ncclGroupEnd(), "ncclGroupEnd");
    }
    finish(ends);
    return now() - start;
}

bool measure_allreduce(const measure_options *options, end *ends)
{
    enum { MOST = 1 << 20 };
    bool right = true;
    for (size_t bytes = 8; bytes <= MOST;
         bytes = bytes == MOST || 4 * bytes <= MOST ? 4 * bytes : MOST) {
        const measure_trips trips = measure_trips_of(options, bytes);
        for (int device = 0; device < 2; device++)
            fill_source(ends, device, bytes, device + 1);
        finish(ends);
        time_sums(ends, bytes, trips.warm_up);
        const double seconds = time_sums(ends, bytes, trips.timed);
        uint64_t wrong = 0;
        for (int device = 0; device < 2; device++)
            wrong += compare_target(ends, device, bytes, 0, true);
        right &= measure_right("ncclAllReduce", bytes, wrong);
        measure_line("nccl", "allreduce", bytes, 0, seconds / (double)trips.timed * 1e6);
    }
    return right;
}

} // namespace

int main(int argc, char **argv)
{
    measure_options options;
    measure_parse(&options, argc, argv,
                  MEASURE_HAS_TO | MEASURE_HAS_PUTS | MEASURE_HAS_FROM | MEASURE_NO_THREADS,
                  "ncclSend and ncclRecv between two GPUs of this process, launches included: a "
                  "ping-pong of up to --to and 1 MiB (default), or streams; or ncclAllReduce.",
                  "[latency|bandwidth|allreduce]", 1);
    const char *what = options.words_count > 0 ? options.words[0] : "latency";
    const bool bandwidth = strcmp(what, "bandwidth") == 0;
    const bool allreduce = strcmp(what, "allreduce") == 0;
    if (!bandwidth && !allreduce && strcmp(what, "latency") != 0)
        fail(what, "say latency, bandwidth or allreduce; --help says more");
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
    const bool right = bandwidth   ? measure_bandwidth(&options, ends)
                       : allreduce ? measure_allreduce(&options, ends)
                                   : measure_latency(&options, ends);
    for (ncclComm_t comm : comms)
        check(ncclCommDestroy(comm), "ncclCommDestroy");
    return right ? EXIT_SUCCESS : EXIT_FAILURE;
}
