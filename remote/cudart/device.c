/* remote/cudart/device.c - devices, their properties, limits and peers. Any thread. */
#include "remote/cudart/inside.h"

#include <string.h>

/* ---- choosing -------------------------------------------------------------------------------- */

cudaError_t cudaGetDeviceCount(int *count)
{
    if (count == NULL)
        return cudart_done(cudaErrorInvalidValue);
    *count = 0;
    NEED(cudart_find);
    *count = cudart_devices();
    return *count > 0 ? cudaSuccess : cudart_done(cudaErrorNoDevice);
}

/* Makes the device's context, as cudaSetDevice does. */
CUDART_CALL(cudaInitDevice,
            (int device, unsigned device_flags __attribute__((unused)), unsigned flags),
            flags > cudaInitDeviceFlagsAreValid, FIND, CUcontext context, cudaSuccess,
            cudart_context(device, &context))

cudaError_t cudaSetDevice(int device)
{
    NEED(cudart_find);
    if (!cudart_is_device(device))
        return cudart_done(cudaErrorInvalidDevice);
    cudart_thread()->device = device;
    NEED(cudart_enter);
    return cudaSuccess;
}

CUDART_CALL(cudaGetDevice, (int *device), device == NULL, FIND, (void)0, cudaSuccess,
            (*device = cudart_thread()->device, cudaSuccess))

cudaError_t cudaSetValidDevices(int *list, int count)
{
    NEED(cudart_find);
    for (int i = 0; i < count; i++)
        if (!cudart_is_device(list[i]))
            return cudart_done(cudaErrorInvalidDevice);
    return cudaSuccess;
}

CUDART_PLAIN(cudaSetDeviceFlags, (unsigned flags), false, FIND,
             context_flags(cudart_thread()->device, flags))

KNOW(cudaGetDeviceFlags, (unsigned *flags), flags,
     context_state(cudart_thread()->device, flags, &(int){0}))

/* ---- properties ------------------------------------------------------------------------------ */

KNOW(cudaDeviceGetAttribute, (int *value, enum cudaDeviceAttr attribute, int device), value,
     device_attribute(value, (CUdevice_attribute)attribute, device))

/* Lists the properties. Most are the driver's by name: CMake lists them. */
static const struct cudart_field properties[] = {
#define X(field, attribute) CUDART_FIELD(struct cudaDeviceProp, field, attribute),
#define P(field, attribute) X(field, CU_DEVICE_ATTRIBUTE_##attribute)
    /* clang-format off */
    P(sharedMemPerBlock, MAX_SHARED_MEMORY_PER_BLOCK) P(regsPerBlock, MAX_REGISTERS_PER_BLOCK)
    P(memPitch, MAX_PITCH) P(maxThreadsDim, MAX_BLOCK_DIM_X) P(maxGridSize, MAX_GRID_DIM_X)
    P(totalConstMem, TOTAL_CONSTANT_MEMORY) P(major, COMPUTE_CAPABILITY_MAJOR)
    P(minor, COMPUTE_CAPABILITY_MINOR) P(memoryBusWidth, GLOBAL_MEMORY_BUS_WIDTH)
    P(multiProcessorCount, MULTIPROCESSOR_COUNT) P(isMultiGpuBoard, MULTI_GPU_BOARD)
    P(persistingL2CacheMaxSize, MAX_PERSISTING_L2_CACHE_SIZE)
    P(sharedMemPerMultiprocessor, MAX_SHARED_MEMORY_PER_MULTIPROCESSOR)
    P(regsPerMultiprocessor, MAX_REGISTERS_PER_MULTIPROCESSOR)
    P(sharedMemPerBlockOptin, MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)
    P(reservedSharedMemPerBlock, RESERVED_SHARED_MEMORY_PER_BLOCK)
    P(maxTexture1DMipmap, MAXIMUM_TEXTURE1D_MIPMAPPED_WIDTH)
    P(maxTexture2DMipmap, MAXIMUM_TEXTURE2D_MIPMAPPED_WIDTH)
    P(maxTexture3DAlt, MAXIMUM_TEXTURE3D_WIDTH_ALTERNATE)
    P(accessPolicyMaxWindowSize, MAX_ACCESS_POLICY_WINDOW_SIZE)
    P(hostRegisterReadOnlySupported, READ_ONLY_HOST_REGISTER_SUPPORTED)
    P(memoryPoolSupportedHandleTypes, MEMPOOL_SUPPORTED_HANDLE_TYPES)
    P(deviceNumaConfig, NUMA_CONFIG) P(deviceNumaId, NUMA_ID)
/* clang-format on */
#include "lists/properties.def"
#undef P
#undef X
};

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
    for (size_t i = 0; i < sizeof(properties) / sizeof(properties[0]); i++)
        for (int k = 0; k < properties[i].count && status == CUDA_SUCCESS; k++) {
            int value = 0;
            status = driver->device_attribute(
                &value, (CUdevice_attribute)(properties[i].attribute + k), device);
            status = cudart_set(&p, &properties[i], k, value, status);
        }
    if (status == CUDA_SUCCESS)
        *result = p;
    return cudart_driver_done(status);
}

/* Chooses the device that has the most of what is asked for: at least that memory, or that
 * capability. */
cudaError_t cudaChooseDevice(int *device, const struct cudaDeviceProp *wanted)
{
    if (device == NULL || wanted == NULL)
        return cudart_done(cudaErrorInvalidValue);
    NEED(cudart_find);
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

KNOW(cudaDeviceGetPCIBusId, (char *text, int bytes, int device), bytes < 1 ? NULL : text,
     device_pci(text, bytes, device))
KNOW(cudaDeviceGetByPCIBusId, (int *device, const char *text), device == NULL ? NULL : text,
     device_by_pci(device, text))

/* ---- the current device ---------------------------------------------------------------------- */

FORWARD(cudaDeviceSynchronize, (void), context_synchronize())

cudaError_t cudaDeviceReset(void)
{
    struct cudart_thread *thread = cudart_thread();

    FIND(driver);
    const CUresult result = driver->context_reset(thread->device);
    cudart_age(thread->device, 1);
    cudart_forget_kernels(thread->device);
    thread->bound = 0;
    return cudart_driver_done(result);
}

FORWARD(cudaDeviceSetLimit, (enum cudaLimit limit, size_t value),
        context_set_limit((CUlimit)limit, value))
RESULT(cudaDeviceGetLimit, (size_t * value, enum cudaLimit limit), value,
       context_limit(value, (CUlimit)limit))
FORWARD(cudaDeviceSetCacheConfig, (enum cudaFuncCache config),
        context_set_cache((CUfunc_cache)config))

RESULT(cudaDeviceGetCacheConfig, (enum cudaFuncCache * config), config,
       context_cache((CUfunc_cache *)config))
FORWARD(cudaCtxResetPersistingL2Cache, (void), context_reset_persisting())

/* Sets nothing: banks of shared memory have one width on all devices that CUDA 13 serves. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations" /* programs call them all the same */
FOUND(cudaDeviceSetSharedMemConfig, (enum cudaSharedMemConfig config), (unsigned)config > 2,
      (void)0, cudaSuccess, cudaSuccess)
FOUND(cudaDeviceGetSharedMemConfig, (enum cudaSharedMemConfig * config), config == NULL, (void)0,
      cudaSuccess, (*config = cudaSharedMemBankSizeFourByte, cudaSuccess))
FORWARD(cudaDeviceGetStreamPriorityRange, (int *least, int *greatest),
        context_priorities(least != NULL ? least : &(int){0},
                           greatest != NULL ? greatest : &(int){0}))

/* ---- peers ----------------------------------------------------------------------------------- */

KNOW(cudaDeviceCanAccessPeer, (int *can, int device, int peer), can, peer_can(can, device, peer))
KNOW(cudaDeviceGetP2PAttribute, (int *value, enum cudaDeviceP2PAttr attribute, int from, int to),
     value, peer_attribute(value, (CUdevice_P2PAttribute)attribute, from, to))

static cudaError_t set_peer(int peer, unsigned flags, bool on)
{
    CUcontext context;

    ENTER(driver);
    const cudaError_t error =
        peer == cudart_thread()->device ? cudaErrorInvalidDevice : cudart_context(peer, &context);
    if (error != cudaSuccess)
        return cudart_done(error);
    return cudart_driver_done(on ? driver->peer_enable(context, flags)
                                 : driver->peer_disable(context));
}

ALIAS(cudaDeviceEnablePeerAccess, (int peer, unsigned flags), set_peer(peer, flags, true))

ALIAS(cudaDeviceDisablePeerAccess, (int peer), set_peer(peer, 0, false))
