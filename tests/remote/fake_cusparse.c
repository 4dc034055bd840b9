/* fake_cusparse.c - cuSPARSE in host memory, a few functions of it. */
#define DISABLE_CUSPARSE_DEPRECATED
#include "fake_work.h"

#include <cusparse.h>

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
