/*
 * peers/cuda/uts.cu - the trees of apps/uts counted by one kernel in plain CUDA: each warp has a
 * stack of nodes, as the tasks' ranks have, and all share one queue. A warp that has looked at some
 * nodes gives half of its lowest one away while others wait.
 */
#include "uts.h"

extern "C" {
#include "problem.h"
}

#include <cuda_runtime.h>

#include <cstring>

#include "machine.h"

namespace
{

enum { WARPS = 8 /* on a processor */, QUEUE = 1 << 20 };

/* Each place is used once: `tail` are given out, `head` are asked for. */
struct queue {
    unsigned head, tail, busy; /* busy: nodes that were given and are not all looked at */
    unsigned long long seen, full;
    unsigned there[QUEUE];
    node nodes[QUEUE];
};

__device__ unsigned load_acquire(const unsigned *word)
{
    unsigned value;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];"
                 : "=r"(value)
                 : "l"(__cvta_generic_to_global(word))
                 : "memory");
    return value;
}

/* By one lane. False: there is no place left. */
__device__ bool give(queue *q, node *from)
{
    const unsigned at = atomicAdd(&q->tail, 1);

    if (at >= QUEUE)
        return false;
    node half = *from;
    half.next = from->next + (from->count - from->next) / 2;
    from->count = half.next;
    atomicAdd(&q->busy, 1);
    q->nodes[at] = half;
    add_release<false>(&q->there[at]);
    return true;
}

/* The next node, once it is there. False: all have been looked at. All lanes. */
__device__ bool take(queue *q, node *stack, unsigned lane)
{
    unsigned at = 0, there = 0;

    if (lane == 0) {
        at = atomicAdd(&q->head, 1);
        while (at < QUEUE && (there = load_acquire(&q->there[at])) == 0 &&
               load_acquire(&q->busy) != 0)
            __nanosleep(100);
        if (there != 0)
            stack[0] = q->nodes[at];
    }
    return __shfl_sync(~0u, there, 0) != 0;
}

/* A child for each lane, as apps/uts/kernel.cu does it. */
__device__ unsigned look(const tree *tree, node *stack, unsigned *height, unsigned lane)
{
    const unsigned room = UTS_STACK - *height, most = room < 32 ? room : 32;
    unsigned turn = lane, at = *height, base = 0;
    node child = {};
    bool found = false;

    while (lane < most && !found && at-- > 0) {
        found = turn < stack[at].count - stack[at].next;
        if (!found)
            turn -= stack[at].count - stack[at].next;
    }
    const unsigned number = found ? stack[at].next + turn : 0;
    if (found)
        tree_child(tree, &stack[at], number, &child);
    const unsigned all = __ballot_sync(~0u, found), pushes = __ballot_sync(~0u, child.count != 0);
    if (found && lane == most - 1) {
        stack[at].next = number + 1;
        base = at + (number + 1 < stack[at].count);
    }
    base = __shfl_sync(~0u, base, most - 1);
    __syncwarp();
    if (child.count != 0)
        stack[base + __popc(pushes & ((1u << lane) - 1))] = child;
    __syncwarp();
    *height = base + __popc(pushes);
    return __popc(all);
}

__global__ void __launch_bounds__(32) search(tree t, queue *q, node *stacks)
{
    node *const stack = stacks + (size_t)blockIdx.x * (UTS_STACK + 1);
    const unsigned lane = threadIdx.x;
    unsigned long long seen = 0;

    while (take(q, stack, lane)) {
        unsigned height = 1, since = 0;
        __syncwarp();
        while (height > 0 && height < UTS_STACK) {
            since += look(&t, stack, &height, lane);
            if (since < UTS_NODES || height == 0)
                continue;
            seen += since;
            since = 0;
            if (lane == 0 && load_acquire(&q->head) > load_acquire(&q->tail))
                for (unsigned i = 0; i < height; i++)
                    if (stack[i].next < stack[i].count) {
                        give(q, &stack[i]);
                        break;
                    }
            __syncwarp();
        }
        seen += since;
        if (lane == 0 && height == UTS_STACK)
            atomicAdd(&q->full, 1ull);
        if (lane == 0)
            atomicSub(&q->busy, 1);
    }
    if (lane == 0)
        atomicAdd(&q->seen, seen);
}

/* Counts the nodes below the root; ms. */
float count(const tree *t, const node *root, queue *q, node *stacks, unsigned blocks)
{
    const unsigned one = 1;
    cudaEvent_t began, ended;
    float ms;

    check(cudaMemset(q, 0, sizeof(*q)), "memory");
    check(cudaMemcpy(q->nodes, root, sizeof(*root), cudaMemcpyDefault), "copy");
    check(cudaMemcpy(&q->there[0], &one, sizeof(one), cudaMemcpyDefault), "copy");
    check(cudaMemcpy(&q->tail, &one, sizeof(one), cudaMemcpyDefault), "copy");
    check(cudaMemcpy(&q->busy, &one, sizeof(one), cudaMemcpyDefault), "copy");
    check(cudaEventCreate(&began), "event");
    check(cudaEventCreate(&ended), "event");
    check(cudaEventRecord(began), "event");
    search<<<blocks, 32>>>(*t, q, stacks);
    check(cudaEventRecord(ended), "event");
    check(cudaDeviceSynchronize(), "kernel");
    check(cudaEventElapsedTime(&ms, began, ended), "event");
    return ms;
}

} // namespace

int main(int argc, char **argv)
{
    const bool named = argc == 3 && strcmp(argv[1], "--tree") == 0;
    const bool binomial = named && strcmp(argv[2], "binomial") == 0;
    cudaDeviceProp device;
    queue *q;
    node root, *stacks;
    float ms = 0;

    const bool help = argc > 1 && strcmp(argv[argc - 1], "--help") == 0;
    if (help || (argc > 1 && !binomial && !(named && strcmp(argv[2], "geometric") == 0))) {
        fprintf(help ? stdout : stderr, "usage: uts_cuda [--tree geometric|binomial]\n");
        return help ? 0 : 2;
    }
    const tree t = tree_make(binomial, 10, &root);
    check(cudaGetDeviceProperties(&device, 0), "device");
    const unsigned blocks = WARPS * (unsigned)device.multiProcessorCount;
    check(cudaMalloc(&q, sizeof(*q)), "memory");
    check(cudaMalloc(&stacks, (size_t)blocks * (UTS_STACK + 1) * sizeof(*stacks)), "memory");
    for (int i = 0; i < 3; i++) /* the first two warm up */
        ms = count(&t, &root, q, stacks, blocks);
    queue *const host = (queue *)malloc(sizeof(*host));
    check(host == NULL ? cudaErrorMemoryAllocation : cudaSuccess, "memory");
    check(cudaMemcpy(host, q, sizeof(*q), cudaMemcpyDefault), "copy");
    const unsigned long long nodes = host->seen + 1, serial = tree_count_serial(&t, &root);
    printf("uts: %llu nodes, serial %llu, %llu full stacks, %.1f ms\n", nodes, serial, host->full,
           (double)ms);
    return nodes != serial;
}
