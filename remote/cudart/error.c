/* remote/cudart/error.c - the last error, versions, and the texts of errors. Any thread; the last
 * error is the thread's. */
#include "remote/cudart/inside.h"

cudaError_t cudaGetLastError(void)
{
    const cudaError_t error = cudart_thread()->last;

    cudart_thread()->last = cudaSuccess;
    return error;
}

ALIAS(cudaPeekAtLastError, (void), cudart_thread()->last)

const char *cudaGetErrorName(cudaError_t error)
{
    return weft_cuda_error((CUresult)error)->name;
}

const char *cudaGetErrorString(cudaError_t error)
{
    return weft_cuda_error((CUresult)error)->text;
}

ALIAS(cudaRuntimeGetVersion, (int *version),
      version != NULL ? (*version = CUDART_VERSION, cudaSuccess)
                      : cudart_done(cudaErrorInvalidValue))

KNOW(cudaDriverGetVersion, (int *version), version, driver_version(version))

/* Do nothing, since no profiler is attached. */
ALIAS(cudaProfilerStart, (void), cudaSuccess)
ALIAS(cudaProfilerStop, (void), cudaSuccess)
