/* remote/cudart/library.c - what weft's stubs of CUDA's libraries (remote/library) call: they are
 * other shared objects, so these are shown. Any thread. */
#include "remote/cudart/library.h"

#include "remote/client/client.h"
#include "remote/cudart/inside.h"

/* Libraries are at servers alone: over a driver of this machine the vendor's own are to be used. */
static cudaError_t enter(const struct weft_cuda_table **driver)
{
    const cudaError_t error = cudart_enter(driver);

    return error == cudaSuccess && !weft_client_is(*driver) ? cudaErrorNotSupported : error;
}

cudaError_t __cudaWeftLibrary(enum weft_row row, const struct weft_row_argument *arguments,
                              unsigned count, int *status)
{
    const struct weft_cuda_table *driver;
    const cudaError_t error = enter(&driver);

    if (error != cudaSuccess)
        return error;
    for (unsigned i = 0; i < count; i++)
        if (arguments[i].kind == WEFT_ROW_STREAM) { /* the stub's own parameter */
            cudaStream_t *stream = (cudaStream_t *)(uintptr_t)arguments[i].value;
            *stream = ON(*stream);
        }
    return (cudaError_t)client_library(row, arguments, count, status);
}

cudaError_t __cudaWeftRefuse(const char *function, const char *why, unsigned *said)
{
    return cudart_driver_done(weft_cuda_refuse(function, why, said));
}

cudaError_t __cudaWeftStream(uint64_t object, cudaStream_t *stream, int set)
{
    const struct weft_cuda_table *driver;
    cudaError_t error = enter(&driver);

    if (error != cudaSuccess)
        return error;
    CUstream meant = set ? ON(*stream) : NULL;
    error = (cudaError_t)client_object_stream(object, &meant, set != 0);
    if (error == cudaSuccess && !set)
        *stream = meant;
    return error;
}
