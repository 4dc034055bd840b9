/*
 * peers/cuda/queue.cu - the least that driving a queue costs a thread: the same stores and fences
 * as for an mlx5 queue, without a library, and bare warps that play the NIC: each watches one
 * doorbell, loads a request of 64 bytes, stores its 8 bytes at the target, and stores a completion.
 * Nothing is checked but what arrived. Queue and completions lie in host memory (h) or the GPU's
 * (g).
 */
#include "gpu/measure.h"
#include "machine.h"

#include <cstring>

namespace
{

enum { SLOTS = 128, QUEUES = 132, IN_FLIGHT = 32 };

/* A queue; lines of 64 bytes apart. */
struct queue {
    uint4 *wqe;             /* SLOTS of 4 */
    volatile uint32_t *cqe; /* the number of what is done */
    volatile uint32_t *record;
    volatile uint64_t *doorbell; /* in GPU memory, as a NIC's is in the NIC */
    volatile uint64_t *target;
};

struct job {
    queue queues[QUEUES];
    unsigned long long stage[4]; /* cycles of the first thread: request, ring, poll; all */
    unsigned long long began[QUEUES], ended[QUEUES];
    unsigned left; /* posters that are not done */
};

__device__ unsigned long long cycles()
{
    unsigned long long now;
    asm volatile("mov.u64 %0, %%clock64;" : "=l"(now)::"memory");
    return now;
}

__device__ void post(const queue &q, uint32_t number, uint64_t value)
{
    uint4 *const slot = q.wqe + number % SLOTS * 4;
    const uint64_t to = (uint64_t)q.target;
    slot[0] = make_uint4(number, 3, 8, 0);
    slot[1] = make_uint4((uint32_t)to, (uint32_t)(to >> 32), 1, 0);
    slot[2] = make_uint4(8, (uint32_t)value, (uint32_t)(value >> 32), 0);
    slot[3] = make_uint4(0, 0, 0, 0);
}

__device__ void ring(const queue &q, uint32_t next)
{
    __threadfence_system();
    q.record[1] = next;
    __threadfence_system();
    *q.doorbell = next;
}

/* The poster: thread 0 of a block of its own. */
__device__ void drive(job *job, const queue &q, int index, uint32_t count, uint32_t window)
{
    unsigned long long stage[3] = {0, 0, 0}, t0 = 0, t1 = 0, t2 = 0;
    uint32_t done = 0;
    const unsigned long long first = cycles();
    job->began[index] = clock_ns();
    for (uint32_t i = 0; i < count; i++) {
        t0 = cycles();
        post(q, i, i);
        t1 = cycles();
        ring(q, i + 1);
        t2 = cycles();
        for (uint32_t polls = 0; i + 1 - done >= window && polls < POLLS; polls++)
            done = *q.cqe;
        stage[0] += t1 - t0;
        stage[1] += t2 - t1;
        stage[2] += cycles() - t2;
    }
    for (uint32_t polls = 0; done != count && polls < POLLS; polls++)
        done = *q.cqe;
    __threadfence_system();
    job->ended[index] = clock_ns();
    if (index == 0) {
        for (int s = 0; s < 3; s++)
            job->stage[s] = stage[s];
        job->stage[3] = cycles() - first;
    }
    atomicSub(&job->left, 1);
}

/* The NIC of one queue: a warp; 4 lanes load a slot each time, up to 8 slots at once. */
__device__ void serve(job *job, const queue &q)
{
    const uint32_t lane = threadIdx.x;
    uint32_t done = 0;
    while (*(volatile unsigned *)&job->left != 0) {
        const uint32_t next = __shfl_sync(~0u, lane == 0 ? (uint32_t)*q.doorbell : 0, 0);
        const uint32_t some = min(next - done, 8u);
        if (some == 0)
            continue;
        __threadfence_system();
        uint4 unit = make_uint4(0, 0, 0, 0);
        if (lane < 4 * some)
            asm volatile("ld.volatile.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                         : "=r"(unit.x), "=r"(unit.y), "=r"(unit.z), "=r"(unit.w)
                         : "l"(q.wqe + (done * 4 + lane) % (SLOTS * 4)));
        for (uint32_t i = 0; i < some; i++) {
            const uint32_t low = __shfl_sync(~0u, unit.x, 4 * i + 1);
            const uint32_t high = __shfl_sync(~0u, unit.y, 4 * i + 1);
            const uint32_t a = __shfl_sync(~0u, unit.y, 4 * i + 2);
            const uint32_t b = __shfl_sync(~0u, unit.z, 4 * i + 2);
            if (lane == 0)
                *(volatile uint64_t *)(low | (uint64_t)high << 32) = a | (uint64_t)b << 32;
        }
        done += some;
        if (lane == 0) {
            __threadfence_system();
            *q.cqe = done;
        }
    }
}

/* Blocks of a warp: first the posters, then as many NICs. */
__global__ void run(job *job, int queues, uint32_t count, uint32_t window)
{
    const int index = (int)blockIdx.x % queues;
    if ((int)blockIdx.x >= queues)
        serve(job, job->queues[index]);
    else if (threadIdx.x == 0)
        drive(job, job->queues[index], index, count, window);
}

char *place(char where, size_t bytes)
{
    void *memory;
    if (where == 'g')
        return (char *)new_memory(0, bytes);
    check(cudaHostAlloc(&memory, bytes, cudaHostAllocDefault), "cudaHostAlloc");
    memset(memory, 0, bytes);
    return (char *)memory;
}

/* One run of so many queues; the memory is the process's till it ends. */
bool measure_queues(const measure_options *options, const char *where, int queues, uint32_t window,
                    job *job)
{
    enum { LINE = 64 };
    char *const requests = place(where[0], (size_t)queues * (SLOTS * 64 + LINE));
    char *const completions = place(where[1], (size_t)queues * LINE);
    char *const own = place('g', 2 * (size_t)queues * LINE);
    const uint32_t count = (uint32_t)options->repeats;
    memset(job, 0, sizeof(*job));
    for (int i = 0; i < queues; i++) {
        char *const slots = requests + (size_t)i * (SLOTS * 64 + LINE);
        job->queues[i] = {(uint4 *)(slots + LINE), (uint32_t *)(completions + i * LINE),
                          (uint32_t *)slots, (uint64_t *)(own + 2 * i * LINE),
                          (uint64_t *)(own + (2 * i + 1) * LINE)};
    }
    job->left = (unsigned)queues;
    struct job *there;
    check(cudaMalloc(&there, sizeof(*there)), "cudaMalloc");
    check(cudaMemcpy(there, job, sizeof(*job), cudaMemcpyHostToDevice), "cudaMemcpy");
    run<<<2 * queues, 32>>>(there, queues, count, window);
    check(cudaDeviceSynchronize(), "run");
    check(cudaMemcpy(job, there, sizeof(*job), cudaMemcpyDeviceToHost), "cudaMemcpy");
    uint64_t last = 0;
    check(
        cudaMemcpy(&last, (const void *)job->queues[queues - 1].target, 8, cudaMemcpyDeviceToHost),
        "cudaMemcpy");
    return measure_right("queue", 8, last != count - 1);
}

double took_us(const job *job, int queues)
{
    unsigned long long began = ~0ull, ended = 0;
    for (int i = 0; i < queues; i++) {
        began = job->began[i] < began ? job->began[i] : began;
        ended = job->ended[i] > ended ? job->ended[i] : ended;
    }
    return (double)(ended - began) * 1e-3;
}

} // namespace

int main(int argc, char **argv)
{
    static const char *const kinds[3] = {"wqe", "ring", "poll"};
    static job job;
    measure_options options;
    setenv("CUDA_MODULE_LOADING", "EAGER", 1);
    measure_parse(&options, argc, argv, 0, "Bare queues, and bare warps as their NIC.",
                  "PLACE [QUEUES...]; PLACE: hh, hg, gh, gg", MEASURE_LIST);
    if (options.words_count < 1 || strspn(options.words[0], "hg") != 2 || options.words[0][2]) {
        fprintf(stderr, "queue: the first word is hh, hg, gh or gg\n");
        return EXIT_FAILURE;
    }
    const char *where = options.words[0];
    measure_list(&options, 1);
    measure_header();
    bool right = measure_queues(&options, where, 1, 1, &job);
    const double each = took_us(&job, 1) / (double)options.repeats;
    for (int s = 0; s < 3; s++)
        measure_line("floor", kinds[s], 8, 32, each * (double)job.stage[s] / (double)job.stage[3]);
    measure_line("floor", "naive", 8, 32, each);
    for (int i = 0; i < options.list_count; i++) {
        const int queues = options.list[i] < 1 ? 1 : options.list[i];
        if (queues > QUEUES) {
            fprintf(stderr, "queue: at most %d queues\n", QUEUES);
            return EXIT_FAILURE;
        }
        right &= measure_queues(&options, where, queues, IN_FLIGHT, &job);
        measure_ranks_line("floor", "rate", 8, 32, queues,
                           (double)options.repeats * queues / took_us(&job, queues), "M/s");
    }
    return right ? EXIT_SUCCESS : EXIT_FAILURE;
}
