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
    SAYS(cudaErrorUnknown, "unknown error"),
    SAYS(cudaErrorInvalidPitchValue, "invalid pitch argument"),
    SAYS(cudaErrorInvalidMemcpyDirection, "invalid copy direction for memcpy"),
    SAYS(cudaErrorMissingConfiguration, "__global__ function call is not configured"),
    SAYS(cudaErrorNoKernelImageForDevice,
         "no kernel image is available for execution on the device"),
    SAYS(cudaErrorECCUncorrectable, "uncorrectable ECC error encountered"),
    SAYS(cudaErrorUnsupportedLimit, "limit is not supported on this architecture"),
    SAYS(cudaErrorPeerAccessUnsupported, "peer access is not supported between these two devices"),
    SAYS(cudaErrorInvalidPtx, "a PTX JIT compilation failed"),
    SAYS(cudaErrorNvlinkUncorrectable, "uncorrectable NVLink error detected during the execution"),
    SAYS(cudaErrorUnsupportedPtxVersion,
         "the provided PTX was compiled with an unsupported toolchain."),
    SAYS(cudaErrorOperatingSystem, "OS call failed or operation not supported on this OS"),
    SAYS(cudaErrorIllegalState, "the operation cannot be performed in the present state"),
    SAYS(cudaErrorPeerAccessAlreadyEnabled, "peer access is already enabled"),
    SAYS(cudaErrorPeerAccessNotEnabled, "peer access has not been enabled"),
    SAYS(cudaErrorSetOnActiveProcess, "cannot set while device is active in this process"),
    SAYS(cudaErrorAssert, "device-side assert triggered"),
    SAYS(cudaErrorHostMemoryAlreadyRegistered,
         "part or all of the requested memory range is already mapped"),
    SAYS(cudaErrorHostMemoryNotRegistered,
         "pointer does not correspond to a registered memory region"),
    SAYS(cudaErrorIllegalInstruction, "an illegal instruction was encountered"),
    SAYS(cudaErrorInvalidAddressSpace, "operation not supported on global/shared address space"),
    SAYS(cudaErrorInvalidPc, "invalid program counter"),
    SAYS(cudaErrorCooperativeLaunchTooLarge, "too many blocks in cooperative launch"),
    SAYS(cudaErrorInvalidClusterSize,
         "a kernel launch error has occurred due to cluster misconfiguration"),
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
