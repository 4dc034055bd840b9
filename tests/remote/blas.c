/*
 * blas.c - a program that uses cuBLAS and cuSOLVER: both pointer modes, numbers of both widths,
 * arrays of pointers, mixed types, streams, a factorisation, mistakes. With an argument it is over
 * the fake libraries (fake_blas.c), which have what it calls and no more.
 */
#include "blas.h"

#include <cublas_v2.h>
#include <cusolverDn.h>

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 24, CELLS = N * N };

static int wrong;
static float a[CELLS], b[CELLS], c[CELLS], want[CELLS], *there[4];
static const float one = 1, two = 2, zero;

void blas_check(bool good, const char *file, int line, const char *text)
{
    if (!good)
        fprintf(stderr, "%s:%d: not true: %s\n", file, line, text);
    wrong += !good;
}

/* alpha a b + beta of what is there */
static void multiply(float alpha, float beta)
{
    for (int j = 0; j < N; j++)
        for (int i = 0; i < N; i++) {
            float sum = 0;
            for (int k = 0; k < N; k++)
                sum += a[i + k * N] * b[k + j * N];
            want[i + j * N] = alpha * sum + beta * want[i + j * N];
        }
}

static bool is_wanted(const float *from)
{
    float most = 0;

    OK(cublasGetMatrix(N, N, sizeof(*c), from, N, c, N));
    for (int i = 0; i < CELLS; i++)
        most = fmaxf(most, fabsf(c[i] - want[i]));
    return most < 1e-3f;
}

static void products(cublasHandle_t handle)
{
    float *scalars, *results[2], scalar_values[] = {2, 1};
    const float *lists[3][2] = {{there[0], there[0]}, {there[1], there[1]}, {there[2], there[3]}};
    const float **list;

    OK(cublasSetMatrix(N, N, sizeof(*a), a, N, there[0], N));
    OK(cublasSetMatrix_64(N, N, sizeof(*b), b, N, there[1], N));
    memset(want, 0, sizeof(want));
    OK(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, N, N, N, &one, there[0], N, there[1], N, &zero,
                   there[2], N));
    multiply(1, 0);
    CHECK(is_wanted(there[2]));
    OK(cublasSgemm_64(handle, CUBLAS_OP_N, CUBLAS_OP_N, N, N, N, &two, there[0], N, there[1], N,
                      &one, there[2], N));
    multiply(2, 1);
    CHECK(is_wanted(there[2]));
    OK(cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, N, N, N, &two, there[0], CUDA_R_32F, N,
                    there[1], CUDA_R_32F, N, &one, there[2], CUDA_R_32F, N, CUBLAS_COMPUTE_32F,
                    CUBLAS_GEMM_DEFAULT));
    multiply(2, 1);
    CHECK(is_wanted(there[2]));

    OK(cudaMalloc((void **)&scalars, sizeof(scalar_values)));
    OK(cudaMemcpy(scalars, scalar_values, sizeof(scalar_values), cudaMemcpyHostToDevice));
    OK(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_DEVICE));
    OK(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, N, N, N, scalars, there[0], N, there[1], N,
                   scalars + 1, there[2], N));
    OK(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_HOST));
    multiply(2, 1);
    CHECK(is_wanted(there[2]));

    OK(cudaMalloc((void **)&list, sizeof(lists)));
    OK(cudaMemcpy(list, lists, sizeof(lists), cudaMemcpyHostToDevice));
    memcpy(results, lists[2], sizeof(results));
    OK(cublasSgemmBatched(handle, CUBLAS_OP_N, CUBLAS_OP_N, N, N, N, &one, list, N, list + 2, N,
                          &zero, (float *const *)(list + 4), N, 2));
    multiply(1, 0);
    CHECK(is_wanted(results[0]) && is_wanted(results[1]));
    OK(cudaFree(list));
    OK(cudaFree(scalars));
}

/* Which the header declares for C++ alone: the half of 1, and of 4 */
cublasStatus_t cublasHgemm(cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb, int m,
                           int n, int k, const __half_raw *alpha, const __half_raw *a, int lda,
                           const __half_raw *b, int ldb, const __half_raw *beta, __half_raw *c,
                           int ldc);

static void halves(cublasHandle_t handle)
{
    enum { ONE = 0x3c00, FOUR = 0x4400, K = 4, MANY = 2 * K };
    const __half_raw one_half = {ONE}, no_half = {0};
    __half_raw all[MANY], *far;
    bool right = true;

    for (int i = 0; i < MANY; i++)
        all[i].x = ONE;
    OK(cudaMalloc((void **)&far, 3 * sizeof(all)));
    OK(cudaMemcpy(far, all, sizeof(all), cudaMemcpyHostToDevice));
    OK(cublasHgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, K, &one_half, far, 2, far, K, &no_half,
                   far + MANY, 2));
    OK(cudaMemcpy(all, far + MANY, 4 * sizeof(all[0]), cudaMemcpyDeviceToHost));
    for (int i = 0; i < 4; i++)
        right = right && all[i].x == FOUR;
    CHECK(right);
    OK(cudaFree(far));
}

static void vectors(cublasHandle_t handle)
{
    const float turn[] = {-1, 0, 1, 1, 0}; /* changes x and y */
    float dot = 0, wanted = 0, *result;
    int64_t largest = 0;

    OK(cublasSetVector(CELLS, sizeof(*a), a, 1, there[0], 1));
    OK(cublasSetVector(CELLS, sizeof(*b), b, 1, there[1], 1));
    for (int i = 0; i < CELLS / 2; i++)
        wanted += a[2 * i] * b[i];
    OK(cublasSdot(handle, CELLS / 2, there[0], 2, there[1], 1, &dot));
    CHECK(fabsf(dot - wanted) < 1e-2f);
    OK(cudaMalloc((void **)&result, sizeof(*result)));
    OK(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_DEVICE));
    OK(cublasSdot(handle, CELLS / 2, there[0], 2, there[1], 1, result));
    OK(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_HOST));
    dot = 0;
    OK(cudaMemcpy(&dot, result, sizeof(dot), cudaMemcpyDeviceToHost));
    CHECK(fabsf(dot - wanted) < 1e-2f);
    OK(cublasIsamax_64(handle, CELLS, there[0], 1, &largest));
    CHECK(largest == 8); /* begin sets it */
    OK(cublasSrotm(handle, CELLS, there[0], 1, there[1], 1, turn));
    OK(cublasGetVector(CELLS, sizeof(*c), there[0], 1, c, 1));
    CHECK(memcmp(c, b, sizeof(c)) == 0);
    OK(cudaFree(result));
}

/* In its stream, in order with copies there; another one changes nothing of what was called. */
static void streams(cublasHandle_t handle)
{
    cudaStream_t first, second, got = NULL;
    float *pinned, *twice;

    OK(cudaMallocHost((void **)&pinned, 2 * sizeof(a)));
    OK(cudaMalloc((void **)&twice, sizeof(two)));
    OK(cudaMemcpy(twice, &two, sizeof(two), cudaMemcpyHostToDevice));
    OK(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    memcpy(pinned, a, sizeof(a));
    for (int i = 0; i < 20; i++) {
        const float factor = (float)(i + 1); /* no result of an earlier round counts */
        memset(want, 0, sizeof(want));
        OK(cudaMemset(there[0], 0, sizeof(a)));
        OK(cudaMemset(there[3], 0, sizeof(a)));
        OK(cublasSetMatrix(N, N, sizeof(*b), b, N, there[1], N));
        OK(cublasSetStream(handle, first));
        OK(cublasGetStream(handle, &got));
        CHECK(got == first);
        OK(cudaDeviceSynchronize());
        blas_far_copy(there[0], pinned, sizeof(a), first);
        OK(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, N, N, N, &factor, there[0], N, there[1], N,
                       &zero, there[2], N));
        OK(cublasSetStream(handle, second));
        OK(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_DEVICE));
        OK(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, N, N, N, twice, there[1], N, there[1], N,
                       twice, there[3], N));
        OK(cudaMemcpyAsync(pinned + CELLS, there[2], sizeof(c), cudaMemcpyDeviceToHost, first));
        OK(cudaStreamSynchronize(first));
        OK(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_HOST));
        multiply(factor, 0);
        CHECK(is_wanted(there[2]) && memcmp(pinned + CELLS, c, sizeof(c)) == 0);
        OK(cudaStreamSynchronize(second));
    }
    OK(cublasSetStream(handle, NULL));
    OK(cudaStreamDestroy(first));
    OK(cudaStreamDestroy(second));
    OK(cudaFree(twice));
    OK(cudaFreeHost(pinned));
}

static void solver(void)
{
    cusolverDnHandle_t handle;
    syevjInfo_t settings;
    float *work;
    int room = 0, info = 99, *there_info;

    OK(cusolverDnCreate(&handle));
    for (int j = 0; j < N; j++)
        for (int i = 0; i < N; i++)
            c[i + j * N] = i == j ? 4 : i - j == 1 || j - i == 1 ? 1 : 0;
    OK(cudaMalloc((void **)&there_info, sizeof(info)));
    OK(cudaMemcpy(there[0], c, sizeof(c), cudaMemcpyHostToDevice));
    OK(cusolverDnSpotrf_bufferSize(handle, CUBLAS_FILL_MODE_LOWER, N, there[0], N, &room));
    CHECK(room > 0);
    OK(cudaMalloc((void **)&work, (size_t)room * sizeof(*work)));
    OK(cusolverDnSpotrf(handle, CUBLAS_FILL_MODE_LOWER, N, there[0], N, work, room, there_info));
    OK(cudaMemcpy(&info, there_info, sizeof(info), cudaMemcpyDeviceToHost));
    OK(cudaMemcpy(c, there[0], sizeof(c), cudaMemcpyDeviceToHost));
    CHECK(info == 0 && fabsf(c[0] - 2) < 1e-5f && fabsf(c[1] - 0.5f) < 1e-5f &&
          fabsf(c[N + 1] - sqrtf(3.75f)) < 1e-5f);
    c[2 * N + 2] = -1;
    OK(cudaMemcpy(there[0], c, sizeof(c), cudaMemcpyHostToDevice));
    OK(cusolverDnSpotrf(handle, CUBLAS_FILL_MODE_LOWER, N, there[0], N, work, room, there_info));
    OK(cudaMemcpy(&info, there_info, sizeof(info), cudaMemcpyDeviceToHost));
    CHECK(info == 3);
    OK(cusolverDnCreateSyevjInfo(&settings));
    OK(cusolverDnXsyevjSetTolerance(settings, 1e-7));
    OK(cusolverDnSsyevj_bufferSize(handle, CUSOLVER_EIG_MODE_VECTOR, CUBLAS_FILL_MODE_LOWER, N,
                                   there[0], N, there[1], &room, settings));
    CHECK(room > 0);
    OK(cusolverDnDestroySyevjInfo(settings));
    OK(cudaFree(work));
    OK(cudaFree(there_info));
    OK(cusolverDnDestroy(handle));
}

/* Managed memory counts as the host's or the device's, as the pointer mode says. */
static void managed(cublasHandle_t handle)
{
    float *scalars, dot = 0;

    memset(want, 0, sizeof(want));
    OK(cublasSetMatrix(N, N, sizeof(*a), a, N, there[0], N));
    OK(cublasSetMatrix(N, N, sizeof(*b), b, N, there[1], N));
    OK(cublasSdot(handle, N, there[0], 1, there[1], 1, &dot));
    OK(cudaMallocManaged((void **)&scalars, 3 * sizeof(*scalars), cudaMemAttachGlobal));
    for (int mode = 0; mode < 2; mode++) {
        scalars[0] = (float)mode + 2;
        scalars[1] = 0;
        OK(cublasSetPointerMode(handle, (cublasPointerMode_t)mode));
        OK(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, N, N, N, scalars, there[0], N, there[1], N,
                       scalars + 1, there[2], N));
        multiply((float)mode + 2, 0);
        CHECK(is_wanted(there[2]));
        OK(cublasSdot(handle, N, there[0], 1, there[1], 1, scalars + 2));
        OK(cudaDeviceSynchronize());
        CHECK(fabsf(scalars[2] - dot) < 1e-4f);
    }
    OK(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_HOST));
    OK(cudaFree(scalars));
}

/* An error comes at once, or with the next call that is answered; a program goes on. */
static void mistakes(cublasHandle_t handle, bool fake)
{
    cublasHandle_t other;
    float dot = 0;

    COMES(CUBLAS_STATUS_INVALID_VALUE,
          cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, -1, N, N, &one, there[0], N, there[1], N,
                      &zero, there[2], N),
          cublasSdot(handle, N, there[0], 1, there[1], 1, &dot));
    OK(cublasSdot(handle, N, there[0], 1, there[1], 1, &dot));
    CHECK(cublasSdot(NULL, N, there[0], 1, there[1], 1, &dot) == CUBLAS_STATUS_NOT_INITIALIZED);
    CHECK(strcmp(cublasGetStatusName(CUBLAS_STATUS_INVALID_VALUE), "CUBLAS_STATUS_INVALID_VALUE") ==
          0);
    if (!fake)
        return;
    COMES(CUBLAS_STATUS_NOT_SUPPORTED,
          cublasGemmEx(handle, 0, 0, N, N, N, &one, there[0], CUDA_R_32F, N, there[1], CUDA_R_32F,
                       N, &zero, there[2], CUDA_R_32F, N, CUBLAS_COMPUTE_32F, 7),
          cublasSdot(handle, N, there[0], 1, there[1], 1, &dot));
    CHECK(cublasScalEx(handle, N, &one, CUDA_R_4I, there[0], CUDA_R_32F, 1, CUDA_R_32F) ==
          CUBLAS_STATUS_INVALID_VALUE); /* a factor of no bytes */
    CHECK(cublasSdot(handle, N, a, 1, there[1], 1, &dot) == CUBLAS_STATUS_INVALID_VALUE);
    CHECK(cublasSdot(handle, N, there[0] + (64 << 20), 1, there[1], 1, &dot) ==
          CUBLAS_STATUS_INVALID_VALUE);
    OK(cublasSdot(handle, N, there[0], 1, there[1], 1, &dot));
    OK(cublasCreate(&other));
    OK(cublasDestroy(other));
    CHECK(cublasSdot(other, N, there[0], 1, there[1], 1, &dot) == CUBLAS_STATUS_NOT_INITIALIZED);
    CHECK(cublasDestroy(other) == CUBLAS_STATUS_NOT_INITIALIZED);
    CHECK(cublasUint8gemmBias(handle, 0, 0, 0, 1, 1, 1, NULL, 0, 1, NULL, 0, 1, NULL, 0, 1, 1, 1) ==
          CUBLAS_STATUS_NOT_SUPPORTED);
}

int blas_run(unsigned options)
{
    cublasHandle_t handle;
    int devices = 0, version = 0;

    for (int i = 0; i < CELLS; i++) {
        a[i] = (float)(i * 7 % 11) / 11 - 0.5f;
        b[i] = (float)(i * 5 % 13) / 13 - 0.5f;
    }
    a[7] = -3;
    OK(cudaGetDeviceCount(&devices));
    for (int d = 0; d < devices; d++) {
        OK(cudaSetDevice(d));
        OK(cublasCreate(&handle));
        OK(cublasGetVersion(handle, &version));
        CHECK(version >= 130000);
        for (int i = 0; i < 4; i++)
            OK(cudaMalloc((void **)&there[i], sizeof(a)));
        products(handle);
        halves(handle);
        vectors(handle);
        streams(handle);
        solver();
        mistakes(handle, (options & BLAS_FAKE) != 0);
        if ((options & BLAS_MANAGED) != 0)
            managed(handle);
        more_run(options);
        for (int i = 0; i < 4; i++)
            OK(cudaFree(there[i]));
        OK(cublasDestroy(handle));
    }
    printf("blas: %d devices, %d wrong\n", devices, wrong);
    return wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
