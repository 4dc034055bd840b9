/*
 * gemm.cu - products by cuBLAS in a train: microseconds of each, the median of seven rounds. Plain
 * CUDA: nothing of weft is in it. Linked with -lcublas. Arguments: sizes of square matrices.
 */
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cublas_v2.h>
#include <vector>

enum { ROUNDS = 7 };

static void must(bool good, const char *what)
{
    if (good)
        return;
    std::fprintf(stderr, "gemm: %s\n", what);
    std::exit(EXIT_FAILURE);
}

static double train(cublasHandle_t blas, int n, int count, const float *a, const float *b, float *c)
{
    const float one = 1, none = 0;
    const auto begun = std::chrono::steady_clock::now();

    for (int i = 0; i < count; i++)
        must(cublasSgemm(blas, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, a, n, b, n, &none, c, n) ==
                 CUBLAS_STATUS_SUCCESS,
             "product");
    must(cudaDeviceSynchronize() == cudaSuccess, "synchronize");
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begun)
               .count() /
           count;
}

int main(int argc, char **argv)
{
    cublasHandle_t blas;
    float *memory[3];

    must(cublasCreate(&blas) == CUBLAS_STATUS_SUCCESS, "handle");
    for (int i = 1; i < argc; i++) {
        const int n = std::atoi(argv[i]), count = n < 1024 ? 1000 : 20;
        std::vector<double> rounds;
        must(n >= 1 && n <= 16384, "a size is not in 1..16384");
        for (float *&m : memory)
            must(cudaMalloc(&m, (size_t)n * n * sizeof(float)) == cudaSuccess &&
                     cudaMemset(m, 0, (size_t)n * n * sizeof(float)) == cudaSuccess,
                 "memory");
        train(blas, n, count, memory[0], memory[1], memory[2]);
        for (int r = 0; r < ROUNDS; r++)
            rounds.push_back(train(blas, n, count, memory[0], memory[1], memory[2]));
        std::sort(rounds.begin(), rounds.end());
        std::printf("Sgemm, n = %5d, %4d in a train: %10.2f us each\n", n, count,
                    rounds[ROUNDS / 2]);
        for (float *m : memory)
            must(cudaFree(m) == cudaSuccess, "memory");
    }
    return EXIT_SUCCESS;
}
