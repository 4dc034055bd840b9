/*
 * peers/cuda/rate.cu - what bench/gpu/rate.cu says, by plain kernels on two GPUs of one process:
 * one thread of a block stores 8 bytes and adds to the counter of the receiver with release. No
 * block waits for its other threads. Who answers many does so with as many threads.
 */
#include "gpu/measure.h"
#include "machine.h"

#include <cooperative_groups.h>

namespace
{

enum form { TO_ONE, TO_MANY, ANSWERED };

/* Of a block, in the memory of its own device; the other device's blocks write to it. */
struct box {
    alignas(128) uint32_t data; /* messages that came */
    alignas(128) uint32_t done; /* answers, and one at the start */
    alignas(128) uint64_t slot; /* what the block with this index sent, here of device 1 */
    uint32_t lost;              /* result: a wait was given up */
};

struct task {
    box *boxes[2];
    uint64_t number, messages;
    int form;
    unsigned long long *ns; /* result, of device 0 */
};

/* One block. Its thread 0 acts for it, except where many are answered. */
struct actor {
    task t;
    box *mine, *there; /* this block's; all of the other device */
    bool lost;

    /* Once a wait was given up no later one is tried: the kernel comes to its end. */
    __device__ void wait(const uint32_t *counter, uint64_t count)
    {
        if (threadIdx.x == 0 && !lost)
            lost = !wait_for<true>(counter, (uint32_t)count);
    }

    __device__ void send()
    {
        if (threadIdx.x > 0)
            return;
        *(volatile uint64_t *)&there[blockIdx.x].slot = t.number + blockIdx.x;
        add_release<true>(&there[t.form == TO_MANY ? blockIdx.x : 0].data);
    }

    __device__ void flood(bool sends)
    {
        for (uint64_t i = 0; i < t.messages && sends; i++)
            send();
        if (!sends && (t.form == TO_MANY || blockIdx.x == 0)) {
            wait(&mine->data, t.messages * (t.form == TO_MANY ? 1 : gridDim.x));
            if (threadIdx.x == 0)
                add_relaxed<true>(&there[blockIdx.x].done);
        } else if (sends && (t.form == TO_MANY || blockIdx.x == 0)) {
            wait(&mine->done, 2);
        }
    }

    __device__ void answered(bool sends)
    {
        for (uint64_t i = 1; i <= t.messages; i++) {
            if (sends) {
                send();
                wait(&mine->done, 1 + i);
            } else if (blockIdx.x == 0) {
                wait(&mine->data, i * gridDim.x);
                __syncthreads();
                for (unsigned block = threadIdx.x; block < gridDim.x; block += blockDim.x)
                    add_relaxed<true>(&there[block].done);
            }
        }
    }
};

__global__ void rate(task task, int device)
{
    const cooperative_groups::grid_group grid = cooperative_groups::this_grid();
    box *const here = device == 0 ? task.boxes[0] : task.boxes[1];
    box *const there = device == 0 ? task.boxes[1] : task.boxes[0];
    actor block = {task, here + blockIdx.x, there, false};

    /* Both kernels are there, so that neither waits for a launch. */
    if (threadIdx.x == 0)
        add_release<true>(&there[blockIdx.x].done);
    block.wait(&block.mine->done, 1);
    grid.sync();
    const unsigned long long start = clock_ns();
    if (task.form == ANSWERED)
        block.answered(device == 0);
    else
        block.flood(device == 0);
    grid.sync();
    if (device == 0 && blockIdx.x == 0 && threadIdx.x == 0)
        *task.ns = clock_ns() - start;
    if (threadIdx.x == 0)
        block.mine->lost = block.lost;
}

void launch(task *task, int device, int blocks, int threads)
{
    void *arguments[] = {task, &device};
    check(cudaSetDevice(device), "cudaSetDevice");
    check(cudaLaunchCooperativeKernel((const void *)rate, dim3(blocks), dim3(threads), arguments, 0,
                                      0),
          "rate");
}

/* One phase on both devices; the slots that are wrong, or -1: a wait was given up. */
long run_phase(task *task, int blocks, int threads)
{
    box *boxes = (box *)malloc(blocks * sizeof(*boxes));
    long wrong = 0;
    for (int device = 0; device < 2; device++) {
        check(cudaSetDevice(device), "cudaSetDevice");
        check(cudaMemset(task->boxes[device], 0, blocks * sizeof(*boxes)), "cudaMemset");
        check(cudaDeviceSynchronize(), "cudaMemset");
    }
    for (int device = 0; device < 2; device++)
        launch(task, device, blocks, threads);
    for (int device = 0; device < 2; device++) {
        check(cudaSetDevice(device), "cudaSetDevice");
        check(cudaDeviceSynchronize(), "rate");
        check(cudaMemcpy(boxes, task->boxes[device], blocks * sizeof(*boxes), cudaMemcpyDefault),
              "cudaMemcpy");
        for (int i = 0; i < blocks && wrong >= 0; i++) {
            wrong += device == 1 && boxes[i].slot != task->number + i;
            if (boxes[i].lost)
                wrong = -1;
        }
    }
    free(boxes);
    return wrong;
}

bool measure_form(const measure_options *options, task *task, int blocks)
{
    const char *const kinds[] = {"to_one", "to_many", "answered"};
    const char *kind = kinds[task->form];
    unsigned long long ns;
    for (int phase = 0; phase < 2; phase++) {
        task->number = 1000000ull * (1 + phase);
        task->messages = phase == 0 ? options->repeats / 10 + 1 : options->repeats;
        const long wrong = run_phase(task, blocks, options->threads);
        if (wrong < 0)
            fprintf(stderr, "rate: %s: a message never came\n", kind);
        if (wrong < 0 || !measure_right(kind, 8, (uint64_t)wrong))
            return false;
    }
    check(cudaMemcpy(&ns, task->ns, sizeof(ns), cudaMemcpyDefault), "cudaMemcpy");
    const double us = (double)ns * 1e-3, messages = (double)task->messages;
    const bool rounds = task->form == ANSWERED;
    measure_ranks_line("floor", kind, 8, options->threads, blocks,
                       rounds ? us / messages : messages * blocks / us, rounds ? "us" : "M/s");
    return true;
}

/* As many blocks as asked for, if the device holds them; 0: all that it holds. */
int blocks_of(const measure_options *options, int asked)
{
    cudaDeviceProp device;
    int most;
    check(cudaGetDeviceProperties(&device, 0), "cudaGetDeviceProperties");
    check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&most, rate, options->threads, 0),
          "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
    most *= device.multiProcessorCount;
    return asked > 0 && asked < most ? asked : most;
}

bool measure_all(const measure_options *options, int blocks)
{
    bool right = true;
    task task = {};
    for (int device = 0; device < 2; device++)
        task.boxes[device] = (box *)new_memory(device, blocks * sizeof(box));
    task.ns = (unsigned long long *)new_memory(0, sizeof(*task.ns));
    for (task.form = TO_ONE; task.form <= ANSWERED && right; task.form++)
        right = measure_form(options, &task, blocks);
    check(cudaFree(task.ns), "cudaFree");
    for (box *boxes : task.boxes)
        check(cudaFree(boxes), "cudaFree");
    return right;
}

} // namespace

int main(int argc, char **argv)
{
    measure_options options;
    bool right = true;
    /* A module loaded late would wait for the other device's kernel. */
    setenv("CUDA_MODULE_LOADING", "EAGER", 1);
    measure_parse(&options, argc, argv, 0,
                  "Rate of small messages between two GPUs by plain kernels.", "[RANKS...]",
                  MEASURE_LIST);
    measure_list(&options, 0);
    if (!join_peers())
        return EXIT_FAILURE;
    measure_header();
    for (int i = 0; i < options.list_count && right; i++)
        right = measure_all(&options, blocks_of(&options, options.list[i]));
    return right ? EXIT_SUCCESS : EXIT_FAILURE;
}
