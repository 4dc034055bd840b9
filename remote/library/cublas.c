/* remote/library/cublas.c - what cuBLAS copies, by the runtime. Any thread. */
#include <cublas_v2.h>

#include <stdbool.h>
#include <stdint.h>

/* Copies columns of so many elements, from and to matrices with leading dimensions. */
static cublasStatus_t copy(int64_t rows, int64_t columns, int64_t each, const void *from,
                           int64_t lda, void *to, int64_t ldb, enum cudaMemcpyKind way, bool async,
                           cudaStream_t stream)
{
    const size_t size = (size_t)each, width = size * (size_t)rows;

    if (rows < 0 || columns < 0 || each <= 0 || lda <= 0 || ldb <= 0)
        return CUBLAS_STATUS_INVALID_VALUE;
    const size_t from_pitch = size * (size_t)lda, to_pitch = size * (size_t)ldb;
    const cudaError_t error =
        async
            ? cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, width, (size_t)columns, way, stream)
            : cudaMemcpy2D(to, to_pitch, from, from_pitch, width, (size_t)columns, way);
    return error == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_MAPPING_ERROR;
}

#define COPY(name, parameters, rows, columns, size, lda, ldb, ...)                                 \
    cublasStatus_t cublas##name parameters                                                         \
    {                                                                                              \
        return copy(rows, columns, size, from, lda, to, ldb, __VA_ARGS__);                         \
    }
/* Defines a copy of a vector, which is a matrix of one row. */
#define VECTOR(N, name, way, async, stream, ...)                                                   \
    COPY(name, (N n, N size, const void *from, N incx, void *to, N incy __VA_ARGS__), 1, n, size,  \
         incx, incy, way, async, stream)
#define MATRIX(N, name, way, async, stream, ...)                                                   \
    COPY(name, (N rows, N columns, N size, const void *from, N lda, void *to, N ldb __VA_ARGS__),  \
         rows, columns, size, lda, ldb, way, async, stream)
#define COPIES(N, wide, name, way)                                                                 \
    VECTOR(N, name##Vector##wide, way, false, NULL)                                                \
    MATRIX(N, name##Matrix##wide, way, false, NULL)                                                \
    VECTOR(N, name##VectorAsync##wide, way, true, stream, , cudaStream_t stream)                   \
    MATRIX(N, name##MatrixAsync##wide, way, true, stream, , cudaStream_t stream)
COPIES(int, , Set, cudaMemcpyHostToDevice)
COPIES(int, , Get, cudaMemcpyDeviceToHost)
COPIES(int64_t, _64, Set, cudaMemcpyHostToDevice)
COPIES(int64_t, _64, Get, cudaMemcpyDeviceToHost)
