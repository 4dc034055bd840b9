/* remote/rows/vendor.h - the vendor's headers, as far as this build has them, and what rows ask of
 * their types. */
#ifndef WEFT_REMOTE_ROWS_VENDOR_H
#define WEFT_REMOTE_ROWS_VENDOR_H

#include <library_types.h>
#include <stdint.h>

/* Returns the bytes of a number of that type; 0: rows have none of it. */
static inline uint64_t weft_bytes_of(cudaDataType type)
{
    return type == CUDA_R_16F || type == CUDA_R_16BF  ? 2
           : type == CUDA_R_32F || type == CUDA_R_32I ? 4
           : type == CUDA_R_64F || type == CUDA_C_32F ? 8
           : type == CUDA_C_64F                       ? 16
                                                      : 0;
}

#if __has_include(<cublas_v2.h>)
#include <cublas_v2.h>

/* Returns the bytes of the factors of a product that is computed so, into numbers of that type. */
static inline uint64_t weft_scale_bytes(cublasComputeType_t how, cudaDataType type)
{
    const uint64_t parts = type == CUDA_C_32F || type == CUDA_C_64F ? 2 : 1;

    return how == CUBLAS_COMPUTE_16F || how == CUBLAS_COMPUTE_16F_PEDANTIC   ? 2
           : how == CUBLAS_COMPUTE_64F || how == CUBLAS_COMPUTE_64F_PEDANTIC ? 8 * parts
                                                                             : 4 * parts;
}

/* Declares products of halves, which the vendor's header declares for C++ alone. */
#define WEFT_HALVES(name, N, ...)                                                                  \
    cublasStatus_t name(cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb, N m,    \
                        N n, N k, const __half_raw *alpha, __VA_ARGS__);
#define WEFT_HALVES_MAP(N, end)                                                                    \
    WEFT_HALVES(cublasHgemm##end, N, const __half_raw *a, N lda, const __half_raw *b, N ldb,       \
                const __half_raw *beta, __half_raw *c, N ldc)                                      \
    WEFT_HALVES(cublasHgemmBatched##end, N, const __half_raw *const *a, N lda,                     \
                const __half_raw *const *b, N ldb, const __half_raw *beta, __half_raw *const *c,   \
                N ldc, N batch)                                                                    \
    WEFT_HALVES(cublasHgemmStridedBatched##end, N, const __half_raw *a, N lda, long long step_a,   \
                const __half_raw *b, N ldb, long long step_b, const __half_raw *beta,              \
                __half_raw *c, N ldc, long long step_c, N batch)
WEFT_HALVES_MAP(int, )
WEFT_HALVES_MAP(int64_t, _64)
#endif
#if __has_include(<cusolverDn.h>)
#include <cusolverDn.h>
#endif
#if __has_include(<cufftXt.h>)
#include <cufftXt.h>
#endif
#if __has_include(<curand.h>)
#include <curand.h>
#endif
#if __has_include(<cusparse.h>)
#define DISABLE_CUSPARSE_DEPRECATED
#include <cusparse.h>
#endif
#if __has_include(<cublasLt.h>)
#include <cublasLt.h>
#endif

#endif
