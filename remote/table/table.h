/*
 * remote/table/table.h - the documented functions of the CUDA driver that weft's runtime needs, as
 * a table. Three implementations: the driver itself (load.c), one for tests (tests/remote/fake),
 * and GPUs of other hosts (remote/client). Contracts are the driver's own.
 */
#ifndef WEFT_REMOTE_TABLE_TABLE_H
#define WEFT_REMOTE_TABLE_TABLE_H

#include "weft/types.h"

#include <cuda.h>

/* Field, function of cuda.h: what programs use. */
#define WEFT_TABLE_PROGRAM_MAP(X)                                                                  \
    /* devices */                                                                                  \
    X(init, cuInit)                                                                                \
    X(driver_version, cuDriverGetVersion)                                                          \
    X(device_count, cuDeviceGetCount)                                                              \
    X(device_name, cuDeviceGetName)                                                                \
    X(device_total, cuDeviceTotalMem)                                                              \
    X(device_attribute, cuDeviceGetAttribute)                                                      \
    X(device_uuid, cuDeviceGetUuid)                                                                \
    X(device_pci, cuDeviceGetPCIBusId)                                                             \
    X(device_by_pci, cuDeviceGetByPCIBusId)                                                        \
    X(peer_can, cuDeviceCanAccessPeer)                                                             \
    X(peer_attribute, cuDeviceGetP2PAttribute)                                                     \
    /* contexts */                                                                                 \
    X(context_retain, cuDevicePrimaryCtxRetain)                                                    \
    X(context_reset, cuDevicePrimaryCtxReset)                                                      \
    X(context_state, cuDevicePrimaryCtxGetState)                                                   \
    X(context_flags, cuDevicePrimaryCtxSetFlags)                                                   \
    X(context_use, cuCtxSetCurrent)                                                                \
    X(context_synchronize, cuCtxSynchronize)                                                       \
    X(context_set_limit, cuCtxSetLimit)                                                            \
    X(context_limit, cuCtxGetLimit)                                                                \
    X(context_priorities, cuCtxGetStreamPriorityRange)                                             \
    X(context_reset_persisting, cuCtxResetPersistingL2Cache)                                       \
    X(context_set_cache, cuCtxSetCacheConfig)                                                      \
    X(context_cache, cuCtxGetCacheConfig)                                                          \
    X(peer_enable, cuCtxEnablePeerAccess)                                                          \
    X(peer_disable, cuCtxDisablePeerAccess)                                                        \
    /* code */                                                                                     \
    X(library_load, cuLibraryLoadData)                                                             \
    X(library_kernel, cuLibraryGetKernel)                                                          \
    X(library_global, cuLibraryGetGlobal)                                                          \
    X(kernel_function, cuKernelGetFunction)                                                        \
    X(function_attribute, cuFuncGetAttribute)                                                      \
    X(function_set, cuFuncSetAttribute)                                                            \
    X(function_set_cache, cuFuncSetCacheConfig)                                                    \
    X(occupancy_blocks, cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags)                      \
    X(occupancy_shared, cuOccupancyAvailableDynamicSMemPerBlock)                                   \
    X(launch, cuLaunchKernelEx)                                                                    \
    X(launch_host, cuLaunchHostFunc)                                                               \
    /* memory */                                                                                   \
    X(alloc, cuMemAlloc)                                                                           \
    X(alloc_managed, cuMemAllocManaged)                                                            \
    X(free, cuMemFree)                                                                             \
    X(alloc_async, cuMemAllocAsync)                                                                \
    X(free_async, cuMemFreeAsync)                                                                  \
    X(mem_info, cuMemGetInfo)                                                                      \
    X(host_alloc, cuMemHostAlloc)                                                                  \
    X(host_free, cuMemFreeHost)                                                                    \
    X(host_register, cuMemHostRegister)                                                            \
    X(host_unregister, cuMemHostUnregister)                                                        \
    X(host_flags, cuMemHostGetFlags)                                                               \
    X(pointer_attributes, cuPointerGetAttributes)                                                  \
    X(fill8_rows, cuMemsetD2D8Async)                                                               \
    /* copies */                                                                                   \
    X(copy, cuMemcpy)                                                                              \
    X(copy_async, cuMemcpyAsync)                                                                   \
    X(copy_box, cuMemcpy3DAsync)                                                                   \
    /* arrays */                                                                                   \
    X(array_create, cuArray3DCreate)                                                               \
    X(array_destroy, cuArrayDestroy)                                                               \
    X(texture_create, cuTexObjectCreate)                                                           \
    X(texture_destroy, cuTexObjectDestroy)                                                         \
    X(surface_create, cuSurfObjectCreate)                                                          \
    X(surface_destroy, cuSurfObjectDestroy)                                                        \
    /* streams and events */                                                                       \
    X(stream_create, cuStreamCreateWithPriority)                                                   \
    X(stream_destroy, cuStreamDestroy)                                                             \
    X(stream_query, cuStreamQuery)                                                                 \
    X(stream_synchronize, cuStreamSynchronize)                                                     \
    X(stream_wait_event, cuStreamWaitEvent)                                                        \
    X(stream_flags, cuStreamGetFlags)                                                              \
    X(stream_priority, cuStreamGetPriority)                                                        \
    X(stream_id, cuStreamGetId)                                                                    \
    X(stream_attribute, cuStreamGetAttribute)                                                      \
    X(stream_set_attribute, cuStreamSetAttribute)                                                  \
    X(stream_copy_attributes, cuStreamCopyAttributes)                                              \
    X(event_create, cuEventCreate)                                                                 \
    X(event_destroy, cuEventDestroy)                                                               \
    X(event_record, cuEventRecord)                                                                 \
    X(event_query, cuEventQuery)                                                                   \
    X(event_synchronize, cuEventSynchronize)                                                       \
    X(event_elapsed, cuEventElapsedTime)

/* What sessions alone use, and a program's table of remote GPUs lacks. */
#define WEFT_TABLE_SESSION_MAP(X)                                                                  \
    X(library_unload, cuLibraryUnload)                                                             \
    X(kernel_parameter, cuKernelGetParamInfo)                                                      \
    X(fill8, cuMemsetD8Async)                                                                      \
    X(copy_peer, cuMemcpyPeerAsync)                                                                \
    X(granularity, cuMemGetAllocationGranularity)                                                  \
    X(mem_create, cuMemCreate)                                                                     \
    X(mem_release, cuMemRelease)                                                                   \
    X(mem_retain, cuMemRetainAllocationHandle)                                                     \
    X(mem_export, cuMemExportToShareableHandle)                                                    \
    X(mem_import, cuMemImportFromShareableHandle)                                                  \
    X(reserve, cuMemAddressReserve)                                                                \
    X(unreserve, cuMemAddressFree)                                                                 \
    X(map, cuMemMap)                                                                               \
    X(unmap, cuMemUnmap)                                                                           \
    X(set_access, cuMemSetAccess)

#define WEFT_TABLE_MAP(X)                                                                          \
    WEFT_TABLE_PROGRAM_MAP(X)                                                                      \
    WEFT_TABLE_SESSION_MAP(X)

struct weft_cuda_table {
#define WEFT_TABLE_FIELD(field, function) __typeof__(&(function)) field;
    WEFT_TABLE_MAP(WEFT_TABLE_FIELD)
#undef WEFT_TABLE_FIELD
};

/* Opens a driver, loads it once and initialises it: "cuda", this machine's, or a file that has its
 * functions. One a process, the first that is named. NULL: that is said. Any thread. */
const struct weft_cuda_table *weft_table_open(const char *name);

/* For tests: sets the driver of weft's runtime (remote/cudart) before its first call. */
void weft_cudart_use(const struct weft_cuda_table *table);

/* What an error of the driver's is called, and its text: "cudaErrorMemoryAllocation", "out of
 * memory". */
struct weft_cuda_error {
    int number;
    const char *name, *text;
};
/* Returns the error of a result. Never NULL. Needs no driver. */
const struct weft_cuda_error *weft_cuda_error(CUresult result);
/* Says once that something is refused, and under which heading of docs/remote.md it stands; returns
 * NOT_SUPPORTED. */
CUresult weft_cuda_refuse(const char *what, const char *heading, unsigned *said);
/* Says once for each place that something is refused, and is NOT_SUPPORTED. */
#define WEFT_CUDA_REFUSE(what, heading)                                                            \
    ({                                                                                             \
        static unsigned said_here;                                                                 \
        weft_cuda_refuse(what, heading, &said_here);                                               \
    })

#endif
