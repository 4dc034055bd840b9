/*
 * peers/cuda/memory.cu - what CUDA itself does beside bench_alloc and bench_get, size by size: a
 * block taken and given back, by the host or by one thread of each of 132 blocks of threads at
 * once; a copy that is complete. And a kernel that does nothing, launched behind others.
 */
extern "C" {
#include "support/bench.h"
}

#include <cuda_runtime.h>

#include "machine.h"

#include <cstring>

namespace
{

enum { BLOCKS = 132 };
enum {
    CUDA_MALLOC,
    ASYNC,
    PINNED,
    KERNEL,
    TO_DEVICE,
    TO_HOST,
    ON_DEVICE,
    TO_DEVICE_P,
    TO_HOST_P,
    LAUNCH
};

const char *const forms[] = {"cuda_malloc",  "async",   "pinned",    "kernel",
                             "to_device",    "to_host", "on_device", "to_device_page",
                             "to_host_page", "launch",  NULL};

struct memory {
    int form;
    cudaStream_t stream;
    void *source, *result; /* of the host */
    void *device[2];       /* the bytes of source; what a copy writes */
    unsigned *refused;     /* device memory */
};

__global__ void take(size_t bytes, uint64_t repeats, unsigned *refused)
{
    for (uint64_t i = 0; i < repeats; i++) {
        void *const block = malloc(bytes);
        if (block == NULL)
            atomicAdd(refused, 1);
        free(block);
    }
}

__global__ void nothing()
{
}

void once(const memory *m, size_t bytes)
{
    void *block;

    switch (m->form) {
    case CUDA_MALLOC:
        check(cudaMalloc(&block, bytes), "cudaMalloc");
        check(cudaFree(block), "cudaFree");
        return;
    case ASYNC:
        check(cudaMallocAsync(&block, bytes, m->stream), "cudaMallocAsync");
        check(cudaFreeAsync(block, m->stream), "cudaFreeAsync");
        return;
    case PINNED:
        check(cudaMallocHost(&block, bytes), "cudaMallocHost");
        check(cudaFreeHost(block), "cudaFreeHost");
        return;
    case LAUNCH:
        nothing<<<1, 32, 0, m->stream>>>();
        return;
    default:
        break;
    }
    const bool to_host = m->form == TO_HOST || m->form == TO_HOST_P;
    const bool to_device = m->form == TO_DEVICE || m->form == TO_DEVICE_P;
    check(cudaMemcpyAsync(to_host ? m->result : m->device[1], to_device ? m->source : m->device[0],
                          bytes, cudaMemcpyDefault, m->stream),
          "copy");
    check(cudaStreamSynchronize(m->stream), "copy");
}

/* Seconds for all repetitions. */
double run(const memory *m, size_t bytes, uint64_t repeats)
{
    const double begun = bench_seconds();

    if (m->form == KERNEL)
        take<<<BLOCKS, 1, 0, m->stream>>>(bytes, repeats, m->refused);
    for (uint64_t i = 0; m->form != KERNEL && i < repeats; i++)
        once(m, bytes);
    check(cudaGetLastError(), "launch");
    check(cudaStreamSynchronize(m->stream), "kernel");
    return bench_seconds() - begun;
}

void *host_memory(bool paged, size_t bytes)
{
    void *made = NULL;

    if (!paged)
        check(cudaMallocHost(&made, bytes), "cudaMallocHost");
    else if ((made = malloc(bytes)) == NULL)
        check(cudaErrorMemoryAllocation, "malloc");
    return made;
}

void open_all(memory *m, const bench_options *options)
{
    const bool paged = m->form == TO_DEVICE_P || m->form == TO_HOST_P;
    uint64_t keep = UINT64_MAX; /* cudaFreeAsync gives nothing back to the driver */
    cudaMemPool_t pool;

    check(cudaSetDevice(0), "cudaSetDevice");
    if (m->form == KERNEL)
        check(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 2 * BLOCKS * options->to), "heap");
    check(cudaStreamCreate(&m->stream), "stream");
    check(cudaDeviceGetDefaultMemPool(&pool, 0), "pool");
    check(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep), "pool");
    m->refused = (unsigned *)new_memory(0, sizeof(unsigned));
    if (m->form < TO_DEVICE || m->form > TO_HOST_P)
        return;
    m->source = host_memory(paged, options->to);
    m->result = host_memory(paged, options->to);
    for (size_t i = 0; i < options->to; i++)
        ((unsigned char *)m->source)[i] = (unsigned char)(i * 31 + i / 256);
    for (int i = 0; i < 2; i++)
        m->device[i] = new_memory(0, options->to);
    check(cudaMemcpy(m->device[0], m->source, options->to, cudaMemcpyDefault), "copy");
}

/* What was refused, or did not arrive. */
uint64_t wrong_of(const memory *m, size_t bytes)
{
    unsigned refused;

    check(cudaMemcpy(&refused, m->refused, sizeof(refused), cudaMemcpyDefault), "copy");
    if (m->source == NULL)
        return refused;
    if (m->form != TO_HOST && m->form != TO_HOST_P)
        check(cudaMemcpy(m->result, m->device[1], bytes, cudaMemcpyDefault), "copy");
    return memcmp(m->result, m->source, bytes) != 0;
}

} // namespace

int main(int argc, char **argv)
{
    bench_options options;
    memory m = {};

    bench_parse(&options, argc, argv, BENCH_HAS_SIZES,
                "Time of CUDA's own ways of taking a block and giving it back, and of copies.",
                forms);
    m.form = options.form;
    open_all(&m, &options);
    bench_header("bytes", "repeats", "us");
    for (size_t bytes = options.from; bytes <= options.to; bytes *= 2) {
        const uint64_t repeats = bench_repeats(&options, bytes);
        run(&m, bytes, bench_warm_up(repeats));
        bench_line(bytes, repeats, run(&m, bytes, repeats) / (double)repeats * 1e6);
    }
    return bench_status(wrong_of(&m, options.to));
}
