/*
 * peers/cuda/errand.cu - the least that a word of the GPU's memory costs the host, by one warp that
 * stays: eight lanes read a line of 64 bytes in pinned memory at once, each word of which has the
 * line's number in its upper half; one does what it says, and eight answer in the same way.
 */
#include "gpu/measure.h"
#include "machine.h"

#include <chrono>
#include <cstring>

namespace
{

enum { LINE = 8, FETCH = 1, ADD = 2, STOP = 3 };

struct lines {
    uint64_t there[LINE], back[LINE];
};

__device__ uint64_t load(const uint64_t *word)
{
    uint64_t value;
    asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
    return value;
}

/* Words of a line: what, and which of the memory's words; 32 bits each. */
__global__ void serve(lines *lines, unsigned long long *memory)
{
    const uint32_t lane = threadIdx.x;
    unsigned what = 0;
    for (uint32_t number = 1, polls = 0; what != STOP && polls < POLLS; polls++) {
        const uint64_t word = lane < LINE ? load(&lines->there[lane]) : 0;
        if (!__all_sync(~0u, lane >= LINE || word >> 32 == number))
            continue;
        what = __shfl_sync(~0u, (uint32_t)word, 0);
        unsigned long long *const at = memory + __shfl_sync(~0u, (uint32_t)word, 1);
        unsigned long long value = 0;
        if (lane == 0)
            value = what == ADD ? atomicAdd_system(at, 1ull) : load((const uint64_t *)at);
        value = __shfl_sync(~0u, value, 0);
        if (lane < LINE)
            *(volatile uint64_t *)&lines->back[lane] =
                (uint64_t)number << 32 | (uint32_t)(lane == 0 ? value : value >> 32);
        number++;
        polls = 0;
    }
}

/* One errand; what the memory's word was. */
uint64_t ask(lines *lines, uint32_t number, uint32_t what)
{
    const uint64_t lap = (uint64_t)number << 32;
    for (int w = LINE; w-- > 0;)
        __atomic_store_n(&lines->there[w], lap | (w == 0 ? what : 0), __ATOMIC_RELEASE);
    for (int w = 0; w < LINE && what != STOP; w++)
        while (__atomic_load_n(&lines->back[w], __ATOMIC_ACQUIRE) >> 32 != number)
            continue;
    return (uint32_t)lines->back[0] | lines->back[1] << 32;
}

bool measure_errand(const measure_options *options, const char *kind, uint32_t what)
{
    const measure_trips trips = measure_trips_of(options, 0);
    const uint64_t all = trips.warm_up + trips.timed;
    unsigned long long *memory = (unsigned long long *)new_memory(0, 64);
    cudaStream_t kernels;
    lines *lines;
    uint64_t seen = 0;
    std::chrono::steady_clock::time_point start;
    check(cudaStreamCreateWithFlags(&kernels, cudaStreamNonBlocking), "cudaStreamCreate");
    check(cudaHostAlloc(&lines, sizeof(*lines), cudaHostAllocDefault), "cudaHostAlloc");
    memset(lines, 0, sizeof(*lines));
    serve<<<1, 32, 0, kernels>>>(lines, memory);
    check(cudaGetLastError(), "serve");
    for (uint64_t i = 1; i <= all; i++) {
        if (i == trips.warm_up + 1)
            start = std::chrono::steady_clock::now();
        seen = ask(lines, (uint32_t)i, what);
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    ask(lines, (uint32_t)all + 1, STOP);
    check(cudaStreamSynchronize(kernels), "serve");
    check(cudaFree(memory), "cudaFree");
    check(cudaFreeHost(lines), "cudaFreeHost");
    measure_line("floor", kind, 8, 32, 2 * measure_one_way(&trips, took.count()));
    return measure_right(kind, 8, seen != (what == ADD ? all - 1 : 0));
}

} // namespace

int main(int argc, char **argv)
{
    measure_options options;
    setenv("CUDA_MODULE_LOADING", "EAGER", 1);
    measure_parse(&options, argc, argv, 0,
                  "A word of the GPU's memory for the host, by one warp that stays.", "", 0);
    measure_header();
    bool right = measure_errand(&options, "errand_fetch", FETCH);
    right &= measure_errand(&options, "errand_add", ADD);
    return right ? EXIT_SUCCESS : EXIT_FAILURE;
}
