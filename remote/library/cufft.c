/* remote/library/cufft.c - libcufft.so.12: rows as functions. Any thread. */
#include "remote/rows/vendor.h"

#define STATUS                 cufftResult
#define IS(name)               CUFFT_##name
#define CUFFT_NOT_INITIALIZED  CUFFT_INVALID_PLAN
#define CUFFT_EXECUTION_FAILED CUFFT_EXEC_FAILED
#include "remote/library/stub.h"

#include "remote/rows/cufft.def"
