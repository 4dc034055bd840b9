/* remote/library/cublasLt.c - libcublasLt.so.13: rows as functions, and texts. Any thread. */
#include "remote/rows/vendor.h"

/* Of a factor: a descriptor's number has the type in its upper half (WEFT_ROW_TYPE). */
#define LT_BYTES weft_bytes_of((cudaDataType)((uintptr_t)desc >> 32))
#define STATUS   cublasStatus_t
#define STATUSES "lists/cublas_statuses.def"
#define IS(name) CUBLAS_STATUS_##name
#include "remote/library/stub.h"

#include "remote/rows/cublasLt.def"

TEXT(cublasLtGetStatusName)
TEXT(cublasLtGetStatusString)
