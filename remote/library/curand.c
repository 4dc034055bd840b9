/* remote/library/curand.c - libcurand.so.10: rows as functions. Any thread. */
#include "remote/rows/vendor.h"

#define STATUS                         curandStatus_t
#define IS(name)                       CURAND_STATUS_##name
#define CURAND_STATUS_INVALID_VALUE    CURAND_STATUS_OUT_OF_RANGE
#define CURAND_STATUS_ALLOC_FAILED     CURAND_STATUS_ALLOCATION_FAILED
#define CURAND_STATUS_NOT_SUPPORTED    CURAND_STATUS_ARCH_MISMATCH
#define CURAND_STATUS_EXECUTION_FAILED CURAND_STATUS_LAUNCH_FAILURE
#include "remote/library/stub.h"

#include "remote/rows/curand.def"
