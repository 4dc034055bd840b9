/*
 * ccl_graphs: calls of weft/ccl.h in a CUDA graph that is replayed while another stream computes,
 * in turns with columns in a kernel, which nvcc compiles with -use_fast_math; the bits of each
 * result are those of a serial loop. A CUDA program, as users write them; tools/gpu-check runs it.
 *
 *     weftrun -n 2 ccl_graphs [REPLAYS]     default 10000
 *     weftrun -n 2 ccl_graphs lose          the last member is killed within the replays: the
 *                                           streams of the others end, and weft_ccl_check says who
 */
#include <weft/ccl.h>

#include <cuda_runtime.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>
#include <vector>

#define CUDA(call)                                                                                 \
    do {                                                                                           \
        const cudaError_t error = (call);                                                          \
        if (error != cudaSuccess) {                                                                \
            fprintf(stderr, "ccl_graphs:%d: %s\n", __LINE__, cudaGetErrorString(error));           \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)
#define WEFT(call)                                                                                 \
    do {                                                                                           \
        if ((call) != WEFT_OK) {                                                                   \
            fprintf(stderr, "ccl_graphs:%d: %s\n", __LINE__, weft_error(job));                     \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

namespace
{

enum { FEW = 1000, MUCH = 300001, ALL = FEW + MUCH, COLUMNS = 8 };

weft_job *job;
weft_ccl *ccl;

/* Of all sizes, subnormal ones too, so that the order of a sum shows in its bits. */
float element(size_t i, int member)
{
    const unsigned bits = (unsigned)(i * 2654435761u) ^ (unsigned)(member + 1) * 0x9e3779b9u;
    const unsigned exponent = i % 5 == 0 ? 0 : 100 + bits % 50; /* 0: subnormal */
    const unsigned word = (bits & 0x807fffffu) | exponent << 23;
    float value;
    memcpy(&value, &word, sizeof(value));
    return value;
}

std::vector<float> sums(int members)
{
    std::vector<float> sum(ALL);
    for (size_t i = 0; i < ALL; i++) {
        volatile float all = element(i, 0);
        for (int m = 1; m < members; m++)
            all = all + element(i, m);
        sum[i] = all;
    }
    return sum;
}

__global__ void compute(float *x, size_t count)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count;
         i += (size_t)gridDim.x * blockDim.x)
        for (int k = 0; k < 64; k++)
            x[i] = x[i] * 0.999f + 1;
}

__global__ void columns(const weft_ccl_view *view, const float *source, float *target)
{
    size_t first, count;
    weft_column_slice((int)blockIdx.x, COLUMNS, ALL, WEFT_F32, &first, &count);
    weft_column_allreduce(nullptr, view, (int)blockIdx.x, source + first, target + first, count,
                          WEFT_F32, WEFT_SUM);
}

struct place {
    float *source, *target, *beside;
    cudaStream_t stream, other;
    cudaGraphExec_t graph;
};

place open_place(int me)
{
    place p;
    std::vector<float> source(ALL);
    cudaGraph_t graph;

    for (size_t i = 0; i < ALL; i++)
        source[i] = element(i, me);
    CUDA(cudaMalloc(&p.source, ALL * sizeof(float)));
    CUDA(cudaMalloc(&p.target, ALL * sizeof(float)));
    CUDA(cudaMalloc(&p.beside, (16u << 20) * sizeof(float)));
    CUDA(cudaMemcpy(p.source, source.data(), ALL * sizeof(float), cudaMemcpyHostToDevice));
    CUDA(cudaMemset(p.beside, 0, (16u << 20) * sizeof(float)));
    CUDA(cudaStreamCreateWithFlags(&p.stream, cudaStreamNonBlocking));
    CUDA(cudaStreamCreateWithFlags(&p.other, cudaStreamNonBlocking));
    CUDA(cudaStreamBeginCapture(p.stream, cudaStreamCaptureModeThreadLocal));
    CUDA(cudaMemsetAsync(p.target, 0xff, ALL * sizeof(float), p.stream));
    WEFT(weft_ccl_allreduce(ccl, p.source, p.target, FEW, WEFT_F32, WEFT_SUM, p.stream));
    WEFT(weft_ccl_barrier(ccl, p.stream));
    WEFT(weft_ccl_allreduce(ccl, p.source + FEW, p.target + FEW, MUCH, WEFT_F32, WEFT_SUM,
                            p.stream));
    CUDA(cudaStreamEndCapture(p.stream, &graph));
    CUDA(cudaGraphInstantiate(&p.graph, graph, 0));
    CUDA(cudaGraphDestroy(graph));
    return p;
}

bool is_right(const place &p, const std::vector<float> &sum, int replay)
{
    std::vector<float> got(ALL);
    CUDA(cudaMemcpyAsync(got.data(), p.target, ALL * sizeof(float), cudaMemcpyDeviceToHost,
                         p.stream));
    CUDA(cudaStreamSynchronize(p.stream));
    for (size_t i = 0; i < ALL; i++)
        if (memcmp(&got[i], &sum[i], sizeof(float)) != 0) {
            fprintf(stderr, "replay %d: element %zu is %a, not %a\n", replay, i, got[i], sum[i]);
            return false;
        }
    return true;
}

int replay(const place &p, int replays)
{
    const std::vector<float> sum = sums(weft_ccl_members(ccl));
    for (int i = 0; i < replays; i++) {
        CUDA(cudaGraphLaunch(p.graph, p.stream));
        if (i % 16 == 0)
            compute<<<264, 256, 0, p.other>>>(p.beside, 1u << 20);
        if (i % 100 == 99) {
            if (!is_right(p, sum, i))
                return 1;
            CUDA(cudaMemsetAsync(p.target, 0xff, ALL * sizeof(float), p.stream));
            columns<<<COLUMNS, 256, 0, p.stream>>>(weft_ccl_kernel(ccl), p.source, p.target);
            if (!is_right(p, sum, i))
                return 1;
        }
    }
    CUDA(cudaStreamSynchronize(p.other));
    WEFT(weft_ccl_check(ccl));
    printf("%d replays, and %d kernels of columns between them: all bits are right\n", replays,
           replays / 100);
    return 0;
}

int lose(const place &p)
{
    const int last = weft_ccl_members(ccl) - 1;
    for (int i = 0; i < 200; i++) {
        CUDA(cudaGraphLaunch(p.graph, p.stream));
        if (i == 100 && weft_ccl_me(ccl) == last) {
            CUDA(cudaStreamSynchronize(p.stream));
            raise(SIGKILL);
        }
    }
    CUDA(cudaStreamSynchronize(p.stream)); /* it ends */
    const weft_status status = weft_ccl_check(ccl);
    printf("member %d: the stream has ended: %s\n", weft_ccl_me(ccl), weft_error(job));
    fflush(stdout);
    return status == WEFT_ERR_PEER_LOST ? 0 : 1;
}

} // namespace

int main(int argc, char **argv)
{
    if (weft_open(&job, &argc, argv) != WEFT_OK)
        return 1;
    WEFT(weft_ccl_open(job, WEFT_COMM_HOST, 0, &ccl));
    const place p = open_place(weft_ccl_me(ccl));
    WEFT(weft_host_barrier(job));
    if (argc > 1 && strcmp(argv[1], "lose") == 0)
        _exit(lose(p));
    const int status = replay(p, argc > 1 ? atoi(argv[1]) : 10000);
    CUDA(cudaGraphExecDestroy(p.graph));
    WEFT(weft_ccl_close(&ccl));
    WEFT(weft_close(job));
    return status;
}
