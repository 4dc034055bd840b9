/* remote/library/cublas.c - what cuBLAS copies, by the runtime. Any thread. */
#include <cublas_v2.h>

#include <stdbool.h>
#include <stdint.h>

static cublasStatus_t copied(cudaError_t error)
{
    return error == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_MAPPING_ERROR;
}

/* Columns of so many elements, from and to matrices with leading dimensions. */
static cublasStatus_t copy(int64_t rows, int64_t columns, int64_t each, const void *from,
                           int64_t lda, void *to, int64_t ldb, enum cudaMemcpyKind way, bool async,
                           cudaStream_t stream)
{
    const size_t size = (size_t)each, width = size * (size_t)rows;

    if (rows < 0 || columns < 0 || each <= 0 || lda <= 0 || ldb <= 0)
        return CUBLAS_STATUS_INVALID_VALUE;
    const size_t from_pitch = size * (size_t)lda, to_pitch = size * (size_t)ldb;
    return copied(
        async
            ? cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, width, (size_t)columns, way, stream)
            : cudaMemcpy2D(to, to_pitch, from, from_pitch, width, (size_t)columns, way));
}

/* A vector is a matrix of one row. */
#define COPIES(N, wide, name, way)                                                                 \
    cublasStatus_t cublas##name##Vector##wide(N n, N size, const void *from, N incx, void *to,     \
                                              N incy)                                              \
    {                                                                                              \
        return copy(1, n, size, from, incx, to, incy, way, false, NULL);                           \
    }                                                                                              \
    cublasStatus_t cublas##name##Matrix##wide(N rows, N columns, N size, const void *from, N lda,  \
                                              void *to, N ldb)                                     \
    {                                                                                              \
        return copy(rows, columns, size, from, lda, to, ldb, way, false, NULL);                    \
    }                                                                                              \
    cublasStatus_t cublas##name##VectorAsync##wide(N n, N size, const void *from, N incx,          \
                                                   void *to, N incy, cudaStream_t stream)          \
    {                                                                                              \
        return copy(1, n, size, from, incx, to, incy, way, true, stream);                          \
    }                                                                                              \
    cublasStatus_t cublas##name##MatrixAsync##wide(N rows, N columns, N size, const void *from,    \
                                                   N lda, void *to, N ldb, cudaStream_t stream)    \
    {                                                                                              \
        return copy(rows, columns, size, from, lda, to, ldb, way, true, stream);                   \
    }
COPIES(int, , Set, cudaMemcpyHostToDevice)
COPIES(int, , Get, cudaMemcpyDeviceToHost)
COPIES(int64_t, _64, Set, cudaMemcpyHostToDevice)
COPIES(int64_t, _64, Get, cudaMemcpyDeviceToHost)
