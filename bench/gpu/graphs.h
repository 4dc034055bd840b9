/*
 * gpu/graphs.h - how calls on streams are measured, by weft and by its peers: graphs of 100 equal
 * calls, replayed; what they move, and the check. CUDA C++.
 */
#ifndef BENCH_GPU_GRAPHS_H
#define BENCH_GPU_GRAPHS_H

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

enum { GRAPHS_CALLS = 100, GRAPHS_REPLAYS = 20, GRAPHS_WARM = 3 };
static const size_t GRAPHS_MOST = 64u << 20;

/* A device's memory and stream; the device is the current one. */
struct graphs_place {
    cudaStream_t stream;
    cudaEvent_t before, after;
    void *source, *target;
    unsigned long long *wrong;
    bool failed;
};

static inline void graphs_check(cudaError_t error, const char *what)
{
    if (error != cudaSuccess) {
        fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
        exit(EXIT_FAILURE);
    }
}

static inline graphs_place graphs_open(void)
{
    graphs_place place = {};
    graphs_check(cudaStreamCreateWithFlags(&place.stream, cudaStreamNonBlocking), "stream");
    graphs_check(cudaEventCreate(&place.before), "event");
    graphs_check(cudaEventCreate(&place.after), "event");
    graphs_check(cudaMalloc(&place.source, GRAPHS_MOST), "cudaMalloc");
    graphs_check(cudaMalloc(&place.target, GRAPHS_MOST), "cudaMalloc");
    graphs_check(cudaMallocManaged(&place.wrong, sizeof(*place.wrong)), "cudaMallocManaged");
    return place;
}

/* Whole numbers, whose sums are exact. */
static __host__ __device__ inline float graphs_element(size_t i, int member)
{
    return (float)((i * 7 + (size_t)member * 3) % 13);
}

static __global__ void graphs_fill_kernel(void *to, size_t count, bool bf16, int member)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count;
         i += (size_t)gridDim.x * blockDim.x)
        if (bf16)
            ((__nv_bfloat16 *)to)[i] = __float2bfloat16(graphs_element(i, member));
        else
            ((float *)to)[i] = graphs_element(i, member);
}

static __global__ void graphs_compare_kernel(const void *in, size_t count, bool bf16, int members,
                                             unsigned long long *wrong)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count;
         i += (size_t)gridDim.x * blockDim.x) {
        float sum = 0;
        for (int m = 0; m < members; m++)
            sum += graphs_element(i, m);
        const float is =
            bf16 ? __bfloat162float(((const __nv_bfloat16 *)in)[i]) : ((const float *)in)[i];
        if (is != sum)
            atomicAdd(wrong, 1ull);
    }
}

static inline void graphs_fill(graphs_place *place, size_t bytes, bool bf16, int member)
{
    graphs_fill_kernel<<<264, 256, 0, place->stream>>>(place->source, bytes / (bf16 ? 2 : 4), bf16,
                                                       member);
    graphs_check(cudaMemsetAsync(place->target, 0xff, bytes, place->stream), "memset");
    graphs_check(cudaStreamSynchronize(place->stream), "fill");
}

/* Whether the target has the sums of all members' sources; says so if not. */
static inline bool graphs_right(graphs_place *place, const char *kind, size_t bytes, bool bf16,
                                int members)
{
    *place->wrong = 0;
    graphs_compare_kernel<<<264, 256, 0, place->stream>>>(place->target, bytes / (bf16 ? 2 : 4),
                                                          bf16, members, place->wrong);
    graphs_check(cudaStreamSynchronize(place->stream), "compare");
    if (*place->wrong != 0)
        fprintf(stderr, "%s of %zu bytes: %llu elements are wrong\n", kind, bytes, *place->wrong);
    place->failed = place->failed || *place->wrong != 0;
    return *place->wrong == 0;
}

static inline double graphs_median(std::vector<double> *us)
{
    std::sort(us->begin(), us->end());
    return (*us)[us->size() / 2];
}

/* Large calls are made less often. */
static inline int graphs_calls(size_t bytes)
{
    return bytes > (4u << 20) ? 10 : GRAPHS_CALLS;
}

template <typename CALL>
static inline cudaGraphExec_t graphs_capture(graphs_place *place, size_t bytes, CALL call)
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    graphs_check(cudaStreamBeginCapture(place->stream, cudaStreamCaptureModeThreadLocal),
                 "capture");
    for (int i = 0; i < graphs_calls(bytes); i++)
        call(place->stream);
    graphs_check(cudaStreamEndCapture(place->stream, &graph), "capture");
    graphs_check(cudaGraphInstantiate(&exec, graph, 0), "instantiate");
    graphs_check(cudaGraphDestroy(graph), "graph");
    return exec;
}

/* Microseconds a call: the median of the replays. */
template <typename CALL>
static inline double graphs_time(graphs_place *place, size_t bytes, CALL call)
{
    cudaGraphExec_t exec = graphs_capture(place, bytes, call);
    std::vector<cudaEvent_t> at(GRAPHS_REPLAYS + 1);
    std::vector<double> us;
    for (cudaEvent_t &event : at)
        graphs_check(cudaEventCreate(&event), "event");
    for (int i = 0; i < GRAPHS_WARM; i++)
        graphs_check(cudaGraphLaunch(exec, place->stream), "launch");
    for (int i = 0; i <= GRAPHS_REPLAYS; i++) {
        graphs_check(cudaEventRecord(at[i], place->stream), "event");
        if (i < GRAPHS_REPLAYS)
            graphs_check(cudaGraphLaunch(exec, place->stream), "launch");
    }
    graphs_check(cudaStreamSynchronize(place->stream), "replays");
    for (int i = 0; i < GRAPHS_REPLAYS; i++) {
        float ms;
        graphs_check(cudaEventElapsedTime(&ms, at[i], at[i + 1]), "event");
        us.push_back(ms * 1e3 / graphs_calls(bytes));
    }
    for (cudaEvent_t event : at)
        cudaEventDestroy(event);
    graphs_check(cudaGraphExecDestroy(exec), "graph");
    return graphs_median(&us);
}

static inline void graphs_header(void)
{
    printf("name,kind,bytes,threads,value,unit,ranks\n");
}

static inline void graphs_line(const char *name, const char *kind, size_t bytes, double us)
{
    printf("%s,%s,%zu,0,%.3f,us,1\n", name, kind, bytes, us);
    fflush(stdout);
}

#endif
