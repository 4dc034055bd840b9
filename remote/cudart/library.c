/* remote/cudart/library.c - what weft's stubs of CUDA's libraries (remote/library) call: they are
 * other shared objects, so these are shown. Any thread. */
#include "remote/cudart/library.h"

#include "remote/cudart/inside.h"

cudaError_t __cudaWeftLibrary(enum weft_row row, const struct weft_row_argument *arguments,
                              unsigned count, int *status)
{
    const struct weft_cuda_table *driver;
    const cudaError_t error = cudart_enter(&driver);

    if (error != cudaSuccess)
        return error;
    for (unsigned i = 0; i < count; i++)
        if (arguments[i].kind == WEFT_ROW_STREAM || arguments[i].kind == WEFT_ROW_SET_STREAM) {
            cudaStream_t *stream = (cudaStream_t *)(uintptr_t)arguments[i].value;
            *stream = ON(*stream); /* the stub's own parameter */
        }
    return (cudaError_t)client_library(row, arguments, count, status);
}

cudaError_t __cudaWeftRefuse(const char *function, const char *why, unsigned *said)
{
    return cudart_driver_done(weft_cuda_refuse(function, why, said));
}
