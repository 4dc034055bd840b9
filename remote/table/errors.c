/* remote/table/errors.c - names and texts of CUDA's errors, and refusals. Any thread. */
#include "base/say.h"
#include "remote/table/table.h"

#include <driver_types.h>

#define UNKNOWN "unrecognized error code"

/* Driver and runtime number them alike. A text that stands here goes before the words of the name,
 * which CMake takes from the vendor's header. */
static const struct weft_cuda_error errors[] = {
#define SAYS(name, text)                                                                           \
    {                                                                                              \
        name, #name, text                                                                          \
    }
    SAYS(cudaSuccess, "no error"),
    SAYS(cudaErrorInvalidValue, "invalid argument"),
    SAYS(cudaErrorMemoryAllocation, "out of memory"),
    SAYS(cudaErrorCudartUnloading, "driver shutting down"),
    SAYS(cudaErrorInvalidConfiguration, "invalid configuration argument"),
    SAYS(cudaErrorInvalidSymbol, "invalid device symbol"),
    SAYS(cudaErrorDevicesUnavailable, "the device or its server is not available"),
    SAYS(cudaErrorNoDevice, "no CUDA-capable device is detected"),
    SAYS(cudaErrorInvalidDevice, "invalid device ordinal"),
    SAYS(cudaErrorInvalidKernelImage, "device kernel image is invalid"),
    SAYS(cudaErrorDeviceUninitialized, "invalid device context"),
    SAYS(cudaErrorSymbolNotFound, "named symbol not found"),
    SAYS(cudaErrorNotReady, "device not ready"),
    SAYS(cudaErrorIllegalAddress, "an illegal memory access was encountered"),
    SAYS(cudaErrorLaunchOutOfResources, "too many resources requested for launch"),
    SAYS(cudaErrorLaunchTimeout, "the launch timed out and was terminated"),
    SAYS(cudaErrorLaunchFailure, "unspecified launch failure"),
    SAYS(cudaErrorNotPermitted, "operation not permitted"),
    SAYS(cudaErrorNotSupported, "operation not supported"),
    SAYS(cudaErrorStreamCaptureUnsupported, "operation not permitted while a stream is capturing"),
    SAYS(cudaErrorUnknown, "unknown error"),
#define WEFT_CUDA_ERROR(number, name, text) {number, #name, text},
#include "lists/errors.def"
};

const struct weft_cuda_error *weft_cuda_error(CUresult result)
{
    static const struct weft_cuda_error unknown = {0, UNKNOWN, UNKNOWN};

    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
        if (errors[i].number == (int)result)
            return &errors[i];
    return &unknown;
}

CUresult weft_cuda_refuse(const char *what, const char *heading, unsigned *said)
{
    if (__atomic_exchange_n(said, 1, __ATOMIC_RELAXED) == 0)
        weft_say(WEFT_SAY_ERROR, "%s is not supported on remote GPUs (docs/remote.md#%s)", what,
                 heading);
    return CUDA_ERROR_NOT_SUPPORTED;
}
