/*
 * gpu/ccl.cu - calls of weft/ccl.h on a stream, in CUDA graphs of 100 equal calls, and columns in a
 * kernel: the median of 20 replays, by CUDA's events. Contents are checked. experts: dispatch and
 * combine of 128 tokens of 7168 bf16, and of one; the bytes are those of a member's tokens.
 *
 *     weftrun -n 2 bench_gpu_ccl [allreduce|blocks|columns|experts]...     default: all
 *
 * floor: empty kernels of the same grid, in the same graph. A plain CUDA program, as users write
 * them: no WEFT_KERNEL.
 */
#include "gpu/graphs.h"

#include <weft/ccl.h>

namespace
{

weft_job *job;
weft_ccl *ccl;

void check(weft_status status, const char *what)
{
    if (status != WEFT_OK) {
        fprintf(stderr, "bench_gpu_ccl: %s: %s\n", what, weft_error(job));
        exit(EXIT_FAILURE);
    }
}

struct empty_argument {
    unsigned char bytes[256];
};

__global__ void empty(empty_argument)
{
}

/* Threads and blocks as the library chooses them: near enough for a floor. */
void launch_empty(size_t bytes, cudaStream_t stream)
{
    const size_t columns = bytes / 4096 > 64 ? 64 : bytes / 4096;
    const unsigned blocks = columns == 0 ? 1 : (unsigned)columns, threads = columns == 0 ? 64 : 544;
    empty<<<blocks, threads, 0, stream>>>(empty_argument());
}

void line(const char *name, const char *kind, size_t bytes, double us)
{
    if (weft_ccl_me(ccl) == 0)
        graphs_line(name, kind, bytes, us);
}

void allreduce(graphs_place *place, size_t most)
{
    const int members = weft_ccl_members(ccl);
    for (int bf16 = 0; bf16 < 2; bf16++)
        for (size_t bytes = 8; bytes <= most; bytes *= bytes == 8 ? 256 : bytes == 2048 ? 8 : 4) {
            const size_t count = bytes / (bf16 ? 2 : 4);
            const char *kind = bf16 ? "allreduce_bf16" : "allreduce_f32";
            graphs_fill(place, bytes, bf16 != 0, weft_ccl_me(ccl));
            const double us = graphs_time(place, bytes, [&](cudaStream_t stream) {
                check(weft_ccl_allreduce(ccl, place->source, place->target, count,
                                         bf16 ? WEFT_BF16 : WEFT_F32, WEFT_SUM, stream),
                      "allreduce");
            });
            check(weft_ccl_check(ccl), "allreduce");
            graphs_right(place, kind, bytes, bf16 != 0, members);
            line("weft", kind, bytes, us);
            if (!bf16)
                line("floor", kind, bytes, graphs_time(place, bytes, [&](cudaStream_t stream) {
                         launch_empty(bytes, stream);
                     }));
            check(weft_host_barrier(job), "barrier");
        }
}

/* bytes: of all members' blocks together. */
void blocks(graphs_place *place, size_t most)
{
    const size_t members = (size_t)weft_ccl_members(ccl);
    for (size_t bytes = 64; bytes <= most; bytes *= 8) {
        const size_t each = bytes / members / 4;
        line("weft", "allgather", bytes, graphs_time(place, bytes, [&](cudaStream_t stream) {
                 check(
                     weft_ccl_allgather(ccl, place->source, place->target, each, WEFT_F32, stream),
                     "allgather");
             }));
        line("weft", "reduce_scatter", bytes, graphs_time(place, bytes, [&](cudaStream_t stream) {
                 check(weft_ccl_reduce_scatter(ccl, place->source, place->target, each, WEFT_F32,
                                               WEFT_SUM, stream),
                       "reduce_scatter");
             }));
        line("weft", "alltoall", bytes, graphs_time(place, bytes, [&](cudaStream_t stream) {
                 check(weft_ccl_alltoall(ccl, place->source, place->target, each, WEFT_F32, stream),
                       "alltoall");
             }));
        line("weft", "broadcast", bytes, graphs_time(place, bytes, [&](cudaStream_t stream) {
                 check(weft_ccl_broadcast(ccl, 0, place->target, bytes / 4, WEFT_F32, stream),
                       "broadcast");
             }));
        check(weft_ccl_check(ccl), "blocks");
        check(weft_host_barrier(job), "barrier");
    }
    line("weft", "barrier", 0, graphs_time(place, 0, [&](cudaStream_t stream) {
             check(weft_ccl_barrier(ccl, stream), "barrier");
         }));
}

/* Each block has a vector of its own. */
__global__ void __launch_bounds__(512, 1) columns_kernel(const weft_ccl_view *view, float *source,
                                                         float *target, size_t count, int repeats)
{
    const size_t at = (size_t)blockIdx.x * count;
    for (int i = 0; i < repeats; i++)
        if (!weft_column_allreduce(NULL, view, (int)blockIdx.x, source + at, target + at, count,
                                   WEFT_F32, WEFT_SUM))
            return;
}

void columns(graphs_place *place, int threads)
{
    enum { COLUMNS = 32, REPEATS = 2000 };
    char kind[32];
    snprintf(kind, sizeof(kind), "in_kernel_%d", threads);
    for (size_t bytes : {8, 64, 256, 2048, 8192}) { /* of each column */
        graphs_fill(place, COLUMNS * bytes, false, weft_ccl_me(ccl));
        std::vector<double> us;
        for (int i = 0; i < 6; i++) {
            check(weft_host_barrier(job), "barrier");
            graphs_check(cudaEventRecord(place->before, place->stream), "event");
            columns_kernel<<<COLUMNS, threads, 0, place->stream>>>(
                weft_ccl_kernel(ccl), (float *)place->source, (float *)place->target, bytes / 4,
                REPEATS);
            graphs_check(cudaEventRecord(place->after, place->stream), "event");
            graphs_check(cudaStreamSynchronize(place->stream), "columns");
            float ms;
            graphs_check(cudaEventElapsedTime(&ms, place->before, place->after), "event");
            if (i > 0)
                us.push_back(ms * 1e3 / REPEATS);
        }
        check(weft_ccl_check(ccl), "columns");
        graphs_right(place, kind, COLUMNS * bytes, false, weft_ccl_members(ccl));
        line("weft", kind, bytes, graphs_median(&us));
    }
}

/* ---- a mixture of experts: rows of 7168 bf16, top 8 of 256 --------------------------------------
 */

enum { EXPERTS = 256, TOPK = 8, TOKENS = 128, HIDDEN = 7168, ROW = HIDDEN * 2 };

struct mixture {
    weft_ccl_moe *moe;
    __nv_bfloat16 *rows, *out, *back;
    float *weights;
    int32_t *chosen, *counts, *origin;
    size_t places; /* of an expert */
};

/* Whole numbers below 256, which bf16 has exactly. */
__host__ __device__ float token_value(int member, int token)
{
    return (float)((member * 101 + token * 7) % 251);
}

/* All elements of a token alike; its experts: 8 that are as far from each other as can be. */
__global__ void experts_fill(mixture x, int me)
{
    const int t = (int)blockIdx.x;
    for (int i = (int)threadIdx.x; i < HIDDEN; i += (int)blockDim.x)
        x.rows[(size_t)t * HIDDEN + i] = __float2bfloat16(token_value(me, t));
    if (threadIdx.x < TOPK) {
        const int k = (int)threadIdx.x;
        x.chosen[t * TOPK + k] = (t * 37 + me * 11 + k * (EXPERTS / TOPK)) % EXPERTS;
        x.weights[t * TOPK + k] = 1.0f / TOPK;
    }
}

/* Every row is its origin's. */
__global__ void experts_check_out(mixture x, int experts, unsigned long long *wrong)
{
    for (int e = (int)blockIdx.x; e < experts; e += (int)gridDim.x)
        for (int row = 0; row < x.counts[e]; row++) {
            const size_t place = (size_t)e * x.places + row;
            const float want = token_value(x.origin[place] >> 24, x.origin[place] & 0xffffff);
            for (int i = (int)threadIdx.x; i < HIDDEN; i += (int)blockDim.x)
                if (__bfloat162float(x.out[place * HIDDEN + i]) != want)
                    atomicAdd(wrong, 1ull);
        }
}

/* Eight eighths of each token. */
__global__ void experts_check_back(mixture x, int me, unsigned long long *wrong)
{
    const int t = (int)blockIdx.x;
    for (int i = (int)threadIdx.x; i < HIDDEN; i += (int)blockDim.x)
        if (__bfloat162float(x.back[(size_t)t * HIDDEN + i]) != token_value(me, t))
            atomicAdd(wrong, 1ull);
}

mixture experts_open()
{
    weft_ccl_moe_desc desc = {};
    desc.experts = EXPERTS;
    desc.topk = TOPK;
    desc.tokens = TOKENS;
    desc.row_bytes = ROW;
    const size_t members = (size_t)weft_ccl_members(ccl), each = (EXPERTS + members - 1) / members;
    mixture x = {};
    x.places = members * TOKENS;
    check(weft_ccl_moe_open(ccl, &desc, &x.moe), "weft_ccl_moe_open");
    graphs_check(cudaMalloc(&x.rows, TOKENS * ROW), "cudaMalloc");
    graphs_check(cudaMalloc(&x.back, TOKENS * ROW), "cudaMalloc");
    graphs_check(cudaMalloc(&x.out, each * x.places * ROW), "cudaMalloc");
    graphs_check(cudaMalloc(&x.origin, each * x.places * sizeof(int32_t)), "cudaMalloc");
    graphs_check(cudaMalloc(&x.counts, each * sizeof(int32_t)), "cudaMalloc");
    graphs_check(cudaMalloc(&x.chosen, TOKENS * TOPK * sizeof(int32_t)), "cudaMalloc");
    graphs_check(cudaMalloc(&x.weights, TOKENS * TOPK * sizeof(float)), "cudaMalloc");
    return x;
}

void experts_wrong(graphs_place *place, const char *kind)
{
    graphs_check(cudaStreamSynchronize(place->stream), kind);
    if (*place->wrong != 0)
        fprintf(stderr, "%s: %llu elements are wrong\n", kind, *place->wrong);
    place->failed = place->failed || *place->wrong != 0;
}

void experts(graphs_place *place)
{
    mixture x = experts_open();
    const int me = weft_ccl_me(ccl), members = weft_ccl_members(ccl);
    for (int tokens = 1; tokens <= TOKENS; tokens *= TOKENS) {
        const size_t bytes = (size_t)tokens * ROW;
        experts_fill<<<TOKENS, 256, 0, place->stream>>>(x, me);
        line("weft", "dispatch", bytes, graphs_time(place, 0, [&](cudaStream_t stream) {
                 check(weft_ccl_dispatch(x.moe, x.rows, x.chosen, tokens, x.out, x.counts, x.origin,
                                         stream),
                       "dispatch");
             }));
        *place->wrong = 0;
        experts_check_out<<<EXPERTS, 256, 0, place->stream>>>(x, (EXPERTS + members - 1) / members,
                                                              place->wrong);
        experts_wrong(place, "dispatch");
        line("weft", "combine", bytes, graphs_time(place, 0, [&](cudaStream_t stream) {
                 check(weft_ccl_combine(x.moe, x.out, x.weights, WEFT_BF16, x.back, stream),
                       "combine");
             }));
        experts_check_back<<<tokens, 256, 0, place->stream>>>(x, me, place->wrong);
        experts_wrong(place, "combine");
        const double floor = graphs_time(place, 0, [&](cudaStream_t stream) {
            empty<<<64, 544, 0, stream>>>(empty_argument());
        });
        line("floor", "dispatch", bytes, floor);
        line("floor", "combine", bytes, floor);
        check(weft_ccl_check(ccl), "experts");
        check(weft_host_barrier(job), "barrier");
    }
    check(weft_ccl_moe_close(&x.moe), "weft_ccl_moe_close");
}

} // namespace

int main(int argc, char **argv)
{
    bool all = true, some[4] = {};
    check(weft_open(&job, &argc, argv), "weft_open");
    for (int i = 1; i < argc; i++) {
        some[0] |= strcmp(argv[i], "allreduce") == 0;
        some[1] |= strcmp(argv[i], "blocks") == 0;
        some[2] |= strcmp(argv[i], "columns") == 0;
        some[3] |= strcmp(argv[i], "experts") == 0;
        all = false;
    }
    check(weft_ccl_open(job, WEFT_COMM_HOST, 0, &ccl), "weft_ccl_open");
    graphs_place place = graphs_open();
    if (weft_ccl_me(ccl) == 0)
        graphs_header();
    if (all || some[0])
        allreduce(&place, GRAPHS_MOST);
    if (all || some[1])
        blocks(&place, 8u << 20);
    for (int threads = 128; threads <= 512 && (all || some[2]); threads *= 4)
        columns(&place, threads);
    if (all || some[3])
        experts(&place);
    check(weft_ccl_close(&ccl), "weft_ccl_close");
    check(weft_close(job), "weft_close");
    return place.failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
