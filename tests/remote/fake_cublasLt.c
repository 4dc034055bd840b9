/* fake_cublasLt.c - cuBLASLt in host memory, a few functions of it: its objects are structs of the
 * header. */
#include "fake_work.h"

#include <cublasLt.h>

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
