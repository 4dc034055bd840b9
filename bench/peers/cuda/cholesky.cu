/*
 * peers/cuda/cholesky.cu - the factorisation of apps/cholesky on one GPU as a loop over its steps:
 * a kernel for the tile on the diagonal, one for those below it, one for the rest, by the same
 * device functions; all steps are one graph. It takes the application's command line, and checks
 * its result with the application's own code.
 */
extern "C" {
#include "problem.h"
#include "report.h"
}

#include "tile.h"

#include <cuda_runtime.h>

#include "machine.h"

namespace
{

enum { THREADS = 256 };

/* The matrix and its factor in the GPU's memory. */
struct factors {
    tile t;
    size_t tile_doubles;
    const double *from;
    double *to;
};

__device__ size_t tile_at(const factors &f, uint64_t row, uint64_t column)
{
    return (row * (row + 1) / 2 + column) * f.tile_doubles;
}

/* The first one to write a tile reads the matrix, all others the tile. */
__device__ const double *source(const factors &f, size_t at, bool first)
{
    return (first ? f.from : f.to) + at;
}

__global__ void __launch_bounds__(THREADS) potrf(factors f, uint64_t step)
{
    const size_t at = tile_at(f, step, step);

    for (uint64_t column = 0; column < f.t.n; column += TILE_COLUMNS) {
        tile_potrf_columns(&f.t, source(f, at, step == 0), f.to + at, column, threadIdx.x, THREADS);
        __syncthreads();
        if (threadIdx.x == 0)
            tile_potrf_block(&f.t, f.to + at, column);
        __syncthreads();
        tile_potrf_below(&f.t, f.to + at, column, threadIdx.x, THREADS);
        __syncthreads();
    }
}

/* A block for each tile below. */
__global__ void __launch_bounds__(THREADS) trsm(factors f, uint64_t step)
{
    const size_t at = tile_at(f, step + 1 + blockIdx.x, step);

    tile_trsm(&f.t, source(f, at, step == 0), f.to + at, f.to + tile_at(f, step, step), threadIdx.x,
              THREADS);
}

/* A block for each tile right of the step's column; those above the diagonal have nothing to do. */
__global__ void __launch_bounds__(THREADS, 2) gemm(factors f, uint64_t step)
{
    const uint64_t row = step + 1 + blockIdx.y, column = step + 1 + blockIdx.x;

    if (column > row)
        return;
    const size_t at = tile_at(f, row, column);
    f.t.diagonal = row == column;
    tile_gemm(&f.t, source(f, at, step == 0), f.to + at, f.to + tile_at(f, row, step),
              f.to + tile_at(f, column, step), threadIdx.x, THREADS);
}

cudaGraphExec_t record(cudaStream_t stream, const factors &f, unsigned tiles)
{
    cudaGraph_t graph;
    cudaGraphExec_t made;

    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "capture");
    for (unsigned step = 0; step < tiles; step++) {
        const unsigned rest = tiles - step - 1;
        potrf<<<1, THREADS, 0, stream>>>(f, step);
        if (rest == 0)
            break;
        trsm<<<rest, THREADS, 0, stream>>>(f, step);
        gemm<<<dim3(rest, rest), THREADS, 0, stream>>>(f, step);
    }
    check(cudaStreamEndCapture(stream, &graph), "capture");
    check(cudaGraphInstantiate(&made, graph, 0), "graph");
    return made;
}

bool verify(const matrix *m, const settings *s, const double *factor)
{
    double *const host = (double *)malloc(m->bytes);

    check(host == NULL ? cudaErrorMemoryAllocation : cudaSuccess, "memory");
    check(cudaMemcpy(host, factor, m->bytes, cudaMemcpyDefault), "copy");
    const bool right = matrix_verify(m, s, host);
    free(host);
    return right;
}

/* The matrix, in the GPU's memory. */
double *fill(const matrix *m, const settings *s)
{
    double *const host = (double *)malloc(m->bytes), *there;

    check(host == NULL ? cudaErrorMemoryAllocation : cudaSuccess, "memory");
    matrix_fill(m, s->seed, host);
    check(cudaMalloc(&there, m->bytes), "memory");
    check(cudaMemcpy(there, host, m->bytes, cudaMemcpyDefault), "copy");
    free(host);
    return there;
}

/* All iterations of a repetition; ms. */
float run(cudaStream_t stream, cudaGraphExec_t graph, uint64_t iterations)
{
    cudaEvent_t began, ended;
    float ms;

    check(cudaEventCreate(&began), "event");
    check(cudaEventCreate(&ended), "event");
    check(cudaEventRecord(began, stream), "event");
    for (uint64_t i = 0; i < iterations; i++)
        check(cudaGraphLaunch(graph, stream), "launch");
    check(cudaEventRecord(ended, stream), "event");
    check(cudaStreamSynchronize(stream), "kernel");
    check(cudaEventElapsedTime(&ms, began, ended), "event");
    return ms;
}

} // namespace

int main(int argc, char **argv)
{
    settings s;
    matrix m;
    factors f = {};
    cudaStream_t stream;

    if (!settings_read(&cholesky, argc, argv, true, &s))
        return !s.help;
    if (!matrix_of(&s, true, &m))
        return 1;
    f.t.n = m.side;
    f.t.pitch = m.pitch;
    f.tile_doubles = m.tile_bytes / sizeof(double);
    f.from = fill(&m, &s);
    check(cudaMalloc(&f.to, m.bytes), "memory");
    check(cudaStreamCreate(&stream), "stream");
    cudaGraphExec_t graph = record(stream, f, (unsigned)m.tiles);
    check(cudaGraphUpload(graph, stream), "graph");
    struct report report = {};
    report.program = &cholesky;
    report.settings = &s;
    report.variant = "cuda graph";
    report.device = "cuda";
    report.processes = 1;
    if (!report_begin(&report))
        return 1;
    for (uint64_t i = 0; i < s.repetitions; i++)
        report_repetition(&report, run(stream, graph, s.iterations), -1);
    report_end(&report);
    return s.verify && !verify(&m, &s, f.to);
}
