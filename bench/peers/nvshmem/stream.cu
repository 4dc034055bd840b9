/*
 * peers/nvshmem/stream.cu - many blocks at once with NVSHMEM, between two processes with a GPU
 * each:
 *
 *     stream PROCESS/2 FILE bandwidth|rate [RANKS...]
 *
 * FILE, which must not exist, brings NVSHMEM's unique id from process 0 to process 1.
 *
 * bandwidth: the stream of measure.h; nvshmemx_putmem_nbi_block, and for the last put of a group a
 * fence and nvshmemx_putmem_signal_block. rate: what bench/gpu/rate.cu says; the message is
 * nvshmemx_putmem_signal_block by the block (nvshmem) or nvshmem_uint64_put_signal by one of its
 * threads, without any barrier of the block (nvshmem_thread). Signals add. Who answers many does so
 * with as many threads.
 */
#include "gpu/measure.h"
#include "job.h"

#include <cooperative_groups.h>

namespace
{

enum { POLLS = 1 << 24 };
enum form { TO_ONE, TO_MANY, ANSWERED };

/* Addresses in the symmetric heap; an element or a piece for each block. */
struct task {
    uint64_t *data, *done; /* signals */
    uint32_t *source, *target;
    size_t bytes;
    uint64_t groups;
    bool both;
    uint64_t *slots;
    uint64_t *values;
    uint64_t messages;
    int form;
    bool alone; /* one thread sends */
    uint64_t number;
};

/* This process's block. What it has waited for counts from the start of the kernel. */
struct block {
    task t;
    int process, other;
    result *result;
    bool lost;

    /* Once a wait was given up no later one is tried: the kernel comes to its end. */
    __device__ void wait(uint64_t *signal, uint64_t count)
    {
        if (threadIdx.x == 0 && !lost) {
            int polls = 0;
            while (!nvshmem_uint64_test(signal, NVSHMEM_CMP_GE, count) && !lost)
                lost = ++polls == POLLS;
        }
        __syncthreads();
    }

    __device__ void answer()
    {
        __syncthreads();
        if (threadIdx.x == 0)
            nvshmemx_signal_op(t.done + blockIdx.x, 1, NVSHMEM_SIGNAL_ADD, other);
    }

    __device__ void send_group(uint32_t *target, const uint32_t *source)
    {
        for (int i = 1; i < STREAM_GROUP; i++)
            nvshmemx_putmem_nbi_block(target, source, t.bytes, other);
        nvshmem_fence();
        nvshmemx_putmem_signal_block(target, source, t.bytes, t.data + blockIdx.x, 1,
                                     NVSHMEM_SIGNAL_ADD, other);
    }

    /* done has one more than was answered: the answer at the start. */
    __device__ void stream(uint32_t *target, const uint32_t *source, bool sends, bool receives)
    {
        for (uint64_t i = 0; i < t.groups; i++) {
            if (sends) {
                if (i >= STREAM_AHEAD)
                    wait(t.done + blockIdx.x, 2 + i - STREAM_AHEAD);
                send_group(target, source);
            }
            if (receives) {
                wait(t.data + blockIdx.x, i + 1);
                answer();
            }
        }
        if (sends)
            wait(t.done + blockIdx.x, 1 + t.groups);
    }

    __device__ void send_message()
    {
        uint64_t *const signal = t.data + (t.form == TO_MANY ? blockIdx.x : 0);
        if (!t.alone)
            nvshmemx_putmem_signal_block(t.slots + blockIdx.x, t.values + blockIdx.x,
                                         sizeof(*t.values), signal, 1, NVSHMEM_SIGNAL_ADD, other);
        else if (threadIdx.x == 0)
            nvshmem_uint64_put_signal(t.slots + blockIdx.x, t.values + blockIdx.x, 1, signal, 1,
                                      NVSHMEM_SIGNAL_ADD, other);
    }

    __device__ void answered()
    {
        for (uint64_t i = 1; i <= t.messages; i++) {
            if (process == 0) {
                send_message();
                wait(t.done + blockIdx.x, 1 + i);
            } else if (blockIdx.x == 0) {
                wait(t.data, i * gridDim.x);
                for (unsigned other_block = threadIdx.x; other_block < gridDim.x;
                     other_block += blockDim.x)
                    nvshmemx_signal_op(t.done + other_block, 1, NVSHMEM_SIGNAL_ADD, other);
            }
        }
    }

    __device__ void flood()
    {
        const bool receives = process == 1 && (t.form == TO_MANY || blockIdx.x == 0);
        for (uint64_t i = 0; i < t.messages && process == 0; i++)
            send_message();
        if (receives) {
            wait(t.data + blockIdx.x, t.messages * (t.form == TO_MANY ? 1 : gridDim.x));
            answer();
        }
        if (process == 0 && (t.form == TO_MANY || blockIdx.x == 0))
            wait(t.done + blockIdx.x, 2);
    }
};

/* Both kernels are there when it returns, so that neither waits for a launch. */
__device__ unsigned long long start(block *block)
{
    block->answer();
    block->wait(block->t.done + blockIdx.x, 1);
    cooperative_groups::this_grid().sync();
    return clock_ns();
}

/* The end of what is timed. */
__device__ void stop(const block *block, unsigned long long started)
{
    cooperative_groups::this_grid().sync();
    if (blockIdx.x == 0 && threadIdx.x == 0)
        block->result->ns = clock_ns() - started;
}

__device__ void report(const block *block, unsigned long long wrong)
{
    if (wrong)
        atomicAdd(&block->result->wrong, wrong);
    if (threadIdx.x == 0 && block->lost)
        atomicAdd(&block->result->lost, 1);
}

/* MOST: threads of a block. More of them can have fewer registers each. */
template <int MOST>
__global__ void __launch_bounds__(MOST) stream(task task, int process, result *result)
{
    block block = {task, process, 1 - process, result, false};
    const bool sends = task.both || process == 0, receives = task.both || process == 1;
    const uint64_t number = 2 * blockIdx.x + task.number;
    uint32_t *const source = task.source + task.bytes / 4 * blockIdx.x;
    uint32_t *const target = task.target + task.bytes / 4 * blockIdx.x;

    measure_fill(source, task.bytes, number, threadIdx.x, blockDim.x);
    const unsigned long long started = start(&block);
    block.stream(target, source, sends, receives);
    stop(&block, started);
    report(&block,
           receives ? measure_wrong(target, task.bytes, number, threadIdx.x, blockDim.x) : 0);
}

template <int MOST>
__global__ void __launch_bounds__(MOST) rate(task task, int process, result *result)
{
    block block = {task, process, 1 - process, result, false};

    if (threadIdx.x == 0)
        task.values[blockIdx.x] = task.number + blockIdx.x;
    const unsigned long long started = start(&block);
    if (task.form == ANSWERED)
        block.answered();
    else
        block.flood();
    stop(&block, started);
    report(&block,
           process == 1 && threadIdx.x == 0 && task.slots[blockIdx.x] != task.number + blockIdx.x);
}

/* A phase of either kernel, with signals from nought. */
result run_phase(task *task, const void *kernel, int process, int blocks, int threads,
                 result *device, const char *what)
{
    void *arguments[] = {task, &process, &device};
    check(cudaMemset(task->data, 0, blocks * sizeof(*task->data)), "cudaMemset");
    check(cudaMemset(task->done, 0, blocks * sizeof(*task->done)), "cudaMemset");
    return run(kernel, blocks, threads, arguments, device, what);
}

void new_signals(task *task, int blocks)
{
    task->data = (uint64_t *)new_symmetric(blocks * sizeof(*task->data));
    task->done = (uint64_t *)new_symmetric(blocks * sizeof(*task->done));
}

bool measure_bandwidth(const measure_options *options, int process, int asked, result *device)
{
    task task = {};
    void *arguments[] = {&task, &process, &device};
    const void *kernel =
        options->threads <= 256 ? (const void *)stream<256> : (const void *)stream<1024>;
    const int blocks = blocks_of(kernel, options->threads, arguments, asked);
    const char *kind = options->both ? "both_ways" : "one_way";
    const measure_stream groups = measure_stream_of(options, options->to, blocks);
    bool right = true;
    result result;
    new_signals(&task, blocks);
    task.source = (uint32_t *)new_symmetric(blocks * options->to);
    task.target = (uint32_t *)new_symmetric(blocks * options->to);
    task.bytes = options->to;
    task.both = options->both;
    for (int phase = 0; phase < 2; phase++) {
        task.number = phase;
        task.groups = groups.groups[phase];
        result = run_phase(&task, kernel, process, blocks, options->threads, device, kind);
        right &= measure_right(kind, options->to, result.wrong);
    }
    if (process == 0)
        measure_ranks_line(
            "nvshmem", kind, options->to, options->threads, blocks,
            measure_stream_rate(options, &groups, options->to, blocks, (double)result.ns * 1e-9),
            "GB/s");
    nvshmem_free(task.target);
    nvshmem_free(task.source);
    nvshmem_free(task.done);
    nvshmem_free(task.data);
    return right;
}

void print_rate(const measure_options *options, const task *task, int blocks, const char *kind,
                double seconds)
{
    const double messages = (double)task->messages;
    const bool rounds = task->form == ANSWERED;
    measure_ranks_line(task->alone ? "nvshmem_thread" : "nvshmem", kind, 8, options->threads,
                       blocks,
                       rounds ? seconds / messages * 1e6 : messages * blocks / seconds * 1e-6,
                       rounds ? "us" : "M/s");
}

bool measure_rate(const measure_options *options, int process, int asked, result *device)
{
    const char *const kinds[] = {"to_one", "to_many", "answered"};
    task task = {};
    void *arguments[] = {&task, &process, &device};
    const void *kernel =
        options->threads <= 256 ? (const void *)rate<256> : (const void *)rate<1024>;
    const int blocks = blocks_of(kernel, options->threads, arguments, asked);
    bool right = true;
    new_signals(&task, blocks);
    task.slots = (uint64_t *)new_symmetric(blocks * sizeof(*task.slots));
    task.values = (uint64_t *)new_symmetric(blocks * sizeof(*task.values));
    for (int i = 0; i < 6; i++) {
        result result;
        task.form = i / 2;
        task.alone = i % 2 == 1;
        for (int phase = 0; phase < 2; phase++) {
            task.messages = phase == 0 ? options->repeats / 10 + 1 : options->repeats;
            task.number = 1000000ull * (1 + 2 * i + phase);
            result = run_phase(&task, kernel, process, blocks, options->threads, device,
                               kinds[task.form]);
            right &= measure_right(kinds[task.form], 8, result.wrong);
        }
        if (process == 0)
            print_rate(options, &task, blocks, kinds[task.form], (double)result.ns * 1e-9);
    }
    nvshmem_free(task.values);
    nvshmem_free(task.slots);
    nvshmem_free(task.done);
    nvshmem_free(task.data);
    return right;
}

} // namespace

int main(int argc, char **argv)
{
    measure_options options;
    bool right = true;
    measure_parse(&options, argc, argv, MEASURE_HAS_TO | MEASURE_HAS_PUTS,
                  "Bandwidth and message rate with NVSHMEM between two GPUs.",
                  "PROCESS/2 FILE bandwidth|rate [RANKS...]", 3 + MEASURE_LIST);
    const char *what = options.words_count > 2 ? options.words[2] : "";
    const bool rate = strcmp(what, "rate") == 0;
    if (!rate && strcmp(what, "bandwidth") != 0) {
        fprintf(stderr, "nvshmem: say PROCESS/2 FILE bandwidth|rate; --help says more\n");
        return EXIT_FAILURE;
    }
    measure_list(&options, 3);
    int processes;
    const int process = open_job(options.words, 2, &processes);
    result *device;
    check(cudaMalloc(&device, sizeof(*device)), "cudaMalloc");
    if (process == 0)
        measure_header();
    for (int i = 0; i < options.list_count; i++) {
        if (rate)
            right &= measure_rate(&options, process, options.list[i], device);
        for (int both = 0; both < 2 && !rate; both++) {
            options.both = both != 0;
            right &= measure_bandwidth(&options, process, options.list[i], device);
        }
    }
    check(cudaFree(device), "cudaFree");
    nvshmem_finalize();
    return right ? EXIT_SUCCESS : EXIT_FAILURE;
}
