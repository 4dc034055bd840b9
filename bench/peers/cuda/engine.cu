/*
 * peers/cuda/engine.cu - whether the bulk copy engine of sm_90 (TMA) moves data to another GPU
 * faster than loads and stores. One process; each block of GPU 0 copies its own part, again and
 * again, and tells GPU 1 after each time.
 *
 *     engine 1 4 16 132    blocks of GPU 0, one number after the other
 *
 * By the engine one thread works through buffers in shared memory: half of them are being filled
 * while the others are being stored.
 */
#include "gpu/measure.h"
#include "machine.h"

#include <cstring>
#include <vector>

namespace
{

enum { REPEATS = 40, THREADS = 128, BUFFERS = 8, BYTES = 1 << 20 };

__device__ uint32_t shared_address(const void *pointer)
{
    return (uint32_t)__cvta_generic_to_shared(pointer);
}

__device__ void fill(unsigned char *buffer, const unsigned char *from, uint32_t bytes,
                     uint64_t *full)
{
    asm volatile(
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(full)),
        "r"(bytes)
        : "memory");
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
            "r"(shared_address(buffer)),
        "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(shared_address(full))
        : "memory");
}

__device__ void wait_full(const uint64_t *full, uint32_t parity)
{
    for (uint32_t there = 0; there == 0;)
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; "
                     "selp.u32 %0, 1, 0, p; }"
                     : "=r"(there)
                     : "r"(shared_address(full)), "r"(parity)
                     : "memory");
}

__device__ void store(unsigned char *to, const unsigned char *buffer, uint32_t bytes)
{
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(
                     __cvta_generic_to_global(to)),
                 "r"(shared_address(buffer)), "r"(bytes)
                 : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

/* By one thread. `parity`: a bit for each buffer. All has arrived when it returns. */
__device__ void by_engine(unsigned char *to, const unsigned char *from, uint32_t piece,
                          unsigned char *buffers, uint64_t *full, uint32_t &parity)
{
    enum { AHEAD = BUFFERS / 2 };
    const uint32_t pieces = BYTES / piece;

    asm volatile("fence.proxy.async;" ::: "memory");
    for (uint32_t i = 0; i < pieces + AHEAD; i++) {
        if (i < pieces) {
            const uint32_t at = i % BUFFERS;
            if (i >= BUFFERS) /* the store out of this buffer has read it */
                asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(AHEAD - 1) : "memory");
            fill(buffers + at * piece, from + (size_t)i * piece, piece, &full[at]);
        }
        if (i >= AHEAD) {
            const uint32_t stored = i - AHEAD, at = stored % BUFFERS;
            wait_full(&full[at], parity >> at & 1);
            parity ^= 1u << at;
            store(to + (size_t)stored * piece, buffers + at * piece, piece);
        }
    }
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

/* piece: bytes of a buffer; 0: by loads and stores of all threads. */
__global__ void stream(unsigned char *to, const unsigned char *from, uint32_t piece, uint32_t *told)
{
    extern __shared__ __align__(128) unsigned char buffers[];
    __shared__ uint64_t full[BUFFERS];
    uint32_t parity = 0;

    to += (size_t)BYTES * blockIdx.x;
    from += (size_t)BYTES * blockIdx.x;
    if (threadIdx.x == 0) {
        for (int i = 0; i < BUFFERS; i++)
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(&full[i]))
                         : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    for (int i = 0; i < REPEATS; i++) {
        if (piece == 0)
            copy((uint32_t *)to, (const uint32_t *)from, BYTES);
        else if (threadIdx.x == 0)
            by_engine(to, from, piece, buffers, full, parity);
        __syncthreads();
        if (threadIdx.x == 0)
            add_release<true>(told);
    }
}

/* GB/s; the target is compared with the source. */
double gigabytes_a_second(unsigned char *to, const unsigned char *from, uint32_t piece, int blocks,
                          uint32_t *told)
{
    const size_t all = (size_t)BYTES * (size_t)blocks;
    std::vector<unsigned char> sent(all), came(all);
    cudaEvent_t begin, end;
    float ms = 0;

    check(cudaMemset(to, 0, all), "cudaMemset");
    check(cudaEventCreate(&begin), "cudaEventCreate");
    check(cudaEventCreate(&end), "cudaEventCreate");
    for (int warm = 0; warm < 2; warm++) {
        check(cudaEventRecord(begin), "cudaEventRecord");
        stream<<<blocks, THREADS, piece * BUFFERS>>>(to, from, piece, told);
        check(cudaGetLastError(), "a launch");
        check(cudaEventRecord(end), "cudaEventRecord");
        check(cudaDeviceSynchronize(), "the kernel");
    }
    check(cudaEventElapsedTime(&ms, begin, end), "cudaEventElapsedTime");
    check(cudaMemcpy(sent.data(), from, all, cudaMemcpyDefault), "cudaMemcpy");
    check(cudaMemcpy(came.data(), to, all, cudaMemcpyDefault), "cudaMemcpy");
    if (memcmp(sent.data(), came.data(), all) != 0) {
        fprintf(stderr, "engine: what came is not what was sent, %d blocks, buffers of %u\n",
                blocks, piece);
        exit(EXIT_FAILURE);
    }
    return (double)all * REPEATS / (ms * 1e6);
}

} // namespace

int main(int argc, char **argv)
{
    measure_options options;
    static const struct {
        const char *name;
        uint32_t piece;
    } ways[] = {{"floor", 0}, {"engine4", 4 << 10}, {"engine8", 8 << 10}, {"engine16", 16 << 10}};

    measure_parse(
        &options, argc, argv, MEASURE_NO_REPEATS | MEASURE_NO_THREADS,
        "Copies of 1 MiB by each of so many blocks of GPU 0 to GPU 1, by loads and stores "
        "and by the bulk copy engine with 8 buffers of 4, 8 and 16 KiB in shared memory; "
        "one number of BLOCKS after the other.",
        "BLOCKS...", MEASURE_LIST);
    measure_list(&options, 0);
    if (options.words_count == 0) {
        fprintf(stderr, "engine: say how many BLOCKS; --help says more\n");
        return EXIT_FAILURE;
    }
    if (!join_peers())
        return EXIT_FAILURE;
    measure_header();
    check(cudaSetDevice(0), "cudaSetDevice");
    check(cudaFuncSetAttribute(stream, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               BUFFERS * (16 << 10)),
          "cudaFuncSetAttribute");
    for (int i = 0; i < options.list_count; i++) {
        const int blocks = options.list[i];
        const size_t all = (size_t)BYTES * (size_t)blocks;
        unsigned char *to = (unsigned char *)new_memory(1, all);
        uint32_t *told = (uint32_t *)new_memory(1, sizeof(*told));
        unsigned char *from = (unsigned char *)new_memory(0, all);
        std::vector<unsigned char> values(all);
        for (size_t k = 0; k < all; k++)
            values[k] = (unsigned char)(k * 2654435761u >> 13);
        check(cudaMemcpy(from, values.data(), all, cudaMemcpyDefault), "cudaMemcpy");
        for (const auto &way : ways)
            measure_ranks_line(way.name, "one_way", BYTES, THREADS, blocks,
                               gigabytes_a_second(to, from, way.piece, blocks, told), "GB/s");
        cudaFree(to), cudaFree(told), cudaFree(from);
    }
    return EXIT_SUCCESS;
}
