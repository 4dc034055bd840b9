/* more_sparse.c - cuSPARSE: matrices and vectors, products, what descriptors say. */
#define DISABLE_CUSPARSE_DEPRECATED
#include "more.h"

#include <cusparse.h>

#include <math.h>
#include <stdint.h>
#include <string.h>

enum { NONZERO = 3 * N - 2 };

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
    OK(cudaMemcpy(more.there[1], y, sizeof(y), cudaMemcpyHostToDevice));
    memcpy(more.pinned, x, sizeof(x));
    OK(cudaMemset(more.there[0], 0, sizeof(x)));
    OK(cudaDeviceSynchronize());
    OK(cusparseSpMV_bufferSize(s->handle, CUSPARSE_OPERATION_NON_TRANSPOSE, alpha, s->a, s->x, beta,
                               s->y, CUDA_R_32F, CUSPARSE_SPMV_ALG_DEFAULT, &bytes));
    CHECK(bytes <= 1 << 20);
    blas_far_copy(more.there[0], more.pinned, sizeof(x), more.stream);
    OK(cusparseSpMV(s->handle, CUSPARSE_OPERATION_NON_TRANSPOSE, alpha, s->a, s->x, beta, s->y,
                    CUDA_R_32F, CUSPARSE_SPMV_ALG_DEFAULT, s->buffer));
    OK(cudaMemcpyAsync(more.pinned, more.there[1], sizeof(y), cudaMemcpyDeviceToHost, more.stream));
    OK(cudaStreamSynchronize(more.stream));
    for (int i = 0; i < N; i++)
        CHECK(fabsf(more.pinned[i] - (times * sparse_row(i, x) + 1.5f)) < 1e-3f);
}

static void multiply_dense(struct sparse *s)
{
    static float b[2 * N], got[2 * N];
    const float one = 1, zero = 0;
    cusparseDnMatDescr_t dense, result;
    size_t bytes = 0;

    for (int i = 0; i < 2 * N; i++)
        b[i] = (float)(i * 3 % 7) - 3;
    OK(cudaMemcpy(more.there[0], b, sizeof(b), cudaMemcpyHostToDevice));
    OK(cusparseCreateDnMat(&dense, N, 2, N, more.there[0], CUDA_R_32F, CUSPARSE_ORDER_COL));
    OK(cusparseCreateDnMat(&result, N, 2, N, more.there[1], CUDA_R_32F, CUSPARSE_ORDER_COL));
    OK(cusparseSpMM_bufferSize(s->handle, CUSPARSE_OPERATION_NON_TRANSPOSE,
                               CUSPARSE_OPERATION_NON_TRANSPOSE, &one, s->a, dense, &zero, result,
                               CUDA_R_32F, CUSPARSE_SPMM_ALG_DEFAULT, &bytes));
    CHECK(bytes <= 1 << 20);
    OK(cusparseSpMM(s->handle, CUSPARSE_OPERATION_NON_TRANSPOSE, CUSPARSE_OPERATION_NON_TRANSPOSE,
                    &one, s->a, dense, &zero, result, CUDA_R_32F, CUSPARSE_SPMM_ALG_DEFAULT,
                    s->buffer));
    OK(cudaStreamSynchronize(more.stream));
    OK(cudaMemcpy(got, more.there[1], sizeof(got), cudaMemcpyDeviceToHost));
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
    CHECK(cusparseCreateCsr(&s->a, -1, N, 0, more.there[0], more.there[0], more.there[0],
                            CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, 0,
                            CUDA_R_32F) == CUSPARSE_STATUS_INVALID_VALUE);
    CHECK(cusparseCreateCsr(&s->a, N, N, 0, &bytes, more.there[0], more.there[0],
                            CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, 0,
                            CUDA_R_32F) == CUSPARSE_STATUS_INVALID_VALUE);
}

/* What is always the host's may be managed memory, whatever the pointer mode says. */
static void managed_size(struct sparse *s)
{
    size_t *bytes;

    OK(cudaMallocManaged((void **)&bytes, sizeof(*bytes), cudaMemAttachGlobal));
    *bytes = SIZE_MAX;
    OK(cusparseSpMV_bufferSize(s->handle, CUSPARSE_OPERATION_NON_TRANSPOSE, more.there[2], s->a,
                               s->x, more.there[2] + 1, s->y, CUDA_R_32F, CUSPARSE_SPMV_ALG_DEFAULT,
                               bytes));
    CHECK(*bytes <= 1 << 20);
    OK(cudaFree(bytes));
}

void more_sparse(unsigned options)
{
    int offsets[N + 1], at[NONZERO];
    float values[NONZERO];
    const float factors[] = {2, 3};
    struct sparse s;

    if (!more_begins("cusparse", cusparseCreate(&s.handle), CUSPARSE_STATUS_NOT_INITIALIZED))
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
    OK(cusparseCreateConstDnVec(&s.x, N, more.there[0], CUDA_R_32F));
    OK(cusparseCreateDnVec(&s.y, N, more.there[1], CUDA_R_32F));
    OK(cusparseSetStream(s.handle, more.stream));
    multiply(&s, &factors[0], &factors[1], 2);
    OK(cudaMemcpy(more.there[2], factors, sizeof(factors), cudaMemcpyHostToDevice));
    OK(cusparseSetPointerMode(s.handle, CUSPARSE_POINTER_MODE_DEVICE));
    multiply(&s, more.there[2], more.there[2] + 1, 2);
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
