/*
 * peers/cuda/host_trip.cu - a word from a kernel to the host and back, the whole round trip, by
 * where the words lie. The host cannot store to the memory of these GPUs itself: there the answer
 * goes by an operation of a stream. The word to the host lies in pinned memory in any case: what
 * the host would have to fetch, it cannot poll.
 *
 *     host_round_trip    the answer in pinned memory, which the kernel polls
 *     host_trip_combined the same, in memory of which the host combines its writes
 *     host_trip_write    in the GPU's memory, by cuStreamWriteValue32
 *     host_trip_copy     in the GPU's memory, by a copy of 4 bytes
 *     host_trip_batch    as host_trip_write, by cuStreamBatchMemOp together with 8 bytes of data
 */
#include "gpu/measure.h"
#include "machine.h"

#include <cuda.h>

#include <chrono>
#include <cstring>

namespace
{

struct result {
    unsigned long long ns;
    uint32_t lost;
};

__global__ void trip(volatile uint32_t *there, const uint32_t *back, measure_trips trips,
                     result *result)
{
    unsigned long long start = 0;
    bool lost = false;
    for (uint64_t i = 1; i <= trips.warm_up + trips.timed; i++) {
        int polls = 0;
        if (i == trips.warm_up + 1)
            start = clock_ns();
        *there = (uint32_t)i;
        while (load_acquire<true>(back) != (uint32_t)i && !lost)
            lost = ++polls == POLLS;
    }
    result->ns = clock_ns() - start;
    result->lost = lost;
}

/* The word that the kernel stores to, the one that it polls, and how the host stores to that. */
struct words {
    uint32_t *there, *back; /* back: with room for 8 bytes of data before it */
    uint32_t *value;        /* pinned: from where a copy takes it */
    cudaStream_t answers;
};

void check_driver(CUresult result, const char *what)
{
    if (result == CUDA_SUCCESS)
        return;
    const char *text = "unknown error";
    cuGetErrorString(result, &text);
    fprintf(stderr, "cuda: %s: %s\n", what, text);
    exit(EXIT_FAILURE);
}

void by_store(const words *words, uint32_t value)
{
    __atomic_store_n(words->back, value, __ATOMIC_RELEASE);
}

/* What the processor has combined so far goes out. */
void by_combined_store(const words *words, uint32_t value)
{
    __atomic_store_n(words->back, value, __ATOMIC_RELEASE);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

void by_write(const words *words, uint32_t value)
{
    check_driver(cuStreamWriteValue32((CUstream)words->answers, (CUdeviceptr)words->back, value, 0),
                 "cuStreamWriteValue32");
}

/* The kernel has seen the answer before: its copy has left *value. */
void by_copy(const words *words, uint32_t value)
{
    *words->value = value;
    check(cudaMemcpyAsync(words->back, words->value, sizeof(value), cudaMemcpyDefault,
                          words->answers),
          "cudaMemcpyAsync");
}

void by_batch(const words *words, uint32_t value)
{
    CUstreamBatchMemOpParams operations[2] = {};
    operations[0].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_64;
    operations[0].writeValue.address = (CUdeviceptr)(words->back - 2);
    operations[0].writeValue.value64 = value;
    operations[1].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
    operations[1].writeValue.address = (CUdeviceptr)words->back;
    operations[1].writeValue.value = value;
    check_driver(cuStreamBatchMemOp((CUstream)words->answers, 2, operations, 0),
                 "cuStreamBatchMemOp");
}

/* The host's half: answers whatever comes, until the last or until nothing comes for seconds. */
void answer(const words *words, void (*store)(const struct words *, uint32_t), uint32_t last)
{
    typedef std::chrono::steady_clock clock;
    auto since = clock::now();
    for (uint32_t seen = 0, polls = 0; seen < last;) {
        const uint32_t now = __atomic_load_n(words->there, __ATOMIC_ACQUIRE);
        if (now != seen) {
            store(words, seen = now);
            polls = 0;
        } else if (++polls % 65536 == 1) {
            if (polls == 1)
                since = clock::now();
            else if (clock::now() - since > std::chrono::seconds(5))
                return;
        }
    }
}

struct placement {
    const char *kind;
    unsigned flags; /* of pinned memory */
    bool device;    /* the answer lies in the GPU's memory */
    void (*store)(const words *words, uint32_t value);
};

const placement placements[] = {
    {"host_round_trip", cudaHostAllocDefault, false, by_store},
    {"host_trip_combined", cudaHostAllocWriteCombined, false, by_combined_store},
    {"host_trip_write", 0, true, by_write},
    {"host_trip_copy", 0, true, by_copy},
    {"host_trip_batch", 0, true, by_batch}};

bool measure_trip(const measure_options *options, const placement *placement)
{
    enum { APART = 64 }; /* words: the flags share no cache line */
    const measure_trips trips = measure_trips_of(options, 0);
    result *result = (struct result *)new_memory(0, sizeof(*result));
    uint32_t *pinned, *back;
    words words;
    cudaStream_t kernels;
    check(cudaHostAlloc(&pinned, 2 * APART * sizeof(*pinned), cudaHostAllocDefault),
          "cudaHostAlloc");
    memset(pinned, 0, 2 * APART * sizeof(*pinned));
    if (placement->device)
        back = (uint32_t *)new_memory(0, 2 * APART * sizeof(*back));
    else
        check(cudaHostAlloc(&back, 2 * APART * sizeof(*back), placement->flags), "cudaHostAlloc");
    if (!placement->device)
        memset(back, 0, 2 * APART * sizeof(*back));
    words.there = pinned;
    words.value = pinned + APART;
    words.back = back + APART;
    check(cudaStreamCreateWithFlags(&words.answers, cudaStreamNonBlocking), "cudaStreamCreate");
    check(cudaStreamCreateWithFlags(&kernels, cudaStreamNonBlocking), "cudaStreamCreate");
    trip<<<1, 1, 0, kernels>>>(words.there, words.back, trips, result);
    check(cudaGetLastError(), "trip");
    answer(&words, placement->store, (uint32_t)(trips.warm_up + trips.timed));
    struct result outcome;
    check(cudaStreamSynchronize(kernels), "trip");
    check(cudaMemcpy(&outcome, result, sizeof(outcome), cudaMemcpyDefault), "cudaMemcpy");
    check(placement->device ? cudaFree(back) : cudaFreeHost(back), "cudaFree");
    check(cudaFreeHost(pinned), "cudaFreeHost");
    check(cudaFree(result), "cudaFree");
    if (outcome.lost) {
        fprintf(stderr, "host_trip: %s: a word from the host never came\n", placement->kind);
        return false;
    }
    measure_line("floor", placement->kind, 4, 1,
                 2 * measure_one_way(&trips, (double)outcome.ns * 1e-9));
    return true;
}

} // namespace

int main(int argc, char **argv)
{
    measure_options options;
    setenv("CUDA_MODULE_LOADING", "EAGER", 1); /* loaded late it would wait for the kernel */
    measure_parse(&options, argc, argv, 0,
                  "A word from a kernel to the host and back, by where the words lie.", "", 0);
    measure_header();
    bool right = true;
    for (const placement &placement : placements)
        right &= measure_trip(&options, &placement);
    return right ? EXIT_SUCCESS : EXIT_FAILURE;
}
