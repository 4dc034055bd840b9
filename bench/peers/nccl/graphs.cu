/*
 * peers/nccl/graphs.cu - NCCL's collectives in CUDA graphs of 100 equal calls, on all GPUs of this
 * process: as bench/gpu/ccl.cu measures weft's.
 *
 *     nccl_graphs GPUS [plain|window]
 *
 * window: buffers of ncclMemAlloc that are registered for NCCL's symmetric kernels.
 */
#include "gpu/graphs.h"

#include <nccl.h>

#include <functional>

namespace
{

struct member {
    graphs_place place;
    ncclComm_t comm;
    cudaGraphExec_t exec;
};

std::vector<member> members;
const char *name = "nccl";

void check(ncclResult_t result, const char *what)
{
    if (result != ncclSuccess) {
        fprintf(stderr, "nccl: %s: %s\n", what, ncclGetErrorString(result));
        fflush(NULL);
        _Exit(EXIT_FAILURE);
    }
}

void on(size_t device)
{
    graphs_check(cudaSetDevice((int)device), "cudaSetDevice");
}

typedef std::function<ncclResult_t(member &)> call_t;

/* All members' streams capture at once, as a call of one thread needs it. */
void capture(size_t bytes, const call_t &call)
{
    for (size_t d = 0; d < members.size(); d++) {
        on(d);
        graphs_check(cudaStreamBeginCapture(members[d].place.stream, cudaStreamCaptureModeRelaxed),
                     "capture");
    }
    for (int i = 0; i < graphs_calls(bytes); i++) {
        check(ncclGroupStart(), "ncclGroupStart");
        for (member &m : members)
            check(call(m), "a call");
        check(ncclGroupEnd(), "ncclGroupEnd");
    }
    for (size_t d = 0; d < members.size(); d++) {
        cudaGraph_t graph;
        on(d);
        graphs_check(cudaStreamEndCapture(members[d].place.stream, &graph), "capture");
        graphs_check(cudaGraphInstantiate(&members[d].exec, graph, 0), "instantiate");
        graphs_check(cudaGraphDestroy(graph), "graph");
    }
}

double measure(size_t bytes, const call_t &call)
{
    std::vector<cudaEvent_t> at(GRAPHS_REPLAYS + 1);
    std::vector<double> us;
    capture(bytes, call);
    on(0);
    for (cudaEvent_t &event : at)
        graphs_check(cudaEventCreate(&event), "event");
    for (int i = -GRAPHS_WARM; i <= GRAPHS_REPLAYS; i++) {
        on(0);
        if (i >= 0)
            graphs_check(cudaEventRecord(at[i], members[0].place.stream), "event");
        for (size_t d = 0; d < members.size() && i < GRAPHS_REPLAYS; d++) {
            on(d);
            graphs_check(cudaGraphLaunch(members[d].exec, members[d].place.stream), "launch");
        }
    }
    for (size_t d = 0; d < members.size(); d++) {
        on(d);
        graphs_check(cudaStreamSynchronize(members[d].place.stream), "replays");
        graphs_check(cudaGraphExecDestroy(members[d].exec), "graph");
    }
    on(0);
    for (int i = 0; i < GRAPHS_REPLAYS; i++) {
        float ms;
        graphs_check(cudaEventElapsedTime(&ms, at[i], at[i + 1]), "event");
        us.push_back(ms * 1e3 / graphs_calls(bytes));
    }
    return graphs_median(&us);
}

bool allreduce(size_t bytes, bool bf16)
{
    const char *kind = bf16 ? "allreduce_bf16" : "allreduce_f32";
    bool right = true;
    for (size_t d = 0; d < members.size(); d++) {
        on(d);
        graphs_fill(&members[d].place, bytes, bf16, (int)d);
    }
    const double us = measure(bytes, [&](member &m) {
        return ncclAllReduce(m.place.source, m.place.target, bytes / (bf16 ? 2 : 4),
                             bf16 ? ncclBfloat16 : ncclFloat32, ncclSum, m.comm, m.place.stream);
    });
    for (size_t d = 0; d < members.size(); d++) {
        on(d);
        right &= graphs_right(&members[d].place, kind, bytes, bf16, (int)members.size());
    }
    graphs_line(name, kind, bytes, us);
    return right;
}

void blocks(size_t bytes)
{
    const size_t each = bytes / members.size() / 4;
    graphs_line(name, "allgather", bytes, measure(bytes, [&](member &m) {
                    return ncclAllGather(m.place.source, m.place.target, each, ncclFloat32, m.comm,
                                         m.place.stream);
                }));
    graphs_line(name, "reduce_scatter", bytes, measure(bytes, [&](member &m) {
                    return ncclReduceScatter(m.place.source, m.place.target, each, ncclFloat32,
                                             ncclSum, m.comm, m.place.stream);
                }));
    graphs_line(name, "broadcast", bytes, measure(bytes, [&](member &m) {
                    return ncclBroadcast(m.place.target, m.place.target, bytes / 4, ncclFloat32, 0,
                                         m.comm, m.place.stream);
                }));
}

} // namespace

int main(int argc, char **argv)
{
    const int gpus = argc > 1 ? atoi(argv[1]) : 2;
    const bool window = argc > 2 && strcmp(argv[2], "window") == 0;
    std::vector<ncclComm_t> comms((size_t)gpus);
    std::vector<int> devices;
    bool right = true;
    for (int d = 0; d < gpus; d++)
        devices.push_back(d);
    check(ncclCommInitAll(comms.data(), gpus, devices.data()), "ncclCommInitAll");
    for (int d = 0; d < gpus; d++) {
        on((size_t)d);
        members.push_back({graphs_open(), comms[(size_t)d], NULL});
    }
    if (window) {
        std::vector<ncclWindow_t> windows(2 * (size_t)gpus);
        name = "nccl_window";
        for (size_t d = 0; d < members.size(); d++) {
            on(d);
            check(ncclMemAlloc(&members[d].place.source, GRAPHS_MOST), "ncclMemAlloc");
            check(ncclMemAlloc(&members[d].place.target, GRAPHS_MOST), "ncclMemAlloc");
        }
        for (int target = 0; target < 2; target++) {
            check(ncclGroupStart(), "ncclGroupStart");
            for (size_t d = 0; d < members.size(); d++)
                check(ncclCommWindowRegister(
                          members[d].comm,
                          target ? members[d].place.target : members[d].place.source, GRAPHS_MOST,
                          &windows[2 * d + (size_t)target], NCCL_WIN_COLL_SYMMETRIC),
                      "ncclCommWindowRegister");
            check(ncclGroupEnd(), "ncclGroupEnd");
        }
    }
    graphs_header();
    for (int bf16 = 0; bf16 < 2; bf16++)
        for (size_t bytes = 8; bytes <= GRAPHS_MOST; bytes *= bytes == 8      ? 256
                                                              : bytes == 2048 ? 8
                                                                              : 4)
            right &= allreduce(bytes, bf16 != 0);
    for (size_t bytes = 64; bytes <= 8u << 20; bytes *= 8)
        blocks(bytes);
    fflush(NULL);
    _Exit(right ? EXIT_SUCCESS : EXIT_FAILURE); /* destroying communicators may take long */
}
