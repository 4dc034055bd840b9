/*
 * more.c - a program that uses cuFFT, cuRAND, cuSPARSE and cuBLASLt, each compared with a loop on
 * the host: plans and descriptors, numbers that lie on host and device, streams, mistakes.
 */
#define DISABLE_CUSPARSE_DEPRECATED
#include "blas.h"

#include <cublasLt.h>
#include <cublas_v2.h>
#include <cufftXt.h>
#include <curand.h>
#include <cusparse.h>

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 24, CELLS = N * N, DRAWS = 20000, NONZERO = 3 * N - 2 };

static cudaStream_t stream;
static float *there[3], *pinned;

/* Whether the library is there; `missing` is the status of one that is not. */
static bool begins(const char *library, int status, int missing)
{
    if (status == missing)
        printf("%s: not at the server\n", library);
    else
        OK(status);
    return status == 0;
}

/* ---- transforms ------------------------------------------------------------------------------ */

/* Of rows x columns numbers, both parts of each; the cell `to`. */
static bool is_transform(const float *from, int rows, int columns, int to, const float *got)
{
    double re = 0, im = 0;

    for (int i = 0; i < rows * columns; i++) {
        const double turn = -2 * M_PI *
                            ((double)(i / columns) * (to / columns) / rows +
                             (double)(i % columns) * (to % columns) / columns);
        re += from[2 * i] * cos(turn) - from[2 * i + 1] * sin(turn);
        im += from[2 * i] * sin(turn) + from[2 * i + 1] * cos(turn);
    }
    return fabs(re - got[0]) < 1e-3 && fabs(im - got[1]) < 1e-3;
}

static void forward(cufftHandle plan, const float *from, float *got)
{
    memcpy(pinned, from, 2 * CELLS * sizeof(float));
    OK(cudaMemset(there[0], 0, 2 * CELLS * sizeof(float)));
    OK(cudaDeviceSynchronize());
    blas_far_copy(there[0], pinned, 2 * CELLS * sizeof(float), stream);
    OK(cufftExecC2C(plan, (cufftComplex *)there[0], (cufftComplex *)there[1], CUFFT_FORWARD));
    OK(cudaMemcpyAsync(pinned, there[1], 2 * CELLS * sizeof(float), cudaMemcpyDeviceToHost,
                       stream));
    OK(cudaStreamSynchronize(stream));
    memcpy(got, pinned, 2 * CELLS * sizeof(float));
}

static void transforms(bool fake)
{
    static float from[2 * CELLS], got[2 * CELLS], line[2 * N];
    int n = N, apart = N, stale;
    cufftHandle plan, other;
    size_t bytes = 0;

    for (int i = 0; i < 2 * CELLS; i++)
        from[i] = (float)(i * 7 % 11) / 11 - 0.5f;
    if (!begins("cufft", cufftPlan1d(&plan, N, CUFFT_C2C, N), CUFFT_SETUP_FAILED))
        return;
    OK(cufftSetStream(plan, stream));
    forward(plan, from, got);
    for (int i = 0; i < CELLS; i++)
        CHECK(is_transform(from + 2 * N * (i / N), 1, N, i % N, got + 2 * i));
    OK(cufftDestroy(plan));
    OK(cufftPlan2d(&plan, N, N, CUFFT_C2C));
    OK(cufftSetStream(plan, stream));
    forward(plan, from, got);
    for (int i = 0; i < CELLS; i += 5)
        CHECK(is_transform(from, N, N, i, got + 2 * i));
    OK(cufftExecC2C(plan, (cufftComplex *)there[1], (cufftComplex *)there[1], CUFFT_INVERSE));
    OK(cudaStreamSynchronize(stream));
    OK(cudaMemcpy(got, there[1], sizeof(got), cudaMemcpyDeviceToHost));
    for (int i = 0; i < 2 * CELLS; i++)
        CHECK(fabsf(got[i] / CELLS - from[i]) < 1e-4f);

    OK(cufftPlanMany(&other, 1, &n, &apart, N, 1, &apart, N, 1, CUFFT_C2C, N)); /* columns */
    OK(cufftSetStream(other, stream));
    forward(other, from, got);
    for (int i = 0; i < N; i++) {
        line[2 * i] = from[2 * (i * N + 3)];
        line[2 * i + 1] = from[2 * (i * N + 3) + 1];
    }
    for (int i = 0; i < N; i++)
        CHECK(is_transform(line, 1, N, i, got + 2 * (i * N + 3)));
    OK(cufftDestroy(other));

    OK(cufftCreate(&other));
    OK(cufftMakePlan1d(other, N, CUFFT_R2C, 1, &bytes));
    CHECK(!fake || bytes == N * sizeof(cufftComplex));
    OK(cudaMemcpy(there[0], from, N * sizeof(float), cudaMemcpyHostToDevice));
    OK(cufftExecR2C(other, there[0], (cufftComplex *)there[1]));
    OK(cudaMemcpy(got, there[1], (N + 2) * sizeof(float), cudaMemcpyDeviceToHost));
    for (int i = 0; i < N; i++) {
        line[2 * i] = from[i];
        line[2 * i + 1] = 0;
    }
    for (int i = 0; i <= N / 2; i++)
        CHECK(is_transform(line, 1, N, i, got + 2 * i));

    stale = other;
    OK(cufftDestroy(other));
    CHECK(cufftDestroy(stale) == CUFFT_INVALID_PLAN);
    CHECK(cufftPlan1d(&other, -1, CUFFT_C2C, 1) == CUFFT_INVALID_SIZE);
    if (fake) {
        OK(cufftXtSetWorkAreaPolicy(plan, CUFFT_WORKAREA_USER, &(size_t){4096}));
        CHECK(cufftPlanMany(&other, -1, &n, NULL, 1, 1, NULL, 1, 1, CUFFT_C2C, 1) ==
              CUFFT_INVALID_VALUE);
        COMES(CUFFT_INVALID_VALUE,
              cufftExecC2C(plan, (cufftComplex *)from, (cufftComplex *)there[1], CUFFT_FORWARD),
              cufftMakePlan1d(plan, N, CUFFT_C2C, 1, &bytes));
    }
    OK(cufftDestroy(plan));
}

/* ---- random numbers -------------------------------------------------------------------------- */

static void draw(curandGenerator_t generator, float *got, uint64_t seed, uint64_t offset, int count)
{
    OK(curandSetPseudoRandomGeneratorSeed(generator, seed));
    OK(curandSetGeneratorOffset(generator, offset));
    OK(curandGenerateUniform(generator, there[2], (size_t)count));
    OK(cudaMemcpyAsync(pinned, there[2], (size_t)count * sizeof(float), cudaMemcpyDeviceToHost,
                       stream));
    OK(cudaStreamSynchronize(stream));
    memcpy(got, pinned, (size_t)count * sizeof(float));
}

static void randoms(bool fake)
{
    static float first[DRAWS], again[DRAWS];
    curandGenerator_t generator;
    double sum = 0, squares = 0;
    int version = 0;

    if (!begins("curand", curandCreateGenerator(&generator, CURAND_RNG_PSEUDO_PHILOX4_32_10),
                CURAND_STATUS_NOT_INITIALIZED))
        return;
    OK(curandGetVersion(&version));
    CHECK(version >= 10400);
    OK(curandSetStream(generator, stream));
    draw(generator, first, 5, 0, DRAWS);
    for (int i = 0; i < DRAWS; i++) {
        CHECK(first[i] > 0 && first[i] <= 1);
        sum += first[i];
    }
    CHECK(fabs(sum / DRAWS - 0.5) < 0.01);
    draw(generator, again, 5, 0, DRAWS);
    CHECK(memcmp(first, again, sizeof(first)) == 0);
    draw(generator, again, 5, 1000, 1000);
    CHECK((memcmp(first + 1000, again, 1000 * sizeof(*first)) == 0 || !fake) &&
          memcmp(first, again, 1000 * sizeof(*first)) != 0);
    draw(generator, again, 6, 0, DRAWS);
    CHECK(memcmp(first, again, sizeof(first)) != 0);
    OK(curandSetGeneratorOffset(generator, 0));
    OK(curandGenerateNormal(generator, there[2], DRAWS, 3, 2));
    OK(cudaStreamSynchronize(stream));
    OK(cudaMemcpy(first, there[2], sizeof(first), cudaMemcpyDeviceToHost));
    sum = 0;
    for (int i = 0; i < DRAWS; i++) {
        sum += first[i];
        squares += first[i] * first[i];
    }
    CHECK(fabs(sum / DRAWS - 3) < 0.1 && fabs(squares / DRAWS - 13) < 0.5);
    OK(curandDestroyGenerator(generator));
    CHECK(curandDestroyGenerator(generator) == CURAND_STATUS_NOT_INITIALIZED);
}

/* ---- sparse matrices ------------------------------------------------------------------------- */

/* 4 on the diagonal, -1 and row + 1 beside it. */
static void fill_sparse(int *offsets, int *at, float *values)
{
    int k = 0;

    for (int i = 0; i < N; i++) {
        offsets[i] = k;
        for (int j = i > 0 ? i - 1 : 0; j <= i + 1 && j < N; j++, k++) {
            at[k] = j;
            values[k] = j == i ? 4 : j < i ? -1 : (float)i + 1;
        }
    }
    offsets[N] = k;
}

static float sparse_row(int i, const float *x)
{
    return 4 * x[i] - (i > 0 ? x[i - 1] : 0) + (i + 1 < N ? (float)(i + 1) * x[i + 1] : 0);
}

struct sparse {
    cusparseHandle_t handle;
    cusparseSpMatDescr_t a;
    cusparseDnVecDescr_t y;
    cusparseConstDnVecDescr_t x;
    float *on_device;
    void *buffer;
};

/* beta * 0.5 is what y was. */
static void multiply(struct sparse *s, const float *alpha, const float *beta, float times)
{
    static float x[N], y[N];
    size_t bytes = 0;

    for (int i = 0; i < N; i++) {
        x[i] = (float)(i % 5) - 1.5f;
        y[i] = 0.5f;
    }
    OK(cudaMemcpy(there[1], y, sizeof(y), cudaMemcpyHostToDevice));
    memcpy(pinned, x, sizeof(x));
    OK(cudaMemset(there[0], 0, sizeof(x)));
    OK(cudaDeviceSynchronize());
    OK(cusparseSpMV_bufferSize(s->handle, CUSPARSE_OPERATION_NON_TRANSPOSE, alpha, s->a, s->x, beta,
                               s->y, CUDA_R_32F, CUSPARSE_SPMV_ALG_DEFAULT, &bytes));
    CHECK(bytes <= 1 << 20);
    blas_far_copy(there[0], pinned, sizeof(x), stream);
    OK(cusparseSpMV(s->handle, CUSPARSE_OPERATION_NON_TRANSPOSE, alpha, s->a, s->x, beta, s->y,
                    CUDA_R_32F, CUSPARSE_SPMV_ALG_DEFAULT, s->buffer));
    OK(cudaMemcpyAsync(pinned, there[1], sizeof(y), cudaMemcpyDeviceToHost, stream));
    OK(cudaStreamSynchronize(stream));
    for (int i = 0; i < N; i++)
        CHECK(fabsf(pinned[i] - (times * sparse_row(i, x) + 1.5f)) < 1e-3f);
}

static void multiply_dense(struct sparse *s)
{
    static float b[2 * N], got[2 * N];
    const float one = 1, zero = 0;
    cusparseDnMatDescr_t dense, result;
    size_t bytes = 0;

    for (int i = 0; i < 2 * N; i++)
        b[i] = (float)(i * 3 % 7) - 3;
    OK(cudaMemcpy(there[0], b, sizeof(b), cudaMemcpyHostToDevice));
    OK(cusparseCreateDnMat(&dense, N, 2, N, there[0], CUDA_R_32F, CUSPARSE_ORDER_COL));
    OK(cusparseCreateDnMat(&result, N, 2, N, there[1], CUDA_R_32F, CUSPARSE_ORDER_COL));
    OK(cusparseSpMM_bufferSize(s->handle, CUSPARSE_OPERATION_NON_TRANSPOSE,
                               CUSPARSE_OPERATION_NON_TRANSPOSE, &one, s->a, dense, &zero, result,
                               CUDA_R_32F, CUSPARSE_SPMM_ALG_DEFAULT, &bytes));
    CHECK(bytes <= 1 << 20);
    OK(cusparseSpMM(s->handle, CUSPARSE_OPERATION_NON_TRANSPOSE, CUSPARSE_OPERATION_NON_TRANSPOSE,
                    &one, s->a, dense, &zero, result, CUDA_R_32F, CUSPARSE_SPMM_ALG_DEFAULT,
                    s->buffer));
    OK(cudaStreamSynchronize(stream));
    OK(cudaMemcpy(got, there[1], sizeof(got), cudaMemcpyDeviceToHost));
    for (int i = 0; i < 2 * N; i++)
        CHECK(fabsf(got[i] - sparse_row(i % N, b + i / N * N)) < 1e-3f);
    OK(cusparseDestroyDnMat(dense));
    OK(cusparseDestroyDnMat(result));
}

/* What descriptors say; an argument that is read and written; a descriptor of the wrong kind. */
static void describe(struct sparse *s, bool fake)
{
    const cusparseFillMode_t upper = CUSPARSE_FILL_MODE_UPPER;
    cusparseFillMode_t fill = CUSPARSE_FILL_MODE_LOWER;
    int64_t rows = 0, columns = 0, nonzero = 0;
    const float one = 1, zero = 0;
    cusparseSpGEMMDescr_t product;
    csrilu02Info_t factors;
    size_t bytes = 0;
    int position = -1;

    OK(cusparseSpMatGetSize(s->a, &rows, &columns, &nonzero));
    CHECK(rows == N && columns == N && nonzero == NONZERO);
    OK(cusparseSpMatSetAttribute(s->a, CUSPARSE_SPMAT_FILL_MODE, (void *)(uintptr_t)&upper,
                                 sizeof(upper)));
    OK(cusparseSpMatGetAttribute(s->a, CUSPARSE_SPMAT_FILL_MODE, &fill, sizeof(fill)));
    CHECK(fill == upper);
    CHECK(strcmp(cusparseGetErrorName(CUSPARSE_STATUS_INVALID_VALUE),
                 "CUSPARSE_STATUS_INVALID_VALUE") == 0);
    if (!fake)
        return;
    OK(cusparseSpGEMM_createDescr(&product));
    for (int i = 0; i < 2; i++)
        OK(cusparseSpGEMM_workEstimation(s->handle, 0, 0, &one, s->a, s->a, &zero, s->a, CUDA_R_32F,
                                         0, product, &bytes, i == 0 ? NULL : s->buffer));
    CHECK(bytes == 101);
    OK(cusparseSpGEMM_destroyDescr(product));
    OK(cusparseCreateCsrilu02Info(&factors)); /* a status, and what it is about */
    CHECK(cusparseXcsrilu02_zeroPivot(s->handle, factors, &position) == CUSPARSE_STATUS_ZERO_PIVOT);
    CHECK(position == 7);
    OK(cusparseDestroyCsrilu02Info(factors));
    CHECK(cusparseDestroySpMat((cusparseConstSpMatDescr_t)s->x) == CUSPARSE_STATUS_INVALID_VALUE);
    CHECK(cusparseDestroyDnVec((cusparseConstDnVecDescr_t)(uintptr_t)12345) ==
          CUSPARSE_STATUS_NOT_INITIALIZED);
    CHECK(cusparseCreateCsr(&s->a, -1, N, 0, there[0], there[0], there[0], CUSPARSE_INDEX_32I,
                            CUSPARSE_INDEX_32I, 0, CUDA_R_32F) == CUSPARSE_STATUS_INVALID_VALUE);
    CHECK(cusparseCreateCsr(&s->a, N, N, 0, &bytes, there[0], there[0], CUSPARSE_INDEX_32I,
                            CUSPARSE_INDEX_32I, 0, CUDA_R_32F) == CUSPARSE_STATUS_INVALID_VALUE);
}

/* What is always the host's may be managed memory, whatever the pointer mode says. */
static void managed_size(struct sparse *s)
{
    size_t *bytes;

    OK(cudaMallocManaged((void **)&bytes, sizeof(*bytes), cudaMemAttachGlobal));
    *bytes = SIZE_MAX;
    OK(cusparseSpMV_bufferSize(s->handle, CUSPARSE_OPERATION_NON_TRANSPOSE, there[2], s->a, s->x,
                               there[2] + 1, s->y, CUDA_R_32F, CUSPARSE_SPMV_ALG_DEFAULT, bytes));
    CHECK(*bytes <= 1 << 20);
    OK(cudaFree(bytes));
}

static void matrices(unsigned options)
{
    int offsets[N + 1], at[NONZERO];
    float values[NONZERO];
    const float factors[] = {2, 3};
    struct sparse s;

    if (!begins("cusparse", cusparseCreate(&s.handle), CUSPARSE_STATUS_NOT_INITIALIZED))
        return;
    fill_sparse(offsets, at, values);
    OK(cudaMalloc((void **)&s.on_device, 3 * sizeof(at) + sizeof(offsets)));
    float *const there_values = s.on_device;
    int *const there_at = (int *)(there_values + NONZERO), *const there_offsets =
                                                               there_at + NONZERO;
    OK(cudaMalloc(&s.buffer, 1 << 20));
    OK(cudaMemcpy(there_values, values, sizeof(values), cudaMemcpyHostToDevice));
    OK(cudaMemcpy(there_at, at, sizeof(at), cudaMemcpyHostToDevice));
    OK(cudaMemcpy(there_offsets, offsets, sizeof(offsets), cudaMemcpyHostToDevice));
    OK(cusparseCreateCsr(&s.a, N, N, NONZERO, there_offsets, there_at, there_values,
                         CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO,
                         CUDA_R_32F));
    OK(cusparseCreateConstDnVec(&s.x, N, there[0], CUDA_R_32F));
    OK(cusparseCreateDnVec(&s.y, N, there[1], CUDA_R_32F));
    OK(cusparseSetStream(s.handle, stream));
    multiply(&s, &factors[0], &factors[1], 2);
    OK(cudaMemcpy(there[2], factors, sizeof(factors), cudaMemcpyHostToDevice));
    OK(cusparseSetPointerMode(s.handle, CUSPARSE_POINTER_MODE_DEVICE));
    multiply(&s, there[2], there[2] + 1, 2);
    if ((options & BLAS_MANAGED) != 0)
        managed_size(&s);
    OK(cusparseSetPointerMode(s.handle, CUSPARSE_POINTER_MODE_HOST));
    multiply_dense(&s);
    describe(&s, (options & BLAS_FAKE) != 0);
    OK(cusparseDestroySpMat(s.a));
    OK(cusparseDestroyDnVec(s.x));
    OK(cusparseDestroyDnVec(s.y));
    OK(cusparseDestroy(s.handle));
    OK(cudaFree(s.on_device));
    OK(cudaFree(s.buffer));
}

/* ---- products with descriptors --------------------------------------------------------------- */

struct lt {
    cublasLtHandle_t handle;
    cublasLtMatmulDesc_t desc;
    cublasLtMatrixLayout_t layout;
    float *bias;
    void *work;
};

static void lt_multiply(struct lt *lt, const void *alpha, const void *beta, float times,
                        const cublasLtMatmulAlgo_t *algorithm)
{
    static float a[CELLS], b[CELLS], bias[N];

    for (int i = 0; i < CELLS; i++) {
        a[i] = (float)(i * 7 % 11) / 11 - 0.5f;
        b[i] = (float)(i * 5 % 13) / 13 - 0.5f;
    }
    for (int i = 0; i < N; i++)
        bias[i] = (float)i;
    OK(cudaMemcpy(lt->bias, bias, sizeof(bias), cudaMemcpyHostToDevice));
    OK(cudaMemcpy(there[1], b, sizeof(b), cudaMemcpyHostToDevice));
    OK(cudaMemset(there[0], 0, sizeof(a)));
    OK(cudaDeviceSynchronize());
    memcpy(pinned, a, sizeof(a));
    blas_far_copy(there[0], pinned, sizeof(a), stream);
    OK(cublasLtMatmul(lt->handle, lt->desc, alpha, there[0], lt->layout, there[1], lt->layout, beta,
                      there[2], lt->layout, there[2], lt->layout, algorithm, lt->work, 64, stream));
    OK(cudaMemcpyAsync(pinned, there[2], sizeof(a), cudaMemcpyDeviceToHost, stream));
    OK(cudaStreamSynchronize(stream));
    for (int i = 0; i < CELLS; i++) {
        float sum = 0;
        for (int k = 0; k < N; k++)
            sum += a[i % N + k * N] * b[k + i / N * N];
        CHECK(fabsf(pinned[i] - (times * sum + (float)(i % N))) < 1e-3f);
    }
}

static void set(struct lt *lt, cublasLtMatmulDescAttributes_t which, const void *value, size_t size)
{
    OK(cublasLtMatmulDescSetAttribute(lt->desc, which, value, size));
}

static void described(bool fake)
{
    const cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_BIAS;
    cublasLtEpilogue_t had = CUBLASLT_EPILOGUE_DEFAULT;
    const cublasLtPointerMode_t on_device = CUBLASLT_POINTER_MODE_DEVICE;
    const float two = 2, zero = 0, factors[] = {3, 0};
    const cudaDataType_t wide = CUDA_R_64F;
    cublasLtMatmulHeuristicResult_t found[4];
    cublasLtMatmulPreference_t preference;
    float *scalars, *bias = NULL;
    const size_t most = 1 << 20;
    size_t written = 0;
    cublasHandle_t blas;
    struct lt lt;
    int count = 0;

    if (!begins("cublasLt", cublasLtCreate(&lt.handle), CUBLAS_STATUS_NOT_INITIALIZED))
        return;
    const cublasLtHandle_t own = lt.handle;
    OK(cudaMalloc((void **)&lt.bias, N * sizeof(float)));
    OK(cudaMalloc(&lt.work, 64));
    OK(cudaMalloc((void **)&scalars, sizeof(factors)));
    OK(cudaMemcpy(scalars, factors, sizeof(factors), cudaMemcpyHostToDevice));
    OK(cudaMemset(there[2], 0, CELLS * sizeof(float)));
    OK(cublasLtMatmulDescCreate(&lt.desc, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    OK(cublasLtMatrixLayoutCreate(&lt.layout, CUDA_R_32F, N, N, N));
    set(&lt, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof(epilogue));
    set(&lt, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &lt.bias, sizeof(lt.bias));
    OK(cublasLtMatmulDescGetAttribute(lt.desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias,
                                      sizeof(bias), &written));
    CHECK(bias == lt.bias && written == sizeof(bias));
    OK(cublasLtMatmulDescGetAttribute(lt.desc, CUBLASLT_MATMUL_DESC_EPILOGUE, &had, sizeof(had),
                                      &written)); /* the second result is aligned, too */
    CHECK(had == epilogue && written == sizeof(had));
    CHECK(cublasLtMatmulDescSetAttribute(lt.desc, CUBLASLT_MATMUL_DESC_SCALE_TYPE, &wide,
                                         sizeof(wide)) == CUBLAS_STATUS_INVALID_VALUE);
    OK(cublasLtMatmulPreferenceCreate(&preference));
    OK(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                            fake ? &most : &(size_t){64}, sizeof(most)));
    OK(cublasLtMatmulAlgoGetHeuristic(lt.handle, lt.desc, lt.layout, lt.layout, lt.layout,
                                      lt.layout, preference, 4, found, &count));
    CHECK(count >= 1 && count <= 4);
    OK(cublasLtMatmulPreferenceDestroy(preference));
    lt_multiply(&lt, &two, &zero, 2, &found[0].algo);
    lt_multiply(&lt, &two, &zero, 2, NULL);
    set(&lt, CUBLASLT_MATMUL_DESC_POINTER_MODE, &on_device, sizeof(on_device));
    lt_multiply(&lt, scalars, scalars + 1, 3, fake ? &found[0].algo : NULL);
    CHECK(strcmp(cublasLtGetStatusName(CUBLAS_STATUS_INVALID_VALUE),
                 "CUBLAS_STATUS_INVALID_VALUE") == 0);
    if (fake)
        CHECK(cublasLtMatmulAlgoGetHeuristic(lt.handle, lt.desc, lt.layout, lt.layout, lt.layout,
                                             lt.layout, NULL, -1, found,
                                             &count) == CUBLAS_STATUS_INVALID_VALUE);
    OK(cublasCreate(&blas)); /* its handle is one of cuBLASLt, too */
    OK(cublasSetStream(blas, stream));
    OK(cudaMemset(there[2], 0, CELLS * sizeof(float)));
    lt.handle = (cublasLtHandle_t)blas;
    lt_multiply(&lt, scalars, scalars + 1, 3, NULL);
    lt.handle = own;
    OK(cublasDestroy(blas));
    OK(cublasLtMatmulDescDestroy(lt.desc));
    if (fake) { /* factors of another size */
        OK(cublasLtMatmulDescCreate(&lt.desc, CUBLAS_COMPUTE_32F, wide));
        set(&lt, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof(epilogue));
        set(&lt, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &lt.bias, sizeof(lt.bias));
        lt_multiply(&lt, &(const double){2.5}, &(const double){0}, 2.5f, NULL);
        OK(cublasLtMatmulDescDestroy(lt.desc));
    }
    OK(cublasLtMatrixLayoutDestroy(lt.layout));
    OK(cublasLtDestroy(lt.handle));
    OK(cudaFree(lt.bias));
    OK(cudaFree(lt.work));
    OK(cudaFree(scalars));
}

void more_run(unsigned options)
{
    const bool fake = (options & BLAS_FAKE) != 0;

    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cudaMallocHost((void **)&pinned, DRAWS * sizeof(float)));
    for (int i = 0; i < 3; i++)
        OK(cudaMalloc((void **)&there[i], DRAWS * sizeof(float)));
    transforms(fake);
    randoms(fake);
    matrices(options);
    described(fake);
    for (int i = 0; i < 3; i++)
        OK(cudaFree(there[i]));
    OK(cudaFreeHost(pinned));
    OK(cudaStreamDestroy(stream));
}
