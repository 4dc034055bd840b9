/*
 * peers/cuda/stencil2d.cu - the plate of apps/stencil2d on one GPU as it is usually written: one
 * kernel an iteration, or with --sweep 2 for two, by the application's own body; two kernels a
 * graph. It takes the application's command line, and checks its result with the application's own
 * code.
 */
extern "C" {
#include "problem.h"
}

#include <cuda_runtime.h>

#include "machine.h"
#include "twice.h"

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

/* Two iterations: a warp has a strip of so many rows. */
enum { LONG = 92, WARPS = 8 }; /* 4 more are read, and 16 at a time */

__global__ void __launch_bounds__(WARPS * 32) relax_twice(const double *in, double *out, size_t n)
{
    const size_t row = 1 + (size_t)blockIdx.y * LONG,
                 rows = n + 1 - row < LONG ? n + 1 - row : LONG;
    const size_t column = 1 + (size_t)blockIdx.x * WARPS * STRIP, width = n + 2;
    const size_t columns = n + 1 - column < WARPS * STRIP ? n + 1 - column : WARPS * STRIP;
    struct field f;

    f.in = in + row * width + column;
    f.above = f.in - width;
    f.below = f.in + rows * width;
    f.above_two = row == 1 ? f.above : f.above - width;
    f.two_below = row + rows > n ? f.below : f.below + width;
    f.out = out + row * width + column;
    f.from = f.to = width;
    f.rows = rows;
    f.columns = columns;
    f.edges = (row == 1 ? EDGE_ABOVE : 0) | (row + rows > n ? EDGE_BELOW : 0) |
              (column == 1 ? EDGE_LEFT : 0) | (column + columns > n ? EDGE_RIGHT : 0);
    sweep_twice(&f, threadIdx.x / 32, WARPS);
}

void launch(cudaStream_t stream, const double *in, double *out, const options *o)
{
    const size_t n = o->n, wide = o->sweep == 2 ? WARPS * STRIP : WIDE;
    const size_t high = o->sweep == 2 ? LONG : HIGH * DEEP;
    const dim3 blocks((unsigned)((n + wide - 1) / wide), (unsigned)((n + high - 1) / high));

    if (o->sweep == 2)
        relax_twice<<<blocks, WARPS * 32, 0, stream>>>(in, out, n);
    else
        relax<<<blocks, dim3(WIDE, HIGH), 0, stream>>>(in, out, n);
}

/* Two sweeps, there and back. */
cudaGraphExec_t record(cudaStream_t stream, double *const field[2], const options *o)
{
    cudaGraph_t graph;
    cudaGraphExec_t made;

    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "capture");
    for (int i = 0; i < 2; i++)
        launch(stream, field[i], field[1 - i], o);
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
    if (o.iterations % (2 * o.sweep) != 0) {
        fprintf(stderr, "stencil2d_cuda: %u iterations: a multiple of %u\n", o.iterations,
                2 * o.sweep);
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
    cudaGraphExec_t two = record(stream, field, &o);
    check(cudaGraphUpload(two, stream), "graph");
    check(cudaEventRecord(began, stream), "event");
    for (uint32_t it = 0; it < o.iterations; it += 2 * o.sweep)
        check(cudaGraphLaunch(two, stream), "launch");
    check(cudaEventRecord(ended, stream), "event");
    check(cudaStreamSynchronize(stream), "kernel");
    check(cudaEventElapsedTime(&ms, began, ended), "event");
    printf("stencil2d cuda: N = %llu: %.4f ms an iteration\n", (unsigned long long)o.n,
           ms / o.iterations);
    return o.verify && !equal(&o, field[0]);
}
