/* remote/cudart/device.c - devices, their properties, limits and peers. */
#include "remote/cudart/inside.h"

#include <stddef.h>
#include <string.h>

/* ---- choosing -------------------------------------------------------------------------------- */

cudaError_t cudaGetDeviceCount(int *count)
{
    if (count == NULL)
        return cudart_done(cudaErrorInvalidValue);
    *count = 0;
    FIND(driver);
    (void)driver;
    *count = cudart_devices();
    return *count > 0 ? cudaSuccess : cudart_done(cudaErrorNoDevice);
}

/* As cudaSetDevice: the context is made. */
cudaError_t cudaInitDevice(int device, unsigned device_flags, unsigned flags)
{
    CUcontext context;

    (void)device_flags;
    if (flags > cudaInitDeviceFlagsAreValid)
        return cudart_done(cudaErrorInvalidValue);
    FIND(driver);
    (void)driver;
    return cudart_done(cudart_context(device, &context));
}

cudaError_t cudaSetDevice(int device)
{
    FIND(driver);
    (void)driver;
    if (device < 0 || device >= cudart_devices())
        return cudart_done(cudaErrorInvalidDevice);
    cudart_thread()->device = device;
    ENTER(entered);
    (void)entered;
    return cudaSuccess;
}

cudaError_t cudaGetDevice(int *device)
{
    if (device == NULL)
        return cudart_done(cudaErrorInvalidValue);
    FIND(driver);
    (void)driver;
    *device = cudart_thread()->device;
    return cudaSuccess;
}

cudaError_t cudaSetValidDevices(int *list, int count)
{
    FIND(driver);
    (void)driver;
    for (int i = 0; i < count; i++)
        if (list[i] < 0 || list[i] >= cudart_devices())
            return cudart_done(cudaErrorInvalidDevice);
    return cudaSuccess;
}

cudaError_t cudaSetDeviceFlags(unsigned flags)
{
    FIND(driver);
    return cudart_driver_done(driver->context_flags(cudart_thread()->device, flags));
}

cudaError_t cudaGetDeviceFlags(unsigned *flags)
{
    int active;

    if (flags == NULL)
        return cudart_done(cudaErrorInvalidValue);
    FIND(driver);
    return cudart_driver_done(driver->context_state(cudart_thread()->device, flags, &active));
}

/* ---- properties ------------------------------------------------------------------------------ */

KNOW(cudaDeviceGetAttribute, (int *value, enum cudaDeviceAttr attribute, int device), value,
     device_attribute(value, (CUdevice_attribute)attribute, device))
#define WORD(field, attribute)                                                                     \
    {                                                                                              \
        offsetof(struct cudaDeviceProp, field), CU_DEVICE_ATTRIBUTE_##attribute, false             \
    }
#define WIDE(field, attribute)                                                                     \
    {                                                                                              \
        offsetof(struct cudaDeviceProp, field), CU_DEVICE_ATTRIBUTE_##attribute, true              \
    }
static const struct {
    size_t at;
    CUdevice_attribute attribute;
    bool wide; /* a size_t */
} properties[] = {WIDE(sharedMemPerBlock, MAX_SHARED_MEMORY_PER_BLOCK),
                  WORD(regsPerBlock, MAX_REGISTERS_PER_BLOCK),
                  WORD(warpSize, WARP_SIZE),
                  WIDE(memPitch, MAX_PITCH),
                  WORD(maxThreadsPerBlock, MAX_THREADS_PER_BLOCK),
                  WORD(maxThreadsDim[0], MAX_BLOCK_DIM_X),
                  WORD(maxThreadsDim[1], MAX_BLOCK_DIM_Y),
                  WORD(maxThreadsDim[2], MAX_BLOCK_DIM_Z),
                  WORD(maxGridSize[0], MAX_GRID_DIM_X),
                  WORD(maxGridSize[1], MAX_GRID_DIM_Y),
                  WORD(maxGridSize[2], MAX_GRID_DIM_Z),
                  WIDE(totalConstMem, TOTAL_CONSTANT_MEMORY),
                  WORD(major, COMPUTE_CAPABILITY_MAJOR),
                  WORD(minor, COMPUTE_CAPABILITY_MINOR),
                  WIDE(textureAlignment, TEXTURE_ALIGNMENT),
                  WIDE(texturePitchAlignment, TEXTURE_PITCH_ALIGNMENT),
                  WORD(multiProcessorCount, MULTIPROCESSOR_COUNT),
                  WORD(integrated, INTEGRATED),
                  WORD(canMapHostMemory, CAN_MAP_HOST_MEMORY),
                  WORD(maxTexture1D, MAXIMUM_TEXTURE1D_WIDTH),
                  WORD(maxTexture2D[0], MAXIMUM_TEXTURE2D_WIDTH),
                  WORD(maxTexture2D[1], MAXIMUM_TEXTURE2D_HEIGHT),
                  WORD(maxTexture3D[0], MAXIMUM_TEXTURE3D_WIDTH),
                  WORD(maxTexture3D[1], MAXIMUM_TEXTURE3D_HEIGHT),
                  WORD(maxTexture3D[2], MAXIMUM_TEXTURE3D_DEPTH),
                  WIDE(surfaceAlignment, SURFACE_ALIGNMENT),
                  WORD(concurrentKernels, CONCURRENT_KERNELS),
                  WORD(ECCEnabled, ECC_ENABLED),
                  WORD(pciBusID, PCI_BUS_ID),
                  WORD(pciDeviceID, PCI_DEVICE_ID),
                  WORD(pciDomainID, PCI_DOMAIN_ID),
                  WORD(tccDriver, TCC_DRIVER),
                  WORD(asyncEngineCount, ASYNC_ENGINE_COUNT),
                  WORD(unifiedAddressing, UNIFIED_ADDRESSING),
                  WORD(memoryBusWidth, GLOBAL_MEMORY_BUS_WIDTH),
                  WORD(l2CacheSize, L2_CACHE_SIZE),
                  WORD(persistingL2CacheMaxSize, MAX_PERSISTING_L2_CACHE_SIZE),
                  WORD(maxThreadsPerMultiProcessor, MAX_THREADS_PER_MULTIPROCESSOR),
                  WORD(streamPrioritiesSupported, STREAM_PRIORITIES_SUPPORTED),
                  WORD(globalL1CacheSupported, GLOBAL_L1_CACHE_SUPPORTED),
                  WORD(localL1CacheSupported, LOCAL_L1_CACHE_SUPPORTED),
                  WIDE(sharedMemPerMultiprocessor, MAX_SHARED_MEMORY_PER_MULTIPROCESSOR),
                  WORD(regsPerMultiprocessor, MAX_REGISTERS_PER_MULTIPROCESSOR),
                  WORD(managedMemory, MANAGED_MEMORY),
                  WORD(isMultiGpuBoard, MULTI_GPU_BOARD),
                  WORD(multiGpuBoardGroupID, MULTI_GPU_BOARD_GROUP_ID),
                  WORD(pageableMemoryAccess, PAGEABLE_MEMORY_ACCESS),
                  WORD(concurrentManagedAccess, CONCURRENT_MANAGED_ACCESS),
                  WORD(computePreemptionSupported, COMPUTE_PREEMPTION_SUPPORTED),
                  WORD(canUseHostPointerForRegisteredMem, CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM),
                  WORD(cooperativeLaunch, COOPERATIVE_LAUNCH),
                  WIDE(sharedMemPerBlockOptin, MAX_SHARED_MEMORY_PER_BLOCK_OPTIN),
                  WORD(maxBlocksPerMultiProcessor, MAX_BLOCKS_PER_MULTIPROCESSOR),
                  WIDE(reservedSharedMemPerBlock, RESERVED_SHARED_MEMORY_PER_BLOCK),
                  WORD(hostRegisterSupported, HOST_REGISTER_SUPPORTED),
                  WORD(memoryPoolsSupported, MEMORY_POOLS_SUPPORTED),
                  WORD(clusterLaunch, CLUSTER_LAUNCH)};
#undef WORD
#undef WIDE

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *result, int device)
{
    struct cudaDeviceProp p;

    if (result == NULL)
        return cudart_done(cudaErrorInvalidValue);
    FIND(driver);
    memset(&p, 0, sizeof(p));
    CUresult status = driver->device_name(p.name, sizeof(p.name), device);
    if (status == CUDA_SUCCESS)
        status = driver->device_uuid((CUuuid *)&p.uuid, device);
    if (status == CUDA_SUCCESS)
        status = driver->device_total(&p.totalGlobalMem, device);
    for (size_t i = 0; i < sizeof(properties) / sizeof(properties[0]); i++) {
        int value = 0;
        if (status == CUDA_SUCCESS)
            status = driver->device_attribute(&value, properties[i].attribute, device);
        if (properties[i].wide)
            *(size_t *)(void *)((char *)&p + properties[i].at) = (size_t)value;
        else
            *(int *)(void *)((char *)&p + properties[i].at) = value;
    }
    if (status == CUDA_SUCCESS)
        *result = p;
    return cudart_driver_done(status);
}

/* The device that has the most of what is asked for: at least that memory, or that capability. */
cudaError_t cudaChooseDevice(int *device, const struct cudaDeviceProp *wanted)
{
    if (device == NULL || wanted == NULL)
        return cudart_done(cudaErrorInvalidValue);
    FIND(driver);
    (void)driver;
    int best = 0, best_score = -1;
    for (int i = 0; i < cudart_devices(); i++) {
        struct cudaDeviceProp p = {0};
        const cudaError_t error = cudaGetDeviceProperties(&p, i);
        if (error != cudaSuccess)
            return error;
        const int score =
            (p.totalGlobalMem >= wanted->totalGlobalMem) +
            (p.major > wanted->major || (p.major == wanted->major && p.minor >= wanted->minor)) +
            (p.multiProcessorCount >= wanted->multiProcessorCount);
        if (score > best_score) {
            best = i;
            best_score = score;
        }
    }
    *device = best;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char *text, int bytes, int device)
{
    if (text == NULL || bytes < 1)
        return cudart_done(cudaErrorInvalidValue);
    FIND(driver);
    return cudart_driver_done(driver->device_pci(text, bytes, device));
}

cudaError_t cudaDeviceGetByPCIBusId(int *device, const char *text)
{
    if (device == NULL || text == NULL)
        return cudart_done(cudaErrorInvalidValue);
    FIND(driver);
    return cudart_driver_done(driver->device_by_pci(device, text));
}

/* ---- the current device ---------------------------------------------------------------------- */

FORWARD(cudaDeviceSynchronize, (void), context_synchronize())

cudaError_t cudaDeviceReset(void)
{
    struct cudart_thread *thread = cudart_thread();

    FIND(driver);
    const CUresult result = driver->context_reset(thread->device);
    cudart_forget_context(thread->device);
    thread->bound = 0;
    return cudart_driver_done(result);
}

FORWARD(cudaDeviceSetLimit, (enum cudaLimit limit, size_t value),
        context_set_limit((CUlimit)limit, value))
RESULT(cudaDeviceGetLimit, (size_t * value, enum cudaLimit limit), value,
       context_limit(value, (CUlimit)limit))
FORWARD(cudaDeviceSetCacheConfig, (enum cudaFuncCache config),
        context_set_cache((CUfunc_cache)config))

cudaError_t cudaDeviceGetCacheConfig(enum cudaFuncCache *config)
{
    if (config == NULL)
        return cudart_done(cudaErrorInvalidValue);
    ENTER(driver);
    CUfunc_cache value = CU_FUNC_CACHE_PREFER_NONE;
    const CUresult result = driver->context_cache(&value);
    *config = (enum cudaFuncCache)value;
    return cudart_driver_done(result);
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    int low = 0, high = 0;

    ENTER(driver);
    const CUresult result = driver->context_priorities(&low, &high);
    if (least != NULL)
        *least = low;
    if (greatest != NULL)
        *greatest = high;
    return cudart_driver_done(result);
}

/* ---- peers ----------------------------------------------------------------------------------- */

KNOW(cudaDeviceCanAccessPeer, (int *can, int device, int peer), can, peer_can(can, device, peer))
KNOW(cudaDeviceGetP2PAttribute, (int *value, enum cudaDeviceP2PAttr attribute, int from, int to),
     value, peer_attribute(value, (CUdevice_P2PAttribute)attribute, from, to))

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags)
{
    CUcontext context;

    ENTER(driver);
    const cudaError_t error = cudart_context(peer, &context);
    return error != cudaSuccess ? cudart_done(error)
                                : cudart_driver_done(driver->peer_enable(context, flags));
}

cudaError_t cudaDeviceDisablePeerAccess(int peer)
{
    CUcontext context;

    ENTER(driver);
    const cudaError_t error = cudart_context(peer, &context);
    return error != cudaSuccess ? cudart_done(error)
                                : cudart_driver_done(driver->peer_disable(context));
}
