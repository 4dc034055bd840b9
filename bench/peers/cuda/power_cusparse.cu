/*
 * peers/cuda/power_cusparse.cu - the loop of apps/power_iteration on one GPU as it is usually
 * written: cuSPARSE multiplies, every step is a launch of its own, and after each iteration the
 * host looks whether it was the last.
 *
 * It takes the application's command line, reads files and checks results with the application's
 * own code, and makes the same iterations: x = A b; two sums over x; the verdict; b = x normalised.
 * With
 * --tolerance 0 nothing can end the iteration early, and the host does not look: that is the best
 * this loop can do. Each of cuSPARSE's algorithms is timed.
 */
extern "C" {
#include "check.h"
#include "problem.h"
}

#include <cuda_runtime.h>
#include <cusparse.h>

#include <chrono>
#include <cinttypes>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace
{

enum { THREADS = 256, SUM_BLOCKS = 128 };

struct sums {
    double size;   /* squares of x; for PageRank: x */
    double change; /* x times the x before it; for PageRank: |x - the x before it| */
};

/* The state of the iteration, on the GPU; the host looks at the top of it. */
struct state {
    double factor; /* normalises x */
    double change, eigenvalue;
    uint32_t stop;
    uint32_t arrived; /* blocks that have added their part of the sums */
    sums parts[SUM_BLOCKS];
};

/* What does not change. */
struct setup {
    uint64_t n;
    double tolerance;
    bool pagerank;
};

void check(cudaError_t error, const char *what)
{
    if (error == cudaSuccess)
        return;
    complain("%s: %s", what, cudaGetErrorString(error));
    exit(EXIT_FAILURE);
}

void check(cusparseStatus_t status, const char *what)
{
    if (status == CUSPARSE_STATUS_SUCCESS)
        return;
    complain("%s: %s", what, cusparseGetErrorString(status));
    exit(EXIT_FAILURE);
}

__device__ sums block_sum(sums mine)
{
    __shared__ sums all[THREADS];
    all[threadIdx.x] = mine;
    for (unsigned half = THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) {
            all[threadIdx.x].size += all[threadIdx.x + half].size;
            all[threadIdx.x].change += all[threadIdx.x + half].change;
        }
    }
    __syncthreads();
    return all[0];
}

/* As judge() of the application's kernel. One thread. */
__device__ void judge(const setup &setup, sums total, state *state)
{
    if (setup.pagerank) {
        state->factor = (1 - total.size) / (double)setup.n;
        state->change = total.change;
    } else {
        const double norm = sqrt(total.size);
        const double before = fabs(state->eigenvalue);
        state->factor = norm > 0 ? 1 / norm : 0;
        state->change = norm > 0 ? fabs(norm - before) / norm : 0;
        state->eigenvalue = total.change < 0 ? -norm : norm;
    }
    state->stop = (!setup.pagerank && state->factor == 0) || state->change < setup.tolerance;
}

/* The sums over x; the block that comes last adds the parts and judges. Always in the same order.
 */
__global__ void sum_up(setup setup, const double *x, const double *before, state *state)
{
    __shared__ bool last;
    sums mine = {0, 0};
    for (uint64_t i = blockIdx.x * THREADS + threadIdx.x; i < setup.n; i += SUM_BLOCKS * THREADS) {
        mine.size += setup.pagerank ? x[i] : x[i] * x[i];
        mine.change += setup.pagerank ? fabs(x[i] - before[i]) : x[i] * before[i];
    }
    mine = block_sum(mine);
    if (threadIdx.x == 0) {
        state->parts[blockIdx.x] = mine;
        __threadfence();
        last = atomicAdd(&state->arrived, 1) == SUM_BLOCKS - 1;
        __threadfence();
    }
    __syncthreads();
    if (!last)
        return;
    const sums none = {0, 0};
    const sums total = block_sum(threadIdx.x < SUM_BLOCKS ? state->parts[threadIdx.x] : none);
    if (threadIdx.x == 0) {
        state->arrived = 0;
        judge(setup, total, state);
    }
}

__global__ void normalise(setup setup, const double *x, double *b, const state *state)
{
    const uint64_t i = (uint64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i < setup.n)
        b[i] = setup.pagerank ? x[i] + state->factor : x[i] * state->factor;
}

template <class T> T *to_device(const std::vector<T> &from)
{
    T *made;
    check(cudaMalloc(&made, from.size() * sizeof(T) + 1), "cudaMalloc");
    check(cudaMemcpy(made, from.data(), from.size() * sizeof(T), cudaMemcpyDefault), "cudaMemcpy");
    return made;
}

/* The matrix and the vectors on the GPU. x has two copies: an iteration compares it with the last.
 */
struct machine {
    setup fixed;
    std::vector<double> start;
    double start_factor;
    int *row_start, *column_of;
    double *value, *b, *x[2];
    state *now, *seen; /* seen: the host's copy, pinned */
    cusparseHandle_t handle;
    cusparseConstSpMatDescr_t matrix;
    cusparseDnVecDescr_t vector_b, vector_x[2];
};

machine build(const problem &problem)
{
    const sparse &a = problem.matrix;
    const uint64_t entries = sparse_entries(&a);
    machine m = {};
    m.fixed = {a.rows, problem.options.tolerance, problem.options.pagerank};
    m.start_factor = m.fixed.pagerank ? 0 : 1 / power_start_norm(a.rows);
    for (uint64_t i = 0; i < a.rows; i++)
        m.start.push_back(power_start(m.fixed.pagerank, a.rows, i));
    m.row_start = to_device(std::vector<int>(a.row_start, a.row_start + a.rows + 1));
    m.column_of = to_device(std::vector<int>(a.column_of, a.column_of + entries));
    m.value = to_device(std::vector<double>(a.value, a.value + entries));
    m.b = to_device(m.start);
    m.x[0] = to_device(m.start);
    m.x[1] = to_device(m.start);
    check(cudaMalloc(&m.now, sizeof(*m.now)), "cudaMalloc");
    check(cudaHostAlloc(&m.seen, sizeof(*m.seen), cudaHostAllocDefault), "cudaHostAlloc");

    const int64_t n = (int64_t)a.rows;
    check(cusparseCreate(&m.handle), "cusparseCreate");
    check(cusparseCreateConstCsr(&m.matrix, n, n, (int64_t)entries, m.row_start, m.column_of,
                                 m.value, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
                                 CUSPARSE_INDEX_BASE_ZERO, CUDA_R_64F),
          "cusparseCreateConstCsr");
    check(cusparseCreateDnVec(&m.vector_b, n, m.b, CUDA_R_64F), "cusparseCreateDnVec");
    for (int i = 0; i < 2; i++)
        check(cusparseCreateDnVec(&m.vector_x[i], n, m.x[i], CUDA_R_64F), "cusparseCreateDnVec");
    return m;
}

void destroy(machine &m)
{
    for (cusparseDnVecDescr_t vector : {m.vector_b, m.vector_x[0], m.vector_x[1]})
        check(cusparseDestroyDnVec(vector), "cusparseDestroyDnVec");
    check(cusparseDestroySpMat(m.matrix), "cusparseDestroySpMat");
    check(cusparseDestroy(m.handle), "cusparseDestroy");
    check(cudaFreeHost(m.seen), "cudaFreeHost");
    for (void *memory : {(void *)m.row_start, (void *)m.column_of, (void *)m.value, (void *)m.b,
                         (void *)m.x[0], (void *)m.x[1], (void *)m.now})
        check(cudaFree(memory), "cudaFree");
}

int blocks_of(const machine &m)
{
    return (int)((m.fixed.n + THREADS - 1) / THREADS);
}

/* b and the x before the first one are the start vector. */
void begin(const machine &m)
{
    const size_t bytes = m.fixed.n * sizeof(double);
    state first = {};
    first.factor = m.start_factor;
    check(cudaMemcpy(m.now, &first, sizeof(first), cudaMemcpyDefault), "cudaMemcpy");
    check(cudaMemcpy(m.x[0], m.start.data(), bytes, cudaMemcpyDefault), "cudaMemcpy");
    normalise<<<blocks_of(m), THREADS>>>(m.fixed, m.x[0], m.b, m.now);
    check(cudaDeviceSynchronize(), "normalise");
}

/* The loop; returns the iterations made. */
uint64_t iterate(const machine &m, cusparseSpMVAlg_t algorithm, void *buffer, uint64_t most)
{
    const double one = 1, zero = 0;
    uint64_t k = 0;
    for (bool stop = false; k < most && !stop; k++) {
        const uint64_t next = (k + 1) & 1;
        check(cusparseSpMV(m.handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, m.matrix, m.vector_b,
                           &zero, m.vector_x[next], CUDA_R_64F, algorithm, buffer),
              "cusparseSpMV");
        sum_up<<<SUM_BLOCKS, THREADS>>>(m.fixed, m.x[next], m.x[k & 1], m.now);
        normalise<<<blocks_of(m), THREADS>>>(m.fixed, m.x[next], m.b, m.now);
        if (m.fixed.tolerance == 0)
            continue;
        check(cudaMemcpyAsync(m.seen, m.now, offsetof(state, arrived), cudaMemcpyDefault, 0),
              "cudaMemcpyAsync");
        check(cudaStreamSynchronize(0), "iteration");
        stop = m.seen->stop;
    }
    check(cudaGetLastError(), "launch");
    check(cudaDeviceSynchronize(), "iterations");
    return k;
}

/* Times one algorithm and compares its result with the serial one. Returns whether it is right. */
bool measure(const machine &m, const problem &problem, cusparseSpMVAlg_t algorithm,
             const char *name)
{
    typedef std::chrono::duration<double, std::milli> milliseconds;
    enum { WARM_UP = 20 };
    const double one = 1, zero = 0;
    size_t bytes;
    void *buffer;
    check(cusparseSpMV_bufferSize(m.handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, m.matrix,
                                  m.vector_b, &zero, m.vector_x[0], CUDA_R_64F, algorithm, &bytes),
          "cusparseSpMV_bufferSize");
    check(cudaMalloc(&buffer, bytes + 1), "cudaMalloc");
    check(cusparseSpMV_preprocess(m.handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, m.matrix,
                                  m.vector_b, &zero, m.vector_x[0], CUDA_R_64F, algorithm, buffer),
          "cusparseSpMV_preprocess");
    begin(m);
    iterate(m, algorithm, buffer, WARM_UP);
    begin(m);
    const auto start = std::chrono::steady_clock::now();
    const uint64_t iterations = iterate(m, algorithm, buffer, problem.options.iterations);
    const milliseconds time = std::chrono::steady_clock::now() - start;
    check(cudaFree(buffer), "cudaFree");

    std::vector<double> vector(m.fixed.n);
    check(cudaMemcpy(vector.data(), m.b, m.fixed.n * sizeof(double), cudaMemcpyDefault),
          "cudaMemcpy");
    check(cudaMemcpy(m.seen, m.now, sizeof(*m.now), cudaMemcpyDefault), "cudaMemcpy");
    printf("%s: %" PRIu64 " iterations, %s\n", name, iterations,
           m.seen->stop ? "converged" : "NOT CONVERGED");
    printf("time: %.3f ms, %.5f ms an iteration\n", time.count(),
           time.count() / (double)iterations);
    if (!m.fixed.pagerank)
        printf("dominant eigenvalue: %.12g\n", m.seen->eigenvalue * problem.scale);

    double error;
    const power_result result = {iterations, m.seen->eigenvalue, vector.data()};
    if (!problem.options.check)
        return true;
    if (!check_against_serial(&problem.matrix, m.fixed.pagerank, &result, &error)) {
        complain("out of memory for the serial reference");
        return false;
    }
    const bool good = error <= CHECK_TOLERANCE;
    printf("check: %s, %.3e from the serial result\n", good ? "passed" : "FAILED", error);
    return good;
}

} // namespace

int main(int argc, char **argv)
{
    problem problem;
    bool good = problem_load(&problem, 1, argc, argv);
    if (good && (problem.matrix.rows > INT_MAX || sparse_entries(&problem.matrix) > INT_MAX)) {
        complain("more than %d rows or entries", INT_MAX);
        good = false;
    } else if (good) {
        machine m = build(problem);
        good = measure(m, problem, CUSPARSE_SPMV_CSR_ALG1, "cusparse csr 1");
        good &= measure(m, problem, CUSPARSE_SPMV_CSR_ALG2, "cusparse csr 2");
        destroy(m);
    } else {
        good = problem.options.help;
    }
    problem_free(&problem);
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
