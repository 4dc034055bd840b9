/* remote/cudart/launch.c - launches, attributes of kernels, occupancy. Any thread, which owns its
 * configurations. */
#include "remote/cudart/inside.h"

#include <string.h>

/* crt/host_runtime.h declares these for C++ alone. */
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared,
                                     struct CUstream_st *stream);
cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream);
cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *function);

/* ---- <<<>>> ---------------------------------------------------------------------------------- */

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared,
                                     struct CUstream_st *stream)
{
    struct cudart_thread *thread = cudart_thread();

    if (thread->configured == CUDART_CONFIGURATIONS)
        return 1;
    thread->configurations[thread->configured++] = (struct cudart_configuration){
        .grid = grid, .block = block, .shared = shared, .stream = stream};
    return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream)
{
    struct cudart_thread *thread = cudart_thread();

    if (thread->configured == 0)
        return cudart_done(cudaErrorMissingConfiguration);
    const struct cudart_configuration *c = &thread->configurations[--thread->configured];
    *grid = c->grid;
    *block = c->block;
    *shared = c->shared;
    memcpy(stream, &c->stream, sizeof(cudaStream_t));
    return cudaSuccess;
}

cudaError_t __cudaGetKernel(cudaKernel_t *handle, const void *function)
{
    struct cudart_symbol *kernel = cudart_kernel(function);

    if (kernel == NULL)
        return cudart_done(cudaErrorInvalidDeviceFunction);
    *handle = (cudaKernel_t)kernel;
    return cudaSuccess;
}

ALIAS(cudaGetKernel, (cudaKernel_t * handle, const void *function),
      __cudaGetKernel(handle, function))

/* ---- launches -------------------------------------------------------------------------------- */

/* Checks a launch: what no device takes is refused, so that cudaGetLastError tells at once. */
static cudaError_t check(const struct weft_cuda_table *driver, dim3 grid, dim3 block)
{
    static const CUdevice_attribute limits[] = {
        CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X,      CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y,
        CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z,      CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X,
        CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y,       CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z,
        CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK};
    const uint64_t sizes[] = {
        block.x, block.y, block.z, grid.x, grid.y, grid.z, (uint64_t)block.x * block.y * block.z};
    const int device = cudart_thread()->device;
    int most = 0;

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        const CUresult result = driver->device_attribute(&most, limits[i], device);
        if (result != CUDA_SUCCESS)
            return (cudaError_t)result;
        if (sizes[i] == 0 || sizes[i] > (uint64_t)most)
            return cudaErrorInvalidConfiguration;
    }
    return cudaSuccess;
}

static cudaError_t launch(struct cudart_symbol *kernel, dim3 grid, dim3 block, void **parameters,
                          size_t shared, cudaStream_t stream, bool cooperative)
{
    CUfunction function;

    ENTER(driver);
    cudaError_t error = kernel != NULL ? check(driver, grid, block) : cudaSuccess;
    if (error == cudaSuccess)
        error = cudart_function(driver, kernel, &function);
    if (error == cudaSuccess && shared > UINT32_MAX) /* the driver's number has 32 bits */
        error = cudaErrorInvalidValue;
    if (error != cudaSuccess)
        return cudart_done(error);
    CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE, .value.cooperative = 1};
    const CUlaunchConfig config = {grid.x,  grid.y,           grid.z,     block.x,    block.y,
                                   block.z, (unsigned)shared, ON(stream), &attribute, cooperative};
    return cudart_driver_done(driver->launch(&config, function, parameters, NULL));
}

/* Launches by a handle of __cudaGetKernel, which is known to be one. */
ALIAS(__cudaLaunchKernel,
      (cudaKernel_t kernel, dim3 grid, dim3 block, void **parameters, size_t shared,
       cudaStream_t stream),
      launch((struct cudart_symbol *)kernel, grid, block, parameters, shared, stream, false))

ALIAS(cudaLaunchKernel,
      (const void *function, dim3 grid, dim3 block, void **parameters, size_t shared,
       cudaStream_t stream),
      launch(cudart_kernel(function), grid, block, parameters, shared, stream, false))

ALIAS(cudaLaunchCooperativeKernel,
      (const void *function, dim3 grid, dim3 block, void **parameters, size_t shared,
       cudaStream_t stream),
      launch(cudart_kernel(function), grid, block, parameters, shared, stream, true))

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *function,
                                void **parameters)
{
    bool cooperative = false;

    if (config == NULL || (config->numAttrs != 0 && config->attrs == NULL))
        return cudart_done(cudaErrorInvalidValue);
    for (unsigned i = 0; i < config->numAttrs; i++) {
        const cudaLaunchAttribute *attribute = &config->attrs[i];
        if (attribute->id == cudaLaunchAttributeCooperative)
            cooperative = attribute->val.cooperative != 0;
        else if (attribute->id != cudaLaunchAttributeIgnore &&
                 attribute->id != cudaLaunchAttributePriority &&
                 attribute->id != cudaLaunchAttributeProgrammaticStreamSerialization)
            return cudart_driver_done(
                WEFT_CUDA_REFUSE("an attribute of a launch", "what-is-refused"));
    }
    return launch(cudart_kernel(function), config->gridDim, config->blockDim, parameters,
                  config->dynamicSmemBytes, config->stream, cooperative);
}

/* ---- attributes ------------------------------------------------------------------------------ */

cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attributes, const void *function)
{
    static const struct cudart_field fields[] = {
#define X(field, attribute) CUDART_FIELD(struct cudaFuncAttributes, field, attribute),
        X(preferredShmemCarveout, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT)
            X(clusterDimMustBeSet, CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET)
#include "lists/functions.def"
#undef X
    };
    CUfunction found;

    if (attributes == NULL)
        return cudart_done(cudaErrorInvalidValue);
    ENTER(driver);
    cudaError_t error = cudart_function(driver, cudart_kernel(function), &found);
    if (error == cudaSuccess)
        memset(attributes, 0, sizeof(*attributes));
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]) && error == cudaSuccess; i++) {
        int value = 0;
        const CUresult told =
            driver->function_attribute(&value, (CUfunction_attribute)fields[i].attribute, found);
        error = (cudaError_t)cudart_set(attributes, &fields[i], 0, value, told);
    }
    return cudart_done(error);
}

/* Defines a call for the kernel `function`, found as `found`. */
#define ON_KERNEL(name, parameters, wrong, call)                                                   \
    FOUND(name, parameters, wrong, CUfunction found,                                               \
          cudart_function(driver, cudart_kernel(function), &found), call)

ON_KERNEL(cudaFuncSetAttribute, (const void *function, enum cudaFuncAttribute attribute, int value),
          false, driver->function_set(found, (CUfunction_attribute)attribute, value))
ON_KERNEL(cudaFuncSetCacheConfig, (const void *function, enum cudaFuncCache config), false,
          driver->function_set_cache(found, (CUfunc_cache)config))

#pragma GCC diagnostic ignored "-Wdeprecated-declarations" /* programs call it all the same */
ON_KERNEL(cudaFuncSetSharedMemConfig, (const void *function, enum cudaSharedMemConfig config),
          (unsigned)config > 2, CUDA_SUCCESS)
ON_KERNEL(cudaGetFuncBySymbol, (cudaFunction_t * result, const void *function), result == NULL,
          (*result = found, CUDA_SUCCESS))

/* ---- occupancy ------------------------------------------------------------------------------- */

ON_KERNEL(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,
          (int *blocks, const void *function, int threads, size_t shared, unsigned flags),
          blocks == NULL, driver->occupancy_blocks(blocks, found, threads, shared, flags))

ALIAS(cudaOccupancyMaxActiveBlocksPerMultiprocessor,
      (int *blocks, const void *function, int threads, size_t shared),
      cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, threads, shared, 0))

ON_KERNEL(cudaOccupancyAvailableDynamicSMemPerBlock,
          (size_t * bytes, const void *function, int blocks, int threads), bytes == NULL,
          driver->occupancy_shared(bytes, found, blocks, threads))
