/*
 * fake_more.c - cuFFT, cuRAND, cuSPARSE and cuBLASLt in host memory, a few functions of each, as a
 * session loads them.
 */
#define DISABLE_CUSPARSE_DEPRECATED
#include "fake_work.h"

#include <cublasLt.h>
#include <cufftXt.h>
#include <curand.h>
#include <cusparse.h>

#include <math.h>

/* ---- cuFFT: plans are numbers ---------------------------------------------------------------- */

enum { PLANS = 64, RANKS = 3 };

/* rows x columns, in so many batches. */
static struct plan {
    bool used;
    cufftType type;
    int rows, columns, batch, in_stride, in_batch, out_stride, out_batch;
    cudaStream_t stream;
} plans[PLANS];

static struct plan *plan_of(cufftHandle plan)
{
    return plan > 0 && plan < PLANS && plans[plan].used ? &plans[plan] : NULL;
}

cufftResult cufftCreate(cufftHandle *plan)
{
    for (*plan = 1; *plan < PLANS; ++*plan)
        if (!plans[*plan].used) {
            plans[*plan] = (struct plan){.used = true};
            return CUFFT_SUCCESS;
        }
    return CUFFT_ALLOC_FAILED;
}
cufftResult cufftDestroy(cufftHandle plan)
{
    if (plan_of(plan) == NULL)
        return CUFFT_INVALID_PLAN;
    plans[plan].used = false;
    return CUFFT_SUCCESS;
}
cufftResult cufftSetStream(cufftHandle plan, cudaStream_t stream)
{
    if (plan_of(plan) == NULL)
        return CUFFT_INVALID_PLAN;
    plans[plan].stream = stream;
    return CUFFT_SUCCESS;
}

static cufftResult make(cufftHandle plan, struct plan shape, size_t *bytes)
{
    if (plan_of(plan) == NULL || shape.rows < 1 || shape.columns < 1 || shape.batch < 1)
        return plan_of(plan) == NULL ? CUFFT_INVALID_PLAN : CUFFT_INVALID_SIZE;
    shape.used = true;
    shape.stream = plans[plan].stream;
    plans[plan] = shape;
    *bytes = (size_t)shape.rows * (size_t)shape.columns * sizeof(cufftComplex);
    return CUFFT_SUCCESS;
}
cufftResult cufftMakePlan1d(cufftHandle plan, int nx, cufftType type, int batch, size_t *bytes)
{
    return make(plan,
                (struct plan){.type = type,
                              .rows = 1,
                              .columns = nx,
                              .batch = batch,
                              .in_stride = 1,
                              .in_batch = nx,
                              .out_stride = 1,
                              .out_batch = type == CUFFT_R2C ? nx / 2 + 1 : nx},
                bytes);
}
cufftResult cufftPlan1d(cufftHandle *plan, int nx, cufftType type, int batch)
{
    size_t bytes;
    const cufftResult result = cufftCreate(plan);

    return result == CUFFT_SUCCESS ? cufftMakePlan1d(*plan, nx, type, batch, &bytes) : result;
}
cufftResult cufftPlan2d(cufftHandle *plan, int nx, int ny, cufftType type)
{
    size_t bytes;
    const cufftResult result = cufftCreate(plan);

    return result == CUFFT_SUCCESS ? make(*plan,
                                          (struct plan){.type = type,
                                                        .rows = nx,
                                                        .columns = ny,
                                                        .batch = 1,
                                                        .in_stride = 1,
                                                        .out_stride = 1},
                                          &bytes)
                                   : result;
}
cufftResult cufftPlanMany(cufftHandle *plan, int rank, int *n, int *in, int in_stride, int in_batch,
                          int *out, int out_stride, int out_batch, cufftType type, int batch)
{
    size_t bytes;
    const cufftResult result = cufftCreate(plan);

    if (result != CUFFT_SUCCESS || rank != 1 || in[0] != n[0] || out[0] != n[0])
        return result != CUFFT_SUCCESS ? result : CUFFT_NOT_SUPPORTED;
    return make(*plan,
                (struct plan){.type = type,
                              .rows = 1,
                              .columns = n[0],
                              .batch = batch,
                              .in_stride = in_stride,
                              .in_batch = in_batch,
                              .out_stride = out_stride,
                              .out_batch = out_batch},
                &bytes);
}

/* A user's limit is read. */
cufftResult cufftXtSetWorkAreaPolicy(cufftHandle plan, cufftXtWorkAreaPolicy policy, size_t *bytes)
{
    if (plan_of(plan) == NULL)
        return CUFFT_INVALID_PLAN;
    return policy == CUFFT_WORKAREA_USER && *bytes == 4096 ? CUFFT_SUCCESS : CUFFT_INVALID_VALUE;
}

struct transform {
    struct plan plan;
    const float *from;
    cufftComplex *to;
    int sign;
};

static void run_transform(const void *work)
{
    const struct transform *t = work;
    const struct plan *p = &t->plan;
    const int cells = p->rows * p->columns, out = p->type == CUFFT_R2C ? p->columns / 2 + 1 : cells;
    float *copy = malloc((size_t)cells * 2 * sizeof(*copy));

    for (int b = 0; b < p->batch; b++) {
        for (int i = 0; i < cells; i++) {
            const int at = b * p->in_batch + i * p->in_stride;
            copy[2 * i] = p->type == CUFFT_R2C ? t->from[at] : t->from[2 * at];
            copy[2 * i + 1] = p->type == CUFFT_R2C ? 0 : t->from[2 * at + 1];
        }
        for (int k = 0; k < out; k++) {
            double re = 0, im = 0;
            for (int i = 0; i < cells; i++) {
                const double turn = t->sign * 2 * M_PI *
                                    ((double)(i / p->columns) * (k / p->columns) / p->rows +
                                     (double)(i % p->columns) * (k % p->columns) / p->columns);
                re += copy[2 * i] * cos(turn) - copy[2 * i + 1] * sin(turn);
                im += copy[2 * i] * sin(turn) + copy[2 * i + 1] * cos(turn);
            }
            t->to[b * p->out_batch + k * p->out_stride] =
                (cufftComplex){.x = (float)re, .y = (float)im};
        }
    }
    free(copy);
}

static cufftResult transform(cufftHandle plan, cufftType type, struct transform t)
{
    if (plan_of(plan) == NULL)
        return CUFFT_INVALID_PLAN;
    if (plans[plan].type != type || t.from == NULL || t.to == NULL)
        return type != plans[plan].type ? CUFFT_INVALID_TYPE : CUFFT_INVALID_VALUE;
    t.plan = plans[plan];
    return fake_enqueue(t.plan.stream, run_transform, &t, sizeof(t)) ? CUFFT_SUCCESS
                                                                     : CUFFT_EXEC_FAILED;
}
cufftResult cufftExecC2C(cufftHandle plan, cufftComplex *from, cufftComplex *to, int direction)
{
    return transform(plan, CUFFT_C2C,
                     (struct transform){.from = &from->x, .to = to, .sign = direction});
}
cufftResult cufftExecR2C(cufftHandle plan, cufftReal *from, cufftComplex *to)
{
    return transform(plan, CUFFT_R2C, (struct transform){.from = from, .to = to, .sign = -1});
}

/* ---- cuRAND ---------------------------------------------------------------------------------- */

struct curandGenerator_st {
    uint64_t seed, offset;
    cudaStream_t stream;
};
struct draws {
    uint64_t seed, offset, count;
    unsigned *bits; /* one of these */
    float *numbers;
    float mean, deviation;
};

curandStatus_t curandCreateGenerator(curandGenerator_t *generator, curandRngType_t type)
{
    if (type != CURAND_RNG_PSEUDO_PHILOX4_32_10)
        return CURAND_STATUS_TYPE_ERROR;
    *generator = calloc(1, sizeof(**generator));
    return CURAND_STATUS_SUCCESS;
}
curandStatus_t curandDestroyGenerator(curandGenerator_t generator)
{
    free(generator);
    return CURAND_STATUS_SUCCESS;
}
curandStatus_t curandGetVersion(int *version)
{
    *version = 10400;
    return CURAND_STATUS_SUCCESS;
}
curandStatus_t curandSetStream(curandGenerator_t generator, cudaStream_t stream)
{
    generator->stream = stream;
    return CURAND_STATUS_SUCCESS;
}
curandStatus_t curandSetPseudoRandomGeneratorSeed(curandGenerator_t generator,
                                                  unsigned long long seed)
{
    generator->seed = seed;
    generator->offset = 0;
    return CURAND_STATUS_SUCCESS;
}
curandStatus_t curandSetGeneratorOffset(curandGenerator_t generator, unsigned long long offset)
{
    generator->offset = offset;
    return CURAND_STATUS_SUCCESS;
}

static uint64_t draw(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
}

static void run_draws(const void *work)
{
    const struct draws *d = work;

    for (uint64_t i = 0; i < d->count; i++) {
        const uint64_t bits = draw(d->seed * 0x9e3779b97f4a7c15 + (d->offset + i + 1) * 0x632be5ab);
        const double even = ((double)(bits >> 40) + 1) / (1 << 24),
                     other = (double)(bits & 0xffffff) / (1 << 24);
        if (d->bits != NULL)
            d->bits[i] = (unsigned)(bits >> 32);
        else if (d->deviation > 0)
            d->numbers[i] =
                d->mean + d->deviation * (float)(sqrt(-2 * log(even)) * cos(2 * M_PI * other));
        else
            d->numbers[i] = (float)even;
    }
}

static curandStatus_t generate(curandGenerator_t generator, struct draws draws)
{
    draws.seed = generator->seed;
    draws.offset = generator->offset;
    generator->offset += draws.count;
    return fake_enqueue(generator->stream, run_draws, &draws, sizeof(draws))
               ? CURAND_STATUS_SUCCESS
               : CURAND_STATUS_LAUNCH_FAILURE;
}
curandStatus_t curandGenerate(curandGenerator_t generator, unsigned *to, size_t n)
{
    return generate(generator, (struct draws){.bits = to, .count = n});
}
curandStatus_t curandGenerateUniform(curandGenerator_t generator, float *to, size_t n)
{
    return generate(generator, (struct draws){.numbers = to, .count = n});
}
curandStatus_t curandGenerateNormal(curandGenerator_t generator, float *to, size_t n, float mean,
                                    float deviation)
{
    if (n % 2 != 0)
        return CURAND_STATUS_LENGTH_NOT_MULTIPLE;
    return generate(
        generator, (struct draws){.numbers = to, .count = n, .mean = mean, .deviation = deviation});
}

/* ---- cuSPARSE -------------------------------------------------------------------------------- */

struct cusparseContext {
    cudaStream_t stream;
    cusparsePointerMode_t mode;
};
/* One for all descriptors. */
struct held {
    int64_t rows, columns, nnz, ld;
    const int *offsets, *at;
    float *values;
    cusparseFillMode_t fill;
};
#define HELD(x) ((struct held *)(uintptr_t)(x))

cusparseStatus_t cusparseCreate(cusparseHandle_t *handle)
{
    *handle = calloc(1, sizeof(**handle));
    return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseDestroy(cusparseHandle_t handle)
{
    free(handle);
    return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseSetStream(cusparseHandle_t handle, cudaStream_t stream)
{
    handle->stream = stream;
    return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseSetPointerMode(cusparseHandle_t handle, cusparsePointerMode_t mode)
{
    handle->mode = mode;
    return CUSPARSE_STATUS_SUCCESS;
}

static struct held *hold(struct held held)
{
    struct held *own = malloc(sizeof(*own));

    *own = held;
    return own;
}
cusparseStatus_t cusparseCreateCsr(cusparseSpMatDescr_t *a, int64_t rows, int64_t columns,
                                   int64_t nnz, void *offsets, void *at, void *values,
                                   cusparseIndexType_t offsets_type, cusparseIndexType_t at_type,
                                   cusparseIndexBase_t base, cudaDataType type)
{
    if (offsets_type != CUSPARSE_INDEX_32I || at_type != CUSPARSE_INDEX_32I ||
        base != CUSPARSE_INDEX_BASE_ZERO || type != CUDA_R_32F || rows < 0)
        return CUSPARSE_STATUS_INVALID_VALUE;
    *a = (cusparseSpMatDescr_t)hold((struct held){.rows = rows,
                                                  .columns = columns,
                                                  .nnz = nnz,
                                                  .offsets = offsets,
                                                  .at = at,
                                                  .values = values});
    return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseCreateDnVec(cusparseDnVecDescr_t *v, int64_t size, void *values,
                                     cudaDataType type)
{
    *v = (cusparseDnVecDescr_t)hold((struct held){.rows = size, .values = values});
    return type == CUDA_R_32F ? CUSPARSE_STATUS_SUCCESS : CUSPARSE_STATUS_NOT_SUPPORTED;
}
cusparseStatus_t cusparseCreateConstDnVec(cusparseConstDnVecDescr_t *v, int64_t size,
                                          const void *values, cudaDataType type)
{
    return cusparseCreateDnVec((cusparseDnVecDescr_t *)(void *)v, size, (void *)(uintptr_t)values,
                               type);
}
cusparseStatus_t cusparseCreateDnMat(cusparseDnMatDescr_t *a, int64_t rows, int64_t columns,
                                     int64_t ld, void *values, cudaDataType type,
                                     cusparseOrder_t order)
{
    *a = (cusparseDnMatDescr_t)hold(
        (struct held){.rows = rows, .columns = columns, .ld = ld, .values = values});
    return type == CUDA_R_32F && order == CUSPARSE_ORDER_COL ? CUSPARSE_STATUS_SUCCESS
                                                             : CUSPARSE_STATUS_NOT_SUPPORTED;
}
#define DESTROY(name, type)                                                                        \
    cusparseStatus_t name(type it)                                                                 \
    {                                                                                              \
        free(HELD(it));                                                                            \
        return CUSPARSE_STATUS_SUCCESS;                                                            \
    }
DESTROY(cusparseDestroySpMat, cusparseConstSpMatDescr_t)
DESTROY(cusparseDestroyDnVec, cusparseConstDnVecDescr_t)
DESTROY(cusparseDestroyDnMat, cusparseConstDnMatDescr_t)
DESTROY(cusparseSpGEMM_destroyDescr, cusparseSpGEMMDescr_t)

cusparseStatus_t cusparseSpMatGetSize(cusparseConstSpMatDescr_t a, int64_t *rows, int64_t *columns,
                                      int64_t *nnz)
{
    *rows = HELD(a)->rows;
    *columns = HELD(a)->columns;
    *nnz = HELD(a)->nnz;
    return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseCsrGet(cusparseSpMatDescr_t a, int64_t *rows, int64_t *columns,
                                int64_t *nnz, void **offsets, void **at, void **values,
                                cusparseIndexType_t *offsets_type, cusparseIndexType_t *at_type,
                                cusparseIndexBase_t *base, cudaDataType *type)
{
    cusparseSpMatGetSize(a, rows, columns, nnz);
    *offsets = (void *)(uintptr_t)HELD(a)->offsets;
    *at = (void *)(uintptr_t)HELD(a)->at;
    *values = HELD(a)->values;
    *offsets_type = *at_type = CUSPARSE_INDEX_32I;
    *base = CUSPARSE_INDEX_BASE_ZERO;
    *type = CUDA_R_32F;
    return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseSpMatSetAttribute(cusparseSpMatDescr_t a, cusparseSpMatAttribute_t which,
                                           void *value, size_t bytes)
{
    if (which != CUSPARSE_SPMAT_FILL_MODE || bytes != sizeof(HELD(a)->fill))
        return CUSPARSE_STATUS_INVALID_VALUE;
    memcpy(&HELD(a)->fill, value, bytes);
    return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseSpMatGetAttribute(cusparseConstSpMatDescr_t a,
                                           cusparseSpMatAttribute_t which, void *value,
                                           size_t bytes)
{
    if (which != CUSPARSE_SPMAT_FILL_MODE || bytes != sizeof(HELD(a)->fill))
        return CUSPARSE_STATUS_INVALID_VALUE;
    memcpy(value, &HELD(a)->fill, bytes);
    return CUSPARSE_STATUS_SUCCESS;
}

struct product {
    struct held a, b, c;
    const float *alpha, *beta; /* of the device; NULL: values */
    float values[2];
};

static void run_product(const void *work)
{
    const struct product *p = work;
    const float alpha = p->alpha != NULL ? *p->alpha : p->values[0],
                beta = p->beta != NULL ? *p->beta : p->values[1];

    for (int64_t j = 0; j < (p->b.columns > 0 ? p->b.columns : 1); j++)
        for (int64_t i = 0; i < p->a.rows; i++) {
            float sum = 0, *to = &p->c.values[i + j * p->c.ld];
            for (int k = p->a.offsets[i]; k < p->a.offsets[i + 1]; k++)
                sum += p->a.values[k] * p->b.values[p->a.at[k] + j * p->b.ld];
            *to = alpha * sum + beta * *to;
        }
}

static cusparseStatus_t multiply(cusparseHandle_t handle, struct product p, const float *alpha,
                                 const float *beta)
{
    if (p.a.columns != p.b.rows || on_device(alpha) != (handle->mode != CUSPARSE_POINTER_MODE_HOST))
        return CUSPARSE_STATUS_INVALID_VALUE;
    if (handle->mode == CUSPARSE_POINTER_MODE_DEVICE) {
        p.alpha = alpha;
        p.beta = beta;
    } else {
        p.values[0] = *alpha;
        p.values[1] = *beta;
    }
    return fake_enqueue(handle->stream, run_product, &p, sizeof(p))
               ? CUSPARSE_STATUS_SUCCESS
               : CUSPARSE_STATUS_EXECUTION_FAILED;
}
#define PRODUCT(name, B, C, how_type)                                                              \
    cusparseStatus_t cusparse##name##_bufferSize(                                                  \
        cusparseHandle_t handle, WAYS const void *alpha, cusparseConstSpMatDescr_t a, B b,         \
        const void *beta, C c, cudaDataType type, how_type how, size_t *bytes)                     \
    {                                                                                              \
        (void)handle, (void)alpha, (void)a, (void)b, (void)beta, (void)c, (void)how;               \
        if (on_device(bytes))                                                                      \
            return CUSPARSE_STATUS_INTERNAL_ERROR; /* the real one writes there as the host */     \
        *bytes = 64;                                                                               \
        return type == CUDA_R_32F ? CUSPARSE_STATUS_SUCCESS : CUSPARSE_STATUS_NOT_SUPPORTED;       \
    }                                                                                              \
    cusparseStatus_t cusparse##name(cusparseHandle_t handle, WAYS const void *alpha,               \
                                    cusparseConstSpMatDescr_t a, B b, const void *beta, C c,       \
                                    cudaDataType type, how_type how, void *buffer)                 \
    {                                                                                              \
        if (type != CUDA_R_32F || how != 0 || buffer == NULL)                                      \
            return CUSPARSE_STATUS_NOT_SUPPORTED;                                                  \
        return multiply(handle, (struct product){.a = *HELD(a), .b = *HELD(b), .c = *HELD(c)},     \
                        alpha, beta);                                                              \
    }
#define WAYS cusparseOperation_t a_way __attribute__((unused)),
PRODUCT(SpMV, cusparseConstDnVecDescr_t, cusparseDnVecDescr_t, cusparseSpMVAlg_t)
#undef WAYS
#define WAYS                                                                                       \
    cusparseOperation_t a_way __attribute__((unused)),                                             \
        cusparseOperation_t b_way __attribute__((unused)),
PRODUCT(SpMM, cusparseConstDnMatDescr_t, cusparseDnMatDescr_t, cusparseSpMMAlg_t)

cusparseStatus_t cusparseSpGEMM_createDescr(cusparseSpGEMMDescr_t *descr)
{
    *descr = (cusparseSpGEMMDescr_t)hold((struct held){0});
    return CUSPARSE_STATUS_SUCCESS;
}
/* Without a buffer it says how many bytes; with one it wants to read them. */
cusparseStatus_t cusparseSpGEMM_workEstimation(cusparseHandle_t handle, cusparseOperation_t a_way,
                                               cusparseOperation_t b_way, const void *alpha,
                                               cusparseConstSpMatDescr_t a,
                                               cusparseConstSpMatDescr_t b, const void *beta,
                                               cusparseSpMatDescr_t c, cudaDataType type,
                                               cusparseSpGEMMAlg_t how, cusparseSpGEMMDescr_t descr,
                                               size_t *bytes, void *buffer)
{
    (void)handle, (void)a_way, (void)b_way, (void)a, (void)b, (void)c, (void)type, (void)how;
    if (*(const float *)alpha != 1 || *(const float *)beta != 0 || descr == NULL ||
        (buffer != NULL && *bytes != 100))
        return CUSPARSE_STATUS_INVALID_VALUE;
    *bytes = buffer != NULL ? 101 : 100;
    return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseCreateCsrilu02Info(csrilu02Info_t *info)
{
    *info = (csrilu02Info_t)hold((struct held){0});
    return CUSPARSE_STATUS_SUCCESS;
}
DESTROY(cusparseDestroyCsrilu02Info, csrilu02Info_t)
cusparseStatus_t cusparseXcsrilu02_zeroPivot(cusparseHandle_t handle, csrilu02Info_t info,
                                             int *position)
{
    (void)handle, (void)info;
    *position = 7;
    return CUSPARSE_STATUS_ZERO_PIVOT;
}

/* ---- cuBLASLt: its objects are structs of the header ----------------------------------------- */

struct lt {
    uint64_t rows, columns, ld;     /* of a layout */
    const float *bias;              /* of a product */
    cublasLtEpilogue_t epilogue;    /* after it */
    cublasLtPointerMode_t pointers; /* of its factors */
    cudaDataType_t scale;           /* their type */
};
#define LT(x) ((struct lt *)(x))
_Static_assert(sizeof(struct lt) <= sizeof(cublasLtMatrixLayoutOpaque_t), "in its room");

#define LT_MAKE(name, type, ...)                                                                   \
    cublasStatus_t name##Create(type *made __VA_OPT__(, ) __VA_ARGS__)                             \
    {                                                                                              \
        *made = calloc(1, 256);                                                                    \
        return CUBLAS_STATUS_SUCCESS;                                                              \
    }                                                                                              \
    cublasStatus_t name##Destroy(type it)                                                          \
    {                                                                                              \
        free(it);                                                                                  \
        return CUBLAS_STATUS_SUCCESS;                                                              \
    }
LT_MAKE(cublasLt, cublasLtHandle_t)
LT_MAKE(cublasLtMatmulPreference, cublasLtMatmulPreference_t)

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *desc, cublasComputeType_t how,
                                        cudaDataType_t type)
{
    (void)how;
    *desc = calloc(1, 256);
    LT(*desc)->scale = type;
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t desc)
{
    free(desc);
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *layout, cudaDataType type,
                                          uint64_t rows, uint64_t columns, int64_t ld)
{
    if (type != CUDA_R_32F)
        return CUBLAS_STATUS_NOT_SUPPORTED;
    *layout = calloc(1, 256);
    *LT(*layout) = (struct lt){.rows = rows, .columns = columns, .ld = (uint64_t)ld};
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout)
{
    free(layout);
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t which,
                                                    const void *value, size_t bytes)
{
    (void)preference;
    return which == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES && bytes == sizeof(size_t) &&
                   *(const size_t *)value == 1 << 20
               ? CUBLAS_STATUS_SUCCESS
               : CUBLAS_STATUS_INVALID_VALUE;
}

static void *lt_field(cublasLtMatmulDesc_t desc, cublasLtMatmulDescAttributes_t which, size_t *size)
{
    struct lt *lt = LT(desc);

    *size = which == CUBLASLT_MATMUL_DESC_BIAS_POINTER ? sizeof(lt->bias) : sizeof(lt->epilogue);
    return which == CUBLASLT_MATMUL_DESC_BIAS_POINTER   ? (void *)&lt->bias
           : which == CUBLASLT_MATMUL_DESC_POINTER_MODE ? (void *)&lt->pointers
           : which == CUBLASLT_MATMUL_DESC_EPILOGUE     ? (void *)&lt->epilogue
                                                        : NULL;
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t desc,
                                              cublasLtMatmulDescAttributes_t which,
                                              const void *value, size_t bytes)
{
    size_t size;
    void *field = lt_field(desc, which, &size);

    if (field == NULL || bytes != size)
        return CUBLAS_STATUS_INVALID_VALUE;
    memcpy(field, value, size);
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescGetAttribute(cublasLtMatmulDesc_t desc,
                                              cublasLtMatmulDescAttributes_t which, void *value,
                                              size_t bytes, size_t *written)
{
    size_t size;
    void *field = lt_field(desc, which, &size);

    if (field == NULL || bytes < size || (uintptr_t)written % sizeof(*written) != 0)
        return CUBLAS_STATUS_INVALID_VALUE;
    memcpy(value, field, size);
    *written = size;
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
                                              cublasLtMatrixLayout_t at_a,
                                              cublasLtMatrixLayout_t at_b,
                                              cublasLtMatrixLayout_t at_c,
                                              cublasLtMatrixLayout_t at_d,
                                              cublasLtMatmulPreference_t preference, int most,
                                              cublasLtMatmulHeuristicResult_t found[], int *count)
{
    (void)handle, (void)desc, (void)at_a, (void)at_b, (void)at_c, (void)at_d, (void)preference;
    *count = most < 2 ? most : 2;
    for (int i = 0; i < *count; i++)
        found[i] = (cublasLtMatmulHeuristicResult_t){.algo.data[7] = (uint64_t)i + 77};
    return CUBLAS_STATUS_SUCCESS;
}

struct lt_product {
    struct lt desc, at_a, at_b, at_d;
    const float *a, *b, *alpha; /* alpha: of the device; NULL: values */
    float *d, values[2];
};

static void run_lt(const void *work)
{
    const struct lt_product *p = work;
    const float alpha = p->alpha != NULL ? *p->alpha : p->values[0];

    for (uint64_t j = 0; j < p->at_d.columns; j++)
        for (uint64_t i = 0; i < p->at_d.rows; i++) {
            float sum = 0, *to = &p->d[i + j * p->at_d.ld];
            for (uint64_t k = 0; k < p->at_a.columns; k++)
                sum += p->a[i + k * p->at_a.ld] * p->b[k + j * p->at_b.ld];
            *to = alpha * sum + (p->alpha != NULL ? 0 : p->values[1] * *to) +
                  (p->desc.epilogue == CUBLASLT_EPILOGUE_BIAS ? p->desc.bias[i] : 0);
        }
}
cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, const void *alpha,
                              const void *a, cublasLtMatrixLayout_t at_a, const void *b,
                              cublasLtMatrixLayout_t at_b, const void *beta, const void *c,
                              cublasLtMatrixLayout_t at_c, void *d, cublasLtMatrixLayout_t at_d,
                              const cublasLtMatmulAlgo_t *algorithm, void *work, size_t bytes,
                              cudaStream_t stream)
{
    struct lt_product p = {.desc = *LT(desc),
                           .at_a = *LT(at_a),
                           .at_b = *LT(at_b),
                           .at_d = *LT(at_d),
                           .a = a,
                           .b = b,
                           .d = d};

    if (handle == NULL || at_c != at_d || c != d || bytes != 64 || work == NULL ||
        (algorithm != NULL && algorithm->data[7] != 77) || p.at_a.columns != p.at_b.rows ||
        on_device(alpha) != (p.desc.pointers == CUBLASLT_POINTER_MODE_DEVICE))
        return CUBLAS_STATUS_INVALID_VALUE;
    if (on_device(alpha)) {
        p.alpha = alpha;
    } else {
        const bool wide = p.desc.scale == CUDA_R_64F;
        p.values[0] = wide ? (float)*(const double *)alpha : *(const float *)alpha;
        p.values[1] = wide ? (float)*(const double *)beta : *(const float *)beta;
    }
    return fake_enqueue(stream, run_lt, &p, sizeof(p)) ? CUBLAS_STATUS_SUCCESS
                                                       : CUBLAS_STATUS_EXECUTION_FAILED;
}
