/*
 * fake_blas.c - cuBLAS and cuSOLVER in host memory, a few functions of each, as a session loads
 * them: what it computes it computes in its handle's stream, as a function of the fake driver's.
 */
#include "fake_work.h"

#include <cublas_v2.h>
#include <cusolverDn.h>

#include <math.h>

struct cublasContext {
    cudaStream_t stream;
    cublasPointerMode_t mode;
};
struct cusolverDnContext {
    cudaStream_t stream;
};
struct syevjInfo {
    double tolerance;
};

/* ---- in a stream ----------------------------------------------------------------------------- */

struct work {
    void (*run)(const struct work *work);
    int64_t m, n, k, lda, ldb, ldc, batch;
    cublasOperation_t ta, tb;
    const float *a, *b, *alpha, *beta; /* alpha, beta: of the device; NULL: values */
    const float *const *as, *const *bs;
    float *const *cs;
    float *c, *d, values[5];
    int64_t *place;
    int *info;
};

static void run_work(const void *work)
{
    ((const struct work *)work)->run(work);
}

static int enqueue(cudaStream_t stream, struct work work)
{
    return fake_enqueue(stream, run_work, &work, sizeof(work)) ? 0 : CUBLAS_STATUS_EXECUTION_FAILED;
}

/* ---- handles --------------------------------------------------------------------------------- */

cublasStatus_t cublasCreate_v2(cublasHandle_t *handle)
{
    *handle = calloc(1, sizeof(**handle));
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasDestroy_v2(cublasHandle_t handle)
{
    free(handle);
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasGetVersion_v2(cublasHandle_t handle, int *version)
{
    *version = handle != NULL ? 130000 : 0;
    return handle != NULL ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_INITIALIZED;
}
cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream)
{
    handle->stream = stream;
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t mode)
{
    handle->mode = mode;
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasGetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t *mode)
{
    *mode = handle->mode;
    return CUBLAS_STATUS_SUCCESS;
}

/* ---- products -------------------------------------------------------------------------------- */

static void gemm(const struct work *w, const float *a, const float *b, float *c)
{
    const float alpha = w->alpha != NULL ? *w->alpha : w->values[0],
                beta = w->beta != NULL ? *w->beta : w->values[1];

    for (int64_t j = 0; j < w->n; j++)
        for (int64_t i = 0; i < w->m; i++) {
            float sum = 0;
            for (int64_t l = 0; l < w->k; l++)
                sum += (w->ta == CUBLAS_OP_N ? a[i + l * w->lda] : a[l + i * w->lda]) *
                       (w->tb == CUBLAS_OP_N ? b[l + j * w->ldb] : b[j + l * w->ldb]);
            c[i + j * w->ldc] = alpha * sum + beta * c[i + j * w->ldc];
        }
}

static void run_gemm(const struct work *w)
{
    for (int64_t i = 0; i < w->batch; i++)
        gemm(w, w->as[i], w->bs[i], w->cs[i]);
    if (w->batch == 0)
        gemm(w, w->a, w->b, w->c);
}

static cublasStatus_t product(cublasHandle_t handle, struct work work, const float *alpha,
                              const float *beta)
{
    work.run = run_gemm;
    if (alpha == NULL || beta == NULL || work.m < 0 || work.n < 0 || work.k < 0)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (on_device(alpha) != (handle->mode == CUBLAS_POINTER_MODE_DEVICE))
        return CUBLAS_STATUS_INVALID_VALUE;
    if (handle->mode == CUBLAS_POINTER_MODE_DEVICE) {
        work.alpha = alpha;
        work.beta = beta;
    } else {
        work.values[0] = *alpha;
        work.values[1] = *beta;
    }
    return enqueue(handle->stream, work);
}

#define GEMM(name, N)                                                                              \
    cublasStatus_t name(cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb, N m, N n,    \
                        N k, const float *alpha, const float *a, N lda, const float *b, N ldb,     \
                        const float *beta, float *c, N ldc)                                        \
    {                                                                                              \
        return product(h,                                                                          \
                       (struct work){.ta = ta,                                                     \
                                     .tb = tb,                                                     \
                                     .m = m,                                                       \
                                     .n = n,                                                       \
                                     .k = k,                                                       \
                                     .a = a,                                                       \
                                     .lda = lda,                                                   \
                                     .b = b,                                                       \
                                     .ldb = ldb,                                                   \
                                     .c = c,                                                       \
                                     .ldc = ldc},                                                  \
                       alpha, beta);                                                               \
    }
GEMM(cublasSgemm_v2, int)
GEMM(cublasSgemm_v2_64, int64_t)

cublasStatus_t cublasSgemmBatched(cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb,
                                  int m, int n, int k, const float *alpha, const float *const a[],
                                  int lda, const float *const b[], int ldb, const float *beta,
                                  float *const c[], int ldc, int batch)
{
    return product(h,
                   (struct work){.ta = ta,
                                 .tb = tb,
                                 .m = m,
                                 .n = n,
                                 .k = k,
                                 .as = a,
                                 .lda = lda,
                                 .bs = b,
                                 .ldb = ldb,
                                 .cs = c,
                                 .ldc = ldc,
                                 .batch = batch},
                   alpha, beta);
}

static float of_half(uint16_t half)
{
    return half == 0 ? 0 : ldexpf((float)(1024 + (half & 1023)), (half >> 10) - 25);
}
static uint16_t to_half(float value)
{
    int exponent = 0;
    const float part = frexpf(value, &exponent);

    return value == 0 ? 0 : (uint16_t)((exponent + 14) << 10 | (int)((part * 2 - 1) * 1024));
}

static void run_halves(const struct work *w)
{
    const __half_raw *a = (const void *)w->a, *b = (const void *)w->b;
    __half_raw *c = (void *)w->c;

    for (int64_t i = 0; i < w->m * w->n; i++) {
        float sum = w->values[1] * of_half(c[i].x);
        for (int64_t l = 0; l < w->k; l++)
            sum += w->values[0] * of_half(a[i % w->m + l * w->lda].x) *
                   of_half(b[l + i / w->m * w->ldb].x);
        c[i].x = to_half(sum);
    }
}

cublasStatus_t cublasHgemm(cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb, int m,
                           int n, int k, const __half_raw *alpha, const __half_raw *a, int lda,
                           const __half_raw *b, int ldb, const __half_raw *beta, __half_raw *c,
                           int ldc);
cublasStatus_t cublasHgemm(cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb, int m,
                           int n, int k, const __half_raw *alpha, const __half_raw *a, int lda,
                           const __half_raw *b, int ldb, const __half_raw *beta, __half_raw *c,
                           int ldc)
{
    if (ta != CUBLAS_OP_N || tb != CUBLAS_OP_N || ldc != m || on_device(alpha))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    return enqueue(h->stream, (struct work){.run = run_halves,
                                            .m = m,
                                            .n = n,
                                            .k = k,
                                            .a = (const void *)a,
                                            .lda = lda,
                                            .b = (const void *)b,
                                            .ldb = ldb,
                                            .c = (void *)c,
                                            .values = {of_half(alpha->x), of_half(beta->x)}});
}

cublasStatus_t cublasGemmEx(cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb, int m,
                            int n, int k, const void *alpha, const void *a, cudaDataType type_a,
                            int lda, const void *b, cudaDataType type_b, int ldb, const void *beta,
                            void *c, cudaDataType type_c, int ldc, cublasComputeType_t how,
                            cublasGemmAlgo_t algorithm)
{
    if (type_a != CUDA_R_32F || type_b != CUDA_R_32F || type_c != CUDA_R_32F ||
        how != CUBLAS_COMPUTE_32F || algorithm != CUBLAS_GEMM_DEFAULT)
        return CUBLAS_STATUS_NOT_SUPPORTED;
    return cublasSgemm_v2(h, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

/* ---- vectors --------------------------------------------------------------------------------- */

static void run_dot(const struct work *w)
{
    float sum = 0;

    for (int64_t i = 0; i < w->n; i++)
        sum += w->a[i * w->lda] * w->b[i * w->ldb];
    *w->c = sum;
}

static void run_largest(const struct work *w)
{
    int64_t best = 0;

    for (int64_t i = 1; i < w->n; i++)
        if (fabsf(w->a[i * w->lda]) > fabsf(w->a[best * w->lda]))
            best = i;
    *w->place = best + 1;
}

static cublasStatus_t reduce(cublasHandle_t handle, struct work work)
{
    if (handle->mode == CUBLAS_POINTER_MODE_DEVICE)
        return enqueue(handle->stream, work);
    fake_finish(handle->stream);
    work.run(&work);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSdot_v2(cublasHandle_t handle, int n, const float *x, int incx, const float *y,
                             int incy, float *result)
{
    return reduce(
        handle, (struct work){
                    .run = run_dot, .n = n, .a = x, .lda = incx, .b = y, .ldb = incy, .c = result});
}

cublasStatus_t cublasIsamax_v2_64(cublasHandle_t handle, int64_t n, const float *x, int64_t incx,
                                  int64_t *result)
{
    return reduce(handle,
                  (struct work){.run = run_largest, .n = n, .a = x, .lda = incx, .place = result});
}

static void run_rotm(const struct work *w)
{
    const float *p = w->values;

    for (int64_t i = 0; i < w->n; i++) {
        const float x = w->c[i], y = w->d[i];
        w->c[i] = p[1] * x + p[3] * y;
        w->d[i] = p[2] * x + p[4] * y;
    }
}

cublasStatus_t cublasSrotm_v2(cublasHandle_t handle, int n, float *x, int incx, float *y, int incy,
                              const float *param)
{
    struct work work = {.run = run_rotm, .n = n, .c = x, .d = y};

    if (param[0] != -1 || incx != 1 || incy != 1)
        return CUBLAS_STATUS_NOT_SUPPORTED;
    memcpy(work.values, param, sizeof(work.values));
    return enqueue(handle->stream, work);
}

/* ---- a solver -------------------------------------------------------------------------------- */

cusolverStatus_t cusolverDnCreate(cusolverDnHandle_t *handle)
{
    *handle = calloc(1, sizeof(**handle));
    return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t cusolverDnDestroy(cusolverDnHandle_t handle)
{
    free(handle);
    return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t cusolverDnSetStream(cusolverDnHandle_t handle, cudaStream_t stream)
{
    handle->stream = stream;
    return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverDnSpotrf_bufferSize(cusolverDnHandle_t handle, cublasFillMode_t uplo,
                                             int n, float *a, int lda, int *room)
{
    (void)handle, (void)uplo, (void)a, (void)lda;
    *room = n;
    return CUSOLVER_STATUS_SUCCESS;
}

/* Lower; info: which pivot is not positive. */
static void run_potrf(const struct work *w)
{
    float *a = w->c;

    *w->info = 0;
    for (int64_t j = 0; j < w->n && *w->info == 0; j++) {
        for (int64_t i = j; i < w->n; i++) {
            float sum = a[i + j * w->lda];
            for (int64_t k = 0; k < j; k++)
                sum -= a[i + k * w->lda] * a[j + k * w->lda];
            if (i == j && !(sum > 0))
                *w->info = (int)j + 1;
            a[i + j * w->lda] = i == j ? sqrtf(sum) : sum / a[j + j * w->lda];
        }
    }
}

cusolverStatus_t cusolverDnSpotrf(cusolverDnHandle_t handle, cublasFillMode_t uplo, int n, float *a,
                                  int lda, float *work, int room, int *info)
{
    if (work == NULL || room < n || uplo != CUBLAS_FILL_MODE_LOWER)
        return CUSOLVER_STATUS_INVALID_VALUE;
    return (cusolverStatus_t)enqueue(
        handle->stream, (struct work){.run = run_potrf, .n = n, .c = a, .lda = lda, .info = info});
}

cusolverStatus_t cusolverDnCreateSyevjInfo(syevjInfo_t *info)
{
    *info = calloc(1, sizeof(**info));
    return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t cusolverDnDestroySyevjInfo(syevjInfo_t info)
{
    free(info);
    return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t cusolverDnXsyevjSetTolerance(syevjInfo_t info, double tolerance)
{
    info->tolerance = tolerance;
    return CUSOLVER_STATUS_SUCCESS;
}

/* The room says what arrived of the other arguments. */
cusolverStatus_t cusolverDnSsyevj_bufferSize(cusolverDnHandle_t handle, cusolverEigMode_t jobz,
                                             cublasFillMode_t uplo, int n, const float *a, int lda,
                                             const float *w, int *room, syevjInfo_t info)
{
    (void)handle, (void)a, (void)w;
    *room = jobz == CUSOLVER_EIG_MODE_VECTOR && uplo == CUBLAS_FILL_MODE_LOWER && n == lda &&
                    info->tolerance == 1e-7
                ? n
                : -1;
    return CUSOLVER_STATUS_SUCCESS;
}
