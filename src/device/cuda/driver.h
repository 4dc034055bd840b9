/*
 * device/cuda/driver.h - the CUDA driver, found when a job is opened: a program that was built with
 * CUDA runs without a driver, too.
 */
#ifndef WEFT_DEVICE_CUDA_DRIVER_H
#define WEFT_DEVICE_CUDA_DRIVER_H

#include "weft/types.h"

#include <cuda.h>

/* Lists functions of the driver: X(field, function of cuda.h) */
#define WEFT_CUDA_MAP(X)                                                                           \
    X(get_error, cuGetErrorString)                                                                 \
    X(init, cuInit)                                                                                \
    X(driver_version, cuDriverGetVersion)                                                          \
    X(device_count, cuDeviceGetCount)                                                              \
    X(device_get, cuDeviceGet)                                                                     \
    X(device_name, cuDeviceGetName)                                                                \
    X(device_uuid, cuDeviceGetUuid)                                                                \
    X(device_attribute, cuDeviceGetAttribute)                                                      \
    X(peer_attribute, cuDeviceGetP2PAttribute)                                                     \
    X(context_retain, cuDevicePrimaryCtxRetain)                                                    \
    X(context_release, cuDevicePrimaryCtxRelease)                                                  \
    X(context_use, cuCtxSetCurrent)                                                                \
    X(function_attribute, cuFuncGetAttribute)                                                      \
    X(function_set, cuFuncSetAttribute)                                                            \
    X(occupancy, cuOccupancyMaxActiveBlocksPerMultiprocessor)                                      \
    X(launch, cuLaunchCooperativeKernel)                                                           \
    X(launch_plain, cuLaunchKernel)                                                                \
    X(module_load, cuModuleLoadData)                                                               \
    X(module_function, cuModuleGetFunction)                                                        \
    X(module_unload, cuModuleUnload)                                                               \
    X(stream_create, cuStreamCreateWithPriority)                                                   \
    X(stream_destroy, cuStreamDestroy)                                                             \
    X(stream_wait, cuStreamSynchronize)                                                            \
    X(stream_query, cuStreamQuery)                                                                 \
    X(stream_write, cuStreamWriteValue32)                                                          \
    X(stream_write_wide, cuStreamWriteValue64)                                                     \
    X(event_create, cuEventCreate)                                                                 \
    X(event_destroy, cuEventDestroy)                                                               \
    X(event_query, cuEventQuery)                                                                   \
    X(event_record, cuEventRecord)                                                                 \
    X(event_elapsed, cuEventElapsedTime)                                                           \
    X(granularity, cuMemGetAllocationGranularity)                                                  \
    X(mem_create, cuMemCreate)                                                                     \
    X(mem_release, cuMemRelease)                                                                   \
    X(mem_export, cuMemExportToShareableHandle)                                                    \
    X(mem_import, cuMemImportFromShareableHandle)                                                  \
    X(reserve, cuMemAddressReserve)                                                                \
    X(unreserve, cuMemAddressFree)                                                                 \
    X(map, cuMemMap)                                                                               \
    X(unmap, cuMemUnmap)                                                                           \
    X(set_access, cuMemSetAccess)                                                                  \
    X(alloc, cuMemAlloc)                                                                           \
    X(free, cuMemFree)                                                                             \
    X(ipc_get, cuIpcGetMemHandle)                                                                  \
    X(ipc_open, cuIpcOpenMemHandle)                                                                \
    X(ipc_close, cuIpcCloseMemHandle)                                                              \
    X(host_alloc, cuMemHostAlloc)                                                                  \
    X(host_free, cuMemFreeHost)                                                                    \
    X(host_register, cuMemHostRegister)                                                            \
    X(host_unregister, cuMemHostUnregister)                                                        \
    X(host_address, cuMemHostGetDevicePointer)                                                     \
    X(pointer_attribute, cuPointerGetAttribute)                                                    \
    X(pointer_attributes, cuPointerGetAttributes)                                                  \
    X(copy, cuMemcpy)                                                                              \
    X(copy_async, cuMemcpyAsync)                                                                   \
    X(copy_rows, cuMemcpy2DAsync)                                                                  \
    X(fill, cuMemsetD32Async)

/* Lists functions that an older driver may lack: NULL then. X(field, function of cuda.h) */
#define WEFT_CUDA_OPTIONAL_MAP(X)                                                                  \
    X(alloc_async, cuMemAllocAsync)                                                                \
    X(range_handle, cuMemGetHandleForAddressRange)                                                 \
    X(flush_writes, cuFlushGPUDirectRDMAWrites)

struct weft_cuda_driver {
#define WEFT_CUDA_FIELD(field, function) __typeof__(&(function)) field;
    WEFT_CUDA_MAP(WEFT_CUDA_FIELD)
    WEFT_CUDA_OPTIONAL_MAP(WEFT_CUDA_FIELD)
#undef WEFT_CUDA_FIELD
};

/* Returns the loaded and initialised driver; NULL, and why in *reason (in silence), if this machine
 * has no usable one. Any thread; it is loaded once. */
const struct weft_cuda_driver *weft_cuda_driver(const char **reason);

/* Returns an error of the driver in words; CUDA_SUCCESS: NULL. */
static inline const char *weft_cuda_why(const struct weft_cuda_driver *driver, CUresult result)
{
    const char *text = NULL;

    if (result != CUDA_SUCCESS && driver->get_error(result, &text) != CUDA_SUCCESS)
        text = "unknown error";
    return text;
}
/* Turns a result into a status with its text, "what: text". CUDA_SUCCESS: WEFT_OK. */
weft_status weft_cuda_error(CUresult result, const char *what);

#endif
