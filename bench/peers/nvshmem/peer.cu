/*
 * peers/nvshmem/peer.cu - the same ping-pong, reads and barrier with NVSHMEM, between processes
 * with a GPU each, two but for the barrier:
 *
 *     peer PROCESS/PROCESSES FILE latency|get|barrier
 *
 * FILE, which must not exist, brings NVSHMEM's unique id from process 0 to the others.
 *
 * The signal is what counts in weft: an add (nvshmem) or, which is often cheaper, a store of the
 * next number (nvshmem_set). notify_relaxed is the bare signal, notify a fence before it,
 * put_notify nvshmemx_putmem_signal_block. Waiting is nvshmem_signal_wait_until by one thread,
 * which nothing bounds but the time limit that this program is run with. A block of process 0 gets
 * by nvshmemx_getmem_block, each time from the next place of 1 MiB, which its L1 cache cannot hold
 * (of what it has there already it would be given a copy, however old), and adds by one thread's
 * nvshmem_uint64_atomic_fetch_add; its threads meet after each. A barrier of all blocks of all GPUs
 * is grid.sync, nvshmemx_barrier_all_block by one block, grid.sync.
 */
#include "gpu/measure.h"
#include "job.h"

#include <cooperative_groups.h>

namespace
{

enum { ROOM = 1 << 20, LINE = 128, MOST = 64 /* processes */ };

/* Addresses in the symmetric heap. */
struct task {
    uint64_t *signal;
    uint32_t *source, *target;
    int way, signal_op;
    size_t bytes;
    measure_trips trips;
};

/* This process's end, with what it needs in registers. */
struct end {
    task t;
    int other;
    uint64_t sent, seen;

    __device__ void send()
    {
        sent++;
        const uint64_t value = t.signal_op == NVSHMEM_SIGNAL_ADD ? 1 : sent;
        __syncthreads();
        if (t.way == WAY_PUT_NOTIFY) {
            nvshmemx_putmem_signal_block(t.target, t.source, t.bytes, t.signal, value, t.signal_op,
                                         other);
        } else if (threadIdx.x == 0) {
            if (t.way == WAY_NOTIFY)
                nvshmem_fence();
            nvshmemx_signal_op(t.signal, value, t.signal_op, other);
        }
    }

    __device__ void receive()
    {
        seen++;
        if (threadIdx.x == 0)
            nvshmem_signal_wait_until(t.signal, NVSHMEM_CMP_GE, seen);
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
        measure_fill(t.source, t.bytes, number, threadIdx.x, blockDim.x);
        send();
    }

    __device__ unsigned long long ping_pong_checked(bool first, uint64_t number)
    {
        if (first)
            send_new(number);
        receive();
        const unsigned long long wrong =
            measure_wrong(t.target, t.bytes, number, threadIdx.x, blockDim.x);
        if (!first)
            send_new(number);
        return wrong;
    }
};

/* MOST: threads of a block. More of them can have fewer registers each. */
template <int MOST>
__global__ void __launch_bounds__(MOST) ping_pong(task task, int process, result *result)
{
    end end = {task, 1 - process, 0, 0};
    const bool first = process == 0;
    unsigned long long wrong = 0;

    for (uint64_t i = 0; i < task.trips.checked; i++)
        wrong += end.ping_pong_checked(first, i);
    for (uint64_t i = 0; i < task.trips.warm_up; i++)
        end.ping_pong(first);
    const unsigned long long start = clock_ns();
    for (uint64_t i = 0; i < task.trips.timed; i++)
        end.ping_pong(first);
    atomicAdd(&result->wrong, wrong);
    if (threadIdx.x == 0)
        result->ns = clock_ns() - start;
}

struct get_task {
    uint64_t *word;
    uint32_t *source, *target;
    size_t bytes; /* 0: it adds to the word */
    measure_trips trips;
};

template <int MOST>
__global__ void __launch_bounds__(MOST) read_other(get_task t, int process, result *result)
{
    const uint64_t all = process == 0 ? t.trips.warm_up + t.trips.timed : 0;
    const size_t apart = t.bytes < LINE ? LINE : t.bytes, places = ROOM / apart;
    unsigned long long wrong = 0, start = 0;

    for (size_t i = 0; i < places; i++)
        measure_fill(t.source + i * apart / 4, t.bytes, i, threadIdx.x, blockDim.x);
    nvshmemx_barrier_all_block();
    for (uint64_t i = 0; i < all; i++) {
        if (i == t.trips.warm_up)
            start = clock_ns();
        if (t.bytes != 0)
            nvshmemx_getmem_block(t.target, t.source + i % places * apart / 4, t.bytes, 1);
        else if (threadIdx.x == 0)
            wrong += nvshmem_uint64_atomic_fetch_add(t.word, 1, 1) != i;
        __syncthreads();
    }
    if (process == 0 && threadIdx.x == 0)
        result->ns = clock_ns() - start;
    if (process == 0)
        wrong += measure_wrong(t.target, t.bytes, (all - 1) % places, threadIdx.x, blockDim.x);
    atomicAdd(&result->wrong, wrong);
}

__global__ void barrier_of_all(uint64_t warm_up, uint64_t repeats, result *result)
{
    const cooperative_groups::grid_group grid = cooperative_groups::this_grid();
    unsigned long long start = 0;
    for (uint64_t i = 0; i < warm_up + repeats; i++) {
        if (i == warm_up)
            start = clock_ns();
        grid.sync();
        if (blockIdx.x == 0)
            nvshmemx_barrier_all_block();
        grid.sync();
    }
    if (blockIdx.x == 0 && threadIdx.x == 0)
        result->ns = clock_ns() - start;
}

bool measure_latency(const measure_options *options, int process, result *device)
{
    const void *kernel =
        options->threads <= 256 ? (const void *)ping_pong<256> : (const void *)ping_pong<1024>;
    task task = {};
    bool right = true;
    task.signal = (uint64_t *)new_symmetric(sizeof(*task.signal));
    task.source = (uint32_t *)new_symmetric(ROOM);
    task.target = (uint32_t *)new_symmetric(ROOM);
    for (int set = 0; set < 2; set++) {
        for (const measure &m : measures) {
            if (m.bytes > options->to)
                continue;
            task.way = m.way;
            task.bytes = m.bytes;
            task.signal_op = set ? NVSHMEM_SIGNAL_SET : NVSHMEM_SIGNAL_ADD;
            task.trips = measure_trips_of(options, m.bytes);
            check(cudaMemset(task.signal, 0, sizeof(*task.signal)), "cudaMemset");
            void *arguments[] = {&task, &process, &device};
            const result result = run(kernel, 1, options->threads, arguments, device, m.kind);
            right &= measure_right(m.kind, m.bytes, result.wrong);
            if (process == 0)
                measure_line(set ? "nvshmem_set" : "nvshmem", m.kind, m.bytes, options->threads,
                             measure_one_way(&task.trips, (double)result.ns * 1e-9));
        }
    }
    nvshmem_free(task.target);
    nvshmem_free(task.source);
    nvshmem_free(task.signal);
    return right;
}

/* One size; bytes 0: fetch_add. */
bool measure_read(const measure_options *options, int process, get_task *task, result *device)
{
    const void *kernel =
        options->threads <= 256 ? (const void *)read_other<256> : (const void *)read_other<1024>;
    const char *kind = task->bytes != 0 ? "get" : "fetch_add";
    const size_t bytes = task->bytes != 0 ? task->bytes : sizeof(*task->word);
    task->trips = measure_trips_of(options, bytes);
    void *arguments[] = {task, &process, &device};
    const result result = run(kernel, 1, options->threads, arguments, device, kind);
    if (process == 0)
        measure_line("nvshmem", kind, bytes, options->threads,
                     (double)result.ns * 1e-3 / (double)task->trips.timed);
    return measure_right(kind, bytes, result.wrong);
}

bool measure_get(const measure_options *options, int process, result *device)
{
    get_task task = {};
    task.word = (uint64_t *)new_symmetric(sizeof(*task.word));
    task.source = (uint32_t *)new_symmetric(ROOM);
    task.target = (uint32_t *)new_symmetric(ROOM);
    bool right = measure_read(options, process, &task, device);
    for (task.bytes = 8; task.bytes <= options->to && task.bytes <= ROOM; task.bytes *= 4)
        right &= measure_read(options, process, &task, device);
    nvshmem_free(task.target);
    nvshmem_free(task.source);
    nvshmem_free(task.word);
    return right;
}

bool measure_barrier(const measure_options *options, int process, int processes, result *device)
{
    uint64_t warm_up = options->repeats / 10 + 1, repeats = options->repeats;
    void *arguments[] = {&warm_up, &repeats, &device};
    const void *kernel = (const void *)barrier_of_all;
    const int blocks = blocks_of(kernel, options->threads, arguments, options->ranks);
    const result result = run(kernel, blocks, options->threads, arguments, device, "barrier");
    if (process == 0)
        measure_line("nvshmem", "barrier", (size_t)processes * (size_t)blocks, options->threads,
                     (double)result.ns * 1e-3 / (double)repeats);
    return true;
}

} // namespace

int main(int argc, char **argv)
{
    measure_options options;
    measure_parse(&options, argc, argv, MEASURE_HAS_TO | MEASURE_HAS_RANKS,
                  "Notifications, puts, reads and barriers with NVSHMEM between GPUs.",
                  "PROCESS/PROCESSES FILE latency|get|barrier", 3);
    const char *what = options.words_count == 3 ? options.words[2] : "";
    const bool latency = strcmp(what, "latency") == 0, get = strcmp(what, "get") == 0;
    int processes;
    if (!latency && !get && strcmp(what, "barrier") != 0) {
        fprintf(stderr,
                "nvshmem: say PROCESS/PROCESSES FILE latency|get|barrier; --help says more\n");
        return EXIT_FAILURE;
    }
    const int process = open_job(options.words, latency || get ? 2 : MOST, &processes);
    result *device;
    check(cudaMalloc(&device, sizeof(*device)), "cudaMalloc");
    if (process == 0)
        measure_header();
    const bool right = latency ? measure_latency(&options, process, device)
                       : get   ? measure_get(&options, process, device)
                               : measure_barrier(&options, process, processes, device);
    check(cudaFree(device), "cudaFree");
    nvshmem_finalize();
    return right ? EXIT_SUCCESS : EXIT_FAILURE;
}
