/*
 * peers/nvshmem/peer.cu - the same ping-pong and barrier with NVSHMEM, between two processes with a
 * GPU each:
 *
 *     peer PROCESS FILE latency|barrier
 *
 * PROCESS is 0 or 1. FILE, which must not exist, brings NVSHMEM's unique id from 0 to 1.
 *
 * The signal is what counts in weft: an add (nvshmem) or, which is often cheaper, a store of the
 * next number (nvshmem_set). notify_relaxed is the bare signal, notify a fence before it,
 * put_notify nvshmemx_putmem_signal_block. Waiting is nvshmem_signal_wait_until by one thread,
 * which nothing bounds but the time limit that this program is run with. A barrier of all blocks of
 * both GPUs is grid.sync, nvshmemx_barrier_all_block by one block, grid.sync.
 */
#include "gpu/measure.h"

#include <cooperative_groups.h>
#include <nvshmem.h>
#include <nvshmemx.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

namespace
{

enum { ROOM = 1 << 20 };

/* Results, in the memory of this process's GPU. */
struct result {
    unsigned long long wrong, ns;
};

/* Addresses in the symmetric heap. */
struct task {
    uint64_t *signal;
    uint32_t *source, *target;
    int way, signal_op;
    size_t bytes;
    measure_trips trips;
};

/* Does not call nvshmem_finalize: the other process may be gone. */
[[noreturn]] void fail(const char *what, const char *why)
{
    fprintf(stderr, "nvshmem: %s: %s\n", what, why);
    exit(EXIT_FAILURE);
}

void check(cudaError_t error, const char *what)
{
    if (error != cudaSuccess)
        fail(what, cudaGetErrorString(error));
}

__device__ unsigned long long clock_ns()
{
    unsigned long long ns;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns)::"memory");
    return ns;
}

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

__global__ void ping_pong(task task, int process, result *result)
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

/* Launches on both processes; kernels of NVSHMEM that wait for each other must run at once. */
result run(const void *kernel, int blocks, int threads, void **arguments, result *device,
           const char *what)
{
    result host;
    check(cudaMemset(device, 0, sizeof(*device)), "cudaMemset");
    check(cudaDeviceSynchronize(), "cudaMemset");
    nvshmem_barrier_all();
    if (nvshmemx_collective_launch(kernel, dim3(blocks), dim3(threads), arguments, 0, 0) != 0)
        fail(what, "nvshmemx_collective_launch failed");
    check(cudaDeviceSynchronize(), what);
    check(cudaMemcpy(&host, device, sizeof(host), cudaMemcpyDefault), what);
    nvshmem_barrier_all();
    return host;
}

bool measure_latency(const measure_options *options, int process, result *device)
{
    task task = {};
    bool right = true;
    task.signal = (uint64_t *)nvshmem_malloc(sizeof(*task.signal));
    task.source = (uint32_t *)nvshmem_malloc(ROOM);
    task.target = (uint32_t *)nvshmem_malloc(ROOM);
    if (!task.signal || !task.source || !task.target)
        fail("nvshmem_malloc", "out of memory");
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
            const result result =
                run((const void *)ping_pong, 1, options->threads, arguments, device, m.kind);
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

bool measure_barrier(const measure_options *options, int process, result *device)
{
    uint64_t warm_up = options->repeats / 10 + 1, repeats = options->repeats;
    void *arguments[] = {&warm_up, &repeats, &device};
    const void *kernel = (const void *)barrier_of_all;
    int blocks = 0;
    if (nvshmemx_collective_launch_query_gridsize(kernel, dim3(options->threads), arguments, 0,
                                                  &blocks) != 0)
        fail("barrier", "nvshmemx_collective_launch_query_gridsize failed");
    if (options->ranks > 0 && options->ranks < blocks)
        blocks = options->ranks;
    const result result = run(kernel, blocks, options->threads, arguments, device, "barrier");
    if (process == 0)
        measure_line("nvshmem", "barrier", 2 * (size_t)blocks, options->threads,
                     (double)result.ns * 1e-3 / (double)repeats);
    return true;
}

/* Process 0 writes the id beside the file and renames it: whoever finds the file finds all of it.
 */
void give_id(const char *path, const nvshmemx_uniqueid_t *id)
{
    char part[4096];
    if (snprintf(part, sizeof(part), "%s.part", path) >= (int)sizeof(part))
        fail(path, "too long");
    FILE *file = fopen(part, "wb");
    if (!file || fwrite(id, sizeof(*id), 1, file) != 1 || fclose(file) != 0 ||
        rename(part, path) != 0)
        fail(path, strerror(errno));
}

void take_id(const char *path, nvshmemx_uniqueid_t *id)
{
    enum { TRIES = 3000, PAUSE_US = 10000 };
    FILE *file = NULL;
    for (int i = 0; i < TRIES && !(file = fopen(path, "rb")); i++)
        usleep(PAUSE_US);
    if (!file || fread(id, sizeof(*id), 1, file) != 1)
        fail(path, "process 0 left no unique id there");
    fclose(file);
}

void open_job(int process, const char *path)
{
    nvshmemx_uniqueid_t id = NVSHMEMX_UNIQUEID_INITIALIZER;
    nvshmemx_init_attr_t attributes = NVSHMEMX_INIT_ATTR_INITIALIZER;
    check(cudaSetDevice(process), "cudaSetDevice");
    if (process == 0) {
        if (nvshmemx_get_uniqueid(&id) != 0)
            fail("nvshmemx_get_uniqueid", "failed");
        give_id(path, &id);
    } else {
        take_id(path, &id);
    }
    if (nvshmemx_set_attr_uniqueid_args(process, 2, &id, &attributes) != 0 ||
        nvshmemx_init_attr(NVSHMEMX_INIT_WITH_UNIQUEID, &attributes) != 0)
        fail("nvshmemx_init_attr", "failed");
}

} // namespace

int main(int argc, char **argv)
{
    measure_options options;
    measure_parse(&options, argc, argv, MEASURE_HAS_TO | MEASURE_HAS_RANKS,
                  "Notifications, puts and barriers with NVSHMEM between two GPUs.",
                  "0|1 FILE latency|barrier", 3);
    if (options.words_count != 3 ||
        (strcmp(options.words[0], "0") != 0 && strcmp(options.words[0], "1") != 0) ||
        (strcmp(options.words[2], "latency") != 0 && strcmp(options.words[2], "barrier") != 0)) {
        fprintf(stderr, "nvshmem: say 0|1 FILE latency|barrier; --help says more\n");
        return EXIT_FAILURE;
    }
    const int process = options.words[0][0] - '0';
    result *device;
    open_job(process, options.words[1]);
    check(cudaMalloc(&device, sizeof(*device)), "cudaMalloc");
    if (process == 0)
        measure_header();
    const bool right = strcmp(options.words[2], "latency") == 0
                           ? measure_latency(&options, process, device)
                           : measure_barrier(&options, process, device);
    check(cudaFree(device), "cudaFree");
    nvshmem_finalize();
    return right ? EXIT_SUCCESS : EXIT_FAILURE;
}
