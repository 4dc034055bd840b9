/*
 * peers/cuda/stencil2d.cu - the plate of apps/stencil2d on one GPU as it is usually written: one
 * kernel an iteration, two iterations a graph. It takes the application's command line, and checks
 * its result with the application's own code.
 */
extern "C" {
#include "problem.h"
}

#include <cuda_runtime.h>

#include "machine.h"

#include <cstring>

namespace
{

enum { WIDE = 64, HIGH = 4, DEEP = 8 /* rows of a thread */ };

__global__ void __launch_bounds__(WIDE *HIGH) relax(const double *in, double *out, size_t n)
{
    const size_t width = n + 2, column = 1 + (size_t)blockIdx.x * WIDE + threadIdx.x;
    const size_t row = 1 + ((size_t)blockIdx.y * HIGH + threadIdx.y) * DEEP;
    const size_t deep = row > n ? 0 : n + 1 - row < DEEP ? n + 1 - row : DEEP;
    const double *const from = in + row * width + column;
    double middle[DEEP + 2], sides[DEEP];

    if (column > n)
        return;
#pragma unroll
    for (size_t i = 0; i < DEEP + 2; i++)
        middle[i] = deep != 0 && i < deep + 2 ? from[i * width - width] : 0;
#pragma unroll
    for (size_t i = 0; i < DEEP; i++)
        sides[i] = i < deep ? from[i * width - 1] + from[i * width + 1] : 0;
#pragma unroll
    for (size_t i = 0; i < DEEP; i++)
        if (i < deep)
            out[(row + i) * width + column] = 0.25 * ((middle[i] + middle[i + 2]) + sides[i]);
}

/* Two iterations, there and back. */
cudaGraphExec_t record(cudaStream_t stream, double *const field[2], size_t n)
{
    const dim3 blocks((unsigned)((n + WIDE - 1) / WIDE),
                      (unsigned)((n + HIGH * DEEP - 1) / (HIGH * DEEP)));
    cudaGraph_t graph;
    cudaGraphExec_t made;

    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "capture");
    for (int i = 0; i < 2; i++)
        relax<<<blocks, dim3(WIDE, HIGH), 0, stream>>>(field[i], field[1 - i], n);
    check(cudaStreamEndCapture(stream, &graph), "capture");
    check(cudaGraphInstantiate(&made, graph, 0), "graph");
    return made;
}

bool equal(const options *o, const double *there)
{
    const size_t width = o->n + 2;
    double ms, *const want = solve(o, &ms), *row = (double *)malloc(width * sizeof(double));
    bool good = want != NULL && row != NULL;

    for (size_t r = 1; good && r <= o->n; r++) {
        check(cudaMemcpy(row, there + r * width, width * sizeof(double), cudaMemcpyDefault),
              "copy");
        good = memcmp(row, want + r * width, width * sizeof(double)) == 0;
    }
    printf("verified: %s\n", good ? "bit-equal" : "DIFFERS");
    free(want);
    free(row);
    return good;
}

} // namespace

int main(int argc, char **argv)
{
    options o;
    double *field[2], *start;
    float ms;
    cudaStream_t stream;
    cudaEvent_t began, ended;

    if (!options_read(&o, argc, argv, true))
        return 2;
    if (o.help)
        return 0;
    if (o.iterations % 2 != 0) {
        fprintf(stderr, "stencil2d_cuda: %u iterations: an even number\n", o.iterations);
        return 2;
    }
    const size_t width = o.n + 2, bytes = width * width * sizeof(double);
    if ((start = (double *)malloc(bytes)) == NULL) {
        fprintf(stderr, "stencil2d_cuda: no memory for %zu bytes\n", bytes);
        return 1;
    }
    start_rows(o.n, 0, width, start);
    for (int i = 0; i < 2; i++) {
        check(cudaMalloc(&field[i], bytes), "memory");
        check(cudaMemcpy(field[i], start, bytes, cudaMemcpyDefault), "copy");
    }
    free(start);
    check(cudaStreamCreate(&stream), "stream");
    check(cudaEventCreate(&began), "event");
    check(cudaEventCreate(&ended), "event");
    cudaGraphExec_t two = record(stream, field, o.n);
    check(cudaGraphUpload(two, stream), "graph");
    check(cudaEventRecord(began, stream), "event");
    for (uint32_t it = 0; it < o.iterations; it += 2)
        check(cudaGraphLaunch(two, stream), "launch");
    check(cudaEventRecord(ended, stream), "event");
    check(cudaStreamSynchronize(stream), "kernel");
    check(cudaEventElapsedTime(&ms, began, ended), "event");
    printf("stencil2d cuda: N = %llu: %.4f ms an iteration\n", (unsigned long long)o.n,
           ms / o.iterations);
    return o.verify && !equal(&o, field[0]);
}
