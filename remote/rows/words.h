/*
 * remote/rows/words.h - what rows are written in: arguments that many have. NUMBER is the type of
 * counts, HANDLE that of the library's handle, where a row is used.
 */
#ifndef WEFT_REMOTE_ROWS_WORDS_H
#define WEFT_REMOTE_ROWS_WORDS_H

/* clang-format off */
#define W_H            (OBJECT, HANDLE, handle)
#define W_N(x)         (IN, NUMBER, x)
#define W_VALUE(T, x)  (IN, T, x)
#define W_OF(T, x)     (DEVICE, const T *, x)        /* read */
#define W_TO(T, x)     (DEVICE, T *, x)              /* written */
#define W_LIST(T, x)   (DEVICE, const T *const *, x) /* of pointers to what is read */
#define W_INTO(T, x)   (DEVICE, T *const *, x)
#define W_SCALAR(T, x) (SCALAR, const T *, x, sizeof(T))
#define W_RESULT(T, x) (RESULT, T *, x, sizeof(T))
#define W_OUT(T, x)    (TAKE, T *, x, sizeof(T)) /* always the host's */
#define W_TYPE(x)      (IN, cudaDataType, x)
#define W_BYTES        W_OUT(size_t, bytes)
#define W_SET_STREAM   (SET_STREAM, cudaStream_t, stream)
#define W_GET_STREAM   (GET_STREAM, cudaStream_t *, stream)
#define W_OP(x)        (IN, cublasOperation_t, x)
#define W_UPLO         (IN, cublasFillMode_t, uplo)
#define W_SIDE         (IN, cublasSideMode_t, side)
#define W_DIAG         (IN, cublasDiagType_t, diag)
#define W_FOUR(row)    row(S, float) row(D, double) row(C, cuComplex) row(Z, cuDoubleComplex)
#define W_REAL(row)    row(S, float) row(D, double)
#define W_PAIRS(row)   row(C, cuComplex, float) row(Z, cuDoubleComplex, double)
#define W_LIFE(create, destroy, T, x) ROW(create, (NEW, T *, x, sizeof(T))) ROW(destroy, (DROP, T, x))
#define W_STREAMS(p, end) ROW(p##SetStream##end, W_H, W_SET_STREAM) ROW(p##GetStream##end, W_H, W_GET_STREAM)
/* clang-format on */

#endif
